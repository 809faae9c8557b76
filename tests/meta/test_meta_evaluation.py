"""Evaluations as a whole: values by hand, pooling, ranks, what is left out and said."""

import logging
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from selection import some

from ctx_metrics import InputError
from ctx_metrics.judgements.judged import JudgedSet, MetricScores
from ctx_metrics.judgements.measures.correlation import group_coefficients
from ctx_metrics.meta.evaluation import Significance, evaluate
from ctx_metrics.meta.inference.bootstrap import bootstrap_parts, bootstrap_values, interval, p_not_better
from ctx_metrics.meta.inference.significance import perm_both
from ctx_metrics.meta.protocols import make_protocols

PROTOCOLS = make_protocols()
NO_TEST = Significance("none")


def systems_set(name: str, human: list[float]) -> JudgedSet:
    return JudgedSet(name, [f"S{i}" for i in range(len(human))], 2, system_scores=np.array(human))


def system_metric(name: str, scores: list[float]) -> MetricScores:
    return MetricScores(name, None, np.array(scores))


def noisy(human: np.ndarray, noise: float, seed: int) -> np.ndarray:
    return human + noise * np.random.default_rng(seed).normal(size=human.shape)


@pytest.fixture
def segments() -> tuple[JudgedSet, dict]:
    generator = np.random.default_rng(7)
    human = generator.normal(size=(6, 80)) + np.arange(6)[:, None] / 2
    judged = JudgedSet("toy.x-en", [f"S{i}" for i in range(6)], 80, segment_scores=human)
    good, bad = noisy(human, 0.3, 1), noisy(human, 4.0, 2)
    return judged, {
        "toy.x-en": [
            MetricScores("bad", bad, bad.mean(axis=1)),
            MetricScores("good", good, good.mean(axis=1)),
            MetricScores("good too", noisy(human, 0.3, 3), noisy(human, 0.3, 3).mean(axis=1)),
        ]
    }


def test_the_length_of_the_source_stands_beside_correlations_of_all_outputs(segments):
    """It knows which segments are hard, and nothing of the outputs, so within segments there is nothing."""
    judged, scores = segments
    sources = ["x" * (1 + k) for k in range(80)]
    lengths = np.arange(1.0, 81)
    judged = replace(judged, sources=sources, segment_scores=judged.segment_scores - lengths)
    [all_outputs, within] = evaluate([judged], scores, [PROTOCOLS["seg-pearson"], PROTOCOLS["acc-eq"]]).agreements
    assert (all_outputs.baseline, all_outputs.metrics[-1], all_outputs.ranks[-1]) == ("length", "length", 0)
    expected = np.corrcoef(judged.segment_scores.ravel(), np.tile(-lengths, 6))[0, 1]
    assert all_outputs.values[-1, 0] == pytest.approx(expected) and expected > 0.9 > all_outputs.overall[0]
    good = next(each for each in scores[judged.name] if each.name == "good").of_segments
    mean = np.mean([np.corrcoef(judged.segment_scores[:, k], good[:, k])[0, 1] for k in range(80)])
    assert all_outputs.within[all_outputs.metrics.index("good"), 0] == pytest.approx(mean)
    assert np.isnan(all_outputs.within[-1, 0])
    assert within.baseline == "" and within.within is None and "length" not in within.metrics
    [tested] = evaluate([replace(judged, sources=None)], scores, [PROTOCOLS["seg-pearson"]]).agreements
    assert tested.baseline == "" and tested.ranks == all_outputs.ranks[:-1]


def test_system_accuracy_is_pooled_over_pairs():
    # set one: 3 pairs, 2 right (S0-S1 is wrong); set two: 1 pair, right. Pooled 3/4; the mean would be (2/3 + 1) / 2
    sets = [systems_set("one", [3, 2, 1]), systems_set("two", [1, 2])]
    scores = {"one": [system_metric("m", [2, 3, 1])], "two": [system_metric("m", [5, 6])]}
    [agreement] = evaluate(sets, scores, [PROTOCOLS["sys-acc"]], NO_TEST).agreements
    assert agreement.values.tolist() == [[2 / 3, 1.0]] and agreement.overall.tolist() == [0.75]
    assert agreement.sizes == [3, 1] and agreement.overall_is == "pooled" and agreement.ranks is None


