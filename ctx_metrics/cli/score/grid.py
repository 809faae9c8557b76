"""`ctx-metrics score --slide-grid W`: slide's scores of all windows and strides up to W."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...metrics.slide import SLIDE
from ...run.run import Run
from ...separated import SEPARATED
from ..common.output import as_json, cells, decimals_of, number, printed_signature, signatures, table

if TYPE_CHECKING:
    from . import ScoreFlags

COLUMNS = ("system", "window", "stride", "score")


def render_grid(run: Run, asked: "ScoreFlags") -> tuple[str, list[tuple[str, str]]]:
    """Score every system with all windows and strides; also returns the (title, signature) pairs of the scores."""
    from ...metrics.slide import slide_grid

    metric, context = run.build()["slide"], run.context
    assert isinstance(metric, SLIDE) and asked.slide_grid
    if context.doc_ids is None:
        metric.say_one_document()
    grid = slide_grid(metric, context.systems, context.references or [], asked.slide_grid)
    scores = {
        (name, window, stride): float(values[k]) * asked.scale / 100
        for k, name in enumerate(context.names)
        for (window, stride), values in sorted(grid.items())
    }
    largest = f"1-{asked.slide_grid}"
    of_all = [(metric.title, _signature(metric, asked.scale, largest, largest))]
    if asked.form == "table":
        return _tables(context.names, scores, asked) + f"\n\n{signatures(of_all)}\n", of_all
    if asked.form in SEPARATED:
        rows = [[*place, score] for place, score in scores.items()]
        return cells(asked.form, COLUMNS, rows, decimals_of(asked.form, asked.width, asked.scale)), of_all
    objects = [
        {**dict(zip(COLUMNS, (*place, score), strict=True)), "signature": _signature(metric, asked.scale, *place[1:])}
        for place, score in scores.items()
    ]
    return as_json(objects, asked.form, asked.width), of_all


def _tables(names: Sequence[str], scores: dict[tuple[str, int, int], float], asked: "ScoreFlags") -> str:
    sizes = sorted({window for _, window, _ in scores})
    decimals = decimals_of("table", asked.width, asked.scale)
    texts = []
    for name in names:
        rows = [
            [str(window)]
            + [number(scores[name, window, stride], decimals, "-") if stride <= window else "" for stride in sizes]
            for window in sizes
        ]
        texts.append(f"{name}\n" + table(["window \\ stride", *map(str, sizes)], rows))
    return "\n\n".join(texts)


def _signature(metric: SLIDE, scale: int, window: object, stride: object) -> str:
    metric.signature.update(window=window, stride=stride)
    return printed_signature(metric, scale)
