"""The unmodified sacrebleu command over COMET checkpoints of every class, in all its modes."""

import csv
import json
import math
import re
import shutil
from itertools import groupby
from pathlib import Path

import pytest
from comet_checkpoints import RECIPES, build
from plugin_conftest import DOCIDS, REF, SACREBLEU, SOURCE, A, B, C, Forked, lines_of, strict
from selection import some, some_rows

from ctx_metrics import COMET, SLIDE, DocCOMET
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator

INPUTS = {
    "regression": "mt+src+ref",
    "referenceless": "mt+src",
    "kiwi": "mt+src",
    "unite": "mt+src+ref",
    "unite-ref": "mt+ref",
    "xcomet": "mt+src+ref",
}
MAXLEN = dict.fromkeys(INPUTS, 512) | {"regression": 508, "referenceless": 508}
WITH_SOURCE = [name for name, inputs in INPUTS.items() if "src" in inputs]
POOLED = ["regression", "referenceless"]
SENTENCES = ["referenceless", "unite-ref", "xcomet"]
SYSTEMS = [A, B, C]
SMALL = ["--paired-bs-n", "100", "--paired-ar-n", "100"]
CONTEXT = ["--source", SOURCE, "--docids", DOCIDS]


def models(name: str, *metrics: str) -> list[str]:
    """The flags that give every metric the checkpoint, whose path is put for {name}."""
    return [word for metric in metrics for word in (f"--{metric}-model", f"{{{name}}}")]


def comet(name: str, *systems: str, reference: str = REF) -> list[str]:
    source = ["--source", SOURCE] if name in WITH_SOURCE else []
    return [reference, "-i", *(systems or [A]), "-m", "comet", *models(name, "comet"), *source]


def slide(name: str, *systems: str) -> list[str]:
    return [REF, "-i", *(systems or [A]), "-m", "slide", *models(name, "slide"), *CONTEXT]


def both(name: str, *systems: str) -> list[str]:
    return [REF, "-i", *(systems or [A]), "-m", "comet", "slide", *models(name, "comet", "slide"), *CONTEXT]


def paired(name: str, output: str, test: str) -> list[str]:
    """The command that the package is for, with two workers."""
    metrics = ["-m", "bleu", "comet", "slide", *models(name, "comet", "slide")]
    return [REF, "-i", *SYSTEMS, *metrics, *CONTEXT, f"--paired-{test}", *SMALL, "-j", "2", "-f", output]


