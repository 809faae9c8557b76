"""The text encoder: it encodes each distinct text once, longest first, in batches within a token budget, without padding."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..engine_options import EngineOptions, Layers
from ..errors import InputError, ModelError
from ..notices import Progress
from ..wording import setting_named
from .checkpoint import EncoderFolder, Tensors, first_position
from .device import TokenBudget, check_arithmetic, in_turn, resolve_device, resolve_dtype, token_batches
from .forward import LayersRead, PackedEncoder, ReadoutKey
from .memory import LoadedModel, LoadedModels, memory_for
from .readout import SEGMENT, readout_of
from .store import EmbeddingStore, States
from .tokenizer import TextTokenizer, TokenIds

Batch = tuple[Sequence[bytes], LayersRead]  # keys of the texts of one forward pass, and their layers


class Checkpoint(LoadedModel, Protocol):
    """The source of an encoder: a folder with a tokenizer, a configuration, and the tensors that it describes."""

    folder: Path
    config: dict[str, Any]

    def weights(self) -> Tensors:
        """The encoder's tensors by their bare names ("encoder.layer.0...")."""


class TextEncoder:
    """Encodes texts with a checkpoint and returns the readouts of its hidden layers that metrics ask for.

    checkpoint    a Hugging Face folder of the BERT, RoBERTa, XLM-R, XLM-R-XL, RemBERT or DeBERTa family, or an opened one

    Weights are loaded for the first text, and only as many layers as metrics ask for.
    """

    def __init__(self, checkpoint: Path | Checkpoint, options: EngineOptions = EngineOptions()):
        given: Checkpoint = EncoderFolder(Path(checkpoint)) if isinstance(checkpoint, (str, Path)) else checkpoint
        self.checkpoint, self.quiet = given, options.quiet
        self.device, self.dtype = resolve_device(options.device), resolve_dtype(options.dtype)
        check_arithmetic(self.device, self.dtype)
        self.budget = TokenBudget(self.device, options.batch_tokens)
        self.store = EmbeddingStore(options.store_mb * 2**20)
        self.config = given.config
        self.layers = self.config["num_hidden_layers"]
        self.width = self.config["hidden_size"]
        self.max_content = self.config["max_position_embeddings"] - first_position(self.config) - 2
        self._readouts: dict[ReadoutKey, None] = {}  # an ordered set
        self._tokenizer: TextTokenizer | None = None
        self._network: PackedEncoder | None = None
        self._bar: Progress | None = None

    def __getstate__(self) -> dict[str, Any]:
        # sacrebleu pickles metrics for the workers of -j N. They have their statistics by then, and a readout can hold a
        # network, whose tensors on a GPU cannot be passed to a forked process
        left_out = dict.fromkeys(("_network", "_tokenizer", "_bar"))
        return {**self.__dict__, **left_out, "_readouts": {}, "store": EmbeddingStore(self.store.limit)}

    def require(self, readouts: Iterable[ReadoutKey]) -> None:
        """Announce the readouts that a metric will ask for, so that one pass serves all metrics of a run."""
        self._readouts.update(dict.fromkeys(readouts))

    @property
    def required_mixes(self) -> int:
        return len(self._readouts)

    @property
    def tokenizer(self) -> TextTokenizer:
        if self._tokenizer is None:
            tokenizer = TextTokenizer(self.checkpoint.folder, self.max_content)
            self._check_current()
            self._tokenizer = tokenizer
        return self._tokenizer

    def is_current(self) -> bool:
        return self.checkpoint.is_current()

    def forget_texts(self) -> None:
        self.store = EmbeddingStore(self.store.limit)

    def _check_current(self) -> None:
        """Raise ModelError if files have changed, so that the content just read may not match the signature."""
        if not self.is_current():
            raise ModelError(f"{self.checkpoint.folder} has changed since it was opened", fix="create the metric again")

    def encode(
        self, tokens: Sequence[TokenIds], readouts: Iterable[ReadoutKey], unit: str = SEGMENT, *, alone: bool = False
    ) -> list[States]:
        """Return the readouts of each tokenized text: {readout: fp32 CPU tensor}; see engine.readout for the shapes.

        Equal token sequences are encoded once and share their tensors; those in the store are not encoded again.
        unit    the kind of the texts, "segment" or "window"; readouts that other metrics announced for it are also read
        alone   read nothing else, announce nothing, and leave the store alone (neither take from it nor add to it): for
                texts that no metric will read
        """
        read = readouts = list(readouts)
        store = EmbeddingStore(0) if alone else self.store
        if not alone:
            self.require(readouts)
            read = [key for key in self._readouts if key in readouts or readout_of(key).unit in (None, unit)]
        objects = {id(text): text for text in tokens}  # fewer than `tokens` if examples share texts
        key_of = {number: text.key for number, text in objects.items()}
        keys = [key_of[id(text)] for text in tokens]
        wanted = dict(zip(keys, tokens, strict=True))
        asked = set(readouts)
        kept = {key: states for key in wanted if (states := store.get(key, asked)) is not None}
        missing = [key for key in wanted if key not in kept]
        # copied: a few texts would keep in memory whole slabs that the store is about to drop
        if len(kept) <= len(missing):
            kept = {key: store.put(key, states) for key, states in kept.items()}
        words = self.config["vocab_size"]
        if missing and (most := int(np.concatenate([wanted[key].ids for key in missing]).max())) >= words:
            raise ModelError(
                f"{self.checkpoint.folder}: its tokenizer gives token {most}, but the model has {words}: they do not belong "
                "together",
                fix="fetch both again",
            )
        if self._bar is not None:
            self._bar.update(len(kept))
        if missing:
            self._encode({key: wanted[key] for key in missing}, read, kept, store)
        return [kept[key] for key in keys]

    def _encode(
        self,
        texts: Mapping[bytes, TokenIds],
        readouts: list[ReadoutKey],
        kept: dict[bytes, States],
        store: EmbeddingStore,
    ) -> None:
        keys, lengths = list(texts), [len(text.ids) for text in texts.values()]
        batches = token_batches(lengths, self.budget.tokens, self.load(readouts).pads)
        parts = (part for batch in batches for part in self._start({keys[i]: texts[keys[i]] for i in batch}, readouts))
        for of_part, read in in_turn(parts):
            kept.update(zip(of_part, store.put_all(of_part, read), strict=True))
            if self._bar is not None:
                self._bar.update(len(of_part))

    def _start(self, texts: Mapping[bytes, TokenIds], readouts: list[ReadoutKey]) -> list[Batch]:
        network, sizes = self.load(readouts), [len(text.ids) for text in texts.values()]

        def forward(keys: Sequence[bytes]) -> LayersRead:
            own = [texts[key] for key in keys]
            return network([text.ids for text in own], readouts, [text.second for text in own])

        if network.pads:
            sizes = [max(sizes)] * len(sizes)
        smaller = f"{setting_named('--ctx-device', 'device', 'cpu')} or {setting_named('--ctx-dtype', 'dtype', 'bf16')}"
        return self.budget.split(list(texts), sizes, forward, "text of {total} tokens; try " + smaller)

    def load(self, more: Iterable[ReadoutKey] = ()) -> PackedEncoder:
        """Return the network with weights for all announced readouts and those in `more`; load it if necessary."""
        readouts = [readout_of(key) for key in dict.fromkeys([*self._readouts, *more])]
        needed = max(readout.last for readout in readouts)
        if self._network is None or len(self._network.layers) < needed:
            first_only = all(readout.first_only for readout in readouts if readout.last == needed)
            self._network = None  # freed before the deeper one takes memory
            with memory_for(f"the weights of {self.checkpoint.folder}", self.device):
                network = PackedEncoder(
                    self.config,
                    self.checkpoint.weights(),
                    self.device,
                    self.dtype,
                    layers=needed,
                    first_only=first_only,
                )
            self._check_current()
            self._network = network
        return self._network

    @contextmanager
    def progress(self, label: str, texts: int) -> Iterator[None]:
        with Progress(label, "text", texts, quiet=self.quiet) as self._bar:
            try:
                yield
            finally:
                self._bar = None


