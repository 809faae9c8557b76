"""A metric against the other systems of the run: each output is compared with every other system's, and the mean taken."""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric, Score

from ..corpus import Corpus, named
from ..engine_options import EngineOptions
from ..errors import InputError
from ..metrics.comet import COMET
from ..models.estimator import Estimate
from ..models.hub import MULTILINGUAL
from ..notices import counted, notice
from ..pairs.matched import MatchedPairs
from ..pairs.utilities import distinct
from ..scoring.base import ContextMetric, ContextScore, Row, SystemResult
from ..scoring.context import capabilities, parameters
from ..scoring.derived import OfInnerMetric, inner_settings
from ..scoring.inputs import FileInput
from ..scoring.results import ScoredWindow, counted_result
from ..scoring.scores import against_references, rows_of, score_of_sums
from ..scoring.token_matching import TokenMatchingMetric
from ..system_names import system_names
from ..windows import Window
from ..wording import worded

LEAST = 4  # systems; with fewer, scores mostly show which systems are similar
WEIGHT = 0.5  # of the peers, if there are references
REFERENCES = -1  # in place of a peer's number
TEMPERATURE = 0.5  # of the peers' weights, in standard deviations of the systems' scores
MIXED = 0.25  # how much the model that reads the source spreads outputs within a segment, against the peers
SAME = 0.8  # share of equal outputs from which systems count as one
JUDGE = ("sources", "source_lang", "target_lang", "engine")  # settings given to the model that reads the source
Pair = tuple[int, int]  # a system and its peer


