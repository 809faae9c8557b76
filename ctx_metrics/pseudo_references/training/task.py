"""The training task of the paraphrase classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from ...engine.device import TokenBudget, send, token_batches
from ...meta.paraphrase import auc
from ...notices import counted, notice
from ...training.loop import Progress, Task, adamw, epoch_batches, linear_rate
from ...training.low_rank import learned
from ...wording import setting_named
from ..paraphrase.sequence_classifier import batch_of, encode_pairs, probabilities
from .data import LabelledPairs
from .recipe import ParaphraseRecipe

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ..paraphrase.pair import PairClassifier

Batch = tuple[list[dict[str, list[int]]], np.ndarray]


@dataclass(frozen=True)
class PairCheck:
    """The results of an epoch: the mean loss of its steps, and the figures on the development pairs."""

    epoch: int
    loss: float
    accuracy: float
    f1: float
    auc: float


def figures(values: ArrayLike, labels: np.ndarray) -> dict[str, float]:
    """Return accuracy and F1 of class 1 at P > .5, and the area under the ROC curve; NaN without both labels.

    In the example, two of four predictions are right. One of two predicted paraphrases is right, and one of two paraphrases
    was found, so F1 is 1/2. The paraphrases .9 and .2 beat both and none of (.6, .4), which is half of the pairs.

    >>> figures([0.9, 0.2, 0.6, 0.4], np.array([1, 1, 0, 0]))
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
    """Minimises the cross entropy of labels and checks accuracy. A batch consists of tokens and labels.

    limit    maximum number of tokens of a pair;  dtype    dtype of the training's matrix products
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
        """Encode the training pairs in both orders."""
        pairs = self.training.pairs
        self.forward, cut = encode_pairs(self.tokenizer, pairs, self.limit)
        self.turned, _ = encode_pairs(self.tokenizer, [pair[::-1] for pair in pairs], self.limit)
        if cut:
            notice(
                f"{counted(cut, 'pair was', 'pairs were')} cut at {self.limit} tokens, of {len(pairs)} to learn from"
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

    @torch.inference_mode()
    def values(self, pairs: LabelledPairs) -> np.ndarray:
        """Return P(paraphrase) of each pair: float64 [n]."""
        self.network.eval()
        encodings, _ = encode_pairs(self.tokenizer, pairs.pairs, self.limit)
        values = np.zeros(len(encodings))

        def forward(part: Sequence[int]) -> np.ndarray:
            inputs = batch_of(self.tokenizer, [encodings[i] for i in part], self.device)
            return probabilities(self.network(**inputs).logits.float().cpu(), self.network.config).numpy()

        lengths = [len(each["input_ids"]) for each in encodings]
        too_large = "pair of {total} tokens; try " + setting_named("--ctx-device", "device", "cpu")
        for batch in token_batches(lengths, self.budget.tokens):
            sizes = [lengths[i] for i in batch]
            for part, found in self.budget.split(batch, sizes, forward, too_large):
                values[list(part)] = found
        return values
