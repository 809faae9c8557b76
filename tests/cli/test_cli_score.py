"""`ctx-metrics score` in every format and on every level; tests/test_one_figure.py compares the numbers of all metrics."""

import csv
import io
import json
import math
import os

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from comet_checkpoints import RECIPES, build
from plugin_conftest import (
    DOCIDS,
    EXAMPLES,
    NAME_A,
    NAME_B,
    NAMES,
    REF,
    SOURCE,
    A,
    B,
    C,
    add_toylen,
    fresh_ctx_metrics,
    lines_of,
)
from plugin_conftest import fresh_sacrebleu as sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER

from ctx_metrics import COMET, SLIDE
from ctx_metrics.cli.common.output import number

THREE = ["-t", A, B, C, "-r", REF, "-l", "de-en"]
IDS = lines_of(DOCIDS)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli-comet")
    return {name: str(build(RECIPES[name], folder / name)) for name in ("kiwi", "xcomet")}


@pytest.fixture
def few(tmp_path, monkeypatch, ctx) -> slice:
    """The examples' first two documents are in the working folder; the lines that they are."""
    lines = slice(22)
    for name in (A, B, C, REF, SOURCE, DOCIDS):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines_of(name)[lines]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return lines


def test_the_flags_of_stock_metrics(ctx, few):
    flags = ("--tokenize", "intl", "--lowercase", "--chrf-word-order", "2", "--ter-case-sensitive")
    done = ctx("score", "-t", A, "-r", REF, "-m", "bleu", "chrf", "ter", *flags, "--format", "tsv", "-w", "9", "-q")
    metrics = [BLEU(tokenize="intl", lowercase=True), CHRF(word_order=2), TER(case_sensitive=True)]
    expected = [metric.corpus_score(lines_of(A)[few], [lines_of(REF)[few]]).score for metric in metrics]
    found = [float(row["score"]) for row in done.rows() if row["level"] == "system"]
    assert found == pytest.approx(expected, abs=1e-8)
    refused = ctx("score", "-t", A, "-r", REF, "-m", "chrf", "--tokenize", "intl")
    assert refused.code == 2 and "--tokenize is a flag of bleu, which is not among" in refused.err
    assert "--tokenize" in ctx("score", "-m", "bleu", "--help").out
    assert "--tokenize" not in ctx("score", "--help").out


@pytest.mark.parametrize("form", ["csv", "json"])
def test_texts_beside_the_scores(ctx, few, form):
    files = ["-s", SOURCE, "-t", A, B, "-r", REF, C, "-m", "chrf", "bleu", "-q", "--level", "segment", "system"]
    plain, done = (ctx("score", *files, "--format", form, *more) for more in ([], ["--with-texts"]))
    assert done.code == 0, done.err
    read = {"csv": lambda text: list(csv.DictReader(io.StringIO(text))), "json": json.loads}[form]
    bare, rows = read(plain.out), read(done.out)
    columns = ["source", "reference", "reference 2", "hypothesis"]
    assert [{name: row[name] for name in row if name not in columns} for row in rows] == bare
    for row in rows:
        if row["level"] == "segment":
            i = int(row["segment"]) - 1
            own = {f"{NAME_A}": A, f"{NAME_B}": B}[row["system"]]
            assert [row[name] for name in columns] == [lines_of(name)[i] for name in (SOURCE, REF, C, own)]
        else:
            assert not any(row[name] for name in columns)


def test_texts_need_rows_of_segments(ctx):
    for flags in (["--level", "segment"], ["--format", "tsv", "--only-system"]):
        done = ctx("score", *THREE, "-m", "chrf", "--with-texts", *flags)
        assert done.code == 2 and "--with-texts adds columns to rows of segments: give --format" in done.err


