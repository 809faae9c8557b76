"""Random scores of people and of a metric, and the groups over which agreement is averaged."""

import numpy as np

NAN = float("nan")


def scored(seed: int, shape=(7, 40), levels: int = 8, missing: float = 0.15) -> tuple[np.ndarray, np.ndarray]:
    """Human and metric scores with many ties, some of them missing; differences of the metric's are rounded in many ways."""
    rng = np.random.default_rng(seed)
    human, metric = rng.integers(-4, 1, shape).astype(float), rng.integers(0, levels, shape) * 0.1
    human[rng.random(shape) < missing] = NAN
    metric[rng.random(shape) < missing] = NAN
    return human, metric


def groups_of(human: np.ndarray, metric: np.ndarray, average: str) -> list[tuple[np.ndarray, np.ndarray]]:
    if average == "none":
        return [(human.ravel(), metric.ravel())]
    return list(zip(human.T, metric.T)) if average == "item" else list(zip(human, metric))
