import numpy as np
import pytest
import torch
from embedded_fit import Recipe, fit
from embedded_regressor import DA15_PAIRS, document_windows, read_da_year
from scipy.stats import pearsonr

from ctx_metrics import BERTR, COMET
from ctx_metrics.judgements.judged import JudgedSet
from ctx_metrics.meta.evaluation import Significance, evaluate
from ctx_metrics.meta.protocols import make_protocols
from ctx_metrics.meta.scoring import MetricSettings, score_set
from ctx_metrics.models.regressor import predict
from ctx_metrics.training.quality.judgements import judgements


def test_judgements_and_windows():
    outputs = [["a1", "a2", "a3"], ["r", "r", "r"], ["b1", None, "b3"]]
    scores = np.array([[-1, np.nan, -3], [0, 0, 0], [-2, np.nan, -4]])
    more = {"doc_ids": ["d1", "d1", "d2"], "segment_scores": scores}
    judged = JudgedSet("toy", ["A", "refB", "B"], 3, outputs, [["r1", "r2", "r3"]], **more)
    rows = judgements(judged)
    told = [f"{j.system} {j.hypothesis} {j.document}" for j in rows]
    assert told == ["A a1 d1", "B b1 d1", "A a2 d1", "A a3 d2", "B b3 d2"]
    assert [j.score for j in rows if j.score == j.score] == [-1, -2, -3, -4]
    assert [j.hypothesis for j in judgements(judged, humans=True)][:3] == ["a1", "r", "b1"]
    windows = [("A", 2, "a1 a2", "r1 r2"), ("A", 1, "a3", "r3"), ("B", 1, "b1", "r1"), ("B", 1, "b3", "r3")]
    assert list(document_windows(rows)) == windows


@pytest.mark.full
def test_fit_learns_both_branches_and_repeats():
    generator = torch.Generator().manual_seed(4)
    recipe = Recipe(
        layers=(1, 2), pooled_hidden=8, alignment_hidden=8, alignment_epochs=20, pooled_epochs=20, learning_rate=1e-2
    )
    rows, targets = [], []
    for _ in range(600):
        features = torch.rand(11, generator=generator)
        u, v = torch.randn(2, 2, 3, generator=generator)
        rows.append((features.tolist(), u, v))
        targets.append((3 * (features[0] - 0.5) - (u - v).abs().mean() + 1).item())
    network = fit(rows[:500], targets[:500], [False] * 500, width=3, recipe=recipe)
    values = predict(network, rows[500:])
    assert pearsonr(values, targets[500:])[0] > 0.8
    again = fit(rows[:500], targets[:500], [False] * 500, width=3, recipe=recipe)
    assert predict(again, rows[500:]) == values


@pytest.mark.slow
def test_quality_on_wmt15(shared_data):
    """The embedded comet agrees with people at least .02 better than bertr, on data that it was not trained on."""
    sets = read_da_year(shared_data, "2015", DA15_PAIRS)
    metrics = [MetricSettings("bertr", BERTR), MetricSettings("comet", COMET)]
    scores = {judged.name: score_set(judged, metrics) for judged in sets}
    [agreement] = evaluate(sets, scores, [make_protocols()["seg-pearson"]], Significance("none")).agreements
    assert agreement.metrics == ["comet", "bertr"]
    assert agreement.overall == pytest.approx([0.745, 0.662], abs=0.002)
