"""chrF over gold references and filtered pseudo-references (after Yoshimura et al. 2019)."""

from collections.abc import Sequence
from typing import Optional, Union

from sacrebleu.metrics import CHRF

from ..engine.options import EngineOptions
from ..pseudo_references.options import PseudoFilter
from .pseudo_reference import PseudoReferenceMetric
from .rttchrf import add_chrf_arguments


class PRChrF(PseudoReferenceMetric):
    """sacrebleu's corpus chrF, each segment against the best of its gold references and kept pseudo-references, in [0, 100].

    references          the gold references; always kept
    systems             all systems that will be scored against them
    target_lang         language code of hypotheses and references, where known
    pseudo_references   streams of other systems' outputs; None for gold alone
    pseudo_filter       how they are filtered; a filter's name (bert, mas, none) stands for its defaults
    char_order, word_order, beta    chrF's
    engine              device, number format, batch size of the filter's model

    Raises InputError for streams of other lengths, ModelError for a filter's model that cannot be used.
    """

    NAME = "PRChrF"

    def __init__(
        self,
        references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        systems: Sequence[Sequence[str]] = (),
        target_lang: Optional[str] = None,
        pseudo_references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        pseudo_filter: Union[PseudoFilter, str] = PseudoFilter(),
        char_order: int = 6,
        word_order: int = 0,
        beta: int = 2,
        engine: EngineOptions = EngineOptions(),
    ):
        inner = CHRF(char_order=char_order, word_order=word_order, beta=beta)
        super().__init__(inner, references, systems, target_lang, pseudo_references, pseudo_filter, engine)
        self.settings["beta"] = beta

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --prchrf-* of the sacrebleu command."""
        add_chrf_arguments(group, "prchrf")
