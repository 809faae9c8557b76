"""Scores the candidates of many sources block by block, locally or on Ray, reusing what an earlier run kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np
from tqdm import tqdm

from ..engine.loaded import forget_texts
from ..engine.shortage import memory_for
from ..errors import CtxMetricsError
from ..notices import Notice, collected, counted, notice
from ..run.context import Context
from ..scale.kept import Line, ResultCache, key_of, notice_fits
from ..scale.places import HERE, Place
from .candidates import Item
from .decisions import Method, expected, is_exact
from .of_metric import utility
from .utilities import Distinct, WeightedSum, distinct

TEXTS = 8_192  # most texts of a block, unless a single source has more
SOURCES = 256
Metrics = Sequence[tuple[str, Mapping[str, Any]]]


class Chosen(NamedTuple):
    """The results of a block: for each item, the scores of its candidates (NaN for those left out); the metrics' signatures;
    counts; notices; and for each item, whether its scores equal those of all pairs."""

    scores: list[list[float]]
    signatures: dict[str, str]
    counts: dict[str, dict[str, int]]
    said: list[Notice]
    exact: list[bool]


class Chooser(Protocol):
    """Scores the candidates of a block of items; can be pickled."""

    @property
    def name(self) -> str:
        """The label of the progress bar."""

    def signatures(self, items: Sequence[Item]) -> dict[str, str]:
        """The metrics' signatures, found without scoring."""

    def identity(self) -> list:
        """What the scores depend on besides the texts and the signatures. How they are computed is not part of it."""

    def __call__(self, block: tuple[Sequence[Item], bool]) -> Chosen:
        """Score a block; the flag is true for the first block of a run."""


class KeptChosen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stored form of a block's Chosen: None is the score of a candidate that was left out."""

    scores: list[list[float | None]]
    signatures: dict[Line, Line]
    counts: dict[Line, dict[Line, int]]
    said: list[Notice]
    exact: list[bool]

    @classmethod
    def of(cls, found: Chosen) -> "KeptChosen":
        scores = [[None if np.isnan(each) else each for each in own] for own in found.scores]
        return cls(scores, found.signatures, found.counts, found.said, found.exact)

    def chosen(self) -> Chosen:
        scores = [[np.nan if each is None else each for each in own] for own in self.scores]
        return Chosen(scores, self.signatures, self.counts, self.said, self.exact)

    def fits(self, items: Sequence[Item], signatures: Mapping[str, str]) -> bool:
        """Whether this can belong to these items and to metrics with these signatures."""
        return (
            [len(own) for own in self.scores] == [len(item.candidates) for item in items]
            and len(self.exact) == len(items)
            and self.signatures == dict(signatures)
            and self.counts.keys() == self.signatures.keys()
            and all(any(each is not None for each in own) for own in self.scores)
            and all(map(notice_fits, self.said))
        )


def identity_of(metrics: Metrics, weights: Sequence[float], context: Context) -> list:
    """What the scores of weighted metrics depend on besides the texts and the signatures."""
    settings = [[name, repr(sorted(own.items()))] for name, own in metrics]
    return [settings, list(weights), context.source_lang, context.target_lang]


@dataclass(frozen=True)
class MinimumRisk:
    """Minimum Bayes risk with the weighted sum of some metrics as utility.

    nbest    how many candidates of each source the user wants
    """

    metrics: Metrics
    weights: Sequence[float]
    context: Context
    method: Method
    nbest: int = 1

    @property
    def name(self) -> str:
        return "mbr"

    def signatures(self, items: Sequence[Item]) -> dict[str, str]:
        with collected():
            return {name: each.signature for name, each in self._utilities([distinct(items[0])])}

    def identity(self) -> list:
        return ["mbr", identity_of(self.metrics, self.weights, self.context), repr(self.method), self.nbest]

    def _utilities(self, items: Sequence[Distinct]) -> list:
        return [(name, utility(name, settings, self.context, items)) for name, settings in self.metrics]

    def __call__(self, block: tuple[Sequence[Item], bool]) -> Chosen:
        """The expected utilities of a block's candidates."""
        forget_texts()  # so that a block's scores do not depend on earlier blocks
        items, first = block
        with collected() as said, memory_for("mbr", self.context.engine.device):
            texts = [distinct(item) for item in items]
            named = self._utilities(texts if first else texts[:1])
            found = expected(WeightedSum([each for _, each in named], self.weights), texts, self.method, self.nbest)
        return Chosen(
            [scores[item.place].tolist() for scores, item in zip(found, texts, strict=True)],
            {name: each.signature for name, each in named},
            {name: each.counts for name, each in named},
            said,
            [is_exact(item, scores, self.method, self.nbest) for item, scores in zip(texts, found, strict=True)],
        )


