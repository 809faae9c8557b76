"""Trains a paraphrase classifier: an encoder that reads both sentences as one sequence, with a head of two labels.

A training can be stopped at any moment and resumed; the result is the same bit for bit on a CPU, and up to rounding on a
GPU.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from ...engine.device import check_tf32, resolve_device, resolve_dtype
from ...engine.options import EngineOptions
from ...engine.shortage import memory_for
from ...errors import InputError
from ...models.hub import ResolvedModel, resolve
from ...models.library import silent
from ...models.low_rank import learned
from ...training import card as cards
from ...training.data import Source
from ...training.loop import SMALLER, Loop
from ...training.state import encoder_name
from ...wording import setting_named
from ...writing import make_folder, os_errors, replacing
from ..paraphrase.adapted import new_classifier, write_adapted
from ..paraphrase.classifier import token_limit
from ..paraphrase.pair import LABELS
from ..paraphrase.sequence_classifier import load_classifier, load_tokenizer
from .data import LabelledPairs
from .recipe import ParaphraseRecipe
from .task import PairCheck, ParaphraseTask, figures

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ..paraphrase.pair import PairClassifier


@dataclass
class TrainedClassifier:
    """The network with its best weights, rounded as they will be stored, and their figures."""

    network: "PreTrainedModel | PairClassifier"
    tokenizer: "PreTrainedTokenizerBase"
    encoder: ResolvedModel
    checks: list[PairCheck]
    best: int
    development: dict[str, float]


def learn(
    encoder: str,
    recipe: ParaphraseRecipe,
    training: LabelledPairs,
    development: LabelledPairs,
    *,
    engine: EngineOptions = EngineOptions(),
    state: Path | None = None,
) -> TrainedClassifier:
    """Train a classifier, and keep the weights of the epoch with the highest accuracy on the development pairs.

    encoder    embedded, a folder, or a hub name[@revision]
    state      file that holds the state of the running training; started again with the same arguments, it resumes from
               there. None: no state is kept
    engine     with dtype bf16, the training's matrix products are computed in bf16, about twice as fast on CPUs that support
               it; the development pairs are always scored in fp32

    On a CPU the same settings, data and number of threads give the same weights bit for bit. Raises the same errors as
    training.quality.learn.learn, and KeyboardInterrupt, after saving the state, on Ctrl-C.
    """
    dtype = resolve_dtype(engine.dtype)
    if dtype == torch.float16:
        given = setting_named("--ctx-dtype", "dtype", "fp16")
        raise InputError(f"{given} is too narrow to train in; take bf16 or fp32")
    resolved = resolve(encoder)
    tokenizer = load_tokenizer(resolved.folder)
    torch.manual_seed(recipe.seed)
    network: PreTrainedModel | PairClassifier
    if recipe.rank:
        check_types(resolved.folder, tokenizer)
        network = new_classifier(resolved.folder, recipe.rank)
    else:
        network = load_classifier(resolved.folder, labels=2)
    limit = token_limit(tokenizer, network.config, recipe.max_length)
    fingerprint = {
        "encoder": resolved.ckpt,
        "recipe": asdict(recipe),
        "number format": str(dtype),
        "training data": digest(training),
        "development data": digest(development),
    }
    device = resolve_device(engine.device)
    check_tf32(device, dtype)
    with memory_for("the training", device, SMALLER):
        task = ParaphraseTask(
            network, tokenizer, recipe, training, development, limit, device, dtype, engine.batch_tokens
        )
        loop = Loop(task, state, fingerprint, engine.quiet)
        checks = loop.train()
        if recipe.rank:  # to fp16, in which an adapted classifier's matrices are stored
            rounded = {name: each.half().float() if each.dim() > 1 else each for name, each in learned(network).items()}
            network.load_state_dict(rounded, strict=False)
        values = figures(task.values(development), development.labels)
    return TrainedClassifier(network, tokenizer, resolved, checks, loop.progress.best, values)


def write_model(
    trained: TrainedClassifier, recipe: ParaphraseRecipe, out: Path, encoder: str, notes: Mapping[str, Any]
) -> None:
    """Write the model's folder except its card, in the layout of paraphrase.adapted; for rank 0, that of transformers.

    encoder    as named by the user
    notes      further entries of config.json, such as the data; not used for rank 0

    Raises InputError on failure.
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
    """Write a checkpoint folder like transformers: safetensors, config and tokenizer, each file atomically."""
    network = cast("PreTrainedModel", trained.network)  # with rank 0
    network.config.id2label = LABELS
    network.config.label2id = {name: label for label, name in LABELS.items()}
    network.config._name_or_path = trained.encoder.name  # not the local folder
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
    sources: Mapping[str, Sequence[Source]],
    drawn: str,
    command: str,
) -> str:
    """Return the Markdown card of a classifier; `drawn` says how the development pairs were drawn, "" if they were not."""
    given = {key: str(value) for key, value in vars(recipe).items()}
    facts = {"name": name, "rank": recipe.rank, "recipe": given, "sources": sources, "drawn": drawn}
    return cards.card(__package__, trained, command, facts)


def digest(pairs: LabelledPairs) -> str:
    """Return the sha256 of all pairs and their labels."""
    return hashlib.sha256(json.dumps([pairs.pairs, pairs.labels.tolist()]).encode()).hexdigest()


def check_types(folder: Path, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Raise InputError if the tokenizer does not mark the second sentence by token types, as BERT's does."""
    if set(tokenizer("a", "b").get("token_type_ids", ())) != {0, 1}:
        raise InputError(
            f"{folder}: its tokenizer marks no second sentence (token types), which low-rank changes need; train it whole "
            "with --rank 0"
        )
