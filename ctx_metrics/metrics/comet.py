"""COMET: a learned model of translation quality on segments (Rei et al. 2020 and its successors)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..corpus import Corpus
from ..models.hub import EMBEDDED
from ..notices import notice
from ..scoring.base import SystemResult, model_setting
from ..scoring.estimated import EstimatorMetric, EstimatorSettings
from ..settings import setting

if TYPE_CHECKING:
    from ..models.estimator import Estimator

CHECKPOINT = "a COMET checkpoint: folder, .ckpt file, OWNER/NAME or OWNER/NAME@REVISION of the hub"


@dataclass(frozen=True)
class COMETSettings(EstimatorSettings):
    """Settings of COMET."""

    model: str | None = model_setting(f"embedded, the folder of a trained regressor, or {CHECKPOINT}")
    inputs: str | None = setting(
        "What a UniTE or XCOMET model reads. (Default: all that it takes)", choices=["mt+src", "mt+ref", "mt+src+ref"]
    )
    spans: bool = setting(
        "Have a word-level model mark error spans too, for files and JSON. (XCOMET always does)", False
    )


class COMET(EstimatorMetric):
    """100 times the mean over segments of a learned model's estimate of quality; the embedded model's are in [0, 1], and it
    reads no sources.

    A segment whose hypothesis or reference has no tokens is counted; it has the value 0 with the embedded model, and what
    the model says of it with a COMET checkpoint.

    >>> round(COMET(target_lang="en").corpus_score(["The cat sat."], [["The cat sat."]]).score, 3)
    100.0
    """

    NAME = "COMET"
    Settings: type = COMETSettings

    def _load_estimator(self) -> "Estimator":
        from ..models.load import load_estimator

        own = self.options
        return load_estimator(name=own.model, options=self._context.engine, inputs=own.inputs, spans=own.spans)

    @property
    def title(self) -> str:
        """NAME, and behind it -embedded where the embedded model scores: no table shall call that one COMET."""
        return f"{self.NAME}-embedded" if self.options.model in (None, EMBEDDED) else self.NAME

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        if not self.asked:
            notice(
                "comet: no model is named, so the small embedded one scores, which is no COMET checkpoint (--comet-model)"
            )
        return super()._score(corpora)
