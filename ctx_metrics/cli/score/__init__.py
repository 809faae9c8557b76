"""Score translations with any metrics: neural ones, and sacrebleu's own BLEU, chrF and TER.

Prints a table of the systems, or segment, document and system scores as TSV or JSON. Scores are on sacrebleu's scale,
x100; a COMET model's .8523 is printed as 85.2.
"""

import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...flag_types import File, Files, Model, Positive
from ...notices import notice
from ...run.context import capabilities
from ...run.flags import add_engine_arguments
from ...run.inputs import installed_inputs
from ...separated import SEPARATED
from ...settings import Part, add_all, setting
from ...writing import check_writable
from ..common import flags
from ..common.inputs import column_names, test_set
from ..common.metrics import GRID_SETTINGS, Metrics, add_own_flags, check_metrics, metric_names
from ..common.work import add_work, check_work, in_blocks
from ..hints import COMET_SCORE, COMPARE, SACREBLEU, flag_hints

SUMMARY = "score translations with any metrics"

LEVELS = ("segment", "document", "system")
DEFAULT_METRIC = "comet"
GRID_METRIC = "slide"
USAGE = "%(prog)s -t FILE [FILE ...] [-s FILE] [-r FILE [FILE ...]] [-m NAME [NAME ...]] [--model MODEL] [flags]"
EPILOG = """\
examples:
  # three systems with a COMET model: a hub name, a .ckpt file or a folder
  ctx-metrics score -s src.txt -t a.txt b.txt c.txt -r ref.txt --model Unbabel/wmt22-comet-da

  # several metrics, sacrebleu's among them; segment and document scores as TSV
  ctx-metrics score -t a.txt -r ref.txt --docids ids.txt -l de-en -m comet slide bleu chrf \\
      --format tsv --level segment document system -o scores.tsv

  # tab-separated text on the standard input
  paste src.txt hyp.txt ref.txt | ctx-metrics score -l de-en --only-system

Name a metric to see its flags: ctx-metrics score -m slide --help
"""


@dataclass(frozen=True)
class Inputs:
    """The texts to score."""

    source: File | None = setting("Source segments, one per line.", flag="-s --source", group="inputs")
    translations: Files | None = setting(
        "The systems' outputs, one file per system; also -i, --input. Without -t, or with -t -, tab-separated text "
        "is read from the standard input.",
        flag="-t --translations",
    )
    names: Sequence[str] | None = flags.names("their")
    references: Files | None = setting(
        "References; leave them out for models without references.", flag="-r --references"
    )
    docids: File | None = setting("Document id of each line; consecutive equal ids form a document.")
    dataset: tuple[str, str] | None = setting(
        "One of sacrebleu's test sets, such as wmt20:de-en, in place of -s, -r and -l (and --docids, where it has them). "
        "sacrebleu downloads it once.",
        flag="-d --dataset",
        type=test_set,
        metavar="TESTSET:LANGPAIR",
    )
    language_pair: tuple[str, str] | None = flags.languages()
    columns: Sequence[str] | None = setting(
        "Columns of the standard input, from src, mt, mt:NAME (several systems), ref, doc. (Default: src,mt,ref for "
        "three; src,mt for two, or mt,ref with -s; mt for one)",
        action="store",
        metavar="NAMES",
    )
    encoding: str = flags.encoding()
    no_text_checks: bool = flags.text_checks()
    unescape: bool = flags.unescape()
    # spellings of sacrebleu and comet-score
    input: Files | None = setting(SUPPRESS, flag="-i --input", dest="translations")
    sources: File | None = setting(SUPPRESS, dest="source")
    sacrebleu_dataset: str | None = setting(SUPPRESS, flag="--sacrebleu_dataset", type=test_set, dest="dataset")


