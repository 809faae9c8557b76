"""Keywords of the constructors for type checkers, as ctx_metrics.metrics.keywords has them."""

from typing import TypedDict

from ..engine.options import EngineOptions
from ..metrics.keywords import CharacterNgrams, Encoding, Lowercasing, Systems, Texts


class RoundTrips(TypedDict, total=False):
    sources: Texts | None
    source_lang: str | None
    roundtrips: Systems | None
    backtranslator: str | None


class RTTBLEUKeywords(RoundTrips, Lowercasing, total=False):
    """Of RTTBLEU and RTTSentBLEU."""


class RTTChrFKeywords(RoundTrips, CharacterNgrams, total=False):
    average: bool


class RTTSBERTKeywords(RoundTrips, total=False):
    model: str | None
    engine: EngineOptions


class RTTBERTScoreKeywords(RoundTrips, Encoding, total=False):
    idf: str
