"""Which direction is better, in every command: for metrics whose lower scores are better, and for one of the others."""

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from metricx_folders import make
from plugin_conftest import lines_of
from report_pages import data_in
from sacrebleu.metrics import CHRF, TER

from ctx_metrics import COMET, SLIDE, MetricX, ModelError, read_lines
from ctx_metrics.scoring.scores import scores as scores_of

NAMES = ["a", "b", "c"]
SYSTEMS = [lines_of(f"system_{name}.en.txt")[:12] for name in NAMES]
SOURCES, REFERENCES = lines_of("source.de.txt")[:12], lines_of("ref.en.txt")[:12]
DOCIDS = ["d1"] * 5 + ["d2"] * 7
LOWER = {"chrf": False, "ter": True, "metricx": True, "slide": True}
EVERY = pytest.mark.parametrize(
    "name", ["metricx", *(pytest.param(each, marks=pytest.mark.full) for each in ("chrf", "ter", "slide"))]
)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    prompts = [
        f"source: {source} candidate: {text} reference: {reference}"
        for system in SYSTEMS
        for source, text, reference in zip(SOURCES, system, REFERENCES, strict=True)
    ]
    return str(make(tmp_path_factory.mktemp("model") / "metricx-24-tiny", texts=prompts))


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, lines in zip([*NAMES, "src", "ref", "ids"], [*SYSTEMS, SOURCES, REFERENCES, DOCIDS], strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


def flags(name: str, model: str) -> list[str]:
    more = {"metricx": ["--metricx-model", model], "slide": ["--slide-model", model, "--slide-window", "1"]}
    return ["-m", name, *more.get(name, [])]


def given(files, name, model, *more) -> list:
    systems = ["-t", *(files / each for each in NAMES)]
    sources = [] if name in ("chrf", "ter") else ["-s", files / "src"]
    documents = ["--docids", files / "ids"] if name == "slide" else []
    return [*sources, *systems, "-r", files / "ref", *documents, *flags(name, model), *more]


@pytest.fixture(scope="module")
def oriented(model) -> dict:
    """Scores of systems [3] and segments [3, 12] in Python, by metric, negated where lower is better."""
    window = {"doc_ids": DOCIDS, "window": 1}
    made = {
        "chrf": CHRF(references=[REFERENCES]),
        "ter": TER(references=[REFERENCES]),
        "metricx": MetricX([REFERENCES], model=model, sources=SOURCES),
        "slide": SLIDE([REFERENCES], model=model, sources=SOURCES, **window),
    }
    found = {}
    for name, metric in made.items():
        of = [scores_of(metric, system) for system in SYSTEMS]
        sign = -1 if LOWER[name] else 1
        found[name] = sign * np.array([each.system for each in of]), sign * np.array([each.segments for each in of])
    return found


@pytest.mark.full
@EVERY
def test_compare_ranks_the_best_first(ctx, files, model, oriented, name, tmp_path):
    systems, _ = oriented[name]
    order = [NAMES[k] for k in np.argsort(-systems)]
    done = ctx("compare", *given(files, name, model))
    [heading] = re.findall(r"│ +Rank +│ +System +│ +(.+?) +│", done.out)
    assert heading.endswith(" ↓") == LOWER[name]
    table = done.out.split("Row minus column")[0]
    assert [line.split("│")[2].strip() for line in table.splitlines() if "[" in line] == order
    latex = ctx("compare", *given(files, name, model, "--format", "latex")).out
    assert ("$\\downarrow$" in latex) == LOWER[name]
    assert latex.index("\\textbf{") == latex.index("\\textbf{", latex.index(f"{order[0]} ")), "the best score is bold"
    rows = ctx("compare", *given(files, name, model, "--format", "jsonl")).objects()
    sign = -1 if LOWER[name] else 1
    for row in rows:  # differences keep the metric's own sign; whoever ranks higher has the better score
        own, other = (NAMES.index(row[each]) for each in ("system", "other"))
        assert sign * row["difference"] == pytest.approx(systems[own] - systems[other], abs=1e-4)
        assert row["rank"] >= 1


@EVERY
def test_the_table_of_score_marks_metrics_whose_lower_scores_are_better(ctx, files, model, name):
    assert ("↓" in ctx("score", *given(files, name, model)).out) == LOWER[name]


@pytest.mark.full
@pytest.mark.parametrize("name", ["chrf", "ter", "metricx"])
def test_mbr_chooses_the_lowest_risk(ctx, files, model, name):
    cls = {"chrf": CHRF, "ter": TER, "metricx": partial(MetricX, model=model, sources=SOURCES)}[name]
    metrics = [cls(references=[system]) for system in SYSTEMS]
    sign = -1 if LOWER[name] else 1
    expected = sum(sign * np.array([scores_of(each, system).segments for system in SYSTEMS]) for each in metrics)
    sources = [] if name in ("chrf", "ter") else ["-s", files / "src"]
    done = ctx("mbr", *(files / each for each in NAMES), *sources, *flags(name, model), "-q")
    assert done.out.splitlines() == [SYSTEMS[k][i] for i, k in enumerate(expected.argmax(0))]


@pytest.mark.parametrize("how", ["metricx", "slide best", "slide path"])
def test_rerank_chooses_the_lowest(ctx, files, model, how):
    """Without references; slide's documents of several candidates, and the path through them with the best windows."""
    name, _, documents = how.partition(" ")
    scores = np.array(
        [[each.score for each in MetricX(model=model, sources=SOURCES).segment_scores(s, [])] for s in SYSTEMS]
    )
    more = ["--docids", files / "ids", "--documents", documents] if documents else []
    if documents == "best":
        of_documents = np.stack([scores[:, :5].mean(1), scores[:, 5:].mean(1)], 1).argmin(0)
        expected = [SYSTEMS[of_documents[int(i >= 5)]][i] for i in range(12)]
    else:
        expected = [SYSTEMS[k][i] for i, k in enumerate(scores.argmin(0))]
    done = ctx("rerank", *(files / each for each in NAMES), "-s", files / "src", *more, *flags(name, model), "-q")
    assert done.out.splitlines() == expected, done.err


@EVERY
def test_annotate_keeps_the_best(ctx, files, model, oriented, name, tmp_path):
    table = tmp_path / "table.jsonl"
    texts = zip(SOURCES, SYSTEMS[0], REFERENCES, DOCIDS, strict=True)
    table.write_text("".join(json.dumps({"src": s, "mt": m, "ref": r, "doc": d}) + "\n" for s, m, r, d in texts))
    done = ctx("annotate", table, "-o", tmp_path / "out", *flags(name, model), "--top", "3")
    assert done.code == 0, done.err
    kept = [row["mt"] for row in annotated(tmp_path / "out")]
    _, segments = oriented[name]
    assert sorted(kept) == sorted(SYSTEMS[0][k] for k in np.argsort(-segments[0], kind="stable")[:3])
    worst = json.loads((tmp_path / "out" / "_summary.json").read_text())["worst_of_top"]
    named = "slide-metricx" if name == "slide" else name
    assert worst == [named, pytest.approx(abs(np.sort(-segments[0])[2]), abs=1e-4)]


def annotated(folder: Path) -> list[dict]:
    return [json.loads(line) for part in sorted(folder.glob("part-*")) for line in read_lines(str(part))]


def agreement(ctx, put, segments, name, *more):
    """Holds that a metric agrees fully, in `meta`, with people whose scores are these; gives what is said."""
    rows = [
        f"{system}|{i + 1}|{DOCIDS[i]}|{SOURCES[i]}|{REFERENCES[i]}|{text}|{segments[k, i]}"
        for k, (system, lines) in enumerate(zip(NAMES, SYSTEMS, strict=True))
        for i, text in enumerate(lines)
    ]
    table = put("judged.tsv", "system|segment|doc|src|ref|mt|score", *rows)
    done = ctx("meta", table, "-l", "de-en", *more, "-p", "seg-pearson", "--format", "tsv")
    assert done.code == 0, done.err
    values = [float(row["value"]) for row in done.rows() if row["metric"] == name]
    assert values and values == pytest.approx([1.0] * len(values), abs=1e-6)
    return done.err


@EVERY
def test_meta_turns_the_scores_round(ctx, put, model, oriented, name):
    """People's scores that rise as a metric gets better agree with it fully."""
    agreement(ctx, put, oriented[name][1], name, *flags(name, model))


@pytest.mark.full
@EVERY
def test_the_report_ranks_and_colours_by_the_better_score(ctx, files, model, oriented, name, tmp_path):
    page = tmp_path / "report.html"
    done = ctx("report", *given(files, name, model, "-o", page))
    assert done.code == 0, done.err
    of_metric, *_ = data_in(page.read_text(encoding="utf-8"))["metrics"]
    assert of_metric["sign"] == (-1 if LOWER[name] else 1) and of_metric["title"].endswith(" ↓") == LOWER[name]
    systems, _ = oriented[name]
    assert of_metric["system"] == pytest.approx((of_metric["sign"] * systems).tolist(), abs=1e-4)


@pytest.mark.full
@pytest.mark.parametrize("name", ["metricx", "slide"])
@pytest.mark.parametrize("form", ["jsonl", "folder"])
def test_scores_that_are_read_again_keep_their_direction(ctx, put, files, model, oriented, name, form, tmp_path):
    """From `score` and from --ctx-seg-scores, by report and by meta."""
    kept = tmp_path / ("scores" if form == "folder" else "scores.jsonl")
    if form == "folder":
        documents = ["--docids", files / "ids"] if name == "slide" else []
        command = [Path(sys.executable).with_name("sacrebleu"), files / "ref", "-i", *(files / each for each in NAMES)]
        command += [*flags(name, model), "--source", files / "src", *documents, "--ctx-seg-scores", kept]
        subprocess.run(list(map(str, command)), capture_output=True, check=True)
    else:
        assert ctx("score", *given(files, name, model, "--level", "segment", "system", "-o", kept)).code == 0
    page = tmp_path / "report.html"
    plain = given(files, "ter", model)[: -len(flags("ter", model))]
    assert ctx("report", *plain, "--scores", kept, "-o", page).code == 0
    of_metric, *_ = data_in(page.read_text(encoding="utf-8"))["metrics"]
    written = "metricx" if name == "metricx" else "slide-metricx"
    assert (of_metric["name"], of_metric["title"], of_metric["sign"]) == (written, f"{written} ↓", -1)
    said = agreement(ctx, put, oriented[name][1], written, "--scores", kept)
    assert f"{written}: lower is better, so the scores of its files are negated" in said


def test_comet_refuses_a_metricx_model(model):
    with pytest.raises(ModelError, match="is a MetricX model: use the metric metricx with model="):
        COMET(model=model, sources=SOURCES)