def test_the_lines_of_tsv(ctx):
    done = ctx("score", *THREE, "-m", "chrf", "bleu", "--docids", DOCIDS, "--format", "tsv")
    lines = done.out.splitlines()
    assert lines[0] == "level\tsystem\tdocument\tsegment\tmetric\tscore"
    assert [line.rsplit("\t", 1)[0] for line in [*lines[1:3], *lines[-6:]]] == [
        *(f"segment\t{NAME_A}\tnews-harbour\t1\t{name}" for name in ("chrf", "bleu")),
        *(f"system\t{system}\t\t\t{name}" for system in NAMES for name in ("chrf", "bleu")),
    ]
    assert len(lines) == 1 + 2 * 3 * (59 + 1) and all(len(line.rsplit(".", 1)[1]) == 4 for line in lines[1:])


@pytest.mark.full
def test_json_has_signatures_and_counts(ctx):
    argv = ["score", "-t", A, B, "-r", REF, "-l", "de-en", "-m", "slide", "bleu", "--docids", DOCIDS, "--only-system"]
    done = ctx(*argv, "--format", "jsonl")
    first, second, *_ = done.objects()
    assert list(first) == ["level", "system", "document", "segment", "metric", "score", "signature", "counts"]
    assert "|window:6|stride:6|partial:weight|" in first["signature"] and first["counts"]["windows"] == 13
    assert second["signature"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert json.loads(ctx(*argv, "--format", "json").out) == done.objects()


def test_nothing_scored_is_empty_in_tsv_and_null_in_json(ctx):
    argv = ["-t", A, "-r", REF, "-l", "de-en", "-m", "slide", "--docids", DOCIDS, "--slide-partial", "drop"]
    uncovered = [i + 1 for i, each in enumerate(IDS) if each == "review-inn"]
    done = ctx("score", *argv, "--format", "tsv", "--level", "segment", "document")
    empty = {row["segment"] or row["document"] for row in done.rows() if row["score"] == ""}
    assert {*map(str, uncovered), "review-inn"} <= empty and len(empty) == 12
    objects = ctx("score", *argv, "--format", "jsonl", "--level", "document").objects()
    assert [each["document"] for each in objects if each["score"] is None] == ["review-inn"]


def test_the_table_is_sacrebleus(ctx, few, tmp_path):
    done = ctx("score", *THREE, "-m", "bertr", "bleu", "chrf", "--names", A, B, C)
    assert (done.code, done.err) == (0, "")
    words = f"{REF} -i {A} {B} {C} -l de-en -m bertr bleu chrf -f text -q".split()
    stock = sacrebleu(*words, cwd=tmp_path, NO_COLOR="1")
    assert done.out.split() == stock.stdout.split()


def test_levels_of_a_table(ctx, few):
    done = ctx(
        "score", "-t", A, B, "-r", REF, "-m", "chrf", "--docids", DOCIDS, "--level", "system", "segment", "document"
    )
    heads = [line for line in done.out.splitlines() if "System" in line]
    assert [head.replace("│", " ").split() for head in heads] == [
        ["System", "Document", "Segment", "chrF2"], ["System", "Document", "chrF2"], ["System", "chrF2"]
    ]  # fmt: skip
    assert sum("│ system_" in line for line in done.out.splitlines()) == 2 * (22 + 2 + 1)


@pytest.mark.full
def test_scale_1_is_comet_scores_scale(ctx):
    argv = ["score", "-t", A, "-r", REF, "-l", "de-en", "-m", "comet", "chrf", "--format", "jsonl"]
    of_100, of_1 = ctx(*argv).objects(), ctx(*argv, "--scale", "1").objects()
    assert [each["score"] for each in of_1] == pytest.approx([each["score"] / 100 for each in of_100])
    assert "|scale:100|" in of_100[-2]["signature"] and "scale" not in of_100[-1]["signature"]
    assert all("|scale:1|" in each["signature"] for each in of_1[-2:])
    table = ctx(*argv[:-2], "--scale", "1").out
    assert f"{of_1[-2]['score']:.4f}" in table
    assert f"{of_1[-2]['score']:.2f} " in ctx(*argv[:-2], "--scale", "1", "-w", "2").out


def test_a_reference_free_model(ctx, checkpoints):
    argv = ["-t", A, "--docids", DOCIDS, "-m", "comet", "slide", "--model", checkpoints["kiwi"], "--format", "jsonl"]
    done = ctx("score", *argv, "-s", SOURCE, "--only-system")
    comet, slide = done.objects()
    expected = COMET([], [lines_of(A)], sources=lines_of(SOURCE), model=checkpoints["kiwi"])
    assert comet["score"] == pytest.approx(expected.corpus_score(lines_of(A), None).score, abs=1e-4)
    assert "inputs:mt+src" in comet["signature"] and "nrefs:0" in slide["signature"]
    assert slide["score"] != comet["score"]
    missing = ctx("score", *argv)
    assert missing.code == 1 and "needs the sources: give --source FILE" in missing.err
    own = ctx(
        "score", *argv, "-s", SOURCE, "-r", REF, "-l", "de-en", "--slide-model", "embedded", "--only-system"
    ).objects()
    assert ["inputs:mt+src" in each["signature"] for each in own] == [True, False]


@pytest.mark.full
def test_parts_and_error_spans_of_segments(ctx, few, checkpoints):
    argv = ["-t", A, "-s", SOURCE, "-r", REF, "--docids", DOCIDS, "--model", checkpoints["xcomet"], "--format", "jsonl"]
    reference, system, source = (lines_of(name)[few] for name in (REF, A, SOURCE))
    segments = ctx("score", *argv).objects()[:22]
    metric = COMET([reference], [system], sources=source, model=checkpoints["xcomet"])
    [result] = metric.system_results()
    marked = 0
    for segment, window, text in zip(segments, result.windows, system, strict=True):
        assert segment["parts"] == pytest.approx(
            {part: 100 * value for part, value in window.estimate.parts.items()}, abs=1e-3
        )
        assert set(segment["parts"]) == {"src", "ref", "unified", "mqm"}
        for span, expected in zip(segment["error_spans"], window.estimate.spans, strict=True):
            assert list(span) == ["text", "severity", "confidence", "start", "end"]
            assert (span["severity"], span["start"]) == (expected.severity, expected.start)
            assert 0 <= span["start"] <= span["end"] <= len(text)
            marked += 1
    assert marked > 100
    windows = ctx("score", *argv, "-m", "slide").objects()
    # the last window of the first document holds one sentence; the parts of the others are of no one segment
    assert [each["segment"] for each in windows if "parts" in each] == [13]
    overlapping = ctx("score", *argv, "-m", "slide", "--slide-window", "2", "--slide-stride", "1").objects()
    assert not any("parts" in each for each in overlapping)


@pytest.mark.full
def test_the_grid_is_the_runs_one_by_one(ctx, few):
    argv = ["score", "-t", A, B, "-r", REF, "-l", "de-en", "--docids", DOCIDS, "--slide-partial", "drop"]
    done = ctx(*argv, "--slide-grid", "3", "--format", "tsv", "-q")
    assert (done.code, done.err) == (0, ""), done.err
    assert done.out.startswith("system\twindow\tstride\tscore\n")
    grid = {(row["system"], int(row["window"]), int(row["stride"])): float(row["score"]) for row in done.rows()}
    assert list(grid) == [(name, w, s) for name in (NAME_A, NAME_B) for w in (1, 2, 3) for s in range(1, w + 1)]
    reference, *systems = (lines_of(name)[few] for name in (REF, A, B))
    for window, stride in [(1, 1), (2, 1), (3, 2), (3, 3)]:
        metric = SLIDE(
            [reference], systems, doc_ids=IDS[few], target_lang="en", window=window, stride=stride, partial="drop"
        )
        for name, system in zip(NAMES, systems):
            assert grid[name, window, stride] == pytest.approx(metric.corpus_score(system, None).score, abs=2e-4)


@pytest.mark.full
def test_the_grid_in_every_format(ctx):
    argv = ["score", "-t", A, "-r", REF, "-l", "de-en", "--slide-grid", "2", "--slide-partial", "drop"]
    done = ctx(*argv, "--format", "jsonl")
    assert "slide: no document ids" in done.err and done.err.count("\n") == 1
    objects = done.objects()
    assert [(each["window"], each["stride"]) for each in objects] == [(1, 1), (2, 1), (2, 2)]
    assert "|window:2|stride:1|partial:drop|" in objects[1]["signature"]
    assert json.loads(ctx(*argv, "--format", "json").out) == objects
    table = ctx(*argv).out
    cells = [line.replace("│", " ").split() for line in table.splitlines() if line.startswith("│")]
    assert cells[0] == ["window", "\\", "stride", "1", "2"]
    assert cells[1:] == [["1", f"{objects[0]['score']:.1f}"], ["2", *(f"{each['score']:.1f}" for each in objects[1:])]]
    assert "|window:1-2|stride:1-2|" in table
    assert f"{objects[0]['score'] / 100:.4f}" in ctx(*argv, "--scale", "1").out


def test_a_grid_cell_in_which_nothing_is_scored_is_empty(ctx, tmp_path):
    files = {"hyp": "One.\nTwo.\n", "ref": "One.\nThree.\n", "ids": "a\nb\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    argv = ["score", "-t", tmp_path / "hyp", "-r", tmp_path / "ref", "--docids", tmp_path / "ids", "-l", "de-en"]
    argv += ["--slide-grid", "2", "--slide-partial", "drop"]
    assert [row["score"] != "" for row in ctx(*argv, "--format", "tsv").rows()] == [True, False, False]
    assert [each["score"] is None for each in ctx(*argv, "--format", "jsonl").objects()] == [False, True, True]


def test_output_that_cannot_be_written_is_printed(ctx, tmp_path, monkeypatch):
    """tests/test_writing.py has more."""
    path, link = tmp_path / "out.tsv", tmp_path / "link"
    argv = ["score", "-t", A, "-r", REF, "-m", "chrf", "--format", "tsv", "-q"]
    text = ctx(*argv, "-o", "/dev/stdout").out
    link.symlink_to(path)
    done = ctx(*argv, "-o", link)
    assert (done.code, done.out) == (1, "") and "it is a link, and nothing is written through a link" in done.err
    assert ctx(*argv, "-o", path) == (0, "", "") and path.read_text() == text
    path.write_text("before")
    monkeypatch.setattr(os, "replace", _failing)
    done = ctx(*argv, "-o", path)
    why = f"cannot write {path}: the disk is full; the output is on the standard output instead"
    assert done == (1, text, f"ctx-metrics: error: {why}\n")
    assert path.read_text() == "before" and len(list(tmp_path.iterdir())) == 2


@pytest.mark.full
def test_the_signatures_of_tsv_are_on_stderr(ctx, few):
    argv = ["score", "-t", A, "-r", REF, "-l", "de-en", "--format", "tsv", "--only-system"]
    expected = [f"ctx-metrics: {each['metric'].upper()}|{each['signature']}" for each in
                ctx(*argv[:-2], "jsonl", "--only-system", "-m", "meteor", "bleu").objects()]  # fmt: skip
    assert ctx(*argv, "-m", "meteor", "bleu").err.splitlines() == expected and len(expected) == 2
    assert ctx(*argv, "-m", "meteor", "bleu", "-q").err == ""
    [grid] = ctx(*argv[:-1], "-m", "slide", "--docids", DOCIDS, "--slide-grid", "2").err.splitlines()
    assert grid.startswith("ctx-metrics: SLIDE-embedded|nrefs:1|") and "|window:1-2|stride:1-2|" in grid


@pytest.mark.parametrize("ending", ["jsonl", "json", "txt"])
def test_the_ending_of_the_output_tells_its_format(ctx, tmp_path, ending):
    argv = ["score", "-t", A, "-r", REF, "-m", "chrf", "-q", "--level", "system"]
    form = "table" if ending == "txt" else ending
    path = tmp_path / "new" / "folder" / f"out.{ending}"
    assert ctx(*argv, "-o", path) == (0, "", "")
    assert path.read_text(encoding="utf-8") == ctx(*argv, "--format", form).out
    assert ctx(*argv, "--format", "table", "-o", path).code == 0 and path.read_text(encoding="utf-8")[0] == "╒"


def _failing(*paths):
    raise OSError("the disk is full")


def test_what_is_given_and_read_by_no_metric_is_said(ctx, few):
    argv = ["score", "-t", A, "-r", REF, "-l", "de-en", "-s", SOURCE, "--docids", DOCIDS]
    assert ctx(*argv, "-m", "bleu", "comet", "--model", "embedded").err == (
        "ctx-metrics: none of the chosen metrics reads the source (bleu, comet); the model of comet "
        "(embedded-alignment-regressor, English only) ignores it\n"
        "ctx-metrics: none of the chosen metrics reads the document ids (bleu, comet)\n"
    )
    assert "document ids" not in ctx(*argv, "-m", "chrf", "--format", "tsv").err  # they are in its lines
    assert "document ids" not in ctx(*argv, "-m", "slide").err


def test_another_language_is_refused_and_reaches_bleu(ctx):
    done = ctx("score", "-t", A, "-r", REF, "-l", "en-sah")
    assert done.code == 1 and "no embedded model reads Yakut (sah)" in done.err and done.out == ""
    done = ctx("score", "-t", A, "-r", REF, "-m", "bleu", "-l", "en-zh")
    assert "|tok:zh|" in done.out


@pytest.mark.full
def test_metrics_of_other_packages(tmp_path):
    env = add_toylen(tmp_path)
    argv = f"score -t {A} {B} -s {SOURCE} -r {REF} -m toylen chrf --toylen-scale 10 --format tsv --only-system".split()
    done = fresh_ctx_metrics(*argv, **env)
    assert done.returncode == 0, done.stderr
    words = {name: sum(len(line.split()) for line in lines_of(name)) for name in (A, B, SOURCE)}
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    expected = [f"{1000 * words[name] / words[SOURCE]:.4f}" for name in (A, B)]
    assert [row[5] for row in rows if row[4] == "toylen"] == expected
    off = fresh_ctx_metrics(*argv, CTX_METRICS_NO_AUTOLOAD="1", **env)
    assert off.stdout == done.stdout, off.stderr
    (tmp_path / "toylen.py").write_text("raise ImportError('no such thing')")
    done = fresh_ctx_metrics(*argv, **env)
    said = "ctx-metrics: error: metric toylen (toylen:ToyLen) cannot be loaded: ImportError: no such thing\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_number():
    assert number(1.25, 3) == "1.250" and number(-0.5, 0) == "-0" and number(7, 1) == "7"
    assert number(math.nan, 1) == number(None, 1) == "" and number(math.nan, 1, "-") == "-"


def test_a_file_whose_name_is_no_text(ctx, tmp_path):
    """Printed as its bytes, as the system has it; JSON, which must be text, has an escape for it."""
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_bytes((EXAMPLES / A).read_bytes())
    argv = ["score", "-t", path, B, "-r", REF, "-m", "chrf", "--only-system", "-q"]
    assert ctx(*argv, "--format", "jsonl").objects()[0]["system"] == "caf_"  # by itself, a name is one word of text
    argv += ["--names", os.fsdecode(b"caf\xe9"), "other"]
    for form in ("table", "tsv"):
        assert ctx(*argv, "--format", form, "-o", tmp_path / "out") == (0, "", "")
        assert b"caf\xe9" in (tmp_path / "out").read_bytes()
        done = ctx(*argv, "--format", form)
        assert done.code == 0 and os.fsdecode(b"caf\xe9") in done.out
    assert ctx(*argv, "--format", "jsonl").objects()[0]["system"].startswith(os.fsdecode(b"caf\xe9"))
