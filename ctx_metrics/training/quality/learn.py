"""Trains a model on judged texts and writes its folder, for `ctx-metrics train`."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from ...engine.encoder import TextEncoder
from ...engine.memory import memory_for
from ...engine.pairs import map_pairs, one_by_one
from ...engine.tokenizer import TextTokenizer
from ...engine_options import EngineOptions
from ...errors import InputError
from ...learned.estimator import PREFIX
from ...learned.networks import NETWORKS, LearnedNetwork, Shape
from ...models import hub
from ...models.folder import FIELDS, check_fields, checked_weights, load_weights, read_config
from ...models.regressor import CONFIG_KIND, PairFeatures, RegressorNetwork, feature_names, network_inputs
from ...notices import counted, notice
from ..folder import STATE
from ..loop import SMALLER, Loop
from ..state import claim, digest, encoder_name, finish
from ..token_states import EmbeddingCache
from .development import DevelopmentSet
from .examples import TrainingSet
from .recipe import Architecture, Recipe
from .task import Check, QualityTask


class TrainingResult(NamedTuple):
    """A model that was written: its config.json, the checks on the development data, and the index of the best check."""

    config: dict[str, Any]
    checks: list[Check]
    best: int


def learn(
    architecture: Architecture,
    recipe: Recipe,
    training: TrainingSet,
    development: DevelopmentSet,
    *,
    out: Path,
    cache: Path | None = None,
    cache_mb: int = 8192,
    init: Path | None = None,
    engine: EngineOptions = EngineOptions(),
    languages: Sequence[str] | None = None,
    notes: dict[str, Any] | None = None,
) -> TrainingResult:
    """Train a model and write it to `out`: model.safetensors and config.json.

    languages    languages the model is meant for, such as ["en"]; None: any that the encoder reads

    Started again with the same arguments, a stopped run resumes from its state in `out`, with the same weights bit
    for bit on a CPU, and up to rounding on a GPU.
    """
    model = hub.resolve(architecture.encoder)
    encoder = TextEncoder(model.folder, engine)
    layers = list(architecture.layers or default_layers(architecture.kind, encoder.layers))
    if bad := [number for number in layers if not 0 <= number <= encoder.layers]:
        raise InputError(f"layer {bad[0]}: the encoder has the layers 0 to {encoder.layers}")
    longest = encoder.max_content if architecture.kind == "comet" else 100
    max_length = min(architecture.max_length or longest, encoder.max_content)
    config = {
        "model_type": CONFIG_KIND if architecture.kind == "comet" else PREFIX + architecture.kind,
        "encoder": encoder_name(architecture.encoder),
        "encoder_ckpt": model.ckpt,
        "languages": None if languages is None else list(languages),
        "layers": layers,
        "inputs": architecture.reads,
        "max_length": max_length,
        "empty_value": float(training.targets.min()),
        "network": sizes(architecture, len(layers), encoder.width),
    }
    torch.manual_seed(recipe.seed)
    network = make_network(architecture.kind, config["network"], architecture.dropout)
    if init is not None:
        _start_from(init, network, config)
    fingerprint = {
        "network, encoder or languages": {key: value for key, value in config.items() if key != "empty_value"},
        "recipe": asdict(recipe),
        "training data": digest_of(training, training.targets, training.weights),
        "development data": digest_of(development),
        "first weights": None if init is None else read_config(init)["weights_sha256"],
    }
    claim(out, fingerprint, encoder.device)  # refuse the state of another training run before encoding anything
    for each, what in ((training, "training"), (development, "development")):
        check_tokens(tokenless(encoder.tokenizer, each, max_length), what)
    with ExitStack() as closed, memory_for("the training", encoder.device, SMALLER):
        if architecture.kind == "comet":
            features = [
                FeatureInputs(encoder, each, layers, max_length, f"{what} texts")
                for each, what in ((training, "training"), (development, "development"))
            ]
            if init is None and isinstance(network, RegressorNetwork):
                network.standardise(features[0].features())
            sets: Sequence[TokenInputs | FeatureInputs] = features
            cut = sum(each.cut for each in features)
        else:
            embeddings = EmbeddingCache(
                cache, encoder, layers=layers, ckpt=model.ckpt, max_content=max_length, limit_mb=cache_mb
            )
            closed.enter_context(closing(embeddings))
            texts = [text for each in (training, development) for text in (*each.hypotheses, *each.partners)]
            embeddings.fill(texts)
            sets = [TokenInputs(embeddings, each) for each in (training, development)]
            cut = embeddings.cut
        if cut:
            notice(f"{counted(cut, 'text was', 'texts were')} truncated to {max_length} tokens")
        task = QualityTask(network, recipe, training, sets[0], development, sets[1], encoder.device)
        loop = Loop(task, out / STATE, fingerprint, engine.quiet)
        loop.train()
        values = task.values(sets[1])
    config["training"] = {**asdict(recipe), "rows": len(training), "init": None if init is None else init.name}
    return written(out, config, network.state_dict(), loop, development, values, notes)


def written(
    out: Path,
    config: dict[str, Any],
    tensors: Mapping[str, torch.Tensor],
    loop: Loop,
    development: DevelopmentSet,
    values: np.ndarray,
    notes: Mapping[str, Any] | None,
    score: float | None = None,
) -> TrainingResult:
    """Write a model after its training, with its development figures and the notes in config.json; delete the state.

    values    of the development data, by the weights that are written
    score     agreement of the values; None: that of the best check
    """
    checks, best = loop.progress.checks, loop.progress.best
    config["development"] = {
        "metric": development.metric,
        "score": checks[best].score if score is None else score,
        "step": checks[best].step,
        "sets": development.scores(values),
    }
    return TrainingResult(finish(out, {**config, **(notes or {})}, tensors), checks, best)


def matching_config(
    init: Path, config: Mapping[str, Any], names: Sequence[str], flags: Mapping[str, str] = {}
) -> dict[str, Any]:
    """Return the config.json of first weights; raise InputError if a field is not that of the model to train.

    flags    fields that the model to train must have if the first weights have them, and the flag of each
    """
    given = read_config(init)
    differing = [f"{name} {given.get(name)}, not {config[name]}" for name in names if given.get(name) != config[name]]
    differing += [f"{name} ({flag})" for name, flag in flags.items() if given.get(name) and not config.get(name)]
    if differing:
        raise InputError(
            f"{init} has {', '.join(differing)}",
            fix="start from a model with the same settings, or give its settings as flags",
        )
    return given


def tokenless(tokenizer: TextTokenizer, rows: TrainingSet | DevelopmentSet, max_length: int) -> list[str]:
    """Return the texts in which the tokenizer finds no tokens, such as one that is only a zero-width space."""
    read = (*rows.hypotheses, *rows.references, *rows.sources)
    texts = list(dict.fromkeys(text for text in read if text is not None))
    return [text for text, ids in zip(texts, tokenizer(texts, max_length), strict=True) if not ids.content]


def check_tokens(without: Sequence[str], what: str) -> None:
    """Raise InputError if there are training or development texts (`what`) without tokens."""
    if without:
        raise InputError(
            f"{counted(len(without), f'{what} text has', f'{what} texts have')} no tokens for this encoder, such as "
            f"{ascii(without[0])[:40]}",
            fix="leave out the rows",
        )


def default_layers(kind: str, depth: int) -> list[int]:
    """Return the default layers: all transformer layers for the networks; for comet, two middle ones and the last.

    >>> default_layers("esim", 6), default_layers("comet", 6), default_layers("comet", 12)
    ([1, 2, 3, 4, 5, 6], [3, 4, 6], [6, 8, 12])
    """
    if kind != "comet":
        return list(range(1, depth + 1))
    return sorted({max(1, depth // 2), max(1, 2 * depth // 3), depth})


def sizes(architecture: Architecture, layers: int, width: int) -> dict[str, Any]:
    if architecture.kind == "comet":
        return {
            "features": len(feature_names(range(layers))),
            "layers": layers,
            "width": width,
            "alignment_hidden": architecture.hidden or 32,
            "pooled_hidden": architecture.feedforward or 64,
        }
    names = ("hidden", "projection", "feedforward", "pooling", "dropout")
    chosen = {name: value for name in names if (value := getattr(architecture, name)) is not None}
    return asdict(Shape(layers, width, **chosen))


def make_network(kind: str, network: dict[str, Any], dropout: float | None) -> LearnedNetwork | RegressorNetwork:
    if kind == "comet":
        rate = 0.1 if dropout is None else dropout
        return RegressorNetwork(**network, alignment_dropout=rate, pooled_dropout=rate)
    return NETWORKS[kind](Shape(**network))


def digest_of(texts: TrainingSet | DevelopmentSet, *columns: np.ndarray) -> str:
    """Return a digest of all hypotheses and partners, and of columns of numbers."""
    return digest([*texts.hypotheses, *texts.partners], after=b"".join(column.tobytes() for column in columns))


def _start_from(init: Path, network: nn.Module, config: dict[str, Any]) -> None:
    given = matching_config(init, config, ("model_type", "encoder_ckpt", "layers"))
    check_fields(init, given, FIELDS)
    sizes = {name: size for name, size in config["network"].items() if name != "dropout"}  # dropout is not a size
    if differing := [
        f"{name} {given['network'].get(name)}" for name in sizes if given["network"].get(name) != sizes[name]
    ]:
        raise InputError(
            f"{init} has {', '.join(differing)}", fix="start from a model of these sizes, or give them as flags"
        )
    checked_weights(init, given)
    load_weights(init, network)


class TokenInputs:
    """Inputs of the networks in learned.networks for n rows of hypothesis and partner: all tokens' hidden layers.

    lengths    number of tokens of each row's partner and hypothesis, by which rows are batched
    """

    def __init__(self, cache: EmbeddingCache, texts: TrainingSet | DevelopmentSet):
        self.cache, self.sides = cache, (texts.hypotheses, texts.partners)
        hypotheses, partners = map(cache.lengths, self.sides)
        self.lengths = list(zip(partners, hypotheses, strict=True))

    def batch(self, rows: Sequence[int]) -> tuple:
        sides = []
        for texts in self.sides:
            states = self.cache.states([texts[row] for row in rows])
            sides += [torch.cat(states).float(), [len(each) for each in states]]
        return tuple(sides)


class FeatureInputs:
    """Inputs of models.regressor, computed once: alignment features and pooled vectors of whole pairs."""

    def __init__(
        self,
        encoder: TextEncoder,
        texts: TrainingSet | DevelopmentSet,
        layers: Sequence[int],
        max_content: int,
        label: str,
    ):
        mixes, features = [(layer,) for layer in layers], one_by_one(PairFeatures(layers))
        pairs = list(zip(texts.hypotheses, texts.partners, strict=True))
        results = map_pairs(encoder, pairs, mixes, features, max_content=max_content, label=label)
        # no text is without tokens
        self.inputs = [result.value for result in results if isinstance(result.value, tuple)]
        sides = [
            side for pair, of_pair in zip(pairs, results, strict=True) for side in zip(pair, of_pair.cut, strict=True)
        ]
        self.cut = len({text for text, cut in sides if cut})
        self.lengths = [(0, 0)] * len(pairs)

    def features(self) -> torch.Tensor:
        return torch.tensor([each[0] for each in self.inputs])

    def batch(self, rows: Sequence[int]) -> tuple:
        return network_inputs([self.inputs[row] for row in rows])
