"""Tiny sequence classifiers, made from the tiny encoders of conftest, and their probabilities by the library alone."""

import shutil
from pathlib import Path

TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
PAIRS = [
    ("the cat sat on the mat", "a cat sat on the old mat"),
    ("the red dog ran home", "the river"),
    ("rain", "the slow song and the bird and the city light"),
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("", "an old tree"),
    ("the river", "the red dog ran home"),
]


def write_classifier(folder: Path, encoder: Path, labels: int = 2, **config) -> Path:
    """A checkpoint with a random head whose probabilities spread over 0 to 1."""
    import torch
    from transformers import AutoModelForSequenceClassification

    torch.manual_seed(5)
    model = AutoModelForSequenceClassification.from_pretrained(encoder, num_labels=labels, **config)
    generator = torch.Generator().manual_seed(6)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.startswith(("classifier", "bert.pooler")):
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    model.save_pretrained(folder, safe_serialization=True)
    for name in TOKENIZER:
        shutil.copy(encoder / name, folder)
    return folder


def logits_alone(folder: Path, *pairs: tuple[str, str], limit: int = 64) -> list:
    """The logits of each pair by itself, unpadded."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    how = {"return_tensors": "pt", "truncation": "longest_first", "max_length": limit}
    with torch.inference_mode():
        return [model(**tokenizer(*pair, **how)).logits[0] for pair in pairs]
