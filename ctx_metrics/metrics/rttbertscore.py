"""RTT-BERTScore: BERTScore of the round trip against the source (Moon, Cho and Park 2020)."""

from collections.abc import Sequence
from typing import Optional

from ..engine.options import EngineOptions
from .bertscore import BERTScore, Layers, add_model_arguments
from .roundtrip import RoundTripMetric


class _OfRoundTrip(BERTScore):
    NAME = "RTTBERTScore"  # for messages


class RTTBERTScore(RoundTripMetric):
    """100 times the mean BERTScore F1 with the round trip as hypothesis and the source as reference, in [-100, 100].

    references       not read; may be None
    systems          all systems' outputs
    sources          source segments
    source_lang      language code of the source, where known
    roundtrips       each system's round trip, a stream a system in the order of `systems`
    backtranslator   what made the round trips, for the signature
    model            "embedded" (the default, English), paper, a folder or a hub name[@revision]
    layers           as BERTScore takes them
    idf              weights from the source segments: plus-one (bert_score's, the default), paper, or none
    engine           device, number format, batch size

    Raises InputError where sources or round trips are missing or their numbers differ, ModelError for a model that cannot be
    used, ResourceError for a device that is missing or too small.
    """

    NAME = "RTTBERTScore"
    OTHER_FLAGS = ("--rtt-bertscore-",)

    def __init__(
        self,
        references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        systems: Sequence[Sequence[str]] = (),
        sources: Optional[Sequence[str]] = None,
        source_lang: Optional[str] = None,
        roundtrips: Optional[Sequence[Sequence[str]]] = None,
        backtranslator: Optional[str] = None,
        model: Optional[str] = None,
        layers: Layers = None,
        idf: str = "plus-one",
        engine: EngineOptions = EngineOptions(),
    ):
        inner = _OfRoundTrip(
            target_lang=source_lang, model=model, layers=layers, idf=idf, engine=engine, flag="--rtt-bertscore"
        )
        super().__init__(inner, references, systems, sources, roundtrips, backtranslator)

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --rtt-bertscore-* of the sacrebleu command."""
        add_model_arguments(group, "rttbertscore", "--rtt-bertscore", idf="plus-one")
