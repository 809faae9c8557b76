"""Score corpora with a metric, block by block, at any place; blocks whose results are kept are not scored again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import msgspec

from ..corpus import Corpus
from ..engine.loaded import forget_texts
from ..errors import CtxMetricsError
from ..models.estimator import Estimate
from ..notices import Notice, collected, notice
from ..progress import Progress
from ..run.context import Stream
from ..scoring.base import ContextMetric
from ..scoring.results import ScoredWindow, SystemResult, together
from ..windows import Window
from .kept import Line, ResultCache, key_of, notice_fits, of_metric
from .places import HERE, Place
from .scorer import located

SEGMENTS = 512  # most segments of a block, for any number of systems: adding one leaves the others' blocks as they are


class KeptWindow(NamedTuple):
    """A ScoredWindow in the form that is kept."""

    start: int
    end: int
    weight: float
    value: float | None
    estimate: Estimate | None


class KeptSystem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A SystemResult in the form that is kept: without matches, and with the notices given when it was made."""

    rows: list[list[float]]
    counts: dict[Line, int | float | Line]
    notices: list[Notice]
    of_texts: list[Notice]
    windows: list[KeptWindow]
    said: list[Notice]

    @classmethod
    def of(cls, result: SystemResult, said: list[Notice]) -> "KeptSystem":
        """The form of a result that is kept; `said` are the notices given when it was made."""
        windows = [KeptWindow(*each.window, each.value, each.estimate) for each in result.windows]
        return cls(result.rows, result.counts, result.notices, result.of_texts, windows, said)

    def result(self) -> SystemResult:
        """The result that this was made from."""
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
            and all(notice_fits(each) for each in self.said)
        )


class Block(NamedTuple):
    """A range of segments of some systems, with the class and arguments of the metric that scores it."""

    cls: type[ContextMetric]
    given: dict[str, Any]
    systems: list[Sequence[str]]
    references: list[Stream]


@dataclass
class InBlocks:
    """Scores corpora block by block.

    place    where blocks are scored
    kept     the results of earlier runs, or None
    """

    place: Place = HERE
    kept: ResultCache | None = None

    def can(self, metric: ContextMetric) -> bool:
        """Whether a metric's rows of blocks equal those of the corpus; any other metric scores it whole, in this process."""
        can = metric.capabilities
        return not (can.whole_corpus or can.compares_systems or can.streams)  # blocks have no streams

    def __call__(self, metric: ContextMetric, corpora: Sequence[Corpus]) -> list[SystemResult]:
        """The results of corpora, one per system, that share their references, sources and document ids.

        Raises what the metric raises.
        """
        ranges = block_ranges(corpora[0], SEGMENTS, "doc_ids" in metric.capabilities.reads)
        parts: list[list[SystemResult | None]] = [[None] * len(ranges) for _ in corpora]
        asked: list[tuple[int, list[int], list[str]]] = []  # the block, the systems to score, and their keys
        from_kept = 0
        is_mean = type(metric)._compute_score_from_stats is ContextMetric._compute_score_from_stats
        width = 2 if is_mean else None  # numbers per row

        def blocks() -> Iterator[Block]:
            nonlocal from_kept
            for number, (start, end) in enumerate(ranges):
                given = {**metric.given, **_beside(corpora[0], start, end, metric.given)}
                references: list[Stream] = [list(stream[start:end]) for stream in corpora[0].references]
                keys = [""] * len(corpora)
                if self.kept is not None:
                    beside = of_metric(metric, references, given.get("sources"), given.get("doc_ids"))
                    keys = [key_of(beside, list(corpus.hypotheses[start:end])) for corpus in corpora]
                    fits = partial(KeptSystem.fits, segments=end - start, width=width)
                for system, key in enumerate(keys):
                    if self.kept is not None and (found := self.kept.get(key, KeptSystem, fits)) is not None:
                        parts[system][number] = found.result()
                        _say(found.said, start)
                        from_kept += 1
                left = [system for system in range(len(corpora)) if parts[system][number] is None]
                if left:
                    asked.append((number, left, [keys[system] for system in left]))
                    yield Block(
                        type(metric), given, [corpora[system].hypotheses[start:end] for system in left], references
                    )

        name, all_parts = metric.NAME.lower(), f"{len(ranges) * len(corpora)} results of blocks"
        try:
            with _progress(metric, len(corpora) * len(corpora[0]), len(ranges) > 1) as bar:
                for found in self.place.map(score_block, blocks()):
                    number, systems, keys = asked.pop(0)
                    start, end = ranges[number]
                    if isinstance(found, CtxMetricsError):
                        raise type(found)(located(str(found), f"lines from {start + 1:,} on")) from found
                    results, said = found
                    _say(said, start)
                    for system, key, result in zip(systems, keys, results, strict=True):
                        if self.kept is not None and not result.matches:  # the matches of all tokens are too large
                            self.kept.put(key, KeptSystem.of(result, said))
                        parts[system][number] = result
                    bar.update((end - start) * len(systems))
        except KeyboardInterrupt as error:
            if self.kept is None:
                raise
            done = sum(part is not None for of_system in parts for part in of_system)
            raise self.kept.interruption(f"{name}: {done} of {all_parts}") from error
        if self.kept is not None:
            self.kept.trim()
        if from_kept:
            notice(f"{name}: {from_kept} of {all_parts} were kept by an earlier run (--ctx-cache)")
        return [together([part for part in of_system if part is not None]) for of_system in parts]


def score_block(block: Block) -> tuple[list[SystemResult], list[Notice]] | CtxMetricsError:
    """The results of a block's systems and the notices given meanwhile, or the error if it cannot be scored."""
    forget_texts()  # so that a block's scores do not depend on the blocks before it
    try:
        with collected() as said:
            metric = block.cls(references=block.references, systems=block.systems, **block.given)
            return metric.part_results(guard=False), said
    except CtxMetricsError as error:
        return error


def block_ranges(corpus: Corpus, size: int, whole_documents: bool) -> list[tuple[int, int]]:
    """Split a corpus into ranges of at most `size` segments; if documents stay whole, a longer one is a range of its own.

    >>> block_ranges(Corpus(["a"] * 5, doc_ids=["x", "x", "x", "y", "y"]), 2, True)
    [(0, 3), (3, 5)]
    >>> block_ranges(Corpus(["a"] * 5), 2, False)
    [(0, 2), (2, 4), (4, 5)]
    """
    if not whole_documents:
        return [(start, min(start + size, len(corpus))) for start in range(0, len(corpus), size)]
    ranges: list[tuple[int, int]] = []
    for start, end in corpus.documents():
        if ranges and end - ranges[-1][0] <= size:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges


def _progress(metric: ContextMetric, outputs: int, shown: bool) -> Progress:
    """A progress bar over the outputs; hidden unless `shown`, or if the engine is quiet."""
    engine = metric.given.get("engine")
    hidden = not shown or (engine is not None and engine.quiet)
    return Progress(metric.NAME.lower(), "output", outputs, quiet=hidden)


def _say(notices: Sequence[Notice], before: int) -> None:
    for each in notices:
        notice(each.after(before))


def _beside(corpus: Corpus, start: int, end: int, given: dict[str, Any]) -> dict[str, Any]:
    """The sources and document ids of a block, if the metric was given any."""
    streams = {"sources": corpus.sources, "doc_ids": corpus.doc_ids}
    return {name: list(stream[start:end]) for name, stream in streams.items() if name in given and stream is not None}
