"""The one way from a metric's rows to a system's scores: of segments, of documents and of the whole."""

import copy
import math
from collections.abc import Sequence
from typing import NamedTuple, Optional

from sacrebleu.metrics.base import Metric

from ..corpus import document_ranges
from .finite import check_finite


class Scores(NamedTuple):
    """One system's scores, on the metric's scale, in corpus order; NaN where nothing was scored.

    title    what the metric calls itself in tables
    """

    segments: list[float]
    documents: list[float]
    system: float
    title: str


def scores(metric: Metric, system: Sequence[str], doc_ids: Optional[Sequence[str]] = None) -> Scores:
    """A system's scores by any metric, sacrebleu's own too, against the references that the metric was made with.

    doc_ids    document id of each segment; without them there are no documents

    Raises ModelError if a row of the metric is not finite, and what the metric raises.

    >>> from sacrebleu.metrics import BLEU
    >>> found = scores(BLEU(references=[["It rains.", "We left."]]), ["It rains.", "We went."], ["a", "b"])
    >>> [round(score, 2) for score in found.documents]
    [100.0, 34.67]
    """
    rows = metric._extract_corpus_statistics(system, None)
    check_finite(type(metric).__name__.lower(), rows, getattr(system, "name", ""))
    part, whole = of_parts(metric), metric._aggregate_and_compute(rows)
    return Scores(
        [float(part._aggregate_and_compute([row]).score) for row in rows],
        [
            float(part._aggregate_and_compute(rows[start:end]).score)
            for start, end in (document_ranges(doc_ids) if doc_ids is not None else [])
        ],
        float(whole.score),
        whole.name,
    )


def of_parts(metric: Metric) -> Metric:
    """The metric as it scores segments and documents: BLEU of short texts takes the n-gram orders that they have, as
    sacrebleu's --sentence-level does. Its signature then says eff:yes."""
    if getattr(metric, "effective_order", True):
        return metric
    part = copy.copy(metric)
    part.effective_order = True
    return part


def shown(score: Optional[float]) -> str:
    """A score in full precision, None for what was not scored.

    >>> shown(0.1), shown(float("nan")), shown(None)
    ('0.1', 'None', 'None')
    """
    return "None" if score is None or math.isnan(score) else repr(score)


def score_lines(systems: Sequence[str], of_systems: Sequence[Sequence[float]]) -> str:
    """The lines `system<TAB>score` of a score file of mt-metrics-eval, system after system."""
    return "".join(f"{name}\t{shown(score)}\n" for name, of_system in zip(systems, of_systems) for score in of_system)
