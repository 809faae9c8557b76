"""Constructor keywords for type checkers, as in ctx_metrics.metrics.keywords."""

from typing import TypedDict

from ..engine.options import EngineOptions
from ..metrics.keywords import CharacterNgrams, Encoding, Lowercasing, Systems, Texts


class RoundTrips(TypedDict, total=False):
    sources: Texts | None
    source_lang: str | None
    roundtrips: Systems | None
    backtranslator: str | None


class RTTBLEUKeywords(RoundTrips, Lowercasing, total=False):
    """Keywords of RTTBLEU and RTTSentBLEU."""


class RTTChrFKeywords(RoundTrips, CharacterNgrams, total=False):
    average: bool


class RTTSBERTKeywords(RoundTrips, total=False):
    model: str | None
    engine: EngineOptions


class RTTBERTScoreKeywords(RoundTrips, Encoding, total=False):
    idf: str