@dataclass(frozen=True)
class Scoring:
    """The metrics, and the output."""

    metrics: Metrics | None = setting(
        f"One or more of %(choices)s. (Default: {DEFAULT_METRIC})",
        flag="-m --metrics",
        group="what to score with",
        action="store",
        choices=metric_names,
    )
    model: Model | None = setting(
        "Model of comet, slide and doccomet, unless their own flag (--comet-model, ...) is given."
    )
    slide_grid: Positive | None = setting(
        "Score slide with all windows and strides up to W in one run: a table window x stride for each system.",
        metavar="W",
    )
    compare: bool = setting("Compare all pairs of systems too, below the table, as ctx-metrics compare does.", False)
    format: flags.Format | None = flags.score_format(
        "jsonl and json include signatures, counts and other outputs of the model (parts, error spans).", "output"
    )
    levels: Sequence[str] | None = setting(
        "segment, document, system. (Default: system for table, segment and system for the other formats)",
        flag="--level",
        action="store",
        choices=LEVELS,
        metavar="LEVEL",
    )
    only_system: bool = setting("The same as --level system.", False, flag="--only-system --only_system")
    output: flags.Output | None = flags.output("Output file, instead of the standard output (-).")
    width: int | None = setting(
        "Number of decimals. (Default: 1 in tables, 4 in TSV; with --scale 1, 4 and 6; JSON has all)",
        flag="-w --width",
        metavar="N",
    )
    scale: int = setting(
        "100 prints scores as sacrebleu does, 1 divides all by 100, as comet-score prints them.", 100, choices=[100, 1]
    )


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    """Add all flags, including those of the metrics that the command line names."""
    add_all(parser, [Inputs, Scoring])
    add_metric_flags(parser, argv)
    add_all(parser, [("work", add_work), flags.quiet("No progress bars, and no signatures on stderr beside TSV.")])


def add_metric_flags(parser: ArgumentParser, argv: Sequence[str]) -> None:
    """Add the flags of the metrics, of the inputs that several of them share, and of the engine."""
    add_own_flags(parser, argv, [DEFAULT_METRIC])
    parts: Sequence[Part] = [
        *((each.title, each.add_arguments) for each in installed_inputs()),
        ("engine of the neural metrics", add_engine_arguments),
    ]
    add_all(parser, parts)


def check_inputs(args: Namespace) -> None:
    """Set what depends on several flags of Inputs; exits with 2, as argparse does, if they contradict each other."""
    error = args.parser.error
    if args.dataset and (args.source or args.references):
        error("-d names a test set with its source and references; leave out -s and -r")
    if args.dataset and not args.language_pair:
        source, _, target = args.dataset[1].partition("-")  # sacrebleu knows the pairs of its sets
        args.language_pair = source, target
    for flag, paths in (("-s", args.source), ("-r", args.references), ("--docids", args.docids)):
        if paths and "-" in (paths if flag == "-r" else [paths]):
            error(
                f"{flag} -: the standard input is for translations (-t -); name a file, or give columns of both (--columns)"
            )
    from_stdin = args.translations in (None, ["-"])
    if not from_stdin and "-" in args.translations:
        error("-t - reads the standard input, which cannot be combined with files; leave one out")
    if not from_stdin and args.columns:
        error("--columns describes the standard input; leave it out with -t FILE")
    if from_stdin and args.translations is None and sys.stdin.isatty():
        error("no translations: name their files with -t, or give them on the standard input")
    if args.columns:
        try:
            args.columns = column_names(",".join(args.columns))
        except ArgumentTypeError as fault:
            error(f"argument --columns: {fault}")


def check_resample(args: Namespace) -> None:
    """Exit with 2, as argparse does, if documents are to be resampled but no document ids can be given."""
    if args.resample == "document" and not (args.docids or args.dataset or args.columns):
        args.parser.error("--resample document needs the documents: give --docids FILE")


