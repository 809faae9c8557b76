"""Self-attention within packed sequences: grouped by length (CPUs), padded, or of variable length (CUDA, half precision)."""

import logging
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

from .batching import equal_runs

logger = logging.getLogger(__name__)
# (q [queries, heads, d], kv [tokens, 2, heads, d], lengths, first_only) -> [queries, heads, d]
Attention = Callable[[torch.Tensor, torch.Tensor, Sequence[int], bool], torch.Tensor]


def choose_attention(device: torch.device, dtype: torch.dtype, head_size: int) -> Attention:
    """The fastest exact attention for a device and number format; said at debug level."""
    if device.type == "cpu":
        chosen = grouped_attention
    elif device.type == "cuda" and dtype != torch.float32 and head_size <= 256 and _has_varlen(device):
        chosen = varlen_attention
    else:
        chosen = padded_attention
    logger.debug("attention on %s: %s", device, chosen.__name__)
    return chosen


def _has_varlen(device: torch.device) -> bool:
    """Whether torch has variable-length attention (2.10 and later) and the card can run it (Ampere and later)."""
    try:
        from torch.nn.attention.varlen import varlen_attn  # noqa: F401
    except ImportError:
        return False
    return torch.cuda.get_device_capability(device) >= (8, 0)


def grouped_attention(q: torch.Tensor, kv: torch.Tensor, lengths: Sequence[int], first_only: bool) -> torch.Tensor:
    """One unmasked product per run of equal lengths.

    q             [rows, heads, d]: queries of all tokens, or of each sequence's first token if `first_only`
    kv            [rows, 2, heads, d]: keys and values of all tokens
    lengths       of the sequences, equal ones adjacent; rows beyond their sum get zeros
    Returns [as many rows as q, heads, d].
    """
    out = torch.zeros_like(q)
    heads, size = q.shape[1:]
    asked = 0
    for offset, count, length in equal_runs(lengths):
        queries = slice(asked, asked + count) if first_only else slice(offset, offset + count * length)
        asked += count
        run_q = q[queries].view(count, -1, heads, size).transpose(1, 2)
        k, v = kv[offset : offset + count * length].view(count, length, 2, heads, size).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(run_q, k, v)
        out[queries] = found.transpose(1, 2).reshape(-1, heads, size)
    return out


def padded_attention(q: torch.Tensor, kv: torch.Tensor, lengths: Sequence[int], first_only: bool) -> torch.Tensor:
    """The same by one masked product over sequences padded for it alone, where kernel launches cost most."""
    heads, size = q.shape[1:]
    mask = torch.arange(max(lengths), device=q.device) < torch.tensor(lengths, device=q.device)[:, None]
    padded = kv.new_zeros(len(lengths), max(lengths), 2, heads, size)
    padded[mask] = kv
    k, v = padded.permute(2, 0, 3, 1, 4)
    if first_only:
        queries = q[:, :, None]
    else:
        queries = q.new_zeros(len(lengths), max(lengths), heads, size)
        queries[mask] = q
        queries = queries.transpose(1, 2)
    found = F.scaled_dot_product_attention(queries, k, v, attn_mask=mask[:, None, None])
    return found[:, :, 0] if first_only else found.transpose(1, 2)[mask]


def varlen_attention(q: torch.Tensor, kv: torch.Tensor, lengths: Sequence[int], first_only: bool) -> torch.Tensor:
    """The same by torch's variable-length kernel: nothing is padded, fp16 and bf16 on CUDA only."""
    from torch.nn.attention.varlen import varlen_attn

    ends = F.pad(torch.tensor(lengths).cumsum(0), (1, 0)).to(q.device, torch.int32, non_blocking=True)
    firsts = torch.arange(len(lengths) + 1, device=q.device, dtype=torch.int32) if first_only else ends
    k, v = kv.unbind(1)
    return varlen_attn(q, k.contiguous(), v.contiguous(), firsts, ends, 1 if first_only else max(lengths), max(lengths))
