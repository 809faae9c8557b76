"""The embedded quality model: a small regressor over a frozen text encoder, reading hypothesis and reference.

    z(h, r) = (A(features(h, r)) + C(u, v)) / 2,    C(u, v) = g(u, v) - g(v, v) + b

A is a linear map plus a small tanh network over token-alignment features; g is a tanh network over [u, v, u*v, |u-v|] of
the pooled vectors u (hypothesis) and v (reference), as in COMET (Rei et al. 2020). Subtracting g(v, v) makes z the same
constant for every pair of identical texts. Both parts predict human scores in standard deviations, and

    value = (z(h, r) + 2) / (z(identical) + 2), clipped to [0, 1]

so that identical texts have the value 1, and 0 lies two standard deviations below the mean of the judged translations.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from ..engine.encoder import shared_encoder
from ..engine.pairs import EncodedPair, EncodedText, map_pairs
from ..engine_options import EngineOptions
from ..errors import ModelError
from .estimator import EMBEDDED_FOLDER, Estimate, Estimator, Example
from .folder import CONFIG, FIELDS, check_fields, encoder_of, load_network, read_config
from .hub import ResolvedModel
from .load import ModelKind, ModelName

CONFIG_KIND = "ctx-alignment-regressor"
EMBEDDED_REGRESSOR = "embedded-alignment-regressor"
FLOOR = 2.0
HEAD_BATCH = 512


class AlignmentBranch(nn.Module):
    """A: maps alignment features [n, features] to z [n]. Features are standardised by constants stored with the weights."""

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, features: int, hidden: int, dropout: float = 0.0):
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("std", torch.ones(features))
        self.linear = nn.Linear(features, 1)
        self.mlp = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Dropout(dropout), last_layer(hidden))
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        x = ((features - self.mean) / self.std).clamp(-6, 6)
        return (self.linear(x) + self.mlp(x))[:, 0]


def last_layer(hidden: int) -> nn.Linear:
    layer = nn.Linear(hidden, 1, bias=False)
    if not layer.weight.is_meta:  # a meta tensor has no values, and torch would import its compiler (1 s)
        nn.init.normal_(layer.weight, 0, 0.01)
    return layer


class PooledBranch(nn.Module):
    """C: maps pooled vectors [n, layers, width] of both sides to z [n], through a learned softmax mix of the layers."""

    def __init__(self, layers: int, width: int, hidden: int, dropout: float = 0.0):
        super().__init__()
        self.mix = nn.Parameter(torch.zeros(layers))
        self.mlp = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(4 * width, hidden), nn.Tanh(), nn.Dropout(dropout), last_layer(hidden)
        )
        self.bias = nn.Parameter(torch.ones(()))

    def forward(self, hypothesis: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        weights = self.mix.softmax(0)[:, None]
        u, v = (hypothesis * weights).sum(1), (reference * weights).sum(1)
        compared = torch.cat([u, v, u * v, (u - v).abs()], 1)
        anchor = torch.cat([v, v, v * v, torch.zeros_like(v)], 1)
        return (self.mlp(compared) - self.mlp(anchor))[:, 0] + self.bias


class RegressorNetwork(nn.Module):
    """Both branches. features, layers and width are the input sizes; the other numbers are widths of hidden layers."""

    def __init__(
        self,
        features: int,
        layers: int,
        *,
        width: int,
        alignment_hidden: int,
        pooled_hidden: int,
        alignment_dropout: float = 0.0,
        pooled_dropout: float = 0.0,
    ):
        super().__init__()
        self.alignment = AlignmentBranch(features, alignment_hidden, alignment_dropout)
        self.pooled = PooledBranch(layers, width, pooled_hidden, pooled_dropout)

    def forward(self, features: torch.Tensor, hypothesis: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        """Return z [n] for features [n, features] and pooled vectors [n, layers, width] of both sides, all fp32."""
        return (self.alignment(features) + self.pooled(hypothesis, reference)) / 2

    def standardise(self, features: torch.Tensor) -> None:
        """Set the constants that standardise alignment features from those of the training rows, fp32 [n, features]."""
        self.alignment.mean.copy_(features.mean(0))
        self.alignment.std.copy_(features.std(0) + 1e-6)

    def outputs(self, features: torch.Tensor, hypothesis: torch.Tensor, reference: torch.Tensor) -> list[torch.Tensor]:
        """Return the predictions that training fits to human scores: those of each branch, fp32 [n]."""
        return [self.alignment(features), self.pooled(hypothesis, reference)]

    def identical(self) -> torch.Tensor:
        """Return z, fp32 [], of any two identical texts; all their alignment features are 1."""
        return (self.alignment(torch.ones_like(self.alignment.mean)[None])[0] + self.pooled.bias) / 2


def feature_names(layers: Sequence[int]) -> list[str]:
    names = [f"{kind}{layer}" for layer in layers for kind in ("recall", "precision", "f")]
    return [*names, f"cosine{layers[-1]}", "unigram_recall", "unigram_precision", "bigram_recall", "bigram_precision"]


def alignment_features(hypothesis: EncodedText, reference: EncodedText, layers: Sequence[int]) -> list[float]:
    """Return features of how well the tokens of two texts align; each is at most 1, and 1 for identical texts.

    For each layer: the recall of Mathur et al. (2019), the corresponding precision, and their harmonic mean, over content
    tokens. Then the cosine of the last layer's mean vectors, and clipped unigram and bigram recall and precision of token
    ids (for a text of one token, unigrams replace bigrams).
    """
    h, r = (
        F.normalize(torch.stack([text.states[layer,][1:-1] for layer in layers]), dim=2)
        for text in (hypothesis, reference)
    )
    cosines = r @ h.transpose(1, 2)
    recall, precision = cosines.amax(2).mean(1), cosines.amax(1).mean(1)
    harmonic = 2 * recall * precision / (recall + precision).clamp(min=1e-6)
    last = (layers[-1],)
    cosine = F.cosine_similarity(hypothesis.states[last].mean(0), reference.states[last].mean(0), dim=0)
    of_layers = torch.stack([recall, precision, harmonic], 1).flatten().tolist()
    h_ids, r_ids = hypothesis.ids[1:-1].tolist(), reference.ids[1:-1].tolist()
    h_pairs, r_pairs = (list(pairwise(ids)) or ids for ids in (h_ids, r_ids))
    sides = (r_ids, h_ids), (h_ids, r_ids), (r_pairs, h_pairs), (h_pairs, r_pairs)
    return [*of_layers, cosine.item(), *(overlap(items, others) for items, others in sides)]


def overlap(items: Sequence, others: Sequence) -> float:
    """Return the share of `items` that occur in `others`; an item counts at most as often as it occurs there.

    >>> overlap("aab", "abc")
    0.6666666666666666
    """
    return sum((Counter(items) & Counter(others)).values()) / len(items)


def pooled_vectors(text: EncodedText, layers: Sequence[int]) -> torch.Tensor:
    """Return each layer's mean over all tokens, including special ones, scaled to norm sqrt(width): fp32 [layers, width]."""
    means = torch.stack([text.states[layer,].mean(0) for layer in layers])
    return F.normalize(means, dim=1) * means.shape[1] ** 0.5


