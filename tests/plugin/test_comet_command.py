"""The unmodified sacrebleu command with COMET checkpoints: tests, files, and which model is loaded how often."""

import json
import re
from itertools import groupby
from pathlib import Path

import pytest
from comet_checkpoints import RECIPES, build
from plugin_conftest import DOCIDS, REF, SACREBLEU, SOURCE, A, B, C, Forked, lines_of, strict

from ctx_metrics import COMET, SLIDE
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator

SYSTEMS = [A, B, C]
SMALL = ["--paired-bs-n", "100", "--paired-ar-n", "100"]
CONTEXT = ["--source", SOURCE, "--docids", DOCIDS]


def models(name: str, *metrics: str) -> list[str]:
    """The flags that give every metric the checkpoint, whose path is put for {name}."""
    return [word for metric in metrics for word in (f"--{metric}-model", f"{{{name}}}")]


def of(name: str, metric: str, *systems: str) -> list[str]:
    return [REF, "-i", *(systems or [A]), "-m", metric, *models(name, metric), "--source", SOURCE]


def both(name: str, *systems: str) -> list[str]:
    return [REF, "-i", *(systems or [A]), "-m", "comet", "slide", *models(name, "comet", "slide"), *CONTEXT]


def paired(name: str, output: str, test: str) -> list[str]:
    """The command that the package is for, with two workers."""
    metrics = ["-m", "bleu", "comet", "slide", *models(name, "comet", "slide")]
    return [REF, "-i", *SYSTEMS, *metrics, *CONTEXT, f"--paired-{test}", *SMALL, "-j", "2", "-f", output]


PAIRED = {
    "regression json": paired("regression", "json", "bs"),
    "regression text": paired("regression", "text", "bs"),
    "kiwi json": paired("kiwi", "json", "ar"),
}
RUNS = PAIRED | {
    "regression signature": both("regression"),
    "negative confidence": [*of("kiwi", "comet"), "--confidence", "-cin", "100"],
    "slide sentences": [*of("kiwi", "slide"), "--docids", DOCIDS, "-sl", "-b", "-w", "4"],
    "xcomet files": [*both("xcomet", A, B), "--ctx-seg-scores", "{out}/xcomet"],
    "kiwi spans": [*of("kiwi", "comet", A, B), "--comet-spans", "--ctx-seg-scores", "{out}/kiwi"],
    "kiwi files": [*of("kiwi", "comet", A, B), "--ctx-seg-scores", "{out}/plain"],
    "unite files": [*of("unite", "comet"), "--ctx-seg-scores", "{out}/unite"],
    "by document": [*paired("regression", "json", "bs"), "--ctx-resample", "document"],
    "file": both("regression-file"),
    "converted": both("regression-converted"),
    "folder and file": [
        *[REF, "-i", A, B, "-m", "comet", "slide", "doccomet", *models("regression", "comet", "doccomet")],
        *[*models("regression-file", "slide"), *CONTEXT],
    ],
    "two checkpoints": [
        *[REF, "-i", A, "-m", "comet", "slide", *models("kiwi", "comet"), *models("regression", "slide"), *CONTEXT]
    ],
}

LOGGED = """
from ctx_metrics.models.comet import checkpoint as comet_checkpoint
load = comet_checkpoint.load_file
def logged(path):
    with open(job["base"] + ".log", "a") as log:
        log.write(f"{os.getpid()} {path}\\n")
    return load(path)
comet_checkpoint.load_file = logged
"""


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("checkpoints")
    made = {name: build(RECIPES[name], folder / name) for name in ("regression", "kiwi", "xcomet", "unite")}
    made["regression-file"] = made["regression"] / "checkpoints" / "model.ckpt"
    made["regression-converted"] = folder / "converted" / "regression"
    convert(str(made["regression"]), made["regression-converted"])
    return made


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def runs(checkpoints, out, tmp_path_factory) -> Forked:
    places = {name: str(path) for name, path in {**checkpoints, "out": out}.items()}
    jobs = {name: {"args": [argument.format(**places) for argument in arguments]} for name, arguments in RUNS.items()}
    return Forked(tmp_path_factory.mktemp("runs"), LOGGED + SACREBLEU, jobs)


@pytest.fixture(scope="module")
def metrics(checkpoints) -> dict:
    """The same metrics in Python, by checkpoint and name; every system is scored by itself there."""
    source, ids = lines_of(SOURCE), lines_of(DOCIDS)
    made = {}
    for name in ("regression", "kiwi"):
        model = str(checkpoints[name])
        made[name, "COMET"] = COMET(sources=source, model=model)
        made[name, "SLIDE"] = SLIDE(sources=source, doc_ids=ids, model=model)
    return made


