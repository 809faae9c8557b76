"""Train a metric on human judgements of your own, or on WMT's.

Learns from judged outputs with their references or sources, keeps the weights that agree best with people on development
data, and writes a folder that `sacrebleu -m NETWORK --NETWORK-model FOLDER` loads.
"""

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from ...notices import counted, notice
from ...run.flags import engine_options
from ...settings import from_flags
from ...training.quality.recipe import Architecture
from ...writing import check_writable
from ..common.metrics import own_settings
from ..common.trainings import (
    CARD,
    CHECKS,
    CURVE,
    EMBEDDINGS,
    Languages,
    begin,
    can_plot,
    check_out,
    data_options,
    end,
    known_languages,
    name_of,
    run_resumable,
    source,
    target_languages,
)
from .arguments import EPILOG, USAGE, add_arguments, check, recipe_of

if TYPE_CHECKING:
    from ...engine.options import EngineOptions
    from ...training.quality.development import DevelopmentSet
    from ...training.quality.examples import TrainingSet
    from ...training.quality.learn import Trained


__all__ = ["EPILOG", "INSTEAD", "USAGE", "add_arguments", "run"]
INSTEAD = ("pairwise",)


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    check(args)
    check_out(Path(args.out), args.overwrite)
    return run_resumable(args, _train)


def _train(args: Namespace) -> int:
    from ...training.card import card
    from ...training.curve import learning_curve
    from ...training.quality.data import split_weight
    from ...training.quality.development import read_development
    from ...training.quality.examples import read_training_set
    from ...training.quality.learn import learn

    if args.teacher_scores and not os.path.exists(args.teacher_scores):
        check_writable(args.teacher_scores)
    out, plot = Path(args.out), not args.no_plot and can_plot()
    engine = engine_options(args)
    recipe, architecture = recipe_of(args), from_flags(Architecture, args)
    data = data_options(args)
    training = read_training_set(
        args.train,
        architecture.inputs,
        args.normalise,
        args.average,
        not args.no_mqm_root,
        data,
        scored=not args.teacher,
    )
    development = read_development(args.dev, args.dev_metric, architecture.inputs, args.dev_threshold or 0.0, data)
    say_shared(training, development)
    known = known_languages([*training.datasets, *(part.name for part in development.parts)], args.pairs)
    if architecture.encoder == "embedded":
        guard(architecture, "encoder" in args, training, known)
    if args.rows is not None:
        training = some_rows(training, args.rows, recipe.seed)
    teacher = ""
    if args.teacher:
        training, teacher = _taught(args, training, known, architecture.inputs, engine)
    sources = {
        "train": [source(path, training.counts[path], weight) for path, weight in map(split_weight, args.train)],
        "development": [source(path, development.counts[path]) for path in args.dev],
    }
    notes = {
        "data": {name: [each.as_json() for each in of_name] for name, of_name in sources.items()},
        "targets": {"normalise": args.normalise, "average": args.average, "penalties_rooted": training.rooted},
    }
    if teacher:
        notes["targets"] = {"teacher": teacher}
    begin(out, args.restart)
    trained = learn(
        architecture,
        recipe,
        training,
        development,
        out,
        Path(args.cache) if args.cache else out / EMBEDDINGS,
        args.cache_mb,
        _first_weights(args),
        engine,
        args.languages or target_languages(architecture.encoder, known),
        notes,
    )
    name, metric = name_of(args.out), trained.config["development"]["metric"]
    text = card(name, args.kind, trained, sources, args.argv)
    end(
        out,
        trained.checks,
        text,
        (lambda: learning_curve(trained.checks, trained.best, metric, name)) if plot else None,
    )
    print(summary(args.out, architecture, trained, plot, learned_from(training, development)))
    if trained.config["development"]["score"] <= 0:
        notice("the best check agrees with people no better than chance: this model has learned nothing of use")
    return 0


