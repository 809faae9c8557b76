"""The figures of `ctx-metrics meta --plot DIR`."""

import os
import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...notices import notice
from ...plots import save
from .. import plots
from ..judgements.judged import JudgedSet, MetricScores
from ..lengths import agreement_by_length
from ..measures.correlation import mad_outliers
from ..protocols import PreferenceTau, Protocol
from ..report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = 12  # more would be illegible on a page
GRID_CELL = re.compile(r"slide\((\d+),(\d+)\)")


def draw(
    report: Report,
    sets: Sequence[JudgedSet],
    scores: Mapping[str, Sequence[MetricScores | None]],
    protocols: Sequence[Protocol],
    args: Namespace,
) -> None:
    """Draw every figure for which this evaluation has data, and say which files were written."""
    written = []
    for name, figure in _figures(report, sets, scores, protocols, args.slide_grid):
        file = re.sub(r"[^\w.-]", "_", name) + f".{args.plot_format}"
        save(figure, os.path.join(args.plot, file))
        written.append(file)
    notice(f"figures in {args.plot}: {', '.join(written)}" if written else "--plot: there is nothing to draw")


def _figures(
    report: Report,
    sets: Sequence[JudgedSet],
    scores: Mapping[str, Sequence[MetricScores | None]],
    protocols: Sequence[Protocol],
    largest: int | None,
) -> Iterator[tuple[str, "Figure"]]:
    for agreement in report.agreements:
        yield f"agreement.{agreement.protocol}", plots.agreement_bars(agreement)
        cells = {
            (int(match[1]), int(match[2])): float(value)
            for metric, value in zip(agreement.metrics, agreement.overall, strict=True)
            if (match := GRID_CELL.fullmatch(metric))
        }
        if cells:
            title = f"slide on {', '.join(agreement.sets)}"
            size = largest or max(cells)[0]  # without --slide-grid, the grid comes from score files
            yield f"slide-grid.{agreement.protocol}", plots.window_heatmap(cells, size, title, agreement.title)
    best = report.agreements[0].metrics  # sorted, best first
    shown = sorted(
        {each.name for of_set in scores.values() for each in of_set if each and not GRID_CELL.fullmatch(each.name)},
        key=lambda name: best.index(name) if name in best else len(best),
    )
    if len(shown) > PANELS:
        notice(
            f"--plot: figures of systems show the {PANELS} best of {len(shown)} metrics by {report.agreements[0].protocol}"
        )
    for judged in sets:
        of_set = {each.name: each for each in scores[judged.name] if each}
        metrics = {
            name: array
            for name in shown[:PANELS]
            if name in of_set and (array := of_set[name].system_scores) is not None
        }
        if judged.system_scores is None or not metrics:
            continue
        there = ~np.isnan(judged.system_scores)
        human = judged.system_scores[there]
        systems = [system for system, known in zip(judged.systems, there, strict=True) if known]
        outliers = [system for system, out in zip(systems, mad_outliers(human), strict=True) if out]
        of_known = {name: of_metric[there] for name, of_metric in metrics.items()}
        yield f"systems.{judged.name}", plots.system_scatter(judged.name, systems, human, of_known, outliers)
    for protocol in protocols:
        if isinstance(protocol, PreferenceTau):
            continue
        ordered = {
            name: [next((each for each in of_set if each and each.name == metric), None) for metric in shown]
            for name, of_set in scores.items()
        }
        curves = agreement_by_length(sets, ordered, protocol)
        if curves:
            yield f"document-length.{protocol.name}", plots.agreement_by_length(curves)
