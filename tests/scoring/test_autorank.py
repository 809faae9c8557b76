"""AutoRank, worked by hand: the example of docs/compare.md."""

import numpy as np
import pytest

from ctx_metrics.scoring.autorank import METHODS, autorank

# systems A to D by COMET, and by MetricX, where lower is better
SCORES = np.array([[90.0, 85.0, 80.0, 70.0], [-4.0, -2.0, -3.0, -6.0]])


def test_wmt24():
    """COMET: 90 to 70 becomes 1 to 4, so 85 is 1.75 and 80 is 2.5; MetricX: 2 to 6, so 3 is 1.75 and 4 is 2.5."""
    by_hand = [(1 + 2.5) / 2, (1.75 + 1) / 2, (2.5 + 1.75) / 2, (4 + 4) / 2]
    assert autorank("wmt24", SCORES).tolist() == by_hand == [1.75, 1.375, 2.125, 4]


def test_wmt25():
    """COMET: median 82.5, 25th percentile 77.5, so z = (x - 82.5) / 12.5. MetricX: 3.5 and 4.5, so z = (3.5 - x) / 2.5."""
    z = [(0.6 - 0.2) / 2, (0.2 + 0.6) / 2, (-0.2 + 0.2) / 2, (-1 - 1) / 2]
    by_hand = [1 + 3 * (0.4 - each) / 1.4 for each in z]
    assert autorank("wmt25", SCORES) == pytest.approx(by_hand)
    assert [round(each, 2) for each in by_hand] == [1.43, 1.0, 1.86, 4.0]


@pytest.mark.parametrize("method", METHODS)
def test_a_system_without_a_score_does_not_count(method):
    more = np.concatenate([SCORES, [[99.0], [np.nan]]], axis=1)
    found = autorank(method, more)
    assert np.isnan(found[4]) and found[:4].tolist() == autorank(method, SCORES).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_equal_systems_share_the_first_rank(method):
    assert autorank(method, np.array([[50.0, 50.0, 50.0], [0.0, 0.0, 0.0]])).tolist() == [1, 1, 1]
    assert np.isnan(autorank(method, np.array([[np.nan, np.nan]]))).all()
