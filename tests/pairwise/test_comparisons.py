import math

import numpy as np
import pytest

from ctx_metrics.pairwise.training.task import Comparisons, strict_tau

TEXTS, OUTPUTS = np.zeros((4, 3), np.float32), np.zeros((3, 0), np.float32)


def pairs(*rows):
    return np.array(rows, np.int64).reshape(-1, 5)


def test_pairs_within_their_tables():
    assert len(Comparisons(TEXTS, OUTPUTS, pairs((0, 1, 3, 0, 2), (1, 0, 3, 2, 1)))) == 2
    assert len(Comparisons(TEXTS, OUTPUTS, pairs())) == 0


@pytest.mark.parametrize(
    "texts, outputs, rows",
    [
        (TEXTS.astype(np.float64), OUTPUTS, pairs()),
        (TEXTS[0], OUTPUTS, pairs()),
        (TEXTS, OUTPUTS.astype(np.float64), pairs()),
        (TEXTS + np.float32("nan"), OUTPUTS, pairs()),
        (TEXTS, np.full((3, 1), np.inf, np.float32), pairs()),
        (TEXTS, OUTPUTS, pairs((0, 1, 4, 0, 1))),
        (TEXTS, OUTPUTS, pairs((0, 1, 2, 0, 3))),
        (TEXTS, OUTPUTS, pairs((-1, 1, 2, 0, 1))),
        (TEXTS, OUTPUTS, pairs((0, 1, 2, 0, 1)).astype(np.int32)),
        (TEXTS, OUTPUTS, pairs((0, 1, 2, 0, 1))[:, :4]),
    ],
)
def test_arrays_of_another_kind_are_refused(texts, outputs, rows):
    with pytest.raises(ValueError):
        Comparisons(texts, outputs, rows)


def test_strict_tau_counts_ties_as_wrong():
    assert strict_tau(np.array([1.0, 2.0])) == 1
    assert strict_tau(np.array([-1.0, 0.0])) == -1
    assert strict_tau(np.array([1e-300, 0.0, 5, 7])) == 0.5  # (3 - 0 - 1) / 4
    assert math.isnan(strict_tau(np.zeros(0)))
