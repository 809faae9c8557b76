"""The exact forward pass of MetricX: an mT5 encoder over packed tokens, one decoder step, one row of the output layer.

With a single decoder position, self-attention is its value and output projections, and the relative positions of the
decoder play no part. Attention in T5 is not scaled; in its place the encoder adds a bias for each relative position, the
same in all layers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from ..engine.device import PendingCopy, send
from ..engine.forward import fixed_rows, make_linear, prepacking_fault
from ..engine.readout import PackedTokens, equal_runs

ROW = 250089  # of the output layer: <extra_id_10>, whose logit is the score
START = 0  # the decoder's only input
LEAST, MOST = 0.0, 25.0
LONGEST = 1536  # tokens of a text
Take = Callable[..., torch.Tensor]  # the tensor of a name, on the device, in fp32 or another format


@dataclass(frozen=True)
class Shape:
    """An mT5 model's sizes, named as in its config.json."""

    d_model: int
    d_kv: int
    d_ff: int
    num_heads: int
    num_layers: int
    num_decoder_layers: int
    vocab_size: int
    relative_attention_num_buckets: int
    relative_attention_max_distance: int
    layer_norm_epsilon: float
    tie_word_embeddings: bool

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all tensors that are read, by name."""
        inner, width = self.num_heads * self.d_kv, self.d_model
        shapes: dict[str, tuple[int, ...]] = {"shared.weight": (self.vocab_size, width)}
        if not self.tie_word_embeddings:
            shapes["lm_head.weight"] = (self.vocab_size, width)
        for stack, layers in (("encoder", self.num_layers), ("decoder", self.num_decoder_layers)):
            shapes[f"{stack}.final_layer_norm.weight"] = (width,)
            attentions = ["SelfAttention"] if stack == "encoder" else ["SelfAttention", "EncDecAttention"]
            for layer in range(layers):
                prefix = f"{stack}.block.{layer}.layer."
                for place, attention in enumerate(attentions):
                    shapes[f"{prefix}{place}.layer_norm.weight"] = (width,)
                    shapes |= {f"{prefix}{place}.{attention}.{name}.weight": (inner, width) for name in "qkv"}
                    shapes[f"{prefix}{place}.{attention}.o.weight"] = (width, inner)
                forward = f"{prefix}{len(attentions)}."
                shapes[f"{forward}layer_norm.weight"] = (width,)
                shapes |= {f"{forward}DenseReluDense.{name}.weight": (self.d_ff, width) for name in ("wi_0", "wi_1")}
                shapes[f"{forward}DenseReluDense.wo.weight"] = (width, self.d_ff)
        buckets = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        shapes[buckets] = (self.relative_attention_num_buckets, self.num_heads)
        return shapes


def buckets(distances: np.ndarray, number: int, most: int) -> np.ndarray:
    """The bucket of each relative position (key - query), int64 of the same shape, as T5's encoder has it.

    Half of the buckets are for later keys. Of each half, the first half holds one distance each, the rest ever wider ranges
    up to `most`; larger distances share the last one.

    >>> buckets(np.array([-200, -9, -1, 0, 1, 9, 200]), 32, 128).tolist()
    [15, 8, 1, 0, 17, 24, 31]
    """
    half = number // 2
    exact = half // 2
    size = np.abs(distances)
    # in fp32, as the checkpoints were trained: rounding decides which bucket a few distances belong to
    ratio = torch.log(torch.from_numpy(np.maximum(size, 1)).float() / exact) / np.log(most / exact) * (half - exact)
    wide = np.minimum(exact + ratio.to(torch.long).numpy(), half - 1)
    return np.where(size < exact, size, wide) + np.where(distances > 0, half, 0)


class Norm:
    """T5's layer norm, without mean and bias, in fp32: [..., width] to the same shape."""

    def __init__(self, take: Take, name: str, epsilon: float):
        self.weight, self.epsilon = take(f"{name}.weight"), epsilon

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


class FeedForward:
    """x + wo(gelu(wi_0 n) * wi_1 n) with n = norm(x); GELU in its tanh form."""

    def __init__(self, take: Take, prefix: str, epsilon: float, dtype: torch.dtype):
        self.norm, self.dtype = Norm(take, f"{prefix}layer_norm", epsilon), dtype
        self.up = linear(take, [f"{prefix}DenseReluDense.{name}" for name in ("wi_0", "wi_1")], dtype)
        self.down = linear(take, [f"{prefix}DenseReluDense.wo"], dtype)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        gate, values = self.up(self.norm(x).to(self.dtype)).chunk(2, dim=-1)
        return x + self.down(F.gelu(gate, approximate="tanh") * values)


class EncoderLayer:
    """One layer on packed tokens: fp32 [rows, width], but for matrix products, which are in `dtype`."""

    def __init__(self, take: Take, prefix: str, shape: Shape, dtype: torch.dtype):
        self.heads, self.size, self.dtype = shape.num_heads, shape.d_kv, dtype
        self.norm = Norm(take, f"{prefix}0.layer_norm", shape.layer_norm_epsilon)
        self.qkv = linear(take, [f"{prefix}0.SelfAttention.{name}" for name in "qkv"], dtype)
        self.out = linear(take, [f"{prefix}0.SelfAttention.o"], dtype)
        self.forward = FeedForward(take, f"{prefix}1.", shape.layer_norm_epsilon, dtype)

    def __call__(self, x: torch.Tensor, attention: "Attention") -> torch.Tensor:
        qkv = self.qkv(self.norm(x).to(self.dtype)).view(len(x), 3, self.heads, self.size)
        return self.forward(x + self.out(attention(qkv).flatten(1)))


