"""`ctx-metrics score --slide-grid W`: slide's scores of all windows and strides up to W."""

from argparse import Namespace

from ...metrics.slide import SLIDE
from ...notices import notice
from ...separated import SEPARATED
from ..common.inputs import Inputs
from ..common.output import as_json, cells, decimals_of, number, signatures, table
from .scoring import build_metrics, printed_signature

COLUMNS = ("system", "window", "stride", "score")


def render_grid(inputs: Inputs, args: Namespace) -> tuple[str, list[tuple[str, str]]]:
    """Score every system with all windows and strides; returns the text in the requested format, and the (title, signature)
    pairs of the scores in it."""
    from ...metrics.slide import slide_grid

    metric = build_metrics(inputs, args)["slide"]
    assert isinstance(metric, SLIDE)
    if inputs.context.doc_ids is None:
        notice("slide: no document ids (--docids FILE), so all segments are taken as one document")
    grid = slide_grid(metric, inputs.context.systems, inputs.context.references or [], args.slide_grid)
    scores = {
        (name, window, stride): float(values[k]) * args.scale / 100
        for k, name in enumerate(inputs.names)
        for (window, stride), values in sorted(grid.items())
    }
    largest = f"1-{args.slide_grid}"
    of_all = [(metric.title, _signature(metric, args.scale, largest, largest))]
    if args.format == "table":
        return _tables(inputs.names, scores, args) + f"\n\n{signatures(of_all)}\n", of_all
    if args.format in SEPARATED:
        rows = [[*place, score] for place, score in scores.items()]
        return cells(args.format, COLUMNS, rows, decimals_of(args.format, args.width, args.scale)), of_all
    objects = [
        {**dict(zip(COLUMNS, (*place, score), strict=True)), "signature": _signature(metric, args.scale, *place[1:])}
        for place, score in scores.items()
    ]
    return as_json(objects, args.format, args.width), of_all


def _tables(names: list[str], scores: dict[tuple[str, int, int], float], args: Namespace) -> str:
    """Return one table per system, with a row per window and a column per stride; strides beyond the window stay empty."""
    sizes = range(1, args.slide_grid + 1)
    decimals = decimals_of("table", args.width, args.scale)
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
