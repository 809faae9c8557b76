"""Correlations against scipy and exact sums; groups, missing scores, undefined cases, outliers."""

import math

import numpy as np
import pytest
from judged_scores import NAN, groups_of, scored
from scipy import stats

from ctx_metrics.judgements.measures.correlation import group_coefficients, mad_outliers, pearson

pytestmark = pytest.mark.filterwarnings("error")
KINDS = {
    "pearson": (pearson, stats.pearsonr),
    "spearman": (lambda *scores: float(group_coefficients(*scores, "spearman", "none")[0]), stats.spearmanr),
    "kendall": (lambda *scores: float(group_coefficients(*scores, "kendall", "none")[0]), stats.kendalltau),
}


def oracle(human, metric, kind):
    """scipy's value of what is not NaN, NaN where it has none."""
    there = ~np.isnan(human) & ~np.isnan(metric)
    human, metric = human[there], metric[there]
    if len(set(human)) < 2 or len(set(metric)) < 2:
        return NAN
    return KINDS[kind][1](human, metric)[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("average", ["none", "item", "system"])
@pytest.mark.parametrize("shape, missing", [((7, 40), 0.15), ((30, 5), 0.4), ((3, 60), 0.4), ((4, 4), 0.0)])
def test_groups_have_scipys_values(kind, average, shape, missing):
    for seed in range(3):
        human, metric = scored(seed, shape, missing=missing)
        expected = [oracle(*group, kind) for group in groups_of(human, metric, average)]
        found = group_coefficients(human, metric, kind, average)
        assert found.dtype == np.float64 and found.shape == (len(expected),)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_undefined_cases_are_nan_without_warnings(kind):
    function = KINDS[kind][0]
    for human, metric in [
        ([], []),
        ([1.0], [2.0]),
        ([1.0, 1, 1], [1.0, 2, 3]),
        ([1.0, 2, 3], [0.1, 0.1, 0.1]),  # whose mean is not 0.1 in float64
        ([0.1] * 6, [0.1] * 6),
        ([1.0, NAN, 3], [NAN, 2.0, 3]),
        ([NAN, NAN], [NAN, NAN]),
    ]:
        assert math.isnan(function(np.array(human), np.array(metric)))
    empty = np.zeros((0, 3))
    assert np.isnan(group_coefficients(empty, empty, kind, "item")).tolist() == [True] * 3
    assert group_coefficients(empty, empty, kind, "system").shape == (0,)


@pytest.mark.parametrize("kind", KINDS)
def test_two_points_correlate_exactly(kind):
    function, next_one = KINDS[kind][0], np.nextafter(1, 2)
    assert function(np.array([0.1, 0.7]), np.array([0.3, 0.4])) == 1.0
    assert function(np.array([0.1, 0.7]), np.array([1e-3, -1e9])) == -1.0
    # the mean of neighbours is one of them
    assert function(np.array([1, next_one]), np.array([5.0, NAN])) != function(
        np.array([1, next_one]), np.array([5.0, 6])
    )
    assert function(np.array([1, next_one]), np.array([6.0, 5])) == -1.0


def test_tiny_and_huge_scores():
    human, metric = np.array([1.0, 2, 4, 8]), np.array([3.0, 1, 5, 6])
    assert pearson(human * 1e-200, metric * 1e200) == pytest.approx(pearson(human, metric), abs=1e-14)
    assert pearson(human, human * 3) == pytest.approx(1.0, abs=1e-15) and pearson(human, human * 3) <= 1


def test_outliers():
    # median 3, deviations 2 1 0 1 x, MAD 1: an outlier beyond 2.5 * 1.4826 = 3.7065
    assert mad_outliers(np.array([1, 2, 3, 4, 6.7])).tolist() == [False] * 5
    assert mad_outliers(np.array([1, 2, 3, 4, 6.71])).tolist() == [False] * 4 + [True]
    assert mad_outliers(np.array([1, 2, NAN, 3, 4, -4])).tolist() == [False] * 5 + [True]
    assert mad_outliers(np.array([5.0, 5, 5, 5, 900])).tolist() == [False] * 5  # MAD 0
    assert mad_outliers(np.array([NAN, NAN])).tolist() == [False, False]
    assert mad_outliers(np.array([])).tolist() == []
