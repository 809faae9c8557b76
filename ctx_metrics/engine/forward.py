"""The exact forward pass of a BERT-like encoder over packed tokens, without padding; readouts get each layer they read."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import torch
import torch.nn.functional as F

from ..errors import ModelError
from .attention import Attention, choose_attention, padded_attention
from .checkpoint import Tensors, first_position
from .linear import fixed_rows, make_linear, prepacking_fault
from .readout import LayerMix, PackedTokens, Readout, Rows, readout_of
from .transfer import Fetched, send

ReadoutKey = LayerMix | Readout


class EncoderLayer:
    """One transformer layer on packed tokens [rows, width]: fp32, but for matrix products, which are in `dtype`.

    take        returns the tensor of a name, on the right device and in the given dtype
    pre_norm    layer norms before each half (XLM-R-XL) instead of after it (BERT, Vaswani et al. 2017)
    split       separate product for queries, for a layer of which only first tokens are needed
    """

    def __init__(
        self, take: Callable, prefix: str, heads: int, eps: float, pre_norm: bool, split: bool, dtype: torch.dtype
    ):
        def linear(*names):
            return make_linear(*([take(f"{prefix}{n}.{p}", dtype) for n in names] for p in ("weight", "bias")))

        def norm(name):
            return LayerNorm(take, f"{prefix}{name}", eps)

        query, key, value = (f"attention.self.{name}" for name in ("query", "key", "value"))
        self.heads, self.pre_norm, self.dtype = heads, pre_norm, dtype
        self.query = linear(query) if split else None
        self.rest = linear(key, value) if split else linear(query, key, value)
        self.attended = linear("attention.output.dense")
        self.up, self.down = linear("intermediate.dense"), linear("output.dense")
        self.attention_norm = norm("attention.self_attn_layer_norm" if pre_norm else "attention.output.LayerNorm")
        self.output_norm = norm("LayerNorm" if pre_norm else "output.LayerNorm")

    def __call__(
        self, hidden: torch.Tensor, packed: PackedTokens, attention: Attention, first: torch.Tensor | None
    ) -> torch.Tensor:
        """The layer's output for all rows, or only for the rows `first` (each sequence's first token)."""
        rows, width = hidden.shape
        read = (self.attention_norm(hidden) if self.pre_norm else hidden).to(self.dtype)
        shape = (-1, self.heads, width // self.heads)
        if self.query is None:
            q, kv = self.rest(read).view(rows, 3, *shape[1:]).split([1, 2], dim=1)
            q = q[:, 0] if first is None else q[first, 0]
        else:
            q = self.query(read if first is None else read[first]).view(shape)
            kv = self.rest(read).view(rows, 2, *shape[1:])
        attended = self.attended(attention(q, kv, packed, first is not None).reshape(-1, width))
        hidden = attended + (hidden if first is None else hidden[first])
        if self.pre_norm:
            return hidden + self.down(self.up.gelu(self.output_norm(hidden).to(self.dtype)))
        hidden = self.attention_norm(hidden)
        return self.output_norm(self.down(self.up.gelu(hidden.to(self.dtype))) + hidden)


class LayerNorm:
    """Layer normalisation over the last dimension, in fp32: [..., width] to the same shape."""

    def __init__(self, take: Callable, name: str, eps: float):
        self.weight, self.bias, self.eps = take(f"{name}.weight"), take(f"{name}.bias"), eps

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class PackedEncoder:
    """A BERT, RoBERTa, XLM-R, XLM-R-XL or RemBERT encoder as a function from token ids to what is read from its layers.

    config, tensors    from engine.checkpoint
    layers             number of transformer layers to keep; the rest are neither loaded nor run
    first_only         whether only first tokens of the last of them will be needed (it is then laid out for that)

    pads    whether its attention pads the sequences of a batch to the longest
    """

    def __init__(
        self,
        config: dict,
        tensors: Tensors,
        device: torch.device,
        dtype: torch.dtype,
        *,
        layers: int,
        first_only: bool = False,
    ):
        def take(name, dtype=torch.float32):
            if name not in tensors:
                raise ModelError(f"the checkpoint lacks the tensor {name!r}: broken, or of another architecture")
            return tensors[name].to(device=device, dtype=dtype)

        eps = config.get("layer_norm_eps", 1e-12)
        heads, kind = config["num_attention_heads"], config["model_type"]
        pre_norm = kind == "xlm-roberta-xl"
        self.device, self.width, self.depth = device, config["hidden_size"], config["num_hidden_layers"]
        # F.linear's fp32 product, unlike the others, caches nothing per number of rows
        self.rounded = device.type == "cpu" and (dtype != torch.float32 or not prepacking_fault())
        self.attention = choose_attention(device, dtype, self.width // heads)
        self.pads = self.attention is padded_attention
        self.first_position = first_position(config)
        # RoBERTa's positions do not count padding tokens, which a text can contain literally
        self.pad = self.first_position - 1 if self.first_position else None
        self.max_tokens = config["max_position_embeddings"] - self.first_position
        self.words = take("embeddings.word_embeddings.weight", dtype)
        # one row for every type and position
        positions, types = (take(f"embeddings.{kind}_embeddings.weight") for kind in ("position", "token_type"))
        self.places = (positions + types[:, None]).flatten(0, 1)
        self.table_length = len(positions)
        self.embedding_norm = None if pre_norm else LayerNorm(take, "embeddings.LayerNorm", eps)
        self.final_norm = LayerNorm(take, "encoder.LayerNorm", eps) if pre_norm and layers == self.depth else None
        self.widen = None
        if kind == "rembert":
            name = "encoder.embedding_hidden_mapping_in"
            self.widen = make_linear([take(f"{name}.weight")], [take(f"{name}.bias")])
        self.layers = [
            EncoderLayer(take, f"encoder.layer.{k}.", heads, eps, pre_norm, first_only and k == layers - 1, dtype)
            for k in range(layers)
        ]

    @torch.inference_mode()
    def __call__(
        self,
        sequences: Sequence[np.ndarray],
        readouts: Iterable[ReadoutKey],
        seconds: Sequence[int | None] | None = None,
    ) -> "LayersRead":
        """Read the hidden layers of token id sequences, special tokens included; equal lengths must be adjacent.

        sequences    int arrays of token ids
        readouts     readouts, or tuples of layer numbers to average
        seconds      index in each sequence from which tokens are of type 1; None if all are of type 0
        Returns what was read; a GPU may still be computing it.
        """
        total = sum(len(sequence) for sequence in sequences)
        packed = PackedTokens(sequences, fixed_rows(total) if self.rounded else total, self.device)
        keys = list(dict.fromkeys(readouts))
        read = [readout_of(key) for key in keys]
        last = max(readout.last for readout in read)
        first_only = last > 0 and all(readout.first_only or readout.last < last for readout in read)
        accumulators = [readout.accumulator(packed) for readout in read]
        hidden = self._embedded(packed, seconds)
        for number in range(last + 1):
            only = number == last and first_only
            if number:
                # rows beyond the number of sequences are only there to make it a round number
                more = fixed_rows(len(packed.lengths)) - len(packed.lengths) if only and self.rounded else 0
                first = F.pad(packed.starts, (0, more)) if only else None
                hidden = self.layers[number - 1](hidden, packed, self.attention, first)
                if number == self.depth and self.final_norm is not None:
                    hidden = self.final_norm(hidden)
            for accumulator, readout in zip(accumulators, read, strict=True):
                if number <= readout.last:
                    accumulator.add(number, hidden, only)
        return LayersRead({key: accumulator.result() for key, accumulator in zip(keys, accumulators, strict=True)})

    def _embedded(self, packed: PackedTokens, seconds: Sequence[int | None] | None) -> torch.Tensor:
        """The embedding layer's output, [rows, width]."""
        places = np.zeros(packed.rows, np.int64)
        places[: packed.total] = self._positions(packed)
        if seconds is not None and any(second is not None for second in seconds):
            for start, end, second in zip(packed.ends[:-1], packed.ends[1:], seconds, strict=True):
                if second is not None:
                    places[start + second : end] += self.table_length
        states = self.words[packed.ids] + self.places[send(places, self.device)]
        if self.embedding_norm is not None:
            states = self.embedding_norm(states)
        return states if self.widen is None else self.widen(states)

    def _positions(self, packed: PackedTokens) -> np.ndarray:
        """The position of each token in the position table, int64 [total]."""
        if not packed.has(self.pad):
            return packed.places + self.first_position
        kept = [sequence != self.pad for sequence in packed.sequences]
        return np.concatenate([np.where(own, np.cumsum(own), 0) + self.pad for own in kept])


class LayersRead:
    """What was read from one batch, on its way from the device to the CPU."""

    def __init__(self, read: Mapping[ReadoutKey, Rows]):
        self._counts = {key: rows.counts for key, rows in read.items()}
        self._fetched = Fetched(rows.values for rows in read.values())

    def wait(self) -> dict[ReadoutKey, Rows]:
        """Wait until what was read is on the CPU, and return it by readout."""
        of_keys = zip(self._counts.items(), self._fetched.wait(), strict=True)
        return {key: Rows(values, counts) for (key, counts), values in of_keys}
