"""A metric's scores of all systems, with the comparison of the systems by it."""

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
    """One metric: its scores of each system, and how far apart systems are by it.

    signature     "" where it is not known
    metric        None for scores that were read from files
    sign          1 where a larger score is the better one, -1 where the smaller is
    comparison    None for fewer than two segments (or documents, where they are drawn), of which nothing can be drawn
    """

    name: str
    signature: str
    scores: Sequence[Scores]
    sign: int
    comparison: Comparison | None
    metric: Metric | None = None

    @classmethod
    def of(cls, name: str, metric: Metric, scores: Sequence[Scores], design: Design) -> "Column":
        """A metric's scores of a run, and the comparison that the design asks for."""
        sign = 1 if capabilities(metric).higher_is_better else -1
        rows, of_systems = [each.rows for each in scores], [each.system for each in scores]
        comparison = compare(scorer(metric), rows, of_systems, design.ranges, sign=sign, testing=design.testing)
        return cls(name, str(metric.get_signature().format()), scores, sign, comparison, metric)

    @property
    def title(self) -> str:
        """What the metric calls itself in tables."""
        return self.scores[0].title

    @property
    def best(self) -> int:
        """The number of the system with the best score."""
        return self.order[0]

    @property
    def order(self) -> list[int]:
        """The systems' numbers from the best; equal ones stay as they were given, and those without a score come last."""
        scores = [each.system for each in self.scores]
        return sorted(range(len(scores)), key=lambda s: (math.isnan(scores[s]), -self.sign * scores[s]))
