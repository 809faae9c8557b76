"""The flags of `ctx-metrics score`."""

import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace, _ArgumentGroup
from collections.abc import Sequence
from os.path import expanduser

from ...flag_types import add_text_arguments, output_file, positive
from ...pseudo_references.options import PseudoFilter
from ...roundtrip.options import BackTranslation
from ...run.context import capabilities
from ...run.flags import (
    ContextFiles,
    add_engine_arguments,
    add_metric_arguments,
    metric_name,
    own_prefixes,
    wanted_metrics,
)
from ...run.registry import MetricTable
from ...settings import add_flags
from ..common.inputs import column_names, dataset, language_pair
from ..common.sacrebleu_arguments import FLAGS, add_sacrebleu_arguments, unused_flag

LEVELS = ("segment", "document", "system")
FORMATS = ("table", "tsv", "jsonl", "json")  # the last three are also endings of -o
DEFAULT_METRIC = "comet"
GRID_METRIC = "slide"
GRID_SETTINGS = ("slide_window", "slide_stride", "slide_tokens")
USAGE = "%(prog)s -t FILE [FILE ...] [-s FILE] [-r FILE [FILE ...]] [-m NAME [NAME ...]] [--model MODEL] [flags]"
EXAMPLES = """\
examples:
  # three systems with a COMET model: a hub name, a .ckpt file or a folder
  ctx-metrics score -s src.txt -t a.txt b.txt c.txt -r ref.txt --model Unbabel/wmt22-comet-da

  # several metrics, sacrebleu's among them; segment and document scores as TSV
  ctx-metrics score -t a.txt -r ref.txt --docids ids.txt -l de-en -m comet slide bleu chrf \\
      --format tsv --level segment document system -o scores.tsv

  # tab-separated text on the standard input
  paste src.txt hyp.txt ref.txt | ctx-metrics score -l de-en --only-system

The flags of one metric are shown when it is named: ctx-metrics score -m slide --help
"""


def add_arguments(parser: ArgumentParser, argv: Sequence[str], table: MetricTable) -> None:
    """Add all flags; of the metrics, those that this command line names show theirs.

    Raises CtxMetricsError if one of them cannot be loaded.
    """
    parser.usage, parser.epilog = USAGE, EXAMPLES
    _add_inputs(parser.add_argument_group("inputs"))
    _add_metrics(parser.add_argument_group("what to score with"), table)
    _add_output(parser.add_argument_group("output"))
    own = {name: add_metric_arguments(parser, name, table) for name in shown_metrics(table.plugins, argv)}
    own |= add_sacrebleu_arguments(parser, argv)
    group = parser.add_argument_group("round trips of the rtt metrics")
    add_flags(group, ContextFiles, only=["roundtrip"])
    add_flags(group, BackTranslation)
    group = parser.add_argument_group("pseudo-references of the pr metrics")
    add_flags(group, ContextFiles, only=["pseudo_refs"])
    add_flags(group, PseudoFilter)
    group = parser.add_argument_group("engine of the neural metrics")
    add_engine_arguments(group)
    group.add_argument(
        "-q", "--quiet", action="store_true", help="No progress bars, and no signatures on stderr beside TSV."
    )
    parser.set_defaults(own=own, table=table)


def shown_metrics(plugins: list[str], argv: Sequence[str]) -> list[str]:
    """The plugin metrics whose flags this command line may use or asks to see; the default one if it names none.

    >>> shown_metrics(["bertr", "comet"], ["-m", "bertr", "--help"]), shown_metrics(["bertr", "comet"], ["--help"])
    (['bertr'], ['comet'])
    """
    words = [word for word in argv if word != "-h" and not (len(word) > 2 and "--help".startswith(word))]
    return wanted_metrics(plugins, words) or [DEFAULT_METRIC]


def check(args: Namespace, argv: Sequence[str]) -> None:
    """Fill in what depends on several flags; exits with 2, as argparse does, where they contradict each other."""
    error = args.parser.error
    if args.dataset and (args.source or args.references):
        error("-d names a test set with its source and references; leave out -s and -r")
    if args.dataset and not args.language_pair:
        args.language_pair = language_pair(args.dataset[1])
    for flag, paths in (("-s", args.source), ("-r", args.references), ("--docids", args.docids)):
        if paths and "-" in paths:
            error(
                f"{flag} -: the standard input is for translations (-t -); name a file, or give columns of both (--columns)"
            )
    from_stdin = args.translations in (None, ["-"])
    if not from_stdin and "-" in args.translations:
        error("-t - reads the standard input, which does not go with files")
    if not from_stdin and args.columns:
        error("--columns describes the standard input; leave it out with -t FILE")
    if from_stdin and (sys.stdin is None or (args.translations is None and sys.stdin.isatty())):
        error("no translations: name their files with -t, or give them on the standard input")
    if args.columns:
        try:
            args.columns = column_names(",".join(args.columns))
        except ArgumentTypeError as fault:
            error(f"argument --columns: {fault}")
    if args.only_system and args.levels not in (None, ["system"]):
        error(f"--only-system contradicts --level {' '.join(args.levels)}; leave one out")
    if args.only_system:
        args.levels = ["system"]
    _check_metrics(args, argv)
    if args.format is None:
        ending = (args.output or "").rpartition(".")[2].lower()
        args.format = ending if ending in FORMATS[1:] else FORMATS[0]
    if args.levels is None:
        args.levels = ["system"] if args.format == "table" else ["segment", "system"]


