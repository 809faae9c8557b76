"""RTT-SBERT: cosine of sentence embeddings of round trip and source (Moon, Cho and Park 2020)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Optional

from ..engine.options import EngineOptions
from ..run.context import Stream
from .roundtrip import RoundTripMetric
from .sentence_cosine import SentenceCosine


class RTTSBERT(RoundTripMetric):
    """100 times the mean cosine of the sentence embeddings of round trip and source, in [-100, 100].

    model            "embedded" (the default, English), a folder or a hub name[@revision] of sentence-transformers
    context          as RoundTripMetric takes it, and engine

    Raises InputError where sources or round trips are missing or their numbers differ, ModelError for a model that cannot be
    used, ResourceError for a device that is missing or too small.
    """

    NAME = "RTTSBERT"
    capabilities = replace(
        RoundTripMetric.capabilities,
        reads=RoundTripMetric.capabilities.reads | {"engine"},
        flags=("--rtt-sbert-",),
    )

    def __init__(
        self,
        references: Optional[Sequence[Stream]] = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        model: Optional[str] = None,
        **context: Any,
    ):
        inner = SentenceCosine(
            target_lang=context.get("source_lang"),
            model=model,
            engine=context.get("engine", EngineOptions()),
            flag="--rtt-sbert",
        )
        super().__init__(inner, references, systems=systems, **context)

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
