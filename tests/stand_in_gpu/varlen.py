"""torch.nn.attention.varlen.varlen_attn in plain operations, which refuses what the kernel of a card refuses."""

import torch
import torch.nn.functional as F


def check(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k) -> None:
    """Raise as flash attention does (mha_varlen_fwd and its callers)."""
    if query.dtype not in (torch.float16, torch.bfloat16):
        raise RuntimeError("FlashAttention only support fp16 and bf16 data type")
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError("query and key must have the same dtype")
    if cu_seq_q.dtype != torch.int32 or cu_seq_k.dtype != torch.int32:
        raise RuntimeError("cu_seqlens_q must have dtype int32")
    for tensor in (query, key, value, cu_seq_q, cu_seq_k):
        if tensor.device.type != "cuda":
            raise RuntimeError("Expected all tensors to be on the same device: Input tensor must be on CUDA device")
    if any(tensor.stride(-1) != 1 for tensor in (query, key, value)):
        raise RuntimeError("Input tensor must have contiguous last dimension")
    if not (cu_seq_q.is_contiguous() and cu_seq_k.is_contiguous()):
        raise RuntimeError("cu_seqlens_q must be contiguous")
    if query.dim() != 3 or key.dim() != 3 or key.shape != value.shape or query.shape[1:] != key.shape[1:]:
        raise RuntimeError("wrong shapes of query, key and value")
    size = query.shape[-1]
    if size > 256:
        raise RuntimeError("FlashAttention forward only supports head dimension at most 256")
    if size % 8:
        raise RuntimeError("head_size should be a multiple of 8")
    if cu_seq_q.shape != cu_seq_k.shape:
        raise RuntimeError("cu_seqlens_k must have shape (batch_size + 1)")


def attend(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, scale=None) -> torch.Tensor:
    """[queries, heads, d]: each sequence by itself. Raises where the offsets and the maxima do not fit the sequences."""
    q_ends, k_ends = (torch._C.TensorBase.tolist(each) for each in (cu_seq_q, cu_seq_k))  # which the log does not see
    for ends, rows, most in ((q_ends, len(query), max_q), (k_ends, len(key), max_k)):
        lengths = [end - begin for begin, end in zip(ends, ends[1:])]
        if ends[0] != 0 or ends[-1] != rows or min(lengths) < 0:
            raise AssertionError(f"offsets {ends} of {rows} rows: the kernel would read beyond them, or leave some out")
        if max(lengths) > most:
            raise AssertionError(
                f"the longest sequence has {max(lengths)} tokens, more than {most}: the kernel cuts it"
            )
    parts = [
        F.scaled_dot_product_attention(
            query[q : q_ends[i + 1]].transpose(0, 1),
            key[k : k_ends[i + 1]].transpose(0, 1),
            value[k : k_ends[i + 1]].transpose(0, 1),
            scale=scale,
        ).transpose(0, 1)
        for i, (q, k) in enumerate(zip(q_ends[:-1], k_ends[:-1]))
    ]
    return torch.cat(parts)
