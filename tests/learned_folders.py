"""Folders of BiLSTM, BiLSTM with attention and ESIM as training writes them, with random weights."""

import json
from dataclasses import asdict
from pathlib import Path

import torch

from ctx_metrics.learned.networks import NETWORKS, LearnedNetwork, Shape
from ctx_metrics.models.folder import write_model
from ctx_metrics.models.hub import resolve

TINY = Shape(layers=3, width=48, hidden=8, projection=6, feedforward=7)


def random_network(kind: str, shape: Shape = TINY, seed: int = 0) -> LearnedNetwork:
    """A network all of whose parameters are away from their start, and whose scores differ by some tenths."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = NETWORKS[kind](shape).eval()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.3)
            network.mix.gamma.copy_(torch.tensor(0.5))
    return network


def write_learned(folder: Path, kind: str, encoder, shape: Shape = TINY, seed: int = 0, **fields) -> Path:
    """Write a model over an encoder (a folder, or "embedded"); `fields` replace those of config.json."""
    config = {
        "model_type": f"ctx-{kind}",
        "encoder": str(encoder),
        "encoder_ckpt": resolve(str(encoder)).ckpt,
        "languages": None,
        "layers": list(range(1, shape.layers + 1)),
        "network": asdict(shape),
        "inputs": "mt+ref",
        "max_length": 20,
        "empty_value": -1.75,
    }
    write_model(folder, {**config, **fields}, random_network(kind, shape, seed).state_dict())
    return folder


def read(folder: Path) -> dict:
    return json.loads((folder / "config.json").read_text())
