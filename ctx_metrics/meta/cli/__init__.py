"""Meta-evaluation: measure how well metrics agree with people.

Reads test sets with human judgements, scores them with metrics or reads their scores, and reports how well they agree by
the protocols of the WMT metrics tasks, with ranks by significance.
"""

import os
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from typing import TYPE_CHECKING, Annotated, Literal

from ...cli.common import flags
from ...cli.common.metrics import (
    GRID_SETTINGS,
    MetricsWithSettings,
    add_own_flags,
    add_wrapper_flags,
    chosen_metrics,
    metrics_with_settings,
    name_of,
)
from ...cli.common.work import Kept, Work, checked_work, in_blocks
from ...engine_options import EngineOptions
from ...errors import InputError
from ...flag_types import (
    Decimals,
    Directory,
    Few,
    File,
    Files,
    Number,
    OutputFile,
    Positive,
    Probability,
    Seed,
    output_file,
)
from ...judgements.options import DataOptions
from ...notices import notice
from ...paths import Target, Writes, file_target
from ...registry import metric_table
from ...run.wrappers import asked_by_line, wrapped, wraps_of
from ...scoring.context import MetricSettings
from ...settings import CommandLine, add_all, setting
from ...writing import check_writable

SUMMARY = "meta-evaluation: measure how well metrics agree with people"

ENDINGS = {"json": "json", "tsv": "tsv", "csv": "csv", "tex": "latex", "md": "markdown"}
if TYPE_CHECKING:
    from ...judgements.judged import JudgedSet, MetricScores
    from ..protocols import Protocol

