import tarfile

import numpy as np
import pytest
from embedded_regressor import DA15_PAIRS
from sacrebleu.metrics import CHRF

from ctx_metrics.errors import InputError
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.options import TrainingOptions


def test_the_mean_of_pearson_over_data_sets(put):
    first = put("p.tsv", "mt|ref|score", "a|r|1", "b|r|2", "c|r|3")
    second = put("q.tsv", "mt|ref|score", "d|r|1", "b|r|9", "a|q|5", "a|q|5")
    found = read_development([first, second])
    assert list(zip(found.hypotheses, found.partners)) == [("a", "r"), ("b", "r"), ("c", "r"), ("d", "r"), ("a", "q")]
    values = np.array([0.0, 3, 3, -1, 1])
    # p: scores 1 2 3, values 0 3 3: 3 / sqrt(2 * 6). q: scores 1 9 5 5, values -1 3 1 1: r = 1
    expected = {"p": 3 / 12**0.5, "q": 1.0}
    assert found.scores(values) == pytest.approx(expected)
    assert found.score(values) == pytest.approx(sum(expected.values()) / 2)
    assert found.score(-values) == pytest.approx(-sum(expected.values()) / 2)


def test_what_each_of_several_values_weighs(put):
    values = np.array([[0.0, 3, 1], [1, 0, 1], [2, 1, 0], [5, 2, 0]])
    scores = values @ [0.2, 0.8, 0]
    sets = [
        put(f"{name}.tsv", "mt|ref|score", *(f"{mt}|r|{score}" for mt, score in zip("abcd", judged)))
        for name, judged in (("p", scores), ("q", 10 * scores + 7))
    ]
    found = read_development(sets)
    assert found.shares(values).tolist() == [0.2, 0.8, 0]
    assert found.score(values @ found.shares(values)) == pytest.approx(1)
    other = read_development([put("n.tsv", "mt|ref|score", *(f"{mt}|r|{-k}" for k, mt in enumerate("abcd")))])
    assert other.shares(np.arange(4.0)[:, None] + np.zeros(3)).tolist() == [0.34, 0.33, 0.33]  # nothing agrees
    assert other.shares(np.array([[3.0, 3, 0], [2, 2, 0], [1, 1, 0], [0, 0, 0]])).sum() == 1


def test_values_without_spread_tell_nothing(put):
    paths = [put(f"{name}.tsv", "mt|ref|score", f"{name}1|r|1", f"{name}2|r|2") for name in "pq"]
    found = read_development(paths)
    assert found.scores(np.array([7.0, 7, 1, 2])) == {"p": 0, "q": 1}
    assert found.score(np.full(4, 0.1)) == 0
    preferences = read_development([put("x.tsv", "ref|better|worse", "r|a|b")], "darr")
    assert preferences.score(np.zeros(2)) == -1


def test_values_that_cannot_be_compared(put):
    found = read_development([put("t.tsv", "mt|ref|score", "a|r|1", "b|r|2", "c|r|4")])
    for broken in (np.nan, np.inf, -np.inf):
        with pytest.raises(InputError, match="1 of 3 development values"):
            found.score(np.array([1, broken, 2]))


def test_judgements_of_one_output_are_averaged_and_penalties_compared_as_they_are(put):
    rows = ["a|r|1|x", "a|r|5|y", "b|r|2|x", "c|r|7|y"]
    found = read_development([put("t.tsv", "mt|ref|score|rater", *rows)])
    assert found.parts[0].scores.tolist() == [3, 2, 7] and found.hypotheses == ["a", "b", "c"]
    found = read_development([put("m.tsv", "mt|ref|mqm", "a|r|-25", "b|r|-1", "c|r|0")])
    assert found.parts[0].scores.tolist() == [-25, -1, 0]


def test_rows_that_are_kept_out(put, caplog):
    rows = "A|1|s|a|r|1", "A|2|s|b||9", "B|1|s|c|r|2", "B|2|s| |q|9", "refA|1|s|h|r|9", "A|3|s|d|r|None", "B|3|s|e|r|4"
    path = put("t.tsv", "system|seg|src|mt|ref|score", *rows)
    found = read_development([path])
    assert found.hypotheses == ["a", "c", "e"]
    counts = {"without a reference": 1, "without an output": 1, "of human systems": 1, "without a score": 1}
    assert found.counts == {path: {"rows": 7, "kept": 3, **counts}}
    assert caplog.messages[0].startswith(
        f"{path}: 3 rows for development; left out 1 row without a reference, 1 without"
    )
    assert read_development([path], inputs="mt+src").hypotheses == ["a", "b", "c", "e"]


