"""Checks whether two streams of lines are aligned: finds blocks of lines that fit a neighbor's counterpart better.

If a line was dropped in one place and another one added elsewhere, the file has the right length, but every line between
the two places is scored against the wrong one.
"""

import re
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

OFFSETS = (1, -1, 2, -2, 3, -3)
CHUNK = 20_000  # lines compared at a time, to limit memory
HASHED = 18  # bits of a feature's hash
BAD = 0.3  # the cosine below which a line fits its counterpart badly
AROUND, BAD_LINES = 8, 4
GRAM = 4  # bytes: four Latin letters, two Cyrillic ones, one or two Chinese characters
_SHARED = re.compile(
    r"[0-9]+|[a-z]{3,}"
)  # items that translations often keep: numbers, names, and words shared by both languages


class Shift(NamedTuple):
    """Lines first to last (from 0, inclusive) that fit the other stream's line + offset better than their own line."""

    first: int
    last: int
    offset: int


class _Rule(NamedTuple):
    """When a block of lines counts as a shift. A line's gain is how much better it fits at the offset, minus `chance`.

    chance    deducted from each line's gain, because chance alone may give that much
    total     minimum sum of a block's gains
    lines     minimum number of distinct lines with a positive gain in a block
    """

    chance: float
    total: float
    lines: int


class _Run(NamedTuple):
    total: float
    start: int
    end: int


_TAKEN = -1e6  # the gain of a line that is already in a block
# Chosen so that no shift is found in any aligned set that benchmarks/text_checks.py reads; see docs/text-checks.md.
SAME_LANGUAGE = _Rule(0.03, 1.5, 5)  # gains are differences of cosines
TRANSLATION = _Rule(1.2, 10.0, 6)  # gains are log-likelihood ratios


def shifts(lines: Sequence[str | None], others: Sequence[str | None], translated: bool = False) -> list[Shift]:
    """Return the blocks of lines that fit the other stream better at an offset of 1, 2 or 3 lines either way, in order.

    lines, others    n texts each; None and "" fit nothing
    translated       whether the streams are in different languages; then lengths, numbers and Latin words are compared
                     instead of n-grams. A shift of about 10 lines can be found within one language, and of about 20
                     between two.

    >>> texts = "apples berries cherries dates elderberries figs grapes haws".split()
    >>> shifts([*texts[:1], *texts[2:], "none"], texts)
    [Shift(first=1, last=6, offset=1)]
    """
    if len(lines) != len(others):
        raise ValueError(f"{len(lines)} and {len(others)} lines")
    compare, rule = (translation_gains, TRANSLATION) if translated else (overlap_gains, SAME_LANGUAGE)
    blocks: list[Shift] = []
    for start in range(0, len(lines), CHUNK):
        end = min(start + CHUNK, len(lines))
        left, right = ([text or "" for text in stream[start:end]] for stream in (lines, others))
        gains = compare(left, right)
        for first, last, offset in sorted(_blocks(left, right, gains, rule)):
            begin, border = start + first, 1 + abs(offset)  # near a border, lines may have no counterpart in the chunk
            if blocks and blocks[-1].offset == offset and blocks[-1].last >= start - border and first < border:
                begin = blocks.pop().first
            blocks.append(Shift(begin, start + last, offset))
    return blocks


def overlap_gains(lines: Sequence[str], others: Sequence[str]) -> dict[int, np.ndarray]:
    """Return, for each offset, how much more each line shares with the other stream's line + offset than with its own.

    The gains, float [n], are differences of cosines of weighted byte n-grams, which are in [0, 1]. The gain is -1 if there
    is no such line, and for lines that are not compared (see _doubtful).
    """
    left, right = _weighted(_hashed(lines, _grams), _hashed(others, _grams))
    own = _cosines(left, right)
    rows = np.flatnonzero(_doubtful(own))
    gains = {offset: np.full(len(own), -1.0) for offset in OFFSETS}
    for offset, gain in gains.items():
        gain[rows] = _filled(_cosines(left, right, offset, rows) - own[rows], -1)
    return gains


def _doubtful(own: np.ndarray) -> np.ndarray:
    """Return which lines have at least BAD_LINES badly fitting lines around them; only those are compared at offsets."""
    bad = np.concatenate([[0], np.cumsum(own < BAD)])
    starts, ends = (np.clip(np.arange(len(own)) + each, 0, len(own)) for each in (-AROUND, AROUND))
    return bad[ends] - bad[starts] >= BAD_LINES


def translation_gains(lines: Sequence[str], others: Sequence[str]) -> dict[int, np.ndarray]:
    """Return, for each offset, how much more likely each line translates the other stream's line + offset than its own.

    The gains are float [n], in nats. The log ratio of the lengths of translation and source is assumed to follow a
    Student t-distribution, and ten times the cosine of their numbers and Latin words is added. The gain is -10 if there is
    no such line.
    """
    left, right = _weighted(_hashed(lines, _kept), _hashed(others, _kept))
    lengths, other_lengths = (np.log1p([len(text) for text in stream]) for stream in (lines, others))
    ratios = {offset: _at(other_lengths, offset) - lengths for offset in (0, *OFFSETS)}
    given = (lengths > 0) & (other_lengths > 0)
    centre, spread = min((_centre(each[given & ~np.isnan(each)]) for each in ratios.values()), key=lambda each: each[1])

    def fit(offset: int) -> np.ndarray:
        likelihood = -2.5 * np.log1p(((ratios[offset] - centre) / spread) ** 2 / 4)
        return np.where(given, likelihood, 0) + 10 * _cosines(left, right, offset)

    own = fit(0)
    return {offset: _filled(fit(offset) - own, -10) for offset in OFFSETS}


