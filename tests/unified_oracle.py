"""The value of a quality model of UniTE's shape by transformers alone, from the files of its folder."""

import json

import numpy as np
import torch
from safetensors.torch import load_file


def matched_by_hand(states, parts, separators, names):
    """Recall and precision of source and reference at three layers, token by token."""
    values = {(name, layer): (0.0, 0.0) for name in ("src", "ref") for layer in range(len(states))}
    begin = 1 + len(parts[0]) + separators
    for name, part in zip(names[1:], parts[1:]):
        for layer in range(len(states)):
            mt, other = states[layer][0, 1 : 1 + len(parts[0])], states[layer][0, begin : begin + len(part)]
            if len(mt) and len(other):
                cosines = [[torch.cosine_similarity(a, b, dim=0).item() for b in mt] for a in other]
                values[name, layer] = np.mean([max(row) for row in cosines]), np.mean([max(c) for c in zip(*cosines)])
        begin += len(part) + separators
    last = len(states) - 1
    layers = sorted({last // 3, 2 * last // 3, last})
    numbers = [float(value) for name in ("src", "ref") for layer in layers for value in values[name, layer]]
    return torch.tensor(numbers)


def plain_value(folder, encoder, texts, names):
    """The value by transformers alone, from the files: the changes merged by hand, the pair joined by its tokenizer's ids."""
    from tokenizers import Tokenizer
    from transformers import AutoModel

    tensors = {name: tensor.float() for name, tensor in load_file(folder / "model.safetensors").items()}
    model = AutoModel.from_pretrained(encoder, add_pooling_layer=False).eval()
    state = model.state_dict()
    for name, tensor in tensors.items():
        if name.endswith(".down"):
            stem = name.removesuffix(".down")
            state[f"{stem}.weight"] = state[f"{stem}.weight"] + tensors[f"{stem}.up"] @ tensor
        elif name in state:
            state[name] = tensor
    model.load_state_dict(state)
    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    first, last = tokenizer.encode("").ids
    between = [last] if json.loads((folder / "config.json").read_text())["encoder_model"] == "BERT" else [last, last]
    parts = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    ids = [first, *parts[0]]
    for part in parts[1:]:
        ids += [*between, *part]
    types = (
        [0] * (len(parts[0]) + 2) + [1] * (len(ids) - len(parts[0]) - 1) if len(between) == 1 else [0] * (len(ids) + 1)
    )
    with torch.inference_mode():
        read = model(torch.tensor([[*ids, last]]), token_type_ids=torch.tensor([types]), output_hidden_states=True)
        layers = torch.stack([states[0].mean(0) for states in read.hidden_states])
        scalars = torch.cat([tensors[f"layerwise_attention.scalar_parameters.{k}"] for k in range(len(layers))])
        pooled = tensors["layerwise_attention.gamma"] * (scalars.softmax(0) @ layers)
        matched = matched_by_hand(read.hidden_states, parts, len(between), names)
        features = (matched - tensors["matching.mean"]) / tensors["matching.deviation"] * (matched != 0)
        rows = torch.cat([pooled, features])
        hidden = torch.tanh(tensors["estimator.ff.0.weight"] @ rows + tensors["estimator.ff.0.bias"])
        return (tensors["estimator.ff.3.weight"] @ hidden + tensors["estimator.ff.3.bias"]).item()
