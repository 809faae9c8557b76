"""Intervals, tests and ranks of a report against sacrebleu's own."""

import numpy as np
import pytest
from plugin_conftest import REF, A, B, C, lines_of
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from ctx_metrics import BERTR
from ctx_metrics.report.content import column
from ctx_metrics.run.context import Context, build
from ctx_metrics.scoring.comparison import compare
from ctx_metrics.scoring.scores import scores

SYSTEMS = {name: lines_of(name) for name in (A, B, C)}
METRICS = {
    "BLEU": lambda references: BLEU(references=references),
    "chrF2": lambda references: CHRF(references=references),
    "TER": lambda references: TER(references=references),
    "BERTR": lambda references: build(
        BERTR, Context(references=references, systems=list(SYSTEMS.values()), target_lang="en"), {}
    ),
}


@pytest.mark.parametrize("name", METRICS)
def test_the_same_as_sacrebleus_paired_bootstrap(name, monkeypatch):
    """Whichever system is the baseline: means, intervals and p-values are sacrebleu's, and so are the scores.

    sacrebleu adds up segments in single precision, so a resample at the edge may count or not: one in 1,001 of a p-value."""
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    references = [lines_of(REF)]
    metric = METRICS[name](references)
    found = column(name.lower(), metric, [scores(metric, system) for system in SYSTEMS.values()], None)
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
    found = column("ter", metric, [scores(metric, system) for system in SYSTEMS.values()], None)
    values = [each.system for each in found.scores]
    assert found.sign == -1 and found.best == values.index(min(values))
    assert found.comparison.ranks[found.best] == 1 and found.comparison.ranks[values.index(max(values))] > 1


def mean(row: np.ndarray) -> float:
    return row[0] / row[1]


def test_whole_documents_are_drawn():
    """Two documents of which one system is right in one: by hand, each resample has both, or one of them twice."""
    rows = np.array([[1.0, 1]] * 3 + [[0.0, 1]] * 3)
    drawn = [compare(mean, [rows, 1 - rows * [1, 0]], [0.5, 0.5], ranges) for ranges in (None, [(0, 3), (3, 6)])]
    assert drawn[1].margins[0] == pytest.approx(0.5) and drawn[0].margins[0] < 0.45


def test_no_p_value_of_a_system_without_a_score():
    rows = [np.array([[1.0, 1]] * 9), np.array([[0.0, 1]] * 9), np.array([[0.0, 0]] * 9)]
    found = compare(lambda row: row[0] / row[1] if row[1] else np.nan, rows, [1.0, 0.0, np.nan])
    assert found.ranks == [1, 2, 0]
    assert np.isnan(found.p_values).tolist() == [[True, False, True], [False, True, True], [True, True, True]]
