"""Sentence BLEU over gold references and filtered pseudo-references (Yoshimura et al. 2019)."""

from collections.abc import Sequence
from typing import Optional, Union

from ..engine.options import EngineOptions
from ..pseudo_references.options import PseudoFilter
from .pseudo_reference import PseudoReferenceMetric
from .sentence_bleu import SentenceBLEU
from .tokenization import add_tokenization_arguments, tokenizer_for


class PRSentBLEU(PseudoReferenceMetric):
    """100 times the mean of Moses' sentence BLEU against the gold references and the kept pseudo-references together.

    references          the gold references; always kept
    systems             all systems that will be scored against them
    target_lang         language code of hypotheses and references, where known
    pseudo_references   streams of other systems' outputs; None for gold alone
    pseudo_filter       how they are filtered; a filter's name (bert, mas, none) stands for its defaults
    tokenize            one of BLEU's tokenizers; default by the target language, 13a
    lowercase           whether case is ignored
    engine              device, number format, batch size of the filter's model

    Raises InputError for streams of other lengths, ModelError for a filter's model that cannot be used.
    """

    NAME = "PRSentBLEU"

    def __init__(
        self,
        references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        systems: Sequence[Sequence[str]] = (),
        target_lang: Optional[str] = None,
        pseudo_references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        pseudo_filter: Union[PseudoFilter, str] = PseudoFilter(),
        tokenize: Optional[str] = None,
        lowercase: bool = False,
        engine: EngineOptions = EngineOptions(),
    ):
        inner = SentenceBLEU(tokenize=tokenizer_for(tokenize, target_lang), lowercase=lowercase)
        super().__init__(inner, references, systems, target_lang, pseudo_references, pseudo_filter, engine)

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --prsentbleu-* of the sacrebleu command."""
        add_tokenization_arguments(group, "prsentbleu", "the target language")
