"""Values of pairs of texts from their hidden states, in blocks that bound the memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Optional, TypeVar

import numpy as np

from .encoder import TOKENIZED_AT_ONCE, TextEncoder
from .forward import ReadoutKey
from .readout import SEGMENT
from .store import States
from .tokenizer import TokenIds

Value = TypeVar("Value")
# what is said of both sides, each pair of values once in memory
SIDES = {(left, right): (left, right) for left in (False, True) for right in (False, True)}


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

    Every distinct pair is computed once. Pairs are taken in their order, in blocks whose hidden states fit the encoder's
    store, so put pairs that share a text side by side (all systems of one segment): a text is then encoded once, and one
    that returns blocks later still is while the store holds it. Nothing is kept of a block but what the function gave.
    A pair with a side that has no tokens is not computed: its value is None.

    mixes          readouts of the hidden layers that the function reads
    max_content    tokens kept of each text
    unit           what the texts are: "segment" or "window"
    """
    mixes = list(mixes)
    encoder.require(mixes)
    results: dict[tuple[str, str], Optional[PairResult]] = dict.fromkeys(pairs)
    with encoder.progress(label, len({text for pair in results for text in pair})):
        for block in _blocks(_tokenized(list(results), encoder, max_content), encoder):
            values = iter(_values(block, encoder, mixes, function, unit))
            for texts, sides in block:
                cut = SIDES[sides[0].cut > 0, sides[1].cut > 0]
                empty = SIDES[not sides[0].content, not sides[1].content]
                results[texts] = PairResult(None if any(empty) else next(values), cut, empty)
    return [results[pair] for pair in pairs]


def _values(
    block: "list[TokenizedPair]",
    encoder: TextEncoder,
    mixes: Sequence[ReadoutKey],
    function: Callable[[Sequence[EncodedPair]], Sequence[Value]],
    unit: str,
) -> Sequence[Value]:
    """The function's values of a block's pairs that have tokens on both sides, whose states go with this call."""
    full = [pair for pair in block if pair.is_full]
    if not full:
        return []
    tokens = {text: side for texts, sides in full for text, side in zip(texts, sides)}
    states = encoder.encode(list(tokens.values()), mixes, unit)
    encoded = {text: EncodedText(side.ids, of_text) for (text, side), of_text in zip(tokens.items(), states)}
    return function([(encoded[left], encoded[right]) for (left, right), _ in full])


def one_by_one(
    function: Callable[[EncodedText, EncodedText], Value],
) -> Callable[[Sequence[EncodedPair]], list[Value]]:
    """What map_pairs takes, from a function of one pair."""
    return lambda pairs: [function(left, right) for left, right in pairs]


class TokenizedPair(NamedTuple):
    """A pair of texts with the token ids of both."""

    texts: tuple[str, str]
    sides: tuple[TokenIds, TokenIds]

    @property
    def is_full(self) -> bool:
        return all(side.content for side in self.sides)


def _tokenized(
    pairs: Sequence[tuple[str, str]], encoder: TextEncoder, max_content: Optional[int]
) -> Iterator[TokenizedPair]:
    """The pairs with their token ids, which are made a few thousand texts ahead."""
    for begin in range(0, len(pairs), TOKENIZED_AT_ONCE // 2):
        some = pairs[begin : begin + TOKENIZED_AT_ONCE // 2]
        texts = list(dict.fromkeys(text for pair in some for text in pair))
        tokens = dict(zip(texts, encoder.tokenize(texts, max_content)))
        for left, right in some:
            yield TokenizedPair((left, right), (tokens[left], tokens[right]))


def _blocks(pairs: Iterable[TokenizedPair], encoder: TextEncoder) -> Iterator[list[TokenizedPair]]:
    """Consecutive pairs whose distinct texts' states take at most the store's bound (one pair at least)."""
    bytes_per_token = 4 * encoder.width * max(1, encoder.required_mixes)
    block, held, used = [], set(), 0
    for pair in pairs:
        costs = {text: len(side.ids) * bytes_per_token for text, side in zip(*pair)} if pair.is_full else {}
        cost = sum(costs[text] for text in costs.keys() - held)
        if used and used + cost > encoder.store.limit:
            yield block
            block, held, used = [], set(), 0
            cost = sum(costs.values())
        block.append(pair)
        held.update(costs)
        used += cost
    if block:
        yield block
