"""The probability that two sentences mean the same, by a sequence-classification model that reads both as one sequence.

Yoshimura et al. (2019), "Filtering Pseudo-References by Paraphrasing for Automatic Evaluation of Machine Translation", keep
a pseudo-reference if BERT, fine-tuned on MRPC, gives the pair (pseudo-reference, reference) a probability above .5.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...engine.checkpoint import folder_hashes
from ...engine.device import TokenBudget, check_tf32, resolve_device, resolve_dtype
from ...engine.memory import LoadedModels, memory_for
from ...engine.opening import same_hashes
from ...engine.options import EngineOptions
from ...errors import InputError, ModelError
from ...models.embedded import FOLDER
from ...models.folder import encoder_of
from ...models.hub import EMBEDDED, ResolvedModel, checkpoint_hash, resolve
from ...notices import counted, notice
from ...progress import Progress
from .pair_classifier import is_adapted, load_adapted, read_adapted_config
from .sequence_classifier import (
    Pair,
    encode_pairs,
    load_classifier,
    load_tokenizer,
    positions,
    probabilities_of,
    say_label,
)

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from .pair_classifier import PairClassifier

MAX_LENGTH = 128
EMBEDDED_FOLDER = FOLDER / "paraphrase"


class Network(NamedTuple):
    """A loaded classifier: the tokenizer, the model, and the maximum number of tokens of a pair."""

    tokenizer: "PreTrainedTokenizerBase"
    model: "PreTrainedModel | PairClassifier"
    limit: int


class ParaphraseClassifier:
    """Computes P(paraphrase) of ordered pairs (pseudo-reference, gold reference).

    model         embedded (or None), a folder, or a hub name[@revision]: a model that `ctx-metrics paraphrase train` wrote,
                  or any checkpoint that transformers loads as a sequence classifier with two labels or a single logit
    engine        device, number format and tokens per batch
    max_length    maximum number of tokens of a pair, including special ones; longer pairs lose the end of their longer
                  sentence

    The model is located and hashed at once, and loaded at the first pair. Raises a one-line ModelError if it is not such a
    model, ResourceError if the device is not available, and InputError if max_length leaves a sentence without tokens.
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
        if is_adapted(folder):
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
            notice(f"paraphrase classifier {self.resolved.name}: {were} cut at {network.limit} tokens, of {len(pairs)}")
        with Progress("paraphrase", "pair", len(pairs), quiet=self.quiet) as done:
            for part, found in probabilities_of(network.model, network.tokenizer, encodings, self.budget):
                self._known.update(zip((pairs[i] for i in part), found, strict=True))
                done.update(len(part))

    def _loaded(self) -> Network:
        if self._network is None:
            folder = self.resolved.folder
            model: PreTrainedModel | PairClassifier
            if is_adapted(folder):
                model, encoder = load_adapted(folder)
                tokenizer = load_tokenizer(encoder)
            else:
                model, tokenizer = load_classifier(folder), load_tokenizer(folder)
            if not self.is_current():
                raise ModelError(f"{folder} has changed since it was opened; create the metric again")
            limit = token_limit(tokenizer, model.config, self.max_length)
            say_label(self.resolved.name, model.config)
            with memory_for(f"the weights of {self.resolved.name}", self.device):
                model.to(self.device, self.dtype)  # type: ignore[arg-type]  # transformers' wrapper loses who `self` is
            self._network = Network(tokenizer, model.eval(), limit)
        return self._network


def token_limit(tokenizer: "PreTrainedTokenizerBase", config: "PretrainedConfig", max_length: int) -> int:
    """Return the maximum number of tokens of a pair: max_length, or the model's limit if that is lower.

    Raises InputError if max_length does not leave one token for each sentence besides the special ones (three in BERT).
    """
    special = tokenizer.num_special_tokens_to_add(pair=True)
    if max_length < special + 2:
        raise InputError(
            f"--max-length {max_length} leaves no token of each sentence beside the {special} special ones; "
            f"give at least {special + 2}"
        )
    return min(max_length, positions(tokenizer, config))


def resolve_classifier(name: str) -> ResolvedModel:
    """Locate and identify a classifier; raises ModelError as models.hub.resolve does."""
    if name == EMBEDDED:
        return ResolvedModel(f"{EMBEDDED}-paraphrase", EMBEDDED_FOLDER, None, checkpoint_hash(EMBEDDED_FOLDER), True)
    return resolve(name)


_classifiers: LoadedModels[ParaphraseClassifier] = LoadedModels()


def shared_classifier(
    model: str | None = None, engine: EngineOptions = EngineOptions(), max_length: int = MAX_LENGTH
) -> ParaphraseClassifier:
    """Return the process's only classifier with these settings, so that metrics share its weights and results."""
    place = (model or EMBEDDED, engine, max_length)
    return _classifiers.get(place, lambda: ParaphraseClassifier(model, engine, max_length))
