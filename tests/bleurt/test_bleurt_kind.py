"""BLEURT where any quality model or metric may be named: slide, the commands, and `ctx-metrics convert`."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from bleurt_folders import make, oracle
from cli_conftest import ctx  # noqa: F401  a fixture
from damage import change, in_form
from plugin_conftest import lines_of

from ctx_metrics import BLEURT, COMET, SLIDE, EngineOptions, InputError, ModelError
from ctx_metrics.bleurt.doctor import findings
from ctx_metrics.metricx.metric import MetricX

SYSTEMS = [lines_of(f"system_{name}.en.txt")[:12] for name in "abc"]
SOURCES, REFERENCES = lines_of("source.de.txt")[:12], lines_of("ref.en.txt")[:12]
DOCIDS = ["d1"] * 5 + ["d2"] * 7
QUIET = EngineOptions(quiet=True)
CLOSE = 1e-3  # 1e-5 of the values, which are printed x100


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    texts = [text for texts in zip(*SYSTEMS, REFERENCES, strict=True) for text in texts]
    return make(tmp_path_factory.mktemp("model") / "BLEURT-20-tiny", texts=texts)


def test_slide_scores_windows_as_the_model_does(model):
    metric = SLIDE(model=str(model), doc_ids=DOCIDS, window=3, engine=QUIET)
    found = metric.corpus_score(SYSTEMS[0], [REFERENCES])
    windows = [(0, 3), (3, 5), (5, 8), (8, 11), (11, 12)]
    pairs = [tuple(" ".join(texts[start:end]) for texts in (SYSTEMS[0], REFERENCES)) for start, end in windows]
    expected = np.average(oracle(model, pairs), weights=[end - start for start, end in windows])
    assert found.score == pytest.approx(100 * expected, abs=CLOSE)
    assert found.name == "SLIDE-BLEURT" and metric.get_signature().info["activation"] == "gelu"
    again = pickle.loads(pickle.dumps(metric))
    assert again.corpus_score(SYSTEMS[0], [REFERENCES]).score == found.score


def test_a_token_budget_of_windows(model):
    metric = SLIDE(model=str(model), doc_ids=DOCIDS, tokens=200, engine=QUIET)
    metric.corpus_score(SYSTEMS[0], [REFERENCES])
    windows = [window.window for window in metric.last_result.windows]
    assert any(end - start > 1 for start, end, _ in windows)
    for start, end, _ in windows:
        [ids] = metric.estimator.encoder.pairs(
            [(" ".join(REFERENCES[start:end]), " ".join(SYSTEMS[0][start:end]))], 9999
        )
        assert end - start == 1 or len(ids.ids) <= 200


def test_long_windows_are_cut_and_counted(model):
    metric = SLIDE(model=str(model), doc_ids=["a"] * 12, window=12, engine=QUIET)
    found = metric.corpus_score(SYSTEMS[1], [REFERENCES])
    [expected] = oracle(model, [(" ".join(SYSTEMS[1]), " ".join(REFERENCES))])
    assert found.score == pytest.approx(100 * expected, abs=CLOSE) and "truncated = 1" in found.format()


def test_what_a_model_without_that_choice_says(model):
    with pytest.raises(ModelError, match=r"reads mt\+ref and does not support inputs mt\+src"):
        SLIDE(model=str(model), inputs="mt+src")
    with pytest.raises(ModelError, match="is a BLEURT model: use the metric bleurt with model="):
        COMET(model=str(model), sources=SOURCES)
    with pytest.raises(InputError, match="needs the references"):
        SLIDE(model=str(model), sources=SOURCES, engine=QUIET).corpus_score(SYSTEMS[0], [])


def test_mbr_chooses_by_the_pairs_of_candidates(ctx, put, model):
    """Each candidate is the hypothesis, and all others, and itself, are references."""
    files = [put(f"{number}", *system) for number, system in enumerate(SYSTEMS)]
    expected = []
    for texts in zip(*SYSTEMS, strict=True):
        utility = [np.mean(oracle(model, [(hypothesis, reference) for reference in texts])) for hypothesis in texts]
        expected.append(texts[int(np.argmax(utility))])
    done = ctx("mbr", *files, "-m", "bleurt", "--bleurt-model", model, "-q")
    assert done.out.splitlines() == expected, done.err


@pytest.mark.parametrize("form", ["bin shards", "safetensors"])
def test_a_converted_model(ctx, model, tmp_path, form):
    source = in_form(model, tmp_path / "old", form)
    done = ctx("convert", source, tmp_path / "mine")
    assert done.code == 0, done.err
    names = {line.split("\t")[0].rpartition("/")[2] for line in done.out.splitlines()}
    assert names == {"config.json", "model.safetensors", "spm.model"}
    old, new = (BLEURT(model=str(path), engine=QUIET) for path in (source, tmp_path / "mine"))
    scores = [[each.score for each in metric.segment_scores(SYSTEMS[0], [REFERENCES])] for metric in (old, new)]
    assert scores[0] == scores[1]
    assert new.estimator.signature() == {**old.estimator.signature(), "model": "mine"}
    assert ctx("convert", tmp_path / "mine", tmp_path / "again").code == 0
    assert BLEURT(model=str(tmp_path / "again")).estimator.model.ckpt == old.estimator.model.ckpt
    refused = ctx("convert", source, tmp_path / "mine")
    assert refused.code == 1 and "exists and is not an empty folder" in refused.err


def test_a_converted_folder_that_was_changed(ctx, model, tmp_path):
    assert ctx("convert", model, tmp_path / "mine").code == 0
    change(tmp_path / "mine", hidden_act="gelu_new")
    with pytest.raises(ModelError, match="was changed after ctx-metrics convert wrote it"):
        BLEURT(model=str(tmp_path / "mine"))


def test_doctor_lists_what_the_cache_holds(model, hub_cache):
    assert [each.text for each in findings()] == ["none in the cache"]
    for name in ("BLEURT-20-D3", "BLEURT-20-D6", "bleurt-base-128"):
        held = hub_cache(f"lucadiliello/{name}", model)
        if name == "BLEURT-20-D6":
            (held / "spm.model").unlink()
    whole, broken = findings()
    assert whole.name == "lucadiliello/BLEURT-20-D3" and whole.text.endswith(", complete")
    assert broken.text.endswith("files are missing; fetch them: hf download lucadiliello/BLEURT-20-D6")


@pytest.mark.parametrize("metric", [BLEURT, MetricX])
def test_a_model_of_another_metric(ctx, metric, comet_checkpoint, model, tmp_path):
    """A folder, one that convert wrote, a name of the hub: the error names the metric that runs it."""
    assert ctx("convert", comet_checkpoint("ranking"), tmp_path / "mine").code == 0
    for name in (str(comet_checkpoint("ranking")), str(tmp_path / "mine"), "zouharvi/COMET-poly-cand1-wmt25"):
        with pytest.raises(
            ModelError, match=f"{name} is not a model of {metric.NAME.lower()}: use the metric comet with"
        ):
            metric(model=name, sources=SOURCES)
    with pytest.raises(ModelError, match="use the metric bleurt with|is a file; name the folder"):
        metric(model=str(model if metric is MetricX else model / "config.json"))


def test_a_name_of_the_hub(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="lucadiliello/BLEURT-20-D12 is not in the cache"):
        SLIDE(model="lucadiliello/BLEURT-20-D12")
