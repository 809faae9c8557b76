"""Lower is better, in every command: metricx ranks, chooses and keeps as sacrebleu's TER would, the smallest first."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from metricx_folders import make
from plugin_conftest import lines_of

from ctx_metrics.metricx.metric import MetricX

NAMES = ["system_a.en.txt", "system_b.en.txt", "system_c.en.txt"]
SYSTEMS = [lines_of(name)[:12] for name in NAMES]
SOURCES, REFERENCES = lines_of("source.de.txt")[:12], lines_of("ref.en.txt")[:12]


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
    for name, lines in zip([*NAMES, "source", "ref"], [*SYSTEMS, SOURCES, REFERENCES], strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def segments(model) -> np.ndarray:
    """Scores [systems, segments]."""
    metric = MetricX([REFERENCES], model=model, sources=SOURCES)
    return np.array([[each.score for each in metric.segment_scores(system)] for system in SYSTEMS])


def given(files, model, *more) -> list:
    systems = ["-t", *(files / name for name in NAMES)]
    return ["-s", files / "source", *systems, "-r", files / "ref", "-m", "metricx", "--metricx-model", model, *more]


def test_compare_ranks_the_lowest_first(ctx, files, model, segments):
    done = ctx("compare", *given(files, model))
    shown = [line.split("│")[2].strip() for line in done.out.split("Row minus column")[0].splitlines() if "[" in line]
    order = np.argsort(segments.mean(1))
    assert shown == [Path(NAMES[k]).stem for k in order]


def test_mbr_and_rerank_choose_the_lowest(ctx, files, model):
    candidates = [*(files / name for name in NAMES), "-s", files / "source", "-m", "metricx", "--metricx-model", model]
    free = MetricX(model=model, sources=SOURCES)
    scores = np.array([[each.score for each in free.segment_scores(system, [])] for system in SYSTEMS])
    chosen = [SYSTEMS[k][i] for i, k in enumerate(scores.argmin(0))]
    assert ctx("rerank", *candidates, "-q").out.splitlines() == chosen
    risks = np.zeros_like(scores)
    for reference in SYSTEMS:
        metric = MetricX([reference], model=model, sources=SOURCES)
        risks += np.array([[each.score for each in metric.segment_scores(system)] for system in SYSTEMS])
    assert ctx("mbr", *candidates, "-q").out.splitlines() == [SYSTEMS[k][i] for i, k in enumerate(risks.argmin(0))]


def test_annotate_keeps_the_lowest(ctx, files, model, segments, tmp_path):
    table = tmp_path / "table.jsonl"
    texts = zip(SOURCES, SYSTEMS[0], REFERENCES, strict=True)
    table.write_text("".join(json.dumps({"src": s, "mt": m, "ref": r}) + "\n" for s, m, r in texts))
    done = ctx("annotate", table, "-o", tmp_path / "out", "-m", "metricx", "--metricx-model", model, "--top", "3")
    assert done.code == 0, done.err
    [part] = (tmp_path / "out").glob("part-*")
    kept = [json.loads(line)["mt"] for line in part.read_text().splitlines()]
    assert sorted(kept) == sorted(SYSTEMS[0][k] for k in np.argsort(segments[0])[:3])


def test_meta_turns_the_scores_round(ctx, files, model, segments, tmp_path):
    """People's scores that fall as metricx rises agree with it fully."""
    table = tmp_path / "judged.tsv"
    rows = [("system", "segment", "src", "ref", "mt", "score")] + [
        (name, i, SOURCES[i], REFERENCES[i], text, -segments[k, i])
        for k, (name, system) in enumerate(zip("abc", SYSTEMS, strict=True))
        for i, text in enumerate(system)
    ]
    table.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    flags = ["-l", "de-en", "-m", "metricx", "--metricx-model", model, "-p", "seg-pearson", "--format", "tsv"]
    done = ctx("meta", table, *flags)
    assert done.code == 0, done.err
    values = [float(row["value"]) for row in done.rows() if row["metric"] == "metricx"]
    assert values and values == pytest.approx([1.0] * len(values), abs=1e-6)
