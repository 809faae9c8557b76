"""MAS, maximum alignment similarity: do the words of one text have their like in the other?"""

import numpy as np


def mas(left: np.ndarray, right: np.ndarray) -> float:
    """Mean of both directions; one direction is the mean over its words of the largest cosine with the other's words.

        MAS(x, y) = (1/|x| sum_i max_j cos(x_i, y_j) + 1/|y| sum_j max_i cos(x_i, y_j)) / 2

    (Song and Roth 2015 give one direction, Kajiwara and Komachi 2016 the mean of both; Yoshimura et al. 2019 call it MAS.)

    left, right    unit vectors of each text's words, [words, dimensions]
    Returns a float in [-1, 1]; 0 where a text has no word.

    >>> cat, dog = [1.0, 0.0], [0.6, 0.8]
    >>> round(mas(np.array([cat]), np.array([cat, dog])), 4)    # (1 + (1 + .6) / 2) / 2
    0.9
    """
    if not len(left) or not len(right):
        return 0.0
    cosines = left @ right.T
    return float(cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2
