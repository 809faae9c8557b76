"""How sequences are put into batches: by a budget of tokens, longest first."""

from collections.abc import Iterator, Sequence


def token_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Indices of the sequences in batches of at most `budget` tokens, longest sequences first.

    A sequence longer than the budget makes a batch of its own. The longest come first so that a device too small for
    the job fails at the start. Equal lengths stay together and in order.

    >>> token_batches([3, 9, 4, 3], budget=7)
    [[1], [2, 0], [3]]
    """
    batches: list[list[int]] = []
    used = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not batches or used + lengths[index] > budget:
            batches.append([])
            used = 0
        batches[-1].append(index)
        used += lengths[index]
    return batches


def equal_runs(lengths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Runs of equal lengths in packed sequences: (first token, number of sequences, their length).

    >>> list(equal_runs([5, 5, 2]))
    [(0, 2, 5), (10, 1, 2)]
    """
    offset = begin = 0
    for i in range(1, len(lengths) + 1):
        if i == len(lengths) or lengths[i] != lengths[begin]:
            yield offset, i - begin, lengths[begin]
            offset += (i - begin) * lengths[begin]
            begin = i