def _blocks(lines: Sequence[str], others: Sequence[str], gains: dict[int, np.ndarray], rule: _Rule) -> list[Shift]:
    """Return the blocks with the largest sums of gains, picked one after another so that none overlap."""
    net = {offset: gain - rule.chance for offset, gain in gains.items()}
    runs = {offset: _largest_run(gain) for offset, gain in net.items()}
    blocks: list[Shift] = []
    while True:
        offset, (total, start, end) = max(runs.items(), key=lambda each: each[1].total)
        if total < rule.total:
            return blocks
        gaining = [i for i in range(start, end) if net[offset][i] > 0]
        distinct = min(len({lines[i] for i in gaining}), len({others[i + offset] for i in gaining}))
        is_shift = distinct >= rule.lines  # otherwise only a few lines resemble a neighbor's
        if is_shift:
            blocks.append(Shift(start, end - 1, offset))
        for each in net if is_shift else [offset]:
            net[each][start:end] = _TAKEN
            runs[each] = _largest_run(net[each])


def _largest_run(values: np.ndarray) -> _Run:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    rises = sums - np.minimum.accumulate(sums)
    end = int(np.argmax(rises))
    return _Run(float(rises[end]), int(np.argmin(sums[: end + 1])), end)


def _at(values: np.ndarray, offset: int) -> np.ndarray:
    """Return, for each line, the value at line + offset; NaN where there is no such line."""
    moved = np.full(len(values), np.nan)
    rows = np.arange(max(0, -offset), min(len(values), len(values) - offset))
    moved[rows] = values[rows + offset]
    return moved


def _filled(values: np.ndarray, missing: float) -> np.ndarray:
    return np.where(np.isnan(values), missing, values)


def _centre(values: np.ndarray) -> tuple[float, float]:
    """Return the median and a robust spread, which a block of outliers hardly changes."""
    if not len(values):
        return 0.0, np.inf
    median = float(np.median(values))
    return median, max(1.4826 * float(np.median(np.abs(values - median))), 0.05)


def _grams(lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the line number and the hash of each byte n-gram."""
    texts = [text.lower().encode("utf-8", "replace") for text in lines]
    bytes_ = np.frombuffer(b"".join(texts), np.uint8)
    row = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    size = max(len(bytes_) - GRAM + 1, 0)
    codes = np.zeros(size, np.uint32)
    for place in range(GRAM):
        codes = codes << np.uint32(8) | bytes_[place : place + size]
    whole = row[:size] == row[len(row) - size :]
    return row[:size][whole], (codes[whole] * np.uint32(0x9E3779B1)) >> np.uint32(32 - HASHED)


def _kept(lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the line number and the hash of each number or Latin word."""
    words = [(i, zlib.crc32(word.encode())) for i, text in enumerate(lines) for word in _SHARED.findall(text.lower())]
    pairs = np.array(words, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1] >> (32 - HASHED)


def _hashed(lines: Sequence[str], features: Callable[[Sequence[str]], tuple[np.ndarray, np.ndarray]]) -> "csr_matrix":
    """Return a sparse float32 matrix [lines, features] with 1 where a line has a feature.

    >>> found = _hashed(["a", "b"], lambda lines: (np.array([1, 0, 1, 1]), np.array([2, 3, 2, 1])))
    >>> found.indices.tolist(), found.indptr.tolist()
    ([3, 1, 2], [0, 1, 3])
    """
    from scipy.sparse import csr_matrix

    row, number = features(lines)
    keys = np.unique(row.astype(np.int64) << HASHED | number.astype(np.int64))
    ends = np.cumsum(np.bincount(keys >> HASHED, minlength=len(lines)))
    columns = (keys & ((1 << HASHED) - 1)).astype(np.int32)
    shape = (len(lines), 1 << HASHED)
    return csr_matrix((np.ones(len(keys), np.float32), columns, np.concatenate([[0], ends])), shape=shape)


def _weighted(left: "csr_matrix", right: "csr_matrix") -> "tuple[csr_matrix, csr_matrix]":
    """Weight rare features more, and scale rows to length 1; changes both matrices in place and returns them."""
    lines_with = sum(np.bincount(each.indices, minlength=each.shape[1]) for each in (left, right))
    weights = np.log((2 * left.shape[0] + 1) / (lines_with + 1)).astype(np.float32)
    for each in (left, right):
        each.data = weights[each.indices]
        rows = np.repeat(np.arange(each.shape[0]), np.diff(each.indptr))
        norms = np.sqrt(np.bincount(rows, each.data**2, each.shape[0]))
        each.data = (each.data / np.maximum(norms, 1e-9)[rows]).astype(np.float32)
    return left, right


def _cosines(left: "csr_matrix", right: "csr_matrix", offset: int = 0, rows: np.ndarray | None = None) -> np.ndarray:
    """Return the cosine of each row (or of `rows`) with the other matrix's row + offset; NaN where there is no such row."""
    rows = np.arange(left.shape[0]) if rows is None else rows
    cosines = np.full(len(rows), np.nan)
    paired = (rows + offset >= 0) & (rows + offset < left.shape[0])
    products = left[rows[paired]].multiply(right[rows[paired] + offset])
    cosines[paired] = np.asarray(products.sum(axis=1)).ravel()
    return cosines