_encoders: LoadedModels[TextEncoder] = LoadedModels()


def shared_encoder(folder: Path, options: EngineOptions = EngineOptions()) -> TextEncoder:
    """The process's only TextEncoder for this folder and these options; metrics share its weights and its store."""
    return _encoders.get((Path(folder).resolve(), options), lambda: TextEncoder(folder, options))


def layer_mixes(layers: Layers, depth: int, name: str) -> list[tuple[int, ...]]:
    """Return the layers of an encoder to use, as groups: each group is averaged, and the averages are concatenated.

    layers    a layer's number (0 is the embedding layer), several to average as a list or a text such as "3,4", "mean"
              for all transformer layers, or "concat_last4"

    >>> [layer_mixes(*each, "bertr") for each in (("4,3", 6), ("mean", 3), ("concat_last4", 6))]
    [[(3, 4)], [(1, 2, 3)], [(3,), (4,), (5,), (6,)]]
    """
    if layers == "mean":
        return [tuple(range(1, depth + 1))]
    if layers == "concat_last4":
        if depth < 3:
            raise InputError(f"{name}: concat_last4 needs four hidden layers, and this encoder has {depth + 1}")
        return [(number,) for number in range(depth - 3, depth + 1)]
    given = [layers] if isinstance(layers, int) else layers
    try:
        numbers = sorted({int(number) for number in (given.split(",") if isinstance(given, str) else given)})
    except ValueError:
        raise InputError(
            f"{name}: layers {layers!r} is not a layer number, a list such as 3,4,5, mean or concat_last4"
        ) from None
    if not numbers or numbers[0] < 0 or numbers[-1] > depth:
        raise InputError(f"{name}: layers {layers} are not all in 0..{depth}, which this encoder has")
    return [tuple(numbers)]
