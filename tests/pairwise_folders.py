"""Folders of pairwise models as training writes them, with weights that the tests choose."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from ctx_metrics.models.folder import write_model
from ctx_metrics.models.hub import resolve
from ctx_metrics.pairwise.features import feature_settings
from ctx_metrics.pairwise.features.specs import parse_features
from ctx_metrics.pairwise.model import MODEL_TYPE, PairwiseNumbers
from ctx_metrics.pairwise.network import Shape
from ctx_metrics.pairwise.sentence_vectors import parse_source

WIDTH = 384  # of the embedded encoder


def write_pairwise(
    folder: Path,
    features: Sequence[str] = ("chrf",),
    vectors: Sequence[str] = (),
    hidden: int = 0,
    antisymmetric: bool = False,
    output: Sequence[float] | None = None,
    seed: int = 3,
    scale: float = 100.0,
    **fields,
) -> Path:
    """Write a model whose features are scaled from [0, scale] to [-1, 1] and whose vectors from [-1, 1] are left alone.

    output    the last layer's weights; None: all weights are drawn by the seed, away from 0
    fields    replace those of config.json
    """
    parsed = parse_features(features)
    columns = sum(len(feature.columns) for feature in parsed)
    sources = [(WIDTH, parse_source(spec).dimensions) for spec in vectors]
    shape = Shape(sum(kept or width for width, kept in sources), columns, hidden, antisymmetric=antisymmetric)
    numbers = PairwiseNumbers(shape, sources, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in numbers.named_buffers():
            if name.startswith("components"):
                tensor.copy_(torch.randn(tensor.shape, generator=generator) / 5)
        numbers.feature_high.fill_(scale)
        numbers.vector_low.fill_(-1.0)
        numbers.vector_high.fill_(1.0)
        for parameter in numbers.network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.5)
        if output is not None:
            numbers.network.output.copy_(torch.tensor(output))
            numbers.network.output_bias.zero_()
    config = {
        "model_type": MODEL_TYPE,
        "encoder": "embedded" if vectors else None,
        "encoder_ckpt": resolve("embedded").ckpt if vectors else None,
        "languages": None,
        "layers": [],
        "features": [
            {"spec": feature.spec, "columns": len(feature.columns), "signature": settings.signature}
            for feature, settings in zip(parsed, feature_settings(parsed))
        ],
        "vectors": [
            {"spec": spec, "width": width, "dimensions": kept, "path": None, "sha256": None}
            for spec, (width, kept) in zip(vectors, sources)
        ],
        "network": asdict(shape),
    }
    write_model(folder, {**config, **fields}, numbers.state_dict())
    return folder
