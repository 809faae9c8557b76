"""What is kept has one key: whatever flags leave the scores as they are, the next run of any command scores nothing."""

import pytest
from cli_conftest import ctx  # noqa: F401  fixture
from plugin_conftest import REF, SOURCE, A, B, lines_of, sacrebleu

from ctx_metrics import COMET, EngineOptions, evaluate
from ctx_metrics.engine.forward import PackedEncoder
from ctx_metrics.judge.metric import Judge
from ctx_metrics.scoring.context import score_settings

TEXTS = ["-s", SOURCE, "-t", A, B, "-r", REF, "-l", "de-en"]
METRICS = ["-m", "comet", "bertr"]
WORK = [
    ["-q"],
    ["--ctx-device", "cpu"],
    ["--ctx-batch-tokens", "512"],
    ["--ctx-store-mb", "7", "-q", "--ctx-batch-tokens", "99"],
    ["--no-text-checks"],
]


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


@pytest.mark.parametrize("turn", [0, *(pytest.param(k, marks=pytest.mark.full) for k in range(1, len(WORK)))])
def test_flags_of_the_work_are_not_part_of_the_key(ctx, forward, kept, tmp_path, turn):
    more, *others = [*WORK[turn:], *WORK[:turn]]
    for command in (
        ["score", *TEXTS, *METRICS, *more, "--format", "jsonl", "-o", tmp_path / "scores.jsonl"],
        ["score", "-m", "bertr", "comet", *others[0], *TEXTS, "--level", "segment", "--scale", "1"],
        ["compare", *TEXTS, *METRICS, *others[1], "--samples", "20"],
        ["report", *TEXTS, *METRICS, "chrf", *others[2], "-l", "deu_Latn-eng", "-o", tmp_path / "page.html"],
    ):
        done = ctx(*command, "--resume", kept)
        assert done.code == 0, done.err
        assert forward == [], command
        for name in METRICS[1:]:
            assert f"{name}: 118 of 118 outputs were read from an earlier run" in done.err


@pytest.mark.full
def test_the_other_front_ends_find_the_same_results(forward, kept):
    evaluate(
        {A: lines_of(A), B: lines_of(B)},
        lines_of(REF),
        sources=lines_of(SOURCE),
        metrics=["bertr", "comet"],
        source_lang="de",
        target_lang="en",
        engine=EngineOptions(batch_tokens=77),
        cache=kept,
    )
    assert forward == []
    command = [REF, "-i", A, B, "--source", SOURCE, "-l", "de-en", *METRICS, "--ctx-cache", kept]
    for more in (["--ctx-batch-tokens", "99", "-q"], ["--format", "text", "--ctx-device", "cpu"]):
        done = sacrebleu(*command, *more)
        assert done.returncode == 0, done.stderr
        for name in METRICS[1:]:
            assert f"{name}: 118 of 118 outputs were read from an earlier run" in done.stderr


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
    for more in (WORK[3], ["--ctx-device", "cpu", "--format", "jsonl", "-o", tmp_path / "out.jsonl"]):
        assert ctx(*words, *more).code == 0 and forward == [], more
    assert ctx(*words, "--ctx-dtype", "bf16").code == 0 and forward


@pytest.mark.full
def test_meta(ctx, forward, tmp_path):
    table = tmp_path / "judged.tsv"
    rows = zip(lines_of(SOURCE), lines_of(A), lines_of(REF), strict=True)
    table.write_text("src\tmt\tref\tscore\n" + "".join(f"{s}\t{t}\t{r}\t{i % 7}\n" for i, (s, t, r) in enumerate(rows)))
    command = ["meta", table, "-l", "de-en", *METRICS, "--ctx-cache", tmp_path / "kept", "-p", "seg-pearson"]
    assert ctx(*command, "--ctx-batch-tokens", "300").code == 0 and forward
    forward.clear()
    for more in (
        WORK[3],
        ["--ctx-device", "cpu", "-p", "seg-kendall", "--format", "json", "-o", tmp_path / "out.json"],
    ):
        done = ctx(*command, *more)
        assert done.code == 0 and forward == [], done.err
    assert ctx(*command, "--ctx-dtype", "bf16").code == 0 and forward


@pytest.mark.full
def test_annotate(ctx, forward, tmp_path):
    table = tmp_path / "table.tsv"
    rows = zip(lines_of(SOURCE), lines_of(A), lines_of(REF), strict=True)
    table.write_text("src\tmt\tref\n" + "".join("\t".join(row) + "\n" for row in rows))
    command = ["annotate", table, "-l", "de-en", *METRICS, "-o", tmp_path / "out"]
    assert ctx(*command, "--ctx-batch-tokens", "300").code == 0 and forward
    forward.clear()
    for more in (WORK[3], ["--no-text-checks", "--ctx-device", "cpu", "--bottom", "50", "--by", "bertr"]):
        done = ctx(*command, *more)
        assert done.code == 0 and forward == [], done.err
    assert ctx(*command, "--ctx-dtype", "bf16").code == 1


@pytest.mark.full
def test_ray_and_threads(ctx, forward, kept, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    done = ctx("score", *TEXTS, *METRICS, "--ctx-cache", kept, "--on", "ray", "--workers", "1")
    assert done.code == 0 and all(f"{name}: 118 of 118 outputs were read" in done.err for name in METRICS[1:])


def test_how_a_judge_is_asked_does_not_matter():
    own = {"model": "m", "url": "http://localhost:1", "samples": 2}
    plain = score_settings(Judge, own)
    assert score_settings(Judge, {**own, "timeout": 3.0, "store": "s", "concurrency": 2, "max_requests": 9}) == plain
    assert score_settings(Judge, {**own, "samples": 3}) != plain
    assert score_settings(COMET, {}) == score_settings(
        COMET, {"model": None, "spans": score_settings(COMET, {})["spans"]}
    )
