"""BLEURT models where any quality model may be named: in slide, in mbr, and in `ctx-metrics convert`."""

import json
import shutil
from pathlib import Path

from ..engine_options import EngineOptions
from ..models.estimator import Estimator
from ..models.load import ModelKind, ModelName
from ..writing import check_new_folder, replacing, write_tensors
from .checkpoint import CONVERTED, KIND, VOCABULARY, BleurtCheckpoint, files_identity, is_named


class BleurtKind(ModelKind):
    """BLEURT-20 checkpoints, by their config.json or their name on the hub."""

    metric = "bleurt"

    def owns(self, model: ModelName) -> bool:
        return is_named(model.name) if model.folder is None else model.config.get("model_type") == KIND

    def opened(self, model: ModelName, options: EngineOptions, inputs: str | None) -> Estimator:
        from .estimator import BleurtEstimator

        return BleurtEstimator(model.name, options)

    def convert(self, model: ModelName, target: Path) -> None:
        """Write the weights that are read as one safetensors file, under the port's names, next to the SentencePiece model.

        The signature keeps the hash of the old files.
        """
        check_new_folder(target)
        checkpoint = BleurtCheckpoint(model.name)
        tensors = checkpoint.stored()
        with replacing(str(target)) as beside:
            work = Path(beside)
            work.mkdir()
            shutil.copyfile(checkpoint.vocabulary, work / VOCABULARY)
            write_tensors(str(work / "model.safetensors"), tensors)
            config = {name: value for name, value in checkpoint.stated.items() if name != CONVERTED}
            added = {"ckpt": checkpoint.model.ckpt, "files": files_identity(work, config)}
            text = json.dumps({**config, CONVERTED: added}, indent=1, ensure_ascii=False) + "\n"
            (work / "config.json").write_text(text, encoding="utf-8", errors="backslashreplace")
