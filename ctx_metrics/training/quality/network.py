"""A quality model like UniTE (Wan et al. 2022), as it is trained: low-rank changes of an encoder, and a head.

The encoder reads an output together with its source, its reference or both, in one sequence:

    <s> mt </s></s> src </s></s> ref </s>

The head's input x joins the mean over tokens of a learned mix of all layers with how well the tokens of mt match those of
src and ref at three layers. The head maps x to a value: W2 tanh(W1 x + b1) + b2.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from ...engine.checkpoint import EncoderFolder
from ...engine.matching import TokenPairs
from ...engine.quantised import WORDS, PackedRows
from ...engine.tokenizer import TokenIds
from ...errors import InputError
from ...models.comet.adapted import AdaptedCheckpoint, MatchFeatures, matched_layers
from ..low_rank import adapt, learned

DROPOUT = 0.1
# The lengths that passes are padded to. The number of their rows is padded to multiples of what has about TOGETHER tokens.
LENGTHS, TOGETHER = (32, 48, 64, 96, 128, 192, 256, 384), {"cpu": 512, "mps": 512, "cuda": 2048}


class LayerMix(nn.Module):
    """gamma * sum_k softmax(w)_k h_k over layers, under COMET's names; initially their plain mean."""

    def __init__(self, layers: int):
        super().__init__()
        self.scalar_parameters = nn.ParameterList(torch.zeros(1) for _ in range(layers))
        self.gamma = nn.Parameter(torch.ones(1))

    def forward(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """The mix, fp32 [n, width], of states of each layer, fp32 [n, width] each."""
        weights = torch.cat(list(self.scalar_parameters)).softmax(0)
        return self.gamma * torch.einsum("k,knw->nw", weights, torch.stack(list(states)))


class UnifiedNetwork(nn.Module):
    """An encoder with low-rank changes of its linear layers, and a feed-forward head over a mix of its layers.

    encoder    a transformers encoder, which returns hidden_states;  width    the encoder's width
    hidden     the width of the head's hidden layer
    """

    def __init__(self, encoder: nn.Module, width: int, layers: int, hidden: int):
        super().__init__()
        self.encoder, self.layerwise_attention = encoder, LayerMix(layers + 1)
        self.matching = MatchFeatures(matched_layers(layers))
        read = width + self.matching.number
        layers_of_head = [nn.Linear(read, hidden), nn.Tanh(), nn.Dropout(DROPOUT), nn.Linear(hidden, 1)]
        self.estimator = nn.ModuleDict({"ff": nn.Sequential(*layers_of_head)})

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor, *pairs: torch.Tensor) -> torch.Tensor:
        """The values, fp32 [n], of padded sequences [n, tokens]: token ids and types, int64; the mask, 1.0 at tokens; and
        engine.matching's TokenPairs of their rows."""
        states = self.states(ids, mask, types)
        means = [torch.einsum("nt,ntw->nw", mask, of_layer.float()) for of_layer in states]
        pooled = self.layerwise_attention(means) / mask.sum(1, keepdim=True)
        return self.estimator["ff"](torch.cat([pooled, self.matching(self.matched(states, pairs))], 1))[:, 0]

    def states(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> Sequence[torch.Tensor]:
        """The hidden states, [n, tokens, width] each, of the embedding layer and of each transformer layer."""
        read = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=types, output_hidden_states=True)
        return read.hidden_states

    def matched(self, states: Sequence[torch.Tensor], pairs: Sequence[torch.Tensor]) -> torch.Tensor:
        """Recall and precision, fp32 [n, OTHERS, layers, 2], from hidden states."""
        with torch.autocast(states[0].device.type, enabled=False):
            found = [
                TokenPairs(*pairs).match(states[layer].float().flatten(0, 1), len(states[layer]))
                for layer in self.matching.layers
            ]
        return torch.stack(found, 2)

    def outputs(self, *inputs: torch.Tensor) -> tuple[torch.Tensor]:
        """The outputs that the training loss is computed from: the values alone."""
        return (self(*inputs),)


class PackedEmbedding(nn.Module):
    """A word table whose rows are unpacked when they are read; it is not trained."""

    def __init__(self, rows: PackedRows):
        super().__init__()
        self.rows = rows

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """The rows, fp32 [..., width], of ids, int64 [...]."""
        self.rows = self.rows.to(ids.device)  # moved once, as the network's weights are
        return self.rows[ids]


def new_network(folder: Path, rank: int, hidden: int, *, fused: bool = False) -> UnifiedNetwork:
    """A new network on an encoder, initialised with the weights in its folder.

    fused    whether attention is computed by a fused kernel, whose backward pass takes four times as long on a CPU
    """
    checkpoint = EncoderFolder(folder)
    width, layers = checkpoint.config["hidden_size"], checkpoint.config["num_hidden_layers"]
    if rank > width:
        raise InputError(f"rank {rank} is more than the encoder's width, {width}", fix="choose a lower one")
    network = UnifiedNetwork(_encoder(checkpoint, "sdpa" if fused else "eager"), width, layers, hidden)
    adapt(network.encoder, rank)
    network.encoder.get_submodule("embeddings").requires_grad_(False)
    return network


