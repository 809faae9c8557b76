"""What `comet`, `slide` and the learned metrics share: scoring with an estimator of quality."""

import argparse
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..corpus import Corpus
from ..errors import InputError
from ..language import guard_english
from ..run.context import Capabilities, Stream
from ..windows import Window
from .base import ContextMetric, SystemResult
from .windowed import check_sources, score_windows

if TYPE_CHECKING:
    from ..models.estimator import Estimator


class EstimatorMetric(ContextMetric):
    """Mean over segments of what an estimator says of them. Subclasses say which one by _load_estimator.

    references    streams of references for scoring with references=None
    model         its name, None for the embedded one
    on_long       "truncate" cuts and counts texts longer than the model reads, "error" refuses them
    multiref      "max" takes the best of several references' values, "mean" their average
    load          what else _load_estimator takes
    context       the fields of run.context.Context that the class reads
    """

    capabilities = Capabilities(reads=frozenset({"systems", "sources", "target_lang", "engine"}), estimator=True)

    def __init__(
        self,
        references: Sequence[Stream] | None,
        model: str | None,
        on_long: str,
        multiref: str,
        load: dict[str, Any],
        **context: Any,
    ):
        super().__init__(references, **context)
        for setting, value, allowed in (
            ("multiref", multiref, ("max", "mean")),
            ("on_long", on_long, ("truncate", "error")),
        ):
            if value not in allowed:
                raise InputError(f"{self.NAME.lower()}: {setting} {value!r} is neither {' nor '.join(allowed)}")
        self.asked, self.multiref, self.on_long = model is not None, multiref, on_long
        self._load = {"name": model, "options": self._context.engine, **load}
        self._estimator: Estimator | None = None
        self.english_only, self.flag = self.estimator.english_only, f"--{self.NAME.lower()}"
        if self.english_only and self._context.target_lang:
            guard_english(self.NAME.lower(), f"{self.flag}-model", self.asked, self._context.target_lang, ())
        check_sources(self.NAME.lower(), self.estimator, self._context.sources)
        unread = set() if "src" in self.estimator.inputs else {"sources"}
        self.capabilities = replace(
            self.capabilities, reads=self.capabilities.reads - unread, references="ref" in self.estimator.inputs
        )
        if not self.capabilities.references:
            self.num_refs = 0
            self._ref_cache = self._ref_cache or []  # so that references=None needs none kept
        self.settings = {**self.estimator.signature(), "long": on_long}
        if self.capabilities.references:
            self.settings["multiref"] = multiref

    def _cache_references(self, references: Sequence[Sequence[str | None]]) -> list:
        streams = super()._cache_references(references)
        if not self.capabilities.references:
            self.num_refs = 0
        return streams

    @staticmethod
    @abstractmethod
    def _load_estimator(**load: Any) -> "Estimator":
        """The estimator of a `name` with EngineOptions `options`, and what else the constructor was given."""

    @property
    def estimator(self) -> "Estimator":
        """The model; a pickled metric leaves it behind and loads it again when it must score more."""
        if self._estimator is None:
            self._estimator = self._load_estimator(**self._load)
        return self._estimator

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_estimator": None}

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        segments = [Window(i, i + 1, 1.0) for i in range(len(corpora[0]))]
        windows = [segments] * len(corpora)
        return score_windows(self.NAME.lower(), self.estimator, corpora, windows, self.multiref, self.on_long)


def add_reading_arguments(group: argparse._ArgumentGroup, name: str) -> None:
    """The flags --NAME-on-long and --NAME-multiref."""
    group.add_argument(
        f"--{name}-on-long",
        choices=["truncate", "error"],
        default="truncate",
        help="Texts longer than the model reads: cut and count them, or refuse. (Default: %(default)s)",
    )
    group.add_argument(
        f"--{name}-multiref",
        choices=["max", "mean"],
        default="max",
        help="Score of several references. (Default: %(default)s)",
    )