def choose(
    items: Sequence[Item], chooser: Chooser, place: Place = HERE, kept: ResultCache | None = None, quiet: bool = False
) -> Chosen:
    """Score the candidates of all items.

    Raises InputError for texts and metrics that cannot be used, and whatever the metrics raise; `kept` then holds the blocks
    that were finished.
    """
    ranges = list(block_ranges(items))
    signatures = chooser.signatures(items) if kept is not None else {}
    whole = Chosen([[]] * len(items), {}, {}, [], [True] * len(items))
    asked: list[tuple[int, int, str]] = []
    found_before = 0

    def take(start: int, end: int, found: Chosen) -> None:
        whole.scores[start:end], whole.exact[start:end] = found.scores, found.exact
        whole.signatures.update(found.signatures)
        for name, own in found.counts.items():
            sums = whole.counts.setdefault(name, {})
            sums.update({kind: sums.get(kind, 0) + number for kind, number in own.items()})
        for each in found.said:
            notice(each)

    def blocks() -> Iterator[tuple[Sequence[Item], bool]]:
        nonlocal found_before
        for start, end in ranges:
            key = (
                ""
                if kept is None
                else key_of(chooser.identity(), signatures, [list(item) for item in items[start:end]])
            )
            fits = partial(KeptChosen.fits, items=items[start:end], signatures=signatures)
            if kept is not None and (found := kept.get(key, KeptChosen, fits)) is not None:
                take(start, end, found.chosen())
                found_before += end - start
                bar.update(end - start)
                continue
            asked.append((start, end, key))
            yield items[start:end], start == 0

    try:
        with tqdm(
            total=len(items), desc=chooser.name, unit="source", disable=True if quiet else None, leave=False
        ) as bar:
            for found in place.map(_Caught(chooser), blocks()):
                start, end, key = asked.pop(0)
                if isinstance(found, CtxMetricsError):
                    raise found
                if kept is not None:
                    kept.put(key, KeptChosen.of(found))
                take(start, end, found)
                bar.update(end - start)
    except KeyboardInterrupt as error:
        if kept is None:
            raise
        done = sum(bool(own) for own in whole.scores)
        raise kept.interruption(f"{done:,} of {counted(len(items), 'source', 'sources')}") from error
    if kept is not None:
        kept.trim()
    if found_before:
        notice(f"{found_before:,} of {len(items):,} sources were kept by an earlier run (--ctx-cache)")
    return whole


@dataclass(frozen=True)
class _Caught:
    """Wraps a chooser so that its errors are returned as results."""

    chooser: Chooser

    def __call__(self, block: tuple[Sequence[Item], bool]) -> Chosen | CtxMetricsError:
        try:
            return self.chooser(block)
        except CtxMetricsError as error:
            return error


def block_ranges(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """Ranges (start, end) of items that form a block; `end` is exclusive.

    >>> list(block_ranges([Item(("a",) * 5000)] * 3))
    [(0, 1), (1, 2), (2, 3)]
    """
    start, held = 0, 0
    for k, item in enumerate(items):
        texts = len(item.candidates) + len(item.references or ())
        if k > start and (held + texts > TEXTS or k - start == SOURCES):
            yield start, k
            start, held = k, 0
        held += texts
    if items:
        yield start, len(items)
