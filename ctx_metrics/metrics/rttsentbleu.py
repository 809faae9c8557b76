"""RTT-SentBLEU: smoothed sentence BLEU of the round trip against the source (Moon, Cho and Park 2020)."""

from collections.abc import Sequence
from typing import Any, Optional

from ..run.context import Stream
from .roundtrip import RoundTripMetric
from .sentence_bleu import SentenceBLEU
from .tokenization import add_tokenization_arguments, tokenizer_for


class RTTSentBLEU(RoundTripMetric):
    """100 times the mean of Moses' sentence BLEU with the round trip as hypothesis and the source as reference.

    tokenize         one of BLEU's tokenizers; default by the source's language, 13a
    lowercase        whether case is ignored
    context          as RoundTripMetric takes it

    The paper says smoothed sentence BLEU and not which smoothing; this is the one of WMT's SentBLEU baseline.
    Raises InputError where sources or round trips are missing, or their numbers differ.
    """

    NAME = "RTTSentBLEU"

    def __init__(
        self,
        references: Optional[Sequence[Stream]] = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        tokenize: Optional[str] = None,
        lowercase: bool = False,
        **context: Any,
    ):
        inner = SentenceBLEU(tokenize=tokenizer_for(tokenize, context.get("source_lang")), lowercase=lowercase)
        super().__init__(inner, references, systems=systems, **context)

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --rttsentbleu-* of the sacrebleu command."""
        add_tokenization_arguments(group, "rttsentbleu", "the source's language")
