"""The exact forward pass of a BERT-like encoder over packed tokens, without padding; readouts get each layer they read.

Linear layers use oneDNN's prepacked fp32 product on CPUs that support it, else F.linear. Attention is grouped by length
(CPUs), padded, or variable-length (CUDA, half precision).
"""

import logging
import mmap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F

from ..errors import ModelError
from .checkpoint import Tensors, first_position
from .device import PendingCopy, send
from .disentangled import DisentangledAttention, Distances
from .readout import LayerMix, PackedTokens, Readout, Rows, equal_runs, readout_of

logger = logging.getLogger(__name__)
# oneDNN keeps a kernel and its buffers for every number of rows that it is given, so these must be few.
_ROWS = (128, 256, 512, 1024, 1536, 2048)
# hidden_act of a configuration, and the form of GELU as torch names it: with the error function, or its tanh approximation
GELU = {"gelu": "none", "gelu_pytorch_tanh": "tanh"}
# the product of queries, keys and values: F.scaled_dot_product_attention, or another that takes the same
Attend = Callable[..., torch.Tensor]
# (q [queries, heads, d], kv [tokens, 2, heads, d], packed, first_only, product) -> [queries, heads, d]
Attention = Callable[[torch.Tensor, torch.Tensor, PackedTokens, bool, Attend], torch.Tensor]


def fixed_rows(rows: int) -> int:
    """The number of rows to which a batch is rounded up on a CPU: one of a few up to 2048, then multiples of 2048.

    >>> fixed_rows(100), fixed_rows(2000), fixed_rows(5000)
    (128, 2048, 6144)
    """
    return next((fixed for fixed in _ROWS if rows <= fixed), -(-rows // _ROWS[-1]) * _ROWS[-1])


class Linear:
    """y = x W^T + b, optionally followed by a form of GELU. x: [tokens, in], y: [tokens, out], any floating dtype."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor):
        self.weight, self.bias = weight, bias

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight, self.bias)

    def gelu(self, x: torch.Tensor, form: str) -> torch.Tensor:
        return F.gelu(self(x), approximate=form)


class PrepackedLinear(Linear):
    """The same with torch's private oneDNN op, for which the weight is laid out once, on loading."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor):
        super().__init__(torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), _ROWS[-1]), bias)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")

    def gelu(self, x: torch.Tensor, form: str) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "gelu", [], form)


@cache
def prepacking_fault() -> str | None:
    """Why this machine cannot use prepacked linear layers, or None if they pass a self-test against F.linear."""
    fault = _self_test()
    logger.debug("CPU linear layers: %s", f"F.linear ({fault})" if fault else "oneDNN, prepacked")
    return fault


def _self_test() -> str | None:
    if not torch.backends.mkldnn.is_available():
        return "torch was built without oneDNN"
    generator = torch.Generator().manual_seed(1)
    weight, bias = torch.randn(96, 64, generator=generator), torch.randn(96, generator=generator)
    try:
        plain, packed = Linear(weight, bias), PrepackedLinear(weight, bias)
        for rows in (1, 7, 300):
            x = torch.randn(rows, 64, generator=generator)
            for function, more in (("__call__", ()), *(("gelu", (form,)) for form in GELU.values())):
                gap = (getattr(plain, function)(x, *more) - getattr(packed, function)(x, *more)).abs().max().item()
                if not gap < 1e-4:
                    return f"the product differs from F.linear by {gap:.1e}"
    except (RuntimeError, AttributeError, NotImplementedError) as error:  # the op is private: it may be gone or fail
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return None


def make_linear(weights: Sequence[torch.Tensor], biases: Sequence[torch.Tensor]) -> Linear:
    """The fastest exact linear layer for concatenated weights [out, in] and biases [out], with their device and dtype."""
    first, bias = weights[0], torch.cat(list(biases))
    if first.device.type != "cpu" or first.dtype != torch.float32 or prepacking_fault():
        return Linear(torch.cat(list(weights)), bias)
    return PrepackedLinear(_joined(weights), bias)


def _joined(weights: Sequence[torch.Tensor]) -> torch.Tensor:
    """CPU weights concatenated by rows, in temporary memory: they are needed only until they are laid out."""
    if len(weights) == 1:
        return weights[0]
    # not on the heap, where its freed memory would remain between the layers: a tenth of a large encoder
    place = mmap.mmap(-1, sum(weight.nbytes for weight in weights))
    return torch.cat(list(weights), out=torch.frombuffer(place, dtype=weights[0].dtype).view(-1, weights[0].shape[1]))


def choose_attention(device: torch.device, dtype: torch.dtype, head_size: int, plain: bool = True) -> Attention:
    """`plain`: whether the product is F.scaled_dot_product_attention."""
    if device.type == "cpu":
        chosen = grouped_attention
    elif (
        plain and device.type == "cuda" and dtype != torch.float32 and _varlen_takes(head_size) and _has_varlen(device)
    ):
        chosen = varlen_attention
    else:
        chosen = padded_attention
    logger.debug("attention on %s: %s", device, chosen.__name__)
    return chosen


