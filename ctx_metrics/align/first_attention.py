"""The English encoder as far as alignment needs it: the vectors of words, and one look at the words around them."""

from pathlib import Path

import torch

from ..engine.checkpoint import EncoderFolder, Tensors, tensor_shapes

_LAYER = "encoder.layer.0."


class FirstAttention(EncoderFolder):
    """A BERT encoder that ends after the attention of its first layer, with its residual and norm.

    The other half of the layer is two thirds of its products, and alignment finds no more with it. Here that half is empty,
    so that this is a checkpoint like any other. The norm after it is the attention's, whose own only standardises.
    """

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.config = {**self.config, "num_hidden_layers": 1, "intermediate_size": 1}

    def weights(self) -> Tensors:
        """Tensors of the configuration's shapes, zeros in the empty half; raises ModelError if the file lacks one."""
        whole, shapes = super().weights(), tensor_shapes(self.config)
        half = (f"{_LAYER}intermediate.", f"{_LAYER}output.")
        own = {name: torch.zeros(shapes[name]) if name.startswith(half) else whole[name] for name in shapes}
        for part, plain in (("weight", torch.ones), ("bias", torch.zeros)):
            norm, after = (f"{_LAYER}{name}.LayerNorm.{part}" for name in ("attention.output", "output"))
            own |= {after: whole[norm], norm: plain(shapes[norm])}
        return own
