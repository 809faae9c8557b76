"""What `comet`, `slide` and the learned metrics share: scoring with an estimator of quality."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..corpus import Corpus
from ..errors import CtxMetricsError, InputError
from ..run.context import Capabilities, Stream
from ..settings import setting
from ..windows import Window
from .base import ContextMetric, SystemResult, multiref_setting
from .texts import number_of_references
from .windowed import ExamplesOf, check_sources, system_results, window_examples

if TYPE_CHECKING:
    from ..models.estimator import Estimator, Penalty


@dataclass(frozen=True)
class EstimatorSettings:
    """Which model scores, and how it reads the texts; metrics say which models there are."""

    model: str | None = None
    on_long: str = setting(
        "For texts longer than the model reads: truncate cuts and counts them; error stops.",
        "truncate",
        choices=["truncate", "error"],
    )
    multiref: str = multiref_setting()


class EstimatorMetric(ContextMetric):
    """Average over segments of what an estimator says of them. Subclasses set Settings, and say by _load_estimator which."""

    Settings: type = EstimatorSettings
    capabilities = Capabilities(
        reads=frozenset({"systems", "sources", "source_lang", "target_lang", "engine"}), estimator=True
    )

    def _prepare(self) -> None:
        self._chosen: tuple[str | None, str | None] | None = None
        self._adapt(self._ref_cache is None or self._are_references(self._ref_cache))
        if not self.capabilities.references:
            self.num_refs = 0

    def _are_references(self, streams: Sequence[Stream]) -> bool:
        """Whether the streams are references; the sources in their place, which sacrebleu may ask for, are none."""
        return any(stream != self._context.sources for stream in streams)

    def _adapt(self, has_references: bool) -> None:
        """Take the model for scoring with references, or without."""
        self._has_references = has_references
        if (chosen := self._choice()) == self._chosen:
            return
        self._chosen = chosen
        try:
            self._take_model()
        except CtxMetricsError:
            self._chosen = None  # so that the next call does not take it for loaded
            raise

    def _choice(self) -> tuple[str | None, str | None]:
        """The model's name, and the texts that it shall read; None leaves them to the model."""
        return self.options.model, None

    def _take_model(self) -> None:
        """Load the chosen model; what it reads, and its signature, become the metric's."""
        self._estimator: Estimator | None = None
        self.english_only = self.estimator.english_only
        self._guard_language()
        check_sources(self.NAME.lower(), self.estimator, self._context.sources, self._has_references)
        declared, unread = type(self).capabilities, set() if "src" in self.estimator.inputs else {"sources"}
        self.capabilities = replace(declared, reads=declared.reads - unread, references="ref" in self.estimator.inputs)
        self.settings = {**self.estimator.signature(), "long": self.options.on_long}
        if self.capabilities.references:
            self.settings["multiref"] = self.options.multiref
        self.penalty = self._average()
        if self.penalty is not None:
            self.settings["average"] = "penalty"

    def _average(self) -> "Penalty | None":
        """How values are averaged; raises InputError where the model's scale has no penalties."""
        asked, own = getattr(self.options, "average", None), self.estimator.penalty
        if asked == "penalty" and own is None:
            penalty = self.named("average", "penalty")
            raise InputError(
                f"{self.NAME.lower()}: {penalty} is only for the multilingual model, and others that "
                "`ctx-metrics train comet --inputs` wrote, without references; leave it out"
            )
        return None if asked == "mean" else own

    def _of_mean(self, mean: Any) -> Any:
        return mean if self.penalty is None else 100 * self.penalty.value(-mean / 100)

    def _to_score_against(self, streams: list[Stream] | None) -> list[Stream]:
        streams = streams or []
        self._adapt(self._are_references(streams))
        self.num_refs = number_of_references(streams) if self.capabilities.references else 0
        return streams

    @abstractmethod
    def _load_estimator(self) -> "Estimator":
        """The estimator that the settings name, on the engine of the run."""

    @property
    def estimator(self) -> "Estimator":
        """The model; a pickled metric leaves it behind and loads it again when it must score more."""
        if self._estimator is None:
            self._estimator = self._load_estimator()
        return self._estimator

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_estimator": None}

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        windows = [[Window(i, i + 1, 1.0) for i in range(len(corpora[0]))]] * len(corpora)
        return system_results(self.NAME.lower(), self.estimator, corpora, windows, **self._reading)

    @property
    def _reading(self) -> dict[str, Any]:
        """How windows are read: what system_results takes beside them."""
        how = {"on_long": self.options.on_long, "multiref": self.options.multiref}
        return {**how, "penalty": self.penalty, "examples_of": self._examples}

    # what the model reads of a window, an example for each reference that it has whole
    _examples: ExamplesOf = staticmethod(window_examples)
