"""Values of pairs of texts from their hidden states, in blocks that bound the memory."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Optional, TypeVar

import numpy as np

from .encoder import TextEncoder
from .forward import ReadoutKey
from .readout import SEGMENT
from .store import States
from .tokenizer import TokenIds

Value = TypeVar("Value")


class EncodedText(NamedTuple):
    """One text as a function of pairs sees it: token ids and, for each layer mix, the hidden states of all of them.

    The first and the last token are the special ones.
    """

    ids: np.ndarray
    states: States


EncodedPair = tuple[EncodedText, EncodedText]


class PairResult(NamedTuple):
    """What came of one pair: its value (None where a side had no tokens) and which sides were cut or empty."""

    value: object
    cut: tuple[bool, bool]
    empty: tuple[bool, bool]


def map_pairs(
    encoder: TextEncoder,
    pairs: Sequence[tuple[str, str]],
    mixes: Iterable[ReadoutKey],
    function: Callable[[Sequence[EncodedPair]], Sequence[Value]],
    max_content: Optional[int] = None,
    label: str = "encoding",
    unit: str = SEGMENT,
) -> list[PairResult]:
    """The values of every pair (left, right) of texts: function(encoded pairs) gives those of a block of pairs, in order.

    Every distinct text is tokenized once and every distinct pair computed once. Pairs are taken in their order, in
    blocks whose hidden states fit the encoder's store, so put pairs that share a text side by side (all systems of one
    segment). A pair with a side that has no tokens is not computed: its value is None.

    mixes          readouts of the hidden layers that the function reads
    max_content    tokens kept of each text
    unit           what the texts are: "segment" or "window"
    """
    mixes = list(mixes)
    encoder.require(mixes)
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    tokens = dict(zip(texts, encoder.tokenize(texts, max_content)))
    distinct = list(dict.fromkeys(pair for pair in pairs if all(tokens[text].content for text in pair)))
    values: dict[tuple[str, str], Value] = {}
    with encoder.progress(label, len({text for pair in distinct for text in pair})):
        for block in _blocks(distinct, tokens, encoder):
            names = list(dict.fromkeys(text for pair in block for text in pair))
            states = encoder.encode([tokens[name] for name in names], mixes, unit)
            encoded = {name: EncodedText(tokens[name].ids, of_text) for name, of_text in zip(names, states)}
            values.update(zip(block, function([(encoded[left], encoded[right]) for left, right in block])))
    return [
        PairResult(
            values.get(pair),
            tuple(tokens[text].cut > 0 for text in pair),
            tuple(tokens[text].content == 0 for text in pair),
        )
        for pair in pairs
    ]


def one_by_one(
    function: Callable[[EncodedText, EncodedText], Value],
) -> Callable[[Sequence[EncodedPair]], list[Value]]:
    """What map_pairs takes, from a function of one pair."""
    return lambda pairs: [function(left, right) for left, right in pairs]


def _blocks(pairs: Sequence[tuple[str, str]], tokens: dict[str, TokenIds], encoder: TextEncoder) -> Iterable[list]:
    """Consecutive pairs whose distinct texts' states take at most the store's bound (one pair at least)."""
    bytes_per_token = 4 * encoder.width * max(1, encoder.required_mixes)
    block, held, used = [], set(), 0
    for pair in pairs:
        cost = sum(len(tokens[text].ids) for text in set(pair) - held) * bytes_per_token
        if block and used + cost > encoder.store.limit:
            yield block
            block, held, used = [], set(), 0
            cost = sum(len(tokens[text].ids) for text in set(pair)) * bytes_per_token
        block.append(pair)
        held.update(pair)
        used += cost
    if block:
        yield block
