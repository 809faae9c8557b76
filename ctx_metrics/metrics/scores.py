"""A system's scores by any sacrebleu metric, of segments, documents and the whole, from its statistics."""

import copy
import math
from collections.abc import Sequence
from typing import NamedTuple, Optional

from sacrebleu.metrics.base import Metric

from ..corpus import document_ranges


class Scores(NamedTuple):
    """One system's scores, on sacrebleu's scale, in corpus order; NaN where nothing was scored."""

    segments: list[float]
    documents: list[float]
    system: float


def scores(metric: Metric, system: Sequence[str], doc_ids: Optional[Sequence[str]]) -> Scores:
    """A system's scores by any metric, from its statistics; no documents without ids."""
    rows = metric._extract_corpus_statistics(system, None)
    small = for_segments(metric)
    return Scores(
        [float(small._aggregate_and_compute([row]).score) for row in rows],
        [
            float(small._aggregate_and_compute(rows[start:end]).score)
            for start, end in (document_ranges(doc_ids) if doc_ids is not None else [])
        ],
        float(metric._aggregate_and_compute(rows).score),
    )


def for_segments(metric: Metric) -> Metric:
    """The metric as it scores segments and documents: BLEU with effective order, as --sentence-level sets it."""
    if not hasattr(metric, "effective_order"):
        return metric
    small = copy.copy(metric)
    small.effective_order = True
    return small


def shown(score: Optional[float]) -> str:
    """A score in full precision, None for what was not scored.

    >>> shown(0.1), shown(float("nan")), shown(None)
    ('0.1', 'None', 'None')
    """
    return "None" if score is None or math.isnan(score) else repr(score)


def score_lines(systems: Sequence[str], of_systems: Sequence[Sequence[float]]) -> str:
    """The lines `system<TAB>score` of a score file of mt-metrics-eval, system after system."""
    return "".join(f"{name}\t{shown(score)}\n" for name, of_system in zip(systems, of_systems) for score in of_system)
