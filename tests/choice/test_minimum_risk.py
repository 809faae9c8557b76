"""Expected utilities by every method, over utilities whose values are known."""

import numpy as np
import pytest

from ctx_metrics import InputError
from ctx_metrics.choice.blocks import block_ranges, choose
from ctx_metrics.choice.candidates import Item
from ctx_metrics.choice.minimum_risk import Method, MinimumRisk, completed, distinct_texts, expected, is_exact, utility
from ctx_metrics.pairs.utilities import Utility, WeightedSum
from ctx_metrics.registry import metric_table
from ctx_metrics.run.run import Run
from ctx_metrics.run.texts import Texts
from ctx_metrics.scoring.context import MetricSettings


class Known(Utility):
    """Values that a function of two texts gives; counts the pairs that were asked for."""

    aggregates = clusters = True

    def __init__(self, value):
        super().__init__("known")
        self.value, self.asked = value, 0

    def read(self, items):
        self.items = items

    def grids(self, wanted):
        self.asked += sum(len(rows) * len(columns) for _, rows, columns in wanted)
        return [
            np.array(
                [[self.value(self.items[k].texts[i], self.items[k].references[j]) for j in columns] for i in rows]
            ).reshape(len(rows), len(columns))
            for k, rows, columns in wanted
        ]

    def entries(self, wanted):
        self.asked += sum(len(rows) for _, rows, _ in wanted)
        return [
            np.array([self.value(self.items[k].texts[i], self.items[k].references[j]) for i, j in zip(*places)])
            for k, *places in wanted
        ]

    def against_mean(self, number):
        return np.array([-abs(float(text) - 3) for text in self.items[number].texts])

    def against_centroids(self, number, centroids, seed):
        return self.against_mean(number)


def close(a: str, b: str) -> float:
    return -abs(float(a) - float(b))


def numbers(count: int, seed: int = 0) -> Item:
    return Item(tuple(f"{value:.6f}" for value in np.random.default_rng(seed).normal(size=count)))


def test_exact_counts_every_reference_as_often_as_it_stands():
    """By hand: of 1, 1 and 4, the ones are 0 + 0 + 3 away, and 4 is 3 + 3 away."""
    [found] = expected(Known(close), [distinct_texts(Item(("1", "4", "1")))], Method())
    assert found.tolist() == [-1.0, -2.0]
    [found] = expected(Known(close), [distinct_texts(Item(("1", "4", "1")))], Method(exclude_self=True))
    assert found.tolist() == [-1.5, -3.0]
    [found] = expected(
        Known(close), [distinct_texts(Item(("1", "4"), references=("4", "4", "1")))], Method(exclude_self=True)
    )
    assert found.tolist() == [-2.0, -1.0]


def test_a_lone_candidate_is_taken():
    for method in ("exact", "aggregate", "prune", "low-rank", "centroids"):
        [found] = expected(Known(close), [distinct_texts(Item(("1",)))], Method(method))
        assert np.isfinite(found).all()
    [found] = expected(Known(close), [distinct_texts(Item(("1",)))], Method(exclude_self=True))
    assert np.isfinite(found).all()


def test_aggregate_is_refined_by_exact_values():
    item = distinct_texts(Item(("1", "2", "3", "9")))
    [rough] = expected(Known(close), [item], Method("aggregate"))
    assert rough.tolist() == [-2, -1, 0, -6]
    [refined] = expected(Known(close), [item], Method("aggregate", refine=2))
    [exact] = expected(Known(close), [item], Method())
    assert np.isnan(refined).tolist() == [True, False, False, True]
    assert refined[1:3].tolist() == exact[1:3].tolist()


def test_pruning_finds_what_exact_finds_with_fewer_pairs():
    items = [distinct_texts(numbers(64, seed)) for seed in range(20)]
    whole, less = Known(close), Known(close)
    exact, pruned = expected(whole, items, Method()), expected(less, items, Method("prune"))
    lost = [a.max() - a[np.nanargmax(b)] for a, b in zip(exact, pruned, strict=True)]
    assert max(lost) < 0.02 * np.std(exact) and less.asked < 0.8 * whole.asked  # those in the middle are all but equal
    for a, b in zip(exact, pruned, strict=True):
        if len(left := np.flatnonzero(~np.isnan(b))) > 1:  # all references were seen
            assert b[left] == pytest.approx(a[left])


def test_pruning_keeps_as_many_as_are_wanted():
    items = [distinct_texts(numbers(40, seed)) for seed in range(5)]
    assert all((~np.isnan(found)).sum() >= 7 for found in expected(Known(close), items, Method("prune"), nbest=7))
    assert all(np.isfinite(found).all() for found in expected(Known(close), items, Method("prune"), nbest=99))


@pytest.mark.parametrize(
    ("method", "candidates", "exact"),
    [
        (Method(), 30, True),
        (Method("aggregate"), 1, True),
        (Method("aggregate"), 5, False),
        (Method("aggregate", refine=29), 30, False),
        (Method("aggregate", refine=30), 30, True),
        (Method("prune"), 8, True),
        (Method("prune"), 30, False),
        (Method("prune", confidence=1.0), 9, True),
        (Method("low-rank"), 4, True),
        (Method("low-rank"), 17, False),
        (Method("low-rank", share=1.0), 17, True),
    ],
)
def test_a_method_is_exact_where_it_scores_all_pairs(method, candidates, exact):
    """Of chrF on random sentences, against the scores of all pairs."""
    draw = np.random.default_rng(3)
    item = distinct_texts(Item(tuple(" ".join(draw.choice([*"abcdefgh"], 6)) for _ in range(candidates))))
    chrf = utility(CHRF[0], RUN, [item])
    [every], [found] = expected(chrf, [item], Method()), expected(chrf, [item], method)
    assert is_exact(item, found, method) == exact
    assert bool(np.allclose(found, every, rtol=0, atol=1e-9)) == exact  # NaN, of what was left out, is never close


