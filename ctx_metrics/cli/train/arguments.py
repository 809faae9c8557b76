"""The flags of `ctx-metrics train`."""

import os
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Sequence
from itertools import pairwise
from os.path import expanduser
from typing import Any

from ...flag_types import (
    above_0,
    add_text_arguments,
    at_least_0,
    languages,
    layers,
    patience,
    positive,
    seed,
    share,
)
from ...run.flags import add_engine_arguments, add_metric_arguments
from ...run.registry import MetricTable
from ...training.quality.recipe import COMET, LOSSES, PAPER, SCHEDULES, Recipe
from ..common import trainings
from ..common.sacrebleu_arguments import FLAGS, add_sacrebleu_arguments

KINDS = ("bilstm", "bilstmatt", "esim", "comet")  # training.quality.learn has them too, and takes torch
CACHE_MB = 8192
USAGE = "%(prog)s NETWORK --train PATH[:WEIGHT] [...] --dev PATH [...] --out FOLDER [flags]"
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
}


def add_arguments(parser: ArgumentParser, argv: Sequence[str], table: MetricTable) -> None:
    """Add all flags; of the teacher, if this command line names one, its own."""
    parser.usage, parser.epilog = USAGE, EPILOG
    parser.add_argument(
        "network", choices=KINDS, metavar="NETWORK", help=f"One of {', '.join(KINDS)}; or pairwise, before all flags."
    )
    _add_data(parser.add_argument_group("data"), table)
    _add_network(parser.add_argument_group("network"))
    _add_training(parser.add_argument_group("training"))
    running = parser.add_argument_group("running")
    add_running_arguments(running, "the encoder's states of all texts", "on the same encoder and layers")
    running.add_argument(
        "--cache-mb",
        type=positive,
        default=CACHE_MB,
        metavar="N",
        help="Most disk that they take, in MiB; texts beyond it are encoded again in each epoch. (Default: %(default)s)",
    )
    add_engine_arguments(parser.add_argument_group("engine of the encoder"))
    teacher, own = teacher_of(argv), []
    if teacher in table.plugins:
        own = add_metric_arguments(parser, teacher, table)
    elif teacher in FLAGS:
        own = add_sacrebleu_arguments(parser, [teacher])[teacher]
    parser.set_defaults(teacher_flags=own, table=table)


def teacher_of(argv: Sequence[str]) -> str | None:
    """The metric that --teacher names, before anything is parsed.

    >>> teacher_of(["esim", "--teacher", "COMET"]), teacher_of(["--teacher=bleu"]), teacher_of(["comet"])
    ('comet', 'bleu', None)
    """
    for word, following in pairwise([*argv, ""]):
        flag, equals, value = word.partition("=")
        if len(flag) > 3 and "--teacher".startswith(flag):
            return (value if equals else following).lower()
    return None


def check(args: Namespace) -> None:
    """Exit with 2, as argparse does, where flags contradict each other."""
    error = args.parser.error
    if args.network == "comet":
        for name, why in NOT_OF_COMET.items():
            if getattr(args, name) is not None:
                error(f"--{name.replace('_', '-')} is not for comet, {why}")
        if args.inputs == "mt+src":
            error("comet reads mt+ref; train bilstm, bilstmatt or esim on mt+src")
    if args.dev_threshold is not None and args.dev_metric != "darr":
        error("--dev-threshold is for --dev-metric darr")
    if args.teacher_scores and not args.teacher:
        error("--teacher-scores is for --teacher METRIC")
    for pair in args.language_pair or ():
        if not all(pair.partition("-")):
            error(f"-l {pair}: no language pair such as de-en")
    for path in args.dev:
        name, _, _weight = path.rpartition(":")
        if os.path.exists(name) and not os.path.exists(path):
            error(f"--dev {path}: only --train takes weights; name {name}")
    if args.margin is not None and "hinge" not in recipe_of(args).loss:
        error("--margin is for --loss hinge and mse+hinge")


def recipe_of(args: Namespace) -> Recipe:
    """The network's usual recipe, with what the command line says in its place."""
    return trainings.recipe_of(args, COMET if args.network == "comet" else PAPER)


