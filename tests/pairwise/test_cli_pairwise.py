"""`ctx-metrics pairwise rank`: what it hands to the metric, and what it says of its chances of winning."""

import json
import sys
import types
from importlib.util import find_spec

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import DOCIDS, NAMES, REF, SOURCE, A, B, C, lines_of

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.pairwise.bradley_terry import Ranking, rank
from ctx_metrics.pairwise.cli.rank import win_matrix
from ctx_metrics.plots.figure import BLUE, VERMILION
from ctx_metrics.scoring.context import Capabilities

THREE = ["pairwise", "rank", REF, "-i", A, B, C]
IDS = lines_of(DOCIDS)
NAN = float("nan")
SIGNATURE = "nrefs:1|model:stub"


def probabilities(systems: int, segments: int) -> np.ndarray:
    """The second system is best, the first and the third are much alike; nothing is scored in the fifth segment."""
    quality = np.random.default_rng(7).normal(size=(systems, segments)) * 0.5
    quality[1] += 1
    found = 1 / (1 + np.exp(quality[None] - quality[:, None]))
    found[..., 4] = np.nan
    return found


@pytest.fixture(autouse=True)
def made(monkeypatch) -> list[dict]:
    """A metric in place of the real one; the arguments with which it was made."""
    calls = []

    class Pairwise:
        capabilities = Capabilities(reads=frozenset({"systems", "sources", "target_lang", "engine"}))

        def __init__(self, **arguments):
            calls.append(arguments)
            self.can = Capabilities()  # this model does not read the sources

        def win_probabilities(self):
            return probabilities(len(calls[-1]["systems"]), len(calls[-1]["systems"][0]))

        def get_signature(self):
            return types.SimpleNamespace(format=lambda: SIGNATURE)

    module = types.ModuleType("ctx_metrics.pairwise.metric")
    module.Pairwise = Pairwise
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return calls


def expected(**options):
    return rank(probabilities(3, len(IDS)), **options)


def test_the_metric_gets_what_was_read(ctx, made):
    flags = ["-s", SOURCE, "-l", "de-en", "--model", "mine", "--ctx-batch-tokens", "64", "--ctx-device", "cpu", "-q"]
    done = ctx(*THREE, *flags)
    assert (done.code, done.err) == (0, "ctx-metrics: the source is given, but the model does not read it\n")
    (arguments,) = made
    assert arguments["references"] == [lines_of(REF)] and arguments["sources"] == lines_of(SOURCE)
    assert [list(system) for system in arguments["systems"]] == [lines_of(name) for name in (A, B, C)]
    assert (arguments["target_lang"], arguments["model"]) == ("en", "mine")
    assert arguments["engine"] == EngineOptions("cpu", "fp32", 64, 384, True)
    # messages name the model's flag as that of the metric
    assert ctx("pairwise", "rank", REF, REF, "-t", A, B, "--pairwise-model", "other").code == 0
    arguments = made[-1]
    assert len(arguments["references"]) == len(arguments["systems"]) == 2
    assert (arguments["sources"], arguments["target_lang"], arguments["model"]) == (None, None, "other")


def test_the_table(ctx):
    done, ranking = ctx(*THREE, "--names", "one", "two", "three"), expected()
    assert (done.code, done.err) == (0, "")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.out.splitlines() if "│" in line]
    assert cells[0] == ["Rank", "System", "Win %", "Strength", "95 % interval"]
    names, order = ["one", "two", "three"], ranking.order
    assert order[0] == 1 and ranking.ranks[1] == 1 and ranking.segments == len(IDS) - 1
    for cell, i in zip(cells[1:4], order, strict=True):
        low, high = ranking.intervals[i]
        assert cell == [
            str(ranking.ranks[i]),
            names[i],
            f"{100 * ranking.win_shares[i]:.1f}",
            f"{ranking.strengths[i]:.3f}",
            f"[{low:.3f}, {high:.3f}]",
        ]
    assert cells[4] == ["Row beats column, %", *(names[i] for i in order)]
    for cell, i in zip(cells[5:], order, strict=True):
        wins = [f"{100 * ranking.win_matrix[i, j]:.1f}" + "*" * ranking.better(i, j) if i != j else "-" for j in order]
        assert cell == [names[i], *wins]
    assert cells[5][2].endswith("*") and not cells[6][1].endswith("*")
    assert f"segments scored: {len(IDS) - 1}" in done.out
    assert f"1,000 resamples of {len(IDS) - 1} segments, seed 0" in " ".join(done.out.split())
    assert done.out.endswith(f" - Pairwise   {SIGNATURE}\n")


