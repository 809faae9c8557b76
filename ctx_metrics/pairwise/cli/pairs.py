"""What `ctx-metrics train pairwise` does."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...cli.common.output import number, table
from ...engine.options import EngineOptions
from ...errors import CtxMetricsError
from ...meta.judgements.judged import JudgedSet
from ...notices import counted, notice
from ...settings import CommandLine
from ...training.card import Source, pairwise_card, use
from ...training.cli import trainings
from ...training.curve import pairwise_curve
from ...training.digest import data_sha256
from ..training.data import count_pairs, read_pair_sets, say_shared, split_by_segment
from ..training.learn import learn
from ..training.recipe import Architecture
from ..training.task import Check
from .train import architecture_of, reads_encoder, recipe_of


class Data(NamedTuple):
    """Training and development sets and the files they come from.

    `drawn` says how the development pairs were drawn from the training data; "" if they were not.
    """

    training: list[JudgedSet]
    development: list[JudgedSet]
    sources: dict[str, list[Source]]
    drawn: str


def train(args: CommandLine) -> None:
    """Train a model as the command line asks, write its folder, and print how well it performs."""
    out, plot = Path(args.out), trainings.can_plot(args)
    recipe, architecture, engine = recipe_of(args), architecture_of(args), args[EngineOptions]
    data = _read(args, recipe.seed)
    languages = _languages(architecture, "encoder" in args, data)
    notes: dict[str, Any] = trainings.as_json(data.sources)
    if args.outputs:  # read for rankings, which contain no texts
        paths = {name: getattr(args, name) for name in ("outputs", "reference")}
        texts = {name: path for name, path in paths.items() if path and os.path.exists(path)}
        notes |= {n: {"name": trainings.name_of(p), "sha256": data_sha256(p)} for n, p in texts.items()}
    features, sides = out / trainings.EMBEDDINGS, (data.training, data.development)
    trainings.begin(out, args.restart)
    with _taken_back([features, out, *out.parents]):
        trained = learn(
            architecture,
            recipe,
            *sides,
            out=out,
            cache=Path(args.cache or features),
            languages=languages,
            engine=engine,
            notes={"data": notes},
        )
    best = trained.checks[trained.best]
    taus = {"pairwise": best.tau, **trained.feature_taus}
    learned, chosen = (
        f"{counted(pairs, 'pair', 'pairs')} of {counted(segments, 'segment', 'segments')}"
        for pairs, segments in map(count_pairs, sides)
    )
    lines = [
        table(["Development pairs", "tau"], [[name, number(tau, 4, "-")] for name, tau in taus.items()]),
        "Tau counts a pair as wrong if the model gives both outputs the same chance.",
        f"Learned from {learned}; chosen on {chosen}",
        f"Best epoch: {trained.best + 1} of {len(trained.checks)} (epoch {best.epoch} of the {best.phase} cost)",
    ]
    name = trainings.name_of(args.out)
    draw = (lambda: pairwise_curve(trained.checks, trained.best, name)) if plot else None
    text = pairwise_card(name, architecture, recipe, trained, data.sources, data.drawn, args.argv)
    trainings.finish(args.out, trained.checks, card=text, draw=draw, lines=lines, uses=use("pairwise", args.out))
    say_poor(best.tau, trained.feature_taus)
    say_unfinished(trained.checks, recipe.epochs)


@contextmanager
def _taken_back(folders: Sequence[Path]) -> Iterator[None]:
    """Remove these folders, innermost first, if a CtxMetricsError is raised inside the block.

    Folders that existed before or that hold the state of a training are kept.
    """
    made = [folder for folder in folders if not folder.exists()]
    try:
        yield
    except CtxMetricsError:
        if made[:1] == folders[:1]:
            shutil.rmtree(made[0], ignore_errors=True)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


def say_poor(tau: float, feature_taus: dict[str, float]) -> None:
    """Print a notice if the model agrees with people no better than chance, or than one of its own features."""
    best = max(feature_taus, key=lambda name: feature_taus[name], default=None)
    if tau <= 0:
        notice("the best epoch agrees with people no better than chance: do not use this model")
    elif best is not None and feature_taus[best] >= tau:
        notice(
            f"{best} alone agrees with people at least as well as this model: tau {feature_taus[best]:.4f}, and "
            f"{tau:.4f}"
        )


def say_unfinished(checks: Sequence[Check], epochs: int) -> None:
    """Print a notice if the last epoch allowed is better than all before it."""
    *before, last = checks
    if last.epoch == epochs and all(check.tau < last.tau for check in before):
        notice(f"the last epoch is the best: training was still improving; allow more than --epochs {epochs}")


def _read(args: CommandLine, seed: int) -> Data:
    options = trainings.data_options(args)
    training = read_pair_sets(args.train, options, args.threshold)
    sources = [trainings.source(path, count) for path, count in training.counts.items()]
    [share, *more] = args.dev
    if not more and isinstance(share, float):
        left, held = split_by_segment(training.sets, share, seed)
        (pairs, _), (whole, _) = count_pairs(held), count_pairs(training.sets)
        drawn = (
            f"{pairs:,} of the {whole:,} pairs are used only for development: a share of {share:g} of the source "
            "sentences, drawn by the seed. No source sentence and no reference is on both sides."
        )
        return Data(left, held, {"train": sources, "development": []}, drawn)
    development = read_pair_sets(args.dev, options, args.threshold)
    say_shared(training.sets, development.sets)
    chosen_on = [trainings.source(path, count) for path, count in development.counts.items()]
    return Data(training.sets, development.sets, {"train": sources, "development": chosen_on}, "")


def _languages(architecture: Architecture, asked: bool, data: Data) -> list[str] | None:
    """Return the model's languages; stop or warn if the embedded encoder would read a language other than English."""
    sets = [*data.training, *data.development]
    known = {judged.name: (judged.source_lang, judged.target_lang) for judged in sets}
    if not reads_encoder(architecture):
        return trainings.target_languages("none", known)
    if architecture.encoder == "embedded":
        unknown = [judged.references[0] for judged in sets if judged.target_lang is None]
        trainings.guard("train pairwise", asked, (target for _, target in known.values()), unknown)
    return trainings.target_languages(architecture.encoder, known)
