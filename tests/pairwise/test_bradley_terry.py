"""Bradley-Terry strengths by the likelihood's gradient and by hand; rankings against resampling one by one."""

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.pairwise.bradley_terry import PRIOR, Ranking, rank, strengths
from ctx_metrics.scoring.comparison import ranks

NAN = float("nan")


def chances(systems: int, segments: int, seed: int = 0, spread: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(systems, 1)) * spread + rng.normal(size=(systems, segments))
    return 1 / (1 + np.exp(quality[None] - quality[:, None]))


@pytest.mark.parametrize("size", [2, 5])
def test_strengths_maximise_the_likelihood(size):
    wins = np.random.default_rng(size).gamma(1.0, 5.0, size=(size, size))
    found = strengths(wins)
    assert found.mean() == pytest.approx(0, abs=1e-12)
    # the expected wins of each system are those it has, which is the gradient's zero, and the likelihood is concave
    w = np.where(np.eye(size, dtype=bool), 0, wins + PRIOR / 2)
    expected = ((w + w.T) / (1 + np.exp(found[None] - found[:, None]))).sum(axis=1)
    assert expected == pytest.approx(w.sum(axis=1), abs=1e-8)


@pytest.mark.parametrize("won, lost", [(3, 1), (1, 1), (1, 9), (1e6, 1e-6), (2000, 0)])
def test_two_systems_differ_by_the_log_of_the_odds(won, lost):
    first, second = strengths(np.array([[NAN, won], [lost, -7.0]]))  # the diagonal is ignored
    assert first - second == pytest.approx(np.log((won + PRIOR / 2) / (lost + PRIOR / 2)), abs=1e-9)


def test_counts_are_counts():
    for wins in ([[0, -1], [1, 0]], [[0, NAN], [1, 0]]):
        with pytest.raises(InputError, match="at least 0"):
            strengths(np.array(wins))


def test_a_ranking_is_of_means():
    # segments won by 0 over 1, 0 over 2 and 1 over 2; the second is not scored for 2, the fourth not at all
    probabilities = np.full((3, 3, 4), NAN)
    for i, j, won in ((0, 1, [0.9, 0.8, 0.4]), (0, 2, [0.6, NAN, 0.8]), (1, 2, [0.5, NAN, 0.9])):
        probabilities[i, j, :3], probabilities[j, i, :3] = won, 1 - np.array(won)
    probabilities[range(3), range(3)] = 0.5  # the diagonal says nothing of whether a segment was scored
    probabilities.flags.writeable = False
    found = rank(probabilities, resamples=10)
    assert found.segments == found.units == 3 and found.unit == "segments"
    assert found.win_matrix[0] == pytest.approx([NAN, 2.1 / 3, 1.4 / 2], nan_ok=True)
    assert found.win_matrix[2] == pytest.approx([0.6 / 2, 0.6 / 2, NAN], nan_ok=True)
    assert found.win_shares == pytest.approx([3.5 / 5, (0.9 + 1.4) / 5, 1.2 / 4])
    sums = np.array([[0, 2.1, 1.4], [0.9, 0, 1.4], [0.6, 0.6, 0]])
    assert found.strengths == pytest.approx(strengths(sums), abs=1e-9)
    assert np.isnan(found.p_values[range(3), range(3)]).all()
    assert found.order == [0, 1, 2]


def one_by_one(probabilities, groups, resamples, confidence, seed):
    """Strengths, intervals and p-values with every resample laid out as the segments that it draws."""
    names = list(dict.fromkeys(groups))
    members = [[n for n, group in enumerate(groups) if group == name] for name in names]
    size, drawn = len(probabilities), []
    rng = np.random.default_rng(seed)
    for _ in range(resamples):
        segments = [n for unit in rng.integers(len(names), size=len(names)) for n in members[unit]]
        drawn.append(strengths(probabilities[:, :, segments].sum(axis=-1)))
    drawn = np.array(drawn)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    p = [
        [(np.sum(drawn[:, i] - drawn[:, j] <= 1e-9) + 1) / (resamples + 1) if i != j else NAN for j in range(size)]
        for i in range(size)
    ]
    return np.quantile(drawn, ends, axis=0).T, np.array(p)


