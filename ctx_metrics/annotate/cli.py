"""Score tables of any size: one new column per metric, written in parts that a killed run keeps.

Reads TSV, CSV, JSON lines and Parquet, plain or compressed (.gz, .xz, .zst), local or at any address that fsspec supports.
Rows are read, scored and written block by block, so memory does not grow with the table. Run the same command again to
continue a stopped run.
"""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os.path import expanduser
from typing import Annotated

from ..checks import texts as text_checks
from ..cli.common import flags
from ..cli.common.inputs import given_inputs
from ..cli.common.metrics import Metrics, chosen_metrics, metrics_setting, model_setting
from ..cli.common.spans import MARKS
from ..cli.common.work import Work, checked_work
from ..cli.score import DEFAULT_METRIC, add_metric_flags
from ..engine_options import EngineOptions
from ..flag_types import Amount, Model
from ..interference.flags import TunedSettings
from ..notices import counted, notice
from ..paths import Reads, Writes
from ..run.rows import RowScorer, of_several_columns, roles
from ..run.run import Run
from ..run.texts import Texts
from ..run.wrappers import asked_by_line, installed_wrappers
from ..scale.blocks import opened
from ..scoring.inputs import installed_inputs
from ..settings import CommandLine, add_all, add_flags, setting
from ..system_names import name_fault
from ..writing import check_output
from . import annotate, summary
from .faults import COLUMN
from .rows import is_number
from .scorer import Scorer
from .selection import Limit, Top, bottom, limit, top
from .tables import find_tables

SUMMARY = "score tables of any size, and keep the best of their rows"

USAGE = "%(prog)s TABLE [TABLE ...] -o DIR [--columns ROLE=NAME ...] [-m NAME [NAME ...]] [flags]"
EPILOG = """\
examples:
  # a table with the columns src and mt: add a column comet, without references
  ctx-metrics annotate corpus.tsv.gz -o scored -l en-de -m comet

  # two columns without a header; keep the rows with a score of at least 50
  ctx-metrics annotate corpus.tsv -o filtered --columns src=1 mt=2 -l en-de -m comet --keep 'comet >= 50'

  # without copies of the source, other languages and repetitions
  ctx-metrics annotate corpus.tsv -o clean -l en-de -m comet --drop copies,wrong-language,repeats

  # Parquet with documents, the best fifth by slide
  ctx-metrics annotate 'news/*.parquet' -o best --columns mt=output doc=url -l de-en -m slide chrf --top 20% --by slide

Name a metric to see its flags: ctx-metrics annotate -m slide --help
"""


def column(text: str) -> tuple[str, str]:
    """Parse ROLE=NAME, a role and the column that holds it, for argparse."""
    role, _, name = text.partition("=")
    if role not in roles() or not name:
        raise ArgumentTypeError(f"{text!r} is not ROLE=NAME with a role of {', '.join(roles())}")
    return role, name


def output_folder(text: str) -> str:
    """Return the path or the address of a folder; file:///folder is a path.

    >>> output_folder("file:///data/scores"), output_folder("s3://bucket/scores")
    ('/data/scores', 's3://bucket/scores')
    """
    return expanduser(text.removeprefix("file://") if text.startswith("file:///") else text)


@dataclass(frozen=True)
class Tables:
    tables: Annotated[Sequence[str], Reads(str), "TABLE"] = setting(
        "Tables of one format: files, patterns, folders or addresses.",
        flag="TABLE",
        group="tables",
        nargs="+",
        action="store",
    )
    folder: Annotated[str, Writes(output_folder, inside=("part-*", "_summary.json", ".annotate/*")), "DIR"] = setting(
        "Output folder for the parts: a local path or an address.", flag="-o --output", required=True
    )
    columns: Sequence[tuple[str, str]] = setting(
        "The column of each role: src, mt, ref, doc (consecutive equal ids form a document), "
        f"{', '.join(each.column for each in installed_inputs())}; "
        f"{' and '.join(['ref', *(each.column for each in installed_inputs() if not each.per_system)])} "
        "can be given several times. For tables without a header, give column numbers from 1. (Default: "
        "columns of these names)",
        (),
        type=column,
        nargs="+",
        action="extend",
        metavar="ROLE=NAME",
    )
    names: Sequence[str] | None = setting(
        "Names of the new columns, one per metric. (Default: the metrics' names; comet-embedded where the embedded model "
        "scores)",
        action="store",
        metavar="NAME",
    )
    language_pair: tuple[str, str] | None = flags.languages()