def test_correlations_are_averaged_and_a_metric_without_a_set_is_not_ranked():
    sets = [systems_set("one", [1, 2, 3]), systems_set("two", [1, 2, 4])]
    scores = {
        "one": [system_metric("m", [1, 2, 3]), system_metric("half", [3, 2, 1])],
        "two": [system_metric("m", [4, 2, 1])],
    }
    [agreement] = evaluate(sets, scores, [PROTOCOLS["sys-spearman"]]).agreements
    assert agreement.metrics == ["m", "half"]
    assert agreement.values == pytest.approx(np.array([[1, -1], [-1, np.nan]]), nan_ok=True)
    assert agreement.overall == pytest.approx([0, np.nan], abs=1e-12, nan_ok=True)
    assert agreement.ranks == [1, 0]


def test_tau_23_is_twice_acc_eq_minus_one(segments):
    judged, scores = segments
    coarse = replace(judged, segment_scores=judged.segment_scores.round())  # with ties
    acc, tau = evaluate([coarse], scores, [PROTOCOLS["acc-eq"], PROTOCOLS["tau-23"]], NO_TEST).agreements
    assert tau.overall == pytest.approx(2 * acc.overall - 1, abs=1e-12)
    epsilons = {name: of_sets["toy.x-en"]["epsilon"] for name, of_sets in acc.details.items()}
    assert epsilons == {name: of_sets["toy.x-en"]["epsilon"] for name, of_sets in tau.details.items()}
    assert 0 < epsilons["good"] < 1


@pytest.mark.parametrize("test", ["perm-both", "bootstrap", "williams"])
def test_a_test_that_is_asked_for_is_the_one_that_is_made(segments, test):
    judged, scores = segments
    [agreement] = evaluate([judged], scores, [PROTOCOLS["seg-pearson"]], Significance(test, resamples=200)).agreements
    assert agreement.ranks[-1] > agreement.ranks[0] == 1 and all(0 < p <= 1 for p in agreement.p_values.values())
    assert test.split("-")[0].lower() in agreement.test.lower()


@pytest.mark.parametrize(
    "name, asked, made, said",
    [
        ("acc-eq", "perm-both", "paired bootstrap", "ties are calibrated"),
        ("acc-eq", "pairs", "permutation of pairwise decisions", ""),
        ("seg-kendall", "williams", "paired bootstrap", "is for Pearson's r on one set"),
        ("seg-pearson", "pairs", "paired bootstrap", "is for acc-eq and tau-23"),
        ("sys-acc", "pairs", "PERM-BOTH permutation test", "is for acc-eq and tau-23"),
    ],
)
def test_a_test_that_does_not_suit_is_replaced_and_said(segments, caplog, name, asked, made, said):
    judged, scores = segments
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        [agreement] = evaluate([judged], scores, [PROTOCOLS[name]], Significance(asked, resamples=100)).agreements
    assert agreement.test == made
    assert (said in caplog.text) if said else not caplog.text


@pytest.mark.parametrize("average", ["none", "item", "system"])
@pytest.mark.parametrize("kind", some(["pearson", "spearman", "kendall"], ["pearson"]))
def test_correlations_of_segments_are_tested_by_drawing_segments(segments, average, kind):
    """A segment's outputs stay together: the replicates are the correlations of the segments that were drawn."""
    judged, scores = segments
    few = replace(
        judged, segments=20, segment_scores=np.where(np.arange(20) == 3, np.nan, judged.segment_scores[:, :20])
    )
    metrics = [MetricScores(each.name, each.segment_scores[:, :20], None) for each in scores["toy.x-en"][:2]]
    protocol = make_protocols(average)[f"seg-{kind}"]
    significance = Significance(resamples=60, intervals=True)
    [agreement] = evaluate([few], {few.name: metrics}, [protocol], significance).agreements
    assert agreement.test == "paired bootstrap"
    by_hand = {}
    for each in metrics:

        def value(drawn, scores=each.segment_scores):
            return np.nanmean(group_coefficients(few.segment_scores[:, drawn[0]], scores[:, drawn[0]], kind, average))

        by_hand[each.name] = bootstrap_values([20], value, resamples=60)
    for name, (low, high) in zip(agreement.metrics, agreement.intervals):
        assert (low, high) == pytest.approx(interval(by_hand[name]), abs=1e-9)
    better, worse = agreement.metrics
    assert agreement.p_values[better, worse] == p_not_better(by_hand[better], by_hand[worse])


def test_intervals_of_system_pairs_draw_systems():
    """Pairs that share a system are right or wrong together: the metric misplaces one of ten systems, in its nine pairs."""
    human = list(range(10))
    judged = systems_set("one", [*human, np.nan])  # and nobody judged the last
    scores = {"one": [system_metric("m", [*human[1:], -1.0, 3.0])]}
    significance = Significance("bootstrap", resamples=400, intervals=True)
    [agreement] = evaluate([judged], scores, [PROTOCOLS["sys-acc"]], significance).agreements
    assert agreement.overall == [36 / 45] and agreement.sizes == [45]
    # 9 systems that are right among each other: the share of pairs with the tenth, drawn c times, is c (10 - c) of all
    [[low, high]] = agreement.intervals
    assert low < 0.6 and high == 1.0  # it is drawn three times; it is not drawn, in a third of the resamples
    drawn_one_by_one = bootstrap_parts([np.column_stack([np.arange(45) < 36, np.ones(45)])], True, resamples=400)
    assert interval(drawn_one_by_one)[1] < 0.95


def test_tests_swap_what_people_judged_where_that_is_little(monkeypatch):
    rng = np.random.default_rng(1)
    human = np.full((8, 30), np.nan)
    human[rng.integers(8, size=30), np.arange(30)] = rng.normal(size=30)
    judged = JudgedSet("sparse", [f"S{i}" for i in range(8)], 30, segment_scores=human)
    noise = rng.normal(size=(2, 8, 30))
    metrics = [MetricScores(name, np.nan_to_num(human) + each, None) for name, each in zip("ab", noise)]
    swapped = []

    def counted(a, b, value, **options):
        swapped.append([(each[0].shape, value(each)) for each in (a, b)])
        return perm_both(a, b, value, **options)

    monkeypatch.setattr("ctx_metrics.meta.evaluation.perm_both", counted)
    for kind in ("pearson", "spearman", "kendall"):
        test = Significance("perm-both", resamples=100)
        [agreement] = evaluate([judged], {"sparse": metrics}, [PROTOCOLS[f"seg-{kind}"]], test).agreements
        assert swapped.pop() == [((30,), pytest.approx(value)) for value in agreement.overall]


def test_all_pairs(segments):
    judged, scores = segments
    protocol = PROTOCOLS["seg-pearson"]
    [agreement] = evaluate([judged], scores, [protocol], Significance(resamples=100, all_pairs=True)).agreements
    best, second, worst = agreement.metrics
    assert set(agreement.p_values) == {(best, second), (best, worst), (second, worst)}
    [agreement] = evaluate([judged], scores, [protocol], Significance(resamples=100)).agreements
    assert (best, second) in agreement.p_values and len(agreement.p_values) == 2


def test_what_a_metric_did_not_score_is_left_out_and_said(segments, caplog):
    judged, scores = segments
    gaps = scores["toy.x-en"][1].segment_scores.copy()
    gaps[0, :10] = np.nan
    of_set = [MetricScores("gaps", gaps, None), scores["toy.x-en"][0]]
    evaluate([judged], {"toy.x-en": of_set}, [PROTOCOLS["seg-pearson"]], Significance(resamples=50))
    assert "seg-pearson: gaps has scores for 470 of 480 outputs of toy.x-en" in caplog.text


def test_protocols_that_do_not_apply(segments, caplog):
    judged, scores = segments
    sets, scores = [judged, systems_set("sys", [1, 2])], {**scores, "sys": [system_metric("good", [1, 2])]}
    protocols = [PROTOCOLS["doc-pearson"], PROTOCOLS["seg-pearson"]]
    [agreement] = evaluate(sets, scores, protocols, NO_TEST).agreements
    assert (agreement.protocol, agreement.sets) == ("seg-pearson", ["toy.x-en"])
    assert "doc-pearson: applies to none of the sets (toy.x-en: no document ids" in caplog.text
    with pytest.raises(InputError, match="none of the protocols applies"):
        evaluate([systems_set("sys", [1, 2])], {"sys": [system_metric("m", [1, 2])]}, [PROTOCOLS["spa"]], NO_TEST)
    of_segments = [replace(each, system_scores=None) for each in scores[judged.name]]
    evaluate([judged], {judged.name: of_segments}, [PROTOCOLS["sys-acc"], PROTOCOLS["acc-eq"]], NO_TEST)
    assert "sys-acc: no metric has scores of systems" in caplog.text
    with pytest.raises(InputError, match="two sets have the same name"):
        evaluate([judged, judged], scores, [PROTOCOLS["acc-eq"]], NO_TEST)


def test_a_set_that_no_metric_scored_is_no_column():
    sets = [systems_set("one", [1, 2]), systems_set("two", [1, 2])]
    scores = {"one": [system_metric("m", [1, 2])], "two": []}
    [agreement] = evaluate(sets, scores, [PROTOCOLS["sys-acc"]]).agreements
    assert agreement.sets == ["one"] and agreement.overall.tolist() == [1.0] and agreement.ranks == [1]


def test_outliers_are_left_out_and_named():
    # MAD of 1, 2, 3, 4, 40 is 1 around 3: 40 lies 37 / 1.4826 = 25 away; the four others correlate perfectly
    judged = systems_set("one", [1, 2, 3, 4, 40])
    scores = {"one": [system_metric("m", [1, 2, 3, 4, -9])]}
    whole, without = evaluate(
        [judged], scores, [PROTOCOLS["sys-pearson"], PROTOCOLS["sys-pearson-no-outliers"]], NO_TEST
    ).agreements
    assert whole.overall[0] < 0 and without.overall[0] == pytest.approx(1)
    assert without.details["m"]["one"]["outliers"] == ["S4"] and without.sizes == [4]


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_documents_agree_as_the_segments_of_their_means_do(segments, kind):
    judged, scores = segments
    ids = [f"d{i // 3}" for i in range(judged.segments)]
    gaps = judged.segment_scores.copy()
    gaps[0, 1] = gaps[1, :3] = np.nan  # what nobody judged does not count, nor does a document without a judgement
    judged = replace(judged, doc_ids=ids, segment_scores=gaps)
    bounds = [*range(0, judged.segments, 3), judged.segments]

    def means(array):
        known = np.where(np.isnan(gaps), np.nan, array)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mean of nothing
            return np.stack([np.nanmean(known[:, a:b], axis=1) for a, b in pairwise(bounds)], axis=1)

    documents = JudgedSet(judged.name, judged.systems, len(bounds) - 1, segment_scores=means(gaps))
    of_means = [MetricScores(each.name, means(each.segment_scores), None) for each in scores[judged.name]]
    significance = Significance(resamples=60, intervals=True, all_pairs=True)
    [got] = evaluate([judged], scores, [PROTOCOLS[f"doc-{kind}"]], significance).agreements
    [want] = evaluate([documents], {judged.name: of_means}, [PROTOCOLS[f"seg-{kind}"]], significance).agreements
    assert got.sizes == want.sizes == [len(judged.systems) * (len(bounds) - 1) - 1] and got.unit == "documents"
    np.testing.assert_array_equal(got.values, want.values)
    np.testing.assert_array_equal(got.intervals, want.intervals)
    assert got.p_values == want.p_values and got.ranks == want.ranks
