"""BLEURT where any quality model or metric may be named: slide, the commands, and `ctx-metrics convert`."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bleurt_folders import make, oracle
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import lines_of
from report_pages import data_in
from test_bleurt import rewritten, stated

from ctx_metrics import BLEURT, COMET, SLIDE, EngineOptions, InputError, ModelError, read_lines
from ctx_metrics.bleurt.doctor import findings
from ctx_metrics.metricx.metric import MetricX

NAMES = ["a", "b", "c"]
SYSTEMS = [lines_of(f"system_{name}.en.txt")[:12] for name in NAMES]
SOURCES, REFERENCES = lines_of("source.de.txt")[:12], lines_of("ref.en.txt")[:12]
DOCIDS = ["d1"] * 5 + ["d2"] * 7
QUIET = EngineOptions(quiet=True)
CLOSE = 1e-3  # 1e-5 of the values, which are printed x100


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    texts = [text for texts in zip(*SYSTEMS, REFERENCES, strict=True) for text in texts]
    return make(tmp_path_factory.mktemp("model") / "BLEURT-20-tiny", texts=texts)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, lines in zip([*NAMES, "src", "ref", "ids"], [*SYSTEMS, SOURCES, REFERENCES, DOCIDS], strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def values(model) -> np.ndarray:
    """By the oracle, of all systems' segments, x100: [systems, segments]."""
    return 100 * np.array([oracle(model, list(zip(system, REFERENCES, strict=True))) for system in SYSTEMS])


def given(files: Path, model: Path, *more) -> list:
    return [
        "-t",
        *(files / each for each in NAMES),
        "-r",
        files / "ref",
        "-m",
        "bleurt",
        "--bleurt-model",
        model,
        *more,
    ]


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


def test_score_and_compare(ctx, files, model, values):
    rows = ctx("score", *given(files, model, "--level", "system", "--format", "jsonl")).objects()
    assert [row["score"] for row in rows] == pytest.approx(values.mean(1), abs=CLOSE)
    assert [row["metric"] for row in rows] == ["bleurt"] * 3
    by_model = ctx("score", *given(files, model)[:-2], "--model", model, "--level", "system", "--format", "jsonl")
    assert [row["score"] for row in by_model.objects()] == [row["score"] for row in rows]
    rows = ctx("compare", *given(files, model, "--format", "jsonl")).objects()
    for row in rows:
        own, other = (NAMES.index(row[each]) for each in ("system", "other"))
        assert row["difference"] == pytest.approx(values[own].mean() - values[other].mean(), abs=CLOSE)


def test_mbr_chooses_by_the_pairs_of_candidates(ctx, files, model):
    """Each candidate is the hypothesis, and all others, and itself, are references."""
    expected = []
    for texts in zip(*SYSTEMS, strict=True):
        utility = [np.mean(oracle(model, [(hypothesis, reference) for reference in texts])) for hypothesis in texts]
        expected.append(texts[int(np.argmax(utility))])
    done = ctx("mbr", *(files / each for each in NAMES), "-m", "bleurt", "--bleurt-model", model, "-q")
    assert done.out.splitlines() == expected, done.err


def test_rerank_has_no_references(ctx, files, model):
    systems = [files / each for each in NAMES]
    done = ctx("rerank", *systems, "-s", files / "src", "-m", "bleurt", "--bleurt-model", model, "-q")
    says = "bleurt: needs a reference, but candidates have none; use ctx-metrics mbr with it"
    assert done.code == 1 and done.err == f"ctx-metrics: error: {says}\n"


def test_annotate(ctx, files, model, values, tmp_path):
    table = tmp_path / "table.jsonl"
    rows = [{"mt": text, "ref": reference} for text, reference in zip(SYSTEMS[0], REFERENCES, strict=True)]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = ctx("annotate", table, "-o", tmp_path / "out", "-m", "bleurt", "--bleurt-model", model)
    assert done.code == 0, done.err
    found = [json.loads(line) for part in sorted((tmp_path / "out").glob("part-*")) for line in read_lines(str(part))]
    assert [row["bleurt"] for row in found] == pytest.approx(values[0], abs=CLOSE)


def test_meta(ctx, model, values, tmp_path):
    """People's scores that are the metric's agree with it fully."""
    table = tmp_path / "judged.tsv"
    rows = [("system", "segment", "src", "ref", "mt", "score")] + [
        (system, i, SOURCES[i], REFERENCES[i], text, values[k, i])
        for k, (system, lines) in enumerate(zip(NAMES, SYSTEMS, strict=True))
        for i, text in enumerate(lines)
    ]
    table.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    asked = ["-m", "bleurt", "--bleurt-model", model, "-p", "seg-pearson", "--format", "tsv"]
    done = ctx("meta", table, "-l", "de-en", *asked)
    assert done.code == 0, done.err
    found = [float(row["value"]) for row in done.rows() if row["metric"] == "bleurt"]
    assert found and found == pytest.approx([1.0] * len(found), abs=1e-6)


@pytest.mark.full
def test_report(ctx, files, model, values, tmp_path):
    page = tmp_path / "report.html"
    done = ctx("report", *given(files, model, "-o", page))
    assert done.code == 0, done.err
    of_metric, *_ = data_in(page.read_text(encoding="utf-8"))["metrics"]
    assert (of_metric["title"], of_metric["sign"]) == ("BLEURT", 1)
    assert of_metric["system"] == pytest.approx(values.mean(1), abs=CLOSE)


@pytest.mark.full
def test_sacrebleu_with_a_paired_test_and_slide(files, model, values):
    command = [Path(sys.executable).with_name("sacrebleu"), files / "ref", "-i", *(files / each for each in NAMES)]
    command += ["-m", "bleurt", "slide", "--bleurt-model", model, "--slide-model", model, "--slide-window", "1"]
    command += ["--docids", files / "ids", "--paired-bs", "--paired-bs-n", "50", "-f", "json", "-w", "4"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    assert {"BLEURT", "SLIDE-BLEURT"} < rows[0].keys()
    for name in ("BLEURT", "SLIDE-BLEURT"):
        assert [row[name]["score"] for row in rows] == pytest.approx(values.mean(1), abs=2e-3)


@pytest.mark.parametrize("form", ["bin", "bin shards", "safetensors"])
def test_a_converted_model(ctx, model, tmp_path, form):
    source = rewritten(model, tmp_path / "old", form)
    done = ctx("convert", source, tmp_path / "mine")
    assert done.code == 0, done.err
    assert {line.split("\t")[0].rpartition("/")[2] for line in done.out.splitlines()} == {
        "config.json",
        "model.safetensors",
        "spm.model",
    }
    old, new = (BLEURT(model=str(path), engine=QUIET) for path in (source, tmp_path / "mine"))
    for system in SYSTEMS:
        assert [each.score for each in old.segment_scores(system, [REFERENCES])] == [
            each.score for each in new.segment_scores(system, [REFERENCES])
        ]
    assert new.estimator.signature() == {**old.estimator.signature(), "model": "mine"}
    assert ctx("convert", tmp_path / "mine", tmp_path / "again").code == 0
    assert BLEURT(model=str(tmp_path / "again")).estimator.model.ckpt == old.estimator.model.ckpt
    refused = ctx("convert", source, tmp_path / "mine")
    assert refused.code == 1 and "exists and is not an empty folder" in refused.err


def test_a_converted_folder_that_was_changed(ctx, model, tmp_path):
    assert ctx("convert", model, tmp_path / "mine").code == 0
    stated(tmp_path / "mine", hidden_act="gelu_new")
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
