"""What `comet`, `slide` and the learned metrics share: scoring with an estimator of quality."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..corpus import Corpus
from ..errors import InputError
from ..run.context import Capabilities
from ..settings import setting
from ..windows import Window
from .base import ContextMetric, SystemResult, multiref_setting
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
    capabilities = Capabilities(reads=frozenset({"systems", "sources", "target_lang", "engine"}), estimator=True)

    def _prepare(self) -> None:
        self._estimator: Estimator | None = None
        self.english_only = self.estimator.english_only
        self._guard_language()
        references = self._ref_cache is None or bool(self._ref_cache)
        check_sources(self.NAME.lower(), self.estimator, self._context.sources, references)
        unread = set() if "src" in self.estimator.inputs else {"sources"}
        self.capabilities = replace(
            self.capabilities, reads=self.capabilities.reads - unread, references="ref" in self.estimator.inputs
        )
        if not self.capabilities.references:
            self.num_refs = 0
            self._ref_cache = self._ref_cache or []  # so that references=None needs none kept
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
            raise InputError(
                f"{self.NAME.lower()}: {self.flag}-average penalty is only for the multilingual model, and others that "
                f"`ctx-metrics train comet --inputs` wrote, without references; leave it out"
            )
        return None if asked == "mean" else own

    def _of_mean(self, mean: Any) -> Any:
        return mean if self.penalty is None else 100 * self.penalty.value(-mean / 100)

    def _cache_references(self, references: Sequence[Sequence[str | None]]) -> list:
        streams = super()._cache_references(references)
        if not self.capabilities.references:
            self.num_refs = 0
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