def _varlen_takes(head_size: int) -> bool:
    return head_size <= 256 and head_size % 8 == 0


def _has_varlen(device: torch.device) -> bool:
    """Whether torch has variable-length attention (2.10 and later) and the card can run it (Ampere and later)."""
    try:
        from torch.nn.attention.varlen import varlen_attn  # noqa: F401
    except ImportError:
        return False
    return torch.cuda.get_device_capability(device) >= (8, 0)


def grouped_attention(
    q: torch.Tensor,
    kv: torch.Tensor,
    packed: PackedTokens,
    first_only: bool,
    attend: Attend = F.scaled_dot_product_attention,
) -> torch.Tensor:
    """One unmasked product per run of equal lengths.

    q             [rows, heads, d]: queries of all tokens, or of each sequence's first token if `first_only`
    kv            [rows, 2, heads, d]: keys and values of all tokens
    packed        the sequences; rows beyond their tokens get zeros
    Returns [rows of q, heads, d]; all tensors have the same dtype.
    """
    out = torch.zeros_like(q)
    heads, size = q.shape[1:]
    asked = 0
    for offset, count, length in equal_runs(packed.lengths):
        queries = slice(asked, asked + count) if first_only else slice(offset, offset + count * length)
        asked += count
        run_q = q[queries].view(count, -1, heads, size).transpose(1, 2)
        k, v = kv[offset : offset + count * length].view(count, length, 2, heads, size).permute(2, 0, 3, 1, 4)
        attended = attend(run_q, k, v)
        out[queries] = attended.transpose(1, 2).reshape(-1, heads, size)
    return out


def padded_attention(
    q: torch.Tensor,
    kv: torch.Tensor,
    packed: PackedTokens,
    first_only: bool,
    attend: Attend = F.scaled_dot_product_attention,
) -> torch.Tensor:
    """The same with one masked product over sequences padded only for it, where kernel launches cost most."""
    heads, size = q.shape[1:]
    count, longest = packed.mask.shape

    def spread(states: torch.Tensor) -> torch.Tensor:
        rows = states.new_zeros(count * longest, *states.shape[1:])
        return rows.index_copy_(0, packed.slots, states[: packed.total]).view(count, longest, *states.shape[1:])

    k, v = spread(kv).permute(2, 0, 3, 1, 4)
    queries = q[:, :, None] if first_only else spread(q).transpose(1, 2)
    attended = attend(queries, k, v, attn_mask=packed.mask[:, None, None])
    return attended[:, :, 0] if first_only else attended.transpose(1, 2).reshape(-1, heads, size)[packed.slots]


def varlen_attention(
    q: torch.Tensor, kv: torch.Tensor, packed: PackedTokens, first_only: bool, attend: Attend | None = None
) -> torch.Tensor:
    """The same with torch's variable-length kernel: no padding; only the plain product, in fp16 and bf16 on CUDA."""
    from torch.nn.attention.varlen import varlen_attn

    longest = max(packed.lengths)
    asked = torch.arange(len(q) + 1, device=q.device, dtype=torch.int32) if first_only else packed.offsets
    k, v = kv.unbind(1)
    asked_longest = 1 if first_only else longest
    return varlen_attn(  # type: ignore[return-value]  # a pair only if the sums of weights are requested
        q.contiguous(), k.contiguous(), v.contiguous(), asked, packed.offsets, asked_longest, longest
    )


ReadoutKey = LayerMix | Readout


class EncoderLayer:
    """One transformer layer on packed tokens [rows, width]: fp32, but for matrix products, which are in `dtype`.

    take        returns the tensor of a name, on the right device and in the given dtype
    pre_norm    layer norms before each half (XLM-R-XL) instead of after it (BERT, Vaswani et al. 2017)
    split       separate product for queries, for a layer of which only first tokens are needed
    gelu        the form of GELU
    distances   the distances of tokens (DeBERTa)
    """

    def __init__(
        self,
        take: Callable,
        prefix: str,
        heads: int,
        eps: float,
        pre_norm: bool,
        split: bool,
        gelu: str,
        dtype: torch.dtype,
        distances: Distances | None = None,
    ):
        def linear(*names):
            return make_linear(*([take(f"{prefix}{n}.{p}", dtype) for n in names] for p in ("weight", "bias")))

        def norm(name):
            return LayerNorm(take, f"{prefix}{name}", eps)

        suffix = "_proj" if distances else ""
        query, key, value = (f"attention.self.{name}{suffix}" for name in ("query", "key", "value"))
        self.attend: Attend = F.scaled_dot_product_attention
        if distances:
            self.attend = DisentangledAttention(take, prefix, heads, distances, dtype)
        self.heads, self.pre_norm, self.gelu, self.dtype = heads, pre_norm, gelu, dtype
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
        attended = self.attended(attention(q, kv, packed, first is not None, self.attend).reshape(-1, width))
        hidden = attended + (hidden if first is None else hidden[first])
        if self.pre_norm:
            return hidden + self.down(self.up.gelu(self.output_norm(hidden).to(self.dtype), self.gelu))
        hidden = self.attention_norm(hidden)
        return self.output_norm(self.down(self.up.gelu(hidden.to(self.dtype), self.gelu)) + hidden)


