"""SLIDE: a learned model over a sliding window of document sentences (Raunak, Kocmi and Post 2023)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..corpus import Corpus
from ..errors import InputError
from ..models.estimator import Estimator
from ..notices import Notice, counted, notice, tallied
from ..scoring.context import Stream
from ..scoring.results import SystemResult, best_reference, coverage
from ..settings import setting
from ..windows import PARTIAL, Window, check_window, sentence_windows, token_windows
from ..wording import worded
from .comet import COMET, COMETSettings
from .estimated import read_texts, window_examples

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .keywords import References, SLIDEKeywords, Systems

WINDOW = 6
LONG = 4  # from so many paragraphs on, windows harm the embedded model without references: docs/slide.md
PARTIAL_DEFAULT = "weight"


@dataclass(frozen=True)
class SLIDESettings(COMETSettings):
    """How documents are cut into windows. A token budget counts all texts that the model reads. Unless a stride is given,
    each window starts where the last one ended, and its weight is its number of sentences."""

    window: int | None = setting(f"Number of sentences in a window. (Default: {WINDOW})", metavar="W")
    stride: int | None = setting(
        "Number of sentences between the starts of consecutive windows, at most the window. (Default: the window)",
        metavar="S",
    )
    partial: str | None = setting(
        "Windows cut short by a document's end: drop leaves them out, include gives them full weight, weight weights "
        f"each window by its number of sentences. (Default: {PARTIAL_DEFAULT})",
        choices=PARTIAL,
    )
    tokens: int | None = setting(
        "Fill windows with as many sentences as fit into N tokens, instead of --slide-window.", metavar="N"
    )

    def __post_init__(self):
        if self.tokens is None:
            return
        if self.window is not None or self.partial is not None:
            raise InputError(
                "slide: a token budget makes its own windows and scores all of them; "
                + worded("leave out --slide-window and --slide-partial", "leave out window and partial")
            )
        if self.tokens < 1 or (self.stride is not None and self.stride < 1):
            raise InputError("slide: the token budget and the stride must be at least 1")


class SLIDE(COMET):
    """A learned model's estimate of quality for windows of several sentences; their weighted mean, x100.

    Without document ids, all segments are one document, and a notice says so. Windows of one sentence give COMET's score.

    >>> metric = SLIDE(doc_ids=["d1", "d1", "d2"], target_lang="en", window=2)
    >>> score = metric.corpus_score(["It rained.", "We left.", "Next day."], [["It rained.", "We left.", "Next day."]])
    >>> round(score.score, 3), score._verbose
    (100.0, '(windows = 2 coverage = 100.0%)')
    """

    NAME = "SLIDE"
    Settings = SLIDESettings
    only_comet = False
    capabilities = replace(COMET.capabilities, reads=COMET.capabilities.reads | {"doc_ids"})

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[SLIDEKeywords]): ...

    def _take_model(self) -> None:
        super()._take_model()
        options, docs = self.settings, "none" if self._context.doc_ids is None else "ids"
        self.can = replace(self.can, dependent_rows=options.tokens is not None or options.window != 1)
        self.tokens = options.tokens
        if self.tokens is not None:
            self.stride = options.stride or 0
            self.signature.update(docs=docs, tokens=self.tokens, stride=self.stride or "end")
            return
        self.window = WINDOW if options.window is None else options.window
        self.partial = options.partial or PARTIAL_DEFAULT
        self.stride = self.window if options.stride is None else options.stride
        check_window(self.window, self.stride, "slide")
        self.signature.update(docs=docs, window=self.window, stride=self.stride, partial=self.partial)

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        self._say_without_references(corpora[0])
        self._say_long_windows()
        if corpora[0].doc_ids is None:
            self.say_one_document()
        counts = [token_counts(self.estimator, corpus) if self.tokens else [] for corpus in corpora]
        windows = [self._windows_of(*each) for each in zip(corpora, counts, strict=True)]
        blanks = [blank_lines(*each, self.estimator.inputs) for each in zip(corpora, windows, strict=True)]
        documents = corpora[0].documents()
        results = self._results_of_windows(corpora, windows)
        for each in zip(windows, counts, blanks, results, strict=True):
            self._count_windows(documents, *each)
        return results

    def _say_long_windows(self) -> None:
        from ..models.estimator import EMBEDDED_REFERENCELESS

        if self.tokens is None and self.window >= LONG and self._chosen == (str(EMBEDDED_REFERENCELESS), "mt+src"):
            self._say(
                f"without references, the embedded model agrees less with people on windows of {self.window} segments "
                f"than on single segments if these are paragraphs, and no better if they are sentences; give "
                f"{self.named('window', str(LONG - 1))} or less, or another model ({self.named('model')})"
            )

    def _why_nothing(self, result: SystemResult) -> str:
        if result.windows:
            return super()._why_nothing(result)
        return (
            f"every document is shorter than the window of {self.window} sentences, and partial windows are dropped; "
            f"give a smaller {self.named('window')}, or another {self.named('partial')} than drop"
        )

    def _windows_of(self, corpus: Corpus, counts: Sequence[int]) -> list[Window]:
        return [
            window.after(start)
            for start, end in corpus.documents()
            for window in self._document_windows(end - start, counts[start:end])
        ]

    def _document_windows(self, length: int, counts: Sequence[int]) -> list[Window]:
        if self.tokens is None:
            return sentence_windows(length, self.window, self.stride, self.partial)
        return token_windows(counts, self.tokens, self.stride, self.estimator.special_tokens)

    def _count_windows(
        self,
        documents: Sequence[tuple[int, int]],
        windows: Sequence[Window],
        counts: Sequence[int],
        blank: Sequence[int],
        result: SystemResult,
    ) -> None:
        uncovered = [i for i, row in enumerate(result.rows) if not row[1]]
        dropped = 0
        if self.tokens is None and self.partial == "drop":
            for start, end in documents:
                kept = sentence_windows(end - start, self.window, self.stride, "drop")
                dropped += len(sentence_windows(end - start, self.window, self.stride)) - len(kept)
        result.counts = {"windows": len(windows), "coverage": coverage(result.rows), **result.counts}
        if dropped:
            drop = f"dropped ({self.named('partial', 'drop')})"
            result.notices.append(
                Notice(f"partial window was {drop}", f"partial windows were {drop}", dropped, unit="")
            )
        over = []
        if self.tokens is not None:
            content = self.tokens - self.estimator.special_tokens
            over = [i for i, tokens in enumerate(counts) if tokens > content]
        inside = f"an empty {read_texts(self.estimator.inputs)} inside a window"
        exceeded = f"{self.tokens} tokens"
        numbers, notices = tallied(
            [
                Notice.at(
                    uncovered, "sentence is in no scored window", "sentences are in no scored window", kind="uncovered"
                ),
                Notice.at(
                    over,
                    f"window of one sentence exceeds {exceeded}",
                    f"windows of one sentence exceed {exceeded}",
                    kind="over",
                ),
                Notice.at(blank, f"sentence has {inside}", f"sentences have {inside}", kind="blank"),
            ]
        )
        result.counts.update(uncovered=numbers.pop("uncovered"), dropped=dropped, **numbers)
        result.notices += notices


def blank_lines(corpus: Corpus, windows: Sequence[Window], inputs: str) -> list[int]:
    """Return the segments that are empty in some text that the model reads, in a window where others are not empty."""
    blank: set[int] = set()
    read: list[Stream] = [corpus.hypotheses]
    read += [corpus.sources] if corpus.sources is not None and "src" in inputs else []
    read += corpus.references if "ref" in inputs else []
    for stream in read:
        for start, end, _ in windows:
            if None in stream[start:end]:
                continue
            empty = [i for i in range(start, end) if not (stream[i] or "").strip()]
            if len(empty) < end - start:
                blank.update(empty)
    return sorted(blank)


def token_counts(estimator: Estimator, corpus: Corpus) -> list[int]:
    """Return each segment's number of tokens over all texts that the model reads, with the longest of several references."""
    of_segment = [window_examples(corpus, Window(i, i + 1, 1.0), estimator.inputs) for i in range(len(corpus))]
    counts = iter(estimator.token_counts([example for examples in of_segment for example in examples]))
    return [max((next(counts) for _ in examples), default=0) for examples in of_segment]