@pytest.mark.parametrize(
    "names, heads",
    [
        (["set.one", "set.two words", "set.three"], ["two / words", "one", "three"]),
        (["newstest2019-a", "newstest2019-b", "c"], ["(1)", "(2)", "(3)"]),
    ],
)
def test_names_are_not_broken_at_the_head_of_the_matrix(ctx, names, heads):
    """Where one is too long, columns and rows are numbered."""
    table = ctx(*THREE, "--names", *names).out.split("\n\n")[1]
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in table.splitlines() if "│" in line]
    split = next(k for k, row in enumerate(rows) if row[0] in (names[1], f"(1) {names[1]}"))
    assert [" / ".join(filter(None, column)) for column in list(zip(*rows[:split]))[1:]] == heads
    numbered = heads[0] == "(1)"
    of_systems = [f"({k}) {names[i]}" if numbered else names[i] for k, i in enumerate(expected().order, 1)]
    assert [row[0] for row in rows[split:]] == of_systems


def test_documents_are_resampled(ctx):
    flags = ["--docids", DOCIDS, "--resamples", "200", "--confidence", "0.9", "--seed", "3"]
    done = ctx(*THREE, *flags, "--format", "json")
    ranking = expected(groups=IDS, resamples=200, confidence=0.9, seed=3)
    first = json.loads(done.out)[0]
    assert first["interval"] == ranking.intervals[1].tolist() != expected().intervals[1].tolist()
    assert first["against"][NAMES[0]] == {"win": 100 * ranking.win_matrix[1, 0], "p": ranking.p_values[1, 0]}
    settings = {key: first[key] for key in ("segments", "resampled", "units", "resamples", "confidence", "seed")}
    assert list(settings.values()) == [len(IDS) - 1, "documents", len(set(IDS)), 200, 0.9, 3]
    assert "resampling by document: there are only 7 documents" in done.err
    table = ctx(*THREE, *flags).out
    assert "90 % interval" in table and f"200 resamples of {len(set(IDS))} documents, seed 3" in table


def test_json_has_everything(ctx):
    done, ranking = ctx(*THREE, "--format", "jsonl"), expected()
    objects = done.objects()
    assert [each["system"] for each in objects] == [NAMES[i] for i in ranking.order]
    for each, i in zip(objects, ranking.order):
        assert (each["rank"], each["signature"]) == (ranking.ranks[i], SIGNATURE)
        assert (each["win"], each["strength"]) == (100 * ranking.win_shares[i], ranking.strengths[i])
        assert list(each["against"]) == [NAMES[j] for j in ranking.order if j != i]
    rounded = ctx(*THREE, "--format", "jsonl", "-w", "0").objects()[0]
    assert rounded["win"] == round(objects[0]["win"]) and rounded["strength"] == round(objects[0]["strength"], 2)
    assert rounded["confidence"] == 0.95 and rounded["against"][NAMES[0]]["p"] == objects[0]["against"][NAMES[0]]["p"]


def test_tsv_has_the_matrix_beside_the_ranking(ctx, tmp_path):
    path = tmp_path / "new" / "wins.tsv"
    done, ranking = ctx(*THREE, "-o", path), expected()
    assert (done.code, done.out, done.err) == (0, "", f"ctx-metrics: Pairwise|{SIGNATURE}\n")
    rows = type(done)(0, path.read_text(), "").rows()
    names = [NAMES[i] for i in ranking.order]
    columns = ["rank", "system", "win", "strength", "low", "high"]
    assert list(rows[0]) == [*columns, *(f"against {name}" for name in names)]
    for row, i in zip(rows, ranking.order, strict=True):
        assert row["win"] == f"{100 * ranking.win_shares[i]:.4f}" and row["low"] == f"{ranking.intervals[i, 0]:.6f}"
        wins = [f"{100 * ranking.win_matrix[i, j]:.4f}" if i != j else "" for j in ranking.order]
        assert [row[f"against {name}"] for name in names] == wins
    assert ctx(*THREE, "--format", "tsv", "-q").err == ""


def test_one_document_has_no_intervals(ctx, tmp_path):
    (tmp_path / "ids").write_text("d\n" * len(IDS))
    done = ctx(*THREE, "--docids", tmp_path / "ids")
    assert done.code == 0 and "there is only one document, so there are no intervals" in done.err
    assert (
        "resamples of" not in done.out and "*" not in done.out and "A single document cannot be resampled" in done.out
    )
    (first, *_) = ctx(*THREE, "--docids", tmp_path / "ids", "--format", "jsonl").objects()
    assert first["interval"] is None and first["against"][NAMES[2]]["p"] is None


