"""Sentence chrF and BLEU of all pairs of some texts; the n-grams of each text are counted only once."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU, CHRF

from ..scoring.scores import chrf_words, preprocessed

CELLS = 2**23  # most cells of a matrix of n-grams, to bound the memory
NO_LOG = -9999999999.0  # sacrebleu's value of log(0)
EPS = 1e-16


class OfOrder(NamedTuple):
    """The n-grams of one order in T texts, with one entry for each distinct n-gram of each text.

    texts, ids, counts    int64 [entries]: number of the text, id of the n-gram, and how often it occurs
    totals                float64 [T]: number of n-grams in each text
    kinds                 number of distinct n-grams in all texts
    """

    texts: np.ndarray
    ids: np.ndarray
    counts: np.ndarray
    totals: np.ndarray
    kinds: int

    def matches(self, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
        """Clipped matches of two lists of texts, float64 [rows, columns]: the smaller of both counts, summed over n-grams.

        min(a, b) is the number of integers k >= 1 that exceed neither a nor b. So an n-gram that occurs c times in a text
        becomes c binary features, and the matches are a product of two 0/1 matrices.
        """
        size = len(self.totals)
        feature = np.repeat(self.ids, self.counts)
        of_text = np.repeat(self.texts, self.counts)
        starts = np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        feature = feature + self.kinds * (np.arange(len(feature)) - starts)
        _, feature, frequency = np.unique(feature, return_inverse=True, return_counts=True)
        shared = frequency[feature] > 1  # features of a single text match only that text itself
        own = np.bincount(of_text[~shared], minlength=size)
        _, feature = np.unique(feature[shared], return_inverse=True)
        of_text, width = of_text[shared], int(feature.max(initial=-1)) + 1
        found = np.zeros((len(rows), len(columns)))
        step = max(1, CELLS // max(1, size))
        for begin in range(0, width, step):
            inside = (feature >= begin) & (feature < begin + step)
            there = np.zeros((size, min(step, width - begin)), np.float32)
            there[of_text[inside], feature[inside] - begin] = 1
            found += there[rows] @ there[columns].T
        same = np.asarray(rows)[:, None] == np.asarray(columns)[None, :]
        return found + same * own[np.asarray(rows)][:, None]

    def of_mean(self, rows: Sequence[int], columns: Sequence[int], weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Matches, float64 [rows], with a text that has the columns' weighted mean counts, and its number of n-grams."""
        share = np.zeros(len(self.totals))
        np.add.at(share, np.asarray(columns), weights / weights.sum())
        mean = np.bincount(self.ids, share[self.texts] * self.counts, self.kinds)
        clipped = np.bincount(self.texts, np.minimum(self.counts, mean[self.ids]), len(self.totals))
        return clipped[np.asarray(rows)], float(mean.sum())