@pytest.fixture(scope="module")
def expected(metrics) -> dict[tuple[str, str], list[float]]:
    """The scores of systems A, B and C in Python, by checkpoint and metric."""
    return {
        key: [metric.corpus_score(lines_of(system), [lines_of(REF)]).score for system in SYSTEMS]
        for key, metric in metrics.items()
    }


def scored(done) -> dict[str, str]:
    """Metric -> score as printed, of a run with one system."""
    return {each["name"]: str(each["score"]) for each in strict(done.stdout)}


def signatures(done) -> dict[str, str]:
    return {each["name"]: each["signature"] for each in strict(done.stdout)}


# the command that the package is for

DEPENDENT = "slide: the sentences of a window share its score, so intervals and p-values from resampled segments "
DEPENDENT += "are too small; resample whole documents with --ctx-resample document"
LONG = "508 tokens per text, 512 in total"
NINE = f"slide: every system: 9 windows were truncated ({LONG}), starting at segments 1, 7, 14, 23, 29, ..."
FIRST = "slide: every system: 1 window was truncated (508 tokens per text), starting at segment 1"
NOTICES = {"regression": [DEPENDENT, FIRST], "kiwi": [DEPENDENT, NINE]}
SAID_BY_SACREBLEU = r"sacreBLEU: (Found 3 systems\.|Pre-computing |Computing |Launching | > Performing ).*"


@pytest.mark.parametrize("name", PAIRED)
def test_only_what_must_be_said_is_said(runs, name):
    done = runs[name]
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if not re.fullmatch(SAID_BY_SACREBLEU, line)]
    assert sorted(lines) == sorted(f"sacreBLEU: {text}" for text in NOTICES[name.split()[0]])
    assert "\r" not in done.stdout + done.stderr  # no progress bar where there is no terminal


@pytest.mark.parametrize("name", NOTICES)
def test_the_scores_are_those_of_python(runs, expected, name):
    rows = strict(runs[f"{name} json"].stdout)
    assert [row["system"] for row in rows] == [f"Baseline: {A}", B, C]
    for metric in ("COMET", "SLIDE"):
        cells = [row[metric] for row in rows]
        assert [cell["score"] for cell in cells] == pytest.approx(expected[name, metric], abs=1e-3)
        assert cells[0]["p_value"] is None and all(0 < cell["p_value"] <= 1 for cell in cells[1:])
        if name == "regression":
            assert all(abs(cell["mean"] - cell["score"]) < cell["ci"] for cell in cells)
        else:
            assert all(cell["mean"] is cell["ci"] is None for cell in cells)
    assert rows[0]["BLEU"]["score"] == pytest.approx(24.5, abs=0.05)


def test_a_table_shows_the_scores_of_the_json_above_the_signatures(runs):
    """Their digits, as sacrebleu rounds them, and in their places."""
    printed = runs["regression text"].stdout
    for row in strict(runs["regression json"].stdout):
        [line] = [line for line in printed.splitlines() if f"{row['system']} │" in line]
        cells = [cell.split()[0] for cell in line.split(f"{row['system']} │")[1].split("│")[:3]]
        assert cells == [f"{row[metric]['score']:.1f}" for metric in ("BLEU", "COMET", "SLIDE")]
    for metric, text in signatures(runs["regression signature"]).items():
        text = text.replace("nrefs:1|", "nrefs:1|bs:100|seed:12345|")
        assert re.search(rf"^ - {metric} +{re.escape(text)}$", printed, re.M)


def test_one_system_is_scored_as_among_several_and_signed(runs, metrics):
    found, baseline = signatures(runs["regression signature"]), strict(runs["regression json"].stdout)[0]
    assert scored(runs["regression signature"]) == {m: f"{baseline[m]['score']:.1f}" for m in ("COMET", "SLIDE")}
    ckpt = metrics["regression", "COMET"].estimator.model.ckpt
    assert re.fullmatch("[0-9a-f]{12}", ckpt)
    start = f"nrefs:1|model:regression|ckpt:{ckpt}|inputs:mt+src+ref|dtype:fp32|maxlen:508|long:truncate|multiref:max|"
    end = r"scale:100\|ctx:[^|]+\|torch:[^|]+\|tokenizers:[^|]+\|version:[^|]+"
    assert re.fullmatch(re.escape(start) + end, found["COMET"])
    assert found["SLIDE"] == found["COMET"].replace("scale:", "docs:ids|window:6|stride:6|partial:weight|scale:")


# other modes


