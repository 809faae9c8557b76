"""The values of a COMET regression for all pairs of hypotheses and references of one source.

The head reads (h, r, h*r, |h-r|, h*s, |h-s|) of three vectors. Its first layer is linear, so it is a sum of three parts: one
of the hypothesis and the source, one of the reference, and one of the pair. The first two are computed once per text. The
third is computed once for both orders of a pair, since h*r and |h-r| are symmetric.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from ..engine.device import send
from ..engine.store import stacked
from ..models.comet.model import RegressionEstimator
from .utilities import DistinctTexts, Utility, WantedPairs, others_of

CELLS = 2**23  # numbers of a layer computed at once, which limits memory
TEXTS = 4_096  # most texts encoded at once
ITERATIONS = 10  # of the search for centroids


class Vectors(NamedTuple):
    """Texts as a model's head reads them: fp32 [texts, width] on its device, and the number of texts that were cut."""

    values: torch.Tensor
    cut: int


class PairHead:
    """The head of a reference-based regression, computed in parts."""

    def __init__(self, estimator: RegressionEstimator):
        self.estimator = estimator
        (weight, self.bias), *_ = estimator.head.layers
        width = weight.shape[1] // 6
        own, reference, *pair, product, apart = weight.split(width, 1)
        self.of_hypothesis = torch.cat([own, product, apart], 1)
        self.of_reference, self.of_pair = reference.contiguous(), torch.cat(pair, 1)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """The pooled vectors of texts; each distinct text is encoded once."""
        read = self.estimator
        tokens = read.encoder.tokenizer(list(texts), read.max_content)
        states = read.encoder.encode(tokens, [read.pooled])
        values = stacked(states, read.pooled) if states else torch.zeros(0, read.encoder.width)
        return Vectors(send(values, read.encoder.device), sum(text.cut > 0 for text in tokens))

    @torch.inference_mode()
    def grid(self, hypotheses: torch.Tensor, references: torch.Tensor, source: torch.Tensor) -> np.ndarray:
        """The values, float64 [H, R], of all pairs of vectors [H, width] and [R, width], with a source [width]."""
        rows, columns, device = len(hypotheses), len(references), hypotheses.device
        if hypotheses is references:  # a pair's part serves both of its orders
            first, second = np.triu_indices(rows)
        else:
            first, second = np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)
        own, other = self._own(hypotheses, source), F.linear(references, self.of_reference)
        found = torch.empty(rows, columns, device=device)
        step = max(1, CELLS // len(self.bias))
        for begin in range(0, len(first), step):
            part = slice(begin, begin + step)
            i, j, off = (
                send(each, device) for each in (first[part], second[part], np.flatnonzero(first[part] != second[part]))
            )
            pair = self._pair(hypotheses[i], references[j])
            found[i, j] = self._rest(own[i] + other[j] + pair)
            if hypotheses is references:
                i, j = i[off], j[off]
                found[j, i] = self._rest(own[j] + other[i] + pair[off])
        return found.cpu().double().numpy()

    @torch.inference_mode()
    def each(self, hypotheses: torch.Tensor, references: torch.Tensor, source: torch.Tensor) -> np.ndarray:
        """The values, float64 [n], of n pairs of vectors, [n, width] each, with a source [width]."""
        found = [hypotheses.new_zeros(0)]
        step = max(1, CELLS // len(self.bias))
        for begin in range(0, len(hypotheses), step):
            h, r = hypotheses[begin : begin + step], references[begin : begin + step]
            found.append(self._rest(self._own(h, source) + F.linear(r, self.of_reference) + self._pair(h, r)))
        return torch.cat(found).cpu().double().numpy()

    def _own(self, hypotheses: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        features = torch.cat([hypotheses, hypotheses * source, (hypotheses - source).abs()], 1)
        return F.linear(features, self.of_hypothesis, self.bias)

    def _pair(self, hypotheses: torch.Tensor, references: torch.Tensor) -> torch.Tensor:
        return F.linear(torch.cat([hypotheses * references, (hypotheses - references).abs()], 1), self.of_pair)

    def _rest(self, x: torch.Tensor) -> torch.Tensor:
        """The rest of the head, after its first layer."""
        head = self.estimator.head
        if len(head.layers) > 1:
            x = head.activation(x)
        for weight, bias in head.layers[1:-1]:
            x = head.activation(F.linear(x, weight, bias))
        if len(head.layers) > 1:
            x = F.linear(x, *head.layers[-1])
        return head.final(x)[:, 0]


class HeadPairs(Utility):
    """COMET's regression models: the encoder reads each text once, and the head's first layer is a sum of parts."""

    aggregates = clusters = True

    def __init__(self, name: str, head: PairHead, signature: str):
        super().__init__(name, signature)
        self._head = head

    def read(self, items: Sequence[DistinctTexts]) -> None:
        self._items = items
        texts = list(
            dict.fromkeys(text for item in items for text in (item.source or "", *item.texts, *others_of(item)))
        )
        encoder = self._head.estimator.encoder
        parts = []
        with encoder.progress(self.name, len(texts)):
            for begin in range(0, len(texts), TEXTS):
                read = self._head.vectors(texts[begin : begin + TEXTS])
                parts.append(read.values)
                self.counts["cut"] = self.counts.get("cut", 0) + read.cut
        values, places = torch.cat(parts), {text: k for k, text in enumerate(texts)}
        self._of_items = []
        for item in items:
            own = values[[places[text] for text in item.texts]]
            same = item.references is item.texts
            other = own if same else values[[places[text] for text in item.references]]
            self._of_items.append((own, other, values[places[item.source or ""]]))

    def grids(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        found = []
        for k, rows, columns in wanted:
            own, other, source = self._of_items[k]
            every = own is other and len(rows) == len(columns) == len(own)
            some = own if every else own[rows]
            found.append(100 * self._head.grid(some, some if every else other[columns], source))
        return found

    def entries(self, wanted: Sequence[WantedPairs]) -> list[np.ndarray]:
        found = []
        for k, rows, columns in wanted:
            own, other, source = self._of_items[k]
            found.append(100 * self._head.each(own[rows], other[columns], source))
        return found

    def against_mean(self, number: int) -> np.ndarray:
        weights = self._items[number].weights
        mean = (self._references(number) * (weights / weights.sum())[:, None]).sum(0, keepdims=True)
        return self._against(number, mean)[:, 0]

    def against_centroids(self, number: int, centroids: int, seed: int) -> np.ndarray:
        from scipy.cluster.vq import kmeans2

        vectors, weights = self._references(number), self._items[number].weights
        if len(vectors) <= centroids:
            return self._against(number, vectors) @ weights / weights.sum()
        each = np.repeat(vectors, weights.astype(np.int64), axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # clusters may be empty, and then have no weight
            found, of_cluster = kmeans2(each, centroids, iter=ITERATIONS, minit="++", rng=np.random.default_rng(seed))
        sizes = np.bincount(of_cluster, minlength=centroids)
        return self._against(number, found[sizes > 0]) @ sizes[sizes > 0] / sizes.sum()

    def _references(self, number: int) -> np.ndarray:
        return np.asarray(self._of_items[number][1].cpu().numpy(), np.float64)

    def _against(self, number: int, vectors: np.ndarray) -> np.ndarray:
        """Values, float64 [candidates, vectors], with vectors in place of encoded references."""
        own, _, source = self._of_items[number]
        given = torch.from_numpy(np.asarray(vectors, np.float32)).to(own.device)
        return 100 * self._head.grid(own, given, source)
