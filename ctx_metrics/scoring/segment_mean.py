"""The mean over segments of a sacrebleu metric's sentence scores, in place of its corpus score."""

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics.base import Metric

from ..corpus import Corpus
from ..run.context import Stream
from .base import ContextMetric, SystemResult
from .derived import inner_settings, with_references
from .segment_counts import counted_result


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
        results: list[SystemResult] = []
        metric: Metric | None = None
        for number, corpus in enumerate(corpora):
            texts = [
                [text for text in of_segment if text is not None] for of_segment in zip(*corpus.references, strict=True)
            ]
            texts = texts or [[] for _ in corpus.hypotheses]
            there = [i for i, of_segment in enumerate(texts) if of_segment]
            if metric is None or corpus.references != corpora[number - 1].references:
                metric = with_references(self.metric, corpus.references, there)
            rows, empty = [[0.0, 0.0] for _ in texts], []
            found = metric._extract_corpus_statistics([corpus.hypotheses[i] for i in there], None) if there else []
            for i, statistics in zip(there, found, strict=True):
                if corpus.hypotheses[i].strip() and any(text.strip() for text in texts[i]):
                    rows[i] = [metric._aggregate_and_compute([statistics]).score / 100, 1.0]
                else:
                    empty.append(i)
                    rows[i] = [0.0, 1.0]
            results.append(counted_result(rows, empty, sorted(set(range(len(texts))) - set(there))))
        return results
