"""Scores of segments, documents and systems, computed from a metric's rows.

No other module uses the protected methods of sacrebleu's metrics, except classes that override them.
"""

import copy
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from sacrebleu.metrics import CHRF
from sacrebleu.metrics.base import Metric, Score

from ..corpus import document_ranges
from ..finite import check_finite

if TYPE_CHECKING:
    from .base import SystemResult


class ByOrders(Protocol):
    """A metric, such as BLEU, that can be limited to the n-gram orders that occur in a text."""

    effective_order: bool


class Scores(NamedTuple):
    """One system's scores on the metric's scale, in corpus order; NaN where nothing was scored.

    rows      the segments' statistics, which can be added
    result    the full result of one of our metrics; None for other metrics
    """

    segments: list[float]
    documents: list[float]
    system: float
    title: str
    rows: list[list[float]]
    result: "SystemResult | None" = None


def scores(metric: Metric, system: Sequence[str], doc_ids: Sequence[str] | None = None) -> Scores:
    """Return one system's scores by one metric, as all_scores does.

    >>> from sacrebleu.metrics import BLEU
    >>> found = scores(BLEU(references=[["It rains.", "We left."]]), ["It rains.", "We went."], ["a", "b"])
    >>> [round(score, 2) for score in found.documents]
    [100.0, 34.67]
    """
    [[result]] = all_scores([metric], [system], doc_ids)
    return result


def all_scores(
    metrics: Iterable[Metric], systems: Sequence[Sequence[str]], doc_ids: Sequence[str] | None = None
) -> list[list[Scores]]:
    """Return the scores of all systems by all metrics, our own and sacrebleu's, as [metrics][systems].

    The references are those that the metrics were constructed with.

    doc_ids    document id of each segment; without them there are no document scores
    """
    documents = [] if doc_ids is None else document_ranges(doc_ids)
    scores_of = []
    for metric in metrics:
        of_metric = []
        for system in systems:
            of_metric.append(_of_rows(metric, rows_of(metric, system), documents))
        scores_of.append(of_metric)
    return scores_of


def rows_of(
    metric: Metric, system: Sequence[str], references: Sequence[Sequence[Any]] | None = None
) -> list[list[float]]:
    """Return the statistics of each of a system's segments, which can be added.

    references    None: those that the metric was constructed with

    Raises ModelError for a number that is not finite.
    """
    if references is not None:
        metric = against_references(metric, references)
    rows = metric._extract_corpus_statistics(system, None)
    check_finite(type(metric).__name__.lower(), rows, getattr(system, "name", ""))
    return rows


def against_references(metric: Metric, references: Sequence[Sequence[Any]]) -> Metric:
    """Return a copy of the metric with other references, whose n-grams it counts once for all systems."""
    other = copy.copy(metric)
    other._ref_cache = metric._cache_references(references)
    return other


def reads_segments_apart(cls: type[Metric]) -> bool:
    """Whether a metric reads the references of each segment by themselves, as all metrics of sacrebleu do."""
    return cls._cache_references is Metric._cache_references


def select_references(metric: Metric, segments: Sequence[int]) -> None:
    """Replace the references of a metric that reads_segments_apart by those of these segments, which may recur."""
    if metric._ref_cache is not None:  # None: it was constructed without references
        metric._ref_cache = [metric._ref_cache[segment] for segment in segments]


def preprocessed(metric: Metric, texts: Sequence[str]) -> list[str]:
    """Return the texts as the metric reads them: of BLEU, with a space between tokens.

    >>> from sacrebleu.metrics import BLEU
    >>> preprocessed(BLEU(lowercase=True), ["It rains."])
    ['it rains .']
    """
    return [metric._preprocess_segment(text) for text in texts]


def chrf_words(metric: CHRF, text: str) -> list[str]:
    """Return the words of a preprocessed text of which chrF counts n-grams.

    >>> chrf_words(CHRF(), "It rains.")
    ['It', 'rains', '.']
    """
    return metric._remove_punctuation(text)


def aggregate(metric: Metric, rows: list[list[float]]) -> Score:
    """Return the score of some segments together, on the metric's scale, from their statistics.

    >>> from sacrebleu.metrics import CHRF
    >>> chrf = CHRF(references=[["It rains.", "We left."]])
    >>> rows = rows_of(chrf, ["It rains.", "We left."])
    >>> aggregate(chrf, rows).score == chrf.corpus_score(["It rains.", "We left."], None).score
    True
    """
    return metric._aggregate_and_compute(rows)


def score_of_sums(metric: Metric, sums: list[float]) -> Score:
    """Return the score, on the metric's scale, of segments whose statistics are added already."""
    return metric._compute_score_from_stats(sums)


def _of_rows(metric: Metric, rows: list[list[float]], documents: Sequence[tuple[int, int]]) -> Scores:
    part, whole = of_parts(metric), aggregate(metric, rows)
    return Scores(
        [float(aggregate(part, [row]).score) for row in rows],
        [float(aggregate(part, rows[start:end]).score) for start, end in documents],
        float(whole.score),
        whole.name,
        rows,
        getattr(metric, "last_result", None),
    )


def of_parts(metric: Metric) -> Metric:
    """Return the metric for scoring segments and documents.

    BLEU then uses only the n-gram orders that occur in a short text, as in sacrebleu's --sentence-level, and its signature
    says eff:yes.
    """
    if getattr(metric, "effective_order", True):
        return metric
    part = copy.copy(metric)
    cast(ByOrders, part).effective_order = True
    return part


def shown(score: float | None) -> str:
    """Return a score as text in full precision; "None" if there is none.

    >>> shown(0.1), shown(float("nan")), shown(None)
    ('0.1', 'None', 'None')
    """
    return "None" if score is None or math.isnan(score) else repr(score)


def score_lines(systems: Sequence[str], of_systems: Sequence[Sequence[float]]) -> str:
    """Return the lines `system<TAB>score` of an mt-metrics-eval score file, one system after another."""
    each = zip(systems, of_systems, strict=True)
    return "".join(f"{name}\t{shown(score)}\n" for name, of_system in each for score in of_system)
