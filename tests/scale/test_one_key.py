"""What is kept has one key: whatever flags leave the scores as they are, the next run of any command scores nothing."""

from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  fixture
from plugin_conftest import REF, SOURCE, A, B, lines_of, sacrebleu

from ctx_metrics import COMET, EngineOptions, evaluate
from ctx_metrics.engine.forward import PackedEncoder
from ctx_metrics.judge.metric import Judge
from ctx_metrics.scoring.context import score_settings

LINES = 12
TEXTS = ["-s", SOURCE, "-t", A, B, "-r", REF, "-l", "de-en"]
METRICS = ["-m", "comet", "bertr"]
READ = [f"{name}: {2 * LINES} of {2 * LINES} outputs were read from an earlier run" for name in METRICS[1:]]
WORK = ["--ctx-store-mb", "7", "-q", "--ctx-batch-tokens", "99"]


@pytest.fixture(autouse=True)
def texts(ctx, tmp_path, monkeypatch) -> None:
    """The first lines of the examples are in the working folder."""
    for name in (A, B, REF, SOURCE):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines_of(name)[:LINES]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def columns(name: str, **more: list) -> None:
    """Write a table of the examples' lines."""
    of = {"src": lines_of(SOURCE), "mt": lines_of(A), "ref": lines_of(REF), **more}
    rows = [of, *list(zip(*of.values()))[:LINES]]
    Path(name).write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def forward(monkeypatch):
    """The numbers of texts in the calls of the encoder since the list was last cleared."""
    calls, original = [], PackedEncoder.__call__
    monkeypatch.setattr(
        PackedEncoder,
        "__call__",
        lambda self, texts, *a, **k: calls.append(len(texts)) or original(self, texts, *a, **k),
    )
    return calls


@pytest.fixture
def kept(ctx, forward, tmp_path):
    """A cache that `score` has filled with every flag of its work."""
    first = ["--ctx-device", "cpu", "--ctx-batch-tokens", "300", "-q"]
    done = ctx("score", *TEXTS, *METRICS, "--ctx-cache", tmp_path / "kept", *first)
    assert done.code == 0 and forward, done.err
    forward.clear()
    return tmp_path / "kept"


def test_flags_of_the_work_are_not_part_of_the_key(ctx, forward, kept, tmp_path):
    for command in (
        ["score", *TEXTS, *METRICS, "-q", "--format", "jsonl", "-o", tmp_path / "scores.jsonl"],
        ["score", "-m", "bertr", "comet", "--ctx-device", "cpu", *TEXTS, "--level", "segment", "--scale", "1"],
        ["compare", *TEXTS, *METRICS, "--ctx-batch-tokens", "512", "--no-text-checks", "--samples", "20"],
        ["report", *TEXTS, *METRICS, "chrf", *WORK, "-l", "deu_Latn-eng", "-o", tmp_path / "page.html"],
    ):
        done = ctx(*command, "--resume", kept)
        assert done.code == 0, done.err
        assert forward == [], command
        assert all(said in done.err for said in READ)


@pytest.mark.full
def test_the_other_front_ends_find_the_same_results(forward, kept, tmp_path):
    a, b, reference, sources = (lines_of(name)[:LINES] for name in (A, B, REF, SOURCE))
    languages = {"source_lang": "de", "target_lang": "en"}
    own = {"metrics": ["bertr", "comet"], "engine": EngineOptions(batch_tokens=77), "cache": kept}
    evaluate({A: a, B: b}, reference, sources=sources, **languages, **own)
    assert forward == []
    command = [REF, "-i", A, B, "--source", SOURCE, "-l", "de-en", *METRICS, "--ctx-cache", kept]
    for more in (["--ctx-batch-tokens", "99", "-q"], ["--format", "text", "--ctx-device", "cpu"]):
        done = sacrebleu(*command, *more, cwd=tmp_path)
        assert done.returncode == 0 and all(said in done.stderr for said in READ), done.stderr


