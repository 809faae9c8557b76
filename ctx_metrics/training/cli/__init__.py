"""Train a metric on human judgements of your own, or on WMT's.

Learns from judged outputs with their references or sources, keeps the weights that agree best with people on development
data, and writes a folder that `sacrebleu -m NETWORK --NETWORK-model FOLDER` loads.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from ...cli.common import flags
from ...cli.common.metrics import SACREBLEU, add_sacrebleu_arguments, metric_names
from ...engine.options import EngineOptions
from ...flag_types import AtLeast0, File, Files, Folder, Languages, Positive, Share
from ...meta.judgements.options import DataOptions
from ...run.flags import add_metric_arguments
from ...run.registry import metric_table
from ...settings import Part, add_all, from_flags, setting
from ..quality.recipe import COMET, KINDS, PAPER, UNIFIED, Architecture, Recipe
from .trainings import Running, cache, check_pairs, run_resumable

SUMMARY = "train a metric on human judgements"

CACHE_MB = 8192
USAGE = "%(prog)s NETWORK --train PATH[:WEIGHT[:ROWS]] [...] --dev PATH [...] --out FOLDER [flags]"
EPILOG = """\
NETWORK:
  bilstm, bilstmatt, esim   the networks of Mathur, Baldwin and Cohn (2019) over frozen embeddings
  comet                     the small regressor that comet and slide use by default; it trains in a minute
  pairwise                  which of two outputs is the better one, by Guzman et al. (2015); it has flags of its own, which
                            `ctx-metrics train pairwise --help` shows

--train and --dev take data of `ctx-metrics meta` with scores of segments, or with better and worse outputs: DAseg folders,
mt-metrics-eval trees, MQM annotations, MLQE-PE, and any TSV or .jsonl with mt, score, and ref or src.

After Ctrl-C, a crash or a power cut, run the same command again: it continues where it stopped.

examples:
  # on judgements of your own, one per line with mt, ref, score and rater
  ctx-metrics train esim --train judged.tsv --dev held-out.tsv --out my-esim

  # WMT16 at full weight, MQM at a tenth; a loss that also ranks outputs; tau over preferences chooses the weights
  ctx-metrics train bilstm --train DAseg-wmt-newstest2016:1 mqm.zh-en.tsv:0.1 -l cs-en de-en zh-en \\
      --loss mse+hinge --dev preferences.tsv --dev-metric darr --out my-bilstm

  # without references, on a multilingual encoder
  ctx-metrics train esim --inputs mt+src --encoder xlm-roberta-base --train mlqe.tsv --dev mlqe-dev.tsv --out my-qe

  # a small network that imitates a big one
  ctx-metrics train esim --teacher comet --comet-model Unbabel/wmt22-unite-da --comet-inputs mt+ref --train texts.tsv \\
      --dev dev.tsv --out small
"""
# flags that do not apply to `comet`, and why
NOT_OF_COMET = {
    "projection": "which has no projection",
    "pooling": "which has its own pooling",
    "max_length": "which reads as many tokens as its encoder",
    "cache": "which does not keep states of tokens",
    "rank": "which changes its encoder only with --inputs",
    "init_share": "which writes the learned weights; with --inputs it can keep a share of the first weights",
}
NOT_OF_NETWORKS = {"rank": "which does not change its encoder", "init_share": "which writes the learned weights"}
NOT_OF_UNIFIED = {
    **{name: why for name, why in NOT_OF_COMET.items() if name in ("projection", "pooling", "cache")},
    "layers": "which mixes all of them with --inputs",
    "hidden": "which has no BiLSTM",
    "dropout": "whose rate is fixed with --inputs",
    "teacher": "which learns from people with --inputs",
}


@dataclass(frozen=True)
class Data:
    """Flags for the network, the training data, and the development data."""

    kind: str = setting(f"One of {', '.join(KINDS)}; or pairwise, before all flags.", flag="NETWORK", choices=KINDS)
    train: Files = setting(
        "Training data. Each row of a path counts WEIGHT times in the loss (default: 1); at most ROWS rows of each "
        "of its data sets are used, in whole documents or segments.",
        group="data",
        required=True,
        metavar="PATH[:WEIGHT[:ROWS]]",
    )
    dev: Files = setting(
        "Development data: the weights that agree best with people here are kept. Do not train or test on it.",
        required=True,
        metavar="PATH",
    )
    dev_metric: Literal["pearson", "darr"] = setting(
        "Measure of agreement, averaged over the data sets of --dev: Pearson's r, or WMT's tau over pairs of a "
        "better and a worse output of a segment.",
        "pearson",
    )
    dev_threshold: AtLeast0 | None = setting(
        "Least difference of two human scores that makes a pair for darr; WMT uses 25 points of 100. (Default: any)"
    )
    normalise: Literal["annotator", "file", "none"] = setting(
        "Turn human scores into z-scores: for each annotator within a data set, if annotators are named; for each "
        "data set; or not at all.",
        "annotator",
    )
    average: bool = setting(
        "Average the judgements of an output to one row. By default each judgement is a row, because many noisy "
        "rows teach more than few clean ones.",
        False,
    )
    keep_humans: bool = setting(
        "Learn also from human translations among the systems, except the reference. (Default: they are left out)",
        False,
    )
    no_mqm_root: bool = setting("Learn penalties such as MQM's unchanged. (Default: as minus their square root)", False)
    window: Positive | None = setting(
        "Learn also from windows of 2 to N consecutive sentences of a document, with their mean score: for slide."
    )
    rows: Positive | None = setting("Learn only from N rows, drawn by --seed. (Default: all)")
    no_text_checks: bool = flags.text_checks()
    teacher: Annotated[str, str.lower, "METRIC"] | None = setting(
        "Learn this metric's scores of the training texts, as z-scores, instead of human scores; the score column "
        "may then be empty. With mt+src the teacher reads only sources. `--teacher METRIC --help` shows its own flags.",
        choices=metric_names,
    )
    teacher_scores: Annotated[str, "FILE"] | None = setting(
        "Keep the teacher's scores here, or read them from here if the file is there, for several networks that learn from "
        "the same texts."
    )


@dataclass(frozen=True)
class Model:
    """Flags for the model's initial weights and its languages."""

    init: Folder | None = setting("Start from a trained model of the same network and sizes: a folder, or embedded.")
    init_share: Share | None = setting(
        "Share of the weights of --init in the written weights, from 0 to 1: .5 writes the mean of the first and "
        "the learned weights, which is often better than both. (Default: none)"
    )
    languages: Languages | None = setting(
        "Languages of the model, written to its card and config.json. (Default: the target languages in the names "
        "of the data; en with the embedded encoder)"
    )


