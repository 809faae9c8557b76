"""Trains a paraphrase classifier: an encoder that reads both sentences as one sequence, with a head of two labels.

Stopped at any moment, it goes on where it was, bit for bit.
"""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from ...engine.batching import token_batches
from ...engine.device import TOKEN_BUDGETS, resolve_device, resolve_dtype
from ...engine.options import EngineOptions
from ...errors import InputError
from ...meta.paraphrase import auc
from ...models.hub import ResolvedModel, resolve
from ...models.paraphrase.adapted import new_classifier
from ...models.paraphrase.classifier import token_limit
from ...models.paraphrase.low_rank import learned
from ...models.paraphrase.sequence_classifier import (
    batch_of,
    encode_pairs,
    load_classifier,
    load_tokenizer,
    probabilities,
)
from ...notices import counted, notice
from ..batches import epoch_batches
from ..interruption import deferred
from ..quality.recipe import linear_rate
from ..state import TrainingState, load_moments, moments, read_state, write_state
from .data import LabelledPairs

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ...models.paraphrase.pair import PairClassifier

DEFAULT_RANK = 32
# Seconds between two writings of the state, beside those after each epoch: that of a whole encoder is large.
STATE_SECONDS = 300.0


@dataclass(frozen=True)
class ParaphraseRecipe:
    """Settings of a training.

    rank             of the learned changes of the encoder's linear layers; 0: the whole encoder is trained
    learning_rate    AdamW's, at its highest: it rises over a tenth of all steps and falls to 0 at the last
    epochs           most epochs
    patience         epochs in a row without a better one on the development pairs that end the training; None: never
    batch            pairs of a step
    swap             turn each pair round with a chance of one half, anew in each epoch
    max_length       tokens of a pair, the special ones with them
    weight_decay     of matrices; vectors have none
    clip             longest gradient
    seed             of the head's first weights, the order of pairs, their turning, and dropout
    """

    rank: int = DEFAULT_RANK
    learning_rate: float = 7e-4
    epochs: int = 5
    patience: int | None = None
    batch: int = 32
    swap: bool = True
    max_length: int = 128
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 1


ADAPTED = ParaphraseRecipe()
# BERT's own recipe for sentence pairs (Devlin et al. 2019)
WHOLE = replace(ADAPTED, rank=0, learning_rate=2e-5, epochs=3, swap=False)


@dataclass(frozen=True)
class PairCheck:
    """What an epoch ended with: the mean loss of its steps, and the figures on the development pairs."""

    epoch: int
    loss: float
    accuracy: float
    f1: float
    auc: float


@dataclass
class Progress:
    """Where a training is: steps and epochs behind it, the losses of this epoch's steps, the best check's number."""

    step: int = 0
    epoch: int = 0
    losses: list[float] = field(default_factory=list)
    best: int = 0
    checks: list[PairCheck] = field(default_factory=list)


@dataclass
class TrainedClassifier:
    """The network with its best weights, rounded as they will be stored, and the figures of those."""

    network: "PreTrainedModel | PairClassifier"
    tokenizer: "PreTrainedTokenizerBase"
    encoder: ResolvedModel
    checks: list[PairCheck]
    best: int
    development: dict[str, float]


def figures(values: Sequence[float], labels: np.ndarray) -> dict[str, float]:
    """Accuracy and F1 of the class 1 at P > .5, and the area under the ROC curve; NaN where there are not both labels.

    By hand: two of four are right; of two called paraphrases one is, and of two paraphrases one was found, so F1 is 1/2;
    the paraphrases .9 and .2 beat 1 and 0 of (.6, .4), and so half of the pairs.

    >>> figures([0.9, 0.2, 0.6, 0.4], np.array([1, 1, 0, 0]))
    {'accuracy': 0.5, 'f1': 0.5, 'auc': 0.5}
    """
    values, labels = np.asarray(values, float), np.asarray(labels)
    called, true = values > 0.5, labels == 1
    either = called.sum() + true.sum()
    return {
        "accuracy": float((called == true).mean()),
        "f1": float(2 * (called & true).sum() / either) if either else float("nan"),
        "auc": auc(labels, values),
    }


