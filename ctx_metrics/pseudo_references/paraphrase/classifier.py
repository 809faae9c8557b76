"""The chance that two sentences say the same, from a sequence-classification model that reads both as one sequence.

Yoshimura et al. (2019), "Filtering Pseudo-References by Paraphrasing for Automatic Evaluation of Machine Translation", keep
a pseudo-reference where BERT, fine-tuned on MRPC, gives the pair (pseudo-reference, reference) more than .5.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ...engine.batching import token_batches
from ...engine.checkpoint import folder_hashes
from ...engine.device import TokenBudget, check_tf32, resolve_device, resolve_dtype
from ...engine.loaded import LoadedModels
from ...engine.opening import same_hashes
from ...engine.options import EngineOptions
from ...engine.shortage import memory_for
from ...errors import InputError, ModelError
from ...models.embedded import FOLDER
from ...models.folder import encoder_of
from ...models.hub import EMBEDDED, ResolvedModel, checkpoint_hash, resolve
from ...notices import counted, notice
from ...progress import Progress
from ...wording import setting_named
from .adapted import is_adapted, load_adapted, read_adapted_config
from .sequence_classifier import (
    Pair,
    batch_of,
    encode_pairs,
    load_classifier,
    load_tokenizer,
    positions,
    probabilities,
    say_label,
)

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from .pair import PairClassifier

MAX_LENGTH = 128
EMBEDDED_FOLDER = FOLDER / "paraphrase"


class Network(NamedTuple):
    """A loaded classifier: what turns pairs into ids, the model, and the tokens of a pair that are kept."""

    tokenizer: "PreTrainedTokenizerBase"
    model: "PreTrainedModel | PairClassifier"
    limit: int


class ParaphraseClassifier:
    """P(paraphrase) of ordered pairs (pseudo-reference, gold reference).

    model         embedded (or None), a folder, or a hub name[@revision]: what `ctx-metrics paraphrase train` wrote, or any
                  checkpoint that transformers loads as a sequence classifier, of two labels or of a single logit
    engine        device, number format and tokens of a batch
    max_length    most tokens of a pair, the special ones with them; longer pairs lose the end of their longer sentence

    The model is found and hashed at once, and loaded at the first pair. Raises ModelError, in one line, for what is no such
    model, ResourceError for a device that is not there, and InputError for a max_length that leaves a sentence no token.
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
        """Whether the model's files hold what they held when this was made, by their hashes."""
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
        """The signature's part on the classifier: model, rev, ckpt."""
        return self.resolved.signature()

    @property
    def limit(self) -> int:
        """The tokens of a pair that are kept: max_length, or what the model can read if that is less. Loads the model."""
        return self._loaded().limit

    def probabilities(self, pairs: Sequence[Pair]) -> list[float]:
        """P(paraphrase) of each pair, 0 to 1. A pair is computed once in the classifier's life.

        The batch that a pair is in, and its place there, do not change its value beyond rounding (1e-5 in fp32). Pairs that
        were cut are counted in a notice.
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
        batches = token_batches([len(each["input_ids"]) for each in encodings], self.budget.tokens)
        with Progress("paraphrase", "pair", len(pairs), quiet=self.quiet) as done:
            for batch in batches:
                found = self._batch(network, [encodings[i] for i in batch])
                self._known.update(zip((pairs[i] for i in batch), found, strict=True))
                done.update(len(batch))

    def _batch(self, network: Network, encodings: list[dict]) -> list[float]:
        """The probabilities of one batch, which runs in several parts where memory runs out."""

        def forward(part: Sequence[dict]) -> list[float]:
            with torch.inference_mode():
                logits = network.model(**batch_of(network.tokenizer, part, self.device)).logits.float().cpu()
            return probabilities(logits, network.model.config).tolist()

        sizes = [len(each["input_ids"]) for each in encodings]
        too_large = "pair of {total} tokens; try " + setting_named("--ctx-device", "device", "cpu")
        parts = self.budget.split(encodings, sizes, forward, too_large)
        return [each for _, values in parts for each in values]

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
    """The tokens of a pair that are kept: max_length, or what the model can read if that is less.

    Raises InputError for a max_length below a token of each sentence beside the special ones, which BERT has three of.
    """
    special = tokenizer.num_special_tokens_to_add(pair=True)
    if max_length < special + 2:
        raise InputError(
            f"--max-length {max_length} leaves no token of each sentence beside the {special} special ones; "
            f"give at least {special + 2}"
        )
    return min(max_length, positions(tokenizer, config))


def resolve_classifier(name: str) -> ResolvedModel:
    """Where a classifier lies and what it is; raises ModelError as models.hub.resolve does."""
    if name == EMBEDDED:
        return ResolvedModel(f"{EMBEDDED}-paraphrase", EMBEDDED_FOLDER, None, checkpoint_hash(EMBEDDED_FOLDER), True)
    return resolve(name)


_classifiers: LoadedModels[ParaphraseClassifier] = LoadedModels()


def shared_classifier(
    model: str | None = None, engine: EngineOptions = EngineOptions(), max_length: int = MAX_LENGTH
) -> ParaphraseClassifier:
    """The process's one classifier of these settings, so that metrics share its weights and what it has computed."""
    place = (model or EMBEDDED, engine, max_length)
    return _classifiers.get(place, lambda: ParaphraseClassifier(model, engine, max_length))