def _encoder(checkpoint: EncoderFolder, attention: str) -> nn.Module:
    """The encoder as a transformers model, without dropout: little of it is trained, in little more than one epoch."""
    from transformers import AutoConfig, AutoModel

    settings = {**checkpoint.config, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    tensors = checkpoint.weights()
    with torch.device("meta"):  # the weights replace the empty ones, so that no memory is taken twice
        encoder = AutoModel.from_config(config, add_pooling_layer=False, attn_implementation=attention)
    packed = tensors[WORDS] if isinstance(tensors[WORDS], PackedRows) else None
    if isinstance(packed, PackedRows):
        encoder.get_submodule("embeddings").word_embeddings = PackedEmbedding(packed)
    own = {name: tensor for name in tensors if isinstance(tensor := tensors[name], torch.Tensor)}
    encoder.load_state_dict(OrderedDict((name, tensor.float().clone()) for name, tensor in own.items()), assign=True)
    for name, buffer in list(encoder.named_buffers()):
        if buffer.is_meta:  # position and type ids, which checkpoints need not contain
            module = encoder.get_submodule(name.rpartition(".")[0])
            zeros = torch.zeros(buffer.shape, dtype=buffer.dtype)
            module.register_buffer(
                name.rpartition(".")[2], zeros + torch.arange(buffer.shape[-1]) * ("position" in name)
            )
    return encoder


def few_shapes(rows: int, length: int, most: int, device: str = "cpu") -> tuple[int, int]:
    """The shape, at least (rows, length), to which a pass of sequences of at most `most` tokens is padded.

    oneDNN compiles its matrix products for each shape, and keeps them. Those of thousands of shapes fragment the memory, and
    a step takes up to 1.7 times as long. On an H200, the first pass of a shape takes four times as long as the next.

    rows, length    number of sequences, and of tokens of the longest one
    device          type of the device that computes it: cpu, mps or cuda

    >>> few_shapes(13, 50, 512), few_shapes(2, 300, 512), few_shapes(2, 300, 350), few_shapes(1, 510, 512)
    ((16, 64), (2, 384), (2, 350), (1, 512))
    >>> few_shapes(250, 50, 512, "cuda")
    (256, 64)
    """
    length = min(next((each for each in LENGTHS if each >= length), most), most)
    together = max(1, TOGETHER[device] // length)
    return -(-rows // together) * together, length


def padded(sequences: Sequence[TokenIds], pad: int, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The network's inputs for joined texts: token ids, the mask and types, [n, length] each, padded with `pad`.

    >>> ids, mask, types = padded([TokenIds(np.array([0, 7, 2]), 0, 2), TokenIds(np.array([0, 2]), 0)], 1, 3)
    >>> ids.tolist(), mask.tolist(), types.tolist()
    ([[0, 7, 2], [0, 2, 1]], [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]], [[0, 0, 1], [0, 0, 0]])
    """
    shape = len(sequences), length
    ids, mask, types = np.full(shape, pad), np.zeros(shape, np.float32), np.zeros(shape, np.int64)
    for row, (own, _, second) in enumerate(sequences):
        ids[row, : len(own)] = own
        mask[row, : len(own)] = 1
        if second is not None:
            types[row, second : len(own)] = 1
    return torch.from_numpy(ids), torch.from_numpy(mask), torch.from_numpy(types)


@torch.no_grad()
def restore(network: UnifiedNetwork, checkpoint: AdaptedCheckpoint, mean: float, deviation: float) -> None:
    """Load a checkpoint's learned weights into a network of its sizes, or of a higher rank: the inverse of `stored`.

    What a higher rank adds begins as in a new network, so that the values are the checkpoint's.
    """
    own, given = learned(network), checkpoint.learned
    last = _last_weight(own)
    for name, tensor in own.items():
        value = given[_name_in_file(name)]
        if name == last.replace("weight", "bias"):
            value = value - mean
        if name.startswith(last.removesuffix("weight")):
            value = value / deviation
        if name.endswith((".down", ".up")):
            tensor[tuple(map(slice, value.shape))] = value
        else:
            tensor.copy_(value)
    network.matching.load_state_dict(checkpoint.matching.state_dict())


@torch.no_grad()
def round_as_stored(network: UnifiedNetwork, deviation: float) -> None:
    """Round a network's learned weights as `stored` will, so that its results equal those of the file."""
    tensors = learned(network)
    last = _last_weight(tensors)
    for name, tensor in tensors.items():
        if tensor.dim() > 1:
            factor = deviation if name == last else 1.0
            tensor.copy_((tensor * factor).half().float() / factor)


def _last_weight(tensors: Mapping[str, torch.Tensor]) -> str:
    return max(name for name in tensors if name.startswith("estimator.") and name.endswith(".weight"))


def stored(network: UnifiedNetwork, mean: float, deviation: float) -> dict[str, torch.Tensor]:
    """A network's learned weights, under the file's names and rounded as it is stored: matrices in fp16.

    mean, deviation    of the judgements: the network's value v, in standard deviations, becomes mean + deviation * v
    """
    tensors = {_name_in_file(name): tensor.clone() for name, tensor in learned(network).items()}
    tensors |= {f"matching.{name}": tensor for name, tensor in network.matching.state_dict().items()}
    last = _last_weight(tensors)
    bias = last.replace("weight", "bias")
    tensors[last], tensors[bias] = tensors[last] * deviation, tensors[bias] * deviation + mean
    return {name: tensor.half() if tensor.dim() > 1 else tensor for name, tensor in tensors.items()}


def _name_in_file(name: str) -> str:
    return name.replace(".linear.", ".").removeprefix("encoder.")
