"""Constructor keywords for type checkers, as in ctx_metrics.metrics.keywords."""

from ..metrics.keywords import CharacterNgrams, Encoding, Lowercasing, Systems, Texts


class RoundTripKeywords(Lowercasing, CharacterNgrams, Encoding, total=False):
    """All keywords of the round-trip metrics, each of which has some of them."""

    sources: Texts | None
    source_lang: str | None
    roundtrips: Systems | None
    backtranslator: str | None
    average: bool
    idf: str