TESTS = {name: "ar" if name in ("unite", "kiwi") else "bs" for name in INPUTS}
PAIRED = {
    f"{name} {output}": paired(name, output, TESTS[name]) for name in INPUTS for output in ("json", "text", "latex")
}
RUNS = PAIRED | {
    **{f"{name} signature": both(name) for name in INPUTS},
    **{f"{name} sentences": [*comet(name), "-sl", "-b", "-w", "4"] for name in SENTENCES},
    **{f"{name} doccomet": [REF, "-i", A, B, "-m", "doccomet", *models(name, "doccomet"), *CONTEXT] for name in POOLED},
    "kiwi source as reference": comet("kiwi", reference=SOURCE),
    "referenceless source as reference": comet("referenceless", reference=SOURCE),
    "unite by reference": [REF, "-i", A, "-m", "comet", *models("unite", "comet"), "--comet-inputs", "mt+ref"],
    "xcomet by source": [*comet("xcomet"), "--comet-inputs", "mt+src"],
    "confidence": [*comet("xcomet"), "--confidence", "-cin", "100", "-f", "text"],
    "negative confidence": [*comet("kiwi"), "--confidence", "-cin", "100"],
    "slide sentences": [*slide("kiwi"), "-sl", "-b", "-w", "4"],
    "none too long": [*comet("regression"), "--comet-on-long", "error"],
    "xcomet files": [*both("xcomet", A, B), "--ctx-seg-scores", "{out}/xcomet", "--slide-output", "{out}/slide.tsv"],
    "kiwi spans": [*comet("kiwi", A, B), "--comet-spans", "--ctx-seg-scores", "{out}/kiwi"],
    "kiwi files": [*comet("kiwi", A, B), "--ctx-seg-scores", "{out}/plain"],
    "unite files": [*comet("unite"), "--ctx-seg-scores", "{out}/unite"],
    "by document": [*paired("regression", "json", "bs"), "--ctx-resample", "document"],
    "file": both("regression-file"),
    "converted": both("regression-converted"),
    "converted xcomet": both("xcomet-converted"),
    "folder and file": [
        *[REF, "-i", A, B, "-m", "comet", "slide", "doccomet", *models("regression", "comet", "doccomet")],
        *[*models("regression-file", "slide"), *CONTEXT],
    ],
    "two checkpoints": [
        *[REF, "-i", A, "-m", "comet", "slide", *models("kiwi", "comet"), *models("regression", "slide"), *CONTEXT]
    ],
    "two references": [REF, B, "-i", A, "-m", "comet", *models("regression", "comet"), "--source", SOURCE],
    "an empty line": [REF, "-i", "{out}/gap", "-m", "comet", *models("kiwi", "comet"), "--source", SOURCE],
}
# the default run has two checkpoints, whose inputs and heads differ most, in JSON, one in tables too, and of runs that differ
# in the checkpoint alone one
MAIN = ["regression", "kiwi"]
TABLES = [("regression", "text")]
REST = {name for name in PAIRED if name.split()[0] in set(INPUTS) - set(MAIN)} | {
    "kiwi text",
    "kiwi latex",
    "regression latex",
}
REST |= {f"{name} signature" for name in set(INPUTS) - {"regression"}}
REST |= {"referenceless sentences", "unite-ref sentences", "referenceless doccomet", "converted xcomet"}
REST |= {"referenceless source as reference", "unite by reference", "folder and file"}
REST |= {"kiwi source as reference", "kiwi files"}

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
    made = {name: build(RECIPES[name], folder / name) for name in INPUTS}
    made["regression-file"] = made["regression"] / "checkpoints" / "model.ckpt"
    for name in ("regression", "xcomet"):
        made[f"{name}-converted"] = folder / "converted" / name
        convert(str(made[name]), made[f"{name}-converted"])
    return made


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    (folder / "gap").write_text("\n".join(["", *lines_of(A)[1:]]) + "\n")
    return folder


@pytest.fixture(scope="module")
def runs(checkpoints, out, tmp_path_factory) -> Forked:
    places = {name: str(path) for name, path in {**checkpoints, "out": out}.items()}
    folder = tmp_path_factory.mktemp("runs")
    jobs = {name: {"args": [argument.format(**places) for argument in arguments]} for name, arguments in RUNS.items()}
    return Forked(folder, LOGGED + SACREBLEU, jobs)


@pytest.fixture(scope="module")
def metrics(checkpoints) -> dict:
    """The same metrics in Python, by checkpoint and name; every system is scored by itself there."""
    source, ids = lines_of(SOURCE), lines_of(DOCIDS)
    made = {}
    for name in INPUTS:
        model = str(checkpoints[name])
        made[name, "COMET"] = COMET(sources=source, model=model)
        made[name, "SLIDE"] = SLIDE(sources=source, doc_ids=ids, model=model)
        if name in POOLED:
            made[name, "DocCOMET"] = DocCOMET(sources=source, doc_ids=ids, model=model)
    return made


class Expected(dict):
    """The scores of systems A, B and C in Python, by checkpoint and metric."""

    def __init__(self, metrics: dict):
        self.metrics = metrics

    def __missing__(self, key: tuple[str, str]) -> list[float]:
        metric, reference = self.metrics[key], [lines_of(REF)]
        scores = self[key] = [metric.corpus_score(lines_of(system), reference).score for system in SYSTEMS]
        return scores


@pytest.fixture(scope="module")
def expected(metrics) -> Expected:
    return Expected(metrics)


