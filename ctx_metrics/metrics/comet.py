"""COMET: a learned model of translation quality on segments (Rei et al. 2020 and its successors)."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..corpus import Corpus
from ..models.hub import EMBEDDED
from ..notices import notice
from ..run.context import Stream
from ..scoring.base import ContextScore, ContextSignature, SystemResult
from ..scoring.estimated import EstimatorMetric, add_reading_arguments

if TYPE_CHECKING:
    from ..models.estimator import Estimator


class COMETScore(ContextScore):
    """100 times the mean of the model's segment values; the embedded model's are in [0, 1]."""


class COMETSignature(ContextSignature):
    """nrefs, model, rev, ckpt, inputs, dtype, maxlen, long, multiref, scale and versions."""


class COMET(EstimatorMetric):
    """Mean over segments of a learned model's estimate of quality.

    references    streams of references for scoring with references=None
    model         "embedded" (the default), the folder of a trained regressor, or a COMET checkpoint: folder, .ckpt file,
                  OWNER/NAME or OWNER/NAME@REVISION of the hub
    inputs        "mt+src" or "mt+ref" to have a model that takes both, as UniTE and XCOMET do, read only these
    on_long       "truncate" cuts and counts texts longer than the model reads, "error" refuses them
    spans         whether to have word-level models mark error spans too (XCOMET always does)
    multiref      "max" takes the best of several references' values, "mean" their average
    context       systems, sources (for models that read them; the embedded one does not), target_lang and engine, as
                  run.context.Context describes them

    A segment whose hypothesis or reference has no tokens is counted; it has the value 0 with the embedded model, and what
    the model says of it with a COMET checkpoint.
    Raises InputError for settings or texts that cannot be scored, ModelError for a model that cannot be used,
    ResourceError for a device that is missing or too small.

    >>> round(COMET(target_lang="en").corpus_score(["The cat sat."], [["The cat sat."]]).score, 3)
    100.0
    """

    NAME = "COMET"
    _SIGNATURE_TYPE: type[ContextSignature] = COMETSignature
    _SCORE_TYPE: type[ContextScore] = COMETScore

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        model: str | None = None,
        inputs: str | None = None,
        on_long: str = "truncate",
        spans: bool = False,
        multiref: str = "max",
        **context: Any,
    ):
        load = {"inputs": inputs, "spans": spans, **self._reading()}
        super().__init__(references, model, on_long, multiref, load, systems=systems, **context)

    @staticmethod
    def _reading() -> dict:
        """How else the model shall be loaded than usual."""
        return {}

    @staticmethod
    def _load_estimator(**load: Any) -> "Estimator":
        from ..models.load import load_estimator

        return load_estimator(**load)

    @property
    def title(self) -> str:
        """NAME, and behind it -embedded where the embedded model scores: no table shall call that one COMET."""
        return f"{self.NAME}-embedded" if self._load["name"] in (None, EMBEDDED) else self.NAME

    @classmethod
    def add_arguments(cls, group: argparse._ArgumentGroup) -> None:
        """The flags --comet-* of the sacrebleu command."""
        add_model_arguments(group, cls.NAME.lower())

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        if not self.asked:
            notice(
                "comet: no model is named, so the small embedded one scores, which is no COMET checkpoint (--comet-model)"
            )
        return super()._score(corpora)


def add_model_arguments(group: argparse._ArgumentGroup, name: str, choices: bool = True) -> None:
    """The flags --NAME-model, -on-long and -multiref, and where there are `choices` -inputs and -spans."""
    embedded = "embedded, the folder of a trained regressor, or " if choices else ""
    group.add_argument(
        f"--{name}-model",
        default=None,
        metavar="MODEL",
        help=f"{embedded}a COMET checkpoint: folder, .ckpt file, OWNER/NAME or OWNER/NAME@REVISION of the hub. "
        f"({'Default: embedded, English only' if choices else 'It must pool by averages'})",
    )
    add_reading_arguments(group, name)
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
