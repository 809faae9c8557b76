"""AutoRank: one number for each system from its scores by several metrics, as WMT's general tasks compute it."""

import numpy as np

METHODS = {
    "wmt24": "each metric's scores are scaled linearly so that the best system gets 1 and the worst one N, the number of "
    "systems; mean over the metrics",
    "wmt25": "each metric's scores minus their median, divided by their maximum minus their 25th percentile; mean over the "
    "metrics, scaled linearly so that the best system gets 1 and the worst one N, the number of systems",
}
EPSILON = 1e-9  # least divisor of wmt25, for systems of which three quarters have the best score


def autorank(method: str, scores: np.ndarray) -> np.ndarray:
    """Return the AutoRank of each system, float64 [systems]; 1 is best.

    scores    float64 [metrics, systems], where higher is better. A system that lacks one gets NaN, and does not count

    >>> autorank("wmt24", np.array([[90.0, 80.0, 70.0], [30.0, 40.0, 20.0]])).tolist()
    [1.5, 1.5, 3.0]
    """
    found = np.full(scores.shape[1], np.nan)
    whole = ~np.isnan(scores).any(axis=0)
    kept = scores[:, whole]
    if not kept.size:
        return found
    if method == "wmt24":
        found[whole] = np.mean([_scaled(row) for row in kept], axis=0)
    else:
        quarter, median, best = np.percentile(kept, [25, 50, 100], axis=1)[..., None]
        found[whole] = _scaled(((kept - median) / np.maximum(EPSILON, best - quarter)).mean(axis=0))
    return found


def _scaled(values: np.ndarray) -> np.ndarray:
    """Return N values scaled linearly so that the highest becomes 1 and the lowest N; 1 for all if they are equal."""
    width = values.max() - values.min()
    return 1 + (len(values) - 1) * (values.max() - values) / (width or 1)