def _add_data(group: _ArgumentGroup, table: MetricTable) -> None:
    group.add_argument(
        "--train",
        nargs="+",
        action="extend",
        required=True,
        type=expanduser,
        metavar="PATH[:WEIGHT]",
        help="What to learn from; each row of a path counts WEIGHT times in the loss. (Default: 1)",
    )
    group.add_argument(
        "--dev",
        nargs="+",
        action="extend",
        required=True,
        type=expanduser,
        metavar="PATH",
        help="What the weights are chosen on: those are kept that agree best with people here. Not to be trained on, nor "
        "to be tested on.",
    )
    group.add_argument(
        "--dev-metric",
        choices=["pearson", "darr"],
        default="pearson",
        help="Agreement, the mean over the data sets of --dev: Pearson's r, or WMT's tau over pairs of a better and a "
        "worse output of a segment. (Default: %(default)s)",
    )
    group.add_argument(
        "--dev-threshold",
        type=at_least_0,
        metavar="X",
        help="Least difference of two human scores that makes a pair of darr; WMT takes 25 points of 100. (Default: any)",
    )
    add_language_pairs(group)
    group.add_argument(
        "--inputs",
        choices=["mt+ref", "mt+src"],
        default="mt+ref",
        help="What is read beside the output: its reference or its source. (Default: %(default)s)",
    )
    group.add_argument(
        "--normalise",
        choices=["annotator", "file", "none"],
        default="annotator",
        help="Human scores to z-scores: of each annotator within a data set, where annotators are named; of each data set; "
        "or scores as they are. (Default: %(default)s)",
    )
    group.add_argument(
        "--average",
        action="store_true",
        help="Average an output's judgements to one row; else each is a row, as many noisy rows teach more than few clean.",
    )
    group.add_argument(
        "--no-mqm-root",
        action="store_true",
        help="Learn penalties such as MQM's as they are; else as minus their root.",
    )
    add_layout_arguments(group)
    group.add_argument(
        "--rows", type=positive, metavar="N", help="Learn from N of the rows, drawn by --seed. (Default: all)"
    )
    group.add_argument(
        "--teacher",
        type=str.lower,
        choices=[name.lower() for name in table],
        metavar="METRIC",
        help="Learn this metric's scores of the training texts, as z-scores, in place of people's; a score column may "
        "be empty then. With mt+src the teacher reads sources alone. Its own flags are shown by `--teacher METRIC --help`.",
    )
    group.add_argument(
        "--teacher-scores",
        metavar="FILE",
        help="Keep the teacher's scores here, or read them from here if the file is there, for several networks that "
        "learn from the same texts.",
    )


def add_language_pairs(group: _ArgumentGroup) -> None:
    """The flag of the language pairs that are learned from."""
    group.add_argument(
        "-l",
        "--language-pair",
        nargs="+",
        action="extend",
        metavar="PAIR",
        help="Language pairs to take, such as zh-en; one names that of files whose own names do not. (Default: all)",
    )


def add_layout_arguments(group: _ArgumentGroup, or_rankings: str = "") -> None:
    """What of a data set is read; `or_rankings` is what --reference says of rankings."""
    group.add_argument(
        "--human", default="mqm", metavar="NAME", help="Human scores of a tree: mqm, wmt-z, ... (Default: %(default)s)"
    )
    group.add_argument(
        "--reference",
        metavar="NAME",
        help="Reference of a tree, such as refA; of MQM annotations the human translation to take as reference"
        f"{or_rankings}.",
    )
    group.add_argument("--score-column", metavar="NAME", help="Column of the human score in a TSV. (Default: score)")
    add_text_arguments(group)