@pytest.mark.parametrize(
    "changed",
    [
        ["--ctx-dtype", "bf16"],
        pytest.param(["--comet-multiref", "mean", "--bertr-multiref", "mean", "-r", REF, A], marks=pytest.mark.full),
        pytest.param(["-s", REF], marks=pytest.mark.full),
        pytest.param(["--bertr-max-length", "9", "--comet-model", "multilingual"], marks=pytest.mark.full),
        pytest.param(["-l", "fr-en"], marks=pytest.mark.full),
    ],
    ids=" ".join,
)
def test_all_else_is_part_of_the_key(ctx, forward, kept, changed):
    metrics = ["-m", "comet"] if changed[0] in ("-s", "-l") else METRICS
    done = ctx("score", *TEXTS, *metrics, *changed, "--ctx-cache", kept, "-q")
    assert done.code == 0 and forward, done.err
    assert "read from an earlier run" not in done.err


@pytest.mark.parametrize("command, metric", [("mbr", "bertr"), pytest.param("rerank", "comet", marks=pytest.mark.full)])
def test_choices(ctx, forward, tmp_path, command, metric):
    words = [command, A, B, "-s", SOURCE, "-l", "de-en", "-m", metric, "--ctx-cache", tmp_path / "kept"]
    assert ctx(*words, "--ctx-batch-tokens", "300").code == 0 and forward
    forward.clear()
    for more in (WORK, ["--ctx-device", "cpu", "--format", "jsonl", "-o", tmp_path / "out.jsonl"]):
        assert ctx(*words, *more).code == 0 and forward == [], more
    assert ctx(*words, "--ctx-dtype", "bf16").code == 0 and forward


@pytest.mark.full
def test_meta(ctx, forward, tmp_path):
    columns("judged.tsv", score=[i % 7 for i in range(LINES)])
    command = ["meta", "judged.tsv", "-l", "de-en", *METRICS, "--ctx-cache", tmp_path / "kept", "-p", "seg-pearson"]
    assert ctx(*command, "--ctx-batch-tokens", "300").code == 0 and forward
    forward.clear()
    for more in (WORK, ["--ctx-device", "cpu", "-p", "seg-kendall", "--format", "json", "-o", tmp_path / "out.json"]):
        done = ctx(*command, *more)
        assert done.code == 0 and forward == [], done.err
    assert ctx(*command, "--ctx-dtype", "bf16").code == 0 and forward


@pytest.mark.full
def test_annotate(ctx, forward, tmp_path):
    columns("table.tsv")
    command = ["annotate", "table.tsv", "-l", "de-en", *METRICS, "-o", tmp_path / "out"]
    assert ctx(*command, "--ctx-batch-tokens", "300").code == 0 and forward
    forward.clear()
    for more in (WORK, ["--no-text-checks", "--ctx-device", "cpu", "--bottom", "50", "--by", "bertr"]):
        done = ctx(*command, *more)
        assert done.code == 0 and forward == [], done.err
    assert ctx(*command, "--ctx-dtype", "bf16").code == 1


@pytest.mark.full
def test_ray_and_threads(ctx, forward, kept, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    done = ctx("score", *TEXTS, *METRICS, "--ctx-cache", kept, "--on", "ray", "--workers", "1")
    assert done.code == 0 and all(said in done.err for said in READ)


def test_how_a_judge_is_asked_does_not_matter():
    own = {"model": "m", "url": "http://localhost:1", "samples": 2}
    plain = score_settings(Judge, own)
    assert score_settings(Judge, {**own, "timeout": 3.0, "store": "s", "concurrency": 2, "max_requests": 9}) == plain
    assert score_settings(Judge, {**own, "samples": 3}) != plain
    assert score_settings(COMET, {}) == score_settings(
        COMET, {"model": None, "spans": score_settings(COMET, {})["spans"]}
    )