@dataclass(frozen=True)
class Scores:
    """The metrics, and the choice of rows to write."""

    metrics: Metrics | None = metrics_setting("scores", DEFAULT_METRIC)
    model: Model | None = model_setting()
    keep: Sequence[Limit] = setting(
        "Write only rows that satisfy all these limits, such as 'comet >= 70'.",
        (),
        type=limit,
        nargs="+",
        action="extend",
        metavar="LIMIT",
    )
    drop: Sequence[str] | None = setting(
        "Leave out rows whose output copies the source, is in the wrong language (-l) or repeats a word many times: one "
        "or more of copies, wrong-language, repeats, separated by commas. The column faults lists the faults of each "
        "row; with none, all rows are written with this column.",
        type=text_checks.kinds,
        metavar="FAULTS",
    )
    no_text_checks: bool = flags.text_checks()
    top: Top | None = setting(
        "Write only the best rows (after --keep): a share such as 20%% or a number of rows.", type=top, metavar="N"
    )
    bottom: Top | None = setting(
        "Write only the worst rows (after --keep): a share such as 5%% or a number of rows.", type=bottom, metavar="N"
    )
    by: str | None = setting(
        "The metric that --top and --bottom use. (Default: the first metric of -m)", metavar="METRIC"
    )
    spans: bool = setting(
        f"Also add the columns {', '.join(MARKS)}: the error spans that a metric marks, as in WMT25's predictions.tsv.",
        False,
    )


@dataclass(frozen=True)
class Blocks:
    block: Amount = setting(
        "Maximum number of rows in a block and in a part; a killed run loses at most one block. The first blocks are "
        "smaller. Documents are not split.",
        10_000,
        group="work",
    )


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    add_all(parser, [Tables, Scores, Blocks, Work])
    add_metric_flags(parser, argv)
    for wrapper in (each for each in installed_wrappers() if each.of_tables):
        add_flags(parser.add_argument_group(wrapper.title), wrapper.settings, only=wrapper.of_tables)
    add_all(parser, [flags.quiet()])


def _check(line: CommandLine, tables: Tables, scores: Scores, metrics: Sequence[str]) -> None:
    if tables.folder.startswith("memory:"):
        line.error(f"-o {tables.folder}: the memory of this process is lost when the command ends; name a folder")
    given = [role for role, _ in tables.columns]
    for role in {*given} - {*of_several_columns()}:
        if given.count(role) > 1:
            line.error(f"--columns gives {role} twice; give one column")
    _check_names(line, tables.names or [], metrics, scores.drop is not None)
    _check_choice(line, scores, metrics)
    numbers = [is_number(name) for _, name in tables.columns]
    if any(numbers) and not all(numbers):
        line.error("--columns mixes names and numbers; give numbers for tables without a header, names for all others")
    if scores.drop is not None and scores.no_text_checks:
        line.error("--drop needs the checks that --no-text-checks turns off; leave one out")
    if "wrong-language" in (scores.drop or ()) and tables.language_pair is None:
        line.error("--drop wrong-language needs the language: give the language pair with -l")
    if named := next((each for each in line[TunedSettings].tuned_with if each.system), None):
        line.error(
            f"--tuned-with {named.system}={named.measure}: a table has one column of outputs; leave out {named.system}="
        )
    for each, of_input in given_inputs(line).items():
        if fault := each.column_error(of_input):
            line.error(fault)


