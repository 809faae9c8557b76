"""A test set with human judgements: every reader returns it, and every protocol reads it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np

from ..checks.texts import unescape
from ..corpus import Segments, document_ranges, named
from ..errors import InputError
from ..run.texts import Texts

T = TypeVar("T")
_HUMAN = re.compile(r"(hyp\.)?(human|ref|reference)([-_.]?[a-z]?\d*)(\.\d+)?", re.IGNORECASE)


def is_human(system: str) -> bool:
    """Whether a system's name is one that WMT gives to human translations.

    >>> [is_human(name) for name in ("refA", "ref.B", "Human-P.0", "ref", "Refine-MT", "Online-A.1574")]
    [True, True, True, True, False, False]
    """
    return _HUMAN.fullmatch(system) is not None


@dataclass(frozen=True, eq=False)
class JudgedSet:
    """S systems' outputs for the N segments of one test set, and human judgements of them. Validated on construction.

    name              such as "wmt22.zh-en"; unique in an evaluation
    systems           S names; human translations count as systems until `without` removes them
    segments          N, which is also given if there are no texts
    hypotheses        S lists of N texts, None where an output is missing; None: no texts (score files suffice)
    references        R streams of N texts, None where a reference is missing
    reference         its name in the data, such as "refA", or "refA,refB" for two; None if references have no name
    human             the name of the human scores in a tree, such as "esa"; None elsewhere
    sources, doc_ids  N texts each, or None; a document is a run of equal ids
    source_lang, target_lang  language codes, None if unknown
    segment_scores    float64 (S, N), higher is better, NaN where nobody judged an output; None: no segment scores
    system_scores     float64 (S,), NaN where nobody judged a system; by default, the mean of each system's judged segments
                      if there are segment_scores and several systems
    preferences       int64 (P, 3), rows (segment, better system, worse system), counted from 0; None: no preferences

    >>> judged = JudgedSet("toy", ["A", "B"], 2, segment_scores=np.array([[1.0, 0.0], [0.5, np.nan]]))
    >>> judged.system_scores.tolist()
    [0.5, 0.5]
    """

    name: str
    systems: Sequence[str]
    segments: int
    hypotheses: Sequence[Sequence[str | None]] | None = None
    references: Sequence[Sequence[str | None]] = ()
    sources: Sequence[str] | None = None
    doc_ids: Sequence[str] | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    segment_scores: np.ndarray | None = None
    system_scores: np.ndarray | None = None
    preferences: np.ndarray | None = None
    reference: str | None = None
    human: str | None = None

    def __post_init__(self):
        if len(set(self.systems)) < len(self.systems):
            raise InputError(f"{self.name}: a system is given twice ({', '.join(self.systems)})")
        for what, streams in (
            ("hypotheses", self.hypotheses or ()),
            ("references", self.references),
            ("sources", () if self.sources is None else [self.sources]),
            ("document ids", () if self.doc_ids is None else [self.doc_ids]),
        ):
            for stream in streams:
                if len(stream) != self.segments:
                    raise InputError(f"{self.name}: {len(stream)} {what} for {self.segments} segments")
        if self.hypotheses is not None and len(self.hypotheses) != len(self.systems):
            raise InputError(f"{self.name}: outputs of {len(self.hypotheses)} systems for {len(self.systems)} names")
        document_ranges(self.doc_ids or [])
        shape = (len(self.systems), self.segments)
        if self.segment_scores is not None and self.segment_scores.shape != shape:
            raise InputError(f"{self.name}: human scores of shape {self.segment_scores.shape}, not {shape}")
        if self.system_scores is None and self.segment_scores is not None and len(self.systems) > 1:
            object.__setattr__(self, "system_scores", row_means(self.segment_scores))
        if self.system_scores is not None and self.system_scores.shape != shape[:1]:
            raise InputError(f"{self.name}: {self.system_scores.shape[0]} human scores for {shape[0]} systems")
        if all(each is None for each in (self.segment_scores, self.system_scores, self.preferences)):
            raise InputError(f"{self.name}: there are no human judgements")

    @property
    def pair(self) -> str:
        return f"{self.source_lang}-{self.target_lang}"

    @property
    def texts(self) -> Sequence[Sequence[str | None]]:
        return _given(self.hypotheses, f"{self.name}: there are no texts")

    @property
    def human_segments(self) -> np.ndarray:
        return _given(self.segment_scores, f"{self.name}: no human scores of segments")

    @property
    def human_systems(self) -> np.ndarray:
        return _given(self.system_scores, f"{self.name}: no human scores of systems")

    @property
    def judged(self) -> np.ndarray:
        """The systems that were judged: as a whole, in some segment, or in a preference. bool (S,)."""
        known = np.zeros(len(self.systems), dtype=bool)
        if self.system_scores is not None:
            known |= ~np.isnan(self.system_scores)
        if self.segment_scores is not None:
            known |= ~np.isnan(self.segment_scores).all(axis=1)
        if self.preferences is not None:
            known[self.preferences[:, 1:]] = True
        return known

    @property
    def complete(self) -> bool:
        """Whether every system has an output for every segment, so that whole systems and documents can be scored."""
        return self.hypotheses is not None and all(text is not None for texts in self.hypotheses for text in texts)

    @property
    def there(self) -> np.ndarray:
        """Which outputs exist, bool (S, N); all True if there are no texts."""
        if self.hypotheses is None:
            return np.ones((len(self.systems), self.segments), dtype=bool)
        return np.array([[text is not None for text in texts] for texts in self.hypotheses])

    def as_texts(self) -> Texts:
        """The texts of a run on the set, each stream named after the set; outputs may be missing (None)."""
        names = [f"system{number}" for number in range(1, len(self.systems) + 1)]
        systems, references, sources = self._streams()
        doc_ids = None if self.doc_ids is None else named(self.doc_ids, f"{self.name}/document ids")
        source = sources[0] if sources else None
        return Texts(names, systems, references, source, doc_ids, self.source_lang, self.target_lang)

    def unescaped(self) -> "JudgedSet":
        """The same set with HTML entities replaced in all texts, with a notice; the set itself if it has no texts."""
        if self.hypotheses is None:
            return self
        texts = iter(unescape([*chain.from_iterable(self._streams())]))
        return replace(
            self,
            hypotheses=[next(texts) for _ in self.systems],
            references=[next(texts) for _ in self.references],
            sources=None if self.sources is None else next(texts),
        )

    def named_systems(self) -> list[Segments]:
        """The outputs; each system's texts carry its name, for use in messages."""
        return [named(texts, f"{self.name}/{name}") for name, texts in zip(self.systems, self.texts, strict=True)]

    def _streams(self) -> tuple[list[Segments], list[Segments], list[Segments]]:
        numbers = [f" {k}" if len(self.references) > 1 else "" for k in range(1, len(self.references) + 1)]
        return (
            self.named_systems(),
            [named(each, f"{self.name}/reference{k}") for k, each in zip(numbers, self.references, strict=True)],
            [] if self.sources is None else [named(self.sources, f"{self.name}/source")],
        )

    def without(self, systems: Sequence[str]) -> "JudgedSet":
        """The same set without some systems, and without the preferences that involve them."""
        left = [i for i, name in enumerate(self.systems) if name not in set(systems)]
        preferences = self.preferences
        if preferences is not None:
            preferences = preferences[np.isin(preferences[:, 1:], left).all(axis=1)]
            preferences[:, 1:] = np.searchsorted(left, preferences[:, 1:])
        return replace(
            self,
            systems=[self.systems[i] for i in left],
            hypotheses=None if self.hypotheses is None else [self.hypotheses[i] for i in left],
            segment_scores=None if self.segment_scores is None else self.segment_scores[left],
            system_scores=None if self.system_scores is None else self.system_scores[left],
            preferences=preferences,
        )


@dataclass(frozen=True, eq=False)
class MetricScores:
    """A metric's scores of a JudgedSet, in the order of its systems and segments; higher is better.

    segment_scores    float64 (S, N), NaN where there is no score; None: the metric has no segment scores
    system_scores     float64 (S,), NaN where there is no score; None: the metric has no system scores
    signature         the metric's signature; "" if unknown, as for published score files
    segment_signature the signature of segment scores if they are computed differently (BLEU uses effective order), else ""
    """

    name: str
    segment_scores: np.ndarray | None
    system_scores: np.ndarray | None
    signature: str = ""
    segment_signature: str = ""

    @property
    def of_segments(self) -> np.ndarray:
        return _given(self.segment_scores, f"{self.name}: no scores of segments")


def _given(value: T | None, fault: str) -> T:
    if value is None:
        raise InputError(fault)
    return value


def row_means(scores: np.ndarray) -> np.ndarray:
    """The mean of each row without its NaN values, NaN for a row of NaN only: float64 (S,) from (S, N)."""
    known = ~np.isnan(scores)
    count = known.sum(axis=1)
    return np.where(count > 0, np.where(known, scores, 0).sum(axis=1) / np.maximum(count, 1), np.nan)
