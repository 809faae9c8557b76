"""Agreement by document length: the buckets, and the values against counting by hand."""

import numpy as np
import pytest

from ctx_metrics.judgements.judged import JudgedSet, MetricScores
from ctx_metrics.meta.lengths import agreement_by_length
from ctx_metrics.meta.protocols import make_protocols

PROTOCOLS = make_protocols()


def documents_of(lengths: list[int]) -> list[str]:
    return [f"d{k}" for k, length in enumerate(lengths) for _ in range(length)]


def random_set(name: str, lengths: list[int], systems: int, seed: int) -> JudgedSet:
    human = np.random.default_rng(seed).integers(0, 6, (systems, sum(lengths))).astype(float)
    doc_ids = documents_of(lengths)
    return JudgedSet(name, [f"S{i}" for i in range(systems)], sum(lengths), doc_ids=doc_ids, segment_scores=human)


def random_metric(judged: JudgedSet, seed: int, name: str = "m") -> MetricScores:
    found = np.random.default_rng(seed).normal(size=judged.segment_scores.shape)
    return MetricScores(name, found, found.mean(axis=1))


def pooled_accuracy(parts: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """System pairs that the means of segments order alike, of all pairs; loops on purpose."""
    agree = total = 0
    for human, metric in parts:
        for i in range(len(human)):
            for j in range(i + 1, len(human)):
                people = np.sign(np.mean(human[i]) - np.mean(human[j]))
                total += 1
                agree += people == np.sign(np.mean(metric[i]) - np.mean(metric[j]))
    return agree / total


@pytest.mark.parametrize("seed", range(5))
def test_values_are_those_of_the_segments_in_a_bucket(seed):
    random = np.random.default_rng(seed)
    lengths = {name: random.integers(1, 9, 12).tolist() for name in "xy"}
    sets = [random_set(name, of_set, 4, seed) for name, of_set in lengths.items()]
    scores = {judged.name: [random_metric(judged, seed + 1)] for judged in sets}
    curves = agreement_by_length(sets, scores, PROTOCOLS["sys-acc"])
    own = {name: np.repeat(of_set, of_set) for name, of_set in lengths.items()}  # each segment's document's length
    assert sum(curves.documents) == 24 and sum(curves.segments) == sum(map(sum, lengths.values()))
    for k, (first, last) in enumerate(curves.buckets):
        inside = {name: (own[name] >= first) & (own[name] <= last) for name in own}
        assert curves.documents[k] == sum(first <= each <= last for of_set in lengths.values() for each in of_set)
        assert curves.segments[k] == sum(each.sum() for each in inside.values())
        parts = [
            (
                judged.segment_scores[:, inside[judged.name]],
                scores[judged.name][0].segment_scores[:, inside[judged.name]],
            )
            for judged in sets
            if inside[judged.name].any()
        ]
        assert curves.values["m"][k] == pytest.approx(pooled_accuracy(parts))


def test_buckets_hold_about_as_many_segments_each():
    judged = random_set("x", [1] * 10 + [2] * 5 + [5] * 2 + [10], 2, 0)  # ten segments of each length
    curves = agreement_by_length([judged], {"x": [random_metric(judged, 1)]}, PROTOCOLS["seg-pearson"])
    assert curves.buckets == [(1, 1), (2, 2), (5, 5), (10, 10)] and curves.segments == [10] * 4
    assert curves.documents == [10, 5, 2, 1]
    two = agreement_by_length([judged], {"x": [random_metric(judged, 1)]}, PROTOCOLS["seg-pearson"], 2)
    assert two.buckets == [(1, 2), (5, 10)] and two.segments == [20, 20]


def test_unjudged_outputs_stay_out():
    judged = random_set("x", [1, 3], 2, 0)
    human = judged.segment_scores.copy()
    human[0, 1:] = np.nan  # nobody judged the first system on the longer document: there is no pair of systems
    judged = JudgedSet("x", judged.systems, 4, doc_ids=judged.doc_ids, segment_scores=human)
    curves = agreement_by_length([judged], {"x": [random_metric(judged, 1)]}, PROTOCOLS["sys-acc"], 2)
    assert curves.values["m"][0] in (0.0, 1.0) and np.isnan(curves.values["m"][1])


def test_a_metric_that_lacks_a_set_is_measured_on_the_others():
    sets = [random_set("x", [1, 3], 3, 0), random_set("y", [1, 3], 3, 1)]
    there = random_metric(sets[1], 2, "half")
    scores = {"x": [random_metric(sets[0], 3)], "y": [random_metric(sets[1], 4), there]}
    both = agreement_by_length(sets, scores, PROTOCOLS["seg-pearson"], 2)
    alone = agreement_by_length(sets[1:], {"y": [there]}, PROTOCOLS["seg-pearson"], 2)
    assert list(both.values) == ["m", "half"] and both.values["half"] == pytest.approx(alone.values["half"])


def test_where_there_is_nothing_to_draw():
    judged = random_set("x", [2, 3], 2, 0)
    alike = random_set("x", [2, 2], 2, 0)
    without = JudgedSet("x", judged.systems, 5, segment_scores=judged.segment_scores)
    systems = JudgedSet("x", judged.systems, 5, doc_ids=judged.doc_ids, system_scores=np.array([1.0, 2.0]))
    grid = MetricScores("slide(1,1)", None, np.array([1.0, 2.0]))
    protocol = PROTOCOLS["sys-acc"]
    for one in (alike, without, systems):
        assert agreement_by_length([one], {"x": [random_metric(judged, 1)]}, protocol) is None
    assert agreement_by_length([judged], {"x": [grid]}, protocol) is None
    curves = agreement_by_length([judged], {"x": [grid, random_metric(judged, 1)]}, protocol)
    assert list(curves.values) == ["m"]
