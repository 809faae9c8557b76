"""Scores the candidates of many sources block by block, locally or on Ray, reusing the blocks that an earlier run kept."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np
from sacrebleu.metrics.base import Metric

from ..corpus import named
from ..notices import Notice
from ..run.run import Run
from ..scale.blocks import Block, BlockRun, Part, opened
from ..scale.kept import Line, ResultCache, key_of, notice_fits
from ..scoring.context import MetricSettings, score_settings
from .candidates import Item

TEXTS = 8_192  # most texts of a block, unless a single source has more
SOURCES = 256


class ChoiceScores(NamedTuple):
    """The results of a block: for each item, the scores of its candidates (NaN for those left out); the metrics' signatures;
    counts; for each item, whether its scores equal those of all pairs; and whether a later run may score texts that this one
    could not, so that the block is not kept."""

    scores: list[list[float]]
    signatures: dict[str, str]
    counts: dict[str, dict[str, int]]
    exact: list[bool]
    failed: bool = False


@dataclass(frozen=True)
class Chooser(ABC):
    """Scores candidates with the weighted sum of a run's metrics.

    run    the metrics and settings; its texts have nothing but their languages
    """

    NAME: ClassVar[str]
    run: Run
    weights: Sequence[float]

    def asked(self) -> "Chooser":
        """The same without settings that affect no score: kept results have its fields in their keys."""
        metrics = [each._replace(own=score_settings(each.cls, each.own)) for each in self.run.metrics]
        return replace(self, run=replace(self.run, metrics=metrics))

    @abstractmethod
    def signatures(self, items: Sequence[Item]) -> dict[str, str]:
        """The metrics' signatures, found without scoring."""

    @abstractmethod
    def __call__(self, items: Sequence[Item], first: bool) -> ChoiceScores:
        """Score a block, which may be the first one of a run."""


class KeptChoiceScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stored form of a block's Chosen: None is the score of a candidate that was left out."""

    scores: list[list[float | None]]
    signatures: dict[Line, Line]
    counts: dict[Line, dict[Line, int]]
    said: list[Notice]
    exact: list[bool]

    @classmethod
    def of(cls, found: ChoiceScores, said: list[Notice]) -> "KeptChoiceScores | None":
        if found.failed:
            return None
        scores = [[None if np.isnan(each) else each for each in own] for own in found.scores]
        return cls(scores, found.signatures, found.counts, said, found.exact)

    def result(self) -> ChoiceScores:
        scores = [[np.nan if each is None else each for each in own] for own in self.scores]
        return ChoiceScores(scores, self.signatures, self.counts, self.exact)

    def fits(self, items: Sequence[Item], signatures: Mapping[str, str]) -> bool:
        return (
            [len(own) for own in self.scores] == [len(item.candidates) for item in items]
            and len(self.exact) == len(items)
            and self.signatures == dict(signatures)
            and self.counts.keys() == self.signatures.keys()
            and all(any(each is not None for each in own) for own in self.scores)
            and all(map(notice_fits, self.said))
        )


def choose(
    items: Sequence[Item],
    chooser: Chooser,
    on: str | None = None,
    workers: int | None = None,
    cache: ResultCache | None = None,
) -> ChoiceScores:
    """Score the candidates of all items.

    on, workers    the executor of the blocks, see scale.blocks.opened
    cache          the results of earlier runs; None: nothing is kept

    If a metric raises, the cache holds the blocks that were finished.
    """
    signatures = chooser.signatures(items) if cache is not None else {}
    asked = chooser.asked()
    whole = ChoiceScores([[]] * len(items), {}, {}, [True] * len(items))

    def take(start: int, end: int, found: ChoiceScores) -> None:
        whole.scores[start:end], whole.exact[start:end] = found.scores, found.exact
        whole.signatures.update(found.signatures)
        for name, own in found.counts.items():
            sums = whole.counts.setdefault(name, {})
            sums.update({kind: sums.get(kind, 0) + number for kind, number in own.items()})

    def block(start: int, end: int) -> Block:
        own = items[start:end]
        key = partial(key_of, asked, signatures, [item._replace(scores=None) for item in own])
        fits = partial(KeptChoiceScores.fits, items=own, signatures=signatures)
        return Block([Part(end - start, partial(take, start, end), key, fits)], lambda _: (own, start == 0))

    blocks, engine = [block(*each) for each in block_ranges(items)], chooser.run.engine
    with opened(on, workers) as executor:
        run = BlockRun(chooser.NAME, "source", len(items), executor, cache, KeptChoiceScores, single=True)
        run.device, run.quiet = engine.device, engine.quiet
        run.complete(chooser, blocks)
    return whole


def alone(
    metric: MetricSettings,
    run: Run,
    texts: Sequence[str],
    sources: Sequence[str | None],
    references: Sequence[str] | None = None,
) -> Metric:
    """Build a metric with the settings of a run, for candidates each by itself; if the first has no source, none has one.

    Raises the errors of the metric.
    """
    of_texts = replace(
        run.texts,
        names=["candidates"],
        systems=[named(texts, "the candidates")],
        references=[] if references is None else [named(references, "the references")],
        sources=None if sources[0] is None else named([each or "" for each in sources], "the sources"),
        rows=True,
    )
    return replace(run, metrics=[metric], texts=of_texts).build()[metric.name]


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
