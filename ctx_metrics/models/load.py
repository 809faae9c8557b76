"""Load a quality model by its name: a COMET checkpoint, or a model that ctx-metrics trained."""

import os
from pathlib import Path

from ..engine_options import EngineOptions
from ..entry_points import installed, loaded
from ..errors import ModelError
from .estimator import EMBEDDED_FOLDER, Estimator
from .hub import EMBEDDED

# Entry points that open folders of trained models. Each gets the name that the user gave, the folder, its config.json and
# the options. It returns an Estimator, or None for a folder of another kind, and raises ModelError for one it cannot use.
GROUP = "ctx_metrics.models"


def load_estimator(
    name: str | None, options: EngineOptions, inputs: str | None = None, spans: bool = False, context: bool = False
) -> Estimator:
    """Load the estimator of a name: None or "embedded", the folder of a model that `ctx-metrics train` wrote, or a COMET
    checkpoint (folder, .ckpt file, or OWNER/NAME or OWNER/NAME@REVISION on the hub).

    inputs     the texts that a COMET model reads, if it offers a choice: "mt+src", "mt+ref" or "mt+src+ref"
    context    whether only what follows a text's second-to-last separator is pooled (DocCOMET)
    """
    from .comet.checkpoint import is_comet, no_model
    from .folder import read_config

    if name == "":
        raise ModelError(
            "the name of the model is empty; name embedded, a folder, a .ckpt file, or OWNER/NAME of the hub"
        )
    folder = EMBEDDED_FOLDER if name is None or name == EMBEDDED else Path(os.path.expanduser(name))
    if folder.suffix == ".ckpt" or not folder.is_dir() or is_comet(folder):
        from .comet.model import load_comet

        return load_comet(str(name), options, inputs, spans, context)
    if not (folder / "config.json").exists():
        raise ModelError(no_model(folder))
    config = read_config(folder)
    opened = (loaded(each, "the kind of models")(str(name), folder, config, options) for each in installed(GROUP))
    estimator: Estimator | None = next((each for each in opened if each is not None), None)
    if estimator is None:
        raise ModelError(
            f"{name} is not a quality model: it is not a COMET checkpoint (hparams.yaml, checkpoints/*.ckpt), and "
            "its config.json names no model_type of `ctx-metrics train`"
        )
    other = inputs not in (None, estimator.inputs)
    for what, wanted in (("error spans", spans), ("document context", context), (f"inputs {inputs}", other)):
        if wanted:
            raise ModelError(
                f"{estimator.model.name} reads {estimator.inputs} and does not support {what}; name a COMET checkpoint"
            )
    return estimator