def count(sequences: Sequence[np.ndarray], orders: int) -> list[OfOrder]:
    """Count the n-grams of orders 1 to `orders` in int64 sequences.

    >>> first, second = count([np.array([7, 8, 7]), np.array([7, 7, 7])], 2)
    >>> first.matches([0], [0, 1]).tolist(), second.matches([0], [1]).tolist()
    ([[3.0, 2.0]], [[0.0]])
    """
    size = len(sequences)
    lengths = np.array([len(each) for each in sequences], np.int64)
    codes = np.concatenate([np.zeros(0, np.int64), *sequences])
    _, codes = np.unique(codes, return_inverse=True)
    alphabet = int(codes.max(initial=-1)) + 1
    of_text = np.repeat(np.arange(size), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # from each item to the end of its text
    places, ids = np.arange(len(codes)), codes
    found = []
    for order in range(1, orders + 1):
        if order > 1:
            fits = left[places] >= order
            places, ids = places[fits], ids[fits]
            _, ids = np.unique(ids * alphabet + codes[places + order - 1], return_inverse=True)
        kinds = int(ids.max(initial=-1)) + 1
        keys, counts = np.unique(of_text[places] * kinds + ids, return_counts=True)
        texts, own = np.divmod(keys, max(1, kinds))
        found.append(
            OfOrder(texts, own, counts, np.bincount(of_text[places], minlength=size).astype(np.float64), kinds)
        )
    return found


class ChrfCounts:
    """The n-gram counts of texts for chrF with the settings of `metric`."""

    def __init__(self, metric: CHRF, texts: Sequence[str]):
        self.metric = metric
        read = preprocessed(metric, texts)
        bare = read if metric.whitespace else ["".join(text.split()) for text in read]
        letters = [np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64) for text in bare]
        self.orders = count(letters, metric.char_order)
        if metric.word_order:
            self.orders += count(numbered([chrf_words(metric, text) for text in read]), metric.word_order)

    def scores(self, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
        """Sentence chrF of rows as hypotheses against columns as references, float64 [rows, columns]."""
        stats = [
            (each.totals[rows][:, None], each.totals[columns][None, :], each.matches(rows, columns))
            for each in self.orders
        ]
        return self._f_scores([(np.where(ref > 0, hyp, 0), ref + 0 * match, match) for hyp, ref, match in stats])

    def against_mean(self, rows: Sequence[int], columns: Sequence[int], weights: np.ndarray) -> np.ndarray:
        """Sentence chrF, float64 [rows], against the mean counts of the columns (Vamvas and Sennrich 2024)."""
        stats = []
        for each in self.orders:
            match, total = each.of_mean(rows, columns, weights)
            stats.append((each.totals[rows] * (total > 0), np.full(len(match), total), match))
        return self._f_scores(stats)

    def _f_scores(self, stats: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
        factor = self.metric.beta**2
        precision, recall, orders, smoothed = np.zeros((4, *stats[0][2].shape))
        for hyp, ref, match in stats:
            p = np.divide(match, hyp, out=np.full(match.shape, EPS), where=hyp > 0)
            r = np.divide(match, ref, out=np.full(match.shape, EPS), where=ref > 0)
            bottom = factor * p + r
            smoothed = smoothed + np.divide(
                (1 + factor) * p * r, bottom, out=np.full(match.shape, EPS), where=bottom > 0
            )
            both = (hyp > 0) & (ref > 0)
            precision, recall, orders = precision + p * both, recall + r * both, orders + both
        if self.metric.eps_smoothing:
            return np.asarray(100 * smoothed / len(stats))
        counted = np.maximum(orders, 1)
        p, r = precision / counted, recall / counted
        bottom = factor * p + r
        return 100 * np.divide((1 + factor) * p * r, bottom, out=np.zeros(bottom.shape), where=bottom > 0)


class BleuCounts:
    """The n-gram counts of texts for sentence BLEU (with effective order) with the settings of `metric`."""

    def __init__(self, metric: BLEU, texts: Sequence[str]):
        self.metric = metric
        words = [text.split() for text in preprocessed(metric, texts)]
        self.lengths = np.array([len(each) for each in words], np.float64)
        self.orders = count(numbered(words), metric.max_ngram_order)

    def scores(self, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
        """Sentence BLEU of rows as hypotheses against columns as references, float64 [rows, columns]."""
        correct = [each.matches(rows, columns) for each in self.orders]
        return self._bleu(rows, self.lengths[columns][None, :], correct)

    def against_mean(self, rows: Sequence[int], columns: Sequence[int], weights: np.ndarray) -> np.ndarray:
        """Sentence BLEU, float64 [rows], against the columns' mean counts and mean length (Vamvas and Sennrich 2024)."""
        correct = [each.of_mean(rows, columns, weights)[0][:, None] for each in self.orders]
        length = float(self.lengths[columns] @ weights / weights.sum())
        return self._bleu(rows, np.full((1, 1), length), correct)[:, 0]

    def _bleu(self, rows: Sequence[int], references: np.ndarray, correct: Sequence[np.ndarray]) -> np.ndarray:
        method, value = self.metric.smooth_method, self.metric.smooth_value
        value = BLEU.SMOOTH_DEFAULTS[method] if value is None else value
        hypotheses = self.lengths[rows][:, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            short = np.where(hypotheses > 0, np.exp(1 - references / hypotheses), 0.0)
        penalty = np.where(hypotheses < references, short, 1.0)
        logs, orders, halves = np.zeros(correct[0].shape), np.zeros((len(rows), 1)), np.ones(correct[0].shape)
        going = np.ones((len(rows), 1), bool)
        for n, (of_order, match) in enumerate(zip(self.orders, correct, strict=True), 1):
            total = of_order.totals[rows][:, None]
            if method == "add-k" and n > 1:
                match, total = match + value, total + value
            going = going & (total > 0)
            none = match == 0
            halves = np.where(none & going, 2 * halves, halves) if method == "exp" else halves
            smallest = 1 / halves if method == "exp" else (value or 0.0) if method == "floor" else 0.0
            share = np.divide(np.where(none, smallest, match), total, out=np.zeros(match.shape), where=total > 0)
            with np.errstate(divide="ignore"):
                log = np.where(share > 0, np.log(100 * share), NO_LOG)
            logs, orders = logs + np.where(going, log, 0), orders + going
        any_match = sum(correct) > 0
        return np.where(any_match, penalty * np.exp(logs / np.maximum(orders, 1)), 0.0)


def numbered(texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """Replace words by numbers, the same number for the same word in all texts: one int64 array [words] per text.

    >>> [each.tolist() for each in numbered([["a", "b"], ["b", "b"]])]
    [[0, 1], [1, 1]]
    """
    numbers: dict[str, int] = {}
    return [np.array([numbers.setdefault(word, len(numbers)) for word in text], np.int64) for text in texts]


COUNTS: dict[type, Callable] = {CHRF: ChrfCounts, BLEU: BleuCounts}