def _check_metrics(args: Namespace, argv: Sequence[str]) -> None:
    error = args.parser.error
    grid = args.slide_grid is not None
    args.metrics = list(dict.fromkeys(args.metrics or [GRID_METRIC if grid else DEFAULT_METRIC]))
    if grid and args.metrics != [GRID_METRIC]:
        error("--slide-grid scores slide alone; leave out the other metrics")
    if grid and any(getattr(args, dest) is not None for dest in GRID_SETTINGS):
        error("--slide-grid takes all windows and strides; leave out --slide-window, --slide-stride and --slide-tokens")
    for name in args.own:
        for word in argv:
            if name not in args.metrics and word.startswith(own_prefixes(name, args.table[name.upper()])):
                error(f"{word} is a flag of {name}, which -m does not name")
    if fault := unused_flag(args, {name: args.own[name] for name in FLAGS}):
        error(fault)
    if grid and args.levels not in (None, ["system"]):
        error("--slide-grid gives system scores; leave out --level")
    if args.model is not None:
        # quality models, not text encoders such as bertr's
        dests = [f"{name}_model" for name in args.metrics if capabilities(args.table[name.upper()]).estimator]
        if not dests:
            error(f"--model is given, but none of the metrics has a quality model ({', '.join(args.metrics)})")
        for dest in dests:
            if getattr(args, dest) == args.parser.get_default(dest):
                setattr(args, dest, args.model)


def _add_inputs(group: _ArgumentGroup) -> None:
    group.add_argument("-s", "--source", nargs=1, type=expanduser, metavar="FILE", help="Source segments, one a line.")
    group.add_argument(
        "-t",
        "--translations",
        nargs="+",
        action="extend",
        type=expanduser,
        metavar="FILE",
        help="Each system's output, a file a system; also -i, --input. Without it, or with -, tab-separated text is "
        "read from the standard input.",
    )
    group.add_argument(
        "--names",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="The systems' names, in their order. (Default: their files')",
    )
    group.add_argument(
        "-r",
        "--references",
        nargs="+",
        action="extend",
        type=expanduser,
        metavar="FILE",
        help="References; none for models that read none.",
    )
    group.add_argument(
        "--docids",
        nargs=1,
        type=expanduser,
        metavar="FILE",
        help="Document id of each line; a document is a run of equal ids.",
    )
    group.add_argument(
        "-d",
        "--dataset",
        type=dataset,
        metavar="TESTSET:LANGPAIR",
        help="One of sacrebleu's test sets, such as wmt20:de-en, in place of -s, -r and -l (and --docids, where it has "
        "them). sacrebleu downloads it once.",
    )
    group.add_argument(
        "-l", "--language-pair", type=language_pair, metavar="PAIR", help="Source and target language, such as de-en."
    )
    group.add_argument(
        "--columns",
        nargs="+",
        metavar="NAMES",
        help="Columns of the standard input, from src, mt, mt:NAME (several systems), ref, doc. (Default: src,mt,ref of "
        "three; src,mt of two, or mt,ref with -s; mt of one)",
    )
    group.add_argument("-e", "--encoding", default="utf-8", help="Of all text read. (Default: %(default)s)")
    add_text_arguments(group, unescape=True)
    # spellings of sacrebleu and comet-score
    group.add_argument(
        "-i",
        "--input",
        nargs="+",
        action="extend",
        type=expanduser,
        dest="translations",
        default=SUPPRESS,
        help=SUPPRESS,
    )
    group.add_argument("--sources", nargs=1, type=expanduser, dest="source", default=SUPPRESS, help=SUPPRESS)
    group.add_argument("--sacrebleu_dataset", type=dataset, dest="dataset", default=SUPPRESS, help=SUPPRESS)


def _add_metrics(group: _ArgumentGroup, table: MetricTable) -> None:
    names = [name.lower() for name in table]
    group.add_argument(
        "-m",
        "--metrics",
        nargs="+",
        type=metric_name(table),
        choices=names,
        metavar="NAME",
        help=f"Any of {', '.join(names)}. (Default: {DEFAULT_METRIC})",
    )
    group.add_argument(
        "--model",
        metavar="MODEL",
        help="Model of comet, slide and doccomet where their own flag (--comet-model, ...) is not given.",
    )
    group.add_argument(
        "--slide-grid",
        type=positive,
        metavar="W",
        help="slide with all windows and strides up to W, in one run: a table window x stride for each system.",
    )


def _add_output(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--format",
        choices=FORMATS,
        help="jsonl and json have signatures, counts and what else a model says (parts, error spans). "
        "(Default: the ending of -o, if it is .tsv, .jsonl or .json, else table)",
    )
    group.add_argument(
        "--level",
        nargs="+",
        dest="levels",
        choices=LEVELS,
        metavar="LEVEL",
        help="segment, document, system. (Default: system for table, segment and system for the other formats)",
    )
    group.add_argument(
        "--only-system",
        "--only_system",
        action="store_true",
        help="The same as --level system.",
    )
    group.add_argument(
        "-o", "--output", type=output_file, metavar="FILE", help="Write there in place of the standard output (-)."
    )
    group.add_argument(
        "-w",
        "--width",
        type=int,
        metavar="N",
        help="Decimals. (Default: table 1, tsv 4; with --scale 1 table 4, tsv 6; JSON has all)",
    )
    group.add_argument(
        "--scale",
        type=int,
        choices=[100, 1],
        default=100,
        help="100 prints scores as sacrebleu does, 1 divides all by 100, as comet-score prints them. "
        "(Default: %(default)s)",
    )