def check(args: Namespace) -> None:
    """Set what depends on several flags, for all flags; exits with 2, as argparse does, if they contradict each other."""
    error = args.parser.error
    check_inputs(args)
    if args.only_system and args.levels not in (None, ["system"]):
        error(f"--only-system contradicts --level {' '.join(args.levels)}; leave one out")
    if args.only_system:
        args.levels = ["system"]
    _check_metrics(args)
    check_work(args)
    args.format = flags.format_of(args)
    if args.levels is None:
        args.levels = ["system"] if args.format == "table" else ["segment", "system"]
    if args.compare and (args.format != "table" or args.scale != 100 or args.slide_grid):
        error("--compare works only with --format table; ctx-metrics compare writes TSV, CSV, JSON, LaTeX and Markdown")
    if args.compare and len(args.translations or "..") < 2:
        error("--compare: -t names only one system; a comparison needs at least two")


def _check_metrics(args: Namespace) -> None:
    error = args.parser.error
    grid = args.slide_grid is not None
    args.metrics = args.metrics or [GRID_METRIC if grid else DEFAULT_METRIC]
    if grid and {*args.metrics} != {GRID_METRIC}:
        error("--slide-grid scores only slide; leave out the other metrics")
    if grid and any(getattr(args, f"slide_{each}") is not None for each in GRID_SETTINGS):
        error("--slide-grid takes all windows and strides; leave out --slide-window, --slide-stride and --slide-tokens")
    if grid and (args.on or args.ctx_cache):
        error("--slide-grid does not work with --on and --ctx-cache; leave those out")
    check_metrics(args)
    if grid and args.levels not in (None, ["system"]):
        error("--slide-grid gives system scores; leave out --level")
    take_model(args)


def take_model(args: Namespace) -> None:
    """Pass --model to the metrics that have a quality model, unless their own flag is given; exits with 2 if none has."""
    if args.model is not None:  # quality models, not text encoders such as bertr's
        dests = [f"{name}_model" for name in args.metrics if capabilities(args.table[name.upper()]).estimator]
        if not dests:
            args.parser.error(
                f"--model is given, but none of the metrics has a quality model ({', '.join(args.metrics)})"
            )
        for dest in dests:
            if getattr(args, dest) == args.parser.get_default(dest):
                setattr(args, dest, args.model)


def hints(words: Sequence[str]) -> str:
    """Return hints to add to the error for unknown arguments."""
    found = flag_hints(words, COMET_SCORE, COMPARE, SACREBLEU)
    if not words[0].startswith("-"):
        found += "\n  give files with their flags: -t FILE (translations), -r FILE (references), -s FILE (source)"
    return found


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    from ...scoring.scores import all_scores
    from ...scoring.testing import USUAL
    from ..common import inputs, output
    from . import scoring

    check(args)
    check_writable(args.output)
    read = inputs.read_inputs(args)
    if args.slide_grid is not None:
        from . import grid

        text, signatures = grid.render_grid(read, args)
    else:
        with in_blocks(args) as blocks:
            context = replace(read.context, in_blocks=blocks)
            metrics = scoring.build_metrics(read._replace(context=context), args)
            scoring.say_unread(metrics, read, args)
            scores = all_scores(
                metrics.values(), context.systems, context.doc_ids if "document" in args.levels else None
            )
        reports = {
            name: scoring.report(metric, of_metric, args)
            for (name, metric), of_metric in zip(metrics.items(), scores, strict=True)
        }
        places = scoring.places(read.names, len(context.systems[0]), context.doc_ids, args.levels)
        text = output.render(reports, places, args.format, args.width, args.scale)
        if args.compare:
            from ..common import comparisons

            found = comparisons.compared(read.names, metrics, scores, context, USUAL)
            text += f"\n{comparisons.tables(found, args.width)}\n"
        signatures = [(report.title, report.signature) for report in reports.values()]
    if args.format in SEPARATED and not args.quiet:  # other formats include the signatures
        for title, signature in signatures:
            notice(f"{title}|{signature}")
    output.write(text, args.output)
    return 0