def learn(
    encoder: str,
    recipe: ParaphraseRecipe,
    training: LabelledPairs,
    development: LabelledPairs,
    engine: EngineOptions = EngineOptions(),
    state: Path | None = None,
) -> TrainedClassifier:
    """Train a classifier, and keep the weights of the epoch that is most often right on the development pairs.

    encoder    embedded, a folder, or a hub name[@revision]
    state      a file that holds where the training is while it runs; started again with the same arguments, it goes on from
               there. None: nothing is kept
    engine     its dtype bf16 computes the training's matrix products in bf16, about twice as fast where the CPU can; the
               development pairs are always read in fp32

    The same settings, data and number of threads give the same weights bit for bit. Raises InputError for settings that do
    not fit and for a state of another training, ModelError for an encoder that cannot be used, and KeyboardInterrupt, after
    saving the state, on Ctrl-C.
    """
    dtype = resolve_dtype(engine.dtype)
    if dtype == torch.float16:
        raise InputError("--ctx-dtype fp16 is too narrow to train in; take bf16 or fp32")
    resolved = resolve(encoder)
    tokenizer = load_tokenizer(resolved.folder)
    torch.manual_seed(recipe.seed)
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
    trainer = _Trainer(network, tokenizer, recipe, limit, resolve_device(engine.device), dtype, state, fingerprint)
    trainer.train(training, development, engine.quiet)
    trainer.keep_best()
    found = figures(trainer.values(development), development.labels)
    return TrainedClassifier(network, tokenizer, resolved, trainer.progress.checks, trainer.progress.best, found)


def digest(pairs: LabelledPairs) -> str:
    """sha256 of all pairs and their labels."""
    return hashlib.sha256(json.dumps([pairs.pairs, np.asarray(pairs.labels).tolist()]).encode()).hexdigest()


