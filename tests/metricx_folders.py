"""Random MetricX checkpoints, with a small tokenizer like mT5's, and transformers' own model as the oracle of their scores."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch
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


def make(
    folder: Path, size: str = "tiny", tied: bool = False, seed: int = 1, texts: Sequence[str] = TEXTS, **saving
) -> Path:
    """Write a checkpoint whose unclamped scores spread over about 2 to 23 on texts like these."""
    from transformers import MT5Config, MT5ForConditionalGeneration

    config = MT5Config(
        vocab_size=VOCABULARY,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=tied,
        decoder_start_token_id=0,
        **SIZES[size],
    )
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
    folder.mkdir(parents=True, exist_ok=True)
    tokens.save(str(folder / "tokenizer.json"))
    ids = [np.array(tokens.encode(text).ids[:-1]) for text in texts]
    with torch.no_grad():
        states = torch.stack([_state(network, each) for each in ids])
        centred = states - states.mean(0)
        direction = torch.linalg.svd(centred)[2][0]
        along = centred @ direction
        row = direction * 5.5 / along.std()
        # the row is a linear function of the state, and the mean state gives 12.5
        mean = states.mean(0)
        rest = mean - (mean @ direction) * direction
        row = row + rest * (12.5 - float(mean @ row)) / float(rest @ rest)
        (network.shared if tied else network.lm_head).weight[ROW] = row * (config.d_model**0.5 if tied else 1)
    network.save_pretrained(folder, **saving)
    path = folder / "config.json"
    described = json.loads(path.read_text()) | {"architectures": ["MT5ForRegression"]}
    path.write_text(json.dumps(described))
    return folder


def _state(network, ids: np.ndarray) -> torch.Tensor:
    found = network(
        input_ids=torch.tensor(ids)[None],
        decoder_input_ids=torch.zeros(1, 1, dtype=torch.long),
        output_hidden_states=True,
    )
    return found.decoder_hidden_states[-1][0, 0]


@cache
def _network(folder: Path):
    from transformers import MT5ForConditionalGeneration

    return MT5ForConditionalGeneration.from_pretrained(folder).eval()


def oracle(folder: Path, prompts: Sequence[str], most: int, clamped: bool = True) -> list[float]:
    """transformers' scores of prompts, one at a time."""
    network, tokens = _network(folder), Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens.enable_truncation(most)
    found = []
    with torch.no_grad():
        for prompt in prompts:
            ids = torch.tensor(tokens.encode(prompt).ids[:-1])[None]
            logits = network(input_ids=ids, decoder_input_ids=torch.zeros(1, 1, dtype=torch.long)).logits[:, 0, ROW]
            found.append(float(logits.clamp(0, 25) if clamped else logits))
    return found