def _check_names(line: CommandLine, names: Sequence[str], metrics: Sequence[str], with_faults: bool) -> None:
    """with_faults    whether the table has a column of faults, which may have a name too"""
    if names and len(names) - len(metrics) not in (0, with_faults):
        line.error(
            f"--names has {counted(len(names), 'name', 'names')} for "
            f"{counted(len(metrics), 'metric', 'metrics')} ({', '.join(metrics)})"
        )
    for name in names:
        if fault := name_fault(name):
            line.error(f"--names has {fault}")
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            line.error("--names has a name that is not UTF-8, as the table is")
    if len({name.strip() for name in names}) < len(names):
        line.error("--names has the same name twice; give each new column its own name")


def _check_choice(line: CommandLine, scores: Scores, metrics: Sequence[str]) -> None:
    """Check the flags that choose the rows to write by their scores."""
    for name in [*(each.name for each in scores.keep), *([scores.by] if scores.by else [])]:
        if name not in metrics:
            line.error(f"{name} is not among the metrics of -m ({', '.join(metrics)})")
    if scores.top and scores.bottom:
        line.error(
            "--top writes the best rows and --bottom the worst; give one, and then the other with the same folder"
        )
    if scores.by and not (scores.top or scores.bottom):
        line.error("--by selects the metric of --top and --bottom; give one of them too, or leave --by out")


def run(line: CommandLine) -> int:
    tables, scores, engine, work = line[Tables], line[Scores], line[EngineOptions], checked_work(line)
    metrics = chosen_metrics(line, scores.metrics or [DEFAULT_METRIC], model=scores.model)
    _check(line, tables, scores, [each.name for each in metrics])
    check_output()  # for the summary, which goes to stdout
    found = find_tables(tables.tables)
    columns = annotate.columns_of(found[0], tables.columns)
    if "copies" in (scores.drop or ()) and "src" not in columns:
        line.error("--drop copies needs the source: name its column (--columns src=NAME)")
    source, target = tables.language_pair or (None, None)
    inputs = {
        name: value
        for each, of_input in given_inputs(line).items()
        for name, value in each.values(None, of_input.settings, None).items()
        if name != each.name
    }
    of_rows = Run(
        Texts(source_lang=source, target_lang=target),
        metrics,
        asked_by_line(line),
        engine,
        keywords=inputs,
        text_checks=not scores.no_text_checks,
        give_references="name its column (--columns ref=NAME)",
    )
    rows = RowScorer(of_rows, columns, scores.spans)
    for wrapper, settings in of_rows.wrappers.items():
        if fault := wrapper.column_error(settings, columns):
            line.error(fault)
    names = [name.strip() for name in tables.names or []]  # as the names in a header are
    names = names or [each.name for each in metrics]
    if scores.drop is not None and len(names) == len(metrics):
        names.append(COLUMN)
    if rows.reads_anew:
        names.append(annotate.OUTPUTS)
    if scores.spans:
        names += MARKS
    by = next(each for each in metrics if each.name == (scores.by or metrics[0].name))
    made = annotate.Annotation(
        found,
        Scorer(rows, scores.drop is not None),
        names,
        scores.keep,
        scores.top or scores.bottom,
        by.name,
        line[Blocks].block,
        scores.drop,
        line[TunedSettings].tuned_with,
    )
    with opened(work.on, work.workers) as executor:
        titles = annotate.names_in_files(made, executor)
        made = replace(made, titles=titles, names=names if tables.names else [*titles, *names[len(titles) :]])
        summarised = annotate.annotate(made, tables.folder, executor, engine.quiet)
    for each in summarised.get("notices", ()):
        notice(each)
    for metric, of_metric in zip(metrics, summarised["metrics"].values(), strict=True):
        for each in of_metric["notices"]:
            notice(f"{metric.name}: {each}")
        notice(f"{metric.name}|{of_metric['signature']}")
    print(summary.shown(summarised), end="")
    return 0
