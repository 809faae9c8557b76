"""COMET: a learned model of translation quality on segments (Rei et al. 2020 and its successors)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Optional

from ..corpus import Corpus
from ..engine.options import EngineOptions
from ..errors import InputError
from ..language import guard_english
from ..notices import notice
from ..windows import Window
from .base import ContextMetric, ContextScore, ContextSignature, SystemResult
from .windowed import check_sources, score_windows

if TYPE_CHECKING:
    from ..models.estimator import Estimator


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
    model         "embedded" (the default), the folder of a trained regressor, or a COMET checkpoint: folder, .ckpt file,
                  OWNER/NAME or OWNER/NAME@REVISION of the hub
    inputs        "mt+src" or "mt+ref" to have a model that takes both, as UniTE and XCOMET do, read only these
    on_long       "truncate" cuts and counts texts longer than the model reads, "error" refuses them
    spans         whether to have word-level models mark error spans too (XCOMET always does)
    multiref      "max" takes the best of several references' values, "mean" their average
    engine        device, number format, batch size

    A segment whose hypothesis or reference has no tokens is counted; it has the value 0 with the embedded model, and what
    the model says of it with a COMET checkpoint.
    Raises InputError for settings or texts that cannot be scored, ModelError for a model that cannot be used,
    ResourceError for a device that is missing or too small.

    >>> round(COMET(target_lang="en").corpus_score(["The cat sat."], [["The cat sat."]]).score, 3)
    100.0
    """

    NAME = "COMET"
    _SIGNATURE_TYPE = COMETSignature
    _SCORE_TYPE = COMETScore
    _reads_references = True

    def __init__(
        self,
        references: Optional[Sequence[Sequence[Optional[str]]]] = None,
        systems: Sequence[Sequence[str]] = (),
        sources: Optional[Sequence[str]] = None,
        target_lang: Optional[str] = None,
        model: Optional[str] = None,
        inputs: Optional[str] = None,
        on_long: str = "truncate",
        spans: bool = False,
        multiref: str = "max",
        engine: EngineOptions = EngineOptions(),
    ):
        super().__init__(references, systems, sources=sources, target_lang=target_lang)
        for setting, value, allowed in (
            ("multiref", multiref, ("max", "mean")),
            ("on_long", on_long, ("truncate", "error")),
        ):
            if value not in allowed:
                raise InputError(f"{self.NAME.lower()}: {setting} {value!r} is neither {' nor '.join(allowed)}")
        self.asked, self.target_lang, self.multiref, self.on_long = model is not None, target_lang, multiref, on_long
        self._load = {"name": model, "options": engine, "inputs": inputs, "spans": spans, **self._reading()}
        self._estimator: Optional["Estimator"] = None
        if self.estimator.english_only and target_lang:
            self._guard(())
        check_sources(self.NAME.lower(), self.estimator, sources)
        if "ref" not in self.estimator.inputs:
            self._reads_references, self.num_refs = False, 0
            self._ref_cache = self._ref_cache or []  # so that references=None needs none kept
        # what was given and this model does not read; the plugin says so
        self.unused_context = () if "src" in self.estimator.inputs else ("sources",)
        self.settings = {**self.estimator.signature(), "long": on_long}
        if self._reads_references:
            self.settings["multiref"] = multiref

    def _cache_references(self, references: Sequence[Sequence[Optional[str]]]) -> list:
        streams = super()._cache_references(references)
        if not self._reads_references:
            self.num_refs = 0
        return streams

    @staticmethod
    def _reading() -> dict:
        """How else the model shall be loaded than usual."""
        return {}

    @property
    def estimator(self) -> "Estimator":
        """The model; a pickled metric leaves it behind and loads it again when it must score more."""
        if self._estimator is None:
            from ..models.estimator import load_estimator

            self._estimator = load_estimator(**self._load)
        return self._estimator

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_estimator": None}

    @classmethod
    def add_arguments(cls, group) -> None:
        """The flags --comet-* of the sacrebleu command."""
        add_model_arguments(group, cls.NAME.lower())

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        if not self.asked:
            notice(
                "comet: no model is named, so the small embedded one scores, which is no COMET checkpoint (--comet-model)"
            )
        segments = [Window(i, i + 1, 1.0) for i in range(len(corpora[0]))]
        return self._score_windows(corpora, [segments] * len(corpora))

    def _score_windows(self, corpora: list[Corpus], windows: list[list[Window]]) -> list[SystemResult]:
        self._guard_texts(corpora)
        return score_windows(self.NAME.lower(), self.estimator, corpora, windows, self.multiref, self.on_long)

    def _guard_texts(self, corpora: list[Corpus]) -> None:
        if self.estimator.english_only and not self.target_lang:
            self._guard([*(corpora[0].references or [()])[0], *corpora[0].hypotheses])

    def _guard(self, texts: Sequence[Optional[str]]) -> None:
        name = self.NAME.lower()
        guard_english(name, f"--{name}-model", self.asked, self.target_lang, texts)


def add_model_arguments(group, name: str, choices: bool = True) -> None:
    """The flags --NAME-model, -on-long and -multiref, and where there are `choices` -inputs and -spans."""
    embedded = "embedded, the folder of a trained regressor, or " if choices else ""
    group.add_argument(
        f"--{name}-model",
        default=None,
        metavar="MODEL",
        help=f"{embedded}a COMET checkpoint: folder, .ckpt file, OWNER/NAME or OWNER/NAME@REVISION of the hub. "
        f"({'Default: embedded, English only' if choices else 'It must pool by averages'})",
    )
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
    if choices:
        group.add_argument(
            f"--{name}-inputs",
            choices=["mt+src", "mt+ref", "mt+src+ref"],
            default=None,
            help="What a UniTE or XCOMET model reads. (Default: all that it takes)",
        )
        group.add_argument(
            f"--{name}-spans",
            action="store_true",
            help="Have a word-level model mark error spans too, for files and JSON. (XCOMET always does)",
        )
