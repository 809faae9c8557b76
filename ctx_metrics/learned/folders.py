"""Opens the folders of networks that `ctx-metrics train` wrote, for ctx_metrics.models.load."""

from ..engine_options import EngineOptions
from ..models.estimator import Estimator
from ..models.load import ModelKind, ModelName
from .estimator import LearnedEstimator, kind_of


class LearnedKind(ModelKind):
    """BiLSTM, BiLSTM with attention and ESIM."""

    def owns(self, model: ModelName) -> bool:
        return kind_of(model.config) is not None

    def opened(self, model: ModelName, options: EngineOptions, inputs: str | None) -> Estimator:
        assert model.folder is not None  # without a config.json it does not own a model
        return LearnedEstimator(model.folder, options)
