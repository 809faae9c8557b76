"""Opens the folders of networks that `ctx-metrics train` wrote, for ctx_metrics.models.load."""

from ..engine_options import EngineOptions
from ..models.estimator import Estimator
from ..models.load import ModelKind, Named
from .estimator import LearnedEstimator, kind_of
from .regressor import CONFIG_KIND, AlignmentRegressor


class LearnedKind(ModelKind):
    """The regressor, BiLSTM, BiLSTM with attention and ESIM."""

    def owns(self, model: Named) -> bool:
        return model.config.get("model_type") == CONFIG_KIND or kind_of(model.config) is not None

    def opened(self, model: Named, options: EngineOptions, inputs: str | None) -> Estimator:
        assert model.folder is not None  # without a config.json it does not own a model
        regressor = model.config.get("model_type") == CONFIG_KIND
        return (AlignmentRegressor if regressor else LearnedEstimator)(model.folder, options)
