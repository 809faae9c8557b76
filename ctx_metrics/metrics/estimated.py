"""The base class of `comet`, `slide` and the learned metrics, which score with a quality estimator."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..corpus import Corpus
from ..errors import CtxMetricsError, InputError
from ..run.context import Capabilities, Stream
from ..scoring.base import ContextMetric, SystemResult, multiref_setting
from ..scoring.constructor import number_of_references
from ..settings import setting
from ..windows import Window
from ..wording import worded
from .windowed import ExamplesOf, check_sources, estimate_windows, system_result, window_examples

if TYPE_CHECKING:
    from ..models.estimator import Estimator, Penalty


@dataclass(frozen=True)
class EstimatorSettings:
    """Which model scores, and how it reads the texts."""

    model: str | None = None
    on_long: str = setting(
        "For texts longer than the model reads: truncate cuts and counts them; error stops.",
        "truncate",
        choices=["truncate", "error"],
    )
    multiref: str = multiref_setting()


class EstimatorMetric(ContextMetric):
    """The mean of a quality model's estimates over segments. Subclasses set Settings and load the model."""

    Settings: type = EstimatorSettings
    capabilities = Capabilities(reads=frozenset({"sources", "source_lang", "target_lang", "engine"}), estimator=True)

    def _prepare(self) -> None:
        self._chosen: tuple[str | None, str | None] | None = None
        self._adapt(self._ref_cache is None or self._are_references(self._ref_cache))
        if not self.can.references:
            self.num_refs = 0

    def _are_references(self, streams: Sequence[Stream]) -> bool:
        """Whether any stream holds references, not the sources, which users may pass where sacrebleu demands a reference."""
        return any(stream != self._context.sources for stream in streams)

    def _adapt(self, has_references: bool) -> None:
        self._has_references = has_references
        if (chosen := self._choice()) == self._chosen:
            return
        self._chosen = chosen
        try:
            self._take_model()
        except CtxMetricsError:
            self._chosen = None  # the next call must not treat the model as loaded
            raise

    def _choice(self) -> tuple[str | None, str | None]:
        """Return the model's name and the texts that it should read; None means the model's default."""
        return self.settings.model, None

    def _take_model(self) -> None:
        self._estimator: Estimator | None = None
        self.english_only = self.estimator.english_only
        self.signature = {**self.estimator.signature(), "long": self.settings.on_long}
        check_sources(self.NAME.lower(), self.estimator, self._context.sources, self._has_references)
        declared, unread = type(self).capabilities, set() if "src" in self.estimator.inputs else {"sources"}
        self.can = replace(declared, reads=declared.reads - unread, references="ref" in self.estimator.inputs)
        if self.can.references:
            self.signature["multiref"] = self.settings.multiref
        self.penalty = self._average()
        if self.penalty is not None:
            self.signature["average"] = "penalty"
        self._guard_language()

    def _average(self) -> "Penalty | None":
        """Return the penalty by which values are averaged, or None for the plain mean."""
        asked, own = getattr(self.settings, "average", None), self.estimator.penalty
        if asked == "penalty" and own is None:
            penalty = self.named("average", "penalty")
            raise InputError(
                f"{self.NAME.lower()}: {penalty} is only for the multilingual model, and others that "
                "`ctx-metrics train comet --inputs` wrote, without references; leave it out"
            )
        return None if asked == "mean" else own

    def _to_score_against(self, streams: list[Stream] | None) -> list[Stream]:
        streams = streams or []
        self._adapt(self._are_references(streams))
        self.num_refs = number_of_references(streams) if self.can.references else 0
        return streams

    @abstractmethod
    def _load_estimator(self) -> "Estimator":
        """Load the estimator that the settings name, on the run's engine."""

    def say_one_document(self) -> None:
        ids = worded("--docids FILE", "doc_ids")
        self._say(f"no document ids ({ids}), so all segments are taken as one document")

    @property
    def estimator(self) -> "Estimator":
        """The model. Pickling drops it; the unpickled metric loads it again when needed."""
        if self._estimator is None:
            self._estimator = self._load_estimator()
        return self._estimator

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_estimator": None}

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        windows = [[Window(i, i + 1, 1.0) for i in range(len(corpora[0]))]] * len(corpora)
        return self._results_of_windows(corpora, windows)

    def _results_of_windows(self, corpora: list[Corpus], windows: Sequence[Sequence[Window]]) -> list[SystemResult]:
        estimator, options = self.estimator, self.settings
        estimates_of = estimate_windows(
            self.NAME.lower(), estimator, corpora, windows, on_long=options.on_long, examples_of=self._examples
        )
        return [
            system_result(estimator, len(corpus), of_system, estimates, options.multiref, self.penalty)
            for corpus, of_system, estimates in zip(corpora, windows, estimates_of, strict=True)
        ]

    # makes the model's inputs for a window: one example for each reference without gaps
    _examples: ExamplesOf = staticmethod(window_examples)
