"""Which rows are written."""

import math
from argparse import ArgumentTypeError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_metrics.annotate.selection import Limit, best, limit, passing, top
from ctx_metrics.annotate.summary import quantile


@given(
    st.lists(st.lists(st.floats(-300, 300) | st.sampled_from([0.0, -0.0, 50.0, math.nan]), max_size=8), max_size=8),
    st.integers(0, 20),
)
def test_the_best_are_those_of_a_stable_sort(parts, number):
    arrays = [np.array(part, np.float64) for part in parts]
    choose = best(lambda: arrays, number)
    chosen = [bool(each) for array in arrays for each in choose(array)]
    values = [value for part in parts for value in part]
    order = sorted((i for i, value in enumerate(values) if not math.isnan(value)), key=lambda i: (-values[i], i))
    assert [i for i, each in enumerate(chosen) if each] == sorted(order[:number])


def test_limits():
    assert limit("COMET>=7e1") == Limit("comet", ">=", 70.0) and limit(" ter < 30.5 ").value == 30.5
    scores = {"comet": np.array([80, 70, 60, math.nan]), "ter": np.array([10, 40, 10, 10])}
    assert passing([limit("comet >= 70"), limit("ter<30")], scores, 4).tolist() == [True, False, False, False]
    assert passing([limit("ter > 0"), limit("comet <= 100")], scores, 4).tolist() == [True, True, True, False]
    assert passing([], scores, 4).all()


@pytest.mark.parametrize("text", ["comet", "comet = 70", "comet >= good", ">= 70", "comet >= 70 or chrf > 3"])
def test_what_is_no_limit(text):
    with pytest.raises(ArgumentTypeError):
        limit(text)


@pytest.mark.parametrize("text", ["0", "0%", "101%", "-3", "some", "1.5"])
def test_what_is_no_share(text):
    with pytest.raises(ArgumentTypeError, match="neither a share such as 20% nor a number of rows"):
        top(text)


def test_shares_round_down():
    assert [top(text).of(10) for text in ("20%", "25%", "29.9%", "100%", "3", "30")] == [2, 2, 2, 10, 3, 30]
    assert top("29%").of(100) == 29  # .29 * 100 is 28.999...


def test_quantiles_of_bins():
    values = np.random.default_rng(3).normal(70, 10, 20_000)
    bins, counts = np.unique(np.floor(values / 0.5).astype(int), return_counts=True)
    for share in (0.01, 0.1, 0.5, 0.9, 1.0):
        assert quantile(dict(zip(bins, counts, strict=True)), share) == pytest.approx(
            np.quantile(values, share), abs=0.5
        )
