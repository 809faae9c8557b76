"""The probability that two sentences mean the same, by a sequence-classification model that reads both as one sequence.

Yoshimura et al. (2019), "Filtering Pseudo-References by Paraphrasing for Automatic Evaluation of Machine Translation", keep
a pseudo-reference if BERT, fine-tuned on MRPC, gives the pair (pseudo-reference, reference) a probability above .5.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ...engine.checkpoint import folder_hashes, load_with, silent
from ...engine.device import TokenBudget, check_tf32, resolve_device, resolve_dtype, send, token_batches
from ...engine.memory import LoadedModels, memory_for
from ...engine.tokenizer import check_growth
from ...engine_options import EngineOptions
from ...errors import InputError, ModelError
from ...models.embedded import FOLDER
from ...models.folder import encoder_of, model_type
from ...models.hub import EMBEDDED, MULTILINGUAL, ResolvedModel, checkpoint_hash, resolve
from ...notices import Progress, counted, notice
from ...opening import opening, same_hashes, shown
from ...wording import setting_named
from .pair_classifier import KIND, load_adapted, read_adapted_config

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from .pair_classifier import PairClassifier

Pair = tuple[str, str]
_PARAPHRASE = re.compile(r"paraphras|equivalent|duplicate", re.IGNORECASE)
_NEGATED = re.compile(r"(?<![a-z])(not?|non|in|un)[-_ ]?(a[-_ ])?(paraphras|equivalent|duplicate)", re.IGNORECASE)
_NUMBERED = re.compile(r"(LABEL_)?[01]")
MAX_LENGTH = 128
EMBEDDED_FOLDER = FOLDER / "paraphrase"


class Network(NamedTuple):
    tokenizer: "PreTrainedTokenizerBase"
    model: "PreTrainedModel | PairClassifier"
    limit: int  # maximum number of tokens in a pair


class ParaphraseClassifier:
    """Computes P(paraphrase) of ordered pairs (pseudo-reference, gold reference).

    model         embedded (or None), a folder, or a hub name[@revision]: a model that `ctx-metrics paraphrase train` wrote,
                  or any checkpoint that transformers loads as a sequence classifier with two labels or a single logit
    max_length    maximum number of tokens in a pair, including special ones; longer pairs lose the end of their longer
                  sentence

    The model is located and hashed at once, and loaded at the first pair.
    """

    def __init__(self, model: str | None = None, engine: EngineOptions = EngineOptions(), max_length: int = MAX_LENGTH):
        self.resolved = resolve_classifier(model or EMBEDDED)
        self.device, self.dtype = resolve_device(engine.device), resolve_dtype(engine.dtype)
        check_tf32(self.device, self.dtype)
        self.budget = TokenBudget(self.device, engine.batch_tokens)
        self.max_length, self.quiet = max_length, engine.quiet
        self._hashes = self._hashed()
        self._network: Network | None = None
        self._known: dict[Pair, float] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_network": None}

    def is_current(self) -> bool:
        return same_hashes(self._hashes, self._hashed)

    def forget_texts(self) -> None:
        self._known = {}

    def _hashed(self) -> dict[str, str]:
        folder = self.resolved.folder
        hashes = folder_hashes(folder)
        if model_type(folder) == KIND:
            hashes |= folder_hashes(encoder_of(folder, read_adapted_config(folder)).folder)
        return hashes

    def signature(self) -> dict[str, Any]:
        return self.resolved.signature()

    @property
    def limit(self) -> int:
        """The maximum number of tokens of a pair: max_length, or the model's limit if that is lower. Loads the model."""
        return self._loaded().limit

    def probabilities(self, pairs: Sequence[Pair]) -> list[float]:
        """Return P(paraphrase) of each pair, from 0 to 1. Each distinct pair is computed once in the classifier's lifetime.

        A pair's batch and its position in it change its value only by rounding (1e-5 in fp32). A notice counts the pairs
        that were cut.
        """
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            self._compute(new)
        return [self._known[pair] for pair in pairs]

    def _compute(self, pairs: list[Pair]) -> None:
        network = self._loaded()
        encodings, cut = encode_pairs(network.tokenizer, pairs, network.limit)
        if cut:
            were = counted(cut, "pair was", "pairs were")
            notice(
                f"paraphrase classifier {self.resolved.name}: {were} truncated to {network.limit} tokens, of "
                f"{len(pairs)}"
            )
        with Progress("paraphrase", "pair", len(pairs), quiet=self.quiet) as done:
            for part, found in probabilities_of(network.model, network.tokenizer, encodings, self.budget):
                self._known.update(zip((pairs[i] for i in part), found, strict=True))
                done.update(len(part))

    def _loaded(self) -> Network:
        if self._network is None:
            folder = self.resolved.folder
            model: PreTrainedModel | PairClassifier
            if model_type(folder) == KIND:  # of another one, transformers reports what is wrong with it
                model, encoder = load_adapted(folder)
                tokenizer = load_tokenizer(encoder)
            else:
                model, tokenizer = load_classifier(folder), load_tokenizer(folder)
            if not self.is_current():
                raise ModelError(f"{folder} has changed since it was opened", fix="create the metric again")
            limit = token_limit(tokenizer, model.config, self.max_length)
            say_label(self.resolved.name, model.config)
            with memory_for(f"the weights of {self.resolved.name}", self.device):
                model.to(self.device, self.dtype)  # type: ignore[arg-type]  # transformers' wrapper loses who `self` is
            self._network = Network(tokenizer, model.eval(), limit)
        return self._network


