"""RTT-BLEU: corpus BLEU of the round trip against the source (Moon, Cho and Park 2020)."""

from collections.abc import Sequence
from typing import Any, Optional

from sacrebleu.metrics import BLEU

from ..run.context import Stream
from .roundtrip import RoundTripMetric
from .tokenization import add_tokenization_arguments, tokenizer_for


class RTTBLEU(RoundTripMetric):
    """sacrebleu's corpus BLEU with the round trip as hypothesis and the source as reference, in [0, 100].

    tokenize         one of BLEU's tokenizers; default by the source's language, 13a
    lowercase        whether case is ignored
    context          as RoundTripMetric takes it

    Raises InputError where sources or round trips are missing, or their numbers differ.
    """

    NAME = "RTTBLEU"

    def __init__(
        self,
        references: Optional[Sequence[Stream]] = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        tokenize: Optional[str] = None,
        lowercase: bool = False,
        **context: Any,
    ):
        inner = BLEU(lowercase=lowercase, tokenize=tokenizer_for(tokenize, context.get("source_lang")))
        super().__init__(inner, references, systems=systems, **context)

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --rttbleu-* of the sacrebleu command."""
        add_tokenization_arguments(group, "rttbleu", "the source's language")
