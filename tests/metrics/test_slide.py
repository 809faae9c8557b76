"""SLIDE and COMET over a stub estimator whose values are known, and over the embedded one."""

import math
from types import SimpleNamespace

import pytest

from ctx_metrics import BERTR, COMET, SLIDE, InputError
from ctx_metrics.engine.forward import PackedEncoder
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.metrics import estimated
from ctx_metrics.metrics.slide import blank_lines, slide_grid
from ctx_metrics.models import load
from ctx_metrics.models.estimator import Estimate, Estimator, Example
from ctx_metrics.models.hub import ResolvedModel
from ctx_metrics.windows import Window


class StubEstimator(Estimator):
    """A text of words such as w3 is worth the mean of their numbers, less 0.1 where the reference is not the hypothesis."""

    model = ResolvedModel("stub", None, None, "0" * 12)
    english_only, empty_value = False, 0.0
    max_length, limit, dtype = 100, "100 tokens per text", "fp32"
    encoder = SimpleNamespace(device="cpu")

    def __init__(self, inputs="mt+ref"):
        self.inputs, self.calls, self.units, self.cut = inputs, [], [], False

    def estimate(self, examples, label, unit):
        self.calls.append(list(examples))
        self.units.append(unit)
        return [Estimate(self.value(e), self.cut, False) for e in examples]

    @staticmethod
    def value(example):
        numbers = [float(word[1:]) for word in example.hypothesis.split()]
        return sum(numbers) / len(numbers) / 100 - 0.1 * (example.reference not in (None, example.hypothesis))

    def is_cut(self, examples):
        return [self.value(e) > 0.95 for e in examples]

    def token_counts(self, examples):
        return [len(e.hypothesis.split()) + len((e.reference or "").split()) for e in examples]

    special_tokens = 2


@pytest.fixture
def stub(monkeypatch) -> StubEstimator:
    stub = StubEstimator()
    monkeypatch.setattr(load, "load_estimator", lambda **settings: stub)
    return stub


def texts(*numbers) -> list[str]:
    return [f"w{n}" for n in numbers]


SEVEN = texts(10, 20, 30, 40, 50, 60, 70)


@pytest.mark.parametrize(
    "partial, score",
    [
        # windows of 4, stride 2: w10..w40 = .25, w30..w60 = .45, and the partial w50 w60 w70 = .60
        ("drop", 100 * (0.25 + 0.45) / 2),
        ("include", 100 * (0.25 + 0.45 + 0.60) / 3),
        ("weight", 100 * (4 * 0.25 + 4 * 0.45 + 3 * 0.60) / 11),
    ],
)
def test_score_by_hand(stub, partial, score):
    metric = SLIDE(doc_ids=["d"] * 7, window=4, stride=2, partial=partial)
    assert metric.corpus_score(SEVEN, [SEVEN]).score == pytest.approx(score)


def test_credit_of_each_sentence(stub):
    rows = SLIDE(doc_ids=["d"] * 7, window=4, stride=2)._extract_corpus_statistics(SEVEN, [SEVEN])
    # sentence 3 lies in the first two windows, sentence 5 in the last two; a row's ratio is their weighted mean
    assert rows[0][0] / rows[0][1] == pytest.approx(0.25)
    assert rows[2][0] / rows[2][1] == pytest.approx((0.25 + 0.45) / 2)
    assert rows[4][0] / rows[4][1] == pytest.approx((0.45 + 0.60) / 2)
    assert sum(row[1] for row in rows) == pytest.approx(11)


def test_counts_coverage_and_dropped_windows(stub, caplog):
    metric = SLIDE(doc_ids=list("aaaabbb"), window=4, partial="drop")
    score = metric.corpus_score(SEVEN, [SEVEN])
    assert "(windows = 1 coverage = 57.1% uncovered = 3 dropped = 1)" in score.format()
    assert "3 sentences are in no scored window (segments 5, 6, 7)" in caplog.text
    assert math.isnan(metric._aggregate_and_compute([metric._extract_corpus_statistics(SEVEN, [SEVEN])[5]]).score)


def test_nothing_left_is_an_error(stub):
    with pytest.raises(InputError, match="every document is shorter than the window of"):
        SLIDE(doc_ids=list("aaaabbb"), window=5, partial="drop").corpus_score(SEVEN, [SEVEN])


