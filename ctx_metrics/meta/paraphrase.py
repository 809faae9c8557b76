"""How well do metrics recognise paraphrases? Labelled sentence pairs are scored as hypothesis and reference.

Binary labels, paraphrase or not (PAWS, MRPC), are evaluated by the area under the ROC curve; graded ones (STS-B) by
Spearman's and Pearson's correlation. After Moon, Cho and Park (EAMT 2020), who tested similarity metrics on PAWS.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from ..engine_options import EngineOptions
from ..errors import InputError
from ..judgements.judged import JudgedSet, MetricScores
from ..judgements.readers.sentence_pairs import PairSet
from ..notices import notice
from ..scoring.context import capabilities
from .evaluation import Significance, evaluate
from .protocols import CORRELATIONS, Measurement, Protocol, SegmentCorrelation
from .report import Report
from .scoring import MetricSettings, built_without_systems, lacking, score_set

SIGNIFICANCE = Significance("bootstrap", intervals=True)


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Area under the ROC curve: the chance that a paraphrase scores higher than a pair that is none; 0 to 1.

        AUC = P(s1 > s0) + P(s1 = s0) / 2 = U / (n1 n0)      U = (sum of the ranks of the n1 paraphrases) - n1 (n1 + 1) / 2

    for n1 paraphrases and n0 other pairs; equal scores share their mean rank (Mann and Whitney 1947; Bamber 1975).

    labels    1-D, 1 for a paraphrase and 0 for none
    scores    1-D, higher for pairs that are more alike; pairs with a NaN score are left out

    NaN unless there are pairs of both kinds.

    By hand: .9 beats .5 and .1, .5 ties .5 and beats .1, so AUC is 3.5 / 4.

    >>> auc(np.array([1, 1, 0, 0]), np.array([0.9, 0.5, 0.5, 0.1]))
    0.875
    """
    known = ~np.isnan(scores)
    paraphrases = labels[known] == 1
    n1, n0 = int(paraphrases.sum()), int((~paraphrases).sum())
    if not n1 or not n0:
        return float("nan")
    u = rankdata(scores[known])[paraphrases].sum() - n1 * (n1 + 1) / 2
    return float(u / (n1 * n0))


class AreaUnderCurve(Protocol):
    name, title = "auc", "area under the ROC curve, paraphrases against other pairs"
    level, unit, test = "segment", "sentence pairs", "bootstrap"

    def lacks(self, judged: JudgedSet) -> str:
        return "graded labels" if _graded(judged) else ""

    def measure(self, judged: JudgedSet, scores: np.ndarray) -> Measurement:
        labels, known = judged.human_segments[0], ~np.isnan(scores[0])
        counts = {"paraphrases": int(labels[known].sum())}
        return Measurement(auc(labels, scores[0]), int(known.sum()), details=counts)

    def resampled(self, judged: JudgedSet, scores: np.ndarray, drawn: np.ndarray) -> float:
        return auc(judged.human_segments[0, drawn], scores[0, drawn])


class GradedCorrelation(SegmentCorrelation):
    unit, test = "sentence pairs", "bootstrap"

    def __init__(self, kind: str):
        super().__init__(kind)
        self.name, self.title = kind, f"{CORRELATIONS[kind]} with people's grades of similarity"

    def lacks(self, judged: JudgedSet) -> str:
        return "" if _graded(judged) else "no graded labels"


def _graded(judged: JudgedSet) -> bool:
    return isinstance(judged, PairSet) and judged.graded


def paraphrase_check(
    sets: Sequence[PairSet],
    metrics: Sequence[MetricSettings],
    *,
    engine: EngineOptions = EngineOptions(),
    both_directions: bool = False,
    significance: Significance = SIGNIFICANCE,
) -> Report:
    """Measure how well metrics recognise paraphrases: auc on sets labelled 0 or 1, spearman and pearson on graded ones.

    both_directions    score each pair in both directions and take the mean, for asymmetric metrics

    Metrics that read documents, sources or round trips are left out, with a notice; TER and any other metric for which lower
    is better are negated.
    """
    lacks = {each.name: _lacks(sets[0], each, engine) for each in metrics}
    messages = [f"{name}: left out, sentence pairs have {lack}" for name, lack in lacks.items() if lack]
    usable = [each for each in metrics if not lacks[each.name]]
    if not usable:
        raise InputError("; ".join(["no metrics are left", *messages]))
    for message in messages:
        notice(message)
    scores = {judged.name: _scores(judged, usable, engine, both_directions) for judged in sets}
    protocols = [AreaUnderCurve(), GradedCorrelation("spearman"), GradedCorrelation("pearson")]
    protocols = [each for each in protocols if not all(map(each.lacks, sets))]
    report = evaluate(sets, scores, protocols, significance, quiet=engine.quiet)
    report.sets = {
        judged.name: {"sentence pairs": judged.segments, "labels": "graded" if judged.graded else "0 or 1"}
        for judged in sets
    }
    report.settings["both_directions"] = both_directions
    return report


def _lacks(judged: PairSet, settings: MetricSettings, engine: EngineOptions) -> str:
    """The inputs required by a metric that sentence pairs lack, in words; "" if they lack none."""
    what = lacking(judged, settings.cls)
    if not what and "sources" in capabilities(settings.cls).reads:
        try:
            built_without_systems(judged, settings, engine)
        except InputError:  # lacks sources, if it can be built with some; otherwise raise the remaining error
            with_sources = replace(judged, sources=[text or "" for text in judged.references[0]])
            built_without_systems(with_sources, settings, engine)
            return "no sources"
    return what


def _scores(
    judged: PairSet, metrics: Sequence[MetricSettings], engine: EngineOptions, both_directions: bool
) -> list[MetricScores]:
    results = score_set(judged, metrics, engine)
    if not both_directions:
        return results
    swapped = [each.of_segments for each in score_set(judged.swapped(), metrics, engine)]
    both = zip(results, swapped, strict=True)
    return [replace(one, segment_scores=(one.of_segments + other) / 2) for one, other in both]
