"""Train a metric on human judgements of your own, or on WMT's.

Learns from judged outputs with their references or sources, keeps the weights that agree best with people on development
data, and writes a folder that `sacrebleu -m NETWORK --NETWORK-model FOLDER` loads.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from ...flag_types import AtLeast0, File, Files, Folder, Languages, Positive, Share
from ...run.flags import add_engine_arguments, add_metric_arguments
from ...run.registry import metric_table
from ...settings import Part, add_all, from_flags, setting
from ...training.options import DataOptions
from ...training.quality.recipe import COMET, KINDS, PAPER, UNIFIED, Architecture, Recipe
from ..common import flags
from ..common.metrics import SACREBLEU, add_sacrebleu_arguments, metric_names
from ..common.trainings import Running, cache, check_pairs, run_resumable

CACHE_MB = 8192
INSTEAD = ("pairwise",)
USAGE = "%(prog)s NETWORK --train PATH[:WEIGHT[:ROWS]] [...] --dev PATH [...] --out FOLDER [flags]"
EPILOG = """\
NETWORK:
  bilstm, bilstmatt, esim   the networks of Mathur, Baldwin and Cohn (2019) over frozen embeddings
  comet                     the small regressor that comet and slide use by default; it trains in a minute
  pairwise                  which of two outputs is the better one, by Guzman et al. (2015); it has flags of its own, which
                            `ctx-metrics train pairwise --help` shows

--train and --dev take what `ctx-metrics meta` takes and has scores of segments, or better and worse outputs: DAseg folders,
mt-metrics-eval trees, MQM annotations, MLQE-PE, and any TSV or .jsonl with mt, score, and ref or src.

Stopped by Ctrl-C, a crash or a power cut, the same command goes on where it was, and ends with the same weights.

examples:
  # on judgements of your own, each a line of mt, ref, score and rater
  ctx-metrics train esim --train judged.tsv --dev held-out.tsv --out my-esim

  # WMT16 at full weight, MQM at a tenth; learned as an order too, and chosen by that of better and worse outputs
  ctx-metrics train bilstm --train DAseg-wmt-newstest2016:1 mqm.zh-en.tsv:0.1 -l cs-en de-en zh-en \\
      --loss mse+hinge --dev preferences.tsv --dev-metric darr --out my-bilstm

  # without references, on a multilingual encoder
  ctx-metrics train esim --inputs mt+src --encoder xlm-roberta-base --train mlqe.tsv --dev mlqe-dev.tsv --out my-qe

  # a small network that imitates a big one
  ctx-metrics train esim --teacher comet --comet-model Unbabel/wmt22-unite-da --comet-inputs mt+ref --train texts.tsv \\
      --dev dev.tsv --out small
