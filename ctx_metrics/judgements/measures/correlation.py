"""Pearson, Spearman and Kendall correlation of human and metric scores: for single lists, and for many groups at once."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import kendalltau, rankdata

from ...corpus import document_ranges
from ..judged import row_means

OUTLIER = 2.5  # in robust standard deviations from the median (Mathur et al. 2020)


def pearson(human: np.ndarray, metric: np.ndarray) -> float:
    """Pearson's r of two lists of finite scores (n,), from -1 to 1; pairs with a NaN are ignored.

    r = sum (h - mean h)(m - mean m) / sqrt(sum (h - mean h)^2 sum (m - mean m)^2). NaN for fewer than 2 pairs, or if one
    side is constant; exactly 1 or -1 for 2 pairs.

    The deviations below are (-1, 0, 1) and (-2, 1, 1), so r = 3 / sqrt(2 * 6) = .866.

    >>> round(pearson(np.array([1.0, 2, 3]), np.array([0.0, 3, 3])), 3)
    0.866
    """
    return float(group_coefficients(human, metric, "pearson", "none")[0])


def group_coefficients(human: np.ndarray, metric: np.ndarray, kind: str, average: str) -> np.ndarray:
    """The correlation coefficient of each group of outputs: float64 (G,), NaN for a group where it is undefined.

    human, metric    float64 (S, N), systems by segments, NaN where an output is not judged or not scored
    kind             pearson; spearman, which is pearson on ranks, where equal scores share their mean rank; or kendall:
                     tau-b, (C - D) / sqrt((pairs not tied by people) (pairs not tied by the metric)), with C concordant and
                     D discordant pairs (Kendall 1945)
    average          none: one group of all outputs; item: one group per segment, over systems (G = N); system: one group per
                     system, over segments (G = S)

    >>> human, metric = np.array([[1.0, 2], [2, 2], [3, np.nan]]), np.array([[0.0, 1], [3, 2], [3, 3]])
    >>> group_coefficients(human, metric, "pearson", "item").round(3).tolist()
    [0.866, nan]
    >>> group_coefficients(human[:, :1], metric[:, :1], "kendall", "none").round(3).tolist()  # 2 / sqrt(3 * 2)
    [0.816]
    """
    return KINDS[kind](*grouped(human, metric, average))


def moments(human: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """The terms of each segment's outputs in Pearson's r over all outputs: float64 (N, 6), their number, sums, sums of
    squares and sums of products. Scores are first shifted and scaled to mean 0 and standard deviation 1.

    human, metric    float64 (S, N), NaN where an output is not judged or not scored
    """
    known = ~(np.isnan(human) | np.isnan(metric))
    h, m = (_centred(scores, known) for scores in (human, metric))
    return np.stack([known, h, m, h * h, m * m, h * m]).sum(axis=1).T


def of_moments(sums: np.ndarray) -> np.ndarray:
    """Pearson's r from sums of moments, (...,) from (..., 6); NaN for fewer than 2 outputs, or if one side is constant.

    >>> human, metric = np.array([[1.0, 2], [3, np.nan]]), np.array([[0.0, 3], [3, 5]])
    >>> round(float(of_moments(moments(human, metric).sum(axis=0))), 3)
    0.866
    """
    number, human, metric, humans, metrics, products = np.moveaxis(sums, -1, 0)
    variances = [number * squares - total**2 for squares, total in ((humans, human), (metrics, metric))]
    product = np.sqrt(np.prod([np.maximum(each, 0) for each in variances], axis=0))
    both = zip(variances, (humans, metrics), strict=True)
    varies = [each > 1e-10 * number * squares for each, squares in both]  # by more than rounding
    defined = (number > 1) & np.all(varies, axis=0)
    r = np.divide(number * products - human * metric, product, out=np.full(product.shape, np.nan), where=defined)
    return np.clip(r, -1, 1)


def _centred(scores: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Shift and scale the scores (S, N) where `known`, bool (S, N); 0 elsewhere, and if all are equal."""
    values, centred = scores[known], np.zeros(scores.shape)
    if values.size and values.min() < values.max():
        centred[known] = (values - values.mean()) / values.std()
    return centred


def document_means(scores: np.ndarray, doc_ids: Sequence[str]) -> np.ndarray:
    """The mean over each document's segments, without NaN: float64 (S, D) from (S, N) and N ids.

    >>> document_means(np.array([[1.0, 3, 5], [np.nan, 2, np.nan]]), ["x", "x", "y"]).tolist()
    [[2.0, 5.0], [2.0, nan]]
    """
    return np.stack([row_means(scores[:, start:end]) for start, end in document_ranges(doc_ids)], axis=1)


