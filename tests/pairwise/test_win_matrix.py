"""The figure of a ranking of systems that were compared in pairs: what is drawn, read from the artists; the looks are for eyes."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.colors import to_rgba

from ctx_metrics.meta.measures.bradley_terry import Ranking, rank
from ctx_metrics.pairwise.cli.rank import win_matrix
from ctx_metrics.plots import save
from ctx_metrics.plots.figure import BLUE, VERMILION

NAN = float("nan")
# strongest is the second, then the third; only the second over the first is significant
RANKING = Ranking(
    strengths=np.array([-0.5, 0.4, 0.1]),
    intervals=np.array([[-0.7, -0.3], [0.2, 0.6], [-0.1, 0.3]]),
    win_shares=np.array([0.35, 0.65, 0.5]),
    win_matrix=np.array([[NAN, 0.3, 0.4], [0.7, NAN, NAN], [0.6, NAN, NAN]]),
    p_values=np.array([[NAN, 1.0, 0.9], [0.05, NAN, 0.2], [0.0501, 0.8, NAN]]),
    ranks=[2, 1, 1],
    segments=9,
    units=9,
    unit="segments",
    resamples=100,
    confidence=0.95,
)


def ticks(axis) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


def test_cells_are_wins_of_rows_by_strength():
    figure = win_matrix(["a$", "b", "c"], RANKING)
    cells, _dots, scale = figure.axes
    assert ticks(cells.yaxis) == ["1  b", "1  c", "2  a\\$"] and ticks(cells.xaxis) == ["b", "c", "a\\$"]
    written = {tuple(map(int, text.get_position()[::-1])): text for text in cells.texts}
    assert {place: text.get_text() for place, text in written.items()} == {
        (0, 2): "70.0",
        (1, 2): "60.0",
        (2, 0): "30.0",
        (2, 1): "40.0",
    }
    assert {place for place, text in written.items() if text.get_weight() == "bold"} == {(0, 2), (2, 0)}
    assert {place for place, text in written.items() if text.get_color() == "white"} == {(0, 2), (2, 0)}
    (image,) = cells.images
    assert image.get_clim() == pytest.approx((30, 70))
    assert image.cmap(0.0) == pytest.approx(to_rgba(VERMILION)) and image.cmap(1.0) == pytest.approx(to_rgba(BLUE))
    assert image.cmap(0.5) == pytest.approx((1, 1, 1, 1), abs=0.02)
    assert np.ma.getmaskarray(image.get_array()).tolist() == [
        [True, True, False],
        [True, True, False],
        [False, False, True],
    ]
    assert scale.get_xlabel() == "row beats column (%)"


def test_strengths_stand_beside_their_rows():
    _, dots, _ = win_matrix(["a", "b", "c"], RANKING).axes
    points = [line.get_xydata().tolist() for line in dots.lines if line.get_marker() == "o"]
    assert points == [[[0.4, 0]], [[0.1, 1]], [[-0.5, 2]]]
    bars = [line.get_xydata().tolist() for line in dots.lines if line.get_linewidth() == 2.5]
    assert bars == [[[0.2, 0], [0.6, 0]], [[-0.1, 1], [0.3, 1]], [[-0.7, 2], [-0.3, 2]]]
    assert len(dots.patches) == 2  # the first cluster's rows are shaded
    assert dots.get_xlabel() == "strength, 95 % interval"


def test_systems_that_are_alike_look_alike():
    probabilities = np.full((2, 2, 5), 0.5)
    probabilities[0, 1], probabilities[1, 0] = 0.51, 0.49
    cells, dots, _ = win_matrix(["a", "b"], rank(probabilities, ["d"] * 5)).axes
    assert cells.images[0].get_clim() == (40, 60)
    assert {text.get_color() for text in cells.texts} == {"black"}
    assert [line.get_linewidth() for line in dots.lines].count(2.5) == 0  # one document has no intervals


@pytest.mark.parametrize("count", [2, 11])
def test_it_is_saved_at_any_size(tmp_path, count):
    rng = np.random.default_rng(count)
    quality = rng.normal(size=(count, 30))
    ranking = rank(1 / (1 + np.exp(quality[None] - quality[:, None])), resamples=50)
    names = [f"newstest2019.{'very-long-' * 4}{k}.gu-en" for k in range(count)]
    figure = win_matrix(names, ranking)
    assert ("." in figure.axes[0].texts[0].get_text()) == (count <= 10)
    assert {len(name) for name in ticks(figure.axes[0].xaxis)} == {18}
    save(figure, str(tmp_path / "wins.png"))
    assert (tmp_path / "wins.png").stat().st_size > 5000
    figure.draw_without_rendering()
    shown = figure.get_window_extent()
    boxes = [
        text.get_window_extent()
        for axis in (figure.axes[0].xaxis, figure.axes[0].yaxis)
        for text in axis.get_ticklabels()
    ]
    assert all(box.x0 >= shown.x0 and box.y1 <= shown.y1 for box in boxes)