def test_token_budget(stub, caplog):
    # every sentence has 2 tokens (a word on each side), every window 2 special ones: 7 tokens hold two sentences
    metric = SLIDE(doc_ids=["d"] * 7, tokens=7)
    score = metric.corpus_score(SEVEN, [SEVEN])
    assert [len(example.hypothesis.split()) for example in stub.calls[0]] == [2, 2, 2, 1]
    assert score.score == pytest.approx(40)  # all sentences once, weighted by their number
    assert "|tokens:7|stride:end|" in str(metric.get_signature())


def test_a_sentence_beyond_the_budget_is_counted(stub, caplog):
    long = ["w10 w20 w30", "w40", "w50"]
    metric = SLIDE(doc_ids=["d"] * 3, tokens=7)
    score = metric.corpus_score(long, [long])
    assert [example.hypothesis for example in stub.calls[0]] == ["w10 w20 w30", "w40 w50"]
    assert "over = 1" in score.format()
    assert caplog.messages == ["slide: 1 window of one sentence exceeds 7 tokens (segment 1)"]


def test_several_references_and_missing_lines(stub):
    other = texts(1, 2, 3, 4, 5, 6, 7)
    metric = SLIDE(doc_ids=["d"] * 7, window=4)
    # the first window is whole in both references, the second in the second one alone
    holes = [*SEVEN[:5], None, SEVEN[6]]
    rows = metric._extract_corpus_statistics(SEVEN, [holes, other])
    assert rows[0][0] / rows[0][1] == pytest.approx(0.25)
    assert rows[6][0] / rows[6][1] == pytest.approx(0.60 - 0.1)
    mean = SLIDE(doc_ids=["d"] * 7, window=4, multiref="mean")._extract_corpus_statistics(SEVEN, [SEVEN, other])
    assert mean[0][0] / mean[0][1] == pytest.approx(0.25 - 0.05)
    score = metric.corpus_score(SEVEN, [holes])
    assert "unreferenced = 1" in score.format() and "coverage = 57.1%" in score.format()


@pytest.mark.parametrize(
    "shares, together, calls, second", [(True, 0, 1, "w70"), (False, 14, 1, "w70"), (False, 13, 2, "w20")]
)
def test_systems_that_share_no_text_are_read_one_after_another(stub, monkeypatch, shares, together, calls, second):
    """Unless they are few: their texts are then in one block anyway."""
    monkeypatch.setattr(estimated, "READ_TOGETHER", together)
    stub.shares_texts = shares
    metric = COMET([SEVEN, [*SEVEN[:6], None]], [SEVEN, SEVEN[::-1]])
    assert metric.corpus_score(SEVEN, None).score == pytest.approx(40)
    assert metric.corpus_score(SEVEN[::-1], None).score == pytest.approx(40 - 10 * 6 / 7)
    assert [len(examples) for examples in stub.calls] == [26 // calls] * calls
    assert [example.hypothesis for example in stub.calls[0]][:4] == ["w10", "w10", second, second]


def test_inputs_decide_what_is_read(stub):
    assert "sources" not in SLIDE(sources=SEVEN).can.reads
    stub.inputs = "mt+src"
    assert "sources" in SLIDE(sources=SEVEN).can.reads
    with pytest.raises(InputError, match="needs the sources: give sources"):
        SLIDE(doc_ids=["d"] * 7).corpus_score(SEVEN, [SEVEN])
    metric = SLIDE(sources=texts(*range(7)), doc_ids=["d"] * 7, window=2)
    metric.corpus_score(SEVEN, [SEVEN])
    assert stub.calls[-1][0] == Example("w10 w20", None, "w0 w1")


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"window": 3, "stride": 4}, "window 3, stride 4"),
        ({"window": 0}, "window 0"),
        ({"partial": "keep"}, "'keep' is not one of "),
        ({"tokens": 9, "window": 3}, "leave out window"),
        ({"tokens": 0}, "token budget"),
        ({"tokens": 9, "stride": 0}, "token budget"),
        ({"multiref": "min"}, "neither max nor mean"),
    ],
)
def test_settings_are_checked(stub, settings, message):
    with pytest.raises(InputError, match=message):
        SLIDE(**settings)


