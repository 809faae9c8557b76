"""Linear layers for inference: oneDNN's prepacked fp32 product on CPUs that support it, else F.linear."""

import logging
import mmap
from collections.abc import Sequence
from functools import cache

import torch
import torch.nn.functional as F

logger = logging.getLogger(__name__)
# oneDNN keeps a kernel and its buffers for every number of rows that it is given, so these must be few.
_ROWS = (128, 256, 512, 1024, 1536, 2048)


def fixed_rows(rows: int) -> int:
    """The number of rows to which a batch is rounded up on a CPU: one of a few up to 2048, then multiples of 2048.

    >>> fixed_rows(100), fixed_rows(2000), fixed_rows(5000)
    (128, 2048, 6144)
    """
    return next((fixed for fixed in _ROWS if rows <= fixed), -(-rows // _ROWS[-1]) * _ROWS[-1])


class Linear:
    """y = x W^T + b, optionally followed by the exact GELU. x: [tokens, in], y: [tokens, out], any floating dtype."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor):
        self.weight, self.bias = weight, bias

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight, self.bias)

    def gelu(self, x: torch.Tensor) -> torch.Tensor:
        """y = GELU(x W^T + b), exact. x: [tokens, in], y: [tokens, out], any floating dtype."""
        return F.gelu(self(x))


class PrepackedLinear(Linear):
    """The same with torch's private oneDNN op, for which the weight is laid out once, on loading."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor):
        super().__init__(torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), _ROWS[-1]), bias)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")

    def gelu(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "gelu", [], "none")


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
            for function in ("__call__", "gelu"):
                gap = (getattr(plain, function)(x) - getattr(packed, function)(x)).abs().max().item()
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
