"""Figures of an evaluation: what is drawn, read from the artists; the looks are for eyes."""

import subprocess
import sys

import numpy as np
import pytest
from selection import some, some_rows

pytest.importorskip("matplotlib")

from ctx_metrics.errors import InputError
from ctx_metrics.meta import figures as plots
from ctx_metrics.meta.lengths import LengthCurves
from ctx_metrics.meta.report import Agreement
from ctx_metrics.plots.figure import BLUE, VERMILION, check_figure, save

NAN = float("nan")
SYSTEMS = ["A", "B", "C_$2$", "D-系统", "refB"]
HUMAN = np.array([1.0, 3.0, 2.0, 4.0, -9.0])


def scatter(**metrics):
    return plots.system_scatter("wmt22.zh-en", SYSTEMS, HUMAN, metrics, ["refB"])


def agreement(**changes) -> Agreement:
    fields = {
        "protocol": "sys-acc",
        "title": "system-level pairwise accuracy",
        "level": "system",
        "unit": "system pairs",
        "sets": ["x", "y"],
        "sizes": [91, 78],
        "metrics": ["A", "B", "C", "D"],
        "values": np.zeros((4, 2)),
        "overall": np.array([0.9, 0.8, 0.7, NAN]),
        "overall_is": "pooled",
        "intervals": np.array([[0.85, 0.95], [0.75, 0.85], [0.6, 0.75], [NAN, NAN]]),
        "ranks": [1, 1, 3, 0],
        "seen": {("B", "y")},
    }
    return Agreement(**{**fields, **changes})


def texts(axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_scatter_draws_every_scored_system():
    figure = scatter(BLEU=np.array([1.0, 3.0, 2.0, 4.0, 2.5]), TER=np.array([NAN, -3.0, -2.0, -4.0, -2.5]))
    first, second = figure.axes
    systems, outliers = first.lines
    assert systems.get_xydata().tolist() == [[1, 1], [3, 3], [2, 2], [4, 4]]
    assert outliers.get_xydata().tolist() == [[-9, 2.5]]
    assert (systems.get_marker(), outliers.get_marker()) == ("o", "D")
    assert (systems.get_color(), outliers.get_color()) == (BLUE, VERMILION)
    assert [len(line.get_xdata()) for line in second.lines] == [3, 1]
    # numbers by human score, best first: D, B, C, A, refB; an outlier is named
    places = {text.get_text(): tuple(map(float, text.xy)) for text in first.texts}
    assert places == {"refB": (-9, 2.5), "1": (4, 4), "2": (3, 3), "3": (2, 2), "4": (1, 1)}
    assert sorted(texts(second)) == ["1", "2", "3", "refB"]
    key = [text.get_text() for text in figure.legends[0].get_texts()]
    assert key == ["1 D-系统", "2 B", "3 C_\\$2\\$", "4 A", "5 refB"]


def test_labels_of_a_crowd_cover_neither_one_another_nor_points():
    human = np.arange(30.0) % 6
    scores = np.arange(30.0) // 6
    figure = plots.system_scatter("set", [f"system{k}" for k in range(30)], human, {"BLEU": scores})
    figure.draw_without_rendering()
    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts]
    dots = axes.transData.transform(np.column_stack([human, scores]))
    assert len(boxes) == 30
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert not any(box.contains(*dot) for box in boxes for dot in dots)


def test_scatter_titles_have_both_correlations():
    scores = np.array([1.0, 3.0, 2.0, 4.0, 2.5])
    # without refB the metric is people's score itself
    r = np.corrcoef(HUMAN, scores)[0, 1]
    (axes,) = scatter(BLEU=scores).axes
    assert axes.get_title() == f"BLEU\nr = {r:.3f}, 1.000 without 1 outlier".replace("0.", ".")
    (axes,) = plots.system_scatter("set", SYSTEMS, HUMAN, {"BLEU": -HUMAN}).axes
    assert axes.get_title() == "BLEU\nr = -1.000"


