"""Scores corpora with a metric, block by block."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
import numpy as np

from ..checks.languages import described
from ..corpus import Corpus
from ..language import LANGUAGES
from ..notices import Notice
from ..scoring.base import ContextMetric
from ..scoring.context import Stream, score_settings
from ..scoring.results import ScoredWindow, SystemResult, together
from ..scoring.token_matching import EXPLAIN, PairMatch, SegmentMatch
from .blocks import LOCAL, Block, BlockRun, Executor, Part
from .kept import Line, ResultCache, key_of, notice_fits

SEGMENTS = 512  # most segments of a block, for any number of systems: adding one leaves the others' blocks as they are


class KeptSystem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A SystemResult in the form that is kept, with the notices printed when it was made."""

    rows: list[list[float]]
    counts: dict[Line, int | float | Line]
    notices: list[Notice]
    of_texts: list[Notice]
    windows: list[ScoredWindow]
    matches: list[SegmentMatch | None]
    said: list[Notice]

    @classmethod
    def of(cls, result: SystemResult, said: list[Notice]) -> "KeptSystem | None":
        """The form of a result; None for one that failed in part."""
        if result.failed:
            return None
        kept = result.rows, result.counts, result.notices, result.of_texts, result.windows, result.matches
        return cls(*kept, said)

    def result(self) -> SystemResult:
        return SystemResult(self.rows, self.counts, self.notices, self.windows, self.of_texts, self.matches)

    def fits(self, segments: int, width: int | None, references: int | None) -> bool:
        """Whether this can be the result of `segments` segments, with `width` numbers per row (None: any, but all equal).

        references    number of references whose tokens were matched; None: the metric matches none
        """
        widths = {len(row) for row in self.rows}
        return (
            len(self.rows) == segments
            and (widths == {width} if width else len(widths) == 1 and min(widths) > 0)
            and all(0 <= each.window.start < each.window.end <= segments for each in self.windows)
            and len(self.matches) == (0 if references is None else segments)
            and all(0 <= each.number < (references or 0) and _is_whole(each.pair) for each in self.matches if each)
            and all(notice_fits(each, segments) for each in (*self.notices, *self.of_texts))
            and all(map(notice_fits, self.said))
        )


def _is_whole(pair: PairMatch) -> bool:
    sides = [side for side in (pair.hypothesis, pair.reference) if side is not None]
    return all(len(side.cosines) == len(side.weights) and np.isfinite(side).all() for side in sides)


@dataclass
class InBlocks:
    executor: Executor = LOCAL
    kept: ResultCache | None = None

    def can(self, metric: ContextMetric) -> bool:
        """Whether a metric's rows of blocks equal those of the corpus; any other metric scores it whole, in this process."""
        can = metric.can
        return not (can.whole_corpus or can.compares_systems or can.streams)  # blocks have no streams

    def __call__(self, metric: ContextMetric, corpora: Sequence[Corpus]) -> list[SystemResult]:
        """The results of corpora, one per system, that share their references, sources and document ids."""
        ranges = block_ranges(corpora[0], SEGMENTS, "doc_ids" in metric.can.reads)
        found: list[dict[int, SystemResult]] = [{} for _ in corpora]  # of each system, by the block's first segment
        explain = self.kept is not None and EXPLAIN in metric.can.inputs  # matches are kept for a later report
        blocks = (_block(metric, corpora, found, explain, *each) for each in ranges)
        engine, segments = metric.given.get("engine"), len(corpora) * len(corpora[0])
        run = BlockRun(metric.NAME.lower(), "output", segments, self.executor, self.kept, KeptSystem)
        run.quiet = len(ranges) == 1 or (engine is not None and engine.quiet)
        run.complete(score_segments, blocks)
        return [together([of_system[start] for start, _ in ranges]) for of_system in found]


def _block(
    metric: ContextMetric,
    corpora: Sequence[Corpus],
    found: list[dict[int, SystemResult]],
    explain: bool,
    start: int,
    end: int,
) -> Block:
    shared = corpora[0]
    streams = {"sources": shared.sources, "doc_ids": shared.doc_ids}
    beside: dict[str, Any] = {
        name: list(own[start:end]) for name, own in streams.items() if name in metric.given and own is not None
    }
    own = metric.given | beside | ({"explain": True} if explain else {})
    references: list[Stream] = [list(stream[start:end]) for stream in shared.references]
    systems = [list(corpus.hypotheses[start:end]) for corpus in corpora]

    def task(numbers: Sequence[int]) -> tuple:
        return type(metric), own, [systems[number] for number in numbers], references

    def take(of_system: dict[int, SystemResult], result: SystemResult) -> None:
        wanted = not explain or metric.given.get("explain")
        of_system[start] = result if wanted else replace(result, matches=[])

    matched = len(references) if explain else None
    fits = partial(KeptSystem.fits, segments=end - start, width=2 if metric.is_mean else None, references=matched)
    parts = [
        Part(end - start, partial(take, of_system), partial(key_of_part, metric, beside, references, hypotheses), fits)
        for of_system, hypotheses in zip(found, systems, strict=True)
    ]
    return Block(parts, task, start)


def key_of_part(
    metric: ContextMetric, beside: dict[str, list[str]], references: list[Stream], hypotheses: Sequence[str]
) -> str:
    """The key of a system's results for some segments; of documents, only where they begin matters."""
    ids = beside.get("doc_ids", [])
    begins = [i for i in range(len(ids)) if i == 0 or ids[i] != ids[i - 1]]
    apart = ("sources", "doc_ids", *EXPLAIN.keywords)
    asked = score_settings(type(metric), metric.given)
    settings = {name: value for name, value in asked.items() if name not in apart}
    settings |= {name: described(tag) for name in LANGUAGES if isinstance(tag := settings.get(name), str)}
    signature = str(type(metric).get_signature(metric).format())  # without the run's additions
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
