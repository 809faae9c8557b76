"""MetricX models where any quality model may be named: in slide, in mbr, and in `ctx-metrics convert`."""

import json
from pathlib import Path

from ..engine_options import EngineOptions
from ..models.estimator import Estimator
from ..models.load import ModelKind, ModelName
from ..writing import check_new_folder, replacing
from .checkpoint import CONVERTED, MetricXCheckpoint, files_identity, is_metricx, named_version


class MetricXKind(ModelKind):
    """MetricX checkpoints, whose version the name tells, or the config.json that `convert` has written."""

    metric = "metricx"

    def owns(self, model: ModelName) -> bool:
        return named_version(model.name) is not None if model.folder is None else is_metricx(model.config)

    def opened(self, model: ModelName, options: EngineOptions, inputs: str | None) -> Estimator:
        from .estimator import MetricXEstimator

        return MetricXEstimator(model.name, options, inputs)

    def without_references(self, model: ModelName) -> str | None:
        if CONVERTED in model.config:
            return "mt+src" if model.config[CONVERTED]["version"] == "24" else None
        name = model.name if model.folder is None else model.folder.resolve().name
        return "mt+src" if named_version(name) == "24" else None

    def convert(self, model: ModelName, target: Path) -> None:
        """Write a folder that needs no other name or file: weights in as many files as before, tokenizer and version.

        The repeated word tables are left out. The signature keeps the hash of the old files.
        """
        from safetensors.torch import save_file

        from .checkpoint import PromptTokenizer

        check_new_folder(target)
        checkpoint = MetricXCheckpoint(model.name)
        tokenizer = PromptTokenizer(checkpoint.tokenizer_folder).backend
        weights = checkpoint.weights()
        files = weights.names_by_file()
        with replacing(str(target)) as beside:
            work = Path(beside)
            work.mkdir()
            tokenizer.save(str(work / "tokenizer.json"))
            places: dict[str, str] = {}
            for number, names in enumerate(files, 1):
                several = f"-{number:05d}-of-{len(files):05d}" if len(files) > 1 else ""
                name = f"model{several}.safetensors"
                save_file({each: weights[each].contiguous() for each in names}, work / name)
                places |= dict.fromkeys(names, name)
            if len(files) > 1:
                index = {"metadata": {}, "weight_map": places}
                (work / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
            config = {name: value for name, value in checkpoint.config.items() if name != CONVERTED}
            added = {
                "version": checkpoint.version,
                "ckpt": checkpoint.model.ckpt,
                "files": files_identity(work, config),
            }
            text = json.dumps({**config, CONVERTED: added}, indent=1, ensure_ascii=False) + "\n"
            (work / "config.json").write_text(text, encoding="utf-8", errors="backslashreplace")