def test_scatter_where_there_is_no_correlation():
    nothing, flat, two = scatter(a=np.full(5, NAN), b=np.ones(5), c=np.array([1, 2, NAN, NAN, NAN])).axes
    assert texts(nothing) == ["no scores"]
    assert [axes.get_title().split("\n")[1] for axes in (nothing, flat, two)] == [
        "r = -",
        "r = -, - without 1 outlier",
        "r = -",
    ]


@pytest.mark.parametrize("metrics", some([1, 2, 6, 52], [1, 6]))
def test_scatter_has_a_panel_a_metric(metrics):
    figure = scatter(**{f"metric{k}": HUMAN + k for k in range(metrics)})
    assert [axes.get_title().split("\n")[0] for axes in figure.axes] == [f"metric{k}" for k in range(metrics)]


def test_dots_and_intervals():
    (axes,) = plots.agreement_bars(agreement()).axes
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [dot.get_xdata().item() for dot in dots[:3]] == [0.9, 0.8, 0.7] and np.isnan(dots[3].get_xdata()).all()
    assert [dot.get_ydata().item() for dot in dots] == [0, 1, 2, 3]
    bars = [line for line in axes.lines if line.get_marker() != "o"]
    assert [line.get_xydata().tolist() for line in bars] == [
        [[0.85, 0], [0.95, 0]],
        [[0.75, 1], [0.85, 1]],
        [[0.6, 2], [0.75, 2]],
    ]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["A", "B", "C", "D"]
    assert axes.get_ylim() == (3.5, -0.5)  # best at the top
    low, high = axes.get_xlim()
    assert 0.5 < low < 0.6 and 0.95 < high < 1
    assert texts(axes) == ["value", "rank", ".900", "1", ".800", "1", ".700", "3", "-", "-"]


def test_seen_metrics_are_hatched_and_hollow_and_clusters_are_bands():
    figure = plots.agreement_bars(agreement())
    (axes,) = figure.axes
    hatched = [patch for patch in axes.patches if patch.get_hatch()]
    assert [patch.get_y() + patch.get_height() / 2 for patch in hatched] == [1]
    shaded = [patch.get_y() + patch.get_height() / 2 for patch in axes.patches if not patch.get_hatch()]
    assert shaded == [0, 1]  # the first cluster; the next is plain
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [dot.get_markerfacecolor() for dot in dots] == [BLUE, "white", BLUE, BLUE]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["95 % interval", "clusters", "trained on a set"]


def test_zero_is_marked_only_where_it_is_among_the_values():
    def zeros(found):
        (axes,) = plots.agreement_bars(found).axes
        return [line for line in axes.lines if list(line.get_xdata()) == [0, 0]]

    assert not zeros(agreement())
    assert len(zeros(agreement(overall=np.array([0.2, 0.1, -0.1, NAN]), intervals=None))) == 1


@pytest.mark.parametrize("count", [0, 1, 52])
def test_bars_of_few_and_many_without_anything_else(count):
    names, overall = [f"m{k}" for k in range(count)], np.linspace(0.9, 0.5, count)
    figure = plots.agreement_bars(agreement(metrics=names, overall=overall, intervals=None, ranks=None, seen=set()))
    (axes,) = figure.axes
    assert len(axes.lines) == count and len(axes.texts) == count + 1 and not figure.legends


