"""A filter for OpusFilter that keeps sentence pairs by a metric that reads no reference.

In OpusFilter's configuration, with this folder in PYTHONPATH:

    filters:
      - CtxMetricsFilter: {languages: de-en, threshold: 40}
        module: opusfilter_ctx
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from opusfilter import CLEAN_HIGH, FilterABC

from ctx_metrics import COMET
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.language import named_languages

Pair = Sequence[str]


class CtxMetricsFilter(FilterABC):
    """Keeps the pairs whose COMET score, of the target given the source, is at least the threshold.

    threshold    on the scale x100; scores of the embedded model are about 50 for a mean translation
    languages    such as de-en
    model        multilingual (embedded, about 100 languages), or a COMET checkpoint that reads no reference
    batch        sentence pairs that are scored at once
    settings     other settings of COMET, such as max_length
    """

    def __init__(
        self,
        threshold: float = 40.0,
        languages: str = "",
        model: str = "multilingual",
        batch: int = 2000,
        device: str = "auto",
        settings: dict | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.threshold, self.batch = threshold, batch
        self.target_lang = named_languages(languages)[1]
        self.engine = EngineOptions(device=device)
        self.settings = {"model": model, "inputs": "mt+src" if model == "multilingual" else None, **(settings or {})}

    def _scored(self, pairs: Iterable[Pair]) -> Iterator[tuple[Pair, float]]:
        each = iter(pairs)
        while chunk := list(islice(each, self.batch)):
            sources, targets = zip(*chunk, strict=True)
            metric = COMET(sources=sources, target_lang=self.target_lang, engine=self.engine, **self.settings)
            for pair, found in zip(chunk, metric.segment_scores(targets, None), strict=True):
                yield pair, float(found.score)

    def score(self, pairs: Iterable[Pair]) -> Iterator[float]:
        for _, value in self._scored(pairs):
            yield value

    def accept(self, score: float) -> bool:
        return score >= self.threshold

    # FilterABC scores one pair at a time in these two
    def filter(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        return (pair for pair, value in self._scored(pairs) if self.accept(value))

    def filterfalse(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        return (pair for pair, value in self._scored(pairs) if not self.accept(value))

    @property
    def score_direction(self) -> str:
        return CLEAN_HIGH

    @property
    def accept_threshold(self) -> float:
        return -math.inf

    @property
    def reject_threshold(self) -> float:
        return math.inf
