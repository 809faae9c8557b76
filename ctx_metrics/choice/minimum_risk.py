"""Minimum Bayes risk: which candidate agrees best, on average, with all others (Kumar and Byrne 2004; Eikema and Aziz 2020).

The expected utility of a candidate h over the pseudo-references r_1..r_n is

    U(h) = sum_j w_j u(h, r_j) / sum_j w_j

where w_j is how often r_j was drawn, and u is any metric. All n^2 pairs are scored ("exact"), or fewer:

aggregate    u(h, mean of the references): one value per candidate (Vamvas and Sennrich 2024)
prune        after 8, 16, 32 ... references, a bootstrap drops candidates unlikely to win (Cheng and Vlachos 2023)
low-rank     some pairs are scored, and a low-rank matrix fills in the others (Trabelsi et al. 2024)
centroids    u(h, centroids of the references), weighted by cluster size (Deguchi et al. 2024)
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from sacrebleu.metrics.base import Metric

from ..errors import InputError
from ..flag_types import Seed
from ..metrics.estimated import EstimatorMetric
from ..notices import collected
from ..pairs.ngrams import COUNTS
from ..pairs.utilities import CountedPairs, DistinctTexts, ScoredPairs, Utility, WeightedSum, distinct
from ..run.rows import RowScorer
from ..run.run import Run
from ..scoring.context import MetricSettings, capabilities
from ..scoring.scores import of_parts
from ..scoring.token_matching import TokenMatchingMetric
from ..settings import setting
from .blocks import ChoiceScores, Chooser, alone
from .candidates import Item

SETTINGS = {  # of each method
    "exact": ["exclude_self"],
    "aggregate": ["refine"],
    "prune": ["confidence", "seed"],
    "low-rank": ["share", "rank", "seed"],
    "centroids": ["centroids", "seed"],
}
METHODS = tuple(SETTINGS)
BOOTSTRAP = 500  # resamples of prune
STEPS, REGULARISATION = 10, 1.0  # iterations and regularisation of the low-rank factorisation
FIRST = 8  # number of references that prune starts with


@dataclass(frozen=True)
class Method:
    """How expected utilities are computed."""

    method: str = setting(
        "exact scores all pairs. The other methods score fewer: aggregate uses one mean reference (chrf, bleu, COMET "
        "checkpoints of the class RegressionMetric); prune drops candidates that are unlikely to win; low-rank fills in "
        "the matrix of pairs; centroids uses a few mean references (RegressionMetric).",
        "exact",
        choices=METHODS,
    )
    exclude_self: bool = setting(
        "Leave each candidate out of its own pseudo-references, as in comet-mbr; another candidate with the same text "
        "still counts.",
        False,
    )
    refine: int | None = setting("With aggregate: score all pairs of the K best again.", metavar="K")
    confidence: float = setting("With prune: drop candidates that win in less than 1 - P of the resamples.", 0.99)
    share: float = setting("With low-rank: the share of pairs to score.", 0.25)
    rank: int = setting("With low-rank: the rank of the matrix.", 8)
    centroids: int = setting("With centroids: the number of centroids.", 8)
    seed: Seed = setting("Seed of prune, low-rank and centroids.", 0)

    def check_numbers(self) -> None:
        for flag, number in (("--refine", self.refine), ("--rank", self.rank), ("--centroids", self.centroids)):
            if number is not None and number < 1:
                raise InputError(f"{flag} {number}: give at least 1")
        for flag, share in (("--confidence", self.confidence), ("--share", self.share)):
            if not 0 < share <= 1:
                raise InputError(f"{flag} {share:g}: give more than 0 and at most 1")
        if self.refine is not None and self.method != "aggregate":
            raise InputError("--refine works only with --method aggregate", fix="give both, or leave it out")
        if self.exclude_self and self.method != "exact":
            raise InputError("--exclude-self works only with --method exact", fix="leave one out")

    def check(self, utility: Utility) -> None:
        possible = {"aggregate": utility.aggregates, "centroids": utility.clusters}
        if not possible.get(self.method, True):
            others = "chrf, bleu and " if self.method == "aggregate" else ""
            what = f"this model of {utility.name}" if utility.name in ("comet", "slide", "doccomet") else utility.name
            raise InputError(
                f"--method {self.method} works only with {others}COMET models of the class RegressionMetric, not with "
                f"{what}",
                fix="use exact or prune",
            )


@dataclass(frozen=True)
class MinimumRisk(Chooser):
    """Minimum Bayes risk with the weighted sum of some metrics as utility.

    nbest    how many candidates of each source the user wants
    """

    NAME: ClassVar = "mbr"
    method: Method
    nbest: int = 1

    def asked(self) -> "MinimumRisk":
        used = {name: getattr(self.method, name) for name in ("method", *SETTINGS[self.method.method])}
        nbest = self.nbest if self.method.method == "prune" else 1
        return replace(self, run=super().asked().run, method=Method(**used), nbest=nbest)

    def signatures(self, items: Sequence[Item]) -> dict[str, str]:
        with collected():
            return {name: each.signature for name, each in self._utilities([distinct_texts(items[0])])}

    def _utilities(self, items: Sequence[DistinctTexts]) -> list[tuple[str, Utility]]:
        return [(each.name, utility(each, self.run, items)) for each in self.run.metrics]

    def __call__(self, items: Sequence[Item], first: bool) -> ChoiceScores:
        texts = [distinct_texts(item) for item in items]
        named = self._utilities(texts if first else texts[:1])
        found = expected(WeightedSum([each for _, each in named], self.weights), texts, self.method, self.nbest)
        return ChoiceScores(
            [scores[item.place].tolist() for scores, item in zip(found, texts, strict=True)],
            {name: each.signature for name, each in named},
            {name: each.counts for name, each in named},
            [is_exact(item, scores, self.method, self.nbest) for item, scores in zip(texts, found, strict=True)],
            any(each.failed for _, each in named),
        )


def distinct_texts(item: Item) -> DistinctTexts:
    return distinct(item.candidates, item.references, item.source)


def utility(chosen: MetricSettings, run: Run, first: Sequence[DistinctTexts]) -> Utility:
    """Return the fastest utility for a metric, with the settings of a run whose texts have nothing but their languages.

    first    some items; their texts serve to check the languages of a model
    """
    name, cls, _ = chosen
    can = capabilities(cls)
    if "doc_ids" in can.reads:
        raise InputError(
            f"{name}: the metric reads documents, but candidates are single segments",
            fix="choose another metric, such as comet",
        )
    if not can.compares_two_texts:
        raise InputError(
            f"{name}: the metric cannot compare a candidate with one other candidate",
            fix="choose another metric, such as chrf, bertr or comet",
        )
    of_first = (
        [item.texts[0] for item in first],
        [item.source for item in first],
        [item.references[0] for item in first],
    )
    metric = cls if can.whole_corpus else alone(chosen, run, *of_first)
    if why := capabilities(metric).whole_corpus:
        raise InputError(
            f"{name}: mbr compares two candidates at a time, and this metric's value for them depends on other texts too "
            f"({why})",
            fix="choose another metric",
        )
    assert isinstance(metric, Metric)
    if type(metric) in COUNTS:
        return CountedPairs(name, of_parts(metric))
    signature = str(metric.get_signature().format())
    if isinstance(metric, TokenMatchingMetric):
        from ..pairs.matched import MatchedPairs

        return MatchedPairs(name, metric, signature)
    if isinstance(metric, EstimatorMetric):
        if not metric.can.references:
            raise InputError(f"{name}: the model reads no reference", fix="use ctx-metrics rerank with such models")
        from ..models.comet.model import RegressionEstimator

        if type(metric.estimator) is RegressionEstimator and metric.estimator.inputs == "mt+src+ref":
            from ..pairs.comet import HeadPairs, PairHead

            return HeadPairs(name, PairHead(metric.estimator), signature)
    return ScoredPairs(name, RowScorer(replace(run, metrics=[chosen])), signature)


def expected(utility: Utility, items: Sequence[DistinctTexts], method: Method, nbest: int = 1) -> list[np.ndarray]:
    """Expected utilities of each item's candidates: float64 [distinct texts] per item, NaN for candidates left out.

    nbest    prune keeps at least this many candidates
    """
    method.check(utility)
    utility.read(items)
    if method.method == "aggregate":
        return _aggregated(utility, items, method)
    if method.method == "prune":
        return _pruned(utility, items, method, nbest)
    if method.method == "low-rank":
        return _completed(utility, items, method)
    if method.method == "centroids":
        return [utility.against_centroids(k, method.centroids, method.seed) for k in range(len(items))]
    return _exact(utility, items, method.exclude_self)


def is_exact(item: DistinctTexts, found: np.ndarray, method: Method, nbest: int = 1) -> bool:
    """Whether `expected` found the same as "exact" would for an item, because nothing had to be left out."""
    texts, references = len(item.texts), len(item.references)
    if method.method == "aggregate":
        return references == 1 or (method.refine is not None and method.refine >= texts)
    if method.method == "prune":
        return bool(item.weights.sum() <= FIRST or (texts > nbest and not np.isnan(found).any()))
    if method.method == "low-rank":
        return _share(item, method) >= texts * references
    return method.method == "exact" or references <= method.centroids


def _exact(utility: Utility, items: Sequence[DistinctTexts], exclude_self: bool = False) -> list[np.ndarray]:
    every = [(k, np.arange(len(item.texts)), np.arange(len(item.references))) for k, item in enumerate(items)]
    found = []
    for item, grid in zip(items, utility.grids(every), strict=True):
        sums, total = grid @ item.weights, item.weights.sum()
        if exclude_self and item.references is item.texts and total > 1:
            sums, total = sums - np.diag(grid), total - 1
        found.append(sums / total)
    return found


def _aggregated(utility: Utility, items: Sequence[DistinctTexts], method: Method) -> list[np.ndarray]:
    found = [utility.against_mean(k) for k in range(len(items))]
    if method.refine is None:
        return found
    best = [np.sort(np.argsort(-each, kind="stable")[: method.refine]) for each in found]
    wanted = [
        (k, rows, np.arange(len(item.references))) for k, (rows, item) in enumerate(zip(best, items, strict=True))
    ]
    for k, grid in enumerate(utility.grids(wanted)):
        refined = np.full(len(found[k]), np.nan)
        refined[best[k]] = grid @ items[k].weights / items[k].weights.sum()
        found[k] = refined
    return found


def _generator(item: DistinctTexts, seed: int) -> np.random.Generator:
    """A random generator for an item; it depends on the seed and the item's references, not on the item's position."""
    return np.random.default_rng([seed, zlib.crc32("\n".join(item.references).encode("utf-8", "surrogatepass"))])


class _Pruning:
    """The remaining candidates of one item, and their values against the references seen so far."""

    def __init__(self, item: DistinctTexts, seed: int):
        self.generator = _generator(item, seed)
        drawn = np.repeat(np.arange(len(item.references)), item.weights.astype(np.int64))
        self.order = self.generator.permutation(drawn)  # shuffled: a decoder may have sorted the list by its scores
        self.left = np.arange(len(item.texts))
        self.grid = np.full((len(item.texts), len(item.references)), np.nan)
        self.seen = 0

    def missing(self, number: int) -> np.ndarray:
        """The references among the first `number` that have not been seen yet."""
        return np.setdiff1d(self.order[:number], self.order[: self.seen])

    def step(self, number: int, columns: np.ndarray, values: np.ndarray, confidence: float, nbest: int) -> None:
        """Add the values against further references, and drop candidates that win too seldom."""
        self.grid[np.ix_(self.left, columns)] = values
        self.seen = min(number, len(self.order))
        if self.seen == len(self.order):
            return
        known = self.grid[np.ix_(self.left, self.order[: self.seen])]
        drawn = self.generator.multinomial(self.seen, np.full(self.seen, 1 / self.seen), BOOTSTRAP)
        means = known @ drawn.T
        wins = (means >= means[np.argmax(known.sum(1))]).mean(1)
        kept = wins > 1 - confidence
        if kept.sum() >= nbest:
            self.left = self.left[kept]


def _pruned(utility: Utility, items: Sequence[DistinctTexts], method: Method, nbest: int) -> list[np.ndarray]:
    runs, number = [_Pruning(item, method.seed) for item in items], FIRST
    while going := [k for k, run in enumerate(runs) if _goes_on(run, nbest)]:
        wanted = [(k, runs[k].left, runs[k].missing(number)) for k in going]
        for (k, _, columns), values in zip(wanted, utility.grids(wanted), strict=True):
            runs[k].step(number, columns, values, method.confidence, nbest)
        number *= 2
    found = []
    for item, run in zip(items, runs, strict=True):
        scores = np.full(len(item.texts), np.nan)
        scores[run.left] = run.grid[np.ix_(run.left, run.order[: run.seen])].mean(1)
        found.append(scores)
    return found


def _goes_on(run: _Pruning, nbest: int) -> bool:
    return run.seen == 0 or (run.seen < len(run.order) and len(run.left) > nbest)


def _completed(utility: Utility, items: Sequence[DistinctTexts], method: Method) -> list[np.ndarray]:
    wanted = []
    for k, item in enumerate(items):
        height, width = len(item.texts), len(item.references)
        chosen = np.sort(_generator(item, method.seed).permutation(height * width)[: _share(item, method)])
        wanted.append((k, chosen // width, chosen % width))
    found = []
    for item, (_, rows, columns), values in zip(items, wanted, utility.entries(wanted), strict=True):
        whole = completed((len(item.texts), len(item.references)), rows, columns, values, method.rank, method.seed)
        found.append(whole @ item.weights / item.weights.sum())
    return found


def _share(item: DistinctTexts, method: Method) -> int:
    """The number of an item's pairs that low-rank scores; for few texts, all of them."""
    height, width = len(item.texts), len(item.references)
    return max(2 * (height + width), int(np.ceil(method.share * height * width)))


