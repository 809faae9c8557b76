"""Opens the folders of networks that `ctx-metrics train` wrote, for ctx_metrics.models.load."""

from pathlib import Path

from ..engine_options import EngineOptions
from ..models.estimator import Estimator
from .estimator import LearnedEstimator, kind_of
from .regressor import CONFIG_KIND, AlignmentRegressor


def open_folder(name: str, folder: Path, config: dict, options: EngineOptions) -> Estimator | None:
    """Return the regressor, BiLSTM, BiLSTM with attention or ESIM in a folder; None for other models."""
    if config.get("model_type") == CONFIG_KIND:
        return AlignmentRegressor(folder, options)
    return LearnedEstimator(folder, options) if kind_of(config) else None
