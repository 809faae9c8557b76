"""RTT-SentBLEU: smoothed sentence BLEU of the round trip against the source (Moon, Cho and Park 2020)."""

from collections.abc import Sequence
from typing import Optional

from .roundtrip import RoundTripMetric
from .sentence_bleu import SentenceBLEU
from .tokenization import add_tokenization_arguments, tokenizer_for


class RTTSentBLEU(RoundTripMetric):
    """100 times the mean of Moses' sentence BLEU with the round trip as hypothesis and the source as reference.

    references       not read; may be None
    systems          all systems' outputs
    sources          source segments
    source_lang      language code of the source, where known
    roundtrips       each system's round trip, a stream a system in the order of `systems`
    backtranslator   what made the round trips, for the signature
    tokenize         one of BLEU's tokenizers; default by the source's language, 13a
    lowercase        whether case is ignored

    The paper says smoothed sentence BLEU and not which smoothing; this is the one of WMT's SentBLEU baseline.
    Raises InputError where sources or round trips are missing, or their numbers differ.
    """

    NAME = "RTTSentBLEU"

    def __init__(
        self,
        references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        systems: Sequence[Sequence[str]] = (),
        sources: Optional[Sequence[str]] = None,
        source_lang: Optional[str] = None,
        roundtrips: Optional[Sequence[Sequence[str]]] = None,
        backtranslator: Optional[str] = None,
        tokenize: Optional[str] = None,
        lowercase: bool = False,
    ):
        inner = SentenceBLEU(tokenize=tokenizer_for(tokenize, source_lang), lowercase=lowercase)
        super().__init__(inner, references, systems, sources, roundtrips, backtranslator)

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --rttsentbleu-* of the sacrebleu command."""
        add_tokenization_arguments(group, "rttsentbleu", "the source's language")
