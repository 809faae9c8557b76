"""A sacrebleu metric averaged over segments, instead of its corpus score."""

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics.base import Metric

from ..corpus import Corpus
from ..run.context import Stream
from .base import ContextMetric, SystemResult
from .derived import inner_settings
from .segment_counts import results_of_segments


class SegmentMean(ContextMetric):
    """The mean over segments of metric.sentence_score, against all of a segment's references as the metric takes them.

    metric        a metric of sacrebleu whose scores are in [0, 100], such as CHRF()
    references    streams of references for scoring with references=None; None where a segment has none in a stream
    context       systems, as run.context.Context describes them

    A segment with a blank hypothesis, or whose references are all blank, scores 0 and is counted.
    """

    NAME = "SegmentMean"

    def __init__(
        self,
        metric: Metric,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        **context: Any,
    ):
        super().__init__(references, systems, **context)
        self.metric = metric
        self.settings = {**inner_settings(metric), "average": "segments"}

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        return results_of_segments(corpora, self._read, self._value)

    def _read(self, *references: str) -> dict[str, Any] | None:
        """Return the metric's reference info for a segment; None if all references are blank."""
        if not any(text.strip() for text in references):
            return None
        return self.metric._extract_reference_info([self.metric._preprocess_segment(text) for text in references])

    def _value(self, hypothesis: str, references: dict[str, Any] | None) -> float | None:
        if references is None or not hypothesis.strip():
            return None
        text = self.metric._preprocess_segment(hypothesis)
        statistics = self.metric._compute_segment_statistics(text, references)
        return self.metric._aggregate_and_compute([statistics]).score / 100