class Peers(OfInnerMetric):
    """Another metric's mean score against each of the other systems' outputs as the only reference.

        peers(i) = mean over j != i of metric(i, j)

    Of BLEU and the like, the score against a peer is that of the whole corpus, so the mean is one of corpus scores. With
    references, a system's score is the metric's own, and the peers say how it is distributed over the system's segments:

        score(i, s) = (1 - w) * metric(i, s) + w * (peers(i, s) - peers(i) + metric(i))

    The scores depend on the other systems of the run. `with_peers` makes the classes, whose arguments are the metric's own;
    without `references`, or with the sources in their place, the peers are alone.

    wraps        the metric's class
    weight       w, above 0 and at most 1; None: 1 without references, else 0.5
    by_source    whether the multilingual comet, which reads the source, weighs the peers: each counts as exp(2 z), with z
                 the standardised mean score of its system; it then also has a small part in the scores, see `_mix`
    left_out     whether `compare` shows the ranks without each system

    Raises InputError for a metric or model that reads no references, a weight without references, systems of different
    lengths, and, on scoring, fewer than LEAST different systems.
    """

    wraps: type[Metric]
    weight: float | None = None
    by_source: bool = False
    left_out: bool = False

    def __init__(self, references: Any = None, systems: Sequence[Sequence[str]] = (), **given: Any):
        name = str(getattr(self.wraps, "NAME", self.wraps.__name__))
        sources = [*given["sources"]] if given.get("sources") is not None else None
        real = [stream for stream in references or () if [*stream] != sources]
        if not real and self.weight is not None and self.weight < 1:
            raise InputError(f"{name.lower()}: the peers' weight is {self.weight:g}, but there are no references")
        self.share = 1.0 if not real else WEIGHT if self.weight is None else self.weight
        self._references = real if self.share < 1 else []
        read = {*capabilities(self.wraps).keywords, *parameters(self.wraps)}
        own = {key: value for key, value in given.items() if key in read or key not in JUDGE}
        self.inner = self.wraps(**{"references": self._references or None, **own})
        can = capabilities(self.inner)
        if not can.references:
            raise InputError(f"{name.lower()}: the model reads no references, so other systems cannot replace them")
        if can.compares_systems:
            raise InputError(f"{name.lower()}: the model compares the systems itself", fix="leave the peers out")
        self.NAME = name
        self._judged_by: dict[str, Any] = {key: given.get(key) for key in JUDGE} | {"sources": sources}
        self._judged_by["engine"] = given.get("engine") or EngineOptions()
        if self.by_source and sources is None:
            fix = worded("give --source FILE", "give sources")
            raise InputError(f"{name.lower()}: to weight peers by the source, {fix}")
        super().__init__(None, systems)
        self.title = f"{getattr(self.inner, 'title', name)}-peers"
        self.num_refs = self.inner.num_refs if self.share < 1 else 0
        self.can = replace(can, references=self.share < 1, compares_systems=True, whole_corpus=WHY)
        self.can = replace(self.can, reads=self.can.reads | self.capabilities.reads)
        self.announce(systems)

    @property
    def written_name(self) -> str:
        return f"{getattr(self.inner, 'written_name', self.NAME.lower())}-peers"

    def announce(self, systems: Sequence[Sequence[str]]) -> None:
        """Set the systems of the run, each of which is a peer of the others."""
        super().announce(systems)
        self._pool = [list(system) for system in systems]
        streams = [("a reference", stream) for stream in self._references]
        streams += [(f"system {number}", system) for number, system in enumerate(self._pool, 1)]
        for name, stream in streams if self._pool else ():
            if len(stream) != len(self._pool[0]):
                lines = counted(len(stream), "line", "lines")
                raise InputError(
                    f"{self.NAME.lower()}: {name} has {lines}, but system 1 has {len(self._pool[0])}; peers are outputs of "
                    "the same segments"
                )
        self._of_pairs: dict[Pair, float] = {}
        names = [str(getattr(system, "name", "")) for system in systems]
        self._names = system_names(names) if all(names) else names
        text = "\n".join([*names, *(line for system in self._pool for line in system)])
        self.signature = {
            **inner_settings(self.inner),
            "peers": max(0, len(self._pool) - 1),
            "pool": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12],
        }
        if self.share < 1:
            self.signature["weight"] = self.share
        if self.by_source:
            judge = COMET(model=MULTILINGUAL, inputs="mt+src", **self._judged_by)
            self.signature["by"] = f"{judge.signature['model']}-{judge.signature['ckpt']}"
        self._groups = groups_of_copies(self._pool)
        self._spread: float | None = None  # of the peers' scores within segments
        equal = [Counter(filter(None, map(bare, texts))) for texts in zip(*self._pool, strict=True)]
        if copied := sum(number for of_segment in equal for number in of_segment.values() if number > 1):
            outputs = f"{copied:,} of {sum(map(len, self._pool)):,} outputs"
            notice(
                f"peers: {outputs} are identical to another system's except for case and punctuation, so they "
                "inflate each other's scores"
            )
        for group in {tuple(group) for group in self._groups if len(group) > 1}:
            alike = ", ".join(self._names[k] or f"system {k + 1}" for k in group)
            notice(
                f"peers: {alike}: at least {SAME:.0%} of their outputs are identical except for case and punctuation, so "
                "they share one vote and are not each other's peers"
            )

    def _judged(self) -> np.ndarray:
        """The scores of all outputs given the source, float64 [systems, segments]."""
        sources = tuple(self._judged_by["sources"])
        beside = tuple(value for key, value in self._judged_by.items() if key != "sources")
        return judged(tuple(zip(self._names, map(tuple, self._pool), strict=True)), sources, *beside)

    def _trust(self, there: Collection[int]) -> np.ndarray:
        """How much each system counts as a peer, float64 [systems]: copies share a vote, and good systems may count more.

        there    the numbers of the systems that take part
        """
        votes = np.array([1 / max(1, len({*group} & {*there})) for group in self._groups])
        if not self.by_source:
            return votes
        means = self._judged().mean(axis=1)
        found = votes * np.exp((means - means.mean()) / (means.std() or 1.0) / TEMPERATURE)
        if len(there) == len(found):
            order = np.argsort(-found)[:3]
            names = [self._names[k] or f"system {k + 1}" for k in order]
            most = ", ".join(f"{name} {found[k] / found.sum():.0%}" for name, k in zip(names, order, strict=True))
            notice(f"peers: votes by the source: {most} ...")
        return found

    def to_score_against(self, streams: Any) -> list:
        if streams is not None:
            raise InputError(
                f"{self.NAME.lower()}: with peers, whole systems are scored, against the references of the constructor",
                fix=f"leave {worded('--sentence-level', 'references')} out here",
            )
        return []

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        different = len({tuple(group) for group in self._groups})
        if different < LEAST:
            raise InputError(
                f"{self.NAME.lower()}: peers need at least {LEAST} different systems, but "
                f"there {'is' if different == 1 else 'are'} {different}: add systems, or leave the peers out"
            )
        peers = [self._peers_of(corpus.hypotheses) for corpus in corpora]
        pairs = [(i, j) for i, own in enumerate(peers) for j in ([REFERENCES] * (self.share < 1) + own)]
        results = self._results_of_pairs(corpora, pairs)
        notice(
            "peers: scores show how much a system agrees with the others: a better system that differs from them loses, "
            "and systems that resemble each other gain"
        )
        found = []
        for i, (corpus, own) in enumerate(zip(corpora, peers, strict=True)):
            of_references = [results[i, REFERENCES]] if self.share < 1 else []
            number = self._number(corpus.hypotheses)
            if number is None:
                self._say("these outputs belong to none of the systems, so all systems are their peers")
            else:
                self._of_pairs |= {(number, j): self._system_score(results[i, j]) for j in own}
            found.append(self._joined(of_references, {j: results[i, j] for j in own}, corpus.hypotheses))
        if self.by_source and self.is_mean and self.share == 1:
            self._mix(corpora, found)
        return found

    def _mix(self, corpora: Sequence[Corpus], found: Sequence[SystemResult]) -> None:
        """Add the model's view of an output relative to the others of its segment, given the source, to each value.

        Values differ within segments by the metric as they would, and by a quarter as much by the model.
        """
        numbers = [self._number(corpus.hypotheses) for corpus in corpora]
        if self._spread is None:
            different = {self._number(system) for system in self._pool}
            if different <= {*numbers}:
                rows = np.array(
                    [result.rows for number, result in zip(numbers, found, strict=True) if number is not None]
                )
                self._spread = spread(rows[..., 0] / np.where(rows[..., 1], rows[..., 1], np.nan))
            else:
                self._score(self.corpora_of(self._pool, []))
        given_source = self._judged() / 100
        beside = given_source - given_source.mean(axis=0)
        factor = MIXED * (self._spread or 0.0) / (spread(given_source) or 1.0) * (1 if self._rising else -1)
        for own_number, result in zip(numbers, found, strict=True):
            if own_number is not None:
                more = (factor * beside[own_number]).tolist()
                result.rows = [[row[0] + row[1] * own, row[1]] for row, own in zip(result.rows, more, strict=True)]

    def _number(self, hypotheses: Sequence[str]) -> int | None:
        """The number of the first system with these lines; None for another one."""
        lines = [*hypotheses]
        return next((k for k, system in enumerate(self._pool) if system == lines), None)

    def _peers_of(self, hypotheses: Sequence[str]) -> list[int]:
        """The numbers of the other systems but for its copies."""
        own = self._number(hypotheses)
        return [k for k in range(len(self._pool)) if own is None or k not in self._groups[own]]

    def _system_score(self, result: SystemResult) -> float:
        """A whole system's score; of a mean without the factor of 100."""
        row = [math.fsum(column) for column in zip(*result.rows, strict=True)]
        return row[0] / (row[1] or math.nan) if self.is_mean else score_of_sums(self.inner, row).score

    def ranks_without_each(self) -> np.ndarray:
        """The systems' ranks by the peers alone, int64 [systems + 1, systems]: with all systems, then without each of them.

        A system that is left out has 0. All systems must have been scored.
        """
        number, sign = len(self._pool), 1 if self._rising else -1
        found = np.zeros((number + 1, number), np.int64)
        for row, left_out in enumerate([None, *range(number)]):
            there = [k for k in range(number) if k != left_out]
            trust, means = self._trust(there), []
            for i in there:
                first = self._number(self._pool[i])
                assert first is not None
                peers = [j for j in there if j not in self._groups[i]]
                means.append(np.average([self._of_pairs[first, j] for j in peers], weights=trust[peers]))
            order = np.argsort(-sign * np.array(means), kind="stable")
            for rank, place in enumerate(order, 1):
                found[row, there[place]] = rank
        return found

    @property
    def _rising(self) -> bool:
        return capabilities(self.inner).higher_is_better

    def tables(self, names: Sequence[str]) -> list[str]:
        """Further tables for `ctx-metrics compare`: the ranks without each system, if they are asked for."""
        if not self.left_out:
            return []
        from tabulate import tabulate

        ranks = self.ranks_without_each()
        rows = [
            [label, *(rank or "-" for rank in row)] for label, row in zip(["none", *names], ranks.tolist(), strict=True)
        ]
        return [tabulate(rows, [f"{self.title}: left out", *names], tablefmt="fancy_grid")]

    def _results_of_pairs(self, corpora: list[Corpus], pairs: Sequence[Pair]) -> dict[Pair, SystemResult]:
        """The inner metric's result for each system and peer, with the peer's output as the only reference."""
        inner, found = self.inner, {}
        against = {j: [self._pool[j]] for _, j in pairs if j != REFERENCES} | {REFERENCES: self._references}
        if not isinstance(inner, ContextMetric):
            for j in dict.fromkeys(j for _, j in pairs):
                of_peer = inner if j == REFERENCES else against_references(inner, against[j])
                for i in (i for i, of in pairs if of == j):
                    found[i, j] = SystemResult(rows_of(of_peer, corpora[i].hypotheses))
            return found
        inner.to_score_against([self._pool[0]])
        if isinstance(inner, TokenMatchingMetric) and not inner.can.whole_corpus:
            return self._from_grids(corpora, pairs)
        # where a score depends on all references of a corpus, each peer is a corpus of its own
        apart = [[pair for pair in pairs if pair[1] == j] for j in against] if inner.can.whole_corpus else [[*pairs]]
        for together in filter(None, apart):
            made = inner.corpora_of([corpora[i].hypotheses for i, _ in together], [])
            made = [replace(corpus, references=against[j]) for corpus, (_, j) in zip(made, together, strict=True)]
            found |= dict(zip(together, inner.score_corpora(made), strict=True))
        return found

    def _from_grids(self, corpora: list[Corpus], pairs: Sequence[Pair]) -> dict[Pair, SystemResult]:
        """The same results from all pairs of a segment's texts at once; each text is read once."""
        inner, matched = self.inner, MatchedPairs(self.NAME.lower(), self.inner, "")
        found: dict[Pair, SystemResult] = {}
        if REFERENCES in {j for _, j in pairs}:
            against = inner.corpora_of([corpus.hypotheses for corpus in corpora], self._references)
            found = {(i, REFERENCES): result for i, result in enumerate(inner.score_corpora(against))}
        systems = [*(corpus.hypotheses for corpus in corpora), *self._pool]
        items = [distinct(texts) for texts in zip(*systems, strict=True)]
        matched.read(items)
        every = [np.arange(len(item.texts)) for item in items]
        grids = matched.grids([(k, places, places) for k, places in enumerate(every)])
        cut, empty = (
            np.array([[item.texts[place] in texts for place in item.place] for item in items]).T
            for texts in (matched.cut, matched.empty)
        )
        for i, j in (pair for pair in pairs if pair[1] != REFERENCES):
            peer = len(corpora) + j
            rows = [
                [float(grid[item.place[i], item.place[peer]]) / 100, 1.0]
                for grid, item in zip(grids, items, strict=True)
            ]
            odd = (np.flatnonzero(of[i] | of[peer]).tolist() for of in (empty, cut))
            of_empty, of_cut = odd
            found[i, j] = counted_result(rows, of_empty, [], of_cut, inner.max_length)
        return found

    def _joined(
        self, of_references: Sequence[SystemResult], of_peers: Mapping[int, SystemResult], hypotheses: Sequence[str]
    ) -> SystemResult:
        """One system's result from those against the references, if they count, and against each peer."""
        results = [*of_references, *of_peers.values()]
        trust = self._trust(range(len(self._pool)))
        trusts = [trust[j] for j in of_peers]
        shares = [1 - self.share] * len(of_references) + [self.share * each / sum(trusts) for each in trusts]
        of_segments = list(zip(*(each.rows for each in results), strict=True))
        offset = self._offset(results, shares) if of_references else 0.0
        places = [*range(len(of_references)), *(j + len(of_references) for j in of_peers)]
        joined = SystemResult([self._row(rows, shares, offset, places) for rows in of_segments])
        copies = [self._copied(k, text, of_peers) for k, text in enumerate(hypotheses)]
        if self.is_mean:
            for k, rows in enumerate(of_segments):
                joined.windows.append(self._nearest(k, rows[len(of_references) :], [*of_peers], copies[k]))
        for each in results:  # what is odd about a text is so with every peer
            joined.counts |= {key: max(value, joined.counts.get(key, value)) for key, value in each.counts.items()}
            for own in each.notices:
                alike = next((k for k, other in enumerate(joined.notices) if other.kind == own.kind), None)
                if alike is None:
                    joined.notices.append(own)
                elif (own.number or 0) > (joined.notices[alike].number or 0):
                    joined.notices[alike] = own
        joined.counts["copies"] = sum(of is not None for of in copies)
        return joined

    def _copied(self, segment: int, text: str, peers: Iterable[int]) -> int | None:
        """The first peer with the same output; None if there is none, or if the output is empty."""
        own = bare(text)
        return next((j for j in peers if own and bare(self._pool[j][segment]) == own), None)

    def _nearest(self, segment: int, rows: Sequence[Row], peers: Sequence[int], copied: int | None) -> ScoredWindow:
        """The segment with the peer that agrees most with its output, as a part of its score."""
        values = [row[0] / row[1] if row[1] else math.nan for row in rows]
        better = max if self.inner.can.higher_is_better else min
        place = better(range(len(rows)), key=lambda k: (not math.isnan(values[k]), values[k]))
        nearest = peers[place] if copied is None else copied
        name = self._names[nearest] or f"system {nearest + 1}"
        part = f"nearest peer: {name}" if copied is None else f"the same as {name}"
        mean = sum(row[0] for row in rows) / (sum(row[1] for row in rows) or math.nan)
        estimate = Estimate(mean, False, False, {part: values[peers.index(nearest)]})
        return ScoredWindow(Window(segment, segment + 1, 1.0), mean, estimate)

    @property
    def is_mean(self) -> bool:
        return isinstance(self.inner, ContextMetric) and self.inner.is_mean

    def _offset(self, results: Sequence[SystemResult], shares: Sequence[float]) -> float:
        """Offset that yields the system's score against the references: on the scale of a mean's rows, else of scores."""
        scores = list(map(self._system_score, results))
        return float(scores[0] - sum(share * score for share, score in zip(shares, scores, strict=True)))

    def _row(self, rows: Sequence[Row], shares: Sequence[float], offset: float, places: Sequence[int]) -> Row:
        """The weighted sum of a mean's rows; of other metrics all statistics, the offset, the shares, and 1 as a segment.

        places    of the rows among the references, if they count, and all systems: alike for all systems that are compared
        """
        if not self.is_mean:
            found: list[list[float]] = [[0.0] * len(rows[0]) for _ in range(self._slots)]
            of_slots = [0.0] * self._slots
            for place, row, share in zip(places, rows, shares, strict=True):
                found[place], of_slots[place] = [*row], share
            return [*(value for row in found for value in row), offset, *of_slots, 1.0]
        total, weight = (sum(share * row[k] for share, row in zip(shares, rows, strict=True)) for k in (0, 1))
        return [total + offset * weight, weight]

    def _aggregate_and_compute(self, stats: Sequence[Row]) -> Score:
        return (
            super()._aggregate_and_compute(stats)
            if self.is_mean
            else self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])
        )

    def _compute_score_from_stats(self, stats: Row) -> Score:
        if self.is_mean:
            return super()._compute_score_from_stats(stats)
        slots = self._slots
        values, offset, shares = stats[: -slots - 2], float(stats[-slots - 2]), stats[-slots - 1 : -1]
        width, there = len(values) // slots, [k for k in range(slots) if shares[k]]
        scores = {k: score_of_sums(self.inner, values[k * width : (k + 1) * width]) for k in there}
        mean = (sum(shares[k] * each.score for k, each in scores.items()) + offset) / float(stats[-1])
        return ContextScore(f"{scores[there[0]].name}-peers", float(mean))

    @property
    def _slots(self) -> int:
        """The number of places in a row: for each system, and for the references if they count."""
        return len(self._pool) + (self.share < 1)

    def __reduce__(self) -> tuple:
        return _unpickled, (self.wraps, self.weight, self.by_source, self.left_out), self.__getstate__()


