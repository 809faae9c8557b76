"""Significance clusters: worked cases, and no comparison that is not needed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_metrics.scoring.comparison import ranks

NAN = float("nan")


class Asked:
    """Answers from a set of (better, worse), and keeps what it was asked."""

    def __init__(self, better):
        self.better, self.questions = set(better), []

    def __call__(self, i, j):
        self.questions.append((i, j))
        return (i, j) in self.better


# values, significant differences, ranks, questions in their order
WORKED = [
    ([0.9, 0.8, 0.7], [], [1, 1, 1], [(0, 1), (0, 2), (1, 2)]),
    ([0.9, 0.8, 0.7], [(0, 1), (0, 2), (1, 2)], [1, 2, 3], [(0, 1), (1, 2)]),
    # not transitive: A beats C though B beats neither and is not beaten
    ([0.9, 0.8, 0.7], [(0, 2)], [1, 1, 2], [(0, 1), (0, 2)]),
    # B beats C though A, the better one, does not
    ([0.9, 0.8, 0.7], [(1, 2)], [1, 1, 2], [(0, 1), (0, 2), (1, 2)]),
    # D is compared with its own cluster only
    ([0.9, 0.8, 0.7, 0.6], [(0, 2), (1, 3)], [1, 1, 2, 2], [(0, 1), (0, 2), (2, 3)]),
    # not in order, one not ranked, two equal
    ([0.5, NAN, 0.7, 0.7], [(2, 0)], [2, 0, 1, 1], [(2, 3), (2, 0)]),
    ([NAN, NAN], [], [0, 0], []),
    ([0.3], [], [1], []),
    ([], [], [], []),
]


@pytest.mark.parametrize("values, better, expected, questions", WORKED)
def test_worked_clusters(values, better, expected, questions):
    asked = Asked(better)
    assert ranks(values, asked) == expected
    assert asked.questions == questions
    assert ranks(np.array(values), asked) == expected


@given(st.data(), st.integers(0, 8))
def test_clusters_keep_their_definition(data, count):
    values = data.draw(st.lists(st.sampled_from([0.1, 0.5, 0.7, NAN]), min_size=count, max_size=count))
    better = data.draw(st.sets(st.tuples(st.integers(0, count), st.integers(0, count))))
    asked = Asked(better)
    found = ranks(values, asked)
    assert len(asked.questions) == len(set(asked.questions))
    assert all(values[i] >= values[j] for i, j in asked.questions)
    assert all((rank == 0) == np.isnan(value) for rank, value in zip(found, values))
    order = sorted((i for i in range(count) if found[i]), key=lambda i: -values[i])
    listed = [found[i] for i in order]
    assert listed == sorted(listed) and set(listed) == set(range(1, max(listed, default=0) + 1))
    for place, metric in enumerate(order):
        before = order[:place]
        if before and found[metric] == found[before[-1]]:
            assert not any((i, metric) in better for i in before if found[i] == found[metric])
        elif before:
            assert any((i, metric) in better for i in before if found[i] == found[before[-1]])
