"""Finds the utility for a metric: the fastest way to compute its values for pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sacrebleu.metrics.base import Metric

from ..errors import InputError
from ..run.context import Capabilities, Context, build, capabilities
from ..run.registry import metric_table
from ..scale.scorer import Scorer
from ..scoring.estimated import EstimatorMetric
from ..scoring.scores import of_parts
from ..scoring.token_matching import TokenMatchingMetric
from .ngrams import COUNTS
from .utilities import CountedPairs, Distinct, HeadPairs, ScoredPairs, Utility

if TYPE_CHECKING:
    from .comet_pairs import PairHead


def compares_two_texts(can: Capabilities) -> bool:
    """Whether a metric scores one output against one reference, and reads nothing that candidates lack."""
    return can.references and not can.compares_systems and "doc_ids" not in can.reads and not can.streams


def utility(name: str, settings: Mapping[str, Any], context: Context, first: Sequence[Distinct]) -> Utility:
    """Return the utility for the metric of this name, with the languages and engine of a context without texts.

    first    some items; their texts serve to check the languages of a model

    Raises InputError for metrics that read no reference, or read more than one segment.
    """
    cls = metric_table()[name.upper()]
    can = capabilities(cls)
    if "doc_ids" in can.reads:
        raise InputError(
            f"{name}: the metric reads documents, but candidates are single segments; choose another metric, such as comet"
        )
    if not compares_two_texts(can):
        raise InputError(
            f"{name}: the metric cannot compare a candidate with one other candidate; choose another metric, such as chrf, "
            "bertr or comet"
        )
    texts = replace(
        context,
        references=[[item.references[0] for item in first]],
        systems=[[item.texts[0] for item in first]],
        sources=None if first[0].source is None else [item.source or "" for item in first],
    )
    metric = cls if can.whole_corpus else build(cls, texts, settings)
    if why := capabilities(metric).whole_corpus:
        raise InputError(
            f"{name}: the value of a pair depends on all other pairs ({why}), but candidates are compared pair by "
            f"pair; choose another metric"
        )
    assert isinstance(metric, Metric)
    if type(metric) in COUNTS:
        return CountedPairs(name, of_parts(metric))
    signature = str(metric.get_signature().format())
    if isinstance(metric, TokenMatchingMetric):
        from .matched import MatchedPairs

        return MatchedPairs(name, metric, signature)
    if isinstance(metric, EstimatorMetric):
        if not metric.can.references:
            raise InputError(f"{name}: the model reads no reference; use ctx-metrics rerank with such models")
        if (head := _head(metric)) is not None:
            return HeadPairs(name, head, signature)
    return ScoredPairs(name, not can.higher_is_better, Scorer([(name, settings)], context, {}), signature)


def _head(metric: EstimatorMetric) -> "PairHead | None":
    """The model's head, split into parts, if it is a regression model that reads a source and a reference; else None."""
    from ..models.comet.model import RegressionEstimator
    from .comet_pairs import PairHead

    estimator = metric.estimator
    if isinstance(estimator, RegressionEstimator) and estimator.inputs == "mt+src+ref":
        return PairHead(estimator)
    return None
