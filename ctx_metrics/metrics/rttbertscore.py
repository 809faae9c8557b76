"""RTT-BERTScore: BERTScore of the round trip against the source (Moon, Cho and Park 2020)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Optional

from ..engine.options import EngineOptions
from ..run.context import Stream
from .bertscore import BERTScore, Layers, add_model_arguments
from .roundtrip import RoundTripMetric


class _OfRoundTrip(BERTScore):
    NAME = "RTTBERTScore"  # for messages


class RTTBERTScore(RoundTripMetric):
    """100 times the mean BERTScore F1 with the round trip as hypothesis and the source as reference, in [-100, 100].

    model            "embedded" (the default, English), paper, a folder or a hub name[@revision]
    layers           as BERTScore takes them
    idf              weights from the source segments: plus-one (bert_score's, the default), paper, or none
    context          as RoundTripMetric takes it, and engine

    Raises InputError where sources or round trips are missing or their numbers differ, ModelError for a model that cannot be
    used, ResourceError for a device that is missing or too small.
    """

    NAME = "RTTBERTScore"
    capabilities = replace(
        RoundTripMetric.capabilities,
        reads=RoundTripMetric.capabilities.reads | {"engine"},
        flags=("--rtt-bertscore-",),
    )

    def __init__(
        self,
        references: Optional[Sequence[Stream]] = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        model: Optional[str] = None,
        layers: Layers = None,
        idf: str = "plus-one",
        **context: Any,
    ):
        inner = _OfRoundTrip(
            target_lang=context.get("source_lang"),
            engine=context.get("engine", EngineOptions()),
            model=model,
            layers=layers,
            idf=idf,
            flag="--rtt-bertscore",
        )
        super().__init__(inner, references, systems=systems, **context)

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --rtt-bertscore-* of the sacrebleu command."""
        add_model_arguments(group, "rttbertscore", "--rtt-bertscore", idf="plus-one")
