"""Sequence-classification checkpoints of the transformers library: loading one safely, and reading its two labels."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ...engine.checkpoint import load_with, silent
from ...engine.device import TokenBudget, send, token_batches
from ...engine.opening import opening, shown
from ...engine.tokenizer import check_growth
from ...errors import ModelError
from ...notices import notice
from ...wording import setting_named

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from .pair_classifier import PairClassifier

Pair = tuple[str, str]
_PARAPHRASE = re.compile(r"paraphras|equivalent|duplicate", re.IGNORECASE)
_NEGATED = re.compile(r"(?<![a-z])(not?|non|in|un)[-_ ]?(a[-_ ])?(paraphras|equivalent|duplicate)", re.IGNORECASE)
_NUMBERED = re.compile(r"(LABEL_)?[01]")


def load_classifier(folder: Path, labels: int | None = None) -> "PreTrainedModel":
    """Load a checkpoint as a sequence classifier in fp32.

    labels    None: the checkpoint must have a head of two labels or one logit. A number: a checkpoint without a head gets a
              new one with this number of labels, for training

    Raises ModelError if transformers cannot load the checkpoint, if a required head is missing, or if the number of labels
    is wrong.
    """
    from transformers import AutoModelForSequenceClassification

    more = {} if labels is None else {"num_labels": labels}
    says = "cannot be loaded as a sequence classifier: {why}"
    model, missing = load_with(AutoModelForSequenceClassification, folder, says, **more)
    if labels is None and missing:
        raise ModelError(
            f"{folder} is not a sequence classifier: {missing[0]} is not among its weights; name a checkpoint fine-tuned on "
            "paraphrases, or train one: ctx-metrics paraphrase train"
        )
    if model.config.num_labels not in (1, 2):
        raise ModelError(
            f"{folder} has {model.config.num_labels} labels, but a paraphrase classifier has two, or a single logit"
        )
    return model.float()


def load_tokenizer(folder: Path) -> "PreTrainedTokenizerBase":
    """Load a checkpoint's fast or slow tokenizer; raises ModelError if it cannot be loaded or cannot pad."""
    from transformers import AutoTokenizer

    with opening(folder, ": its tokenizer cannot be loaded: {why}"), silent():
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        if tokenizer.is_fast:
            check_growth(tokenizer.backend_tokenizer)
        if not isinstance(tokenizer.model_max_length, (int, float)):
            raise ValueError(f"its model_max_length is {shown(tokenizer.model_max_length)}, no number")
    if tokenizer.pad_token_id is None:
        raise ModelError(f"{folder}: its tokenizer has no padding token, so pairs cannot be read in batches")
    return tokenizer


def encode_pairs(
    tokenizer: "PreTrainedTokenizerBase", pairs: Sequence[Pair], limit: int
) -> tuple[list[dict[str, list[int]]], int]:
    """Return each pair's inputs, cut to `limit` tokens including special ones, and the number of pairs that were cut."""
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    with silent():
        whole = tokenizer(first, second)
        encodings = [{name: whole[name][i] for name in whole} for i in range(len(pairs))]
        long = [i for i, each in enumerate(encodings) if len(each["input_ids"]) > limit]
        for i in long:
            encodings[i] = dict(tokenizer(first[i], second[i], truncation="longest_first", max_length=limit))
    return encodings, len(long)


def batch_of(
    tokenizer: "PreTrainedTokenizerBase", encodings: Sequence[dict[str, list[int]]], device: torch.device
) -> dict[str, torch.Tensor]:
    """Return the inputs of several pairs by name, padded to the longest, on a device: each int64 [pairs, tokens]."""
    with silent():
        padded = tokenizer.pad(list(encodings), return_tensors="pt")
    return {name: send(tensor, device) for name, tensor in padded.items()}


def positions(tokenizer: "PreTrainedTokenizerBase", config: "PretrainedConfig") -> int:
    """Return the maximum number of tokens of a model: the lower of its tokenizer's limit and its number of positions."""
    most = getattr(config, "max_position_embeddings", None)
    if not isinstance(most, int) or most < 1:
        return tokenizer.model_max_length
    # RoBERTa and its variants count positions from the padding id + 1
    first = config.pad_token_id + 1 if "roberta" in config.model_type and config.pad_token_id is not None else 0
    return min(tokenizer.model_max_length, most - first)


def paraphrase_label(config: "PretrainedConfig") -> int:
    """Return which of two labels means paraphrase: the one whose name says so, else 1.

    >>> from transformers import BertConfig
    >>> paraphrase_label(BertConfig(id2label={0: "is_duplicate", 1: "not_duplicate"})), paraphrase_label(BertConfig())
    (0, 1)
    """
    names = _names(config)
    telling = [label for label, name in names.items() if _PARAPHRASE.search(name) and not _NEGATED.search(name)]
    return telling[0] if len(telling) == 1 else 1


def _names(config: "PretrainedConfig") -> dict[int, str]:
    return {int(label): str(name) for label, name in (config.id2label or {}).items()}


def say_label(name: str, config: "PretrainedConfig") -> None:
    """Print a notice of which label is read as paraphrase, if neither name says so and not both are mere numbers."""
    labels = [name for _, name in sorted(_names(config).items())]
    telling = any(_PARAPHRASE.search(label) for label in labels) or all(map(_NUMBERED.fullmatch, labels))
    if config.num_labels == 2 and not telling:
        notice(f"{name}: its labels are {labels[0]!r} and {labels[1]!r}; {labels[1]!r} is read as paraphrase")


def probabilities(logits: torch.Tensor, config: "PretrainedConfig") -> torch.Tensor:
    """Return P(paraphrase), fp32 [n], from logits [n, 1] by the sigmoid, or [n, 2] by the softmax.

    >>> from transformers import BertConfig
    >>> probabilities(torch.tensor([[0.0, 0.0], [1.0, 4.0]]), BertConfig()).tolist()
    [0.5, 0.9525741338729858]
    """
    if logits.shape[-1] == 1:
        return logits[:, 0].sigmoid()
    return logits.softmax(-1)[:, paraphrase_label(config)]


def probabilities_of(
    model: "PreTrainedModel | PairClassifier",
    tokenizer: "PreTrainedTokenizerBase",
    encodings: Sequence[dict[str, list[int]]],
    budget: TokenBudget,
) -> Iterator[tuple[Sequence[int], list[float]]]:
    """Yield the numbers of some of the encoded pairs and their P(paraphrase), the longest first, in batches of a budget."""

    def forward(part: Sequence[int]) -> list[float]:
        with torch.inference_mode():
            inputs = batch_of(tokenizer, [encodings[i] for i in part], budget.device)
            return probabilities(model(**inputs).logits.float().cpu(), model.config).tolist()

    lengths = [len(each["input_ids"]) for each in encodings]
    too_large = "pair of {total} tokens; try " + setting_named("--ctx-device", "device", "cpu")
    for batch in token_batches(lengths, budget.tokens):
        yield from budget.split(batch, [lengths[i] for i in batch], forward, too_large)