def test_sentences_of_a_window_share_its_score(runs, metrics):
    values = [float(line) for line in runs["slide sentences"].stdout.splitlines()]
    scores = [score.score for score in metrics["kiwi", "SLIDE"].segment_scores(lines_of(A), [lines_of(REF)])]
    assert values == pytest.approx(scores, abs=1e-3)
    assert len(set(values[:6])) == 1 and values[5] != values[6]


def test_confidence_below_zero(runs, expected):
    """sacrebleu itself leaves out the interval of a mean that is not positive."""
    found = strict(runs["negative confidence"].stdout)
    assert found["score"] == pytest.approx(expected["kiwi", "COMET"][0], abs=0.051) and found["score"] < 0
    assert abs(found["confidence_mean"] - found["score"]) < found["confidence_var"]
    assert found["confidence"] == f"μ = {found['confidence_mean']} ± {found['confidence_var']}"


def test_resampling_documents(runs):
    done = runs["by document"]
    rows, segments = strict(done.stdout), strict(runs["regression json"].stdout)
    for row, other in zip(rows, segments):
        for metric in ("COMET", "SLIDE"):
            assert row[metric]["score"] == other[metric]["score"] and row[metric]["ci"] != other[metric]["ci"]
    assert "share its score" not in done.stderr and "there are only 7 documents" in done.stderr


# files


def details(path: Path) -> dict[str, list[dict]]:
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {system: list(found) for system, found in groupby(lines, lambda line: line["system"])}


@pytest.mark.full
@pytest.mark.parametrize("run, file", [("xcomet files", "comet-ref_en"), ("kiwi spans", "comet-src")])
def test_error_spans_are_written(runs, checkpoints, out, run, file):
    assert runs[run].returncode == 0
    name = run.split()[0]
    found = details(out / name / f"{file}.seg.jsonl")
    estimator = load_estimator(str(checkpoints[name]), EngineOptions(quiet=True), spans=True)
    assert list(found) == ["system_a.en", "system_b.en"]
    for system, of_system in zip((A, B), found.values()):
        examples = [Example(*texts) for texts in zip(lines_of(system), lines_of(REF), lines_of(SOURCE))]
        assert [line["segment"] for line in of_system] == list(range(1, 60))
        for line, estimate in zip(of_system, estimator.estimate(examples, "test")):
            assert line["score"] == pytest.approx(100 * estimate.value, abs=1e-3)
            assert line["parts"].keys() == estimate.parts.keys()
            kept = ("text", "severity", "start", "end")
            spans = [span._asdict() for span in estimate.spans]
            assert [[s[k] for k in kept] for s in line["error_spans"]] == [[s[k] for k in kept] for s in spans]
            assert [s["confidence"] for s in line["error_spans"]] == pytest.approx([s["confidence"] for s in spans])
    severities = [span["severity"] for lines in found.values() for line in lines for span in line["error_spans"]]
    assert len(severities) > 500 and len(set(severities)) == (3 if name == "xcomet" else 2)


@pytest.mark.full
def test_windows_have_spans_too(runs, out):
    assert runs["xcomet files"].returncode == 0
    [first, *_] = details(out / "xcomet" / "slide-ref_en.seg.jsonl")["system_a.en"]
    assert first["segments"] == [1, 6] and first["error_spans"]
    assert set(first["parts"]) == {"src", "ref", "unified", "mqm"}


@pytest.mark.full
def test_without_spans_there_is_no_more_to_say(runs, out):
    assert runs["kiwi files"].returncode == runs["unite files"].returncode == 0
    assert runs["kiwi files"].stdout == runs["kiwi spans"].stdout
    assert {path.name for path in (out / "plain").iterdir()} == {"comet-src.seg.score", "comet-src.sys.score"}
    [lines] = details(out / "unite" / "comet-ref_en.seg.jsonl").values()
    assert all(set(line) == {"system", "segment", "score", "parts"} for line in lines)
    assert all(line["score"] == pytest.approx(sum(line["parts"].values()) / 3) for line in lines)


# one checkpoint in other forms


@pytest.mark.full
def test_other_forms_of_a_checkpoint_have_its_scores_and_hash(runs):
    assert runs["file"].stdout == runs["converted"].stdout == runs["regression signature"].stdout
    assert runs.log("converted")[0].endswith("model.safetensors")


@pytest.mark.parametrize(
    "name, times",
    [pytest.param("folder and file", 1, marks=pytest.mark.full), ("two checkpoints", 2), ("by document", 1)],
)
def test_metrics_of_one_checkpoint_load_it_once(runs, name, times):
    """Also with -j 2: the workers get statistics only."""
    loaded = [line.split(" ", 1) for line in runs.log(name)]
    assert len({path for _, path in loaded}) == times == len(loaded) and len({pid for pid, _ in loaded}) == 1
