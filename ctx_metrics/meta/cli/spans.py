"""Measure how well predicted error spans agree with those of people: F1 over characters, as WMT25's second subtask.

Reads WMT25's predictions.tsv, as `ctx-metrics score --spans` writes it, and the judgements in the same form.
"""

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...cli.common import flags
from ...flag_types import File, Files
from ...settings import CommandLine, add_all, setting
from ...writing import check_writable
from . import Output, Resampling

USAGE = "%(prog)s JUDGED PREDICTIONS [PREDICTIONS ...] [flags]"
EPILOG = """\
All files are tables with tabs and a header, quoted as pandas writes them (also .gz, .xz). They have the columns segment_id,
start_indices, end_indices and error_types, and, as far as known, source_lang, target_lang, set_id, system_id and doc_id;
JUDGED also has hypothesis_segment. Blanks separate a row's starts, ends (each of the character after the last) and types. A
row without errors has the type no-error.

example:
  ctx-metrics score -s src.txt -t a.txt b.txt -r ref.txt -l en-de --model Unbabel/XCOMET-XL --spans predictions.tsv
  ctx-metrics meta spans judged.tsv predictions.tsv
"""


@dataclass(frozen=True)
class Spans:
    word: str = setting(SUPPRESS, flag="WORD", choices=["spans"])
    judged: File = setting("Error spans that people marked.", flag="JUDGED", group="error spans")
    predictions: Files = setting("Predicted error spans.", flag="PREDICTIONS")
    names: Sequence[str] | None = flags.names("their")


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    parser.prog += " spans"
    add_all(parser, [Spans, ("significance", Resampling), Output])


def run(line: CommandLine) -> int:
    from ...cli.common import output
    from ...system_names import names_fault, system_names
    from ..error_spans import SIGNIFICANCE, span_check
    from ..output import render

    asked, written = line[Spans], line[Output]
    names = asked.names or [name.removesuffix(".tsv") for name in system_names(asked.predictions)]
    if fault := names_fault(names, len(asked.predictions)):
        line.error(fault)
    check_writable(written.output)
    significance = replace(SIGNIFICANCE, **vars(line[Resampling]))
    report = span_check(asked.judged, dict(zip(names, asked.predictions, strict=True)), significance=significance)
    output.write(render(report, written.form, written.width), written.output)
    return 0