class Attention:
    """Unscaled attention with position biases over one batch: one product for each run of equal lengths.

    qkv [rows, 3, heads, d] -> [rows, heads, d]; rows beyond the tokens get zeros. The biases of a length are made once for
    all layers.
    """

    def __init__(self, packed: PackedTokens, bias: Callable[[int], torch.Tensor]):
        self.runs = [(*run, bias(run[2])) for run in equal_runs(packed.lengths)]

    def __call__(self, qkv: torch.Tensor) -> torch.Tensor:
        _, _, heads, size = qkv.shape
        out = qkv.new_zeros(len(qkv), heads, size)
        for offset, count, length, bias in self.runs:
            rows = slice(offset, offset + count * length)
            q, k, v = qkv[rows].view(count, length, 3, heads, size).permute(2, 0, 3, 1, 4)
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype), scale=1.0)
            out[rows] = attended.transpose(1, 2).reshape(-1, heads, size)
        return out


class DecoderLayer:
    """One layer of the decoder at its only position: fp32 [sequences, width]."""

    def __init__(self, take: Take, prefix: str, shape: Shape, dtype: torch.dtype):
        self.heads, self.size, self.dtype = shape.num_heads, shape.d_kv, dtype
        self.norms = [Norm(take, f"{prefix}{place}.layer_norm", shape.layer_norm_epsilon) for place in (0, 1)]
        self.own = [linear(take, [f"{prefix}0.SelfAttention.{name}"], dtype) for name in "vo"]
        self.query, self.out = (linear(take, [f"{prefix}1.EncDecAttention.{name}"], dtype) for name in "qo")
        self.read = linear(take, [f"{prefix}1.EncDecAttention.{name}" for name in "kv"], dtype)
        self.forward = FeedForward(take, f"{prefix}2.", shape.layer_norm_epsilon, dtype)

    def __call__(self, x: torch.Tensor, encoded: torch.Tensor, packed: PackedTokens) -> torch.Tensor:
        value, out = self.own
        x = x + out(value(self.norms[0](x).to(self.dtype)))
        query = self.query(self.norms[1](x).to(self.dtype)).view(len(x), self.heads, 1, self.size)
        both = self.read(encoded).view(len(encoded), 2, self.heads, self.size)
        attended = torch.zeros_like(query)
        first = 0
        for offset, count, length in equal_runs(packed.lengths):
            k, v = (
                both[offset : offset + count * length]
                .view(count, length, 2, self.heads, self.size)
                .permute(2, 0, 3, 1, 4)
            )
            own = slice(first, first + count)
            attended[own] = F.scaled_dot_product_attention(query[own], k, v, scale=1.0)
            first += count
        return self.forward(x + self.out(attended.flatten(1)))


class MetricXNetwork:
    """MetricX as a function from token ids to scores, before they are limited to 0-25.

    take    returns the tensor of a name on the device, in fp32 or another format
    """

    def __init__(self, shape: Shape, take: Take, device: torch.device, dtype: torch.dtype):
        self.shape, self.device, self.dtype = shape, device, dtype
        # F.linear's fp32 product, unlike the others, caches nothing per number of rows
        self.rounded = device.type == "cpu" and (dtype != torch.float32 or not prepacking_fault())
        self.words = take("shared.weight", dtype)
        table = take("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
        places = buckets(np.arange(-LONGEST, LONGEST + 1), len(table), shape.relative_attention_max_distance)
        self.by_distance = table[send(places, device)].T.contiguous()  # [heads, distances]
        self.layers = [EncoderLayer(take, f"encoder.block.{k}.layer.", shape, dtype) for k in range(shape.num_layers)]
        self.norm = Norm(take, "encoder.final_layer_norm", shape.layer_norm_epsilon)
        decoders = range(shape.num_decoder_layers)
        self.decoder = [DecoderLayer(take, f"decoder.block.{k}.layer.", shape, dtype) for k in decoders]
        self.decoder_norm = Norm(take, "decoder.final_layer_norm", shape.layer_norm_epsilon)
        if shape.tie_word_embeddings:
            self.output = self.words[ROW].float() * shape.d_model**-0.5
        else:
            self.output = take("lm_head.weight", row=ROW)

    def bias(self, length: int) -> torch.Tensor:
        """The encoder's biases for texts of a length: fp32 [heads, queries, keys]."""
        # query i reads the distances from -i on: windows of one row, the last first
        near = self.by_distance[:, LONGEST - length + 1 : LONGEST + length]
        return near.unfold(1, length, 1).flip(1)

    @torch.inference_mode()
    def __call__(self, sequences: Sequence[np.ndarray]) -> PendingCopy:
        """The score of each token id sequence, fp32 [sequences], on its way to the CPU; equal lengths must be adjacent."""
        total = sum(map(len, sequences))
        packed = PackedTokens(sequences, fixed_rows(total) if self.rounded else total, self.device)
        attention = Attention(packed, self.bias)
        x = self.words[packed.ids].float()
        for layer in self.layers:
            x = layer(x, attention)
        encoded = self.norm(x).to(self.dtype)
        state = self.words[START].float().expand(len(sequences), -1)
        for decoder in self.decoder:
            state = decoder(state, encoded, packed)
        return PendingCopy([self.decoder_norm(state) @ self.output])


def linear(take: Take, names: Sequence[str], dtype: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    """One product for the layers of several names, which have no biases."""
    weights = [take(f"{name}.weight", dtype) for name in names]
    return make_linear(weights, [weights[0].new_zeros(sum(map(len, weights)))])
