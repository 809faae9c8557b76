"""Join several texts into the one sequence that a unified model reads."""

from collections.abc import Sequence

import numpy as np

from ...engine.tokenizer import TokenIds
from ...wording import worded
from .hyperparameters import SEPARATORS

INPUTS = ("mt+src", "mt+ref", "mt+src+ref")  # the combinations of texts that a unified model can read


def joined(texts: Sequence[TokenIds], encoder_model: str, pad: int | None, most: int) -> TokenIds:
    """Join texts as <s> mt </s></s> src </s></s> ref </s>, cut off after `most` tokens; BERT has one separator, and types.

    As in unbabel-comet, padding tokens that a text contains literally are left out.

    encoder_model    as in Hyperparameters
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
    """The error message when a model is asked to read inputs that it does not take."""
    setting = worded("--comet-inputs, --slide-inputs", "inputs")
    return f"{name} takes the inputs {' or '.join(choices)}, not {asked} ({setting})"
