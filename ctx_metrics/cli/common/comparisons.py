"""All pairs of systems compared by some metrics: how they are tested, and the tables, rows and figure that show it."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...notices import notice
from ...run.run import RunScores
from ...scoring.comparison import Column, Comparison
from ...scoring.testing import Design, SystemTests
from ...separated import SEPARATED
from . import output

SCORES = ("score", "other_score", "difference", "low", "high")
CELLS = "Each cell is the row's score minus the column's."


class SystemComparisons(NamedTuple):
    names: Sequence[str]
    columns: Sequence[Column]
    design: Design


def compared(run: RunScores, testing: SystemTests) -> SystemComparisons:
    """Test all pairs of systems by each metric; notices name any reason why p-values are unreliable."""
    design = testing.design(run.context.systems, run.context.doc_ids)
    design.say_what_is_rough(run.metrics)
    return SystemComparisons(run.context.names, columns_of(run, design), design)


def columns_of(run: RunScores, design: Design) -> list[Column]:
    of_metrics = zip(run.metrics.items(), run.scores, strict=True)
    return [Column.of(name, metric, scores, design) for (name, metric), scores in of_metrics]


def render(found: SystemComparisons, form: str, decimals: int | None) -> str:
    if form == "table":
        below = output.signatures((column.title, column.signature) for column in found.columns)
        return "\n\n".join([tables(found, decimals), below]) + "\n"
    objects = objects_of(found)
    if form in SEPARATED:
        columns = [name for name in objects[0] if name != "signature"]
        return output.cells(
            form, columns, [[_cell(name, each[name], decimals) for name in columns] for each in objects], 4
        )
    if decimals is not None:
        objects = [{**each, **{name: round(each[name], decimals) for name in SCORES}} for each in objects]
    return output.as_json(objects, form, None)


def tables(found: SystemComparisons, decimals: int | None) -> str:
    decimals = output.decimals_of("table", decimals)
    parts = []
    for column in found.columns:
        comparison, scores, order = column.comparison, [each.system for each in column.scores], column.order
        first = [
            [
                _rank(comparison, s),
                found.names[s],
                output.number(scores[s], decimals, "-"),
                _ends(comparison, s, decimals),
            ]
            for s in order
        ]

        def cell(i: int, j: int, scores: list[float] = scores, comparison: Comparison | None = comparison) -> str:
            if math.isnan(scores[i] - scores[j]):
                return "-"
            sure = comparison is not None and comparison.differ(i, j)
            return f"{round(scores[i] - scores[j], decimals) + 0.0:+.{decimals}f}" + "*" * sure

        parts += [
            output.table(["Rank", "System", column.heading, "95 % interval"], first),
            output.matrix("Row minus column", found.names, order, cell),
        ]
    marks, *others = found.design.notes() or [""]
    notes = [textwrap.fill(note, output.WIDTH, subsequent_indent="  ") for note in [f"{CELLS} {marks}", *others]]
    return "\n\n".join([*parts, "\n".join(notes)])


def draw(found: SystemComparisons, path: str) -> None:
    from ...plots.figure import save
    from ...plots.pairs import difference_matrix

    first = found.columns[0]
    if first.comparison is None:
        notice(f"{path}: a figure needs at least two segments, so none is drawn")
        return
    scores = [each.system for each in first.scores]
    save(difference_matrix(found.names, first.heading, scores, first.comparison, first.order, first.sign), path)


def _rank(comparison: Comparison | None, system: int) -> str:
    return "-" if comparison is None or not comparison.ranks[system] else str(comparison.ranks[system])


def interval(comparison: Comparison | None, system: int) -> tuple[float, float]:
    """Return the 95 % interval of a system's score; NaN twice if there is none."""
    if comparison is None:
        return math.nan, math.nan
    mean, margin = float(comparison.means[system]), float(comparison.margins[system])
    return mean - margin, mean + margin


def _ends(comparison: Comparison | None, system: int, decimals: int) -> str:
    low, high = interval(comparison, system)
    return "-" if math.isnan(low) else f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def _cell(name: str, value: Any, decimals: int | None) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if name == "alpha":
        return f"{value:g}"
    return output.number(value, output.decimals_of("tsv", decimals if name in SCORES else None))


def objects_of(found: SystemComparisons) -> list[dict[str, Any]]:
    """Return one record for each metric and pair of systems, the better one first."""
    return [each for column in found.columns for each in _objects(found, column)]


def _objects(found: SystemComparisons, column: Column) -> list[dict[str, Any]]:
    comparison, scores = column.comparison, [each.system for each in column.scores]
    pairs = [(i, j) for place, i in enumerate(column.order) for j in column.order[place + 1 :]]
    nothing = math.nan
    return [
        {
            "metric": column.written_name,
            "system": found.names[i],
            "other": found.names[j],
            "score": scores[i],
            "other_score": scores[j],
            "difference": scores[i] - scores[j],
            "low": nothing if comparison is None else float(comparison.differences[i, j, 0]),
            "high": nothing if comparison is None else float(comparison.differences[i, j, 1]),
            "p": nothing if comparison is None else float(comparison.p_values[i, j]),
            "p_holm": nothing
            if comparison is None or found.design.testing.no_holm
            else float(comparison.adjusted[i, j]),
            "significant": comparison is not None and comparison.differ(i, j),
            "rank": comparison and comparison.ranks[i],
            "other_rank": comparison and comparison.ranks[j],
            **found.design.facts(),
            "signature": column.signature,
        }
        for i, j in pairs
    ]
