"""The first words of a report: who wins, and how certain that is."""

import numpy as np
import pytest

from ctx_metrics.report.cells import cells, difference
from ctx_metrics.report.verdict import verdict
from ctx_metrics.scoring.comparison import Column, Comparison, ranks
from ctx_metrics.scoring.scores import Scores

NAMES = ["a", "b", "c"]
NAN = float("nan")


def column(title: str, scores: list[float], p: dict[tuple[int, int], float] | None, sign: int = 1) -> Column:
    """A metric's scores, and the p-values of its pairs; None: not tested."""
    size, comparison = len(scores), None
    if p is not None:
        adjusted = np.full((size, size), NAN)
        for (i, j), value in p.items():
            adjusted[i, j] = adjusted[j, i] = value
        order = ranks(sign * np.array(scores), lambda i, j: bool(adjusted[i, j] < 0.05))
        gaps = np.subtract.outer(scores, scores)
        differences = np.stack([gaps - 2, gaps + 2], axis=-1)
        comparison = Comparison(np.array(scores), np.full(size, 1.5), differences, adjusted, adjusted, order)
    return Column(title, "", [Scores([], [], score, title, []) for score in scores], sign, comparison)


SURE = {(0, 1): 0.0001, (0, 2): 0.0002, (1, 2): 0.03}
UNSURE = {(0, 1): 0.2, (0, 2): 0.04, (1, 2): 0.6}
A = column("BLEU", [30.0, 20.0, 10.0], SURE)
A_BY_TER = column("TER", [10.0, 20.0, 30.0], SURE, -1)
B = column("COMET", [20.0, 30.0, 10.0], SURE)
TIED = column("SLIDE", [30.0, 20.0, 10.0], UNSURE)
ALL_TIED = column("chrF", [30.0, 20.0, 10.0], dict.fromkeys(SURE, 0.5))
UNTESTED = column("NIST", [10.0, 20.0, 5.0], None)


@pytest.mark.parametrize(
    ("columns", "headline"),
    [
        ([A], "a wins on BLEU"),
        ([A, A_BY_TER], "a wins on both metrics"),
        ([A, A_BY_TER, A], "a wins on all 3 metrics"),
        ([A, TIED], "a wins on BLEU"),
        ([A, TIED, UNTESTED, A_BY_TER], "a wins on BLEU and TER"),
        ([A, B], "The metrics disagree: a wins on BLEU and b wins on COMET"),
        ([B, TIED], "b wins on COMET"),
        (
            [B, column("TER", [10.0, 20.0, 30.0], {**SURE, (0, 2): 0.2}, -1)],
            "The metrics disagree: b wins on COMET only",
        ),
        ([TIED], "No system wins: a and b do not differ significantly"),
        ([ALL_TIED], "No system wins: a, b and c do not differ significantly"),
        ([ALL_TIED, TIED], "No system wins"),
        ([UNTESTED], "The differences are not tested"),
        ([column("human", [3.0, 2.0, NAN], {(0, 1): 0.01})], "a wins on human scores"),
    ],
)
def test_headlines(columns, headline):
    assert verdict(NAMES, columns).headline == headline


def plain(reasons) -> list[str]:
    return [each.replace("\N{NO-BREAK SPACE}", " ") for each in reasons]


def test_reasons_name_the_metrics_and_the_p_values():
    assert plain(verdict(NAMES, [A, A_BY_TER, TIED, ALL_TIED]).reasons) == [
        "On BLEU and TER, a is significantly better than every other system (p < .001).",
        "On SLIDE, a is ahead, but b is not significantly worse (p = .200).",
        "On chrF, a is ahead, but b and c are not significantly worse (p ≥ .500).",
    ]
    two = column("BLEU", [30.0, 20.0], {(0, 1): 0.046})
    assert plain(verdict(["a", "b"], [two]).reasons) == ["On BLEU, a is significantly better than b (p = .046)."]
    alike = column("BLEU", [30.0, 20.0, 10.0], dict.fromkeys(SURE, 1.0))
    assert plain(verdict(NAMES, [alike]).reasons) == [
        "On BLEU, a is ahead, but b and c are not significantly worse (p = 1.000)."
    ]
    some = column("BLEU", [30.0, 20.0, 10.0], {**SURE, (0, 2): 0.049})
    assert plain(verdict(NAMES, [some]).reasons) == [
        "On BLEU, a is significantly better than every other system (p ≤ .049)."
    ]


def test_without_tests():
    assert verdict(NAMES, [UNTESTED]).reasons == ["b has the best NIST 20.0."]
    assert (
        verdict(["a"], [column("BLEU", [30.0], None), column("TER", [5.0], None, -1)]).headline
        == "a: BLEU 30.0, TER 5.0"
    )


def test_cells_of_systems():
    """From 8.5 to 31.5, where the intervals end, a score of 20 +- 1.5 has its bar from 10 / 23 to 13 / 23."""
    best, middle, _ = cells(A)
    assert (best.score, best.best, best.margin, best.rank) == ("30.0", True, "1.5", 1)
    assert (middle.best, middle.rank) == (False, 2)
    assert (middle.low, middle.width, middle.at) == (round(1000 / 23, 2), round(300 / 23, 2), 50)
    assert cells(UNTESTED)[0] == ("10.0", False, None, None, 0, 0, 0)
    assert [cell.score for cell in cells(column("m", [3.0, NAN], {}))] == ["3.0", "-"]


def test_differences():
    assert difference(A, 0, 1)[:3] == ("+10.0*", "better", "+8.0 to +12.0")
    assert difference(A_BY_TER, 0, 1)[:2] == ("-10.0*", "better")  # lower is better
    assert difference(TIED, 1, 0)[:2] == ("-10.0", "")
    assert difference(UNTESTED, 0, 2) == ("+5.0", "", None, None)
    assert difference(column("m", [3.0, NAN], {}), 0, 1)[0] == "-"
    assert difference(column("m", [3.0, 3.01], {(0, 1): 1.0}), 0, 1)[:3] == ("+0.0", "", "-2.0 to +2.0")