class LayerNorm:
    """Layer normalisation over the last dimension, in fp32: [..., width] to the same shape."""

    def __init__(self, take: Callable, name: str, eps: float):
        self.weight, self.bias, self.eps = take(f"{name}.weight"), take(f"{name}.bias"), eps

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class PackedEncoder:
    """A BERT, RoBERTa, XLM-R, XLM-R-XL, RemBERT or DeBERTa encoder: from token ids to readouts of its layers.

    layers        number of transformer layers to keep; the rest are neither loaded nor run
    first_only    whether only first tokens of the last of them will be needed (it is then laid out for that)

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

        heads, kind = config["num_attention_heads"], config["model_type"]
        pre_norm, deberta = kind == "xlm-roberta-xl", kind == "deberta-v2"
        eps = config.get("layer_norm_eps", 1e-7 if deberta else 1e-12)
        self.device, self.width, self.depth = device, config["hidden_size"], config["num_hidden_layers"]
        # F.linear's fp32 product, unlike the others, caches nothing per number of rows
        self.rounded = device.type == "cpu" and (dtype != torch.float32 or not prepacking_fault())
        self.attention = choose_attention(device, dtype, self.width // heads, plain=not deberta)
        self.pads = self.attention is padded_attention
        self.first_position = first_position(config)
        # RoBERTa's positions do not count padding tokens, which a text can contain literally
        self.pad = self.first_position - 1 if self.first_position else None
        self.max_tokens = config["max_position_embeddings"] - self.first_position
        self.words = take("embeddings.word_embeddings.weight", dtype)
        self.places, distances = None, None
        if deberta:
            distances = Distances(take, config, LayerNorm(take, "encoder.LayerNorm", eps))
        else:  # one row for every type and position
            positions, types = (take(f"embeddings.{kind}_embeddings.weight") for kind in ("position", "token_type"))
            self.places = (positions + types[:, None]).flatten(0, 1)
            self.table_length = len(positions)
        self.embedding_norm = None if pre_norm else LayerNorm(take, "embeddings.LayerNorm", eps)
        self.final_norm = LayerNorm(take, "encoder.LayerNorm", eps) if pre_norm and layers == self.depth else None
        self.widen = None
        if kind == "rembert":
            name = "encoder.embedding_hidden_mapping_in"
            self.widen = make_linear([take(f"{name}.weight")], [take(f"{name}.bias")])
        gelu = GELU[config.get("hidden_act", "gelu")]
        self.layers = [
            EncoderLayer(
                take,
                f"encoder.layer.{k}.",
                heads,
                eps,
                pre_norm,
                first_only and k == layers - 1,
                gelu,
                dtype,
                distances,
            )
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

        seconds    index in each sequence from which tokens are of type 1; None if all are of type 0
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
        words = self.words[packed.ids]
        if self.places is None:
            states = words.float()
        else:
            states = words + self.places[send(self._places(packed, seconds), self.device)]
        if self.embedding_norm is not None:
            states = self.embedding_norm(states)
        return states if self.widen is None else self.widen(states)

    def _places(self, packed: PackedTokens, seconds: Sequence[int | None] | None) -> np.ndarray:
        """The row of each token's type and position, int64 [rows]."""
        places = np.zeros(packed.rows, np.int64)
        places[: packed.total] = self._positions(packed)
        if seconds is not None and any(second is not None for second in seconds):
            for start, end, second in zip(packed.ends[:-1], packed.ends[1:], seconds, strict=True):
                if second is not None:
                    places[start + second : end] += self.table_length
        return places

    def _positions(self, packed: PackedTokens) -> np.ndarray:
        """The position of each token in the position table, int64 [total]."""
        if not packed.has(self.pad):
            return packed.places + self.first_position
        kept = [sequence != self.pad for sequence in packed.sequences]
        return np.concatenate([np.where(own, np.cumsum(own), 0) + self.pad for own in kept])


class LayersRead:
    """The readouts of one batch, on their way from the device to the CPU."""

    def __init__(self, read: Mapping[ReadoutKey, Rows]):
        self._counts = {key: rows.counts for key, rows in read.items()}
        self._fetched = PendingCopy(rows.values for rows in read.values())

    def wait(self) -> dict[ReadoutKey, Rows]:
        of_keys = zip(self._counts.items(), self._fetched.wait(), strict=True)
        return {key: Rows(values, counts) for (key, counts), values in of_keys}
