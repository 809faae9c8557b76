"""`judge` in every command."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from judge_server import Fault, data_of, judgement, score_of
from plugin_conftest import lines_of
from report_pages import data_in

from ctx_metrics import Judge, read_lines
from ctx_metrics.engine.memory import LoadedModels
from ctx_metrics.judge import asking

NAMES = ["a", "b", "c"]
SYSTEMS = [lines_of(f"system_{name}.en.txt")[:12] for name in NAMES]
SOURCES, REFERENCES = lines_of("source.de.txt")[:12], lines_of("ref.en.txt")[:12]
DOCIDS = ["d1"] * 5 + ["d2"] * 7
KEY = "sk-test-0123456789abcdef"


def first_word(text: str) -> str:
    return text.split()[0]


@pytest.fixture
def server(server):
    server.answer = lambda _, request: judgement(
        score_of(request), (first_word(data_of(request)["translation"]), "major")
    )
    return server


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, lines in zip([*NAMES, "src", "ref", "ids"], [*SYSTEMS, SOURCES, REFERENCES, DOCIDS], strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder


@pytest.fixture
def flags(server, tmp_path) -> list[str]:
    own = {
        "--judge-url": server.url,
        "--judge-model": "toy",
        "--judge-samples": "1",
        "--judge-store": str(tmp_path / "s"),
    }
    return ["-m", "judge", *(word for pair in own.items() for word in pair)]


@pytest.fixture
def given(files, flags) -> list:
    systems = ["-t", *(files / each for each in NAMES)]
    return ["-s", files / "src", *systems, "-r", files / "ref", "--docids", files / "ids", "-l", "de-en", *flags]


@pytest.fixture
def segments(server, tmp_path) -> np.ndarray:
    """The segments' scores in Python, [3, 12]."""
    own = {"url": server.url, "model": "toy", "samples": 1, "store": str(tmp_path / "other")}
    metric = Judge([REFERENCES], SYSTEMS, sources=SOURCES, **own)
    found = np.array([[each.score for each in metric.segment_scores(system, None)] for system in SYSTEMS])
    server.requests.clear()
    server.keys.clear()
    LoadedModels.clear_all()
    return found


def sacrebleu(files, *more, **env) -> subprocess.CompletedProcess:
    command = [
        Path(sys.executable).with_name("sacrebleu"),
        files / "ref",
        "-i",
        *(files / each for each in NAMES),
        *more,
    ]
    kept = {**os.environ, "HF_HUB_OFFLINE": "1", **env}
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=kept)


