"""RTT-SBERT: cosine of sentence embeddings of round trip and source (Moon, Cho and Park 2020)."""

from collections.abc import Sequence
from typing import Optional

from ..engine.options import EngineOptions
from .roundtrip import RoundTripMetric
from .sentence_cosine import SentenceCosine


class RTTSBERT(RoundTripMetric):
    """100 times the mean cosine of the sentence embeddings of round trip and source, in [-100, 100].

    references       not read; may be None
    systems          all systems' outputs
    sources          source segments
    source_lang      language code of the source, where known
    roundtrips       each system's round trip, a stream a system in the order of `systems`
    backtranslator   what made the round trips, for the signature
    model            "embedded" (the default, English), a folder or a hub name[@revision] of sentence-transformers
    engine           device, number format, batch size

    Raises InputError where sources or round trips are missing or their numbers differ, ModelError for a model that cannot be
    used, ResourceError for a device that is missing or too small.
    """

    NAME = "RTTSBERT"
    OTHER_FLAGS = ("--rtt-sbert-",)

    def __init__(
        self,
        references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        systems: Sequence[Sequence[str]] = (),
        sources: Optional[Sequence[str]] = None,
        source_lang: Optional[str] = None,
        roundtrips: Optional[Sequence[Sequence[str]]] = None,
        backtranslator: Optional[str] = None,
        model: Optional[str] = None,
        engine: EngineOptions = EngineOptions(),
    ):
        inner = SentenceCosine(target_lang=source_lang, model=model, engine=engine, flag="--rtt-sbert")
        super().__init__(inner, references, systems, sources, roundtrips, backtranslator)

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flag --rtt-sbert-model of the sacrebleu command."""
        group.add_argument(
            "--rtt-sbert-model",
            dest="rttsbert_model",
            default=None,
            metavar="MODEL",
            help="A sentence-transformers folder or hub name[@revision]. (Default: embedded, English only)",
        )