CORRELATIONS = {"pearson": "Pearson's r", "spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
# a copy of the names in meta.protocols.make_protocols, in its order: importing it for --help would load scipy
PROTOCOLS = {
    "sys-acc": "share of system pairs ordered as people do, over all sets together (Kocmi et al. 2021)",
    "spa": "soft pairwise accuracy: the same, but comparing how certain the orders are (Thompson et al. 2024)",
    **{
        f"sys-{kind}{left_out}": f"{words} of system scores"
        + ", without outliers (Mathur et al. 2020)" * bool(left_out)
        for kind, words in CORRELATIONS.items()
        for left_out in ("", "-no-outliers")
    },
    **{f"seg-{kind}": f"{words} of segment scores; see --average" for kind, words in CORRELATIONS.items()},
    **{
        f"doc-{kind}": f"{words} of document scores, the means of their segments' scores"
        for kind, words in CORRELATIONS.items()
    },
    "acc-eq": "share of output pairs ordered or tied as people do, ties calibrated (Deutsch et al. 2023)",
    "tau-23": "the same as a tau: 2 acc-eq - 1",
    "darr": "preferences that the metric shares minus the others, ties count against it (WMT17 to WMT20)",
    "wmt12": "the same, as defined at WMT11 and WMT12",
    "wmt13": "the same without ties",
    "wmt14": "the same with ties only in the denominator",
}
_LISTED = "\n".join(f"  {name:<{max(map(len, PROTOCOLS))}}  {words}" for name, words in PROTOCOLS.items())
USAGE = "%(prog)s DATA [DATA ...] [-m NAME[:KEY=VALUE] [NAME ...]] [--scores PATH [PATH ...]] [-p PROTOCOL ...] [flags]"
EPILOG = f"""\
DATA is recognised by its layout:
  a folder  an mt-metrics-eval tree (human-scores, system-outputs, ...); DAseg.* files of WMT's segment DA;
            DA-syslevel.csv of its system DA
  a file    (.tsv, .csv; also .gz, .xz) any TSV whose header names mt, score and any of src, ref, system, doc, seg, rater;
            lists of better and worse outputs; Google's MQM annotations; WMT13 rankings (with --outputs and --reference);
            MLQE-PE

protocols (-p); more is better in all of them:
{_LISTED}
  Without -p: sys-acc, spa, seg-pearson and acc-eq, if the data has human scores of systems and segments; darr for
  preferences.

examples:
  # three metrics on judged outputs, with the documents that slide reads
  ctx-metrics meta judged.tsv -l de-en -m bleu bertr slide

  # pairwise system accuracy over the language pairs of a tree; a system that is left out
  ctx-metrics meta wmt22 -l en-de en-ru zh-en -m bleu chrf -p sys-acc --drop en-de:M2M100_1.2B-B4

  # published scores of metrics next to a metric scored here; segment and system protocols
  ctx-metrics meta wmt22 -l zh-en --scores metric-scores/zh-en -m bertr -p sys-acc spa seg-pearson acc-eq

  # two settings of one metric, and two models
  ctx-metrics meta judged.tsv -l de-en -m slide:window=1 slide:window=3 comet comet:model=multilingual

  # better/worse lists; all windows and strides of slide as a heat map
  ctx-metrics meta kk-en.tsv gu-en.tsv -m bleu chrf bertr
  ctx-metrics meta wmt22 -l zh-en -m comet --slide-grid 10 --plot wmt22.pdf

`ctx-metrics meta paraphrase --help`: how well metrics tell paraphrases apart (PAWS, MRPC, STS-B).
`ctx-metrics meta spans --help`: how well predicted error spans agree with human ones (WMT25's predictions.tsv).
"""


def metric_pattern(text: str) -> tuple[str, str]:
    """Split METRIC:SET into metric and pattern, for argparse. METRIC may have settings, which also contain colons."""
    metric, colon, pattern = text.rpartition(":")
    if not (metric and colon and pattern):
        raise ArgumentTypeError(f"{text!r} is not METRIC:SET, such as 'comet:newstest2016.*'")
    return metric, pattern


@dataclass(frozen=True)
class Paths:
    data: Files = setting("Folders and files; see below.", flag="DATA", group="judged data")


@dataclass(frozen=True)
class JudgedData(DataOptions):
    """The data to evaluate on. More formats are supported than for training."""

    reference: File | None = setting(
        "Reference to use. In a tree: its name, such as refA, or several joined by commas. In a table with several: "
        "the column, such as ref2 or ref,ref2. In MQM annotations: the human translation, such as Human-A.0. With "
        "rankings: the reference file.",
        metavar="NAME",
    )
    outputs: Directory | None = setting("With rankings: the folder of the systems' outputs.")
    no_text_checks: bool = flags.text_checks()
    unescape: bool = flags.unescape()
    drop: Sequence[str] = setting(
        "Systems to leave out: names, or patterns such as 'Online-*'. SET limits it to one set: the set's name, its "
        "language pair or a pattern.",
        (),
        metavar="[SET:]SYSTEM",
    )
    keep_humans: bool = setting(
        "Keep human translations among the systems, except the reference. By default, systems with names such as "
        "refA or Human-B are left out.",
        False,
    )


@dataclass(frozen=True)
class Evaluation:
    metrics: MetricsWithSettings | None = setting(
        "Metrics to run: one or more of %(choices)s. `-m NAME --help` shows a metric's own flags. NAME:KEY=VALUE,... is "
        "the metric with settings of its own, by the names of these flags without --NAME-: slide:window=3. TER is negated.",
        flag="-m --metrics",
        group="metrics",
        choices=metrics_with_settings,
    )
    scores: Files | None = setting(
        "Scores from files METRIC-REF.seg.score and .sys.score, or from folders of them (DIR, DIR/SET or DIR/PAIR), as "
        "mt-metrics-eval, --save-scores and sacrebleu's --ctx-seg-scores write them; or from tables of `score` "
        "(.jsonl, .tsv, .csv).",
        metavar="PATH",
    )
    save_scores: Annotated[str, Writes(inside=("*/*.score", "*/*.signature.json")), "DIR"] | None = setting(
        "Write the scores of -m to files in DIR/SET, each metric's as soon as it is done, for --scores. Scores of "
        "the same texts and settings that are already there are not computed again."
    )
    slide_grid: Few | None = setting(
        "Also compute the system accuracy of slide with all windows and strides up to W; each window is read once.",
        metavar="W",
    )
    seen: Annotated[Sequence[tuple[str, str]], metric_pattern] = setting(
        "Mark the sets that a metric was trained on; SET may be a pattern, such as 'newstest2016.*'.",
        (),
        metavar="METRIC:SET",
    )
    protocols: Sequence[str] | None = setting(
        "How to measure agreement: one or more of those below. (Default: the usual ones for the data)",
        flag="-p --protocols",
        group="protocols and significance",
        choices=list(PROTOCOLS),
        metavar="PROTOCOL",
    )
    average: Literal["none", "item", "system"] | None = setting(
        "Groups of outputs that segment-level protocols average over: none pools all outputs, item groups "
        "them by source segment, system by system. (Default: none for correlations, item for acc-eq and tau-23)"
    )
    threshold: Number = setting(
        "For data without preferences: the smallest difference between two human scores that darr and the other taus "
        "count as a preference.",
        25.0,
    )
    test: Literal["auto", "perm-both", "bootstrap", "pairs", "williams", "none"] = setting(
        "How to compare metrics. auto uses perm-both for systems (sys-..., spa) and bootstrap for segments and "
        "preferences; pairs is WMT's permutation for acc-eq, which is too lenient.",
        "auto",
    )
    intervals: bool = setting("95 %% bootstrap intervals.", False)
    all_pairs: bool = setting("Test all pairs of metrics, not only those that the ranks need.", False)


@dataclass(frozen=True)
class Resampling:
    resamples: Positive = setting("Number of resamples of tests and intervals.", 1000)
    seed: Seed = setting("Seed of tests and intervals.", 0)
    alpha: Probability = setting("Level of significance.", 0.05)


@dataclass(frozen=True)
class Output:
    format: Literal["table", "json", "tsv", "csv", "latex", "markdown"] | None = setting(
        "(Default: by the ending of -o, if it is .json, .tsv, .csv, .tex or .md, else table)", group="output"
    )
    output: OutputFile | None = flags.output()
    width: Decimals | None = setting("Number of decimals. (Default: 3, in TSV 6; JSON has all)", flag="-w --width")

    @property
    def form(self) -> str:
        return flags.format_of(self.format, self.output, ENDINGS)


def _pages(line: CommandLine, path: str) -> list[Target]:
    return [file_target(path)] if line[Plots].single else [(path, "*.html")]


def _figures(line: CommandLine, path: str) -> list[Target]:
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    return [file_target(path), (folder, f"{escape(stem)}.*{escape(ending)}")]


@dataclass(frozen=True)
class Plots:
    report: Annotated[str, Writes(targets=_pages), "PATH"] | None = setting(
        "Write pages as `ctx-metrics report` does, with human scores next to the metrics': one of all sets if PATH ends "
        "in .html, else SET.html for each set in the folder PATH."
    )

    @property
    def single(self) -> bool:
        return self.report is not None and self.report.lower().endswith(".html")

    plot: Annotated[str, Writes(output_file, targets=_figures), "FILE"] | None = setting(
        "Draw figures to .png, .pdf or .svg files: metrics against people for each set, agreement with intervals, agreement "
        "by document length, the heat map of --slide-grid. Each file's name has the figure's name before the ending, such "
        "as x.agreement.sys-acc.png for --plot x.png."
    )


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    add_all(parser, [Paths, JudgedData, Evaluation, Resampling, Output, Plots])
    add_own_flags(parser, argv)
    add_wrapper_flags(parser, texts=False)
    quiet = flags.quiet("No progress bars and no progress lines.")
    add_all(parser, [("engine for neural metrics", EngineOptions), ("work", Work), Kept, quiet])


def checked(line: CommandLine) -> tuple[list[MetricSettings], MetricSettings | None]:
    """Return the metrics of -m, and slide for --slide-grid."""
    asked, error = line[Evaluation], line.error
    grid = asked.slide_grid is not None
    if not (asked.metrics or asked.scores or grid):
        error("nothing to evaluate: name metrics (-m), score files (--scores) or --slide-grid W")
    if grid and "slide" not in metric_table().plugins:
        error("--slide-grid is for slide, which is not installed")
    chosen = chosen_metrics(line, asked.metrics or (), also=["slide"] * grid)
    names = [name_of(each.name) for each in chosen]
    slide = chosen_metrics(line, ["slide"], also=names)[0] if grid else None
    if slide and "slide" not in names and any(slide.own.get(each) is not None for each in GRID_SETTINGS):
        error("--slide-grid takes all windows and strides; leave out --slide-window, --slide-stride and --slide-tokens")
    if asked.save_scores and not chosen:
        error("--save-scores saves the scores of -m, but -m names no metric; name one")
    wraps = wraps_of(asked_by_line(line))
    return wrapped(chosen, wraps), wrapped([slide], wraps)[0] if slide else None


def run(line: CommandLine) -> int:
    from ...cli.common import output
    from ..evaluation import Significance, evaluate
    from ..output import render
    from . import data as meta_data

    chosen, slide = checked(line)
    data, asked, plots = line[JudgedData], line[Evaluation], line[Plots]
    engine, work, written = line[EngineOptions], checked_work(line), line[Output]
    check_writable(written.output)
    if plots.plot:
        from ...plots.figure import check_figure

        check_figure(plots.plot)
    if plots.report:
        from ...report import page

        page.check_installed()
        check_writable(plots.report, folder=not plots.single)
    if asked.save_scores:
        check_writable(asked.save_scores, folder=True)
    sets = meta_data.read_sets(line[Paths].data, data)
    protocols = _protocols(sets, asked)
    with in_blocks(work, line[Kept]) as blocks:
        scores = meta_data.score_sets(sets, asked, chosen, slide, engine, not data.no_text_checks, blocks)
    significance = replace(line[Significance], intervals=asked.intervals or bool(plots.plot))
    report = evaluate(sets, scores, protocols, significance, seen=asked.seen, quiet=engine.quiet)
    output.write(render(report, written.form, written.width), written.output)
    if plots.plot:
        from ..figures import draw

        draw(report, sets, scores, protocols, plots.plot, asked.slide_grid)
    if plots.report:
        _write_pages(sets, scores, plots.report, plots.single)
    return 0


def _write_pages(
    sets: "Sequence[JudgedSet]", scores: "Mapping[str, Sequence[MetricScores]]", path: str, single: bool
) -> None:
    from ...report.columns import judged_content
    from ...report.page import page, title_of
    from ...writing import make_folder, write_whole

    found = [judged_content(judged, scores[judged.name]) for judged in sets]
    contents = [content for content in found if content]
    pages = {os.path.join(path, re.sub(r"[^\w.-]", "_", each.test_set) + ".html"): [each] for each in contents}
    if single and contents:
        pages = {path: contents}
    elif not single:
        make_folder(path)
    for file, shown in pages.items():
        write_whole(file, page(shown, shown[0].test_set if len(shown) == 1 else title_of(*shown)))
    notice(f"pages: {', '.join(pages)}" if pages else "--report: there is nothing to show")


def _protocols(sets: "Sequence[JudgedSet]", asked: Evaluation) -> "list[Protocol]":
    """The protocols of -p, or the usual ones for the sets; fails before scoring if none applies to any."""
    from ..protocols import make_protocols, usual_protocols

    known = make_protocols(asked.average, asked.threshold)
    wanted = asked.protocols or list(dict.fromkeys(name for judged in sets for name in usual_protocols(judged)))
    if not (asked.protocols or asked.metrics or asked.scores):  # the grid has only system scores
        wanted = [name for name in wanted if known[name].level == "system"] or ["sys-acc"]
    protocols = [known[name] for name in known if name in wanted]
    lacks = {each.name: {judged.name: each.lacks(judged) for judged in sets} for each in protocols}
    if all(all(of_sets.values()) for of_sets in lacks.values()):
        said = [f"{name} ({', '.join(dict.fromkeys(of_sets.values()))})" for name, of_sets in lacks.items()]
        raise InputError(
            f"{', '.join(judged.name for judged in sets)}: none of the protocols applies: {'; '.join(said)}"
        )
    return protocols
