"""Constructor keywords for type checkers, as in ctx_metrics.metrics.keywords."""

from ..engine_options import EngineOptions
from ..metrics.keywords import CharacterNgrams, Lowercasing, References
from .inputs import PseudoFilter


class PseudoReferenceKeywords(Lowercasing, CharacterNgrams, total=False):
    """All keywords of the pseudo-reference metrics, each of which has some of them."""

    target_lang: str | None
    pseudo_references: References
    pseudo_filter: PseudoFilter | str
    engine: EngineOptions
