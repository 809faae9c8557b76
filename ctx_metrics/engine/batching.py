"""Batches of sequences within a token budget, longest sequences first."""

from collections.abc import Iterator, Sequence


def token_batches(lengths: Sequence[int], budget: int, padded: bool = False) -> list[list[int]]:
    """The indices of the sequences, in batches of at most `budget` tokens, longest sequences first.

    padded    whether a batch is padded to its longest sequence; the padding then also counts

    A sequence longer than the budget gets a batch of its own. The longest come first so that a device that is too small for
    the job fails at the start. Sequences of equal length stay together and in order.

    >>> token_batches([3, 9, 4, 3], budget=7), token_batches([3, 9, 4, 3], budget=7, padded=True)
    ([[1], [2, 0], [3]], [[1], [2], [0, 3]])
    """
    batches: list[list[int]] = []
    used = size = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not padded or not batches:
            size = lengths[index]
        if not batches or used + size > budget:
            batches.append([])
            used, size = 0, lengths[index]
        batches[-1].append(index)
        used += size
    return batches


def equal_runs(lengths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Runs of equal lengths in packed sequences, each as (first token, number of sequences, their length).

    >>> list(equal_runs([5, 5, 2]))
    [(0, 2, 5), (10, 1, 2)]
    """
    offset = begin = 0
    for i in range(1, len(lengths) + 1):
        if i == len(lengths) or lengths[i] != lengths[begin]:
            yield offset, i - begin, lengths[begin]
            offset += (i - begin) * lengths[begin]
            begin = i