def test_bertr_and_comet_share_one_pass(monkeypatch):
    encoded, forward = [], PackedEncoder.__call__

    def noted(network, sequences, *others):
        encoded.extend(each.tobytes() for each in sequences)
        return forward(network, sequences, *others)

    monkeypatch.setattr(PackedEncoder, "__call__", noted)
    hypotheses, references = (
        ["The harbour was closed.", "It opens.", "The end."],
        ["The port was shut.", "So.", "The end."],
    )
    systems, options = [hypotheses, hypotheses[::-1]], EngineOptions(store_mb=33)  # a store of their own
    for metric in [cls([references], systems, target_lang="en", engine=options) for cls in (BERTR, COMET)]:
        for system in systems:
            metric.corpus_score(system, None)
    assert len(encoded) == len(set(encoded)) == 5  # "The end." stands on both sides


def test_windows_of_one_are_segments_to_the_estimator(stub):
    for settings in ({}, {"window": 1}, {"window": 1, "stride": 1}, {"window": 2}, {"tokens": 4}, {"tokens": 2}):
        SLIDE(doc_ids=["d"] * 7, **settings).corpus_score(SEVEN, [SEVEN])
    COMET().corpus_score(SEVEN, [SEVEN])
    SLIDE(doc_ids=list("abcdefg"), window=3).corpus_score(SEVEN, [SEVEN])
    assert stub.units == ["window", "segment", "segment", "window", "segment", "segment", "segment", "segment"]


@pytest.mark.parametrize("window, places", [(1, ": segments 1, 2"), (2, ", starting at segment 1")])
def test_a_notice_places_segments_or_where_windows_begin(stub, caplog, window, places):
    stub.cut = True
    SLIDE(doc_ids=["d"] * 2, window=window).corpus_score(SEVEN[:2], [SEVEN[:2]])
    assert f"tokens per text){places}" in caplog.text


def test_rows_depend_in_windows_only(stub):
    dependent = [SLIDE(**settings).can.dependent_rows for settings in ({}, {"tokens": 50}, {"window": 1})]
    assert dependent == [True, True, False]


def test_blank_lines_are_those_beside_others(stub):
    from ctx_metrics import Corpus

    corpus = Corpus(["a", "", "", ""], [["x", "y", " ", None]])
    assert blank_lines(corpus, [Window(0, 2, 2.0), Window(2, 4, 2.0)], "mt+ref") == [1]
    assert blank_lines(corpus, [Window(0, 3, 3.0)], "mt+ref") == [1, 2]


def test_empty_lines_inside_a_window_are_counted(caplog):
    metric = SLIDE(doc_ids=list("aaab"), window=3, target_lang="en")
    score = metric.corpus_score(["It rains.", "", "It pours.", "The end."], [["It rains."] * 4])
    assert "blank = 1" in score.format() and "empty" not in score.format()
    assert "slide: 1 sentence has an empty hypothesis or reference inside a window (segment 2)" in caplog.messages
    assert "|docs:ids|window:3|" in str(metric.get_signature())


# the grid of windows and strides: the same numbers as separate runs, each window read once

GRID_SYSTEMS = [SEVEN, texts(70, 60, 50, 40, 30, 20, 15)]
GRID_IDS = ["a"] * 4 + ["b"] * 2 + ["c"]


@pytest.mark.parametrize("partial", ["drop", "include", "weight"])
def test_equals_separate_runs(stub, partial):
    references = [texts(10, 25, 30, 40, 50, 65, 70)]
    grid = slide_grid(SLIDE(doc_ids=GRID_IDS, partial=partial), GRID_SYSTEMS, references, 4)
    assert list(grid) == [(w, s) for w in range(1, 5) for s in range(1, w + 1)]
    assert len(stub.calls) == 1
    for (window, stride), found in grid.items():
        metric = SLIDE(doc_ids=GRID_IDS, window=window, stride=stride, partial=partial)
        assert found == pytest.approx(
            [metric.corpus_score(system, references).score for system in GRID_SYSTEMS], abs=1e-9
        )


def test_nothing_scored_is_nan(stub):
    grid = slide_grid(SLIDE(doc_ids=GRID_IDS, partial="drop"), [SEVEN], [SEVEN], 5)
    assert [math.isnan(grid[w, w][0]) for w in (1, 2, 4, 5)] == [False, False, False, True]


def test_no_ids_are_said(stub, caplog):
    SLIDE().corpus_score(SEVEN, [SEVEN])
    assert "no document ids (doc_ids), so all segments form one document" in caplog.text


def test_each_distinct_window_is_read_once(stub):
    slide_grid(SLIDE(doc_ids=["d"] * 7), [SEVEN], [SEVEN], 3)
    (examples,) = stub.calls
    # 7 of one sentence, 6 of two, 5 of three; the partial windows are among them
    assert len(examples) == len(set(examples)) == 18