@pytest.mark.full
def test_the_sacrebleu_command_with_a_paired_test_of_documents(files, flags, server, segments, tmp_path):
    """All systems in one pass, after one line; files hold the spans; the key is in none of them, nor in what is shown."""
    more = ["--source", files / "src", "--docids", files / "ids", "-l", "de-en", "--paired-bs", "--paired-bs-n", "50"]
    more += ["-f", "json", "--ctx-resample", "document", "--ctx-seg-scores", tmp_path / "files"]
    more += ["--ctx-report", tmp_path / "report.html", "-m", "bleu", *flags[1:]]
    done = sacrebleu(files, *more, OPENAI_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    found = [row["Judge"]["score"] for row in rows]
    assert found == pytest.approx(segments.mean(1).tolist(), abs=0.05) and rows[1]["Judge"]["p_value"] <= 1
    sent = len(server.requests)
    assert (
        len(re.findall(rf"judge: 3?\d segments, {sent} requests, about [\d,]+ tokens go to {server.host}", done.stderr))
        == 1
    )
    assert set(server.keys) == {f"Bearer {KEY}"}
    first = first_word(SYSTEMS[0][0])
    details = [json.loads(line) for line in read_lines(str(tmp_path / "files" / "judge-ref.seg.jsonl"))]
    assert details[0]["error_spans"] == [
        {"text": first, "severity": "major", "confidence": 1.0, "start": 0, "end": len(first)}
    ]
    page = data_in((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page["marked"][0]["spans"]["0 0"] == [[0, len(first), "major"]]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 5 and not any(KEY.encode() in path.read_bytes() for path in written)
    assert KEY not in done.stdout + done.stderr and "HTTP" not in done.stderr
    again = sacrebleu(files, *more)
    assert again.stdout == done.stdout and len(server.requests) == sent and "requests" not in again.stderr


def test_score_and_its_model_flag(ctx, files, given, server, segments):
    done = ctx("score", *given, "--level", "segment", "--format", "jsonl")
    rows = done.objects()
    assert [row["score"] for row in rows] == pytest.approx(segments.ravel().tolist(), abs=1e-3)
    assert rows[0]["error_spans"][0]["text"] == first_word(SYSTEMS[0][0])
    store = given[given.index("--judge-store") + 1]
    model = ["-m", "judge", "slide", "--model", f"{server.url}?samples=1&store={store}#toy", "--slide-window", "1"]
    texts = given[: given.index("-m")]
    done = ctx("score", *texts, *model, "--format", "tsv", "--level", "system")
    assert done.code == 0, done.err
    both = [float(row["score"]) for row in done.rows() if row["metric"] == "judge"]
    assert both == pytest.approx(segments.mean(1).tolist(), abs=0.01)
    assert len([row for row in done.rows() if row["metric"].startswith("slide")]) == 3


def test_annotate_goes_on_after_what_is_kept(ctx, flags, segments, server, tmp_path):
    """In blocks; one line says what is sent, and a second one only when the requests have doubled. A fault has one line."""
    server.answer = lambda _, request: judgement(score_of(request), ("", "major"))
    table = tmp_path / "table.jsonl"
    texts = [*zip(SOURCES, SYSTEMS[0], REFERENCES, strict=True)] * 2
    table.write_text("".join(json.dumps({"src": s, "mt": m, "ref": r}) + "\n" for s, m, r in texts))
    done = ctx("annotate", table, "-o", tmp_path / "out", *flags, "--block", "5", "-q")
    assert done.code == 0, done.err
    rows = [json.loads(line) for part in sorted((tmp_path / "out").glob("part-*")) for line in read_lines(str(part))]
    assert [row["judge"] for row in rows] == pytest.approx([*segments[0], *segments[0]], abs=1e-3)
    assert len(server.requests) == 12
    shown = done.out + done.err
    assert shown.count("24 segments have marked errors without a place") == shown.count("without a place") == 1
    assert re.findall("judge: (.*), about .*? tokens go to [^,\n]*(.*)", done.err) == [
        ("5 segments, 5 requests", ""),
        ("5 segments, 5 requests", ", after 5 before"),
    ]


def test_mbr(ctx, files, flags, server):
    """Each candidate is judged against each of the others as a reference."""
    short = [*flags, "--judge-inputs", "mt+ref"]
    done = ctx("mbr", *(files / each for each in NAMES), *short, "-q")
    assert done.code == 0, done.err
    values = np.zeros((3, 12))
    for request in server.requests:
        data = data_of(request)
        for i in range(12):
            own = [k for k in range(3) if SYSTEMS[k][i] == data["translation"]]
            others = sum(SYSTEMS[k][i] == data["reference"] for k in range(3))
            values[own, i] += score_of(request) * others
    assert done.out.splitlines() == [SYSTEMS[k][i] for i, k in enumerate(values.argmax(0))]


@pytest.mark.full
@pytest.mark.parametrize("command", ["mbr", "rerank"])
def test_choices_with_a_failed_request_are_not_kept(ctx, files, flags, server, tmp_path, monkeypatch, command):
    """The next run sends it again, and then the choices are kept."""
    monkeypatch.setattr(asking, "FIRST_WAIT", 0.001)
    own = ["--judge-inputs", "mt+ref"] if command == "mbr" else ["-s", files / "src"]
    flags += ["-q", "--format", "jsonl", "--ctx-cache", tmp_path / "kept"]
    words = [*(files / each for each in NAMES), *own, *flags]
    answer = server.answer

    def failing(n, request):
        data = data_of(request)
        fails = data["translation"] == SYSTEMS[1][7] and data.get("reference", SYSTEMS[0][7]) == SYSTEMS[0][7]
        return Fault(500) if fails else answer(n, request)

    server.answer = failing
    runs = []
    for _ in range(3):
        done = ctx(command, *words)
        assert done.code == 0, done.err
        runs.append((done.out, "unanswered" in done.err, len(server.requests)))
        server.answer = answer
        LoadedModels.clear_all()
    (lost, said, _), (whole, still_said, sent), (again, _, after) = runs
    assert said and not still_said and lost != whole == again and after == sent


@pytest.mark.full
def test_meta(ctx, flags, segments, tmp_path):
    table = tmp_path / "judged.tsv"
    rows = [("system", "segment", "doc", "src", "ref", "mt", "score")] + [
        (system, i, DOCIDS[i], SOURCES[i], REFERENCES[i], text, segments[k, i])
        for k, (system, lines) in enumerate(zip(NAMES, SYSTEMS, strict=True))
        for i, text in enumerate(lines)
    ]
    table.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    done = ctx("meta", table, "-l", "de-en", *flags, "-p", "seg-pearson", "--format", "tsv")
    assert done.code == 0, done.err
    values = [float(row["value"]) for row in done.rows() if row["metric"] == "judge"]
    assert values and values == pytest.approx([1.0] * len(values), abs=1e-6)


@pytest.mark.full
def test_doctor(ctx, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    out = ctx("doctor").out
    assert "Judges\n" in out and re.search("OPENAI_API_KEY +is set\n", out) and KEY not in out
    assert re.search(f"answers +none in {tmp_path}/ctx-metrics/judge\n", out)
