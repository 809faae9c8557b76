"""Score translations with any metrics: neural ones, and sacrebleu's own BLEU, chrF and TER.

Prints a table of the systems, or segment, document and system scores as TSV or JSON. Scores are on sacrebleu's scale,
x100; a COMET model's .8523 is printed as 85.2.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass

from ...engine_options import EngineOptions
from ...errors import InputError
from ...flag_types import Decimals, Few, Model, NewFile, OutputFile
from ...notices import notice
from ...scoring.context import MetricSettings
from ...scoring.inputs import installed_inputs
from ...scoring.names import name_in_files
from ...separated import SEPARATED
from ...settings import CommandLine, add_all, setting
from ...writing import check_writable
from ..common import flags
from ..common.inputs import TextFlags, checked_texts, read_run
from ..common.metrics import (
    GRID_SETTINGS,
    Metrics,
    add_own_flags,
    add_wrapper_flags,
    chosen_metrics,
    metrics_setting,
    model_setting,
)
from ..common.outputs import add_output_flags, check_outputs, given_outputs, reads_of, write_outputs
from ..common.work import Kept, Work, checked_work, in_blocks
from ..unknown_flags import COMET_SCORE, COMPARE, SACREBLEU, fix_of_flags

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
class ScoreFlags:
    """The metrics, and the output."""

    metrics: Metrics | None = metrics_setting("metrics", DEFAULT_METRIC)
    model: Model | None = model_setting()
    slide_grid: Few | None = setting(
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
    output: OutputFile | None = flags.output("Output file, instead of the standard output (-).")
    with_texts: bool = setting(
        "Add the columns source, reference and hypothesis to the rows of segments, in any format but table.", False
    )
    spans: NewFile | None = setting("Also write the error spans that a metric marks, as WMT25's predictions.tsv.")
    width: Decimals | None = setting(
        "Number of decimals. (Default: 1 in tables, 4 in TSV; with --scale 1, 4 and 6; JSON has all)",
        flag="-w --width",
        metavar="N",
    )
    scale: int = setting(
        "100 prints scores as sacrebleu does, 1 divides all by 100, as comet-score prints them.", 100, choices=[100, 1]
    )

    @property
    def form(self) -> str:
        return flags.format_of(self.format, self.output)

    @property
    def places(self) -> Sequence[str]:
        usual = ["system"] if self.form == "table" else ["segment", "system"]
        return ["system"] if self.only_system else self.levels or usual


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    add_all(parser, [TextFlags, ScoreFlags])
    add_metric_flags(parser, argv)
    add_wrapper_flags(parser)
    add_output_flags(parser)
    add_all(parser, [("work", Work), Kept, flags.quiet("No progress bars, and with TSV no signatures on stderr.")])


def add_metric_flags(parser: ArgumentParser, argv: Sequence[str]) -> None:
    add_own_flags(parser, argv, [DEFAULT_METRIC])
    inputs = [(each.title, each.add_arguments) for each in installed_inputs()]
    add_all(parser, [*inputs, ("engine for neural metrics", EngineOptions)])


def check_resample(unit: str | None, texts: TextFlags, line: CommandLine) -> None:
    if unit == "document" and not (texts.docids or texts.dataset or texts.columns):
        line.error("--resample document needs the documents: give --docids FILE")


def _chosen(line: CommandLine, asked: ScoreFlags, texts: TextFlags) -> list[MetricSettings]:
    error = line.error
    if asked.only_system and asked.levels and asked.levels != ["system"]:
        error(f"--only-system contradicts --level {' '.join(asked.levels)}; leave one out")
    grid = asked.slide_grid is not None
    names = asked.metrics or [GRID_METRIC if grid else DEFAULT_METRIC]
    if grid and {*names} != {GRID_METRIC}:
        error("--slide-grid scores only slide; leave out the other metrics")
    if grid and (line[Work].on or line[Kept].ctx_cache):
        error("--slide-grid does not work with --on and --ctx-cache; leave those out")
    chosen = chosen_metrics(line, names, model=asked.model)
    if grid and any(chosen[0].own[each] is not None for each in GRID_SETTINGS):
        error("--slide-grid takes all windows and strides; leave out --slide-window, --slide-stride and --slide-tokens")
    if grid and asked.levels not in (None, ["system"]):
        error("--slide-grid gives system scores; leave out --level")
    if grid and asked.with_texts:
        error("--slide-grid gives system scores, which have no texts; leave out --with-texts")
    if asked.with_texts and (asked.form == "table" or "segment" not in asked.places):
        error(
            "--with-texts adds columns to rows of segments: give --format tsv, csv, jsonl or json, with --level segment"
        )
    if grid and asked.spans:
        error("--slide-grid marks no error spans; leave out --spans")
    if asked.spans and asked.spans.lower().endswith(".csv"):
        error(f"--spans {asked.spans}: WMT's table is separated by tabs; name a .tsv file")
    if asked.compare and (asked.form != "table" or asked.scale != 100 or grid):
        error("--compare works only with --format table; ctx-metrics compare writes TSV, CSV, JSON, LaTeX and Markdown")
    if asked.compare and len(texts.files) == 1:
        error("--compare: -t names only one system; a comparison needs at least two")
    return chosen


def fix_of_unknown(words: Sequence[str]) -> str:
    found = fix_of_flags(words, COMET_SCORE, COMPARE, SACREBLEU)
    if not words[0].startswith("-"):
        found += "\n  give files with their flags: -t FILE (translations), -r FILE (references), -s FILE (source)"
    return found


def run(line: CommandLine) -> int:
    from ...scoring.testing import USUAL
    from ..common import output

    texts, work, engine = checked_texts(line), checked_work(line), line[EngineOptions]
    asked = line[ScoreFlags]
    chosen = _chosen(line, asked, texts)
    check_writable(asked.output)
    if asked.spans:
        check_writable(asked.spans)
    outputs = given_outputs(line)
    if outputs and asked.slide_grid is not None:
        line.error(f"--slide-grid gives a table of systems; leave out {next(iter(outputs)).flag()}")
    of_line = read_run(line, texts, chosen, explain=any(each.explain for each in outputs))
    context = of_line.context
    check_outputs(outputs, context, USUAL)
    if "document" in asked.places and context.doc_ids is None:
        raise InputError("--level document needs the documents: give --docids FILE, or a column doc")
    if asked.slide_grid is not None:
        from . import grid

        text, signatures = grid.render_grid(of_line, asked)
    else:
        with in_blocks(work, line[Kept]) as blocks:
            scores = of_line.scores(
                blocks,
                documents="document" in asked.places or bool(outputs),
                used={*(["doc_ids"] if asked.compare or asked.places != ["system"] else []), *reads_of(outputs)},
            )
        reports = {
            name_in_files(name, metric, str(metric.get_signature().format())): output.report(
                metric, of_metric, asked.places, asked.scale
            )
            for (name, metric), of_metric in zip(scores.metrics.items(), scores.scores, strict=True)
        }
        places = output.places(context.names, len(context.systems[0]), context.doc_ids, asked.places)
        beside = output.texts_of(context, places) if asked.with_texts else ()
        text = output.render(reports, places, asked.form, asked.width, asked.scale, beside)
        if asked.compare:
            from ..common import comparisons

            found = comparisons.compared(scores, USUAL)
            text += f"\n{comparisons.tables(found, asked.width)}\n"
        signatures = [(report.title, report.signature) for report in reports.values()]
    if asked.form in SEPARATED and not engine.quiet:  # other formats include the signatures
        for title, signature in signatures:
            notice(f"{title}|{signature}")
    output.write(text, asked.output)
    if asked.spans:
        from ..common import spans

        output.write(spans.predictions(scores), asked.spans)
    if outputs:
        write_outputs(outputs, scores, USUAL)
    return 0
