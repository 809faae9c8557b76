"""MetricX where any quality model may be named: slide over its windows, and `ctx-metrics convert`."""

import json
import pickle
import shutil
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from damage import change, in_form
from metricx_folders import make, oracle
from plugin_conftest import lines_of
from test_metricx import ALL, HYPOTHESES, OTHERS, PROMPTS, REFERENCES, SOURCES, scores

from ctx_metrics import COMET, SLIDE, EngineOptions, InputError, ModelError
from ctx_metrics.metricx.checkpoint import TOKENIZER_FILES
from ctx_metrics.metricx.doctor import findings
from ctx_metrics.metricx.metric import MetricX
from ctx_metrics.models.load import without_references

QUIET = EngineOptions(quiet=True)
IDS = ["a", "a", "a", "b", "b", "b"]
WINDOWS = [(0, 2), (2, 3), (3, 5), (5, 6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("checkpoints") / "metricx-24-tiny", texts=ALL)


def prompts(form: str) -> list[str]:
    def joined(texts, start, end):
        return " ".join(texts[start:end])

    return [
        form.format(src=joined(SOURCES, *of), mt=joined(HYPOTHESES, *of), ref=joined(REFERENCES, *of)) for of in WINDOWS
    ]


@pytest.mark.full
@pytest.mark.parametrize("mode", PROMPTS, ids=str)
def test_slide_scores_windows_as_the_model_does(folder, mode):
    """Without references, MetricX-24 reads the sources and hypotheses, without being told so."""
    version, referenced = mode
    own = shutil.copytree(folder, folder.parent / f"metricx-{version}-{referenced}")
    metric = SLIDE(model=str(own), sources=SOURCES, doc_ids=IDS, window=2, engine=QUIET)
    found = metric.corpus_score(HYPOTHESES, [REFERENCES] if referenced else [])
    expected = oracle(own, prompts(PROMPTS[mode]), 1536)
    assert found.score == pytest.approx(sum(w * e for w, e in zip([2, 1, 2, 1], expected, strict=True)) / 6, abs=2.5e-4)
    assert found.name == "SLIDE-MetricX" and not metric.can.higher_is_better
    info = metric.get_signature().info
    assert info["scale"] == 1 and info.get("multiref") == ("min" if referenced else None)
    assert json.dumps(info)
    again = pickle.loads(pickle.dumps(metric))
    assert again.corpus_score(HYPOTHESES, [REFERENCES] if referenced else []).score == found.score


def test_windows_of_one_segment_are_metricx_whose_best_reference_is_the_lowest(folder):
    def of(references=(REFERENCES, OTHERS), **more) -> list[float]:
        metric = SLIDE(model=str(folder), sources=SOURCES, doc_ids=IDS, window=1, engine=QUIET, **more)
        return scores(metric, references=references)

    each = [scores(MetricX(model=str(folder), sources=SOURCES), references=[s]) for s in (REFERENCES, OTHERS)]
    assert of([REFERENCES]) == each[0]
    assert of() == pytest.approx([min(pair) for pair in zip(*each, strict=True)], abs=1e-4)
    assert of(multiref="mean") == pytest.approx([sum(pair) / 2 for pair in zip(*each, strict=True)], abs=1e-4)


@pytest.mark.full
def test_long_windows_are_cut_at_the_models_limit_and_counted(folder):
    long = [" ".join(lines_of("source.de.txt"))] * 2
    metric = SLIDE(model=str(folder), sources=long, doc_ids=["a", "a"], window=2, engine=QUIET)
    found = metric.corpus_score(HYPOTHESES[:2], [REFERENCES[:2]])
    texts = {"src": " ".join(long), "mt": " ".join(HYPOTHESES[:2]), "ref": " ".join(REFERENCES[:2])}
    prompt = PROMPTS["24", True].format(**texts)
    assert found.score == pytest.approx(oracle(folder, [prompt], 1536)[0], abs=2.5e-4)
    assert metric.last_result.counts["truncated"] == 1
    strict = SLIDE(model=str(folder), sources=long, doc_ids=["a", "a"], window=2, on_long="error")
    with pytest.raises(InputError, match="longer than the model reads .1536 tokens in total"):
        strict.corpus_score(HYPOTHESES[:2], [REFERENCES[:2]])


def test_a_token_budget(folder):
    metric = SLIDE(model=str(folder), sources=SOURCES, doc_ids=IDS, tokens=90, engine=QUIET)
    metric.corpus_score(HYPOTHESES, [REFERENCES])
    estimator = metric.estimator
    for start, end, _ in (window.window for window in metric.last_result.windows):
        texts = {"src": SOURCES, "mt": HYPOTHESES, "ref": REFERENCES}
        prompt = PROMPTS["24", True].format(**{name: " ".join(own[start:end]) for name, own in texts.items()})
        [(ids, _)] = estimator.loaded.tokenizer([prompt], 2000)
        assert end - start == 1 or len(ids) + 1 <= 90


def test_a_model_without_that_choice(folder):
    with pytest.raises(ModelError, match=r"is MetricX-24, which reads mt\+src\+ref or mt\+src, not mt\+ref"):
        SLIDE(model=str(folder), sources=SOURCES, inputs="mt+ref")
    with pytest.raises(ModelError, match="does not support error spans"):
        COMET(model=str(folder), sources=SOURCES, spans=True)


def test_what_the_name_tells_of_models_on_the_hub(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert without_references("google/metricx-24-hybrid-large-v2p6") == "mt+src"
    assert without_references("google/metricx-23-qe-large-v2p0") is None
    assert without_references("Unbabel/wmt22-comet-da") is None
    with pytest.raises(ModelError, match="google/metricx-24-hybrid-large-v2p6 is not in the cache"):
        SLIDE(model="google/metricx-24-hybrid-large-v2p6", sources=SOURCES)


@pytest.mark.full
@pytest.mark.parametrize("form", ["bin shards", "safetensors"])
def test_a_converted_model_needs_neither_its_name_nor_another_tokenizer(ctx, folder, tmp_path, form):
    source = in_form(folder, tmp_path / "metricx-24-old", form)
    done = ctx("convert", source, tmp_path / "mine")
    assert done.code == 0, done.err
    names = {line.split("\t")[0].rpartition("/")[2] for line in done.out.splitlines()}
    shards = {f"model-0000{k}-of-00002.safetensors" for k in (1, 2)} | {"model.safetensors.index.json"}
    assert names == {"config.json", "tokenizer.json"} | (shards if "shards" in form else {"model.safetensors"})
    old, new = (MetricX(model=str(path), sources=SOURCES, engine=QUIET) for path in (source, tmp_path / "mine"))
    assert scores(old) == scores(new)
    assert new.estimator.signature() == {**old.estimator.signature(), "model": "mine"}
    assert SLIDE(model=str(tmp_path / "mine"), sources=SOURCES, engine=QUIET).estimator.inputs == "mt+src+ref"
    assert without_references(str(tmp_path / "mine")) == "mt+src"
    again = ctx("convert", source, tmp_path / "mine")
    assert again.code == 1 and "exists and is not an empty folder" in again.err


def test_a_converted_folder_that_was_changed(ctx, folder, tmp_path):
    assert ctx("convert", folder, tmp_path / "mine").code == 0
    with pytest.raises(InputError, match="is MetricX-24, not 23"):
        MetricX(model=str(tmp_path / "mine"), version="23")
    for changes, words in (
        ({"layer_norm_epsilon": 1e-3}, "was changed after ctx-metrics convert wrote it"),
        ({"ctx_metrics": {"version": "25", "ckpt": "", "files": ""}}, "is not as ctx-metrics convert writes it"),
        ({"ctx_metrics": "24"}, "is not as ctx-metrics convert writes it"),
    ):
        change(tmp_path / "mine", **changes)
        with pytest.raises(ModelError, match=words):
            MetricX(model=str(tmp_path / "mine"), sources=SOURCES)


def test_doctor_lists_what_the_cache_holds(folder, hub_cache):
    assert [each.text for each in findings()] == ["none in the cache"]
    alone = hub_cache("google/metricx-24-hybrid-large-v2p6", folder)
    assert [each.text.split(", ", 2)[2] for each in findings()] == ["complete"]
    for name in TOKENIZER_FILES:
        (alone / name).unlink(missing_ok=True)
    [lacking] = findings()
    assert "needs the tokenizer of google/mt5-xl, which is not in the cache" in lacking.text
    hub_cache("google/mt5-xl", folder)
    broken = hub_cache("google/metricx-23-qe-large-v2p0", alone)
    next(broken.glob("*.safetensors")).unlink()
    lacking, whole = findings()
    assert lacking.text.endswith("files are missing; fetch them: hf download google/metricx-23-qe-large-v2p0")
    assert whole.name == "google/metricx-24-hybrid-large-v2p6" and whole.text.endswith(", complete")
