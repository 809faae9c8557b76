"""Linear layers for inference: oneDNN's prepacked fp32 product on CPUs that have it, F.linear elsewhere."""
import logging
from functools import lru_cache
from typing import Optional

import torch
import torch.nn.functional as F

logger = logging.getLogger(__name__)
# oneDNN lays the weight out for a number of rows; any other number still gives the same product.
_ROWS_HINT = 2048


class Linear:
    """y = x W^T + b, optionally followed by the exact GELU. x: [tokens, in], y: [tokens, out], any floating dtype."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor):
        self.weight, self.bias = weight, bias

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight, self.bias)

    def gelu(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self(x))


class PrepackedLinear(Linear):
    """The same through torch's private oneDNN op, whose weight is laid out once at load."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor):
        super().__init__(torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), _ROWS_HINT), bias)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")

    def gelu(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "gelu", [], "none")


@lru_cache(maxsize=None)
def prepacking_fault() -> Optional[str]:
    """Why prepacked linears cannot be used on this machine, or None when their self-test against F.linear passes."""
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
    except (RuntimeError, AttributeError, NotImplementedError) as error:  # the op is private: it may be gone or refuse
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return None


def make_linear(weight: torch.Tensor, bias: torch.Tensor) -> Linear:
    """The fastest exact linear layer for a weight [out, in] and bias [out], on their device and in their dtype."""
    if weight.device.type != "cpu" or weight.dtype != torch.float32:
        return Linear(weight, bias)
    fault = prepacking_fault()
    logger.debug("CPU linears: %s", f"F.linear ({fault})" if fault else "oneDNN, prepacked")
    return Linear(weight, bias) if fault else PrepackedLinear(weight, bias)
