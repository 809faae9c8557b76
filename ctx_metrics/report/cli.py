"""Write one HTML page that shows what scores mean: systems compared, segments, documents and charts.

Scores as `ctx-metrics score` does, and writes a file that opens in any browser, from disk and without a network.
"""

import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from ..cli.common import flags
from ..cli.common.inputs import TextFlags
from ..cli.common.metrics import Metrics, add_wrapper_flags, metrics_setting, model_setting
from ..cli.common.work import Kept, Work, in_blocks
from ..cli.score import add_metric_flags
from ..engine_options import EngineOptions
from ..flag_types import Model, NewFile, OutputFile, output_file
from ..notices import notice
from ..paths import Writes
from ..scoring.testing import resample
from ..settings import CommandLine, add_all, setting
from ..writing import check_writable
from .inputs import DEFAULT_METRICS, ScoreFileFlags, Sets, lines_of_sets

SUMMARY = "write a page that explains scores: systems, segments, documents, charts"

USAGE = "%(prog)s -t FILE [FILE ...] [-s FILE] [-r FILE [FILE ...]] [-m NAME [NAME ...]] [-o report.html] [flags]"
EPILOG = """\
examples:
  # two systems side by side, with documents
  ctx-metrics report -s src.txt -t a.txt b.txt -r ref.txt --docids ids.txt -l de-en -m bleu chrf bertr slide

  # without a reference
  ctx-metrics report -s src.txt -t a.txt b.txt -l en-de -m comet -o report.html

  # several test sets on one page
  ctx-metrics report --set news -t news/a.txt news/b.txt -r news/ref.txt -l de-en \\
      --set chat -t chat/a.txt chat/b.txt -r chat/ref.txt -l fr-en -m bleu chrf comet

Name a metric to see its flags: ctx-metrics report -m slide --help
"""


def table_file(text: str) -> str:
    """The path of a table, for argparse; its file-name ending determines the format."""
    if _ending(text) not in flags.TABLES:
        raise ArgumentTypeError(f"{text}: a table's file ends in .{', .'.join(flags.TABLES)}")
    return output_file(text)


def _ending(path: str) -> str:
    return os.path.splitext(path)[1][1:].lower()


@dataclass(frozen=True)
class Page:
    metrics: Metrics | None = metrics_setting("metrics", " ".join(DEFAULT_METRICS))
    model: Model | None = model_setting()
    resample: Literal["segment", "document"] | None = resample("page")
    autorank: Literal["wmt24", "wmt25"] | None = setting(
        "Add AutoRank, which combines the metrics, as WMT24 or WMT25 computed it."
    )
    title: str | None = setting("Title of the page. (Default: the language pair and the systems)", metavar="TEXT")
    output: OutputFile = setting("File for the page.", "report.html", flag="-o --output")
    texts: NewFile | None = setting(
        "Also write the texts with all scores as TSV, or as CSV if FILE ends in .csv.", group="exports"
    )
    tables: Annotated[Sequence[str], Writes(table_file), "FILE"] | None = setting(
        "Also write the table of systems by metrics, as `compare --rows system` does: .tex for LaTeX, .md for Markdown, "
        ".tsv, .csv, .json, .jsonl."
    )
    pearmut: NewFile | None = setting(
        "Also write a Pearmut campaign for human annotation, with a metric's error spans."
    )
    subset2evaluate: NewFile | None = setting(
        "Also write items for subset2evaluate (JSON lines), which selects segments for human annotation."
    )

    @property
    def exports(self) -> list[tuple[str, str]]:
        """The exports to write, each file after its flag."""
        files = [
            ("--texts", self.texts),
            *(("--tables", path) for path in self.tables or ()),
            ("--pearmut", self.pearmut),
            ("--subset2evaluate", self.subset2evaluate),
        ]
        return [(flag, path) for flag, path in files if path]

    @property
    def paths(self) -> list[tuple[str, str | None]]:
        """The files to write, each after its flag; None is the standard output."""
        return [("-o", self.output), *self.exports]


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    add_all(parser, [TextFlags, ScoreFileFlags, Sets, Page])
    add_metric_flags(parser, argv)
    add_wrapper_flags(parser)
    add_all(parser, [("work", Kept), flags.quiet()])


def lines(line: CommandLine) -> list[CommandLine]:
    return [own for _, own in lines_of_sets(line)]


def run(line: CommandLine) -> int:
    from ..cli.common import output, system_tables
    from ..scoring.testing import SystemTests
    from . import exports
    from .inputs import given_sets, read, scored
    from .page import check_installed, page, title_of
    from .pearmut import check_names
    from .sets import say_missing

    wanted, engine = line[Page], line[EngineOptions]
    given = given_sets(line, wanted.metrics or (), wanted.model, SystemTests(resample=wanted.resample))
    if len(given) > 1 and wanted.exports:
        line.error(f"{wanted.exports[0][0]} writes one test set, but there are {len(given)}; leave it out")
    paths = wanted.paths
    for _, path in paths:
        check_writable(path)
    check_installed()
    files = [read(each) for each in given]
    if wanted.pearmut:
        check_names(files[0].run.context.names)
    with in_blocks(Work(), line[Kept]) as blocks:
        sets = [replace(scored(each, blocks), autorank=wanted.autorank) for each in files]
    say_missing(sets)
    title, first = wanted.title or title_of(*sets), sets[0]
    render = {
        "-o": lambda path: page(sets, title),
        "--texts": lambda path: exports.texts_table(first, "csv" if path.lower().endswith(".csv") else "tsv"),
        "--tables": lambda path: system_tables.render(
            first.compared, flags.TABLES[_ending(path)], method=wanted.autorank
        ),
        "--pearmut": lambda path: exports.pearmut(first, title),
        "--subset2evaluate": lambda path: exports.subset2evaluate(first),
    }
    rendered = [(path, render[flag](path)) for flag, path in paths]
    for path, text in rendered:
        output.write(text, path)
    if not engine.quiet and (written := [path for _, path in paths if path]):
        notice(f"written: {', '.join(written)}")
    return 0