def scored(done) -> dict[str, str]:
    """Metric -> score as printed, of a run with one system."""
    return {each["name"]: str(each["score"]) for each in strict(done.stdout)}


def signatures(done) -> dict[str, str]:
    return {each["name"]: each["signature"] for each in strict(done.stdout)}


def without_name(signature: str) -> str:
    return re.sub(r"model:[^|]+", "model:", signature)


def test_the_expected_scores_differ_enough_to_tell_runs_apart(expected):
    printed = [tuple(f"{score:.1f}" for score in scores) for scores in expected.values()]
    assert len(set(printed)) == len(printed)


@pytest.mark.parametrize("name", some(sorted(RUNS), sorted(set(RUNS) - REST)))
def test_it_runs(runs, name):
    done = runs[name]
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "Warning" not in done.stderr and "\r" not in done.stdout + done.stderr


# the command that the package is for

DEPENDENT = "slide: the sentences of a window share its score, so intervals and p-values from resampled segments "
DEPENDENT += "are too small; resample whole documents with --ctx-resample document"
LONG = "508 tokens per text, 512 in total"
NINE = f"slide: every system: 9 windows were truncated ({LONG}), starting at segments 1, 7, 14, 23, 29, ..."
ELEVEN = f"slide: every system: 11 windows were truncated ({LONG}), starting at segments 1, 7, 14, 20, 23, ..."
FIFTH = f"comet: every system: 1 segment was truncated ({LONG}): segment 5"
FIRST = "slide: every system: 1 window was truncated (508 tokens per text), starting at segment 1"
UNREAD = "none of the chosen metrics reads --source (bleu, comet, slide); the model of comet and slide ({}) ignores it"
NOTICES = {
    "regression": [DEPENDENT, FIRST],
    "referenceless": [DEPENDENT, FIRST],
    "kiwi": [DEPENDENT, NINE],
    "unite": [DEPENDENT, FIFTH, ELEVEN],
    "unite-ref": [DEPENDENT, UNREAD, NINE],
    "xcomet": [DEPENDENT, FIFTH, ELEVEN],
}
SAID_BY_SACREBLEU = r"sacreBLEU: (Found 3 systems\.|Pre-computing |Computing |Launching | > Performing ).*"


@pytest.mark.parametrize("name", some(PAIRED, set(PAIRED) - REST))
def test_only_what_must_be_said_is_said(runs, name):
    lines = [line for line in runs[name].stderr.splitlines() if not re.fullmatch(SAID_BY_SACREBLEU, line)]
    lines = [re.sub(r"(the model of comet and slide) \(.*\)", r"\1 ({})", line) for line in lines]
    assert sorted(lines) == sorted(f"sacreBLEU: {text}" for text in NOTICES[name.split()[0]])


@pytest.mark.parametrize("name", some(INPUTS, MAIN))
def test_the_scores_are_those_of_python(runs, expected, name):
    rows = strict(runs[f"{name} json"].stdout)
    assert [row["system"] for row in rows] == [f"Baseline: {A}", B, C]
    for metric in ("COMET", "SLIDE"):
        cells = [row[metric] for row in rows]
        assert [cell["score"] for cell in cells] == pytest.approx(expected[name, metric], abs=1e-3)
        assert cells[0]["p_value"] is None and all(0 < cell["p_value"] <= 1 for cell in cells[1:])
        if TESTS[name] == "bs":
            assert all(abs(cell["mean"] - cell["score"]) < cell["ci"] for cell in cells)
        else:
            assert all(cell["mean"] is cell["ci"] is None for cell in cells)
    assert rows[0]["BLEU"]["score"] == pytest.approx(24.5, abs=0.05)


