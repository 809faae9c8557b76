"""Trains a paraphrase classifier: an encoder that reads both sentences as one sequence, with a head of two labels.

A training run can be stopped and resumed at any moment; the result is the same bit for bit on a CPU, and up to rounding on a
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

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from ...engine.checkpoint import silent
from ...engine.device import TokenBudget, check_tf32, resolve_device, send
from ...engine.memory import memory_for
from ...engine_options import EngineOptions
from ...errors import InputError
from ...meta.paraphrase import auc
from ...models.hub import ResolvedModel, resolve
from ...notices import counted, notice
from ...training import card as cards
from ...training.data import Source
from ...training.loop import SMALLER, Loop, Progress, Task, adamw, epoch_batches, linear_rate, training_dtype
from ...training.low_rank import learned
from ...training.state import encoder_name
from ...writing import make_folder, os_errors, replacing
from .classifier import batch_of, encode_pairs, load_classifier, load_tokenizer, probabilities_of, token_limit
from .data import LabelledPairs
from .pair_classifier import LABELS, new_classifier, write_adapted
from .recipe import ParaphraseRecipe

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from .pair_classifier import PairClassifier

Batch = tuple[list[dict[str, list[int]]], np.ndarray]


@dataclass(frozen=True)
class PairCheck:
    """The mean loss of an epoch's steps, and the figures on the development pairs after it."""

    epoch: int
    loss: float
    accuracy: float
    f1: float
    auc: float


def figures(values: ArrayLike, labels: np.ndarray) -> dict[str, float]:
    """Return accuracy and F1 of class 1 at P > .5, and the area under the ROC curve; NaN without both labels.

    >>> figures([0.9, 0.2, 0.6, 0.4], np.array([1, 1, 0, 0]))  # .9 beats .6 and .4, .2 beats neither: half of the pairs
    {'accuracy': 0.5, 'f1': 0.5, 'auc': 0.5}
    """
    chances = np.asarray(values, float)
    called, true = chances > 0.5, labels == 1
    either = called.sum() + true.sum()
    return {
        "accuracy": float((called == true).mean()),
        "f1": float(2 * (called & true).sum() / either) if either else float("nan"),
        "auc": auc(labels, chances),
    }


@dataclass(eq=False)
class ParaphraseTask(Task):
    """Minimises the cross entropy of labels.

    dtype           of the matrix products in training
    batch_tokens    maximum number of tokens in a batch of development pairs; None: the device's default
    """

    network: "PreTrainedModel | PairClassifier"
    tokenizer: "PreTrainedTokenizerBase"
    recipe: ParaphraseRecipe
    training: LabelledPairs
    development: LabelledPairs
    limit: int
    device: torch.device
    dtype: torch.dtype
    batch_tokens: int | None = None

    kind, score = PairCheck, "accuracy"

    def __post_init__(self):
        self.network.to(self.device)  # type: ignore[arg-type]  # transformers' decorator hides its own argument
        self.rows = len(self.training)
        self.budget = TokenBudget(self.device, self.batch_tokens)

    def prepare(self) -> None:
        pairs = self.training.pairs
        self.forward, cut = encode_pairs(self.tokenizer, pairs, self.limit)
        self.turned, _ = encode_pairs(self.tokenizer, [pair[::-1] for pair in pairs], self.limit)
        if cut:
            notice(
                f"{counted(cut, 'pair was', 'pairs were')} truncated to {self.limit} tokens, of {len(pairs)} training pairs"
            )

    def optimizer(self) -> torch.optim.Optimizer:
        return adamw(self.network, self.recipe)

    def batches(self, progress: Progress) -> list[Batch]:
        recipe = self.recipe
        turn = np.random.default_rng([recipe.seed, progress.epoch, 1]).random(self.rows) < (0.5 if recipe.swap else 0)
        inputs = [
            (turned if is_turned else forward)
            for forward, turned, is_turned in zip(self.forward, self.turned, turn, strict=True)
        ]
        lengths = [(len(each["input_ids"]), 0) for each in self.forward]
        batches = epoch_batches(lengths, range(self.rows), recipe.batch, recipe.seed, progress.epoch)
        return [([inputs[row] for row in rows], self.training.labels[rows]) for rows in batches]

    def rate(self, progress: Progress, steps: int) -> float:
        return linear_rate(self.recipe.learning_rate, progress.step, steps)

    def loss(self, batch: Batch, progress: Progress) -> torch.Tensor:
        inputs, labels = batch
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            logits = self.network(**batch_of(self.tokenizer, inputs, self.device)).logits
        return nn.functional.cross_entropy(logits.float(), send(labels, self.device).long())

    def check(self, progress: Progress, loss: float) -> PairCheck:
        return PairCheck(progress.epoch + 1, loss, **figures(self.values(self.development), self.development.labels))

    def bar(self, last: PairCheck, best: PairCheck) -> Mapping[str, str]:
        return {"loss": f"{last.loss:.4f}", "dev": f"{last.accuracy:.4f}"}

    def tensors(self) -> Mapping[str, torch.Tensor]:
        return learned(self.network)

    def values(self, pairs: LabelledPairs) -> np.ndarray:
        """Return P(paraphrase) of each pair: float64 [n]."""
        self.network.eval()
        encodings, _ = encode_pairs(self.tokenizer, pairs.pairs, self.limit)
        values = np.zeros(len(encodings))
        for part, found in probabilities_of(self.network, self.tokenizer, encodings, self.budget):
            values[list(part)] = found
        return values


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

    state     file with the state of a stopped run, which resumes from there; None: no state is kept
    engine    dtype bf16 applies to the matrix products in training; the development pairs are always scored in fp32

    On a CPU the same settings, data and number of threads give the same weights bit for bit.
    """
    dtype = training_dtype(engine.dtype)
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
    """Write the model's folder except its card, in the layout of pair_classifier; for rank 0, that of transformers."""
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
    return hashlib.sha256(json.dumps([pairs.pairs, pairs.labels.tolist()]).encode()).hexdigest()


def check_types(folder: Path, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Raise InputError if the tokenizer does not mark the second sentence by token types, as BERT's does."""
    if set(tokenizer("a", "b").get("token_type_ids", ())) != {0, 1}:
        raise InputError(
            f"{folder}: its tokenizer marks no second sentence (token types), which low-rank changes need",
            fix="train it whole with --rank 0",
        )
