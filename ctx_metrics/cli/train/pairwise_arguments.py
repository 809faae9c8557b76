"""The flags of `ctx-metrics train pairwise`."""

from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace, _ArgumentGroup
from os.path import expanduser

from ...flag_types import above_0, at_least_0, file_or_share, patience, positive, seed
from ...run.flags import add_engine_arguments
from ...training.pairwise.recipe import COSTS, MODERN, OPTIMISERS, PAPER, RECIPES, PairwiseRecipe
from ..common import trainings
from .arguments import add_language_pairs, add_layout_arguments, add_running_arguments, recipe_flag

NONE = ["none"]
MOST_UNITS = 10_000
USAGE = "%(prog)s pairwise --train PATH [...] --dev PATH [...] | SHARE --out FOLDER [flags]"
EPILOG = """\
--train and --dev take what `ctx-metrics meta` takes and has scores of segments, or better and worse outputs: DAseg folders,
mt-metrics-eval trees, MQM annotations, WMT13 rankings (with --outputs and --reference), lists of better and worse outputs,
and any TSV or .jsonl with mt, score and ref, where outputs of one src and ref are compared.

Stopped by Ctrl-C, a crash or a power cut, the same command goes on where it was, and ends with the same weights.

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


def add_arguments(parser: ArgumentParser) -> None:
    """Add all flags."""
    parser.usage, parser.epilog = USAGE, EPILOG
    parser.add_argument("network", choices=["pairwise"], metavar="pairwise", help="The network.")
    _add_data(parser.add_argument_group("data"))
    _add_network(parser.add_argument_group("network"))
    _add_training(parser.add_argument_group("training"))
    add_running_arguments(parser.add_argument_group("running"), "features and sentence vectors", "on the same texts")
    add_engine_arguments(parser.add_argument_group("engine of the encoder"))


def check(args: Namespace) -> None:
    """Exit with 2, as argparse does, where flags contradict each other."""
    error = args.parser.error
    if len(args.dev) > 1 and any(isinstance(each, float) for each in args.dev):
        error("--dev takes files and folders, or one share of --train, not both")
    for pair in args.language_pair or ():
        if not all(pair.partition("-")):
            error(f"-l {pair}: no language pair such as de-en")
    for name in ("features", "vectors"):
        if "none" in (given := getattr(args, name) or ()) and given != NONE:
            error(f"--{name} none stands alone")
    if args.features == NONE == args.vectors:
        error("--features none and --vectors none leave nothing to read")
    if args.encoder is not None and not reads_encoder(args):
        error("--encoder is for --vectors encoder")
    if args.tied and (args.hidden == 0 or args.vectors == NONE):
        error("--tied is for a hidden layer over sentence vectors")
    for name in ("beta", "gamma"):
        if getattr(args, name) is not None and "kendall" not in recipe_of(args).cost:
            error(f"--{name} is for --cost kendall and logistic+kendall")


def specs(given: list[str] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """What --features or --vectors name; () for none.

    >>> specs(["chrf", "ter"], ("4metrics",)), specs(["none"], ("4metrics",)), specs(None, ("4metrics",))
    (('chrf', 'ter'), (), ('4metrics',))
    """
    return default if given is None else () if given == NONE else tuple(given)


def reads_encoder(args: Namespace) -> bool:
    """Whether a source of sentence vectors is the encoder, as those are that --vectors takes by default."""
    return args.vectors is None or any(each.startswith("encoder") for each in args.vectors)


def recipe_of(args: Namespace) -> PairwiseRecipe:
    """The recipe that --recipe names, with what the command line says in its place."""
    return trainings.recipe_of(args, RECIPES[args.recipe])


def units(text: str) -> int:
    """0, or a number above it that memory holds."""
    if (number := int(text)) < 0:
        raise ArgumentTypeError(f"{text} is not at least 0")
    if number > MOST_UNITS:
        raise ArgumentTypeError(f"{text} is above {MOST_UNITS:,}")
    return number


def _add_data(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--train",
        nargs="+",
        action="extend",
        required=True,
        type=expanduser,
        metavar="PATH",
        help="Human judgements to learn from, of which pairs of a better and a worse output are made.",
    )
    group.add_argument(
        "--dev",
        nargs="+",
        action="extend",
        required=True,
        type=file_or_share,
        metavar="PATH|SHARE",
        help="What the epoch is chosen on: judgements not to be trained on, nor to be tested on; or a share of --train's "
        "source sentences such as 0.1, drawn by --seed.",
    )
    add_language_pairs(group)
    add_layout_arguments(group, "; with rankings the reference file")
    group.add_argument(
        "--outputs", type=expanduser, metavar="FOLDER", help="Folder of the systems' outputs, with rankings."
    )
    group.add_argument(
        "--threshold",
        type=at_least_0,
        metavar="X",
        help="Least difference of two human scores of a segment that makes them a pair; preferences and rankings are pairs "
        "already. (Default: 25 for scores of 0 to 100, as WMT has it; any for others, such as z-scores and MQM)",
    )


def _add_network(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--features",
        nargs="+",
        metavar="SPEC",
        help="Metrics whose scores of the two outputs are read: 4metrics (BLEU, NIST, TER, METEOR), bleucomp (16 numbers of "
        "BLEU), the name of any metric, NAME:KEY=VALUE,... for its settings, or none. (Default: 4metrics)",
    )
    group.add_argument(
        "--vectors",
        nargs="+",
        type=expanduser,
        metavar="SPEC",
        help="Sentence vectors that are read: encoder[@LAYER,...][:DIMENSIONS], a file of word vectors[:DIMENSIONS], or "
        "none; DIMENSIONS are kept by PCA. (Default: two of the encoder's, of 25 and 50 dimensions)",
    )
    group.add_argument(
        "--encoder",
        metavar="MODEL",
        help="embedded, a folder, or a hub name[@revision]; it is not trained. (Default: embedded, English only)",
    )
    group.add_argument(
        "--hidden",
        type=units,
        default=4,
        metavar="N",
        help="Units of each of the three groups; 0: logistic regression. (Default: the paper's %(default)s)",
    )
    group.add_argument(
        "--tied", action="store_true", help="One weight matrix for both outputs' groups with the reference."
    )
    group.add_argument(
        "--antisymmetric",
        action=BooleanOptionalAction,
        default=False,
        help="Train on both orders at once, so that swapping the outputs turns the chance p into 1 - p exactly. "
        "(Default: no, as the paper has it)",
    )


def _add_training(group: _ArgumentGroup) -> None:
    add = recipe_flag(group, PAPER, MODERN, "modern")
    group.add_argument(
        "--recipe",
        choices=list(RECIPES),
        default="paper",
        help="paper: Adagrad and a fixed number of epochs, as Guzman et al. (2015) have it; modern: AdamW in larger steps, "
        "with an early end. (Default: %(default)s)",
    )
    add(
        "cost",
        "logistic; kendall, which comes closer to tau and adds a term against ties; or logistic first, and from its best "
        "weights on kendall.",
        choices=COSTS,
    )
    add("optimiser", "Its kind.", choices=OPTIMISERS)
    add("learning-rate", "The optimiser's.", type=above_0, metavar="X")
    add("batch", "Pairs of a step.", type=positive, metavar="N")
    add("weight-decay", "The optimiser's.", type=at_least_0, metavar="X")
    add("epochs", "Most epochs, of each cost.", type=positive, metavar="N")
    add(
        "patience",
        "Epochs in a row without a better one that end a cost's training; none: never.",
        type=patience,
        metavar="N",
    )
    add("beta", "Of kendall: how narrow the term against ties is.", type=above_0, metavar="X")
    add("gamma", "Of kendall: how steep its steps are.", type=above_0, metavar="X")
    add("seed", "Of first weights, orders, and a share for --dev.", type=seed, metavar="N")
