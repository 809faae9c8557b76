"""Estimators that load a trained BiLSTM, BiLSTM with attention or ESIM from its folder and score pairs of texts."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from ..engine.device import PendingCopy, in_turn, send
from ..engine.encoder import shared_encoder
from ..engine.pairs import EncodedPair, map_pairs
from ..engine.readout import SEGMENT, Accumulator, PackedTokens, PooledMix, Rows
from ..engine_options import EngineOptions
from ..errors import ModelError
from ..models.estimator import EMBEDDED_FOLDER, Estimate, Estimator, Example
from ..models.folder import CONFIG, FIELDS, cannot_be, check_fields, encoder_of, load_network, read_config
from ..models.hub import LEARNED, ResolvedModel, hub_folder
from ..models.regressor import CONFIG_KIND, check_layers
from ..opening import shown
from ..wording import metric_with_model
from .networks import NETWORKS, LearnedNetwork, Shape, Side, token_mask, token_slots

PREFIX = "ctx-"
OWN_FIELDS = {"inputs": str, "max_length": int, "empty_value": (int, float)}
INPUTS = ("mt+ref", "mt+src")
PAIRS_A_BATCH = 128


def kind_of(config: Mapping) -> str | None:
    """Return the name of the network in a config.json, or None for other models."""
    kind = str(config.get("model_type", "")).removeprefix(PREFIX)
    return kind if kind in NETWORKS else None


@dataclass(frozen=True)
class BiLSTMStates(PooledMix):
    """A learned network's BiLSTM states of a text's tokens, without special ones: [tokens, 2 * hidden] for each text.

    ckpt      identity of the network: readouts of the same network are equal, whatever the metric
    """

    network: LearnedNetwork = field(kw_only=True, compare=False)
    ckpt: str = field(kw_only=True)

    @property
    def unit(self) -> str | None:
        return SEGMENT  # a BiLSTM is too expensive to run over texts that nobody requested

    def accumulator(self, packed: PackedTokens) -> Accumulator:
        return _BiLSTMStates(self, packed)


class _BiLSTMStates(Accumulator):
    def __init__(self, readout: BiLSTMStates, packed: PackedTokens):
        self.network, self.packed = readout.network, packed
        self.mix: Any = PooledMix.accumulator(readout, packed)

    def add(self, number: int, hidden: torch.Tensor, first_only: bool) -> None:
        self.mix.add(number, hidden, first_only)

    def result(self) -> Rows:
        device, content = self.packed.device, np.ones(self.packed.total, bool)
        content[self.packed.ends[:-1]] = content[self.packed.ends[1:] - 1] = False
        counts = [length - 2 for length in self.packed.lengths]
        full = [count for count in counts if count]
        if not full:
            return Rows(self.mix.mixed.new_zeros(0, 2 * self.network.shape.hidden), counts)
        mixed = self.mix.mixed.index_select(0, send(np.flatnonzero(content), device))
        states = self.network.contextual(mixed, full)
        return Rows(states.flatten(0, 1).index_select(0, token_slots(full, device)), counts)


class LearnedEstimator(Estimator):
    """The estimator of a folder that `ctx-metrics train` wrote for one of the three networks.

    Its values are predicted human scores in standard deviations, 0 for the mean of the judged translations. If a side has
    no tokens, the value is that of the worst judgement in training.
    """

    empty_value: float
    special_tokens = 4  # two around each text

    def __init__(self, folder: Path, options: EngineOptions, name: str | None = None):
        config = read_config(folder)
        self.kind = kind_of(config)
        if self.kind is None:
            raise ModelError(
                f"{name or folder} is not one of {', '.join(NETWORKS)}: its config.json has model_type "
                f"{config.get('model_type')!r}"
            )
        check_fields(folder, config, {**FIELDS, **OWN_FIELDS})
        check_values(folder, config)
        network, ckpt = load_network(folder, config, lambda: NETWORKS[str(self.kind)](Shape(**config["network"])))
        encoder = encoder_of(folder, config)
        embedded = folder.parent == EMBEDDED_FOLDER.parent
        shown = f"embedded-{self.kind}" if embedded else name or folder.resolve().name
        self.model = ResolvedModel(shown, folder, folder.name[:12] if name else None, ckpt)
        self.inputs, self.english_only = config["inputs"], config["languages"] == ["en"]
        self.empty_value = float(config["empty_value"])
        self.encoder = shared_encoder(encoder.folder, options)
        check_layers(folder, config, self.encoder.layers, self.encoder.width)
        self.network = network.to(self.encoder.device)
        coefficients = dict(zip(config["layers"], network.mix.coefficients().tolist(), strict=True))
        mix = tuple(coefficients.get(layer, 0.0) for layer in range(max(config["layers"]) + 1))
        self.readout = BiLSTMStates(mix, "avg", network=self.network, ckpt=ckpt)
        self.encoder.require([self.readout])
        self.max_length = min(config["max_length"], self.encoder.max_content)
        self.dtype, self.limit = options.dtype, f"{self.max_length} tokens per text"

    def estimate(self, examples: Sequence[Example], label: str, unit: str = SEGMENT) -> list[Estimate]:
        pairs = [(text, partner) for text, partner in (example.texts(self.inputs) for example in examples)]
        results = map_pairs(
            self.encoder, pairs, [self.readout], self._values, max_content=self.max_length, label=label, unit=unit
        )
        return [Estimate(self.empty_value if r.value is None else r.value, any(r.cut), any(r.empty)) for r in results]

    def _values(self, pairs: Sequence[EncodedPair]) -> list[float]:
        states = [tuple(text.states[self.readout] for text in pair) for pair in pairs]
        order = sorted(range(len(pairs)), key=lambda i: [len(side) for side in states[i]])
        values = [0.0] * len(pairs)
        batches = (order[begin : begin + PAIRS_A_BATCH] for begin in range(0, len(order), PAIRS_A_BATCH))
        for batch, [found] in in_turn((batch, self._compared([states[i] for i in batch])) for batch in batches):
            for i, value in zip(batch, found.tolist(), strict=True):
                values[i] = value
        return values

    @torch.inference_mode()
    def _compared(self, pairs: Sequence[tuple[torch.Tensor, ...]]) -> PendingCopy:
        device, sides = self.encoder.device, []
        for of_side in zip(*pairs, strict=True):
            lengths = [len(each) for each in of_side]
            padded = send(pad_sequence(list(of_side), batch_first=True), device)
            sides.append(Side(padded, token_mask(lengths, device), lengths))
        return PendingCopy([self.network.compare(*sides)])


def check_values(folder: Path, config: dict) -> None:
    """Raise ModelError for config values that training never writes."""
    for name, good in (
        ("inputs", config["inputs"] in INPUTS),
        ("max_length", config["max_length"] > 0),
        ("empty_value", abs(config["empty_value"]) < 1e300),  # neither NaN nor infinite, nor an integer beyond floats
    ):
        if not good:
            raise cannot_be(folder, name, shown(config[name]))
    given, known = config["network"], [field.name for field in fields(Shape)]
    if problem := [name for name in known if name not in given] or [name for name in given if name not in known]:
        raise ModelError(
            f"{folder / CONFIG}: its network has to name {', '.join(known)}", fix=f"look at {problem[0][:40]}"
        )
    sizes = ("layers", "width", "hidden", "projection", "feedforward")
    if bad := [name for name in sizes if type(given[name]) is not int or given[name] < 1]:
        size = repr(given[bad[0]])[:40]
        raise ModelError(
            f"{folder / CONFIG}: its network's {bad[0]} is {size}, not a size", fix="copy the folder again"
        )


def load_learned(kind: str, name: str | None, options: EngineOptions) -> LearnedEstimator:
    """Load the network of a kind named by None or "embedded", a folder, or OWNER/NAME[@REVISION] of the hub."""
    if name == "":
        raise ModelError("the name of the model is empty", fix="name embedded, a folder, or OWNER/NAME of the hub")
    if name is None or name == "embedded":
        return LearnedEstimator(EMBEDDED_FOLDER.parent / kind, options)
    folder, repo = Path(os.path.expanduser(name)), None
    if not folder.is_dir():
        repo, folder = hub_folder(name, LEARNED)
    own_kind = kind_of(read_config(folder))
    if own_kind != kind:
        others = {CONFIG_KIND: ("a regressor", "comet"), "ctx-pairwise": ("a pairwise model", "pairwise")}
        what, metric = others.get(str(read_config(folder).get("model_type")), (f"one of {own_kind}", own_kind or ""))
        if metric:
            raise ModelError(f"{name} holds no {kind} model, but {what}: use {metric_with_model(metric, name)}")
        known = " or ".join(other for other in NETWORKS if other != kind)
        raise ModelError(f"{name} holds no {kind} model, nor one of {known}", fix=f"name a folder of {kind}")
    return LearnedEstimator(folder, options, repo)
