"""Sentence BLEU over gold references and filtered pseudo-references (Yoshimura et al. 2019)."""

from collections.abc import Sequence
from typing import Any, Optional

from ..run.context import Stream
from .pseudo_reference import PseudoReferenceMetric
from .sentence_bleu import SentenceBLEU
from .tokenization import add_tokenization_arguments, tokenizer_for


class PRSentBLEU(PseudoReferenceMetric):
    """100 times the mean of Moses' sentence BLEU against the gold references and the kept pseudo-references together.

    references          the gold references; always kept
    context             as PseudoReferenceMetric takes it
    tokenize            one of BLEU's tokenizers; default by the target language, 13a
    lowercase           whether case is ignored

    Raises InputError for streams of other lengths, ModelError for a filter's model that cannot be used.
    """

    NAME = "PRSentBLEU"

    def __init__(
        self,
        references: Optional[Sequence[Stream]] = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        tokenize: Optional[str] = None,
        lowercase: bool = False,
        **context: Any,
    ):
        inner = SentenceBLEU(tokenize=tokenizer_for(tokenize, context.get("target_lang")), lowercase=lowercase)
        super().__init__(inner, references, systems=systems, **context)

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --prsentbleu-* of the sacrebleu command."""
        add_tokenization_arguments(group, "prsentbleu", "the target language")
