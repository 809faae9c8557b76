"""Utilities: a metric's values for candidates with other texts as references, computed in the fastest way it allows."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric

from ..corpus import without_invisible
from ..run.rows import RowScorer
from .ngrams import COUNTS

PAIRS = 16_384  # most pairs scored at once by metrics that can only score pairs
WantedPairs = tuple[
    int, np.ndarray, np.ndarray
]  # number of an item, indices of its distinct texts and of its references


class DistinctTexts(NamedTuple):
    """The distinct texts of an item.

    texts         distinct candidates
    place         index in `texts` of each candidate
    references    distinct pseudo-references; the same object as `texts` if the candidates serve as such
    weights       float64: how often each reference occurs in the item
    """

    texts: list[str]
    place: np.ndarray
    references: list[str]
    weights: np.ndarray
    source: str | None


def distinct(
    candidates: Sequence[str], against: Sequence[str] | None = None, source: str | None = None
) -> DistinctTexts:
    """The distinct texts of an item, in order; a candidate of invisible characters alone counts as empty.

    against    the references; None: the candidates serve as such
    """
    texts, place = _numbered([without_invisible(text) for text in candidates])
    references, of_references = (texts, place) if against is None else _numbered(against)
    weights = np.bincount(of_references, minlength=len(references)).astype(np.float64)
    return DistinctTexts(texts, place, references, weights, source)


def _numbered(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
    return list(numbers), places


class Utility(ABC):
    """One metric's values for pairs, on sacrebleu's scale; higher is better.

    counts             numbers of texts that were cut or empty
    failed             whether a later run may score pairs that this one could not
    """

    aggregates = clusters = False  # whether against_mean and against_centroids are available

    def __init__(self, name: str, signature: str = ""):
        self.name, self.signature = name, signature
        self.counts: dict[str, int] = {}
        self.failed = False

    @abstractmethod
    def read(self, items: Sequence[DistinctTexts]) -> None:
        """Set the items that later calls refer to by number."""

    @abstractmethod
    def grids(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        """For each entry of `wanted`, the values of all pairs of its candidates and references: float64 [rows, columns]."""

    def entries(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        """The values of single pairs, float64 [pairs] for each entry of `wanted`, whose rows and columns have equal length.
        This default takes them from grids, for metrics that spend nearly all their time on reading the texts."""
        grids = self.grids([(k, np.unique(rows), np.unique(columns)) for k, rows, columns in wanted])
        return [
            grid[np.searchsorted(np.unique(rows), rows), np.searchsorted(np.unique(columns), columns)]
            for grid, (_, rows, columns) in zip(grids, wanted, strict=True)
        ]

    def against_mean(self, number: int) -> np.ndarray:
        """Values of an item's candidates, float64 [candidates], against the weighted mean of its references."""
        raise NotImplementedError

    def against_centroids(self, number: int, centroids: int, seed: int) -> np.ndarray:
        """Weighted mean values of an item's candidates, float64 [candidates], against the centroids of its references."""
        raise NotImplementedError


class WeightedSum(Utility):
    def __init__(self, utilities: Sequence[Utility], weights: Sequence[float]):
        super().__init__("+".join(each.name for each in utilities))
        self._weighted = list(zip(weights, utilities, strict=True))
        self.aggregates = all(each.aggregates for each in utilities)
        self.clusters = all(each.clusters for each in utilities)

    def read(self, items: Sequence[DistinctTexts]) -> None:
        for _, each in self._weighted:
            each.read(items)

    def grids(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        return self._sums([each.grids(wanted) for _, each in self._weighted])

    def entries(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        return self._sums([each.entries(wanted) for _, each in self._weighted])

    def against_mean(self, number: int) -> np.ndarray:
        return self._sums([[each.against_mean(number)] for _, each in self._weighted])[0]

    def against_centroids(self, number: int, centroids: int, seed: int) -> np.ndarray:
        return self._sums([[each.against_centroids(number, centroids, seed)] for _, each in self._weighted])[0]

    def _sums(self, found: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
        weights = [weight for weight, _ in self._weighted]
        return [
            np.sum([weight * own for weight, own in zip(weights, each, strict=True)], axis=0)
            for each in zip(*found, strict=True)
        ]


class ScoredPairs(Utility):
    """Any metric: pairs are scored as the segments of a corpus."""

    def __init__(self, name: str, scorer: RowScorer, signature: str):
        super().__init__(name, signature)
        self._scorer, self._first = scorer, True

    def read(self, items: Sequence[DistinctTexts]) -> None:
        self._items = items

    def grids(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        every = [(k, np.repeat(rows, len(columns)), np.tile(columns, len(rows))) for k, rows, columns in wanted]
        found = self.entries(every)
        return [of.reshape(len(rows), len(columns)) for of, (_, rows, columns) in zip(found, wanted, strict=True)]

    def entries(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        pairs = ((self._items[k], i, j) for k, rows, columns in wanted for i, j in zip(rows, columns, strict=True))
        values = np.concatenate([np.zeros(0), *self._scores(pairs)])
        ends = np.cumsum([len(rows) for _, rows, _ in wanted])
        return np.split(values, ends[:-1]) if len(wanted) else []

    def _scores(self, pairs: Iterator[tuple[DistinctTexts, int, int]]) -> Iterator[np.ndarray]:
        while chunk := list(islice(pairs, PAIRS)):
            texts: dict[str, list[list[str | None]]] = {
                "mt": [[item.texts[i] for item, i, _ in chunk]],
                "ref": [[item.references[j] for item, _, j in chunk]],
            }
            if chunk[0][0].source is not None:
                texts["src"] = [[item.source for item, _, _ in chunk]]
            yield self._score(texts)

    def _score(self, texts: Mapping[str, Any]) -> np.ndarray:
        found = self._scorer(texts, self._first).metrics[self.name]
        self._first = False
        self.failed |= found.failed
        for kind, number in found.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + number
        return found.oriented


class CountedPairs(Utility):
    """chrF and BLEU: the n-grams of each text are counted only once."""

    aggregates = True

    def __init__(self, name: str, metric: Metric):
        super().__init__(name, str(metric.get_signature().format()))
        self._metric = metric

    def read(self, items: Sequence[DistinctTexts]) -> None:
        self._items = items
        make = COUNTS[type(self._metric)]
        self._counts = [make(self._metric, [*item.texts, *others_of(item)]) for item in items]

    def _columns(self, number: int, columns: np.ndarray) -> np.ndarray:
        """The positions of the references among the counted texts."""
        item = self._items[number]
        return columns if item.references is item.texts else columns + len(item.texts)

    def grids(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        return [self._counts[k].scores(rows, self._columns(k, columns)) for k, rows, columns in wanted]

    def against_mean(self, number: int) -> np.ndarray:
        item = self._items[number]
        rows, columns = np.arange(len(item.texts)), self._columns(number, np.arange(len(item.references)))
        return np.asarray(self._counts[number].against_mean(rows, columns, item.weights))


def others_of(item: DistinctTexts) -> Sequence[str]:
    """The references that are not among the candidates; () if the candidates serve as references."""
    return () if item.references is item.texts else item.references