def mad_outliers(scores: np.ndarray) -> np.ndarray:
    """The systems whose human scores are far from the rest: bool (S,), False where a score is NaN.

    |h - median| / (1.4826 MAD) > 2.5, where MAD is the median of |h - median| (Mathur et al. 2020, Tangled up in BLEU;
    used since WMT19). If MAD is 0, there are no outliers.

    The median below is 3 and the deviations are (2, 1, 0, 1, 7), so MAD is 1 and only 7 / 1.4826 = 4.7 exceeds 2.5.

    >>> mad_outliers(np.array([1.0, 2, 3, 4, -4])).tolist()
    [False, False, False, False, True]
    """
    if np.isnan(scores).all():
        return np.zeros(len(scores), dtype=bool)
    deviation = np.abs(scores - np.nanmedian(scores))
    mad = np.nanmedian(deviation)
    return (deviation > OUTLIER * 1.4826 * mad) & (mad > 0)


def grouped(human: np.ndarray, metric: np.ndarray, average: str) -> tuple[np.ndarray, np.ndarray]:
    """Human and metric scores with one row per group, float64 (G, K); where either is NaN, both are.

    >>> human, metric = grouped(np.array([[1.0, 2], [3, 4]]), np.array([[5.0, np.nan], [7, 8]]), "item")
    >>> human.tolist(), metric.tolist()
    ([[1.0, 3.0], [nan, 4.0]], [[5.0, 7.0], [nan, 8.0]])
    """
    missing = np.isnan(human) | np.isnan(metric)
    human, metric = np.where(missing, np.nan, human), np.where(missing, np.nan, metric)
    if average == "none":
        return human.reshape(1, -1), metric.reshape(1, -1)
    return {"item": (human.T, metric.T), "system": (human, metric)}[average]


def _pearson_rows(human: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """Pearson's r of each row, float64 (G,) from (G, K). Here and below, NaN entries are the same in both arrays."""
    count = (~np.isnan(human)).sum(axis=1)
    product = np.clip((_unit(human, count) * _unit(metric, count)).sum(axis=1), -1, 1)
    two = count == 2
    if two.any():
        same = np.argmax(_filled(human[two]), axis=1) == np.argmax(_filled(metric[two]), axis=1)
        product[two] = np.where(same, 1, -1)
    return np.where(_varies(human) & _varies(metric), product, np.nan)


def _kendall_rows(human: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """Kendall's tau-b of each row, float64 (G,) from (G, K): by scipy for few rows, else for all of them at once."""
    groups, members = human.shape
    if groups <= members:  # loop over the smaller dimension
        tau = np.full(groups, np.nan)
        for row in np.flatnonzero(_varies(human) & _varies(metric)):
            known = ~np.isnan(human[row])
            tau[row] = kendalltau(human[row, known], metric[row, known])[0]
        return tau
    human, metric = human.T, metric.T
    balance, in_human, in_metric = np.zeros((3, groups), dtype=np.int64)
    for i in range(members - 1):
        of_human, of_metric = _signs(human, i), _signs(metric, i)  # also 0 where a score is NaN
        balance += (of_human * of_metric).sum(axis=0)
        in_human += np.count_nonzero(of_human, axis=0)
        in_metric += np.count_nonzero(of_metric, axis=0)
    defined = (in_human > 0) & (in_metric > 0)
    tau = balance / np.sqrt(np.maximum(in_human, 1)) / np.sqrt(np.maximum(in_metric, 1))
    return np.where(defined, np.clip(tau, -1, 1), np.nan)


KINDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "pearson": _pearson_rows,
    "spearman": lambda human, metric: _pearson_rows(_ranks(human), _ranks(metric)),
    "kendall": _kendall_rows,
}


def _signs(scores: np.ndarray, i: int) -> np.ndarray:
    """int8: 1, 0 or -1 if a later member is above, equal to or below member i."""
    return (scores[i + 1 :] > scores[i]).view(np.int8) - (scores[i + 1 :] < scores[i]).view(np.int8)


def _unit(rows: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Deviations (G, K) from each row's mean, scaled to length 1; 0 for NaN, and in rows without any deviation."""
    known = ~np.isnan(rows)
    mean = np.where(known, rows, 0).sum(axis=1) / np.maximum(count, 1)
    deviation = np.where(known, rows - mean[:, None], 0)
    largest = np.abs(deviation).max(axis=1, initial=0)
    deviation /= np.where(largest > 0, largest, 1)[:, None]  # before squaring: squares of tiny scores are 0
    length = np.sqrt((deviation**2).sum(axis=1))
    return deviation / np.where(length > 0, length, 1)[:, None]


def _varies(rows: np.ndarray) -> np.ndarray:
    """Whether each row has two different scores, bool (G,). Variances cannot tell: rounding may make them positive."""
    low = np.where(np.isnan(rows), np.inf, rows).min(axis=1, initial=np.inf)
    return low < _filled(rows).max(axis=1, initial=-np.inf)


def _filled(rows: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(rows), -np.inf, rows)


def _ranks(rows: np.ndarray) -> np.ndarray:
    missing = np.isnan(rows)
    if not rows.size:
        return rows
    return np.where(missing, np.nan, rankdata(np.where(missing, np.inf, rows), axis=1))  # inf ranks them last