WHY = "its references are the other systems"


@lru_cache(maxsize=2**17)
def bare(text: str) -> str:
    """A text's letters and digits, in lower case.

    >>> bare("It's 5 p.m.!")
    'its5pm'
    """
    return "".join(character for character in text.casefold() if character.isalnum())


def groups_of_copies(systems: Sequence[Sequence[str]]) -> list[list[int]]:
    """For each system, the numbers of the systems with which it shares at least SAME of its outputs, and of their copies.

    >>> groups_of_copies([["It rains."], ["It snows."], ["it rains"]])
    [[0, 2], [1], [0, 2]]
    """
    texts = [[bare(text) for text in system] for system in systems]
    groups = [[k] for k in range(len(systems))]
    for i, j in combinations(range(len(systems)), 2):
        same = sum(one == other for one, other in zip(texts[i], texts[j], strict=True))
        if groups[i] is not groups[j] and texts[i] and same >= SAME * len(texts[i]):
            joined = sorted(groups[i] + groups[j])
            for k in joined:
                groups[k] = joined
    return groups


def spread(values: np.ndarray) -> float:
    """The standard deviation of values [systems, segments] within segments, over all of them; NaN counts for nothing."""
    return float(np.sqrt(np.nanmean((values - np.nanmean(values, axis=0)) ** 2)))