def guard(architecture: Architecture, asked: bool, training: "TrainingSet", known: Languages) -> None:
    """Stop, or warn, before the embedded encoder reads another language than English."""
    from ...language import guard_english

    sides = {"mt+ref": [1], "mt+src": [0, 1]}[architecture.inputs]
    languages = {language for pair in known.values() for side in sides if (language := pair[side])}
    for language in sorted(languages):
        guard_english(f"train {architecture.kind}", "--encoder", asked, language, ())
    for name, pair in known.items():
        rows = [row for row, dataset in enumerate(training.datasets) if dataset == name]
        if None in pair:
            guard_english("", "", asked, None, [training.partners[row] for row in rows])
            guard_english("", "", asked, None, [training.hypotheses[row] for row in rows])


def some_rows(training: "TrainingSet", rows: int, seed: int) -> "TrainingSet":
    """A random part of the rows, which a larger one of the same seed holds; all, and said, if there are no more."""
    from dataclasses import replace

    import numpy as np

    if rows >= len(training):
        notice(f"--rows {rows}: there are {len(training)} rows to learn from, and all are taken")
        return training
    chosen = np.sort(np.random.default_rng(seed).permutation(len(training))[:rows])
    return replace(
        training,
        hypotheses=[training.hypotheses[row] for row in chosen],
        partners=[training.partners[row] for row in chosen],
        groups=[training.groups[row] for row in chosen],
        datasets=[training.datasets[row] for row in chosen],
        targets=training.targets[chosen],
        weights=training.weights[chosen],
    )


def say_shared(training: "TrainingSet", development: "DevelopmentSet") -> None:
    """Say if pairs of texts are in both sets: the development score then tells what was learned by heart."""
    trained = set(zip(training.hypotheses, training.partners, strict=True))
    pairs = list(zip(development.hypotheses, development.partners, strict=True))
    if shared := sum(pair in trained for pair in pairs):
        notice(
            f"{shared} of {len(pairs)} development outputs are in the training data too: their score flatters the model"
        )


def summary(out: str, architecture: Architecture, trained: "Trained", plot: bool, read: str) -> str:
    """What the command prints in the end."""
    from ...training.card import METRICS, use
    from ..common.output import table

    development = trained.config["development"]
    best = trained.checks[trained.best]
    rows = [[name, f"{score:.4f}"] for name, score in development["sets"].items()]
    if len(rows) > 1:
        rows.append(["mean", f"{best.score:.4f}"])
    files = ["model.safetensors", "config.json", CARD, CHECKS, *[CURVE] * plot]
    return "\n".join(
        [
            table(["Development set", METRICS[development["metric"]]], rows),
            read,
            f"Best check: {trained.best + 1} of {len(trained.checks)}, after {best.rows:,} rows (epoch {best.epoch})",
            f"Model: {out} ({', '.join(files)})",
            *(f"Use: {line}" for line in use(architecture.kind, out, architecture.inputs)),
        ]
    )


def learned_from(training: "TrainingSet", development: "DevelopmentSet") -> str:
    """How much was read, in a line."""
    rows, segments = len(training), len(set(training.groups))
    outputs, sets = len(development.hypotheses), len(development.parts)
    return (
        f"Learned from {counted(rows, 'row', 'rows')} of {counted(segments, 'segment', 'segments')}; "
        f"chosen on {counted(outputs, 'output', 'outputs')} of {counted(sets, 'data set', 'data sets')}"
    )


def _first_weights(args: Namespace) -> Path | None:
    """The folder that --init names, which for "embedded" is that of the network's embedded model."""
    from ...models.estimator import EMBEDDED_FOLDER

    if args.init == "embedded":
        return EMBEDDED_FOLDER if args.kind == "comet" else EMBEDDED_FOLDER.parent / args.kind
    return Path(args.init) if args.init else None


def _taught(
    args: Namespace, training: "TrainingSet", known: Languages, inputs: str, engine: "EngineOptions"
) -> "tuple[TrainingSet, str]":
    from ...meta.scoring import MetricSettings
    from ...training.quality.teacher import taught

    settings = MetricSettings(args.teacher, args.table[args.teacher.upper()], own_settings(args.teacher, args))
    kept = Path(args.teacher_scores) if args.teacher_scores else None
    return taught(training, settings, known, inputs, engine, kept)
