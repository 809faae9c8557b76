"""The flags of `ctx-metrics meta`."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from os.path import expanduser

from ...flag_types import add_text_arguments, decimals, output_file, positive, probability
from ...run.flags import add_engine_arguments, add_metric_arguments, metric_name, wanted_metrics
from ...run.registry import MetricTable
from ..common.sacrebleu_arguments import FLAGS, add_sacrebleu_arguments, unused_flag

FORMATS = ("table", "json", "tsv", "latex", "markdown")
ENDINGS = {"json": "json", "tsv": "tsv", "tex": "latex", "md": "markdown"}
GRID_SETTINGS = ("window", "stride", "tokens")  # of slide, which its grid takes all of
PLOT_FORMATS = ("png", "pdf", "svg")
CORRELATIONS = {"pearson": "Pearson's r", "spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
# the names of meta.protocols.make_protocols, in its order, which is not imported for --help: it takes scipy
PROTOCOLS = {
    "sys-acc": "share of system pairs ordered as people do, of all sets together (Kocmi et al. 2021)",
    "spa": "the same by how sure the orders are: soft pairwise accuracy (Thompson et al. 2024)",
    **{
        f"sys-{kind}{left_out}": f"{words} of system scores"
        + ", without outliers (Mathur et al. 2020)" * bool(left_out)
        for kind, words in CORRELATIONS.items()
        for left_out in ("", "-no-outliers")
    },
    **{f"seg-{kind}": f"{words} of segment scores; see --average" for kind, words in CORRELATIONS.items()},
    "acc-eq": "share of output pairs ordered or tied as people do, ties calibrated (Deutsch et al. 2023)",
    "tau-23": "the same as a tau: 2 acc-eq - 1",
    "darr": "preferences kept less those that are not, ties count against the metric (WMT17 to WMT20)",
    "wmt12": "the same, as WMT11 and WMT12 have it",
    "wmt13": "the same without ties",
    "wmt14": "the same with ties in the denominator alone",
}
USAGE = "%(prog)s DATA [DATA ...] [-m NAME [NAME ...]] [--scores PATH [PATH ...]] [-p PROTOCOL [PROTOCOL ...]] [flags]"
EPILOG = """\
DATA is recognised by its layout:
  a folder  an mt-metrics-eval tree (human-scores, system-outputs, ...); DAseg.* files of WMT's segment DA;
            DA-syslevel.csv of its system DA
  a file    (.tsv, .csv; also .gz, .xz) any TSV whose header names mt, score and what else is there (src, ref, system, doc,
            seg, rater); lists of better and worse outputs; Google's MQM annotations; WMT13 rankings (with --outputs and
            --reference); MLQE-PE

protocols (-p); more is better in all of them:
{protocols}
  Without -p: sys-acc, spa, seg-pearson and acc-eq, as far as the data has human scores of systems and segments; darr for
  preferences.

examples:
  # three metrics on judged outputs, with the documents that slide reads
  ctx-metrics meta judged.tsv -l de-en -m bleu bertr slide

  # pairwise system accuracy over the language pairs of a tree; a system that is left out
  ctx-metrics meta wmt22 -l en-de en-ru zh-en -m bleu chrf -p sys-acc --drop en-de:M2M100_1.2B-B4

  # published scores of metrics beside one that is scored here; segment and system protocols
  ctx-metrics meta wmt22 -l zh-en --scores metric-scores/zh-en -m bertr -p sys-acc spa seg-pearson acc-eq

  # better/worse lists; all windows and strides of slide as a heat map
  ctx-metrics meta kk-en.tsv gu-en.tsv -m bleu chrf bertr
  ctx-metrics meta wmt22 -l zh-en -m comet --slide-grid 10 --plot figures