@pytest.mark.parametrize(
    "name, output", some_rows([(name, output) for name in INPUTS for output in ("text", "latex")], TABLES)
)
def test_tables_show_the_scores_of_the_json(runs, name, output):
    """Their digits, as sacrebleu rounds them, and in their places."""
    separator = {"text": "│", "latex": "&"}[output]
    for row in strict(runs[f"{name} json"].stdout):
        system = row["system"].replace("_", r"\_") if output == "latex" else row["system"]
        [line] = [line for line in runs[f"{name} {output}"].stdout.splitlines() if f"{system} {separator}" in line]
        cells = [cell.split()[0] for cell in line.split(f"{system} {separator}")[1].split(separator)[:3]]
        assert cells == [f"{row[metric]['score']:.1f}" for metric in ("BLEU", "COMET", "SLIDE")]


def signature(name: str, ckpt: str) -> str:
    multiref = "multiref:max|" if "ref" in INPUTS[name] else ""
    return f"model:{name}|ckpt:{ckpt}|inputs:{INPUTS[name]}|dtype:fp32|maxlen:{MAXLEN[name]}|long:truncate|{multiref}"


@pytest.mark.parametrize("name", some(INPUTS, MAIN[:1]))
def test_the_signature(runs, metrics, name):
    ckpt = metrics[name, "COMET"].estimator.model.ckpt
    assert re.fullmatch("[0-9a-f]{12}", ckpt)
    nrefs = f"nrefs:{int('ref' in INPUTS[name])}|"
    start = nrefs + signature(name, ckpt)
    found = signatures(runs[f"{name} signature"])
    assert set(found) == {"COMET", "SLIDE"}
    assert re.fullmatch(
        re.escape(start) + r"scale:100\|ctx:[^|]+\|torch:[^|]+\|tokenizers:[^|]+\|version:[^|]+", found["COMET"]
    )
    assert found["SLIDE"] == found["COMET"].replace("scale:", "docs:ids|window:6|stride:6|partial:weight|scale:")


@pytest.mark.parametrize(
    "name, output", some_rows([(name, output) for name in INPUTS for output in ("text", "latex")], TABLES)
)
def test_the_signatures_below_a_table(runs, name, output):
    nrefs = f"nrefs:{int('ref' in INPUTS[name])}|"
    resampled = "ar:100|seed:12345|" if TESTS[name] == "ar" else "bs:100|seed:12345|"
    for metric, text in signatures(runs[f"{name} signature"]).items():
        text = text.replace(nrefs, nrefs + resampled)
        assert re.search(rf"^ - {metric} +{re.escape(text)}$", runs[f"{name} {output}"].stdout, re.M)


@pytest.mark.parametrize("name", some(INPUTS, MAIN[:1]))
def test_one_system_is_scored_as_among_several(runs, name):
    baseline = strict(runs[f"{name} json"].stdout)[0]
    assert scored(runs[f"{name} signature"]) == {m: f"{baseline[m]['score']:.1f}" for m in ("COMET", "SLIDE")}


@pytest.mark.full
@pytest.mark.parametrize("name", some(POOLED, MAIN[:1]))
def test_doccomet(runs, expected, name):
    done = runs[f"{name} doccomet"]
    rows = strict(done.stdout)
    assert [row["DocCOMET"] for row in rows] == [f"{score:.1f}" for score in expected[name, "DocCOMET"][:2]]
    assert done.stderr == "sacreBLEU: Found 2 systems.\n"


# other modes


@pytest.mark.parametrize("name", some(SENTENCES, ["xcomet"]))
def test_sentences(runs, metrics, name):
    values = [float(line) for line in runs[f"{name} sentences"].stdout.splitlines()]
    scores = [score.score for score in metrics[name, "COMET"].segment_scores(lines_of(A), [lines_of(REF)])]
    assert values == pytest.approx(scores, abs=1e-3) and len(set(values)) > 50


def test_sentences_of_a_window_share_its_score(runs, metrics):
    values = [float(line) for line in runs["slide sentences"].stdout.splitlines()]
    scores = [score.score for score in metrics["kiwi", "SLIDE"].segment_scores(lines_of(A), [lines_of(REF)])]
    assert values == pytest.approx(scores, abs=1e-3)
    assert len(set(values[:6])) == 1 and values[5] != values[6]