@dataclass(frozen=True)
class Cached(Running):
    """Flags for the cache and the plot."""

    cache: File | None = cache("the encoder's states of all texts", "on the same encoder and layers")
    cache_mb: Positive = setting(
        "Maximum disk space for --cache, in MiB; texts beyond it are encoded again in each epoch.", CACHE_MB
    )
    no_plot: bool = setting("Draw no learning curve.", False)


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    """Add all flags, including those of the teacher if the command line names one."""
    table = metric_table()
    parts: Sequence[Part] = [
        Data,
        DataOptions,
        (Architecture, {"": Architecture("")}),
        Model,
        (Recipe, {"": PAPER, "comet": COMET, "comet --inputs": UNIFIED}),
        Cached,
        flags.quiet(),
        ("engine of the encoder", EngineOptions),
    ]
    add_all(parser, parts)
    teacher, own = teacher_of(argv), []
    if teacher in table.plugins:
        own = add_metric_arguments(parser, teacher, table)
    elif teacher in SACREBLEU:
        own = add_sacrebleu_arguments(parser, [teacher])[teacher]
    parser.set_defaults(own={teacher: own})


def teacher_of(argv: Sequence[str]) -> str | None:
    """Return the metric that --teacher names, before the command line is parsed.

    >>> teacher_of(["esim", "--teacher", "COMET"]), teacher_of(["--teacher=bleu"]), teacher_of(["comet"])
    ('comet', 'bleu', None)
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--teacher", nargs="?", type=str.lower)
    return parser.parse_known_args(argv)[0].teacher


def run(args: Namespace) -> int:
    check(args)
    return run_resumable(args, f"{__package__}.quality")


def check(args: Namespace) -> None:
    """Exit with status 2, as argparse does, if flags contradict each other."""
    error = args.parser.error
    unified = args.kind == "comet" and "inputs" in args
    refused = NOT_OF_UNIFIED if unified else NOT_OF_COMET if args.kind == "comet" else NOT_OF_NETWORKS
    for name, why in refused.items():
        if getattr(args, name, None) is not None:
            error(f"--{name.replace('_', '-')} is not for {args.kind}, {why}")
    if getattr(args, "inputs", "") == "mt+src+ref" and args.kind != "comet":
        error(f"{args.kind} reads mt+ref or mt+src; for mt+src+ref train comet")
    if args.window == 1:
        error("--window 1: a window has at least 2 sentences")
    if args.dev_threshold is not None and args.dev_metric != "darr":
        error("--dev-threshold works only with --dev-metric darr")
    if args.init_share is not None and not args.init:
        error("--init-share keeps a share of the weights of --init; give --init too")
    if args.teacher_scores and not args.teacher:
        error("--teacher-scores works only with --teacher METRIC")
    check_pairs(args)
    for path in args.dev:
        name, _, _weight = path.rpartition(":")
        if os.path.exists(name) and not os.path.exists(path):
            error(f"--dev {path}: only --train takes weights; name {name}")
    if "margin" in args and "hinge" not in recipe_of(args).loss:
        error("--margin works only with --loss hinge and mse+hinge")


def recipe_of(args: Namespace) -> Recipe:
    """Return the network's default recipe, changed by the other flags."""
    usual = PAPER if args.kind != "comet" else UNIFIED if "inputs" in args else COMET
    return from_flags(Recipe, args, usual=usual)
