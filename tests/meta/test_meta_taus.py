"""Preferences and taus against plain loops and hand-worked cases."""

import math
from fractions import Fraction

import numpy as np
import pytest
from judged_scores import NAN, scored

from ctx_metrics.judgements.measures.taus import preference_parts, preferences_from_scores, tau

pytestmark = pytest.mark.filterwarnings("error")
VARIANTS = ("darr", "wmt12", "wmt13", "wmt14")


def plain_preferences(scores, threshold):
    rows = []
    for segment in range(scores.shape[1]):
        for i in range(len(scores)):
            for j in range(i + 1, len(scores)):
                a, b = scores[i, segment], scores[j, segment]
                if abs(a - b) >= threshold and a != b:
                    rows.append([segment, i, j] if a > b else [segment, j, i])
    return rows


def plain_parts(preferences, scores, variant):
    """Fractions (numerator, denominator) of every preference, and their ratio."""
    parts = []
    for segment, better, worse in preferences:
        a, b = scores[better, segment], scores[worse, segment]
        if math.isnan(a) or math.isnan(b):
            parts.append((0, 0))
        elif a == b:
            parts.append({"darr": (-1, 1), "wmt12": (-1, 1), "wmt13": (0, 0), "wmt14": (0, 1)}[variant])
        else:
            parts.append((1 if a > b else -1, 1))
    above, below = (sum(column) for column in zip(*parts))
    return parts, Fraction(above, below)


@pytest.mark.parametrize("threshold", [25.0, 12.5, 0.0, 25.1])
def test_preferences_of_a_plain_loop(threshold):
    for seed in range(5):
        scores = 12.5 * scored(seed, (6, 25))[0]
        found = preferences_from_scores(scores, threshold)
        assert found.dtype == np.int64 and found.tolist() == plain_preferences(scores, threshold)


def test_a_difference_of_the_threshold_is_a_preference():
    scores = np.array([[50.0, 50, 50], [25, 25.5, 75], [NAN, NAN, NAN]])
    assert preferences_from_scores(scores).tolist() == [[0, 0, 1], [2, 1, 0]]


@pytest.mark.parametrize("scores", [np.zeros((0, 3)), np.zeros((1, 3)), np.full((3, 3), NAN), np.zeros((3, 0))])
def test_no_preferences(scores):
    found = preferences_from_scores(scores)
    assert found.shape == (0, 3) and found.dtype == np.int64
    assert preference_parts(found, scores, "darr").shape == (0, 2)
    assert math.isnan(tau(found, scores, "darr"))


@pytest.mark.parametrize("variant", VARIANTS)
def test_parts_and_tau_of_a_plain_loop(variant):
    for seed in range(5):
        human, metric = scored(seed, (6, 25))
        preferences = preferences_from_scores(12.5 * human)
        parts, ratio = plain_parts(preferences.tolist(), metric, variant)
        assert preference_parts(preferences, metric, variant).tolist() == [list(part) for part in parts]
        assert tau(preferences, metric, variant) == float(ratio)


def test_where_nothing_is_scored_there_is_no_tau():
    for variant in VARIANTS:
        assert math.isnan(tau(np.array([[0, 0, 1]]), np.array([[NAN], [1.0]]), variant))
    assert math.isnan(tau(np.array([[0, 0, 1]]), np.array([[1.0], [1.0]]), "wmt13"))