class PairFeatures:
    """The network's three inputs for pairs of encoded texts; each text is pooled once."""

    def __init__(self, layers: Sequence[int]):
        self.layers = tuple(layers)
        self._pooled: dict[bytes, torch.Tensor] = {}

    def __call__(self, hypothesis: EncodedText, reference: EncodedText) -> tuple:
        return (
            alignment_features(hypothesis, reference, self.layers),
            self._vectors(hypothesis),
            self._vectors(reference),
        )

    def _vectors(self, text: EncodedText) -> torch.Tensor:
        key = text.ids.tobytes()
        if key not in self._pooled:
            self._pooled[key] = pooled_vectors(text, self.layers)
        return self._pooled[key]


def network_inputs(pairs: Sequence[tuple]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Stack the results of PairFeatures for n pairs into the arguments of RegressorNetwork.forward."""
    features, hypotheses, references = zip(*pairs, strict=True)
    return torch.tensor(features), torch.stack(hypotheses), torch.stack(references)


class AlignmentRegressor(Estimator):
    """The estimator of a folder with config.json and model.safetensors, written by ctx_metrics.training.

    If a side has no tokens, the value is 0.
    """

    inputs = "mt+ref"
    empty_value = 0.0
    special_tokens = 4  # two around each text

    def __init__(self, folder: Path, options: EngineOptions):
        config = read_config(folder)
        check_fields(folder, config, FIELDS)
        self.network, ckpt = load_network(folder, config, lambda: RegressorNetwork(**config["network"]))
        self.layers = tuple(config["layers"])
        encoder = encoder_of(folder, config)
        name = EMBEDDED_REGRESSOR if folder == EMBEDDED_FOLDER else folder.resolve().name
        self.model = ResolvedModel(name, folder, None, ckpt)
        self.english_only = config["languages"] == ["en"]
        self.encoder = shared_encoder(encoder.folder, options)
        check_layers(folder, config, self.encoder.layers, self.encoder.width)
        if (found := len(self.network.alignment.mean)) != (wanted := len(feature_names(self.layers))):
            what = f"its network reads {found} features, and its layers make {wanted}"
            raise ModelError(f"{folder / CONFIG}: {what}", fix="copy the folder again")
        self.encoder.require([(layer,) for layer in self.layers])
        self.max_length, self.dtype = self.encoder.max_content, options.dtype
        self.limit = f"{self.max_length} tokens per text"

    def estimate(self, examples: Sequence[Example], label: str, unit: str = "segment") -> list[Estimate]:
        pairs = [(text, reference) for text, reference in (example.texts(self.inputs) for example in examples)]
        mixes = [(layer,) for layer in self.layers]
        results = map_pairs(self.encoder, pairs, mixes, self._values, label=label, unit=unit)
        return [Estimate(0.0 if r.value is None else r.value, any(r.cut), any(r.empty)) for r in results]

    def _values(self, pairs: Sequence[EncodedPair]) -> list[float]:
        values = []
        for begin in range(0, len(pairs), HEAD_BATCH):
            features = PairFeatures(self.layers)
            values += predict(self.network, [features(*pair) for pair in pairs[begin : begin + HEAD_BATCH]])
        return values


class RegressorKind(ModelKind):
    """The embedded quality model, and those that `ctx-metrics train` fits like it."""

    def owns(self, model: ModelName) -> bool:
        return model.config.get("model_type") == CONFIG_KIND

    def opened(self, model: ModelName, options: EngineOptions, inputs: str | None) -> Estimator:
        assert model.folder is not None  # without a config.json it does not own a model
        return AlignmentRegressor(model.folder, options)


@torch.inference_mode()
def predict(network: RegressorNetwork, pairs: Sequence[tuple]) -> list[float]:
    """Return the value, in [0, 1], of each pair from its PairFeatures result."""
    z = network(*network_inputs(pairs))
    return ((z + FLOOR) / (network.identical() + FLOOR)).clamp(0, 1).tolist()


def check_layers(folder: Path, config: Mapping, layers: int, width: int) -> None:
    numbers, network = config["layers"], config["network"]
    distinct = len({repr(number) for number in numbers}) == len(numbers)
    if not distinct or any(type(number) is not int or not 0 <= number <= layers for number in numbers):
        what = f"layers {json.dumps(numbers)[:60]} are not distinct numbers up to its encoder's {layers} layers"
    elif network.get("layers") != len(numbers):
        what = f"it names {len(numbers)} layers, but its network has {network.get('layers')}"
    elif network.get("width") != width:
        what = f"its network has width {network.get('width')}, but its encoder {width}"
    else:
        return
    raise ModelError(f"{folder / CONFIG}: {what}", fix="copy the folder again")
