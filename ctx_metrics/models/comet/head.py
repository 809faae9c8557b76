"""The feed-forward head of COMET models: from pooled vectors to a value."""

from pathlib import Path

import torch
import torch.nn.functional as F

from ...errors import ModelError
from .checkpoint import HEAD_LAYER
from .hyperparameters import Hyperparameters, activation


class FeedForward:
    """A COMET head: linear layers with an activation after each but the last, in fp32. x [n, in] -> values [n]."""

    def __init__(self, tensors: dict[str, torch.Tensor], parameters: Hyperparameters, device: torch.device, file: Path):
        self.file = file
        self.numbers = sorted({int(layer[1]) for name in tensors if (layer := HEAD_LAYER.fullmatch(name))})
        try:
            self.layers = [
                tuple(tensors[f"estimator.ff.{number}.{kind}"].to(device) for kind in ("weight", "bias"))
                for number in self.numbers
            ]
        except KeyError as error:
            raise ModelError(f"{file} lacks the tensor {error}; fetch it again") from error
        self.activation = activation(parameters.activations)
        self.final = activation(parameters.final_activation or "Identity")

    def check(self, width: int) -> None:
        """Raise ModelError, naming the tensor, unless the layers fit one another, `width` inputs and one output."""
        for number, (weight, bias) in zip(self.numbers, self.layers, strict=True):
            outputs = 1 if number == self.numbers[-1] else bias.numel()
            if tuple(weight.shape) != (outputs, width) or tuple(bias.shape) != (outputs,):
                name = f"estimator.ff.{number}"
                raise ModelError(
                    f"{self.file}: {name}.weight is {list(weight.shape)} and {name}.bias {list(bias.shape)}, where "
                    f"[{outputs}, {width}] and [{outputs}] are wanted; is class_identifier right?"
                )
            width = outputs

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        for weight, bias in self.layers[:-1]:
            x = self.activation(F.linear(x, weight, bias))
        return self.final(F.linear(x, *self.layers[-1]))[:, 0]
