"""chrF over gold references and filtered pseudo-references (after Yoshimura et al. 2019)."""

from collections.abc import Sequence
from typing import Any, Optional

from sacrebleu.metrics import CHRF

from ..run.context import Stream
from .pseudo_reference import PseudoReferenceMetric
from .rttchrf import add_chrf_arguments


class PRChrF(PseudoReferenceMetric):
    """sacrebleu's corpus chrF, each segment against the best of its gold references and kept pseudo-references, in [0, 100].

    references          the gold references; always kept
    context             as PseudoReferenceMetric takes it
    char_order, word_order, beta    chrF's

    Raises InputError for streams of other lengths, ModelError for a filter's model that cannot be used.
    """

    NAME = "PRChrF"

    def __init__(
        self,
        references: Optional[Sequence[Stream]] = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        char_order: int = 6,
        word_order: int = 0,
        beta: int = 2,
        **context: Any,
    ):
        inner = CHRF(char_order=char_order, word_order=word_order, beta=beta)
        super().__init__(inner, references, systems=systems, **context)
        self.settings["beta"] = beta

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --prchrf-* of the sacrebleu command."""
        add_chrf_arguments(group, "prchrf")