@lru_cache(maxsize=2)
def judged(pool: tuple[tuple[str, tuple[str, ...]], ...], sources: tuple[str, ...], *beside: Any) -> np.ndarray:
    """The scores of systems' outputs given the source, float64 [systems, segments]; all metrics of a run share them.

    pool    each system's name, for notices, and its outputs
    """
    source_lang, target_lang, engine = beside
    systems = [named(lines, name) for name, lines in pool]
    languages = {"source_lang": source_lang, "target_lang": target_lang}
    judge = COMET(systems=systems, sources=sources, model=MULTILINGUAL, inputs="mt+src", engine=engine, **languages)
    return np.array([[each.score for each in judge.segment_scores(system)] for system in systems])


def with_peers(
    metric: type[Metric], weight: float | None = None, by_source: bool = False, left_out: bool = False
) -> type[Metric]:
    """The class of a metric that compares each system's outputs with those of the other systems, its peers.

    A metric that reads no references, or that compares the systems itself, is returned as it is, with a notice.

    >>> from sacrebleu.metrics import CHRF
    >>> systems = [["It rains."], ["It is raining."], ["It rained."], ["Rain."]]
    >>> chrf = with_peers(CHRF)(systems=systems)
    >>> [round(chrf.corpus_score(system, None).score, 1) for system in systems]
    [35.5, 27.6, 36.3, 17.8]
    """
    can = capabilities(metric)
    name = str(getattr(metric, "NAME", metric.__name__))
    if weight is not None and not 0 < weight <= 1:
        raise InputError(f"the peers' weight is {weight:g}", fix="it must be above 0 and at most 1")
    own_texts = any(isinstance(each, FileInput) and (each.required or each.per_system) for each in can.inputs)
    if not can.references or can.compares_systems or own_texts:
        why = "reads no references" if not can.references else "compares the systems itself or reads other texts"
        notice(f"it {why}, so peers change nothing for it", metric=name.lower())
        return metric
    return _class_of(metric, weight, by_source, left_out)


@cache
def _class_of(metric: type[Metric], weight: float | None, by_source: bool, left_out: bool) -> type[Metric]:
    can = capabilities(metric)
    # the sources, because they may be given in place of the references that the sacrebleu command requires
    reads = can.reads | ({*JUDGE} if by_source else {"sources"})
    own = {
        "wraps": metric,
        "weight": weight,
        "by_source": by_source,
        "left_out": left_out,
        "capabilities": replace(can, reads=reads, references=False, compares_systems=True, whole_corpus=WHY),
    }
    return type(f"Peers{metric.__name__}", (Peers,), own)


def _unpickled(*made: Any) -> Metric:
    cls = _class_of(*made)
    return cls.__new__(cls)
