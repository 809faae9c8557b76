"""The folder of a trained paraphrase classifier: its weights in one of two layouts, and its card."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...models.paraphrase.adapted import write_adapted
from ...models.paraphrase.low_rank import learned
from ...models.paraphrase.pair import LABELS
from ...models.paraphrase.sequence_classifier import silent
from ...writing import make_folder, os_errors, replacing
from ..card import Source, command, rendered
from ..folder import encoder_name
from .learn import TrainedClassifier
from .recipe import ParaphraseRecipe

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CARD = "README.md"


def write_model(
    trained: TrainedClassifier, recipe: ParaphraseRecipe, out: Path, encoder: str, notes: Mapping[str, Any]
) -> None:
    """Write the model's folder but for its card: models.paraphrase.adapted's layout; for rank 0 that of transformers.

    encoder    as it was named
    notes      what config.json of the former says beside, such as the data

    Raises InputError where that fails.
    """
    if not recipe.rank:
        return _write_checkpoint(trained, out)
    config = {
        "encoder": encoder_name(encoder),
        "encoder_ckpt": trained.encoder.ckpt,
        "rank": recipe.rank,
        **notes,
        "training": asdict(recipe),
        "development": {name: round(value, 4) for name, value in trained.development.items()},
    }
    write_adapted(out, config, learned(trained.network))


def _write_checkpoint(trained: TrainedClassifier, out: Path) -> None:
    """A checkpoint folder as transformers writes it: safetensors, config and tokenizer, each whole or not at all."""
    network = cast("PreTrainedModel", trained.network)  # what is trained whole
    network.config.id2label = LABELS
    network.config.label2id = {name: label for label, name in LABELS.items()}
    network.config._name_or_path = trained.encoder.name  # not the folder, which is of this machine
    make_folder(str(out))
    with os_errors(f"cannot write into {out}"), tempfile.TemporaryDirectory(".tmp", ".", out) as own, silent():
        network.save_pretrained(own, safe_serialization=True)
        trained.tokenizer.save_pretrained(own)
        for name in sorted(os.listdir(own), key=lambda name: name == "config.json"):  # config.json last
            with replacing(str(out / name)) as beside:
                os.replace(os.path.join(own, name), beside)


def card(
    name: str,
    trained: TrainedClassifier,
    recipe: ParaphraseRecipe,
    training: Sequence[Source],
    development: Sequence[Source],
    drawn: str,
    argv: Sequence[str],
) -> str:
    """The Markdown of a classifier's card.

    name     of its folder;  drawn    how the development pairs were drawn from the training files; "" if they were not
    argv     the words after `ctx-metrics paraphrase`
    """
    checks = [
        (
            f"**{check.epoch}**" if number == trained.best else check.epoch,
            f"{check.loss:.4f}",
            *(f"{getattr(check, figure):.4f}" for figure in trained.development),
        )
        for number, check in enumerate(trained.checks)
    ]
    return rendered(
        "paraphrase",
        name=name,
        encoder=trained.encoder,
        sources=[*training, *development],
        drawn=drawn,
        recipe={key: str(value) for key, value in vars(recipe).items()},
        rank=recipe.rank,
        command=command(argv, "paraphrase"),
        checks=checks,
    )
