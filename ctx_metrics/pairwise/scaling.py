"""Scaling of inputs: principal components, and min-max scaling of each column by its range in training."""

import numpy as np

from ..errors import InputError

_ROWS_A_BLOCK = 8192  # bounds the memory of fp64 copies


def fit_pca(vectors: np.ndarray, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Fit a PCA to vectors [n, D]; return their mean [D] and components [dimensions, D], fp64.

    The components are orthonormal eigenvectors of the covariance matrix, largest variance first. An eigenvector's sign is
    arbitrary; here the first of its entries with the largest absolute value is positive.

    >>> mean, components = fit_pca(np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]]), 1)
    >>> mean.tolist(), components.tolist()
    ([3.0, 2.0], [[1.0, 0.0]])
    """
    n, width = vectors.shape
    if not 1 <= dimensions <= min(n, width):
        raise InputError(
            f"{n} vectors of {width} numbers cannot be brought to {dimensions} dimensions by PCA",
            fix=f"name at least 1 and at most {min(n, width)}, or none",
        )
    mean = vectors.mean(0, dtype=np.float64)
    covariance = np.zeros((width, width))
    for start in range(0, n, _ROWS_A_BLOCK):
        centred = vectors[start : start + _ROWS_A_BLOCK] - mean
        covariance += centred.T @ centred
    if not np.isfinite(covariance).all():
        raise InputError("sentence vectors hold numbers that are not finite", fix="compute them in fp32")
    components = np.linalg.eigh(covariance / n)[1].T[::-1][:dimensions]
    largest = np.abs(components).argmax(1)
    signs = np.where(components[np.arange(dimensions), largest] < 0, -1.0, 1.0)
    return mean, components * signs[:, None]


def project(vectors: np.ndarray, mean: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Subtract the mean [D] from vectors [n, D] and project them on components [d, D]: fp64 [n, d].

    >>> project(np.array([[3.0, 4.0], [1.0, 1.0]]), np.array([1.0, 1.0]), np.array([[0.6, 0.8]])).round(6).tolist()
    [[3.6], [0.0]]
    """
    projected = np.empty((len(vectors), len(components)))
    for start in range(0, len(vectors), _ROWS_A_BLOCK):
        rows = slice(start, start + _ROWS_A_BLOCK)
        projected[rows] = (vectors[rows] - np.asarray(mean, np.float64)) @ components.T
    return projected


def fit_min_max(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimum and the maximum of each column of values [n, d], ignoring NaN: two fp64 arrays [d].

    >>> [bound.tolist() for bound in fit_min_max(np.array([[1.0, 5.0], [np.nan, 7.0], [-1.0, 6.0]]))]
    [[-1.0, 5.0], [1.0, 7.0]]
    """
    values = np.asarray(values, np.float64)
    low = np.fmin.reduce(values, axis=0, initial=np.inf)
    high = np.fmax.reduce(values, axis=0, initial=-np.inf)
    if (bad := np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))).size:
        raise InputError(
            f"column {bad[0] + 1} of {values.shape[1]} holds no number, or an infinite one, so it has no range",
            fix="leave it out",
        )
    return low, high


def scale(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Scale values [..., d] linearly from [low, high], both [d], to [-1, 1], and clip them: fp64 [..., d].

        2 (value - low) / (high - low) - 1

    A column whose low and high are equal carries no information and becomes 0. NaN stays NaN.

    >>> scale(np.array([[1.0, 5.0], [4.0, 6.0], [9.0, np.nan]]), np.array([0.0, 5.0]), np.array([8.0, 5.0])).tolist()
    [[-0.75, 0.0], [0.0, 0.0], [1.0, nan]]
    """
    values, low, high = (np.asarray(each, np.float64) for each in (values, low, high))
    width = high - low
    scaled = np.clip(2 * (values - low) / np.where(width > 0, width, 1.0) - 1, -1, 1)
    return np.where((width > 0) | np.isnan(values), scaled, 0.0)