`ctx-metrics meta paraphrase --help`: how well metrics tell paraphrases apart (PAWS, MRPC, STS-B).
"""


def add_arguments(parser: ArgumentParser, argv: Sequence[str], table: MetricTable) -> None:
    """Add all flags; of the metrics, those that this command line names show theirs."""
    width = max(map(len, PROTOCOLS))
    listed = "\n".join(f"  {name:<{width}}  {words}" for name, words in PROTOCOLS.items())
    parser.usage, parser.epilog = USAGE, EPILOG.format(protocols=listed)
    _add_data(parser)
    _add_metrics(parser.add_argument_group("metrics"), table)
    _add_protocols(parser.add_argument_group("protocols and significance"))
    _add_output(parser.add_argument_group("output"))
    words = [word for word in argv if word != "-h" and not (len(word) > 2 and "--help".startswith(word))]
    if "--slide-grid" in words and "slide" in table.plugins:
        words.append("slide")
    own = {name: add_metric_arguments(parser, name, table) for name in wanted_metrics(table.plugins, words)}
    own |= add_sacrebleu_arguments(parser, words)
    group = parser.add_argument_group("engine of the neural metrics")
    add_engine_arguments(group)
    group.add_argument("-q", "--quiet", action="store_true", help="No progress bars, and no lines in their place.")
    parser.set_defaults(own=own, table=table)


def check(args: Namespace, argv: Sequence[str]) -> None:
    """Fill in what depends on several flags; exits with 2, as argparse does, where they contradict each other."""
    error = args.parser.error
    args.metrics = list(dict.fromkeys(args.metrics or ()))
    args.scores = list(dict.fromkeys(args.scores or ()))
    if not args.metrics and not args.scores and args.slide_grid is None:
        error("nothing to evaluate: name metrics (-m), score files (--scores) or --slide-grid W")
    for name in args.own:
        for word in argv:
            of_grid = name == "slide" and args.slide_grid is not None
            if name not in args.metrics and not of_grid and word.startswith(f"--{name}-"):
                error(f"{word} is a flag of {name}, which -m does not name")
    if fault := unused_flag(args, {name: args.own[name] for name in FLAGS}):
        error(fault)
    if args.plot_format != PLOT_FORMATS[0] and not args.plot:
        error("--plot-format is for --plot DIR, which is not given")
    if args.slide_grid is not None and "slide" not in args.table.plugins:
        error("--slide-grid is for slide, which is not installed")
    of_windows = [each for each in GRID_SETTINGS if getattr(args, f"slide_{each}", None) is not None]
    if args.slide_grid is not None and "slide" not in args.metrics and of_windows:
        error("--slide-grid takes all windows and strides; leave out --slide-window, --slide-stride and --slide-tokens")
    if args.save_scores and not args.metrics:
        error("--save-scores saves what -m scores, and -m names no metric")
    if args.format is None:
        args.format = ENDINGS.get((args.output or "").rpartition(".")[2].lower(), FORMATS[0])


def _add_data(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("judged data")
    group.add_argument("data", nargs="+", type=expanduser, metavar="DATA", help="Folders and files; see below.")
    group.add_argument(
        "-l",
        "--language-pair",
        nargs="+",
        action="extend",
        metavar="PAIR",
        help="Language pairs to take, such as zh-en; one names that of files whose own names do not. (Default: all)",
    )
    group.add_argument(
        "--human",
        default="mqm",
        metavar="NAME",
        help="Human scores of a tree: mqm, wmt-appraise, ... (Default: %(default)s)",
    )
    group.add_argument(
        "--reference",
        type=expanduser,
        metavar="NAME",
        help="Reference of a tree, such as refA, or several joined by a comma; in a table that has several the column, "
        "such as ref2 or ref,ref2; in MQM annotations the human translation to take as reference, such as Human-A.0; with "
        "rankings the reference file.",
    )
    group.add_argument(
        "--outputs", type=expanduser, metavar="DIR", help="Folder of the systems' outputs, with rankings."
    )
    group.add_argument("--score-column", metavar="NAME", help="Column of the human score in a TSV. (Default: score)")
    add_text_arguments(group, unescape=True)
    group.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        default=[],
        metavar="[SET:]SYSTEM",
        help="Leave systems out: names, or patterns such as 'Online-*'; before a colon the set's name, its language pair "
        "or a pattern.",
    )
    group.add_argument(
        "--keep-humans",
        action="store_true",
        help="Keep human translations among the systems (save one that is the reference). They are left out by default, "
        "as refA, Human-B and the like are names of theirs.",
    )


def _add_metrics(group, table: MetricTable) -> None:
    names = [name.lower() for name in table]
    group.add_argument(
        "-m",
        "--metrics",
        nargs="+",
        action="extend",
        type=metric_name(table),
        choices=names,
        metavar="NAME",
        help=f"Scored here: any of {', '.join(names)}; their own flags are shown by `-m NAME --help`. TER is negated.",
    )
    group.add_argument(
        "--scores",
        nargs="+",
        action="extend",
        type=expanduser,
        metavar="PATH",
        help="Scores from files METRIC-REF.seg.score and .sys.score, or from folders of them (DIR, DIR/SET or DIR/PAIR), as "
        "mt-metrics-eval, --save-scores and sacrebleu's --ctx-seg-scores write them.",
    )
    group.add_argument(
        "--save-scores",
        type=expanduser,
        metavar="DIR",
        help="Write the scores of -m to files in DIR/SET, each metric's when it is done, for --scores. What is there of the "
        "same texts and settings is not scored again.",
    )
    group.add_argument(
        "--slide-grid",
        type=positive,
        metavar="W",
        help="Also the system accuracy of slide with all windows and strides up to W, each window read once.",
    )
    group.add_argument(
        "--seen",
        nargs="+",
        action="extend",
        type=metric_pattern,
        default=[],
        metavar="METRIC:SET",
        help="Mark what a metric was trained on; SET may be a pattern, such as 'newstest2016.*'.",
    )


def _add_protocols(group) -> None:
    group.add_argument(
        "-p",
        "--protocols",
        nargs="+",
        action="extend",
        choices=list(PROTOCOLS),
        metavar="PROTOCOL",
        help="How to measure agreement, any of those below. (Default: what is usual for the data)",
    )
    group.add_argument(
        "--average",
        choices=["none", "item", "system"],
        help="Groups of outputs that segment-level protocols average over: none takes all outputs together, item a "
        "source segment, system a system. (Default: none for correlations, item for acc-eq and tau-23)",
    )
    group.add_argument(
        "--threshold",
        type=float,
        default=25.0,
        metavar="X",
        help="Difference of two human scores from which darr and the other taus take one output as preferred, where the "
        "data holds no preferences. (Default: %(default)s)",
    )
    group.add_argument(
        "--test",
        choices=["auto", "perm-both", "bootstrap", "pairs", "williams", "none"],
        default="auto",
        help="How metrics are compared; auto takes perm-both for systems (sys-..., spa), bootstrap for "
        "segments and preferences; pairs is WMT's permutation for acc-eq, which is too lenient. (Default: %(default)s)",
    )
    group.add_argument(
        "--alpha", type=probability, default=0.05, metavar="P", help="Level of significance. (Default: %(default)s)"
    )
    group.add_argument(
        "--resamples",
        type=positive,
        default=1000,
        metavar="N",
        help="Of tests and intervals. (Default: %(default)s)",
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="(Default: %(default)s)")
    group.add_argument("--intervals", action="store_true", help="95 %% bootstrap intervals.")
    group.add_argument(
        "--all-pairs", action="store_true", help="Test all pairs of metrics, not only those that the ranks need."
    )


def _add_output(group) -> None:
    group.add_argument(
        "--format", choices=FORMATS, help="(Default: the ending of -o, if it is .json, .tsv, .tex or .md, else table)"
    )
    group.add_argument("-o", "--output", type=output_file, metavar="FILE", help="In place of the standard output (-).")
    group.add_argument("-w", "--width", type=decimals, metavar="N", help="Decimals. (Default: 3, tsv 6; JSON has all)")
    group.add_argument(
        "--plot",
        type=expanduser,
        metavar="DIR",
        help="Draw figures: metrics against people for each set, agreement with intervals, agreement by document length, "
        "the heat map of --slide-grid.",
    )
    group.add_argument("--plot-format", choices=PLOT_FORMATS, default=PLOT_FORMATS[0], help="(Default: %(default)s)")


def metric_pattern(text: str) -> tuple[str, str]:
    """The metric and the pattern of METRIC:SET, for argparse."""
    metric, colon, pattern = text.partition(":")
    if not (metric and colon and pattern):
        raise ArgumentTypeError(f"{text!r} is not METRIC:SET, such as 'comet:newstest2016.*'")
    return metric, pattern
