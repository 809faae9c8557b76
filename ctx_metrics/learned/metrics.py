"""BiLSTM, BiLSTM with attention and ESIM: trained metrics (Mathur, Baldwin and Cohn 2019, section 3.2)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..metrics.estimated import EstimatorMetric, EstimatorSettings
from ..scoring.base import model_setting

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..metrics.keywords import Estimating, References, Systems
    from ..models.estimator import Estimator


@dataclass(frozen=True)
class LearnedSettings(EstimatorSettings):
    model: str | None = model_setting("embedded, a folder that `ctx-metrics train` wrote, or a hub name[@revision]")


class LearnedMetric(EstimatorMetric):
    """100 times the mean over segments of a trained network's prediction of the human score in standard deviations: 0 is a
    translation as good as the mean of those that the model was trained on. Not bounded; of the same texts twice it is high,
    not 100. Models trained on mt+src read sources in the reference's place. Subclasses name the network.

    A segment whose hypothesis or reference has no tokens has the score of the worst judgement in training and is counted.
    """

    Settings = LearnedSettings

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[Estimating]): ...

    def _load_estimator(self) -> "Estimator":
        from .estimator import load_learned

        return load_learned(self.NAME.lower(), self.settings.model, self._context.engine)


class BiLSTM(LearnedMetric):
    """BiLSTM states of both texts, pooled and compared as vectors."""

    NAME = "BiLSTM"


class BiLSTMAtt(LearnedMetric):
    """BiLSTM states of both texts, each replaced by the states it attends to in the other, then pooled and compared."""

    NAME = "BiLSTMAtt"


class ESIM(LearnedMetric):
    """Attention between the two texts, and a second BiLSTM over the comparison of each token (Chen et al. 2017)."""

    NAME = "ESIM"
