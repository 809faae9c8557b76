"""COMET: a learned model of translation quality on segments (Rei et al. 2020 and its successors)."""

from collections.abc import Sequence
from typing import Optional

from ..corpus import Corpus
from ..engine.options import EngineOptions
from ..errors import InputError
from ..language import guard_english
from ..windows import Window
from .base import ContextMetric, ContextScore, ContextSignature, SystemResult
from .windowed import score_windows


class COMETScore(ContextScore):
    """100 times the mean of the model's segment values; the embedded model's are in [0, 1]."""


class COMETSignature(ContextSignature):
    """nrefs, model, rev, ckpt, inputs, dtype, maxlen, long, multiref, scale and versions."""


class COMET(ContextMetric):
    """Mean over segments of a learned model's estimate of quality.

    references    streams of references for scoring with references=None
    systems       all systems that will be scored against them, so that one pass serves all
    sources       source segments, for models that read them (the embedded one does not)
    target_lang   language code of hypotheses and references, where known
    model         "embedded" (the default) or the folder of a trained regressor
    multiref      "max" takes the best of several references' values, "mean" their average
    engine        device, number format, batch size

    A segment whose hypothesis or reference has no tokens has the value 0 and is counted.
    Raises InputError for settings or texts that cannot be scored, ModelError for a model that cannot be used,
    ResourceError for a device that is missing or too small.

    >>> round(COMET(target_lang="en").corpus_score(["The cat sat."], [["The cat sat."]]).score, 3)
    100.0
    """

    NAME = "COMET"
    _SIGNATURE_TYPE = COMETSignature
    _SCORE_TYPE = COMETScore

    def __init__(
        self,
        references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        systems: Sequence[Sequence[str]] = (),
        sources: Optional[Sequence[str]] = None,
        target_lang: Optional[str] = None,
        model: Optional[str] = None,
        multiref: str = "max",
        engine: EngineOptions = EngineOptions(),
    ):
        super().__init__(references, systems, sources=sources, target_lang=target_lang)
        from ..models.estimator import load_estimator

        if multiref not in ("max", "mean"):
            raise InputError(f"{self.NAME.lower()}: multiref {multiref!r} is neither max nor mean")
        self.asked, self.target_lang, self.multiref = model is not None, target_lang, multiref
        self.estimator = load_estimator(model, engine)
        if self.estimator.english_only and target_lang:
            self._guard(())
        # what was given and this model does not read; the plugin says so
        self.unused_context = () if "src" in self.estimator.inputs else ("sources",)
        self.settings = {**self.estimator.signature(), "multiref": multiref}

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --comet-* of the sacrebleu command."""
        group.add_argument(
            "--comet-model",
            default=None,
            metavar="MODEL",
            help="embedded, or the folder of a trained regressor. (Default: embedded, English only)",
        )
        group.add_argument(
            "--comet-multiref",
            choices=["max", "mean"],
            default="max",
            help="Score of several references. (Default: %(default)s)",
        )

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        segments = [Window(i, i + 1, 1.0) for i in range(len(corpora[0]))]
        return self._score_windows(corpora, [segments] * len(corpora))

    def _score_windows(self, corpora: list[Corpus], windows: list[list[Window]]) -> list[SystemResult]:
        if self.estimator.english_only and not self.target_lang:
            self._guard([*corpora[0].references[0], *corpora[0].hypotheses])
        return score_windows(self.NAME.lower(), self.estimator, corpora, windows, self.multiref)

    def _guard(self, texts: Sequence[Optional[str]]) -> None:
        name = self.NAME.lower()
        guard_english(name, f"--{name}-model", self.asked, self.target_lang, texts)