def slide_grid(
    metric: SLIDE, systems: Sequence[Sequence[str]], references: Sequence[Sequence[str | None]], largest: int
) -> dict[tuple[int, int], list[float]]:
    """Return the scores (x100) of all systems for all windows w of 1 to `largest` sentences and strides 1 <= s <= w.

    metric    provides the model, the context, `partial` and `multiref`; its own window and stride are not used

    The result is {(w, s): one score per system}. A score is NaN if no window is scored, because every document is shorter
    than w and partial windows are dropped.
    """
    corpora = metric.corpora_of(systems, references)
    documents, partial = corpora[0].documents(), metric.partial
    settings = [(w, s) for w in range(1, largest + 1) for s in range(1, w + 1)]
    windows = {
        (w, s): [each.after(start) for start, end in documents for each in sentence_windows(end - start, w, s, partial)]
        for w, s in settings
    }
    ranges = sorted({(start, end) for of_setting in windows.values() for start, end, _ in of_setting})
    distinct = [Window(start, end, 1.0) for start, end in ranges]
    estimates_of = metric.estimates_of(corpora, [distinct] * len(corpora))
    cut = sum(any(estimate.cut for estimate in estimates) for of_system in estimates_of for estimates in of_system)
    if cut:
        windows_were = counted(cut, "window was", "windows were")
        of_all = f"of {len(distinct) * len(corpora)} distinct windows"
        notice(f"{of_all}, {windows_were} truncated ({metric.estimator.limit})", metric="slide")
    values = [
        {
            each: best_reference([estimate.value for estimate in estimates], metric.multiref)
            for each, estimates in zip(ranges, of_system, strict=True)
        }
        for of_system in estimates_of
    ]
    return {(w, s): [_score(windows[w, s], of_system) for of_system in values] for w, s in settings}


def _score(windows: Sequence[Window], values: dict[tuple[int, int], float | None]) -> float:
    scored = [(weight, value) for start, end, weight in windows if (value := values[start, end]) is not None]
    weights = [weight for weight, _ in scored]
    if not scored:
        return math.nan
    return 100 * math.fsum(weight * value for weight, value in scored) / math.fsum(weights)