def test_heatmap():
    values = {(1, 1): 0.7, (2, 1): 0.9, (2, 2): NAN, (3, 1): 0.8, (3, 2): 0.75, (4, 4): 0.1}
    figure = plots.window_heatmap(values, 3, "SLIDE")
    axes, scale = figure.axes
    cells = {(text.get_position()[1] + 1, text.get_position()[0] + 1): text for text in axes.texts}
    written = {(1, 1): ".700", (2, 1): ".900", (2, 2): "-", (3, 1): ".800", (3, 2): ".750", (3, 3): "-"}
    assert {place: text.get_text() for place, text in cells.items()} == written
    drawn = axes.images[0].get_array()
    assert drawn[1, 0] == 0.9 and drawn[2, 1] == 0.75 and drawn.mask.sum() == 5  # three above the diagonal, two NaN
    assert axes.images[0].get_clim() == (0.7, 0.9)
    assert [place for place, text in cells.items() if text.get_weight() == "bold"] == [(2, 1)]
    (outline,) = axes.patches
    assert outline.get_bbox().bounds == (-0.5, -0.5, 1, 1) and not outline.get_fill()
    assert [line.get_ydata()[0] for line in scale.lines if len(line.get_ydata())] == [0.7]
    assert scale.get_ylabel() == "pairwise system accuracy" and axes.get_title() == "SLIDE"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("stride (sentences)", "window (sentences)")


@pytest.mark.parametrize("values", [{}, {(1, 1): 0.5}, {(1, 1): NAN, (2, 1): -0.25, (2, 2): -0.25}])
def test_heatmap_of_little(values, tmp_path):
    save(plots.window_heatmap(values, 2), str(tmp_path / "heat.png"))


def curves(values) -> LengthCurves:
    return LengthCurves(
        "sys-acc", "system-level pairwise accuracy", [(1, 1), (2, 9), (10, 30)], [9, 1200, 3], [9, 5000, 60], values
    )


def test_lines_by_length():
    figure = plots.length_lines(curves({"slide": [0.5, NAN, 0.7], "comet": [0.6, 0.6, 0.6]}))
    (axes,) = figure.axes
    first, second = axes.lines
    assert first.get_label() == "slide" and list(second.get_ydata()) == [0.6, 0.6, 0.6]
    assert np.isnan(first.get_ydata()[1])  # a gap
    assert first.get_color() != second.get_color() and first.get_marker() != second.get_marker()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["1\n9 docs\n9 segs", "2–9\n1,200 docs\n5,000 segs", "10–30\n3 docs\n60 segs"]


def test_more_metrics_than_colours():
    figure = plots.length_lines(curves({f"m{k}": [0.1 * k] * 3 for k in range(9)}))
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == [*(f"m{k}" for k in range(7)), "2 others"]
    assert len(figure.axes[0].lines) == 9


@pytest.mark.parametrize(
    "ending, start",
    some_rows(
        [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml"), ("PNG", b"\x89PNG")],
        [("svg", b"<?xml"), ("PNG", b"\x89PNG")],
    ),
)
def test_saved_as_the_name_ends(tmp_path, ending, start, caplog):
    path = tmp_path / "new" / f"figure.{ending}"
    save(scatter(BLEU=HUMAN), str(path))
    assert path.read_bytes().startswith(start)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    # the key has 系统
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: 2 letters that the figure's font lacks are drawn as boxes"
    ]


def test_a_figure_that_cannot_be_written(tmp_path):
    figure = plots.window_heatmap({(1, 1): 0.5}, 1)
    with pytest.raises(InputError, match=r"bmp: a figure's name ends in \.png, \.pdf, \.svg"):
        check_figure(str(tmp_path / "x.bmp"))
    (tmp_path / "x.png").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*x\.png"):
        save(figure, str(tmp_path / "x.png"))
    assert [each.name for each in tmp_path.iterdir()] == ["x.png"]


@pytest.mark.full
def test_neither_pyplot_nor_settings_are_touched(tmp_path):
    code = f"""
import sys
from ctx_metrics.meta import figures as plots
from ctx_metrics.plots.figure import save
assert "matplotlib" not in sys.modules
import matplotlib
before = matplotlib.rcParams.copy()
save(plots.window_heatmap({{(1, 1): 0.5}}, 2), {str(tmp_path / "x.pdf")!r})
assert "matplotlib.pyplot" not in sys.modules
assert all(before[name] == value for name, value in matplotlib.rcParams.items() if name != "backend")
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
