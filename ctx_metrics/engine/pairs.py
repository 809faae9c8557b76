"""Values of pairs of texts, computed from their hidden states in blocks that limit memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch

from .encoder import TextEncoder
from .forward import ReadoutKey
from .readout import SEGMENT
from .store import States
from .tokenizer import TEXTS_AT_ONCE, TokenIds

Value = TypeVar("Value")
PAIRS_AT_ONCE = TEXTS_AT_ONCE // 2  # tokenized together
# facts about both sides: results share these four tuples, to save memory
SIDES = {(left, right): (left, right) for left in (False, True) for right in (False, True)}


class EncodedText(NamedTuple):
    """One text as a function of pairs sees it: its token ids and, for each layer mix, the hidden states of all tokens.

    The first and the last token are special tokens.
    mixes    the readouts that the function asked for; states may hold those of other metrics too
    """

    ids: np.ndarray
    states: States
    mixes: Sequence[ReadoutKey] = ()

    @property
    def tokens(self) -> torch.Tensor:
        """The states of all tokens, fp32 [tokens, total width of the mixes]."""
        return torch.cat([self.states[mix] for mix in self.mixes], dim=1)


EncodedPair = tuple[EncodedText, EncodedText]
TokenizedPair = tuple[TokenIds, TokenIds]


@dataclass(frozen=True, slots=True)
class PairResult(Generic[Value]):
    """The result of one pair: its value (None if a side has no tokens), and which sides were cut or are empty."""

    value: Value | None
    cut: tuple[bool, bool]
    empty: tuple[bool, bool]


def map_pairs(
    encoder: TextEncoder,
    pairs: Sequence[tuple[str, str]],
    mixes: Iterable[ReadoutKey],
    function: Callable[[Sequence[EncodedPair]], Sequence[Value]],
    *,
    max_content: int | None = None,
    label: str = "encoding",
    unit: str = SEGMENT,
) -> list[PairResult[Value]]:
    """The value of each pair (left, right) of texts; function(encoded pairs) returns those of a block of pairs, in order.

    Each distinct pair is computed once. Pairs are taken in order, in blocks whose hidden states fit the encoder's store. So
    put pairs that share a text next to each other (all systems of one segment): the text is then encoded once, and not again
    for a later block while the store holds it. Only the function's values of a block are kept. If a side of a pair has no
    tokens, the pair is not computed and its value is None.
    """
    mixes = list(mixes)
    encoder.require(mixes)
    distinct = list(dict.fromkeys(pairs))
    begins = range(0, len(distinct), PAIRS_AT_ONCE)
    tokenized = (_tokenized(distinct[begin : begin + PAIRS_AT_ONCE], encoder, max_content) for begin in begins)
    results: list[PairResult[Value]] = []
    with encoder.progress(label, len({text for pair in distinct for text in pair})):
        for block in _blocks(chain.from_iterable(tokenized), encoder):
            values = iter(_values(block, encoder, mixes, function, unit))
            for left, right in block:
                cut = SIDES[left.cut > 0, right.cut > 0]
                empty = SIDES[not left.content, not right.content]
                results.append(PairResult(None if any(empty) else next(values), cut, empty))
    of_pairs = dict(zip(distinct, results, strict=True))
    return [of_pairs[pair] for pair in pairs]


def _values(
    block: list[TokenizedPair],
    encoder: TextEncoder,
    mixes: Sequence[ReadoutKey],
    function: Callable[[Sequence[EncodedPair]], Sequence[Value]],
    unit: str,
) -> Sequence[Value]:
    """The function's values for the block's pairs that have tokens on both sides. The states are freed on return."""
    full = [pair for pair in block if _is_full(pair)]
    if not full:
        return []
    texts = {side.key: side for pair in full for side in pair}
    states = encoder.encode(list(texts.values()), mixes, unit)
    encoded = {key: EncodedText(texts[key].ids, of_text, mixes) for key, of_text in zip(texts, states, strict=True)}
    return function([(encoded[left.key], encoded[right.key]) for left, right in full])


def one_by_one(function: Callable[[EncodedText, EncodedText], Value]) -> Callable[[Sequence[EncodedPair]], list[Value]]:
    """Turn a function of one pair into one that map_pairs takes."""
    return lambda pairs: [function(left, right) for left, right in pairs]


def _tokenized(pairs: Sequence[tuple[str, str]], encoder: TextEncoder, max_content: int | None) -> list[TokenizedPair]:
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    tokens = dict(zip(texts, encoder.tokenizer(texts, max_content), strict=True))
    return [(tokens[left], tokens[right]) for left, right in pairs]


def _is_full(pair: TokenizedPair) -> bool:
    return all(side.content for side in pair)  # besides the special tokens


def _blocks(pairs: Iterable[TokenizedPair], encoder: TextEncoder) -> Iterator[list[TokenizedPair]]:
    """Blocks of consecutive pairs, at least one each, such that the states of their distinct texts fit the store's limit."""
    bytes_per_token = 4 * encoder.width * max(1, encoder.required_mixes)
    block: list[TokenizedPair] = []
    held: set[bytes] = set()
    used = 0
    for pair in pairs:
        costs = {side.key: len(side.ids) * bytes_per_token for side in pair} if _is_full(pair) else {}
        cost = sum(costs[key] for key in costs.keys() - held)
        if used and used + cost > encoder.store.limit:
            yield block
            block, held, used = [], set(), 0
            cost = sum(costs.values())
        block.append(pair)
        held.update(costs)
        used += cost
    if block:
        yield block
