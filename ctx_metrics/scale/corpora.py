"""Scores corpora with a metric, block by block."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import msgspec

from ..corpus import Corpus
from ..models.estimator import Estimate
from ..notices import Notice
from ..run.context import Stream, parameters
from ..scoring.base import ContextMetric
from ..scoring.results import ScoredWindow, SystemResult, together
from ..windows import Window
from .blocks import HERE, Block, BlockRun, Part, Place
from .kept import Line, ResultCache, key_of, notice_fits

SEGMENTS = 512  # most segments of a block, for any number of systems: adding one leaves the others' blocks as they are


class KeptWindow(NamedTuple):
    start: int
    end: int
    weight: float
    value: float | None
    estimate: Estimate | None


class KeptSystem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A SystemResult in the form that is kept: without matches, and with the notices printed when it was made."""

    rows: list[list[float]]
    counts: dict[Line, int | float | Line]
    notices: list[Notice]
    of_texts: list[Notice]
    windows: list[KeptWindow]
    said: list[Notice]

    @classmethod
    def of(cls, result: SystemResult, said: list[Notice]) -> "KeptSystem | None":
        """The form of a result; None for one with the matches of all tokens."""
        if result.matches:
            return None
        windows = [KeptWindow(*each.window, each.value, each.estimate) for each in result.windows]
        return cls(result.rows, result.counts, result.notices, result.of_texts, windows, said)

    def result(self) -> SystemResult:
        windows = [
            ScoredWindow(Window(each.start, each.end, each.weight), each.value, each.estimate) for each in self.windows
        ]
        return SystemResult(self.rows, self.counts, self.notices, windows, self.of_texts)

    def fits(self, segments: int, width: int | None) -> bool:
        """Whether this can be the result of `segments` segments, with `width` numbers per row (None: any, but all equal)."""
        widths = {len(row) for row in self.rows}
        return (
            len(self.rows) == segments
            and (widths == {width} if width else len(widths) == 1 and min(widths) > 0)
            and all(0 <= each.start < each.end <= segments for each in self.windows)
            and all(notice_fits(each, segments) for each in (*self.notices, *self.of_texts))
            and all(map(notice_fits, self.said))
        )


@dataclass
class InBlocks:
    place: Place = HERE
    kept: ResultCache | None = None

    def can(self, metric: ContextMetric) -> bool:
        """Whether a metric's rows of blocks equal those of the corpus; any other metric scores it whole, in this process."""
        can = metric.can
        return not (can.whole_corpus or can.compares_systems or can.streams)  # blocks have no streams

    def __call__(self, metric: ContextMetric, corpora: Sequence[Corpus]) -> list[SystemResult]:
        """The results of corpora, one per system, that share their references, sources and document ids."""
        ranges = block_ranges(corpora[0], SEGMENTS, "doc_ids" in metric.can.reads)
        found: list[dict[int, SystemResult]] = [{} for _ in corpora]  # of each system, by the block's first segment
        blocks = (_block(metric, corpora, found, *each) for each in ranges)
        engine, segments = metric.given.get("engine"), len(corpora) * len(corpora[0])
        run = BlockRun(metric.NAME.lower(), "output", segments, self.place, self.kept, KeptSystem)
        run.quiet = len(ranges) == 1 or (engine is not None and engine.quiet)
        run.complete(score_segments, blocks)
        return [together([of_system[start] for start, _ in ranges]) for of_system in found]


def _block(
    metric: ContextMetric, corpora: Sequence[Corpus], found: list[dict[int, SystemResult]], start: int, end: int
) -> Block:
    shared = corpora[0]
    streams = {"sources": shared.sources, "doc_ids": shared.doc_ids}
    beside = {name: list(own[start:end]) for name, own in streams.items() if name in metric.given and own is not None}
    references: list[Stream] = [list(stream[start:end]) for stream in shared.references]
    systems = [list(corpus.hypotheses[start:end]) for corpus in corpora]

    def task(numbers: Sequence[int]) -> tuple:
        return type(metric), metric.given | beside, [systems[number] for number in numbers], references

    fits = partial(KeptSystem.fits, segments=end - start, width=2 if metric.is_mean else None)
    parts = [
        Part(
            end - start,
            partial(of_system.__setitem__, start),
            partial(key_of_part, metric, beside, references, own),
            fits,
        )
        for of_system, own in zip(found, systems, strict=True)
    ]
    return Block(parts, task, start)


def key_of_part(
    metric: ContextMetric, beside: dict[str, list[str]], references: list[Stream], hypotheses: Sequence[str]
) -> str:
    """The key of a system's results for some segments; of documents, only where they begin matters."""
    ids = beside.get("doc_ids", [])
    begins = [i for i in range(len(ids)) if i == 0 or ids[i] != ids[i - 1]]
    # flags give the usual values too, Python does not
    usual = {name: each.default for name, each in parameters(type(metric)).items()}
    apart = ("sources", "doc_ids")
    settings = {name: value for name, value in metric.given.items() if name not in apart and value != usual.get(name)}
    signature = str(type(metric).get_signature(metric).format())  # without what the run adds
    return key_of(type(metric), signature, settings, references, beside.get("sources"), begins, hypotheses)


def score_segments(
    cls: type[ContextMetric], given: dict[str, Any], systems: list[Sequence[str]], references: list[Stream]
) -> list[SystemResult]:
    return cls(references=references, systems=systems, **given).part_results(guard=False)


def block_ranges(corpus: Corpus, size: int, whole_documents: bool) -> list[tuple[int, int]]:
    """Split a corpus into ranges of at most `size` segments; if documents stay whole, a longer one is a range of its own.

    >>> block_ranges(Corpus(["a"] * 5, doc_ids=["x", "x", "x", "y", "y"]), 2, True)
    [(0, 3), (3, 5)]
    >>> block_ranges(Corpus(["a"] * 5), 2, False)
    [(0, 2), (2, 4), (4, 5)]
    """
    ranges: list[tuple[int, int]] = []
    for start, end in corpus.documents() if whole_documents else [(i, i + 1) for i in range(len(corpus))]:
        if ranges and end - ranges[-1][0] <= size:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges
