"""Intervals, tests and ranks of all pairs of systems against sacrebleu's own, and their level on equal systems."""

from collections.abc import Sequence

import numpy as np
import pytest
from plugin_conftest import REF, A, B, C, lines_of
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from scipy.stats import permutation_test
from selection import some

from ctx_metrics import BERTR
from ctx_metrics.corpus import document_ranges
from ctx_metrics.scoring import comparison
from ctx_metrics.scoring.comparison import Column, compare, scorer, weighted_mean
from ctx_metrics.scoring.context import Context, build
from ctx_metrics.scoring.resample import DocumentPairedTest, resample_documents
from ctx_metrics.scoring.scores import scores
from ctx_metrics.scoring.testing import USUAL, SystemTests

SYSTEMS = {name: lines_of(name) for name in (A, B, C)}
METRICS = {
    "BLEU": lambda references: BLEU(references=references),
    "chrF2": lambda references: CHRF(references=references),
    "TER": lambda references: TER(references=references),
    "BERTR": lambda references: build(
        BERTR, Context(references=references, systems=list(SYSTEMS.values()), target_lang="en"), {}
    ),
}


NAMES = some([*list(METRICS)[:3], "BERTR"], ["BLEU"])


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_the_same_as_sacrebleus_paired_bootstrap(name, monkeypatch):
    """Whichever system is the baseline: means, intervals and p-values are sacrebleu's, and so are the scores.

    sacrebleu adds up segments in single precision, so a resample at the edge may count or not: one in 1,001 of a p-value."""
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    references = [lines_of(REF)]
    metric = METRICS[name](references)
    ours = [scores(metric, system) for system in SYSTEMS.values()]
    found = Column.of(name.lower(), metric, ours, SystemTests("bootstrap").design(list(SYSTEMS.values()), None))
    order = list(SYSTEMS)
    for baseline in order:
        systems = [(each, SYSTEMS[each]) for each in (baseline, *(other for other in order if other != baseline))]
        test = PairedTest(systems, {name: METRICS[name](references)}, references, test_type="bs", n_samples=1000)
        _, results = test()
        for (system, _), result in zip(systems, results[name], strict=True):
            number = order.index(system)
            assert found.scores[number].system == pytest.approx(result.score, abs=1e-9)
            assert found.comparison.means[number] == pytest.approx(result.mean, abs=1e-5)
            assert found.comparison.margins[number] == pytest.approx(result.ci, abs=1e-5)
            p_value = found.comparison.p_values[order.index(baseline), number]
            assert np.isnan(p_value) if system == baseline else p_value == pytest.approx(result.p_value, abs=1.1 / 1001)


def test_a_smaller_score_is_the_better_one_of_ter():
    metric = TER(references=[lines_of(REF)])
    of_systems = [scores(metric, system) for system in SYSTEMS.values()]
    found = Column.of("ter", metric, of_systems, USUAL.design(list(SYSTEMS.values()), None))
    values = [each.system for each in found.scores]
    assert found.sign == -1 and found.best == values.index(min(values))
    assert found.comparison.ranks[found.best] == 1 and found.comparison.ranks[values.index(max(values))] > 1


def test_whole_documents_are_drawn():
    """Two documents of which one system is right in one: by hand, each resample has both, or one of them twice."""
    rows = np.array([[1.0, 1]] * 3 + [[0.0, 1]] * 3)
    drawn = [compare(weighted_mean, [rows, 1 - rows * [1, 0]], [50, 50], ranges) for ranges in (None, [(0, 3), (3, 6)])]
    assert drawn[1].margins[0] == pytest.approx(50) and drawn[0].margins[0] < 45


def test_no_p_value_of_a_system_without_a_score():
    rows = [np.array([[1.0, 1]] * 9), np.array([[0.0, 1]] * 9), np.array([[0.0, 0]] * 9)]
    found = compare(weighted_mean, rows, [100.0, 0.0, np.nan])
    assert found.ranks == [1, 2, 0]
    assert np.isnan(found.p_values).tolist() == [[True, False, True], [False, True, True], [True, True, True]]


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("documents", [False, True])
def test_the_same_as_sacrebleus_approximate_randomization(name, documents, monkeypatch):
    """Of every pair, whichever is the baseline, also where documents are swapped. sacrebleu does not count trials that are as
    far apart as the systems, nor do we here."""
    monkeypatch.setattr(comparison, "_as_large", lambda values, gap: values > gap + 1e-9)
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    references, ids = [lines_of(REF)], lines_of("docids.txt")
    metric = METRICS[name](references)
    rows = [scores(metric, system).rows for system in SYSTEMS.values()]
    values = [scores(metric, system).system for system in SYSTEMS.values()]
    ranges, samples = (
        (document_ranges(ids), 127) if documents else (None, 999)
    )  # 7 documents can be swapped in 128 ways
    found = compare(scorer(metric), rows, values, ranges, testing=SystemTests(samples=samples))
    order = list(SYSTEMS)
    for baseline in order:
        systems = [(each, SYSTEMS[each]) for each in (baseline, *(other for other in order if other != baseline))]
        own = METRICS[name](references)
        test = DocumentPairedTest(
            systems, {name: resample_documents(own, ids) if documents else own}, references, "ar", n_samples=samples
        )
        _, results = test()
        for (system, _), result in zip(systems, results[name], strict=True):
            p_value = found.p_values[order.index(baseline), order.index(system)]
            assert (
                np.isnan(p_value)
                if system == baseline
                else p_value == pytest.approx(result.p_value, abs=2.1 / (1 + samples))
            )


def test_trials_in_parts_are_those_at_once(monkeypatch):
    """The generator's bits are asked for in whole words, so how many trials fit the memory changes nothing."""
    rng = np.random.default_rng(0)
    rows = [np.stack([rng.random(37), np.ones(37)], 1) for _ in range(3)]
    values = [100 * each[:, 0].mean() for each in rows]
    at_once = compare(weighted_mean, rows, values, testing=SystemTests(samples=300))
    monkeypatch.setattr(comparison, "CELLS", 37 * 32)
    in_parts = compare(weighted_mean, rows, values, testing=SystemTests(samples=300))
    assert (np.nan_to_num(at_once.p_values) == np.nan_to_num(in_parts.p_values)).all()
    assert 0 < at_once.p_values[0, 1] < 1


def false_findings(test: str, by_document: bool, within: float) -> float:
    """How often two systems of equal quality differ at .05: 40 documents of 6 segments, with `within` of the variance of a
    difference shared within documents."""
    rng, found, trials = np.random.default_rng(3), 0, 300
    ranges = [(start, start + 6) for start in range(0, 240, 6)] if by_document else None
    for seed in range(trials):
        shared = np.repeat(rng.normal(size=(2, 40)), 6, axis=1) * within**0.5
        values = shared + rng.normal(size=(2, 240)) * (1 - within) ** 0.5
        rows = [np.stack([own, np.ones(240)], 1) for own in values]
        scores = [100 * own.mean() for own in values]
        compared = compare(weighted_mean, rows, scores, ranges, testing=SystemTests(test, samples=400, seed=seed))
        found += compared.p_values[0, 1] < 0.05
    return found / trials


@pytest.mark.full
def test_equal_systems_differ_as_often_as_the_level_says():
    """At .05 300 trials find .015 to .09 but once in a thousand times; segments of documents that are alike break it."""
    assert 0.015 < false_findings("randomization", False, 0) < 0.09
    assert 0.015 < false_findings("randomization", True, 0.5) < 0.09
    assert false_findings("randomization", False, 0.5) > 0.2
    assert false_findings("bootstrap", False, 0) > 0.07  # sacrebleu's p is about half of a two-sided one


@pytest.mark.parametrize("test", ["randomization", "bootstrap"])
def test_the_same_system_twice_does_not_differ(test):
    rows = np.stack([np.random.default_rng(6).random(30), np.ones(30)], 1)
    found = compare(weighted_mean, [rows, rows], [100 * rows[:, 0].mean()] * 2, testing=SystemTests(test, samples=99))
    assert found.p_values[0, 1] == 1 and found.ranks == [1, 1]
    assert found.differences[0, 1].tolist() == [0, 0]


def p_value(differences: Sequence[float], samples: int = 10_000) -> float:
    """Of two systems that differ by these points in segments of equal weight."""
    rows = [np.array([[value / 100, 1.0] for value in values]) for values in (differences, [0] * len(differences))]
    found = compare(weighted_mean, rows, [float(np.mean(differences)), 0.0], testing=SystemTests(samples=samples))
    return float(found.p_values[0, 1])


@pytest.mark.parametrize(
    "differences, p",
    [
        ([1, 1, 1], 2 / 8),
        ([3, 2, -1], 4 / 8),  # by hand: of the sums +-3 +-2 +-1, two are +-6 and two +-4, which is the observed one
        ([1, 1, 1, 1, 1], 2 / 32),
        ([1] * 6, 2 / 64),
        ([1, 1, 1, 1, -1], 12 / 32),  # by hand: one of five or none has the other sign, or all but one or none
        ([0, 0, 0, 0, 7], 1.0),
    ],
)
def test_few_units_are_swapped_in_all_ways(differences, p, monkeypatch):
    monkeypatch.setattr(comparison, "CELLS", 1)  # 32 ways at a time
    assert p_value(differences) == p_value(differences, samples=2 ** len(differences)) == p


def test_all_ways_to_swap_are_those_of_scipy():
    differences = np.random.default_rng(2).normal(0.4, 1, 11)
    theirs = permutation_test(
        (differences, np.zeros(11)), lambda a, b: a.mean() - b.mean(), permutation_type="samples", n_resamples=4096
    )
    assert len(theirs.null_distribution) == 2**11 and 0.01 < theirs.pvalue < 0.9
    assert p_value(differences) == pytest.approx(theirs.pvalue, abs=1e-12)
    assert p_value(differences, samples=2**11 - 1) != pytest.approx(theirs.pvalue, abs=1e-6)  # drawn at random


def test_facts_say_whether_a_test_is_exact():
    few, many, drawn = (
        SystemTests(test).design([[""] * units] * 2, None)
        for test, units in (("randomization", 13), ("randomization", 14), ("bootstrap", 13))
    )
    assert [few.facts()[name] for name in ("exact", "trials", "units")] == [True, 8192, 13]
    assert [(each.facts()["exact"], each.facts()["trials"]) for each in (many, drawn)] == [
        (False, 10_000),
        (False, 1000),
    ]


def test_three_equal_systems_by_holm():
    """By hand: of three pairs the smallest p counts three times, and a larger one never less than it."""
    rng = np.random.default_rng(1)
    rows = [np.stack([rng.random(50) + more, np.ones(50)], 1) for more in (0, 0.02, 0.2)]
    values = [100 * each[:, 0].mean() for each in rows]
    found = compare(weighted_mean, rows, values, testing=SystemTests(samples=999))
    pairs = sorted((found.p_values[i, j], found.adjusted[i, j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    first = min(1, 3 * pairs[0][0])
    second = min(1, max(first, 2 * pairs[1][0]))
    assert [each for _, each in pairs] == pytest.approx([first, second, min(1, max(second, pairs[2][0]))])
    assert found.differ(0, 2) == (found.adjusted[0, 2] < 0.05)
    assert found.differences[0, 2].tolist() == (-found.differences[2, 0][::-1]).tolist()
    assert found.differences[0, 2, 0] < values[0] - values[2] < found.differences[0, 2, 1]
