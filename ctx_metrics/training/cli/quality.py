"""What `ctx-metrics train` does with a bilstm, bilstmatt, esim or comet."""

import os
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...cli.common.metrics import chosen_metrics
from ...cli.common.output import table
from ...engine.options import EngineOptions
from ...models.estimator import EMBEDDED_FOLDER, EMBEDDED_UNIFIED
from ...models.folder import read_config
from ...notices import counted, notice
from ...settings import CommandLine, from_flags
from ...writing import check_writable
from ..card import METRICS, card, command, use
from ..curve import learning_curve
from ..quality.data import share
from ..quality.development import DevelopmentSet, read_development
from ..quality.examples import TrainingSet, read_training_set
from ..quality.learn import learn
from ..quality.recipe import Architecture
from ..quality.teacher import taught
from ..quality.unified import learn_unified
from ..quality.windows import with_windows
from . import recipe_of, trainings
from .trainings import Languages


def train(args: CommandLine) -> None:
    """Train a model as the command line asks, write its folder, and print how well it performs."""
    if args.teacher_scores and not os.path.exists(args.teacher_scores):
        check_writable(args.teacher_scores)
    out, plot = Path(args.out), trainings.can_plot(args)
    engine = args[EngineOptions]
    recipe, architecture = recipe_of(args), from_flags(Architecture, args)
    data, inputs, rooted = trainings.data_options(args), architecture.reads, not args.no_mqm_root
    training = read_training_set(
        args.train, inputs, args.normalise, args.average, rooted, data, not args.teacher, recipe.seed, args.keep_humans
    )
    development = read_development(args.dev, args.dev_metric, inputs, args.dev_threshold or 0.0, data)
    say_shared(training, development)
    known = trainings.known_languages([*training.datasets, *(part.name for part in development.parts)], args.pairs)
    if architecture.encoder == "embedded":
        sides = [0, 1] if "src" in inputs else [1]
        unknown = [
            [text for text, dataset in zip(texts, training.datasets, strict=True) if dataset == name]
            for name, pair in known.items()
            for texts in (training.partners, training.hypotheses)
            if None in pair
        ]
        languages = [pair[side] for pair in known.values() for side in sides]
        trainings.guard(f"train {args.kind}", "encoder" in args, languages, unknown)
    if args.window is not None:
        training = with_windows(training, args.window, recipe.seed)
    if args.rows is not None:
        training = some_rows(training, args.rows, recipe.seed)
    teacher = ""
    if args.teacher:
        training, teacher = _taught(args, training, known, inputs, engine)
    sources = {
        "train": [trainings.source(path, training.counts[path], weight) for path, weight, _ in map(share, args.train)],
        "development": [trainings.source(path, development.counts[path]) for path in args.dev],
    }
    notes: dict[str, Any] = {
        "data": trainings.as_json(sources),
        "targets": {"normalise": args.normalise, "average": args.average, "penalties_rooted": training.rooted},
    }
    if training.by_system:
        notes["targets"]["of_systems"] = training.by_system
    if teacher:
        notes["targets"] = {"teacher": teacher}
    init = _first_weights(args)
    first = {} if init is None else read_config(init)
    notes["commands"] = [*first.get("commands", []), command(args.argv)]  # the whole history of the model
    trainings.begin(out, args.restart)
    target = args.languages or trainings.target_languages(architecture.encoder, known)
    if target and first.get("languages") and not args.languages:
        target = sorted({*first["languages"], *target})
    cache = Path(args.cache or out / trainings.EMBEDDINGS)
    common: dict[str, Any] = {"out": out, "engine": engine, "languages": target, "notes": notes, "init": init}
    if architecture.unified:
        more = {"window": args.window, "init_share": args.init_share or 0.0}
        trained = learn_unified(architecture, recipe, training, development, **more, **common)
    else:
        kept: dict[str, Any] = {"cache": cache, "cache_mb": args.cache_mb}
        trained = learn(architecture, recipe, training, development, **common, **kept)
    best, told = trained.checks[trained.best], trained.config["development"]
    rows = [[name, f"{score:.4f}"] for name, score in told["sets"].items()]
    lines = [
        table(
            ["Development set", METRICS[told["metric"]]], [*rows, *[["mean", f"{told['score']:.4f}"]] * (len(rows) > 1)]
        ),
        learned_from(training, development),
        f"Best check: {trained.best + 1} of {len(trained.checks)}, after {best.rows:,} rows (epoch {best.epoch})",
    ]
    name = trainings.name_of(args.out)
    draw = (lambda: learning_curve(trained.checks, trained.best, told["metric"], name)) if plot else None
    text = card(name, args.kind, trained, sources)
    trainings.finish(args.out, trained.checks, card=text, draw=draw, lines=lines, uses=use(args.kind, args.out, inputs))
    if best.score <= 0:
        notice("the best check agrees with people no better than chance: do not use this model")


def some_rows(training: TrainingSet, rows: int, seed: int) -> TrainingSet:
    """Return a random sample of the rows; a larger one with the same seed contains it.

    If the rows are too few, return all of them, with a notice.
    """
    if rows >= len(training):
        notice(f"--rows {rows}: there are {len(training)} rows to learn from, and all are used")
        return training
    chosen = np.sort(np.random.default_rng(seed).permutation(len(training))[:rows])
    names = ("hypotheses", "references", "sources", "groups", "places")
    lists: dict[str, Any] = {name: [getattr(training, name)[row] for row in chosen] for name in names}
    return replace(training, targets=training.targets[chosen], weights=training.weights[chosen], **lists)


def say_shared(training: TrainingSet, development: DevelopmentSet) -> None:
    """Print a notice if both sets share pairs of texts: the development score then measures memorisation."""
    trained = set(zip(training.hypotheses, training.partners, strict=True))
    pairs = list(zip(development.hypotheses, development.partners, strict=True))
    if shared := sum(pair in trained for pair in pairs):
        notice(
            f"{shared} of {len(pairs)} development outputs are in the training data too, so their score is too optimistic"
        )


def learned_from(training: TrainingSet, development: DevelopmentSet) -> str:
    """Return the amount of data, in one line of text."""
    rows, segments = len(training), len(set(training.groups))
    outputs, sets = len(development.hypotheses), len(development.parts)
    return (
        f"Learned from {counted(rows, 'row', 'rows')} of {counted(segments, 'segment', 'segments')}; "
        f"chosen on {counted(outputs, 'output', 'outputs')} of {counted(sets, 'data set', 'data sets')}"
    )


def _first_weights(args: Namespace) -> Path | None:
    """Return the folder that --init names; for "embedded", that of the network's embedded model."""
    if args.init == "embedded":
        if args.kind == "comet" and from_flags(Architecture, args).unified:
            return EMBEDDED_UNIFIED
        return EMBEDDED_FOLDER if args.kind == "comet" else EMBEDDED_FOLDER.parent / args.kind
    return Path(args.init) if args.init else None


def _taught(
    args: CommandLine, training: TrainingSet, known: Languages, inputs: str, engine: EngineOptions
) -> tuple[TrainingSet, str]:
    [settings] = chosen_metrics(args, [args.teacher])
    kept = Path(args.teacher_scores) if args.teacher_scores else None
    return taught(training, settings, languages=known, inputs=inputs, engine=engine, kept=kept)
