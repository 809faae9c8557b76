"""Principal components and min-max scaling."""

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.pairwise import scaling
from ctx_metrics.pairwise.scaling import fit_min_max, fit_pca, project, scale


def drawn(n, width, seed=3):
    """Correlated numbers around another mean in each column, so that directions and variances differ."""
    random = np.random.default_rng(seed)
    return random.normal(size=(n, width)) @ random.normal(size=(width, width)) + random.normal(size=width) * 5


def test_components_by_hand():
    # points on the line through (1, 1) along (3, 4) / 5, and one step off it: variances 25 and 1 before division by n
    mean, components = fit_pca(np.array([[4.0, 5], [-2, -3], [1.8, 0.4], [0.2, 1.6]]), 2)
    assert mean.tolist() == pytest.approx([1, 1])
    assert components.ravel().tolist() == pytest.approx([0.6, 0.8, 0.8, -0.6])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "width", "kept"), [(200, 12, 5), (40, 12, 12), (9, 30, 8), (30, 1, 1)])
def test_components_are_those_of_a_singular_value_decomposition(monkeypatch, n, width, kept, dtype):
    monkeypatch.setattr(scaling, "_ROWS_A_BLOCK", 7)
    vectors = drawn(n, width).astype(dtype)
    mean, components = fit_pca(vectors, kept)
    exact = vectors.astype(np.float64)
    assert mean.dtype == components.dtype == np.float64 and components.shape == (kept, width)
    assert np.allclose(mean, exact.mean(0), rtol=1e-12)
    _, _, expected = np.linalg.svd(exact - exact.mean(0), full_matrices=False)
    assert np.allclose(np.abs((components * expected[:kept]).sum(1)), 1, atol=1e-9)
    assert np.allclose(components @ components.T, np.eye(kept), atol=1e-12)
    assert all(row[np.abs(row).argmax()] > 0 for row in components)
    projected = project(vectors, mean, components)
    assert projected.dtype == np.float64 and np.allclose(projected, (exact - exact.mean(0)) @ components.T, atol=1e-12)
    assert np.all(np.diff(projected.var(0)) < 0)


def test_a_sign_does_not_depend_on_the_data_s():
    vectors = drawn(50, 6)
    assert np.allclose(fit_pca(vectors, 6)[1], fit_pca(-vectors, 6)[1], atol=1e-9)


@pytest.mark.parametrize(("n", "width", "kept"), [(3, 5, 4), (5, 3, 4), (5, 3, 0), (0, 3, 1)])
def test_dimensions_that_cannot_be(n, width, kept):
    with pytest.raises(InputError, match=f"^{n} vectors of {width} numbers .* {kept} dimensions .* {min(n, width)}"):
        fit_pca(np.ones((n, width)), kept)


def test_vectors_that_are_not_finite():
    for bad in (np.nan, np.inf):
        with np.errstate(invalid="ignore"), pytest.raises(InputError, match="not finite"):
            fit_pca(np.array([[1.0, 2], [bad, 3], [0, 1]]), 1)


def test_ranges_leave_nan_out():
    low, high = fit_min_max(np.array([[2, np.nan, 7], [-1, 3, 7], [0, 5, 7]], np.float32))
    assert (low.tolist(), high.tolist()) == ([-1, 3, 7], [2, 5, 7]) and low.dtype == high.dtype == np.float64


@pytest.mark.parametrize("column", [[np.nan, np.nan], [1, np.inf], [-np.inf, 1], []])
def test_columns_without_a_range(column):
    values = np.array([[0.0] * len(column), column]).T
    with pytest.raises(InputError, match="^column [12] of 2 holds no number, or an infinite one"):
        fit_min_max(values)
    if column:
        with pytest.raises(InputError, match="^column 2"):
            fit_min_max(values)


def test_scaling_by_hand():
    values = np.array([[[0, 5, -3], [10, 7, 1]], [[2.5, np.nan, 99], [-4, 5, np.nan]]])
    low, high = np.array([0, 5, -1]), np.array([10, 5, 3])
    # column 1: 2 x / 10 - 1; column 2 is constant; column 3: 2 (x + 1) / 4 - 1, cut
    expected = [[[-1, 0, -1], [1, 0, 0]], [[-0.5, np.nan, 1], [-1, 0, np.nan]]]
    found = scale(values, low, high)
    assert found.dtype == np.float64 and np.array_equal(found, expected, equal_nan=True)


def test_training_values_fill_the_range():
    values = drawn(300, 4).astype(np.float32)
    scaled = scale(values, *fit_min_max(values))
    assert scaled.min(0).tolist() == [-1] * 4 and scaled.max(0).tolist() == [1] * 4
    assert all(np.array_equal(values[:, k].argsort(), scaled[:, k].argsort()) for k in range(4))
    assert scale(np.array([[np.inf, -np.inf, np.inf]]), np.zeros(3), np.array([1.0, 1, 0])).tolist() == [[1, -1, 0]]


def test_nothing_to_scale_or_project():
    assert scale(np.zeros((2, 5, 0)), *fit_min_max(np.zeros((5, 0)))).shape == (2, 5, 0)
    assert project(np.zeros((0, 3)), np.zeros(3), np.eye(3)[:2]).shape == (0, 2)