def test_centroids_are_exact_where_each_reference_is_one():
    for number, exact in ((7, False), (8, True)):
        assert is_exact(distinct_texts(numbers(8)), np.zeros(8), Method("centroids", centroids=number)) == exact


def test_a_matrix_of_low_rank_is_completed():
    rng = np.random.default_rng(2)
    full = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 40)) + 7
    places = np.sort(rng.permutation(1600)[:800])
    filled = completed((40, 40), places // 40, places % 40, full[places // 40, places % 40], rank=3)
    hidden = np.setdiff1d(np.arange(1600), places)
    error = np.abs(filled - full)[hidden // 40, hidden % 40]
    assert error.mean() < 0.2 * full.std()


def test_low_rank_scores_a_share_of_the_pairs():
    """Values of points on a line are of low rank, near enough."""
    item, utility = distinct_texts(numbers(80)), Known(lambda a, b: -((float(a) - float(b)) ** 2))
    [found] = expected(utility, [item], Method("low-rank", share=0.25))
    [exact] = expected(Known(utility.value), [item], Method())
    assert utility.asked == 1600 and np.corrcoef(found, exact)[0, 1] > 0.95


def test_several_utilities_are_added_up():
    item = distinct_texts(Item(("1", "4", "2")))
    both = WeightedSum([Known(close), Known(lambda a, b: float(a == b))], [1.0, 10.0])
    [found] = expected(both, [item], Method())
    assert found == pytest.approx([-4 / 3 + 10 / 3, -5 / 3 + 10 / 3, -1 + 10 / 3])


def test_an_item_is_drawn_for_alike_wherever_it_stands():
    items = [distinct_texts(numbers(30, seed)) for seed in range(3)]
    for method in (Method("prune"), Method("low-rank")):
        [_, _, last] = expected(Known(close), items, method)
        [alone] = expected(Known(close), items[2:], method)
        assert np.nan_to_num(last).tolist() == np.nan_to_num(alone).tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"refine": 2}, "--refine works only with --method aggregate; give both, or leave it out"),
        ({"method": "prune", "confidence": 1.5}, "--confidence 1.5: give more than 0 and at most 1"),
        ({"rank": 0}, "--rank 0: give at least 1"),
    ],
)
def test_numbers_that_say_nothing(given, said):
    with pytest.raises(InputError, match=said):
        Method(**given).check_numbers()


def test_methods_that_a_utility_does_not_have():
    utility = Known(close)
    utility.aggregates = utility.clusters = False
    for method in ("aggregate", "centroids"):
        with pytest.raises(InputError, match=f"--method {method} works only with"):
            expected(utility, [distinct_texts(numbers(3))], Method(method))


CHRF = [MetricSettings("chrf", metric_table()["CHRF"])]
RUN = Run(Texts(target_lang="en"), CHRF, {}, text_checks=False)
ITEMS = [numbers(5, seed) for seed in range(7)]


def chooser(**method) -> MinimumRisk:
    return MinimumRisk(RUN, [1.0], Method(**method))


def test_blocks_change_nothing(monkeypatch):
    whole = choose(ITEMS, chooser())
    monkeypatch.setattr("ctx_metrics.choice.blocks.TEXTS", 10)
    assert list(block_ranges(ITEMS)) == [(0, 2), (2, 4), (4, 6), (6, 7)]
    assert choose(ITEMS, chooser()).scores == whole.scores


TEXTS = ("It rained all day.", "It rained.", "", "  ", "We left early , too .", "It rained all day.")


@pytest.mark.parametrize(
    ("name", "settings"),
    [("bertr", {}), ("bertscore", {}), ("bertscore", {"score": "p"}), ("bertscore", {"score": "r"})],
)
@pytest.mark.parametrize("cells", [2**24, 10])
def test_tokens_are_matched_as_the_metric_matches_them(name, settings, cells, monkeypatch):
    """Against the metric itself, pair by pair, whatever is held at once; empty texts have 0."""
    monkeypatch.setattr("ctx_metrics.pairs.matched.CELLS", cells)
    monkeypatch.setattr("ctx_metrics.pairs.matched.TOKENS", cells)
    items = [distinct_texts(Item(TEXTS)), distinct_texts(Item(TEXTS[:2], references=TEXTS[2:]))]
    made = utility(MetricSettings(name, metric_table()[name.upper()], settings), RUN, items)
    made.read(items)
    every = [(k, np.arange(len(item.texts)), np.arange(len(item.references))) for k, item in enumerate(items)]
    for item, grid in zip(items, made.grids(every), strict=True):
        pairs = [(text, reference) for text in item.texts for reference in item.references]
        metric = metric_table()[name.upper()](target_lang="en", **settings)
        scores = metric.segment_scores([text for text, _ in pairs], [[reference for _, reference in pairs]])
        assert grid.ravel() == pytest.approx([score.score for score in scores], abs=1e-4)
    some = made.entries([(0, np.array([4, 0, 2]), np.array([1, 0, 1]))])[0]
    assert some == pytest.approx(made.grids(every)[0][[4, 0, 2], [1, 0, 1]], abs=1e-4)
    assert made.counts["empty"] == 2


def test_candidates_of_invisible_characters_are_empty():
    item = distinct_texts(Item(("a", "\u200b", "", " \u2060")))
    assert (item.texts, item.place.tolist()) == (["a", ""], [0, 1, 1, 1])
