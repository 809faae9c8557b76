"""The figure of a ranking: which system beats which, and how strong each one is."""

from collections.abc import Sequence

import numpy as np

from ..meta.measures.bradley_terry import Ranking
from ..plots.figure import Figure
from ..plots.pairs import Matrix, pair_matrix

NARROWEST = 10  # the colours span at least 50 +- this many points, so that similar systems look similar


def win_matrix(names: Sequence[str], ranking: Ranking) -> Figure:
    """Draw the win matrix, strongest system first, with each row's Bradley-Terry strength and its interval.

    A cell shows the mean probability, in %, that the row's system beats the column's: blue above 50, white at 50,
    vermilion below. It is bold if one of the two systems is significantly stronger than the other.

    names    names of the systems, in the order of the ranking's strengths
    """
    places = range(len(names))
    sure = np.array([[ranking.better(i, j) or ranking.better(j, i) for j in places] for i in places])
    of_values = f"strength, {100 * ranking.confidence:g} % interval"
    own = ranking.strengths, ranking.intervals, ranking.ranks
    labels = "row beats column (%)", of_values
    drawn = Matrix(100 * ranking.win_matrix, sure, *own, 50, NARROWEST, False, *labels)
    return pair_matrix(names, drawn, ranking.order)
