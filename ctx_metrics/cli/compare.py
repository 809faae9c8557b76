"""Compare all pairs of systems by any metrics: differences, intervals, p-values corrected for the number of pairs, ranks.

Scores as `ctx-metrics score` does. A difference is significant if its p-value, corrected by Holm's method, is below
--alpha. Systems that share a rank do not differ significantly.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..engine_options import EngineOptions
from ..flag_types import Decimals, Model, NewFile, OutputFile
from ..notices import notice
from ..scoring.testing import SystemTests
from ..separated import SEPARATED
from ..settings import CommandLine, add_all, setting
from ..writing import check_writable
from .common import flags
from .common.inputs import TextFlags, checked_texts, read_run
from .common.metrics import Metrics, add_wrapper_flags, chosen_metrics, metrics_setting, model_setting
from .common.outputs import add_output_flags, check_outputs, given_outputs, reads_of, write_outputs
from .common.work import Kept, Work, checked_work, in_blocks
from .score import DEFAULT_METRIC, add_metric_flags, check_resample
from .unknown_flags import COMET_COMPARE, COMET_SCORE, SACREBLEU, fix_of_flags

SUMMARY = "compare all pairs of systems: differences, p-values, ranks"

PAPERS = ("latex", "markdown")  # the formats that have no rows of pairs
USAGE = "%(prog)s -t FILE FILE [FILE ...] [-s FILE] [-r FILE [FILE ...]] [-m NAME [NAME ...]] [flags]"
EPILOG = """\
examples:
  # three systems by two metrics
  ctx-metrics compare -t a.txt b.txt c.txt -r ref.txt -l de-en -m comet chrf

  # swap whole documents, as metrics with context need; write a table for a paper and a figure
  ctx-metrics compare -s src.txt -t a.txt b.txt c.txt -l en-de --docids ids.txt -m slide -o systems.tex --plot pairs.pdf

Name a metric to see its flags: ctx-metrics compare -m slide --help
"""


@dataclass(frozen=True)
class CompareFlags:
    metrics: Metrics | None = metrics_setting("comparison", DEFAULT_METRIC)
    model: Model | None = model_setting()


@dataclass(frozen=True)
class CompareOutput:
    format: Literal["table", "tsv", "csv", "jsonl", "json", "latex", "markdown"] | None = setting(
        "(Default: by the ending of -o, if it is .tsv, .csv, .jsonl, .json, .tex or .md, else table)", group="output"
    )
    rows: Literal["system", "pair"] | None = setting(
        "One row per system, with its score, interval and rank by each metric, or one row per pair of systems. (Default: "
        "system for latex and markdown and with --autorank, else pair)"
    )
    autorank: Literal["wmt24", "wmt25"] | None = setting(
        "Add AutoRank, which combines the metrics, as WMT24 or WMT25 computed it."
    )
    output: OutputFile | None = flags.output("Output file, instead of the standard output (-).")
    plot: NewFile | None = setting("Draw the matrix of the first metric to a .png, .pdf or .svg file.")
    width: Decimals | None = setting(
        "Number of decimals of scores. (Default: 1 in tables, 4 in TSV; JSON has all)", flag="-w --width"
    )

    @property
    def form(self) -> str:
        return flags.format_of(self.format, self.output, flags.TABLES)

    @property
    def of_systems(self) -> bool:
        return (self.rows or ("system" if self.form in PAPERS or self.autorank else "pair")) == "system"


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    add_all(parser, [TextFlags, CompareFlags, SystemTests, CompareOutput])
    add_metric_flags(parser, argv)
    add_wrapper_flags(parser)
    add_output_flags(parser)
    add_all(parser, [("work", Work), Kept, flags.quiet("No progress bars, and with TSV no signatures on stderr.")])


def fix_of_unknown(words: Sequence[str]) -> str:
    return fix_of_flags(words, COMET_COMPARE, COMET_SCORE, SACREBLEU)


def run(line: CommandLine) -> int:
    from .common import comparisons, output, system_tables

    texts, work, engine = checked_texts(line), checked_work(line), line[EngineOptions]
    asked, testing, written = line[CompareFlags], line[SystemTests], line[CompareOutput]
    chosen = chosen_metrics(line, asked.metrics or [DEFAULT_METRIC], model=asked.model)
    if len(texts.files) == 1:
        line.error("-t names only one system; a comparison needs at least two")
    check_resample(testing.resample, texts, line)
    form = written.form
    if not written.of_systems and form in PAPERS:
        line.error(f"--format {form} has one row per system; leave out --rows pair, or choose another format")
    if not written.of_systems and written.autorank:
        line.error("--autorank gives one number per system; leave out --rows pair")
    check_writable(written.output)
    if written.plot:
        from ..plots.figure import check_figure

        check_figure(written.plot)
    outputs = given_outputs(line)
    of_line = read_run(line, texts, chosen, explain=any(each.explain for each in outputs))
    names = of_line.context.names
    check_outputs(outputs, of_line.context, testing)
    if len(names) < 2:
        line.error("there is only one system; a comparison needs at least two")
    with in_blocks(work, line[Kept]) as blocks:
        used = {*(["doc_ids"] if testing.resample != "segment" else []), *reads_of(outputs)}
        scores = of_line.scores(blocks, documents=bool(outputs), used=used)
    compared = comparisons.compared(scores, testing)
    if form in SEPARATED and not engine.quiet:  # other formats include the signatures
        for column in compared.columns:
            notice(f"{column.title}|{column.signature}")
    if written.of_systems:
        text = system_tables.render(compared, form, written.width, written.autorank)
    else:
        text = comparisons.render(compared, form, written.width)
    for metric in scores.metrics.values() if form == "table" else ():
        text += "".join(f"\n{table}\n" for table in getattr(metric, "tables", lambda names: [])(names))
    output.write(text, written.output)
    if written.plot:
        comparisons.draw(compared, written.plot)
    write_outputs(outputs, scores, testing)
    return 0
