"""Token-matching metrics for all pairs of texts at once: one matrix product, then maxima for each text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from ..engine.pairs import EncodedText
from ..scoring.token_matching import TokenMatchingMetric
from .utilities import DistinctTexts, Utility, WantedPairs, others_of

CELLS = 2**24  # most cosines computed at once, to bound the memory
TOKENS = 2**15  # most tokens whose states are held at once, unless a single source has more


class Side(NamedTuple):
    """The tokens of some texts, one text after the other.

    unit       normalised states, float32 [tokens, width]
    weights    token weights, which sum to 1 for each text
    starts     index of each text's first token
    """

    unit: torch.Tensor
    weights: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts)

    def of(self, start: int, end: int) -> "Side":
        first, last = self.starts[start], self.starts[end] if end < len(self.starts) else len(self.weights)
        return Side(self.unit[first:last], self.weights[first:last], self.starts[start:end] - first)


class MatchedPairs(Utility):
    """bertr and bertscore: greedy matching by cosine (Mathur et al. 2019; Zhang et al. 2020)."""

    def __init__(self, name: str, metric: TokenMatchingMetric, signature: str):
        super().__init__(name, signature)
        self._metric = metric

    def read(self, items: Sequence[DistinctTexts]) -> None:
        self._items = items
        texts = list(dict.fromkeys(text for item in items for text in (*item.texts, *others_of(item))))
        metric = self._metric
        tokens = metric.encoder.tokenizer([metric.as_read(text) for text in texts], metric.max_length)
        self._tokens = dict(zip(texts, tokens, strict=True))
        self.cut = {text for text, each in self._tokens.items() if each.cut}
        self.empty = {text for text, each in self._tokens.items() if not each.content}
        self.counts = {"truncated": len(self.cut), "empty": len(self.empty)}

    def grids(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        with self._metric.encoder.progress(self.name, len(self._tokens)):
            for group in self._groups(wanted):
                states = self._states(group)
                found += [self._grid(states, self._items[k], rows, columns) for k, rows, columns in group]
        return found

    def _groups(self, wanted: Sequence[WantedPairs]) -> list[list[WantedPairs]]:
        """Divide the items into groups that are encoded together."""
        groups: list[list[WantedPairs]] = [[]]
        held = 0
        for each in wanted:
            item = self._items[each[0]]
            size = sum(len(self._tokens[text].ids) for text in (*item.texts, *others_of(item)))
            if groups[-1] and held + size > TOKENS:
                groups.append([])
                held = 0
            groups[-1].append(each)
            held += size
        return groups if groups[0] else []

    def _states(self, group: Sequence[WantedPairs]) -> dict[str, EncodedText]:
        """Encode the texts of a group that have tokens."""
        metric = self._metric
        texts = dict.fromkeys(
            text
            for k, rows, columns in group
            for text in (*(self._items[k].texts[i] for i in rows), *(self._items[k].references[j] for j in columns))
        )
        full = [text for text in texts if self._tokens[text].content]
        states = metric.encoder.encode([self._tokens[text] for text in full], metric.mixes)
        return {
            text: EncodedText(self._tokens[text].ids, own, metric.mixes) for text, own in zip(full, states, strict=True)
        }

    def _side(self, texts: Sequence[str], states: dict[str, EncodedText]) -> Side:
        parts = [self._metric.weighed(states[text]) for text in texts]
        lengths = np.array([len(weights) for _, weights in parts])
        unit = F.normalize(torch.cat([own for own, _ in parts]), dim=1)
        return Side(unit, np.concatenate([weights for _, weights in parts]), np.cumsum(lengths) - lengths)

    def _grid(
        self, states: dict[str, EncodedText], item: DistinctTexts, rows: np.ndarray, columns: np.ndarray
    ) -> np.ndarray:
        """Values of the pairs, float64 [rows, columns]; 0 if a text has no tokens."""
        full = [
            np.array([k for k, i in enumerate(of) if texts[i] in states], np.int64)
            for of, texts in ((rows, item.texts), (columns, item.references))
        ]
        found = np.zeros((len(rows), len(columns)))
        if not len(full[0]) or not len(full[1]):
            return found
        left = self._side([item.texts[i] for i in rows[full[0]]], states)
        right = self._side([item.references[j] for j in columns[full[1]]], states)
        step = max(1, int(CELLS // len(right.weights) / (len(left.weights) / len(left))))
        parts = [_matches(left.of(k, min(k + step, len(left))), right) for k in range(0, len(left), step)]
        precision, recall = (np.concatenate(each) for each in zip(*parts, strict=True))
        found[np.ix_(*full)] = 100 * self._metric.value_of(precision, recall)
        return found


def _matches(left: Side, right: Side) -> tuple[np.ndarray, np.ndarray]:
    """Precision and recall, float64 [texts on the left, texts on the right]."""
    cosines = (left.unit @ right.unit.T).numpy()
    best_of_right = np.maximum.reduceat(cosines, left.starts, axis=0)
    best_of_left = np.maximum.reduceat(cosines, right.starts, axis=1)
    recall = np.add.reduceat(best_of_right * right.weights, right.starts, axis=1)
    return np.add.reduceat(best_of_left * left.weights[:, None], left.starts, axis=0), recall
