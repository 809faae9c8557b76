"""Self-attention within packed sequences: grouped by length (CPUs), padded, or variable-length (CUDA, half precision)."""

import logging
from collections.abc import Callable

import torch
import torch.nn.functional as F

from .batching import equal_runs
from .readout import PackedTokens

logger = logging.getLogger(__name__)
# (q [queries, heads, d], kv [tokens, 2, heads, d], packed, first_only) -> [queries, heads, d]
Attention = Callable[[torch.Tensor, torch.Tensor, PackedTokens, bool], torch.Tensor]


def choose_attention(device: torch.device, dtype: torch.dtype, head_size: int) -> Attention:
    """The fastest exact attention for a device and dtype; the choice is logged at debug level."""
    if device.type == "cpu":
        chosen = grouped_attention
    elif device.type == "cuda" and dtype != torch.float32 and _varlen_takes(head_size) and _has_varlen(device):
        chosen = varlen_attention
    else:
        chosen = padded_attention
    logger.debug("attention on %s: %s", device, chosen.__name__)
    return chosen


def _varlen_takes(head_size: int) -> bool:
    """Whether the variable-length kernel supports heads of this size."""
    return head_size <= 256 and head_size % 8 == 0


def _has_varlen(device: torch.device) -> bool:
    """Whether torch has variable-length attention (2.10 and later) and the card can run it (Ampere and later)."""
    try:
        from torch.nn.attention.varlen import varlen_attn  # noqa: F401
    except ImportError:
        return False
    return torch.cuda.get_device_capability(device) >= (8, 0)


def grouped_attention(q: torch.Tensor, kv: torch.Tensor, packed: PackedTokens, first_only: bool) -> torch.Tensor:
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
        attended = F.scaled_dot_product_attention(run_q, k, v)
        out[queries] = attended.transpose(1, 2).reshape(-1, heads, size)
    return out


def padded_attention(q: torch.Tensor, kv: torch.Tensor, packed: PackedTokens, first_only: bool) -> torch.Tensor:
    """The same with one masked product over sequences padded only for it, where kernel launches cost most."""
    heads, size = q.shape[1:]
    count, longest = packed.mask.shape

    def spread(states: torch.Tensor) -> torch.Tensor:
        rows = states.new_zeros(count * longest, *states.shape[1:])
        return rows.index_copy_(0, packed.slots, states[: packed.total]).view(count, longest, *states.shape[1:])

    k, v = spread(kv).permute(2, 0, 3, 1, 4)
    queries = q[:, :, None] if first_only else spread(q).transpose(1, 2)
    attended = F.scaled_dot_product_attention(queries, k, v, attn_mask=packed.mask[:, None, None])
    return attended[:, :, 0] if first_only else attended.transpose(1, 2).reshape(-1, heads, size)[packed.slots]


def varlen_attention(q: torch.Tensor, kv: torch.Tensor, packed: PackedTokens, first_only: bool) -> torch.Tensor:
    """The same with torch's variable-length kernel: no padding; only for fp16 and bf16 on CUDA."""
    from torch.nn.attention.varlen import varlen_attn

    longest = max(packed.lengths)
    asked = torch.arange(len(q) + 1, device=q.device, dtype=torch.int32) if first_only else packed.offsets
    k, v = kv.unbind(1)
    asked_longest = 1 if first_only else longest
    return varlen_attn(  # type: ignore[return-value]  # a pair only if the sums of weights are requested
        q.contiguous(), k.contiguous(), v.contiguous(), asked, packed.offsets, asked_longest, longest
    )
