"""Load a quality model by its name: a COMET checkpoint, a model that ctx-metrics trained, or another family's kind."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..engine_options import EngineOptions
from ..entry_points import installed, loaded
from ..errors import ModelError
from ..wording import metric_with_model
from .estimator import EMBEDDED_FOLDER, Estimator
from .hub import EMBEDDED

GROUP = "ctx_metrics.models"  # of entry points that name subclasses of ModelKind


class ModelName(NamedTuple):
    """A model as the user names it: a local folder with its config.json ({} without one), or a name of the hub."""

    name: str
    folder: Path | None
    config: Mapping[str, Any]


class ModelKind(ABC):
    """A family's kind of quality models.

    metric    the metric, by its name in lower case, that runs them; "" if there is none of their own
    """

    metric: str = ""

    @abstractmethod
    def owns(self, model: ModelName) -> bool:
        """Whether the model is of this kind, by its config.json or its name on the hub; opens no other file."""

    @abstractmethod
    def opened(self, model: ModelName, options: EngineOptions, inputs: str | None) -> Estimator:
        """The model; raises ModelError if it cannot be used. `inputs` chooses its texts, if it has a choice."""

    def without_references(self, model: ModelName) -> str | None:
        """The texts that it reads where there are no references, if it has the choice."""
        return None

    def convert(self, model: ModelName, target: Path) -> None:
        """Write the model into a new folder as safetensors and JSON; raise ModelError and InputError."""
        raise ModelError(f"{model.name} is used as it is and needs no conversion")


def load_estimator(
    name: str | None,
    options: EngineOptions,
    inputs: str | None = None,
    spans: bool = False,
    context: bool = False,
    target_lang: str | None = None,
) -> Estimator:
    """Load the estimator of a name: None or "embedded", the folder of a model that `ctx-metrics train` wrote, a COMET
    checkpoint (folder, .ckpt file, or OWNER/NAME or OWNER/NAME@REVISION on the hub), or a model of another family's kind.

    inputs     the texts that it reads, if it offers a choice: "mt+src", "mt+ref" or "mt+src+ref"
    context    whether only the tokens after a text's second-to-last separator are pooled (DocCOMET)
    target_lang    language of the hypotheses, for models that read it
    """
    from .comet.checkpoint import is_comet, no_model
    from .folder import read_config

    if name == "":
        raise ModelError(
            "the name of the model is empty", fix="name embedded, a folder, a .ckpt file, or OWNER/NAME of the hub"
        )
    model = _named(str(EMBEDDED_FOLDER) if name is None or name == EMBEDDED else name)
    kind = _kind_of(model)
    if kind is None:
        if model.folder is None or is_comet(model.folder):
            from .comet.model import load_comet

            return load_comet(str(name), options, inputs, spans, context, target_lang)
        if not (model.folder / "config.json").exists():
            raise ModelError(no_model(model.folder))
        read_config(model.folder)
        raise ModelError(
            f"{name} is not a quality model: it is not a COMET checkpoint (hparams.yaml, checkpoints/*.ckpt), and "
            "its config.json names no model_type of `ctx-metrics train`"
        )
    estimator = kind.opened(model, options, inputs)
    other = inputs not in (None, estimator.inputs)
    for what, wanted in (("error spans", spans), ("document context", context), (f"inputs {inputs}", other)):
        if wanted:
            raise ModelError(
                f"{estimator.model.name} reads {estimator.inputs} and does not support {what}",
                fix="name a COMET checkpoint",
            )
    return estimator


def check_metric(name: str, metric: str) -> None:
    """Raise ModelError, which names the right metric, if a model is clearly of another kind than `metric` runs."""
    from .comet.checkpoint import is_comet

    model = _named(name)
    kind = _kind_of(model)
    if kind is not None:
        right = kind.metric
    elif model.folder is not None:
        right = "comet" if is_comet(model.folder) else ""
    else:
        right = "comet" if "/" in name and re.search("comet|unite", name.lower()) else ""
    if right not in ("", metric):
        raise ModelError(f"{name} is not a model of {metric}: use {metric_with_model(right, name)}")


def without_references(name: str) -> str | None:
    """The texts that a model reads where there are no references, if it can read fewer there; None: it reads the same."""
    from .comet.adapted import is_adapted

    model = _named(name)
    if model.folder is not None and is_adapted(model.folder):
        return "mt+src" if model.config.get("inputs") == "mt+src+ref" else None
    kind = _kind_of(model)
    return None if kind is None else kind.without_references(model)


def convert(name: str, target: Path) -> None:
    """Write a model into the new folder `target` as safetensors and JSON; scores and signature stay the same."""
    kind = _kind_of(model := _named(name))
    if kind is not None:
        return kind.convert(model, target)
    from .comet import checkpoint

    return checkpoint.convert(name, target)


def _named(name: str) -> ModelName:
    from .folder import read_config

    folder = Path(os.path.expanduser(name))
    if folder.suffix == ".ckpt" or not folder.is_dir():
        return ModelName(name, None, {})
    try:
        return ModelName(name, folder, read_config(folder))
    except ModelError:
        return ModelName(name, folder, {})


def _kind_of(model: ModelName) -> ModelKind | None:
    """The kind that owns the model; None for COMET checkpoints, and if there is no model."""
    kinds = (loaded(each, "the kind of models")() for each in installed(GROUP))
    return next((kind for kind in kinds if kind.owns(model)), None)