def check_types(folder: Path, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Raise InputError for a tokenizer that does not mark the second sentence by token types, as BERT's does."""
    if set(tokenizer("a", "b").get("token_type_ids", ())) != {0, 1}:
        raise InputError(
            f"{folder}: its tokenizer marks no second sentence (token types), which low-rank changes need; train it whole "
            "with --rank 0"
        )


class _Trainer:
    """One training of a network on the device."""

    def __init__(
        self,
        network: "PreTrainedModel | PairClassifier",
        tokenizer: "PreTrainedTokenizerBase",
        recipe: ParaphraseRecipe,
        limit: int,
        device: torch.device,
        dtype: torch.dtype,
        state_path: Path | None,
        fingerprint: dict[str, Any],
    ):
        self.network, self.tokenizer, self.recipe, self.limit = network.to(device), tokenizer, recipe, limit
        self.device, self.dtype = device, dtype
        self.state_path, self.fingerprint, self._saved = state_path, fingerprint, time.monotonic()
        self.parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
        decayed = [parameter for parameter in self.parameters if parameter.dim() > 1]
        others = [parameter for parameter in self.parameters if parameter.dim() <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=recipe.learning_rate,
        )
        self.progress = Progress()
        self.best: dict[str, torch.Tensor] = {}

    def train(self, training: LabelledPairs, development: LabelledPairs, quiet: bool) -> None:
        """All epochs that are left; the weights of the best one are in `best` then."""
        if self.state_path is not None and self.state_path.exists():
            self._restore(read_state(self.state_path, self.fingerprint))
        recipe, progress = self.recipe, self.progress
        forward, cut = encode_pairs(self.tokenizer, training.pairs, self.limit)
        turned, _ = encode_pairs(self.tokenizer, [pair[::-1] for pair in training.pairs], self.limit)
        if cut:
            notice(
                f"{counted(cut, 'pair was', 'pairs were')} cut at {self.limit} tokens, of {len(training)} to learn from"
            )
        lengths = [(len(each["input_ids"]), 0) for each in forward]
        steps = recipe.epochs * -(-len(training) // recipe.batch)
        with (
            deferred() as interrupted,
            tqdm(total=steps, initial=progress.step, unit="step", disable=True if quiet else None) as bar,
        ):
            while progress.epoch < recipe.epochs and not self._is_done():
                turn = np.random.default_rng([recipe.seed, progress.epoch, 1]).random(len(training)) < (
                    0.5 if recipe.swap else 0
                )
                batches = epoch_batches(lengths, range(len(training)), recipe.batch, recipe.seed, progress.epoch)
                for rows in batches[len(progress.losses) :]:
                    inputs = [(turned if turn[row] else forward)[row] for row in rows]
                    progress.losses.append(self._step(inputs, training.labels[rows], steps))
                    bar.update()
                    self._keep_state(interrupted)
                last = self._check(development)
                bar.set_postfix(loss=f"{last.loss:.4f}", dev=f"{last.accuracy:.4f}")
                self._save()

    def _is_done(self) -> bool:
        """Whether so many epochs since the best one that patience ends the training."""
        patience = self.recipe.patience
        return patience is not None and self.progress.epoch - 1 - self.progress.best >= patience

    def _check(self, development: LabelledPairs) -> PairCheck:
        """The check that ends an epoch; its weights are kept where none before was as often right."""
        progress, found = self.progress, figures(self.values(development), development.labels)
        progress.checks.append(PairCheck(progress.epoch + 1, float(np.mean(progress.losses)), **found))
        if progress.epoch == 0 or found["accuracy"] > progress.checks[progress.best].accuracy:
            progress.best = progress.epoch
            self.best = {name: tensor.cpu().clone() for name, tensor in learned(self.network).items()}
        progress.epoch, progress.losses = progress.epoch + 1, []
        return progress.checks[-1]

    def _keep_state(self, interrupted: Callable[[], bool]) -> None:
        """Save the state where it is time, and on Ctrl-C, which ends the training."""
        if interrupted():
            self._save()
            raise KeyboardInterrupt
        if time.monotonic() - self._saved >= STATE_SECONDS:
            self._save()

    def _save(self) -> None:
        self._saved = time.monotonic()
        if self.state_path is not None:
            state = TrainingState(
                learned(self.network), self.best, moments(self.optimizer), json.dumps(asdict(self.progress))
            )
            write_state(self.state_path, state, self.fingerprint)

    def _restore(self, state: TrainingState) -> None:
        progress = json.loads(state.progress)
        checks = [PairCheck(**check) for check in progress.pop("checks")]
        self.progress, self.best = Progress(**progress, checks=checks), state.best
        self.network.load_state_dict(state.network, strict=False)
        load_moments(self.optimizer, state.optimizer)

    def _step(self, inputs: list[dict], labels: np.ndarray, steps: int) -> float:
        # dropout hangs on the seed and the step alone
        torch.manual_seed(self.recipe.seed * 1_000_003 + self.progress.step)
        for group in self.optimizer.param_groups:
            group["lr"] = linear_rate(self.recipe, self.progress.step, steps)
        self.network.train()
        with torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32):
            logits = self.network(**batch_of(self.tokenizer, inputs, self.device)).logits
        loss = nn.functional.cross_entropy(logits.float(), torch.as_tensor(labels, device=self.device).long())
        if not torch.isfinite(loss):
            raise InputError(f"the loss of step {self.progress.step + 1} is {loss.item()}; lower the learning rate")
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, self.recipe.clip)
        self.optimizer.step()
        self.progress.step += 1
        return loss.item()

    @torch.inference_mode()
    def values(self, pairs: LabelledPairs) -> np.ndarray:
        """P(paraphrase) of each pair: float64 [n]."""
        self.network.eval()
        encodings, _ = encode_pairs(self.tokenizer, pairs.pairs, self.limit)
        values = np.zeros(len(encodings))
        for batch in token_batches([len(each["input_ids"]) for each in encodings], TOKEN_BUDGETS[self.device.type]):
            logits = (
                self.network(**batch_of(self.tokenizer, [encodings[i] for i in batch], self.device))
                .logits.float()
                .cpu()
            )
            values[batch] = probabilities(logits, self.network.config).numpy()
        return values

    def keep_best(self) -> None:
        """Put the best epoch's weights back, their matrices rounded to the fp16 in which adapted ones are stored."""
        if self.recipe.rank:
            self.best = {n: tensor.half().float() if tensor.dim() > 1 else tensor for n, tensor in self.best.items()}
        self.network.load_state_dict(self.best, strict=False)
        self.network.eval()
