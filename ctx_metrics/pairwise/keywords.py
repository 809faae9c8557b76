"""Constructor keywords for type checkers, as in ctx_metrics.metrics.keywords."""

from typing import TypedDict

from ..engine_options import EngineOptions
from ..metrics.keywords import Systems, Texts


class PairwiseKeywords(TypedDict, total=False):
    model: str | None
    against: Systems | None
    baseline: bool
    sources: Texts | None
    target_lang: str | None
    engine: EngineOptions