def completed(
    shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, values: np.ndarray, rank: int, seed: int = 0
) -> np.ndarray:
    """Complete a matrix, float64 of `shape`, of which only some entries are known: their mean plus the low-rank matrix that
    fits them best, found by alternating least squares. Known entries stay as they are.

    >>> full = np.outer([1.0, 2.0, 3.0], [2.0, 1.0, 4.0]) + 5
    >>> known = np.array([(i, j) for i in range(3) for j in range(3) if (i, j) != (2, 2)]).T
    >>> filled = completed((3, 3), *known, full[tuple(known)], rank=2)
    >>> bool((filled[tuple(known)] == full[tuple(known)]).all()), bool(np.isfinite(filled).all())
    (True, True)
    """
    mean = float(values.mean())
    scale = float(values.std()) or 1.0
    known, target = np.zeros(shape), np.zeros(shape)
    known[rows, columns], target[rows, columns] = 1, (values - mean) / scale
    generator = np.random.default_rng(seed)
    left, right = (generator.normal(size=(size, rank)) * rank**-0.5 for size in shape)
    ridge = REGULARISATION * np.eye(rank)
    for _ in range(STEPS):
        left = np.linalg.solve(np.einsum("ij,jk,jl->ikl", known, right, right) + ridge, (target @ right)[..., None])[
            ..., 0
        ]
        right = np.linalg.solve(np.einsum("ij,ik,il->jkl", known, left, left) + ridge, (target.T @ left)[..., None])[
            ..., 0
        ]
    return np.where(known > 0, target, left @ right.T) * scale + mean
