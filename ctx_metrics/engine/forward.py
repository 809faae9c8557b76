"""The exact forward of a BERT-shaped encoder over packed tokens: no padding, every hidden layer that is asked for."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
import torch.nn.functional as F

from ..errors import ModelError
from .batching import equal_runs
from .checkpoint import first_position
from .linear import fixed_rows, make_linear

LayerMix = tuple[int, ...]


class EncoderLayer:
    """One post-norm transformer layer (Vaswani et al. 2017, as in BERT) on packed tokens [T, H]."""

    def __init__(self, take, prefix: str, heads: int, eps: float):
        """`take(name)` gives the tensor of that name on the right device and in the right dtype."""

        def linear(*names):
            return make_linear(
                torch.cat([take(f"{prefix}{n}.weight") for n in names]),
                torch.cat([take(f"{prefix}{n}.bias") for n in names]),
            )

        def norm(name):
            return take(f"{prefix}{name}.weight"), take(f"{prefix}{name}.bias"), eps

        self.heads = heads
        self.qkv = linear("attention.self.query", "attention.self.key", "attention.self.value")
        self.attended = linear("attention.output.dense")
        self.attention_norm = norm("attention.output.LayerNorm")
        self.up, self.down = linear("intermediate.dense"), linear("output.dense")
        self.output_norm = norm("output.LayerNorm")

    def __call__(self, hidden: torch.Tensor, lengths: Sequence[int], padded: bool) -> torch.Tensor:
        width = hidden.shape[1]
        qkv = self.qkv(hidden).view(len(hidden), 3, self.heads, width // self.heads)
        attention = padded_attention if padded else grouped_attention
        attended = self.attended(attention(qkv, lengths).reshape(len(hidden), width))
        weight, bias, eps = self.attention_norm
        hidden = F.layer_norm(attended + hidden, (width,), weight, bias, eps)
        weight, bias, eps = self.output_norm
        return F.layer_norm(self.down(self.up.gelu(hidden)) + hidden, (width,), weight, bias, eps)


def grouped_attention(qkv: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """Self-attention within each packed sequence, one unmasked product per run of equal lengths. Best on CPUs.

    qkv [rows, 3, heads, d]; equal lengths adjacent; rows beyond their sum get zeros. Returns [rows, heads, d].
    """
    rows, _, heads, size = qkv.shape
    out = qkv.new_zeros(rows, heads, size)
    for offset, count, length in equal_runs(lengths):
        run = slice(offset, offset + count * length)
        q, k, v = qkv[run].view(count, length, 3, heads, size).permute(2, 0, 3, 1, 4)
        out[run] = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, heads, size)
    return out


def padded_attention(qkv: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """The same by one masked product over sequences padded for it alone. Best where kernel launches cost most (GPUs)."""
    total, _, heads, size = qkv.shape
    lengths_t = torch.tensor(lengths, device=qkv.device)
    mask = torch.arange(max(lengths), device=qkv.device) < lengths_t[:, None]
    padded = qkv.new_zeros(len(lengths), max(lengths), 3, heads, size)
    padded[mask] = qkv
    q, k, v = padded.permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None]).transpose(1, 2)[mask]


class PackedEncoder:
    """A BERT, RoBERTa or XLM-R encoder as a function from token ids to hidden layers.

    config, tensors    from engine.checkpoint
    layers             how many transformer layers to keep; the rest are neither loaded nor run
    """

    def __init__(
        self, config: dict, tensors: dict[str, torch.Tensor], device: torch.device, dtype: torch.dtype, layers: int
    ):
        def take(name):
            if name not in tensors:
                raise ModelError(f"the checkpoint lacks the tensor {name!r}: broken, or of another architecture")
            return tensors[name].to(device=device, dtype=dtype)

        eps = config.get("layer_norm_eps", 1e-12)
        self.device, self.width = device, config["hidden_size"]
        self.padded = device.type != "cpu"
        self.first_position = first_position(config)
        self.max_tokens = config["max_position_embeddings"] - self.first_position
        self.words = take("embeddings.word_embeddings.weight")
        self.positions = (
            take("embeddings.position_embeddings.weight") + take("embeddings.token_type_embeddings.weight")[0]
        )
        self.embedding_norm = (take("embeddings.LayerNorm.weight"), take("embeddings.LayerNorm.bias"), eps)
        self.layers = [
            EncoderLayer(take, f"encoder.layer.{k}.", config["num_attention_heads"], eps) for k in range(layers)
        ]

    @torch.inference_mode()
    def __call__(self, sequences: Sequence[np.ndarray], mixes: Iterable[LayerMix]) -> dict[LayerMix, torch.Tensor]:
        """Hidden states of token id sequences, specials included; equal lengths must be adjacent.

        sequences    int arrays of token ids
        mixes        tuples of layer numbers to average: 0 is the embedding layer, k the k-th transformer layer's output
        Returns {mix: fp32 [total tokens, width] on the encoder's device}, the sequences one after another.
        """
        lengths = [len(sequence) for sequence in sequences]
        total = sum(lengths)
        rows = total if self.padded else fixed_rows(total)
        ids, places = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        ids[:total] = np.concatenate(sequences)
        places[:total] = np.concatenate(
            [np.arange(self.first_position, self.first_position + length) for length in lengths]
        )
        weight, bias, eps = self.embedding_norm
        hidden = F.layer_norm(
            self.words[torch.from_numpy(ids).to(self.device)]
            + self.positions[torch.from_numpy(places).to(self.device)],
            (self.width,),
            weight,
            bias,
            eps,
        )
        sums: dict[LayerMix, torch.Tensor] = {}
        mixes = set(mixes)
        for number in range(max(max(mix) for mix in mixes) + 1):
            if number:
                hidden = self.layers[number - 1](hidden, lengths, self.padded)
            for mix in mixes:
                if number in mix:  # accumulated as the layers come, so that no layer outlives its use
                    sums[mix] = sums[mix] + hidden.float() if mix in sums else hidden.float()
        return {mix: (mixed / len(mix) if len(mix) > 1 else mixed)[:total] for mix, mixed in sums.items()}
