"""Which rows make a step: rows of about the same length, in an order that the seed and the epoch alone decide."""

from collections.abc import Sequence

import numpy as np

NOISE = 0.1


def epoch_batches(
    lengths: Sequence[tuple[int, int]], groups: Sequence[int], size: int, seed: int, epoch: int
) -> list[list[int]]:
    """Row numbers in batches of `size` (the last made may be smaller), for one epoch.

    Rows are sorted by the partner's and then the hypothesis's length, cut into batches, and the batches shuffled. The
    partner's length is first multiplied by a random number within 10 % of 1, the same for the rows of one group, so that
    batches differ between epochs, and rows of one segment stay together. Segments of one length come in random order.

    lengths    tokens of (partner, hypothesis) of each row
    groups     the number of each row's segment, from 0

    >>> sorted(map(sorted, epoch_batches([(9, 8), (1, 2), (9, 9), (1, 1)], [0, 1, 2, 3], size=2, seed=1, epoch=0)))
    [[0, 2], [1, 3]]
    """
    random = np.random.default_rng([seed, epoch])
    partner, hypothesis = np.array(lengths, float).T
    noise = random.uniform(1 - NOISE, 1 + NOISE, max(groups) + 1)[np.asarray(groups)]
    order = np.lexsort((hypothesis, noise, partner * noise))
    batches = [order[begin : begin + size].tolist() for begin in range(0, len(order), size)]
    return [batches[i] for i in random.permutation(len(batches))]
