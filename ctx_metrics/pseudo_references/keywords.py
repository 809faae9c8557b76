"""Constructor keywords for type checkers, as in ctx_metrics.metrics.keywords."""

from typing import TypedDict

from ..engine.options import EngineOptions
from ..metrics.keywords import CharacterNgrams, Lowercasing, References
from .inputs import PseudoFilter


class PseudoReferences(TypedDict, total=False):
    target_lang: str | None
    pseudo_references: References
    pseudo_filter: PseudoFilter | str
    engine: EngineOptions


class PRBLEUKeywords(PseudoReferences, Lowercasing, total=False):
    """Keywords of PRBLEU and PRSentBLEU."""


class PRChrFKeywords(PseudoReferences, CharacterNgrams, total=False):
    """Keywords of PRChrF."""
