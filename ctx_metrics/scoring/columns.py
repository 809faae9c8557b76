"""One metric's scores of all systems, and the comparison of the systems by that metric."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.base import Metric

from ..run.context import capabilities
from .comparison import Comparison, compare, scorer
from .scores import Scores
from .testing import Design


@dataclass(frozen=True)
class Column:
    """One metric's scores of each system, and the comparison of the systems by it.

    signature     "" if unknown
    metric        None for scores that were read from files
    sign          1 if higher scores are better, -1 if lower ones are
    comparison    None for fewer than two segments (or documents, if those are resampled), which cannot be tested
    """

    name: str
    signature: str
    scores: Sequence[Scores]
    sign: int
    comparison: Comparison | None
    metric: Metric | None = None

    @classmethod
    def of(cls, name: str, metric: Metric, scores: Sequence[Scores], design: Design) -> "Column":
        """Return the column of a metric's scores, with the comparison that the design asks for."""
        sign = 1 if capabilities(metric).higher_is_better else -1
        rows, of_systems = [each.rows for each in scores], [each.system for each in scores]
        comparison = compare(scorer(metric), rows, of_systems, design.ranges, sign=sign, testing=design.testing)
        return cls(name, str(metric.get_signature().format()), scores, sign, comparison, metric)

    @property
    def title(self) -> str:
        """The name of the metric in tables."""
        return self.scores[0].title

    @property
    def best(self) -> int:
        """The number of the system with the best score, from 0."""
        return self.order[0]

    @property
    def order(self) -> list[int]:
        """The systems' numbers, best first; ties keep the given order, and systems without a score come last."""
        scores = [each.system for each in self.scores]
        return sorted(range(len(scores)), key=lambda s: (math.isnan(scores[s]), -self.sign * scores[s]))
