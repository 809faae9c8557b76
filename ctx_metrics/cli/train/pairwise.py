"""Train the metric pairwise: which of two outputs is the better one?

Learns from pairs of a better and a worse output, made of human judgements, keeps the weights of the epoch that agrees best
with people on other pairs, and writes a folder that `sacrebleu -m pairwise --pairwise-model FOLDER` and
`ctx-metrics pairwise rank --model FOLDER` load.
"""

import os
import shutil
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import CtxMetricsError
from ...notices import counted, notice
from ...run.flags import engine_options
from ..common import trainings
from .pairwise_arguments import EPILOG, FLAGS, USAGE, architecture_of, check, reads_encoder, recipe_of

if TYPE_CHECKING:
    from ...judgements.judged import JudgedSet
    from ...training.card import Source
    from ...training.pairwise.learn import Trained
    from ...training.pairwise.recipe import Architecture
    from ...training.pairwise.task import Check


__all__ = ["EPILOG", "FLAGS", "USAGE", "run"]


class Data(NamedTuple):
    """What is learned from: the sets of both sides and their sources; `drawn` says how the development pairs were drawn from
    the training data, "" if they were not."""

    training: "list[JudgedSet]"
    development: "list[JudgedSet]"
    sources: "dict[str, list[Source]]"
    drawn: str


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    check(args)
    trainings.check_out(Path(args.out), args.overwrite)
    return trainings.run_resumable(args, _train)


def _train(args: Namespace) -> int:
    from ...training.card import pairwise_card
    from ...training.curve import pairwise_curve
    from ...training.digest import data_sha256
    from ...training.pairwise.learn import learn

    out, plot = Path(args.out), not args.no_plot and trainings.can_plot()
    engine = engine_options(args)
    recipe, architecture = recipe_of(args), architecture_of(args)
    data = _read(args, recipe.seed)
    languages = _languages(architecture, "encoder" in args, data)
    sources: dict[str, Any] = {side: [each.as_json() for each in of_side] for side, of_side in data.sources.items()}
    if args.outputs:  # what rankings say nothing of
        texts = {
            name: path for name in ("outputs", "reference") if (path := getattr(args, name)) and os.path.exists(path)
        }
        sources |= {n: {"name": trainings.name_of(p), "sha256": data_sha256(p)} for n, p in texts.items()}
    features = out / trainings.EMBEDDINGS
    trainings.begin(out, args.restart)
    cache = Path(args.cache) if args.cache else features
    with _taken_back([features, out, *out.parents]):
        trained = learn(
            architecture,
            recipe,
            data.training,
            data.development,
            out,
            cache,
            languages=languages,
            engine=engine,
            notes={"data": sources},
        )
    name = trainings.name_of(args.out)
    text = pairwise_card(name, architecture, recipe, trained, data.sources, data.drawn, args.argv)
    draw = (lambda: pairwise_curve(trained.checks, trained.best, name)) if plot else None
    trainings.end(out, trained.checks, text, draw)
    print(summary(args, trained, data, plot))
    say_poor(trained.checks[trained.best].tau, trained.feature_taus)
    say_unfinished(trained.checks, recipe.epochs)
    return 0


@contextmanager
def _taken_back(folders: Sequence[Path]) -> Iterator[None]:
    """Inside, an error that the user can mend leaves none of these folders behind, the innermost first, unless it was there
    before or holds the state of a training."""
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
    """Say if the model agrees with people no better than chance, or than one of the numbers that it reads."""
    best = max(feature_taus, key=lambda name: feature_taus[name], default=None)
    if tau <= 0:
        notice("the best epoch agrees with people no better than chance: this model has learned nothing of use")
    elif best is not None and feature_taus[best] >= tau:
        notice(f"{best} alone agrees with people no worse than this model: tau {feature_taus[best]:.4f}, and {tau:.4f}")


def say_unfinished(checks: "Sequence[Check]", epochs: int) -> None:
    """Say if the last epoch is better than all before it, and no more were allowed."""
    *before, last = checks
    if last.epoch == epochs and all(check.tau < last.tau for check in before):
        notice(f"the last epoch is the best: training was still improving; allow more than --epochs {epochs}")


def summary(args: Namespace, trained: "Trained", data: Data, plot: bool) -> str:
    """What the command prints in the end: the tau of the model and of each feature alone, and where the model is."""
    from ...training.card import use
    from ...training.pairwise.data import count_pairs
    from ..common.output import number, table

    best = trained.checks[trained.best]
    taus = {"pairwise": best.tau, **trained.feature_taus}
    learned, chosen = (
        f"{counted(pairs, 'pair', 'pairs')} of {counted(segments, 'segment', 'segments')}"
        for pairs, segments in map(count_pairs, (data.training, data.development))
    )
    files = ["model.safetensors", "config.json", trainings.CARD, trainings.CHECKS, *[trainings.CURVE] * plot]
    return "\n".join(
        [
            table(["Development pairs", "tau"], [[name, number(tau, 4, "-")] for name, tau in taus.items()]),
            "Tau counts a pair that is not told apart as wrong.",
            f"Learned from {learned}; chosen on {chosen}",
            f"Best epoch: {trained.best + 1} of {len(trained.checks)} (epoch {best.epoch} of the {best.phase} cost)",
            f"Model: {args.out} ({', '.join(files)})",
            *(f"Use: {line}" for line in use("pairwise", args.out)),
        ]
    )


def _read(args: Namespace, seed: int) -> Data:
    from ...training.pairwise.data import count_pairs, read_pair_sets, say_shared, split_by_segment

    options = trainings.data_options(args)
    training = read_pair_sets(args.train, options, args.threshold)
    sources = [trainings.source(path, count) for path, count in training.counts.items()]
    [share, *more] = args.dev
    if not more and isinstance(share, float):
        left, held = split_by_segment(training.sets, share, seed)
        (pairs, _), (whole, _) = count_pairs(held), count_pairs(training.sets)
        drawn = (
            f"{pairs:,} of the {whole:,} pairs are for development alone: a share of {share:g} of the source "
            "sentences, drawn by the seed. No source sentence and no reference is on both sides."
        )
        return Data(left, held, {"train": sources, "development": []}, drawn)
    development = read_pair_sets(args.dev, options, args.threshold)
    say_shared(training.sets, development.sets)
    chosen_on = [trainings.source(path, count) for path, count in development.counts.items()]
    return Data(training.sets, development.sets, {"train": sources, "development": chosen_on}, "")


def _languages(architecture: "Architecture", asked: bool, data: Data) -> "list[str] | None":
    """What the model is for; stops, or warns, before the embedded encoder reads another language than English."""
    from ...language import guard_english

    sets = [*data.training, *data.development]
    known = {judged.name: (judged.source_lang, judged.target_lang) for judged in sets}
    if not reads_encoder(architecture):
        return trainings.target_languages("none", known)
    if architecture.encoder == "embedded":
        for language in sorted({target for _, target in known.values() if target}):
            guard_english("train pairwise", "--encoder", asked, language, ())
        for judged in sets:
            if judged.target_lang is None:
                guard_english("", "", asked, None, judged.references[0])
    return trainings.target_languages(architecture.encoder, known)