@pytest.mark.parametrize(
    "words, said",
    [
        (["pairwise"], "the following arguments are required"),
        ([*THREE, "--names", "a", "b"], "--names has 2 names for 3 systems"),
        (["pairwise", "rank", REF, "-i", A, "-"], "the standard input is not read here"),
        (["pairwise", "rank", "-", "-i", A, B], "the standard input is not read here"),
        ([*THREE, "--confidence", "95"], "not a number between 0 and 1"),
        ([*THREE, "--resamples", "0"], "not a whole number of at least 1"),
    ],
)
def test_wrong_usage(ctx, made, words, said):
    done = ctx(*words)
    assert done.code == 2 and said in done.err and not made


def test_input_that_does_not_fit(ctx, tmp_path, made):
    (tmp_path / "short").write_text("one\ntwo\n")
    for words, said in (
        (["pairwise", "rank", REF, "-i", A, tmp_path / "short"], "has 2 lines"),
        ([*THREE, "-o", tmp_path], "it is a folder"),
    ):
        done = ctx(*words)
        assert done.code == 1 and said in done.err and done.err.count("\n") == 1 and not made


# The figure: what is drawn, read from the artists; the looks are for eyes


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


DRAWN = pytest.mark.skipif(not find_spec("matplotlib"), reason="needs matplotlib")


def ticks(axis) -> list[str]:
    return [text.get_text() for text in axis.get_ticklabels()]


@DRAWN
def test_cells_are_wins_of_rows_by_strength():
    from matplotlib.colors import to_rgba

    figure = win_matrix(["a$", "b", "c"], RANKING)
    cells, _dots, scale = figure.axes
    assert ticks(cells.yaxis) == ["1  b", "1  c", "2  a\\$"] and ticks(cells.xaxis) == ["b", "c", "a\\$"]
    written = {tuple(map(int, text.get_position()[::-1])): text for text in cells.texts}
    shown = {(0, 2): "70.0", (1, 2): "60.0", (2, 0): "30.0", (2, 1): "40.0"}
    assert {place: text.get_text() for place, text in written.items()} == shown
    assert {place for place, text in written.items() if text.get_weight() == "bold"} == {(0, 2), (2, 0)}
    assert {place for place, text in written.items() if text.get_color() == "white"} == {(0, 2), (2, 0)}
    (image,) = cells.images
    assert image.get_clim() == pytest.approx((30, 70))
    assert image.cmap(0.0) == pytest.approx(to_rgba(VERMILION)) and image.cmap(1.0) == pytest.approx(to_rgba(BLUE))
    assert image.cmap(0.5) == pytest.approx((1, 1, 1, 1), abs=0.02)
    masked = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]
    assert [*zip(*np.nonzero(np.ma.getmaskarray(image.get_array())))] == masked
    assert scale.get_xlabel() == "row beats column (%)"


@DRAWN
def test_strengths_stand_beside_their_rows():
    _, dots, _ = win_matrix(["a", "b", "c"], RANKING).axes
    points = [line.get_xydata().tolist() for line in dots.lines if line.get_marker() == "o"]
    assert points == [[[0.4, 0]], [[0.1, 1]], [[-0.5, 2]]]
    bars = [line.get_xydata().tolist() for line in dots.lines if line.get_linewidth() == 2.5]
    assert bars == [[[0.2, 0], [0.6, 0]], [[-0.1, 1], [0.3, 1]], [[-0.7, 2], [-0.3, 2]]]
    assert len(dots.patches) == 2  # the first cluster's rows are shaded
    assert dots.get_xlabel() == "strength, 95 % interval"


@DRAWN
def test_systems_that_are_alike_look_alike():
    probabilities = np.full((2, 2, 5), 0.5)
    probabilities[0, 1], probabilities[1, 0] = 0.51, 0.49
    cells, dots, _ = win_matrix(["a", "b"], rank(probabilities, ["d"] * 5)).axes
    assert cells.images[0].get_clim() == (40, 60)
    assert {text.get_color() for text in cells.texts} == {"black"}
    assert [line.get_linewidth() for line in dots.lines].count(2.5) == 0  # one document has no intervals


@DRAWN
def test_the_figure_of_a_command(ctx, tmp_path, made):
    path = tmp_path / "new" / "wins.svg"
    assert ctx(*THREE, "--plot", path, "-q").code == 0 and "<svg" in path.read_text()
    runs = len(made)
    done = ctx(*THREE, "--plot", tmp_path / "wins.gif")
    assert done.code == 1 and ".gif: a figure's name ends in .png, .pdf, .svg" in done.err
    assert ctx(*THREE, "--plot", path / "wins.png").code == 1
    assert len(made) == runs  # nothing was scored for it
