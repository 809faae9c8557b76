"""Several texts as the one sequence that a unified model reads."""

from collections.abc import Sequence

import numpy as np

from ...engine.tokenizer import TokenIds
from ...wording import worded
from .hyperparameters import SEPARATORS

INPUTS = ("mt+src", "mt+ref", "mt+src+ref")  # what a unified model can read of an output


def joined(texts: Sequence[TokenIds], encoder_model: str, pad: int | None, most: int) -> TokenIds:
    """<s> mt </s></s> src </s></s> ref </s>, cut at the end to `most` tokens; BERT has one separator, and types.

    Padding tokens that a text holds literally are left out, as unbabel-comet does.

    encoder_model    as Hyperparameters has it
    """
    first, last = texts[0].ids[0], texts[0].ids[-1]
    contents = [text.ids[1:-1][text.ids[1:-1] != pad] for text in texts]
    parts = [[first], contents[0]]
    for content in contents[1:]:
        parts += [[last] * SEPARATORS[encoder_model], content]
    ids = np.concatenate([*parts, [last]]).astype(np.int32)
    cut = sum(text.cut for text in texts) + max(0, len(ids) - most)
    second = len(contents[0]) + 2 if encoder_model == "BERT" else None
    return TokenIds(ids[:most], cut, second)


def wrong_inputs(name: str, choices: Sequence[str], asked: str) -> str:
    """What to say when a model is asked to read what it does not take."""
    setting = worded("--comet-inputs, --slide-inputs", "inputs")
    return f"{name} takes the inputs {' or '.join(choices)}, not {asked} ({setting})"
