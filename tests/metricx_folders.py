"""Random MetricX checkpoints, with a small tokenizer like mT5's, and transformers' own model as the oracle of their scores."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROW, VOCABULARY, END = 250089, 250112, 1
SIZES = {
    "tiny": {"d_model": 24, "d_kv": 8, "d_ff": 40, "num_heads": 3, "num_layers": 3, "num_decoder_layers": 2},
    "base": {"d_model": 768, "d_kv": 64, "d_ff": 2048, "num_heads": 12, "num_layers": 12, "num_decoder_layers": 12},
}
TEXTS = [
    "The cat sat on the mat, and the dog looked at it.",
    "Die Katze sitzt auf der Matte.",
    "Кошка сидит на коврике.",
    "猫がマットの上に座っている。",
    "قطة تجلس على السجادة",
    "source: candidate: reference:",
]


def tokenizer(texts: Sequence[str]) -> Tokenizer:
    """A small Unigram tokenizer with mT5's special tokens, normalisation and end of the sequence."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=500, special_tokens=special, unk_token="<unk>", show_progress=False)
    made.train_from_iterator([*TEXTS, *texts] * 3, trainer)
    made.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", END)])
    return made


def make(folder: Path, size: str = "tiny", tied: bool = False, seed: int = 1, texts: Sequence[str] = TEXTS) -> Path:
    """Write a checkpoint whose unclamped scores spread over about 2 to 23 on texts like these."""
    from transformers import MT5Config, MT5ForConditionalGeneration

    config = MT5Config(vocab_size=VOCABULARY, feed_forward_proj="gated-gelu", decoder_start_token_id=0, **SIZES[size])
    torch.manual_seed(seed)
    network = MT5ForConditionalGeneration(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "norm" in name:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
            elif "relative_attention_bias" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    tokens = tokenizer(texts)
    states = torch.stack([_state(network, tokens.encode(text).ids[:-1]) for text in texts])
    # a row whose scores spread from about 2 to about 23 along the states' main direction
    mean = states.mean(0)
    direction = torch.linalg.svd(states - mean)[2][0]
    along = states @ direction
    row = direction * 21 / (along.max() - along.min())
    rest = mean - (mean @ direction) * direction
    row = row + rest * (2 - float((states @ row).min())) / float(rest @ rest)
    repeated = ("encoder.embed_tokens.", "decoder.embed_tokens.", "lm_head.")
    tensors = {name: each.clone() for name, each in network.state_dict().items() if not name.startswith(repeated)}
    if tied:
        tensors["shared.weight"][ROW] = row * config.d_model**0.5
    else:
        tensors["lm_head.weight"] = torch.randn(VOCABULARY, config.d_model, generator=generator)
        tensors["lm_head.weight"][ROW] = row
    folder.mkdir(parents=True, exist_ok=True)
    tokens.save(str(folder / "tokenizer.json"))
    save_file(tensors, folder / "model.safetensors")
    described = config.to_dict() | {"architectures": ["MT5ForRegression"], "tie_word_embeddings": tied}
    (folder / "config.json").write_text(json.dumps(described, default=str))
    return folder


@torch.no_grad()
def _state(network, ids: Sequence[int]) -> torch.Tensor:
    """The decoder's state at its one position, after its last norm."""
    start = torch.zeros(1, 1, dtype=torch.long)
    found = network(input_ids=torch.tensor([list(ids)]), decoder_input_ids=start, output_hidden_states=True)
    return found.decoder_hidden_states[-1][0, 0]


@cache
def _opened(folder: Path):
    """transformers' network, whose own output layer is not used: from version 5 on, it is always the word table."""
    from transformers import MT5Config, MT5ForConditionalGeneration

    described = json.loads((folder / "config.json").read_text())
    network, tensors = (
        MT5ForConditionalGeneration(MT5Config(**described)).eval(),
        load_file(folder / "model.safetensors"),
    )
    network.load_state_dict({name: each for name, each in tensors.items() if name != "lm_head.weight"}, strict=False)
    tied = described["tie_word_embeddings"]
    row = tensors["shared.weight"][ROW] * described["d_model"] ** -0.5 if tied else tensors["lm_head.weight"][ROW]
    return network, row, Tokenizer.from_file(str(folder / "tokenizer.json"))


def unlimited(folder: Path, prompts: Sequence[str], most: int) -> list[float]:
    """Scores by transformers' network of prompts, one at a time, before they are limited to 0-25."""
    network, row, tokens = _opened(folder)
    tokens.enable_truncation(most)
    return [float(_state(network, tokens.encode(prompt).ids[:-1]) @ row) for prompt in prompts]


def oracle(folder: Path, prompts: Sequence[str], most: int) -> list[float]:
    return [min(max(score, 0.0), 25.0) for score in unlimited(folder, prompts, most)]


def forget() -> None:
    """Give back the memory of the oracle's networks."""
    _opened.cache_clear()
