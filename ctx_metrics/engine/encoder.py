"""The text encoder: unique texts once, longest first, in batches of a token budget, through the packed forward."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

import torch
from tqdm import tqdm

from ..errors import ResourceError
from ..notices import notice
from .batching import token_batches
from .checkpoint import first_position, read_config, read_weights
from .device import TOKEN_BUDGETS, is_out_of_memory, resolve_device, resolve_dtype
from .forward import LayerMix, PackedEncoder
from .options import EngineOptions
from .store import EmbeddingStore, States
from .tokenizer import TextTokenizer, TokenIds


class TextEncoder:
    """Turns texts into hidden states with a Hugging Face checkpoint of the BERT, RoBERTa or XLM-R family.

    folder     the checkpoint's folder
    options    device, number format, batch size and memory bound

    Weights are loaded at the first text, and only as many layers as were asked for.
    """

    def __init__(self, folder: Path, options: EngineOptions = EngineOptions()):
        self.folder, self.quiet = Path(folder), options.quiet
        self.device, self.dtype = resolve_device(options.device), resolve_dtype(options.dtype)
        self.token_budget = options.batch_tokens or TOKEN_BUDGETS[self.device.type]
        self.store = EmbeddingStore(options.store_mb * 2**20)
        self.config = read_config(self.folder)
        self.layers = self.config["num_hidden_layers"]
        self.width = self.config["hidden_size"]
        self.max_content = self.config["max_position_embeddings"] - first_position(self.config) - 2
        self._mixes: set[LayerMix] = set()
        self._tokenizer: Optional[TextTokenizer] = None
        self._network: Optional[PackedEncoder] = None
        self._bar: Optional[tqdm] = None

    def __getstate__(self):
        # sacrebleu pickles metrics into the workers of -j N; they have their statistics by then
        return {
            **self.__dict__,
            "_network": None,
            "_tokenizer": None,
            "_bar": None,
            "store": EmbeddingStore(self.store.limit),
        }

    def require(self, mixes: Iterable[LayerMix]) -> None:
        """Announce the layer mixes that a metric will ask for, so that one pass serves every metric of a run."""
        self._mixes.update(mixes)

    @property
    def required_mixes(self) -> int:
        """How many layer mixes each text's states hold."""
        return len(self._mixes)

    def tokenize(self, texts: Sequence[str], max_content: Optional[int] = None) -> list[TokenIds]:
        """Token ids of each text, at most min(max_content, self.max_content) of them beside the specials."""
        if self._tokenizer is None:
            self._tokenizer = TextTokenizer(self.folder)
        return self._tokenizer(texts, min(max_content or self.max_content, self.max_content))

    def encode(self, tokens: Sequence[TokenIds], mixes: Iterable[LayerMix]) -> list[States]:
        """Hidden states of tokenized texts: {mix: fp32 CPU tensor [tokens with specials, width]} of each.

        Equal token sequences are encoded once and share their tensors; those in the store are not encoded again.
        """
        mixes = set(mixes)
        self.require(mixes)
        wanted = {key: text for key, text in zip((t.ids.tobytes() for t in tokens), tokens)}
        found = {key: states for key in wanted if (states := self.store.get(key, mixes)) is not None}
        missing = [key for key in wanted if key not in found]
        if self._bar is not None:
            self._bar.update(len(found))
        for batch in token_batches([len(wanted[key].ids) for key in missing], self.token_budget):
            keys = [missing[i] for i in batch]
            for key, states in zip(keys, self._forward([wanted[key].ids for key in keys])):
                found[key] = states
                self.store.put(key, states)
        return [found[t.ids.tobytes()] for t in tokens]

    def _forward(self, sequences: list) -> list[States]:
        """One batch through the network; when memory runs out, the budget is halved from then on and the batch split."""
        total = sum(len(sequence) for sequence in sequences)
        if len(sequences) > 1 and total > self.token_budget:  # the budget has shrunk since the batch was made
            half = (len(sequences) + 1) // 2
            return self._forward(sequences[:half]) + self._forward(sequences[half:])
        network = self._loaded()
        try:
            mixed = network(sequences, self._mixes)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if len(sequences) == 1:
                raise ResourceError(
                    f"device {self.device} has too little memory for one text of {len(sequences[0])} tokens; "
                    "try --ctx-device cpu or --ctx-dtype bf16"
                ) from error
            mixed = None
        if mixed is None:  # outside the except block, so that the failed forward's tensors are free
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            self.token_budget = total // 2
            notice(f"out of memory on {self.device} with {total} tokens in a batch; going on with {self.token_budget}")
            return self._forward(sequences)
        if self._bar is not None:
            self._bar.update(len(sequences))
        parts = {mix: tensor.cpu().split([len(s) for s in sequences]) for mix, tensor in mixed.items()}
        return [{mix: parts[mix][i].clone() for mix in parts} for i in range(len(sequences))]

    def _loaded(self) -> PackedEncoder:
        needed = max(max(mix) for mix in self._mixes)
        if self._network is None or len(self._network.layers) < needed:
            tensors = read_weights(self.folder, self.config["model_type"])
            self._network = PackedEncoder(self.config, tensors, self.device, self.dtype, needed)
        return self._network

    @contextmanager
    def progress(self, label: str, texts: int) -> Iterator[None]:
        """Show a progress bar on stderr over `texts` texts to encode within the block."""
        with tqdm(total=texts, desc=label, unit="text", disable=True if self.quiet else None, leave=False) as self._bar:
            try:
                yield
            finally:
                self._bar = None


_encoders: dict[tuple, TextEncoder] = {}


def shared_encoder(folder: Path, options: EngineOptions = EngineOptions()) -> TextEncoder:
    """The process's one TextEncoder of these settings, so that metrics share its weights and its store."""
    key = (Path(folder).resolve(), options)
    if key not in _encoders:
        _encoders[key] = TextEncoder(folder, options)
    return _encoders[key]
