"""Trains a pairwise model on preferences and writes its folder, for `ctx-metrics train pairwise`."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from ...engine.memory import memory_for
from ...engine_options import EngineOptions
from ...errors import InputError
from ...judgements.judged import JudgedSet
from ...language import primary
from ...models import hub
from ...notices import counted
from ...opening import file_sha256
from ...training.folder import STATE
from ...training.loop import Loop
from ...training.state import claim, encoder_name, finish
from ..features import feature_settings
from ..features.specs import parse_features
from ..model import MODEL_TYPE, PairwiseNumbers
from ..network import Shape
from ..scaling import fit_min_max, fit_pca
from ..sentence_vectors import parse_source
from .reader import Reader, Readings
from .recipe import Architecture, PairwiseRecipe
from .task import Check, Comparisons, PairwiseTask, strict_tau


class TrainingResult(NamedTuple):
    """The result of a training run whose model was written.

    best          index of the best check (the first of equals), whose weights the model has
    feature_taus  strict tau of each feature alone on the development data, with the better of the two signs; features
                  that are equal for both outputs of every pair are omitted
    """

    config: dict[str, Any]
    checks: list[Check]
    best: int
    feature_taus: dict[str, float]


def learn(
    architecture: Architecture,
    recipe: PairwiseRecipe,
    training: Sequence[JudgedSet],
    development: Sequence[JudgedSet],
    *,
    out: Path,
    cache: Path | None = None,
    languages: Sequence[str] | None = None,
    engine: EngineOptions = EngineOptions(),
    notes: dict[str, Any] | None = None,
) -> TrainingResult:
    """Train a model on the preferences of some sets and write it to `out`: model.safetensors and config.json.

    PCA and scaling are fitted on the training data. Everything else is as in training.quality.learn.learn.
    """
    features = parse_features(architecture.features)
    sources = [parse_source(text) for text in architecture.vectors]
    with memory_for("the training's features", engine.device):
        reader = Reader(features, sources, architecture.encoder, engine, cache)
        readings = [reader.read(training), reader.read(development)]
    columns = [column for feature in features for column in feature.columns]
    widths = []
    for (texts, width), source in zip((of_source.shape for of_source in readings[0].vectors), sources, strict=True):
        if source.dimensions is not None and source.dimensions > (most := min(texts, width)):
            raise InputError(
                f"--vectors {source.spec}: PCA of {counted(texts, 'text', 'texts')} and {width} numbers gives at "
                f"most {most} dimensions",
                fix="name fewer after the colon, or none",
            )
        widths.append((width, source.dimensions))
    width = sum(width if kept is None else kept for width, kept in widths)
    shape = Shape(width, len(columns), architecture.hidden, architecture.tied, architecture.antisymmetric)
    numbers = fitted(shape, widths, readings[0], recipe.seed)
    training_pairs, development_pairs = (prepared(numbers, each) for each in readings)
    word_files = [source.path for source in sources if source.path is not None]
    model = None if len(word_files) == len(sources) else hub.resolve(architecture.encoder)
    language = one_language(training)
    config = {
        "model_type": MODEL_TYPE,
        "encoder": None if model is None else encoder_name(architecture.encoder),
        "encoder_ckpt": None if model is None else model.ckpt,
        "languages": None if languages is None else list(languages),
        "layers": [],
        "features": [
            {"spec": feature.spec, "columns": len(feature.columns), "signature": settings.signature}
            for feature, settings in zip(features, feature_settings(features, None, language, engine), strict=True)
        ],
        "vectors": [
            {
                "spec": source.spec,
                "width": each.shape[1],
                "dimensions": source.dimensions,
                "path": None if source.path is None else str(Path(source.path).resolve()),
                "sha256": None if source.path is None else file_sha256(Path(source.path)),
            }
            for source, each in zip(sources, readings[0].vectors, strict=True)
        ],
        "network": asdict(shape),
    }
    fingerprint = {
        "network, features, vectors or languages": config,
        "recipe": asdict(recipe),
        "training data": digest(training_pairs),
        "development data": digest(development_pairs),
    }
    claim(out, fingerprint)
    task = PairwiseTask(numbers.network, recipe, training_pairs, development_pairs)
    loop = Loop(task, out / STATE, fingerprint, engine.quiet)
    with one_thread():
        checks = loop.train()
    best = checks[loop.progress.best]
    taus = {column: tau for column, tau in zip(columns, feature_taus(readings[1]), strict=True) if tau is not None}
    config["training"] = {**asdict(recipe), "pairs": len(readings[0].pairs)}
    config["development"] = {
        "metric": "strict tau",
        "score": best.tau,
        "phase": best.phase,
        "epoch": best.epoch,
        "pairs": len(readings[1].pairs),
        "features": taus,
    }
    config.update(notes or {})
    return TrainingResult(finish(out, config, numbers.state_dict()), checks, loop.progress.best, taus)


def fitted(shape: Shape, widths: Sequence[tuple[int, int | None]], readings: Readings, seed: int) -> PairwiseNumbers:
    """Return a model with random weights, its PCA and scaling fitted on the training data."""
    numbers = PairwiseNumbers(shape, widths, seed)
    for k, (vectors, (_, kept)) in enumerate(zip(readings.vectors, widths, strict=True)):
        if kept is not None:
            mean, components = fit_pca(vectors, kept)
            numbers.set(f"mean_{k}", mean)
            numbers.set(f"components_{k}", components)
    used = np.unique(readings.pairs[:, 3:])
    values = {"feature": readings.features[used]}
    if shape.vectors:
        values["vector"] = numbers.projected(readings.vectors)
    for name, of_name in values.items():
        for bound, limit in zip(("low", "high"), fit_min_max(of_name), strict=True):
            numbers.set(f"{name}_{bound}", limit)
    return numbers


def prepared(numbers: PairwiseNumbers, readings: Readings) -> Comparisons:
    """Return the readings, reduced and scaled for the network."""
    texts = len(readings.vectors[0]) if readings.vectors else int(readings.pairs[:, :3].max()) + 1
    vectors = numbers.vectors(readings.vectors) if readings.vectors else np.zeros((texts, 0))
    features = np.nan_to_num(numbers.features(readings.features))  # no pair uses a NaN
    return Comparisons(vectors.astype(np.float32), features.astype(np.float32), readings.pairs)


def feature_taus(readings: Readings) -> list[float | None]:
    """Return the strict tau of each feature alone, with the sign that makes it larger (TER, for one, falls with quality).

    A feature with few distinct values has many ties, which count against both signs. None for a feature that is equal for
    both outputs of every pair.
    """
    better, worse = (readings.features[readings.pairs[:, side]] for side in (3, 4))
    margins = (better - worse).T
    return [max(strict_tau(each), strict_tau(-each)) if each.any() else None for each in margins]


@contextmanager
def one_thread() -> Iterator[None]:
    """Make torch compute on one thread inside the block: steps of 30 pairs are too small to parallelise."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def one_language(sets: Sequence[JudgedSet]) -> str | None:
    """Return the target language of all sets, or None if it is unknown or there are several."""
    known = [judged.target_lang for judged in sets]
    return known[0] if len({*map(primary, known)}) == 1 else None


def digest(comparisons: Comparisons) -> str:
    sha256 = hashlib.sha256()
    for array in (comparisons.texts, comparisons.outputs, comparisons.pairs):
        sha256.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return sha256.hexdigest()