SCORED = (
    "system|seg|mt|ref|score",
    "A|1|a1|r|80",
    "B|1|b1|r|55",
    "C|1|c1|r|60",
    "A|2|a2|r|10",
    "B|2|b2|r|10",
    "C|2|c2|r|90",
)


def test_pairs_of_scores(put):
    path = put("t.tsv", *SCORED)
    found = read_development([path], "darr")
    # rows a1 b1 c1 a2 b2 c2; better > worse: a1 > b1, a1 > c1, c1 > b1; c2 > a2, c2 > b2
    assert found.parts[0].preferences.tolist() == [[0, 0, 1], [0, 0, 2], [0, 2, 1], [0, 5, 3], [0, 5, 4]]
    # a1 > b1 right, a1 > c1 a tie, c1 > b1 right, c2 > a2 wrong, c2 > b2 right: (3 - 1 - 1) / 5
    assert found.score(np.array([2.0, 1, 2, 4, 0, 3])) == pytest.approx(0.2)
    far = read_development([path], "darr", threshold=25)
    assert far.parts[0].preferences.tolist() == [[0, 0, 1], [0, 5, 3], [0, 5, 4]]
    assert far.score(np.array([2.0, 1, 2, 4, 0, 3])) == pytest.approx(1 / 3)


def test_the_mean_of_tau_over_data_sets(put):
    preferred = put("p.tsv", "ref|better|worse", "r|a|b", "r|c|b", "r|b|a", "r|x|b", "r| |x")
    found = read_development([preferred, put("t.tsv", *SCORED)], "darr", threshold=70)
    # preferences have their own pairs, whatever the threshold: a > b, c > b, b > a, x > b; one side of the last is empty
    assert found.hypotheses == ["a", "b", "c", "x", "a1", "b1", "c1", "a2", "b2", "c2"]
    values = np.array([3.0, 1, 0, 2, 0, 0, 0, 0, 0, 5])
    # p: right, wrong, wrong, right. t: c2 > a2 and c2 > b2, both right
    assert found.scores(values) == {"p": 0, "t": 1} and found.score(values) == 0.5


@pytest.mark.parametrize(
    "lines, metric, message",
    [
        (["mt|ref|score", "a|r|1", "b|q|2"], "darr", "no two usable outputs"),
        (["mt|ref|score", "a|r|1", "b|r|1"], "darr", "no two usable outputs"),
        (["mt|ref|score", "a|r|1", "b|q|1"], "pearson", "fewer than two usable outputs"),
        (["mt|ref|score", "a|r|1", "b|q|None"], "pearson", "fewer than two usable outputs"),
        (["mt|ref|score|seg", "a|r|1|1", "a|r|2|2"], "pearson", "fewer than two usable outputs"),
        (["mt|src|score", "a|r|1"], "pearson", "t: has no references, which the inputs"),
        (None, "pearson", "no development files"),
    ],
)
def test_data_that_cannot_be_used(put, lines, metric, message):
    with pytest.raises(InputError, match=message):
        read_development([] if lines is None else [put("t.tsv", *lines)], metric)


@pytest.mark.slow
def test_real_development(shared_data, tmp_path):
    with tarfile.open(shared_data / "wmt15_16_da" / "wmt15_16_da.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    chrf = CHRF()

    def score(found):
        return found.scores(
            np.array([chrf.sentence_score(h, [r]).score for h, r in zip(found.hypotheses, found.partners)])
        )

    found = read_development(
        [str(tmp_path / "wmt15_16_da" / "DAseg-wmt-newstest2015")], options=TrainingOptions(pairs=DA15_PAIRS)
    )
    assert list(found.counts.values()) == [{"rows": 2000, "kept": 2000}]
    found = read_development(
        [str(tmp_path / "wmt15_16_da" / "DAseg-wmt-newstest2016")], options=TrainingOptions(pairs=["cs-en", "de-en"])
    )
    assert score(found) == pytest.approx({"newstest2016.cs-en": 0.657, "newstest2016.de-en": 0.469}, abs=6e-4)
    found = read_development(
        [str(shared_data / "wmt19_darr" / f"{pair}.tsv.xz") for pair in ("kk-en", "gu-en")], "darr"
    )
    assert score(found) == pytest.approx({"kk-en": 0.323, "gu-en": 0.240}, abs=6e-4)
