"""Write one HTML page that shows what scores mean: systems compared, segments, documents and charts.

Scores as `ctx-metrics score` does, and writes a file that opens in any browser, from disk and without a network.
"""

import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from ..cli.common import flags
from ..cli.common.inputs import Texts, checked_texts, read_inputs
from ..cli.common.metrics import Metrics, add_wrapper_flags, chosen_metrics, metrics_setting, model_setting
from ..cli.score import add_metric_flags, check_resample
from ..engine_options import EngineOptions
from ..flag_types import Files, Model, expanduser
from ..notices import notice, shown_notices
from ..scoring.testing import SystemTests, resample
from ..settings import CommandLine, add_all, setting
from ..writing import check_writable

SUMMARY = "write a page that shows what scores mean: systems, segments, documents, charts"

DEFAULT_METRICS = ("bleu", "chrf", "comet")
USAGE = "%(prog)s -t FILE [FILE ...] [-s FILE] [-r FILE [FILE ...]] [-m NAME [NAME ...]] [-o report.html] [flags]"
EPILOG = """\
examples:
  # two systems side by side, with documents
  ctx-metrics report -s src.txt -t a.txt b.txt -r ref.txt --docids ids.txt -l de-en -m bleu chrf bertr slide

  # without a reference
  ctx-metrics report -s src.txt -t a.txt b.txt -l en-de -m comet -o report.html

Name a metric to see its flags: ctx-metrics report -m slide --help
"""


def table_file(text: str) -> str:
    """The path of a table, for argparse; its file-name ending determines the format."""
    if _ending(text) not in flags.TABLES:
        raise ArgumentTypeError(f"{text}: a table's file ends in .{', .'.join(flags.TABLES)}")
    return expanduser(text)


def _ending(path: str) -> str:
    return os.path.splitext(path)[1][1:].lower()


@dataclass(frozen=True)
class Page:
    metrics: Metrics | None = metrics_setting("what to score with", " ".join(DEFAULT_METRICS))
    model: Model | None = model_setting()
    scores: Annotated[Sequence[str], expanduser, "PATH"] | None = setting(
        "Also show scores from tables that `score` wrote (.jsonl, .tsv, .csv), from files METRIC-REF.seg.score, or from "
        "folders of them, as --ctx-seg-scores, `meta --save-scores` and mt-metrics-eval write them; human scores "
        "too. With --scores and without -m, no metric is run."
    )
    error_spans: Files | None = setting(
        "Also show error spans that people marked, from tables in the form of WMT25's predictions.tsv, as `score --spans` "
        "writes it. Their system_id is the system's name, their segment_id the number of the line."
    )
    resample: Literal["segment", "document"] | None = resample("page")
    title: str | None = setting("Title of the page. (Default: the language pair and the systems)", metavar="TEXT")
    output: flags.Output = setting("File for the page.", "report.html", flag="-o --output")
    texts: flags.Output | None = setting(
        "Also write the texts with all scores as TSV, or as CSV if FILE ends in .csv.", group="exports"
    )
    tables: Annotated[Sequence[str], table_file, "FILE"] | None = setting(
        "Also write the table of systems by metrics, as `compare --rows system` does: .tex for LaTeX, .md for Markdown, "
        ".tsv, .csv, .json, .jsonl."
    )
    pearmut: flags.Output | None = setting(
        "Also write a Pearmut campaign for human annotation, with a metric's error spans."
    )
    subset2evaluate: flags.Output | None = setting(
        "Also write items for subset2evaluate, which selects segments for human annotation."
    )

    def paths(self) -> list[tuple[str, str | None]]:
        """Return the files to write, each after its flag; None is the standard output."""
        exports = [
            ("--texts", self.texts),
            *(("--tables", path) for path in self.tables or ()),
            ("--pearmut", self.pearmut),
            ("--subset2evaluate", self.subset2evaluate),
        ]
        return [("-o", self.output), *((flag, path) for flag, path in exports if path)]


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    add_all(parser, [Texts, Page])
    add_metric_flags(parser, argv)
    add_wrapper_flags(parser)
    add_all(parser, [flags.quiet()])


def run(line: CommandLine) -> int:
    from ..cli.common import output, system_tables
    from ..cli.common.comparisons import Compared
    from ..scoring.comparison import Column
    from ..scoring.scores import all_scores
    from . import exports
    from .columns import read_columns
    from .content import Content, check_size
    from .marked import read_spans
    from .page import check_installed, page, title_of

    texts, wanted, engine = checked_texts(line), line[Page], line[EngineOptions]
    names_of_metrics = wanted.metrics or ()
    if not names_of_metrics and not wanted.scores:
        names_of_metrics = DEFAULT_METRICS if texts.references or texts.dataset else ["comet"]
    chosen = chosen_metrics(line, names_of_metrics, model=wanted.model)
    check_resample(wanted.resample, texts, line)
    if wanted.scores and not (texts.translations or texts.columns):
        line.error("--scores holds no texts, but a report shows texts beside the scores: give -t FILE")
    paths = wanted.paths()
    for k, (flag, path) in enumerate(paths):
        if before := [other for other, earlier in paths[:k] if earlier == path]:
            line.error(f"{before[0]} and {flag} name one file, {path}")
    for _, path in paths:
        check_writable(path)
    check_installed()
    earlier_notices = len(shown_notices())
    read = read_inputs(line, texts, chosen)
    check_size(read.context.systems)
    read = read._replace(context=replace(read.context, inputs={**read.context.inputs, "explain": True}))
    names, context = read.names, read.context
    marked = read_spans(wanted.error_spans or (), names, context)
    design = SystemTests(resample=wanted.resample).design(context.systems, context.doc_ids)
    columns = read_columns(wanted.scores or (), names, context, design)
    metrics = read.build()
    design.say_what_is_rough(metrics)
    scores = all_scores(metrics.values(), context.systems, context.doc_ids)
    columns += [Column.of(*each, of_metric, design) for each, of_metric in zip(metrics.items(), scores, strict=True)]
    notices = [str(each) for each in shown_notices()[earlier_notices:]]
    content = Content(names, context, design, columns, notices, marked)
    title = wanted.title or title_of(content)
    render = {
        "-o": lambda path: page(content, title),
        "--texts": lambda path: exports.texts_table(content, "csv" if path.lower().endswith(".csv") else "tsv"),
        "--tables": lambda path: system_tables.render(Compared(names, columns, design), flags.TABLES[_ending(path)]),
        "--pearmut": lambda path: exports.pearmut(content, title),
        "--subset2evaluate": lambda path: exports.subset2evaluate(content),
    }
    rendered = [(path, render[flag](path)) for flag, path in paths]
    for path, text in rendered:
        output.write(text, path)
    if not engine.quiet and (written := [path for _, path in paths if path]):
        notice(f"written: {', '.join(written)}")
    return 0
