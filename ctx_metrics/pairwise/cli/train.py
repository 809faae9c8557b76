"""Train the metric pairwise, which predicts the better one of two outputs.

Learns from pairs of a better and a worse output, made of human judgements, keeps the weights of the epoch that agrees best
with people on other pairs, and writes a folder that `sacrebleu -m pairwise --pairwise-model FOLDER` and
`ctx-metrics pairwise rank --model FOLDER` load.
"""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from ...cli.common import flags
from ...engine.options import EngineOptions
from ...flag_types import AtLeast0, File, Files, Folder, Name, file_or_share
from ...meta.judgements.options import DataOptions
from ...settings import from_flags, setting
from ...training.cli.trainings import Running, cache, check_pairs, run_resumable
from ..training.recipe import MODERN, PAPER, RECIPES, Architecture, PairwiseRecipe

USAGE = "%(prog)s pairwise --train PATH [...] --dev PATH [...] | SHARE --out FOLDER [flags]"
EPILOG = """\
--train and --dev take data of `ctx-metrics meta` with scores of segments, or with better and worse outputs: DAseg folders,
mt-metrics-eval trees, MQM annotations, WMT13 rankings (with --outputs and --reference), lists of better and worse outputs,
and any TSV or .jsonl with mt, score and ref, where outputs of one src and ref are compared.

After Ctrl-C, a crash or a power cut, run the same command again: it continues where it stopped.

examples:
  # better and worse outputs; a tenth of the source sentences chooses the epoch
  ctx-metrics train pairwise --train preferences.tsv --dev 0.1 --out my-pairwise

  # the paper's logistic regression over BLEU, NIST, TER and METEOR, with chrF as a fifth
  ctx-metrics train pairwise --train preferences.tsv --dev dev.tsv --features 4metrics chrf --vectors none --hidden 0 \\
      --out my-regression

  # WMT13's rankings, in minutes; word vectors beside the encoder's
  ctx-metrics train pairwise --train fr-en-rankings.csv --outputs newstest2013/fr-en --reference newstest2013-ref.en \\
      --dev 0.1 --vectors encoder@3:25 glove.6B.50d.txt --recipe modern --out my-pairwise
"""


@dataclass(frozen=True)
class Pairs:
    kind: str = setting("The network.", flag="pairwise", choices=["pairwise"])
    train: Files = setting(
        "Human judgements to learn from; they are turned into pairs of a better and a worse output.",
        group="data",
        required=True,
        metavar="PATH",
    )
    dev: Annotated[Sequence[str | float], file_or_share] = setting(
        "Development data, which chooses the best epoch: judgements that are neither trained nor tested on, or a "
        "share of --train's source sentences such as 0.1, drawn by --seed.",
        required=True,
        metavar="PATH|SHARE",
    )


@dataclass(frozen=True)
class Data(DataOptions):
    """Flags for the judgements to read, including rankings, and for the outputs to pair."""

    reference: Name | None = setting(
        "Reference to use. In a tree: its name, such as refA. In MQM annotations: the human translation. With "
        "rankings: the reference file."
    )
    outputs: Folder | None = setting("With rankings: the folder of the systems' outputs.")
    no_text_checks: bool = flags.text_checks()
    threshold: AtLeast0 | None = setting(
        "Least difference of two human scores of a segment that makes them a pair; preferences and rankings already "
        "are pairs. (Default: 25 for scores of 0 to 100, as at WMT; any for others, such as z-scores and MQM)"
    )


@dataclass(frozen=True)
class Way:
    """The flag for the recipe that the other flags modify."""

    recipe: Literal["paper", "modern"] = setting(
        "paper: Adagrad and a fixed number of epochs, as in Guzman et al. (2015); modern: AdamW with larger steps "
        "and early stopping.",
        "paper",
        group="training",
    )


@dataclass(frozen=True)
class Cached(Running):
    """Flags for the cache and the plot."""

    cache: File | None = cache("features and sentence vectors", "on the same texts")
    no_plot: bool = setting("Draw no learning curve.", False)


FLAGS = [
    Pairs,
    Data,
    (Architecture, {"": Architecture()}),
    Way,
    (PairwiseRecipe, {"": PAPER, "modern": MODERN}),
    Cached,
    flags.quiet(),
    ("engine of the encoder", EngineOptions),
]


def run(args: Namespace) -> int:
    check(args)
    return run_resumable(args, f"{__package__}.pairs")


def check(args: Namespace) -> None:
    """Exit with status 2, as argparse does, if flags contradict each other."""
    error, network = args.parser.error, architecture_of(args)
    if len(args.dev) > 1 and any(isinstance(each, float) for each in args.dev):
        error("--dev takes files and folders, or one share of --train, not both")
    check_pairs(args)
    for name in ("features", "vectors"):
        if "none" in getattr(network, name):
            error(f"--{name} none cannot be combined with other values; leave the others out")
    if not network.features and not network.vectors:
        error("--features none and --vectors none leave nothing to read; give one of them")
    if "encoder" in args and not reads_encoder(network):
        error("--encoder works only with --vectors encoder")
    if network.tied and not (network.hidden and network.vectors):
        error("--tied needs a hidden layer over sentence vectors (--hidden, --vectors)")
    for name in ("beta", "gamma"):
        if name in args and "kendall" not in recipe_of(args).cost:
            error(f"--{name} works only with --cost kendall and logistic+kendall")


def architecture_of(args: Namespace) -> Architecture:
    """Return the architecture that the command line asks for; "none" by itself means no features, or no vectors."""
    network = from_flags(Architecture, args)
    features, vectors = (() if [*each] == ["none"] else tuple(each) for each in (network.features, network.vectors))
    return replace(network, features=features, vectors=vectors)


def reads_encoder(network: Architecture) -> bool:
    """Whether any source of sentence vectors is the encoder, as is the default of --vectors."""
    return any(each.startswith("encoder") for each in network.vectors)


def recipe_of(args: Namespace) -> PairwiseRecipe:
    """Return the recipe that --recipe names, changed by the other flags."""
    return from_flags(PairwiseRecipe, args, usual=RECIPES[args.recipe])