@pytest.mark.parametrize("documents", [False, True])
def test_intervals_and_tests_resample_units(documents):
    probabilities = chances(4, 30, seed=3, spread=0.15)
    groups = [f"d{n // 4}" for n in range(30)] if documents else None  # the last document has 2 segments
    found = rank(probabilities, groups, resamples=200, confidence=0.9, seed=5)
    intervals, p = one_by_one(probabilities, groups or list(range(30)), 200, 0.9, 5)
    assert (found.units, found.unit) == ((8, "documents") if documents else (30, "segments"))
    assert found.intervals == pytest.approx(intervals, abs=1e-8)
    assert found.p_values == pytest.approx(p, nan_ok=True)
    assert len(set(found.p_values[~np.isnan(found.p_values)])) > 4
    assert found.ranks == ranks(found.strengths, lambda i, j: p[i, j] <= 1 - 0.9)
    assert found.better(0, 1) == (p[0, 1] <= 1 - 0.9) and found.better(1, 0) == (p[1, 0] <= 1 - 0.9)
    # a segment that was not scored is no unit, and takes its document's id with it
    wider = np.insert(probabilities, 7, NAN, axis=2)
    again = rank(wider, groups and [*groups[:7], "lost", *groups[7:]], resamples=200, confidence=0.9, seed=5)
    assert again.intervals.tolist() == found.intervals.tolist() and again.units == found.units


def test_blocks_of_resamples_are_one_stream(monkeypatch):
    whole = rank(chances(3, 20), resamples=50)
    monkeypatch.setattr("ctx_metrics.meta.inference.bootstrap.BLOCK", 70)  # 3 resamples at once
    assert rank(chances(3, 20), resamples=50).intervals == pytest.approx(whole.intervals, abs=1e-9)


def test_equal_systems_share_a_rank():
    probabilities = chances(4, 50, seed=2)
    probabilities[1], probabilities[:, 1] = probabilities[0], probabilities[:, 0]
    probabilities[0, 1] = probabilities[1, 0] = probabilities[1, 1] = 0.5
    found = rank(probabilities, confidence=0.5)
    assert found.strengths[0] == pytest.approx(found.strengths[1], abs=1e-10)
    assert found.p_values[0, 1] == found.p_values[1, 0] == 1 and found.ranks[0] == found.ranks[1]


def test_clear_winners_rank_apart():
    order = [2, 0, 3, 1]
    quality = np.empty((4, 1))
    quality[order] = [[3.0], [2.0], [1.0], [0.0]]
    noisy = quality + 0.3 * np.random.default_rng(0).normal(size=(4, 100))
    found = rank(1 / (1 + np.exp(noisy[None] - noisy[:, None])))
    assert found.order == order and found.ranks == [2, 4, 1, 3]
    always = np.zeros((2, 2, 10))
    always[1, 0] = 1
    found = rank(always, resamples=20)
    assert found.strengths == pytest.approx([-np.log(41) / 2, np.log(41) / 2])  # 10.25 wins to .25
    assert found.win_shares.tolist() == [0, 1] and found.p_values[1, 0] == 1 / 21
    # 9 resamples reach p = .1 at best, which is just significant at .9
    assert rank(always, resamples=9, confidence=0.9).ranks == [2, 1] and rank(always, resamples=9).ranks == [1, 1]
    assert rank(always, resamples=9, confidence=0.9).better(1, 0)


def test_one_unit_has_no_interval():
    found = rank(chances(3, 6, spread=9), ["d"] * 6)
    assert (found.units, found.segments, found.ranks) == (1, 6, [1, 1, 1])
    assert np.isnan(found.intervals).all() and np.isnan(found.p_values).all()
    assert np.isfinite(found.strengths).all() and not found.better(found.order[0], found.order[-1])


def test_what_cannot_be_ranked_is_said():
    with pytest.raises(InputError, match="at least 2 systems"):
        rank(np.full((1, 1, 3), 0.5))
    lacking = chances(3, 5)
    lacking[2], lacking[:, 2] = NAN, NAN
    with pytest.raises(InputError, match="system 3: none of its segments is scored"):
        rank(lacking)
    with pytest.raises(InputError, match="system 1: none"):
        rank(np.full((2, 2, 5), NAN))
    for shape in ((2, 2), (2, 3, 4), (2, 2, 2, 2)):
        with pytest.raises(InputError, match=r"an array \[systems, systems, segments\], but this one has shape \(2, "):
            rank(np.full(shape, 0.5))
    with pytest.raises(InputError, match="there are 4 document ids for 5 segments"):
        rank(chances(3, 5), groups=["d"] * 4)


def test_equal_strengths_keep_their_order():
    found = Ranking(np.array([0.0, 1, 0, 1]), *[None] * 4, [], 0, 0, "segments", 0, 0.95)
    assert found.order == [1, 3, 0, 2]