@pytest.mark.full
def test_confidence(runs, expected):
    [(score, mean, width)] = re.findall(r" = (\S+) \(μ = (\S+) ± (\S+)\)", runs["confidence"].stdout)
    assert score == f"{expected['xcomet', 'COMET'][0]:.1f}" and 0 < float(width) < 10
    assert abs(float(mean) - float(score)) < float(width)
    assert runs["confidence"].stderr == f"sacreBLEU: {FIFTH.replace('every system: ', '')}\n"


def test_confidence_below_zero(runs, expected):
    """sacrebleu itself leaves out the interval of a mean that is not positive."""
    found = strict(runs["negative confidence"].stdout)
    assert found["score"] == pytest.approx(expected["kiwi", "COMET"][0], abs=0.051) and found["score"] < 0
    assert abs(found["confidence_mean"] - found["score"]) < found["confidence_var"]
    assert found["confidence"] == f"μ = {found['confidence_mean']} ± {found['confidence_var']}"


@pytest.mark.parametrize("name", some(["kiwi", "referenceless"], ["kiwi"]))
def test_the_source_stands_in_for_a_reference_that_is_not_read(runs, expected, name):
    found = strict(runs[f"{name} source as reference"].stdout)
    assert f"{found['score']:.1f}" == f"{expected[name, 'COMET'][0]:.1f}" and found["inputs"] == "mt+src"


@pytest.mark.full
@pytest.mark.parametrize(
    "run, model, inputs",
    some_rows(
        [("unite by reference", "unite", "mt+ref"), ("xcomet by source", "xcomet", "mt+src")],
        [("xcomet by source", "xcomet", "mt+src")],
    ),
)
def test_fewer_inputs(runs, expected, checkpoints, run, model, inputs):
    found = strict(runs[run].stdout)
    metric = COMET(sources=lines_of(SOURCE), model=str(checkpoints[model]), inputs=inputs)
    score = metric.corpus_score(lines_of(A), [lines_of(REF)]).score
    assert found["inputs"] == inputs and found["score"] == pytest.approx(score, abs=0.051)
    assert abs(score - expected[model, "COMET"][0]) > 0.1 and "--source" not in runs[run].stderr


def test_several_references(runs, expected):
    found = strict(runs["two references"].stdout)
    assert found["nrefs"] == "2" and found["score"] > expected["regression", "COMET"][0] + 1


def test_an_empty_line_is_scored_as_it_is_and_said(runs, metrics):
    gap = ["", *lines_of(A)[1:]]
    score = metrics["kiwi", "COMET"].corpus_score(gap, [lines_of(REF)]).score
    found = strict(runs["an empty line"].stdout)
    assert found["score"] == pytest.approx(score, abs=0.051) and found["verbose_score"] == "(empty = 1)"
    said = "comet: 1 segment has an empty hypothesis or source and is scored as it is (segment 1)"
    assert runs["an empty line"].stderr == f"sacreBLEU: {said}\n"


def test_an_error_for_long_texts_where_none_is_long(runs):
    assert strict(runs["none too long"].stdout)["long"] == "error"


def test_resampling_documents(runs):
    done = runs["by document"]
    rows, segments = strict(done.stdout), strict(runs["regression json"].stdout)
    for row, other in zip(rows, segments):
        for metric in ("COMET", "SLIDE"):
            assert row[metric]["score"] == other[metric]["score"] and row[metric]["ci"] != other[metric]["ci"]
    assert "share its score" not in done.stderr and "there are only 7 documents" in done.stderr


# files


def examples(system: str) -> list[Example]:
    return [Example(*texts) for texts in zip(lines_of(system), lines_of(REF), lines_of(SOURCE))]


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
        assert [line["segment"] for line in of_system] == list(range(1, 60))
        for line, estimate in zip(of_system, estimator.estimate(examples(system), "test")):
            assert line["score"] == pytest.approx(100 * estimate.value, abs=1e-3)
            assert line["parts"].keys() == estimate.parts.keys()
            kept = ("text", "severity", "start", "end")
            spans = [span._asdict() for span in estimate.spans]
            assert [[s[k] for k in kept] for s in line["error_spans"]] == [[s[k] for k in kept] for s in spans]
            assert [s["confidence"] for s in line["error_spans"]] == pytest.approx([s["confidence"] for s in spans])
    severities = [span["severity"] for lines in found.values() for line in lines for span in line["error_spans"]]
    assert len(severities) > 500 and len(set(severities)) == (3 if name == "xcomet" else 2)