def _add_network(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--encoder",
        metavar="MODEL",
        help="embedded, a folder, or a hub name[@revision]; it is not trained. (Default: embedded, English only)",
    )
    group.add_argument(
        "--layers",
        type=layers,
        metavar="K,...",
        help="Layers of the encoder to read, 0 the embeddings. (Default: all but 0; comet: three of them)",
    )
    group.add_argument(
        "--max-length", type=positive, metavar="N", help="Tokens kept of a text. (Default: 100, as the paper has it)"
    )
    group.add_argument(
        "--hidden",
        type=positive,
        metavar="N",
        help="Width of a BiLSTM in each direction; of comet's alignment branch. (Default: the paper's 300; comet: 32)",
    )
    group.add_argument("--projection", type=positive, metavar="N", help="Width of esim's projection. (Default: 300)")
    group.add_argument(
        "--feedforward",
        type=positive,
        metavar="N",
        help="Width of the last layer but one; of comet's pooled branch. (Default: 300; comet: 64)",
    )
    group.add_argument(
        "--pooling", choices=["both", "avg", "max"], help="Of tokens: their average, maximum, or both. (Default: both)"
    )
    group.add_argument("--dropout", type=share, metavar="P", help="(Default: the paper's 0.5; comet: 0.1)")
    group.add_argument(
        "--init",
        type=expanduser,
        metavar="FOLDER",
        help="Start from a trained model of the same network and sizes: a folder, or embedded.",
    )
    group.add_argument(
        "--languages",
        type=languages,
        metavar="CODE,...",
        help="What the model is for, as its card and config.json say. (Default: the data's target languages, as far as its "
        "names tell; en with the embedded encoder)",
    )


def _add_training(group: _ArgumentGroup) -> None:
    add = recipe_flag(group, PAPER, COMET, "comet")
    add("loss", "Squared error, a hinge on pairs of outputs of a segment, or their sum.", choices=LOSSES)
    add("margin", "Of the hinge, in standard deviations.", type=above_0, metavar="X")
    add("learning-rate", "Adam's, at its highest.", type=above_0, metavar="X")
    add(
        "schedule",
        "plateau: half the rate after each check that is no better than the best. linear: up over a tenth of all steps, "
        "then down to 0.",
        choices=SCHEDULES,
    )
    add("batch", "Rows of a step.", type=positive, metavar="N")
    add("epochs", "Most epochs.", type=positive, metavar="N")
    add(
        "patience",
        "Checks in a row without a better one that end the training; none: never.",
        type=patience,
        metavar="N",
    )
    group.add_argument(
        "--check-rows",
        type=positive,
        metavar="N",
        help="Rows between two checks on --dev, beside those at the end of each epoch. (Default: none)",
    )
    add("clip", "Longest gradient.", type=above_0, metavar="X")
    add("weight-decay", "AdamW's.", type=at_least_0, metavar="X")
    add("seed", "Of first weights, order, dropout and --rows.", type=seed, metavar="N")


def recipe_flag(group: _ArgumentGroup, usual: object, other: object, name_of_other: str) -> Callable[..., None]:
    """What adds the flag of a recipe's setting to a group, with the defaults of two recipes at the end of its help."""

    def add(name: str, what: str, **options: Any) -> None:
        default, of_other = (str(getattr(recipe, name.replace("-", "_"))) for recipe in (usual, other))
        said = default if default == of_other else f"{default}; {name_of_other}: {of_other}"
        group.add_argument(f"--{name}", help=f"{what} (Default: {said})".replace("None", "none"), **options)

    return add


def add_running_arguments(group: _ArgumentGroup, cached: str, others: str) -> None:
    """The flags of where a model goes and how its training runs; `cached` is kept for `others` of the trainings."""
    group.add_argument(
        "--out",
        required=True,
        type=expanduser,
        metavar="FOLDER",
        help="The model's folder; while it trains, its state.",
    )
    group.add_argument(
        "--overwrite", action="store_true", help="Replace the model that --out holds, once this one is done."
    )
    group.add_argument(
        "--restart", action="store_true", help="Throw away the state of a training that was stopped, and begin anew."
    )
    group.add_argument(
        "--cache",
        type=expanduser,
        metavar="FOLDER",
        help=f"Keep {cached} here, for other trainings {others}. (Default: in --out, until the training is done)",
    )
    group.add_argument("--no-plot", action="store_true", help="Draw no learning curve.")
    group.add_argument("-q", "--quiet", action="store_true", help="No progress bars.")