def token_limit(tokenizer: "PreTrainedTokenizerBase", config: "PretrainedConfig", max_length: int) -> int:
    """Return the maximum number of tokens of a pair: max_length, or the model's limit if that is lower."""
    special = tokenizer.num_special_tokens_to_add(pair=True)
    if max_length < special + 2:
        raise InputError(
            f"--max-length {max_length} leaves no room for the sentences besides the {special} special tokens",
            fix=f"give at least {special + 2}",
        )
    return min(max_length, positions(tokenizer, config))


def resolve_classifier(name: str) -> ResolvedModel:
    if name == EMBEDDED:
        return ResolvedModel(f"{EMBEDDED}-paraphrase", EMBEDDED_FOLDER, None, checkpoint_hash(EMBEDDED_FOLDER), True)
    if name == MULTILINGUAL:
        raise ModelError(
            f"the {name} model is no paraphrase classifier", fix="name embedded, a folder, or OWNER/NAME of the hub"
        )
    return resolve(name)


_classifiers: LoadedModels[ParaphraseClassifier] = LoadedModels()


def shared_classifier(
    model: str | None = None, engine: EngineOptions = EngineOptions(), max_length: int = MAX_LENGTH
) -> ParaphraseClassifier:
    """Return the process's only classifier with these settings; metrics share its weights and results."""
    place = (model or EMBEDDED, engine, max_length)
    return _classifiers.get(place, lambda: ParaphraseClassifier(model, engine, max_length))


def load_classifier(folder: Path, labels: int | None = None) -> "PreTrainedModel":
    """Load a checkpoint as a sequence classifier in fp32.

    labels    None: the checkpoint must have a head of two labels or one logit. A number: a checkpoint without a head gets a
              new one with this number of labels, for training
    """
    from transformers import AutoModelForSequenceClassification

    more = {} if labels is None else {"num_labels": labels}
    says = "cannot be loaded as a sequence classifier: {why}"
    model, missing = load_with(AutoModelForSequenceClassification, folder, says, **more)
    if labels is None and missing:
        raise ModelError(
            f"{folder} is not a sequence classifier: {missing[0]} is not among its weights",
            fix="name a checkpoint fine-tuned on paraphrases, or train one: ctx-metrics paraphrase train",
        )
    if model.config.num_labels not in (1, 2):
        raise ModelError(
            f"{folder} has {model.config.num_labels} labels, but a paraphrase classifier has two, or a single logit"
        )
    return model.float()


def load_tokenizer(folder: Path) -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer

    with opening(folder, ": its tokenizer cannot be loaded: {why}"), silent():
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        if tokenizer.is_fast:
            check_growth(tokenizer.backend_tokenizer)
        if not isinstance(tokenizer.model_max_length, (int, float)):
            raise ValueError(f"its model_max_length is {shown(tokenizer.model_max_length)}, which is not a number")
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