def test_windows_have_spans_too(runs, out):
    assert runs["xcomet files"].returncode == 0
    [first, *_] = details(out / "xcomet" / "slide-ref_en.seg.jsonl")["system_a.en"]
    assert first["segments"] == [1, 6] and first["error_spans"]
    assert set(first["parts"]) == {"src", "ref", "unified", "mqm"}


def test_without_spans_there_is_no_more_to_say(runs, out):
    assert runs["kiwi files"].returncode == runs["unite files"].returncode == 0
    assert {path.name for path in (out / "plain").iterdir()} == {"comet-src.seg.score", "comet-src.sys.score"}
    [lines] = details(out / "unite" / "comet-ref_en.seg.jsonl").values()
    assert all(set(line) == {"system", "segment", "score", "parts"} for line in lines)
    assert all(line["score"] == pytest.approx(sum(line["parts"].values()) / 3) for line in lines)


def test_spans_change_no_score(runs):
    assert runs["kiwi spans"].stdout == runs["kiwi files"].stdout


def test_the_table_of_slide(runs, out, expected):
    assert runs["xcomet files"].returncode == 0
    with open(out / "slide.tsv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [float(row["score"]) for row in rows if row["level"] == "system"] == pytest.approx(
        expected["xcomet", "SLIDE"][:2], abs=1e-3
    )
    windows = [row for row in rows if row["level"] == "window" and row["system"] == "system_a.en"]
    assert len(windows) == 13 and sum(int(row["truncated"]) for row in windows) == 11
    weighted = math.fsum(float(row["weight"]) * float(row["score"]) for row in windows)
    assert weighted / 59 == pytest.approx(expected["xcomet", "SLIDE"][0], abs=1e-3)
    lines = (out / "xcomet" / "slide-ref_en.seg.score").read_text().splitlines()
    assert [float(line.split("\t")[1]) for line in lines] == [
        float(row["score"]) for row in rows if row["level"] == "sentence"
    ]


# one checkpoint in other forms


def test_a_file_is_its_folder(runs):
    assert runs["file"].stdout == runs["regression signature"].stdout


@pytest.mark.parametrize(
    "run, name", some_rows([("converted", "regression"), ("converted xcomet", "xcomet")], [("converted", "regression")])
)
def test_a_converted_checkpoint_has_the_same_scores_and_hash(runs, run, name):
    assert runs[run].stdout == runs[f"{name} signature"].stdout
    assert runs.log(run)[0].endswith("model.safetensors")


def test_the_signature_has_the_folders_name_and_the_files_hash(checkpoints, tmp_path):
    copy = shutil.copytree(checkpoints["kiwi"], tmp_path / "other")
    ours, its = (COMET(sources=["s"], model=str(path)) for path in (checkpoints["kiwi"], copy))
    texts = [str(metric.get_signature()) for metric in (ours, its) if metric.corpus_score(["h"], [["r"]])]
    assert texts[0] != texts[1] and without_name(texts[0]) == without_name(texts[1])


@pytest.mark.parametrize(
    "name, times",
    some_rows(
        [("folder and file", 1), ("two checkpoints", 2), ("by document", 1)],
        [("two checkpoints", 2), ("by document", 1)],
    ),
)
def test_metrics_of_one_checkpoint_load_it_once(runs, name, times):
    """Also with -j 2: the workers get statistics only."""
    loaded = [line.split(" ", 1) for line in runs.log(name)]
    assert len({path for _, path in loaded}) == times == len(loaded) and len({pid for pid, _ in loaded}) == 1
