"""Judges where any quality model may be named, such as in slide: http://localhost:8000/v1?samples=6#MODEL."""

from ..engine_options import EngineOptions
from ..models.estimator import Estimator
from ..models.load import ModelKind, ModelName
from .judging import Judging, is_name, named


class JudgeKind(ModelKind):
    metric = "judge"

    def owns(self, model: ModelName) -> bool:
        return model.folder is None and is_name(model.name)

    def opened(self, model: ModelName, options: EngineOptions, inputs: str | None) -> Estimator:
        from .estimator import JudgeEstimator

        return JudgeEstimator(Judging(**named(model.name)), inputs or "mt+src+ref", quiet=options.quiet)

    def without_references(self, model: ModelName) -> str:
        return "mt+src"
