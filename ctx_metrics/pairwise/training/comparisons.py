"""Pairs of outputs, one of which human judges preferred, in the form that a pairwise network reads."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Comparisons:
    """P pairs over T distinct texts and O outputs; several pairs may use the same rows.

    texts      fp32 [T, V]: scaled sentence vectors of outputs and references
    outputs    fp32 [O, K]: scaled features, one row for each output with its reference
    pairs      int64 [P, 5]: rows of the better text, the worse text and the reference in `texts`, and of the better and
               the worse output in `outputs`

    V or K may be 0; the table still has its rows. Raises ValueError for a wrong dtype or shape, rows out of range, and
    numbers that are not finite.
    """

    texts: np.ndarray
    outputs: np.ndarray
    pairs: np.ndarray

    def __post_init__(self):
        for name, table in (("texts", self.texts), ("outputs", self.outputs)):
            if table.ndim != 2 or table.dtype != np.float32:
                raise ValueError(f"{name}: {table.dtype} {table.shape} is not fp32 with two dimensions")
            if not np.isfinite(table).all():
                raise ValueError(f"{name}: some are not finite")
        if self.pairs.ndim != 2 or self.pairs.shape[1] != 5 or self.pairs.dtype != np.int64:
            raise ValueError(f"pairs: {self.pairs.dtype} {self.pairs.shape} is not int64 with 5 columns")
        for columns, table in ((self.pairs[:, :3], self.texts), (self.pairs[:, 3:], self.outputs)):
            if columns.size and not (columns.min() >= 0 and columns.max() < len(table)):
                raise ValueError(f"pairs: rows {columns.min()} to {columns.max()} of a table of {len(table)}")

    def __len__(self) -> int:
        return len(self.pairs)


def strict_tau(margins: np.ndarray) -> float:
    """Return the strict tau of WMT12, (C - D - T) / (C + D + T), from -1 to 1.

    margins holds, for each pair, the margin of the better output over the worse one, such as the difference of a metric's
    scores. C margins are above 0, D are below 0, and T are 0; a tie counts as wrong. NaN if there are no pairs.

    >>> strict_tau(np.array([0.5, 0.1, 3.0, -0.2, 0.0]))  # (3 - 1 - 1) / 5
    0.2
    """
    if not len(margins):
        return float("nan")
    return (2 * int(np.count_nonzero(margins > 0)) - len(margins)) / len(margins)  # C - D - T = 2 C - (C + D + T)