"""
# what `comet` has not, and why
NOT_OF_COMET = {
    "projection": "which has no projection",
    "pooling": "which pools in its own way",
    "max_length": "which reads all that its encoder does",
    "cache": "which keeps no states of tokens",
    "rank": "which changes its encoder with --inputs alone",
    "init_share": "which writes what it learned; with --inputs it can keep a part of the first weights",
}
NOT_OF_NETWORKS = {"rank": "which leaves its encoder as it is", "init_share": "which writes what it learned"}
NOT_OF_UNIFIED = {
    **{name: why for name, why in NOT_OF_COMET.items() if name in ("projection", "pooling", "cache")},
    "layers": "which mixes all of them with --inputs",
    "hidden": "which has no BiLSTM",
    "dropout": "whose rate is fixed with --inputs",
    "teacher": "which learns from people with --inputs",
}


@dataclass(frozen=True)
class Data:
    """The network, what it learns from, and what its weights are chosen on."""

    kind: str = setting(f"One of {', '.join(KINDS)}; or pairwise, before all flags.", flag="NETWORK", choices=KINDS)
    train: Files = setting(
        "What to learn from; each row of a path counts WEIGHT times in the loss (default: 1), and at most ROWS rows of each "
        "of its data sets are taken, in whole documents or segments.",
        group="data",
        required=True,
        metavar="PATH[:WEIGHT[:ROWS]]",
    )
    dev: Files = setting(
        "What the weights are chosen on: those are kept that agree best with people here. Not to be trained on, nor to be "
        "tested on.",
        required=True,
        metavar="PATH",
    )
    dev_metric: Literal["pearson", "darr"] = setting(
        "Agreement, the mean over the data sets of --dev: Pearson's r, or WMT's tau over pairs of a better and a worse "
        "output of a segment.",
        "pearson",
    )
    dev_threshold: AtLeast0 | None = setting(
        "Least difference of two human scores that makes a pair of darr; WMT takes 25 points of 100. (Default: any)"
    )
    normalise: Literal["annotator", "file", "none"] = setting(
        "Human scores to z-scores: of each annotator within a data set, where annotators are named; of each data set; or "
        "scores as they are.",
        "annotator",
    )
    average: bool = setting(
        "Average an output's judgements to one row; else each is a row, as many noisy rows teach more than few clean.",
        False,
    )
    keep_humans: bool = setting(
        "Learn from human translations among the systems too, but for one that is the reference. (Default: they are left "
        "out)",
        False,
    )
    no_mqm_root: bool = setting("Learn penalties such as MQM's as they are; else as minus their root.", False)
    window: Positive | None = setting(
        "Learn also from windows of 2 to N consecutive sentences of a document, with their mean score: for slide."
    )
    rows: Positive | None = setting("Learn from N of the rows, drawn by --seed. (Default: all)")
    no_text_checks: bool = flags.text_checks()
    teacher: Annotated[str, str.lower, "METRIC"] | None = setting(
        "Learn this metric's scores of the training texts, as z-scores, in place of people's; a score column may be empty "
        "then. With mt+src the teacher reads sources alone. Its own flags are shown by `--teacher METRIC --help`.",
        choices=metric_names,
    )
    teacher_scores: Annotated[str, "FILE"] | None = setting(
        "Keep the teacher's scores here, or read them from here if the file is there, for several networks that learn from "
        "the same texts."
    )


@dataclass(frozen=True)
class Model:
    """What the model begins as, and what it is for."""

    init: Folder | None = setting("Start from a trained model of the same network and sizes: a folder, or embedded.")
    init_share: Share | None = setting(
        "What part of the weights of --init the written ones keep, from 0 to 1: .5 writes the mean of these and of the "
        "learned ones, which is often better than both. (Default: none)"
    )
    languages: Languages | None = setting(
        "What the model is for, as its card and config.json say. (Default: the data's target languages, as far as its names "
        "tell; en with the embedded encoder)"
    )


@dataclass(frozen=True)
class Cached(Running):
    """What is kept of the encoder, and what is drawn."""

    cache: File | None = cache("the encoder's states of all texts", "on the same encoder and layers")
    cache_mb: Positive = setting(
        "Most disk that they take, in MiB; texts beyond it are encoded again in each epoch.", CACHE_MB
    )
    no_plot: bool = setting("Draw no learning curve.", False)


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    """Add all flags; of the teacher, if this command line names one, its own."""
    table = metric_table()
    parts: Sequence[Part] = [
        Data,
        DataOptions,
        (Architecture, {"": Architecture("")}),
        Model,
        (Recipe, {"": PAPER, "comet": COMET, "comet --inputs": UNIFIED}),
        Cached,
        flags.quiet(),
        ("engine of the encoder", add_engine_arguments),
    ]
    add_all(parser, parts)
    teacher, own = teacher_of(argv), []
    if teacher in table.plugins:
        own = add_metric_arguments(parser, teacher, table)
    elif teacher in SACREBLEU:
        own = add_sacrebleu_arguments(parser, [teacher])[teacher]
    parser.set_defaults(own={teacher: own}, table=table)


def teacher_of(argv: Sequence[str]) -> str | None:
    """The metric that --teacher names, before anything is parsed.

    >>> teacher_of(["esim", "--teacher", "COMET"]), teacher_of(["--teacher=bleu"]), teacher_of(["comet"])
    ('comet', 'bleu', None)
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--teacher", nargs="?", type=str.lower)
    return parser.parse_known_args(argv)[0].teacher


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    check(args)
    return run_resumable(args, ".train.quality")


def check(args: Namespace) -> None:
    """Exit with 2, as argparse does, where flags contradict each other."""
    error = args.parser.error
    unified = args.kind == "comet" and "inputs" in args
    refused = NOT_OF_UNIFIED if unified else NOT_OF_COMET if args.kind == "comet" else NOT_OF_NETWORKS
    for name, why in refused.items():
        if getattr(args, name, None) is not None:
            error(f"--{name.replace('_', '-')} is not for {args.kind}, {why}")
    if getattr(args, "inputs", "") == "mt+src+ref" and args.kind != "comet":
        error(f"{args.kind} reads mt+ref or mt+src; train comet on both")
    if args.window == 1:
        error("--window 1: a window has at least 2 sentences")
    if args.dev_threshold is not None and args.dev_metric != "darr":
        error("--dev-threshold is for --dev-metric darr")
    if args.init_share is not None and not args.init:
        error("--init-share keeps a part of the weights of --init; name those")
    if args.teacher_scores and not args.teacher:
        error("--teacher-scores is for --teacher METRIC")
    check_pairs(args)
    for path in args.dev:
        name, _, _weight = path.rpartition(":")
        if os.path.exists(name) and not os.path.exists(path):
            error(f"--dev {path}: only --train takes weights; name {name}")
    if "margin" in args and "hinge" not in recipe_of(args).loss:
        error("--margin is for --loss hinge and mse+hinge")


def recipe_of(args: Namespace) -> Recipe:
    """The network's usual recipe, with what the command line says in its place."""
    usual = PAPER if args.kind != "comet" else UNIFIED if "inputs" in args else COMET
    return from_flags(Recipe, args, usual=usual)
