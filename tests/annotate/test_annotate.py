"""Tables are scored as files are, block by block; a run that ended goes on."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  fixture
from comet_checkpoints import RECIPES, build
from disk_faults import at_most
from plugin_conftest import DOCIDS, REF, SOURCE, A, environment, lines_of
from sacrebleu.metrics import CHRF

from ctx_metrics.annotate.parts import Parts
from ctx_metrics.annotate.rows import reader_of
from ctx_metrics.annotate.scorer import Scorer
from ctx_metrics.annotate.tables import find_tables
from ctx_metrics.cli.common.spans import MARKS

COMMAND = str(Path(sys.executable).with_name("ctx-metrics"))
COLUMNS = {"src": SOURCE, "mt": A, "ref": REF, "doc": DOCIDS}


def rows():
    texts = {role: lines_of(name) for role, name in COLUMNS.items()}
    return [dict(zip(texts, own, strict=True)) for own in zip(*texts.values(), strict=True)]


def write_tsv(path: Path, rows, header=True) -> Path:
    lines = ["\t".join(row.values()) for row in rows]
    path.write_text("".join(f"{line}\n" for line in ["\t".join(rows[0])] * header + lines), encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path) -> Path:
    return write_tsv(tmp_path / "table.tsv", rows())


def parts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name.startswith("part-")}


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def annotated(folder: Path) -> list[dict[str, str]]:
    """The rows of TSV parts."""
    found = []
    for content in parts(folder).values():
        header, *lines = [line.split("\t") for line in content.decode().splitlines()]
        found += [dict(zip(header, line, strict=True)) for line in lines]
    return found


METRICS = ["bleu", "chrf", "ter", "bertr", "comet", "slide", "meteor"]


@pytest.mark.full
def test_scores_are_those_of_score(ctx, table, tmp_path):
    metrics = ["-m", *METRICS, "--comet-model", build(RECIPES["regression"], tmp_path / "model"), "-l", "de-en"]
    done = ctx("annotate", table, "-o", tmp_path / "out", *metrics, "--block", "20")
    assert done.code == 0, done.err
    files = ["-s", SOURCE, "-t", A, "-r", REF, "--docids", DOCIDS]
    scored = ctx("score", *files, *metrics, "--format", "jsonl").objects()
    found = annotated(tmp_path / "out")
    assert len(parts(tmp_path / "out")) > 2
    summary = json.loads((tmp_path / "out/_summary.json").read_text())
    names = list(dict.fromkeys(each["metric"] for each in scored))
    assert names == [*found[0]][-len(METRICS) :] == [*summary["metrics"]] and "slide-embedded" in names
    for name in names:
        of_metric = [each for each in scored if each["metric"] == name]
        segments = [each["score"] for each in of_metric if each["level"] == "segment"]
        assert [float(row[name]) for row in found] == pytest.approx(segments, abs=2e-4)  # four decimals, other batches
        [system] = [each for each in of_metric if each["level"] == "system"]
        assert summary["metrics"][name]["score"] == pytest.approx(system["score"], abs=1e-4)
        assert summary["metrics"][name]["signature"] == system["signature"]
    assert [{role: row[role] for role in COLUMNS} for row in found] == rows()


def test_a_folder_may_be_an_address_of_this_machine(ctx, table, tmp_path):
    for folder in (f"file://{tmp_path}/address", f"{tmp_path}/path"):
        assert ctx("annotate", table, "-o", folder, "-m", "chrf", "-l", "de-en", "-q").code == 0
    assert parts(tmp_path / "address") == parts(tmp_path / "path") != {}


def write_form(frame, path: Path) -> Path:
    """A table of pandas in the format that the file name ends with."""
    form = path.name.partition(".")[2]
    if form == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif form.startswith("jsonl"):
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if form.startswith("tsv") else ",", quoting=3 if form[0] == "t" else 0)
    return path


def read_form(pandas, path: Path):
    form = path.name.partition(".")[2]
    if form == "parquet":
        return pandas.read_parquet(path)
    if form.startswith("jsonl"):
        return pandas.read_json(path, lines=True)
    tab = form.startswith("tsv")
    return pandas.read_csv(path, sep="\t" if tab else ",", quoting=3 * tab, keep_default_na=False)


@pytest.mark.parametrize("form", ["tsv.gz", "csv", "jsonl.xz", "parquet"])
def test_every_form_has_the_same_scores_and_faults(ctx, faulty, tmp_path, form):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(faulty, sep="\t", quoting=3)
    path = write_form(frame, tmp_path / f"table.{form}")
    flags = ["-m", "chrf", "-l", "de-en", "--block", "25", "--drop", "repeats", "--names", "score", "why"]
    done = ctx("annotate", path, "-o", tmp_path / "out", *flags)
    assert done.code == 0, done.err
    found = pandas.concat([read_form(pandas, part) for part in sorted((tmp_path / "out").glob("part-*"))])
    kept, chrf = [k for k in range(len(frame)) if k != 5], CHRF()
    expected = [chrf.sentence_score(frame["mt"][k], [frame["ref"][k]]).score for k in kept]
    assert found["score"].tolist() == pytest.approx(expected, abs=1e-4)
    assert found["mt"].tolist() == [frame["mt"][k] for k in kept]
    assert found["why"].tolist() == [FOUND.get(k, "") for k in kept]
    if form == "parquet":  # a folder is read as one table, the summary left out
        assert len(pandas.read_parquet(tmp_path / "out")) == len(found)


def test_what_passes_limits_is_written(ctx, table, tmp_path):
    ctx("annotate", table, "-o", tmp_path / "all", "-m", "chrf", "ter", "--block", "10")
    done = ctx(
        *["annotate", table, "-o", tmp_path / "out", "-m", "chrf", "ter", "--block", "10"],
        *["--keep", "chrf >= 60", "ter<40"],
    )
    wanted = [row for row in annotated(tmp_path / "all") if float(row["chrf"]) >= 60 and float(row["ter"]) < 40]
    assert annotated(tmp_path / "out") == wanted and 0 < len(wanted) < 40
    assert f"59 rows of 1 table scored; {len(wanted)} written in " in done.out
    scores = [float(row["chrf"]) for row in annotated(tmp_path / "all")]
    bins = json.loads((tmp_path / "all/_summary.json").read_text())["metrics"]["chrf"]["histogram"]
    assert [number for *_, number in bins] == [sum(low <= score < high for score in scores) for low, high, _ in bins]


LOOP = "The council said that it it it it it it it it it it it it it it."


@pytest.fixture
def faulty(tmp_path) -> Path:
    """The table with a copy of the source in row 3, another row's source in row 8 and a repetition in row 6."""
    texts = rows()
    for place, output in ((2, texts[2]["src"]), (7, texts[8]["src"]), (5, LOOP)):
        texts[place] = texts[place] | {"mt": output}
    return write_tsv(tmp_path / "faulty.tsv", texts)


FOUND = {2: "copies,wrong-language", 5: "repeats", 7: "wrong-language"}


@pytest.mark.parametrize(
    "drop, left_out, said",
    [
        ("copies,wrong-language,repeats", [2, 5, 7], "dropped rows: 1 copies, 2 wrong-language, 1 repeats\n"),
        ("none", [], "rows (none was dropped): 1 copies, 2 wrong-language, 1 repeats\n"),
    ],
)
def test_rows_with_faults_are_left_out(ctx, faulty, tmp_path, drop, left_out, said):
    run = ["annotate", faulty, "-m", "chrf", "-l", "de-en", "--columns", "src=src", "--block", "7"]
    done = ctx(*run, "-o", tmp_path / "out", "--drop", drop)
    assert done.code == 0, done.err
    ctx(*run, "-o", tmp_path / "all")
    expected = [row | {"faults": FOUND.get(k, "")} for k, row in enumerate(annotated(tmp_path / "all"))]
    assert annotated(tmp_path / "out") == [row for k, row in enumerate(expected) if k not in left_out]
    assert said in done.out
    assert "faults" not in annotated(tmp_path / "all")[0]


def test_rows_with_faults_are_not_among_the_best(ctx, faulty, tmp_path):
    done = ctx(
        "annotate", faulty, "-m", "ter", "-l", "de-en", "-o", tmp_path / "out", "--drop", "copies", "--top", "58"
    )
    assert done.code == 0, done.err
    found = annotated(tmp_path / "out")
    assert [row["faults"] for row in found if row["faults"]] == ["repeats", "wrong-language"]
    assert len(found) == len(rows()) - 1


def test_copies_need_the_source(ctx, tmp_path):
    table = write_tsv(tmp_path / "table.tsv", [{"mt": row["mt"], "ref": row["ref"]} for row in rows()])
    done = ctx("annotate", table, "-m", "chrf", "-l", "de-en", "-o", tmp_path / "out", "--drop", "copies")
    assert done.code == 2 and not (tmp_path / "out").exists()
    assert "--drop copies needs the source: name its column (--columns src=NAME)" in done.err


def test_a_first_block_of_copies_is_said_once(ctx, tmp_path):
    texts = [row | {"mt": row["src"]} for row in rows()]
    table = write_tsv(tmp_path / "copies.tsv", texts)
    run = ["annotate", table, "-m", "chrf", "-l", "de-en", "--block", "20", "-q"]
    copies = r"column mt \(the first \d+ rows\): \d+ of \d+ checked lines are copies of the source: "
    assert len(re.findall(copies, ctx(*run, "-o", tmp_path / "out").err)) == 1
    assert "copies" not in ctx(*run, "-o", tmp_path / "quiet", "--no-text-checks").err


SELECTED = [(["--top", "30%"], -1), (["--bottom", "17"], 1), (["--bottom", "30%", "--by", "ter"], -1)]


def test_the_best_or_worst_rows_are_written(ctx, table, tmp_path):
    run = ["annotate", table, "-m", "chrf", "ter", "--block", "10", "-o"]
    ctx(*run, tmp_path / "all")
    every = annotated(tmp_path / "all")
    for k, (flags, sign) in enumerate(SELECTED):
        done, name = ctx(*run, tmp_path / str(k), *flags), "ter" if "--by" in flags else "chrf"
        order = sorted(range(len(every)), key=lambda i: (sign * float(every[i][name]), i))[:17]
        assert annotated(tmp_path / str(k)) == [every[i] for i in sorted(order)]
        which, last = "best" if "--bottom" in flags else "worst", float(every[order[-1]][name])
        assert re.search(rf"17 written in \d+ parts; the {which} of them has {name} {last:.1f}\n", done.out), done.out


SELECTIONS = [
    ["--keep", "chrf >= 60"],
    ["--bottom", "5"],
    ["--top", "20%", "--by", "ter", "--drop", "repeats"],
    ["--drop", "copies,wrong-language", "--names", "a", "b"],
    ["--keep", "ter < 40", "--bottom", "3", "--by", "ter", "--drop", "none"],
]


@pytest.mark.full
def test_other_rows_of_a_finished_run_are_selected_without_scoring(ctx, faulty, tmp_path, monkeypatch):
    """The folder is that of a run with this selection, byte for byte, whichever selections it held before."""
    command = ["annotate", faulty, "-m", "chrf", "ter", "-l", "de-en", "--block", "13", "-q", "-o"]
    selections = [words if "--drop" in words else [*words, "--drop", "none"] for words in SELECTIONS]
    for k, words in enumerate(selections):
        assert ctx(*command, tmp_path / str(k), *words).code == 0
    monkeypatch.setattr(Scorer, "__call__", lambda *task: pytest.fail("scored again"))
    for k, words in enumerate([*selections[1:], selections[0]], 1):
        done = ctx(*command, tmp_path / "0", *words)
        assert done.code == 0 and "all rows were scored already, so only " in done.err, done.err
        assert "continues" not in done.err
        if k < len(selections):
            assert everything(tmp_path / "0") == everything(tmp_path / str(k))
    done = ctx(*command, tmp_path / "0", *selections[0])
    assert "all parts already exist, so nothing was scored" in done.err and "continues" not in done.err


def test_a_run_that_ends_while_it_selects_other_rows_is_not_taken_for_finished(ctx, table, tmp_path, monkeypatch):
    command = ["annotate", table, "-m", "chrf", "--block", "8", "-q", "-o", tmp_path / "out"]
    assert ctx(*command).code == 0
    write = Parts.write_part

    def interrupted(self, number, content):
        if number == 3:
            raise KeyboardInterrupt
        return write(self, number, content)

    monkeypatch.setattr(Parts, "write_part", interrupted)
    assert ctx(*command, "--bottom", "9").code == 130 and not (tmp_path / "out/_summary.json").exists()
    monkeypatch.setattr(Parts, "write_part", write)
    done = ctx(*command, "--bottom", "9")
    assert done.code == 0 and len(annotated(tmp_path / "out")) == 9
    assert "all rows were scored already, so only " in done.err and "continues" not in done.err


def test_columns_are_named_by_what_scored(ctx, tmp_path):
    """As in score; limits and selections name the metrics, and --names any columns."""
    table = write_tsv(tmp_path / "same.tsv", [{"comet": "x", "mt": "A cat sat there.", "ref": "A cat sat there."}] * 3)
    flags = ["-m", "comet", "chrf", "-l", "de-en", "--bottom", "2", "--by", "comet", "-o"]
    done = ctx("annotate", table, *flags, tmp_path / "out")
    assert done.code == 0, done.err
    assert [*annotated(tmp_path / "out")[0]] == ["comet", "mt", "ref", "comet-embedded", "chrf"]
    assert "the best of them has comet-embedded 100.0" in done.out
    assert [*json.loads((tmp_path / "out/_summary.json").read_text())["metrics"]] == ["comet-embedded", "chrf"]
    assert ctx("annotate", table, *flags, tmp_path / "out", "--names", "a", "b").code == 0
    assert [*annotated(tmp_path / "out")[0]] == ["comet", "mt", "ref", "a", "b"]


def test_shares_lie_between_the_extremes(ctx, tmp_path):
    own = [{"mt": "A cat sat there.", "ref": "A cat sat there."}] * 9
    done = ctx("annotate", write_tsv(tmp_path / "same.tsv", own), "-m", "chrf", "-o", tmp_path / "out")
    assert re.search(r"chrf +9" + r" +100\.0" * 7, done.out)


def test_a_row_without_reference_has_no_score(ctx, tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"mt": "A cat.", "ref": "A cat."}\n{"mt": "A dog.", "ref": null}\n' * 3)
    done = ctx("annotate", path, "-o", tmp_path / "out", "-m", "chrf", "bertr", "-l", "de-en", "--block", "3")
    assert done.code == 0, done.err
    found = [json.loads(line) for part in parts(tmp_path / "out").values() for line in part.splitlines()]
    assert [row["chrf"] for row in found] == [100.0, None] * 3
    assert [row["bertr"] for row in found] == [pytest.approx(100), None] * 3
    for name in ("chrf", "bertr"):
        assert f"{name}: 3 segments have no reference and are left out (rows 2, 4, 6)" in done.err


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_row_without_an_output_has_no_score(ctx, tmp_path, form):
    """By any metric; whatever is said of other rows names their numbers."""
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    texts = [{"mt": text, "ref": "A cat."} for text in (None, "A cat.", None, "A cat.", "", None, None, None)]
    path = write_form(pandas.DataFrame(texts), tmp_path / f"table.{form}")
    flags = ["-m", "chrf", "bertr", "bleu", "-l", "de-en", "--block", "3", "--keep", "chrf >= 0"]
    done = ctx("annotate", path, "-o", tmp_path / "out", *flags)
    assert done.code == 0, done.err
    for name in ("chrf", "bertr", "bleu"):
        assert f"{name}: 5 segments have no output and are left out (rows 1, 3, 6, 7, 8)" in done.err
    assert "bertr: 1 segment has an empty hypothesis or reference and scores 0 (row 5)" in done.err
    summary = json.loads((tmp_path / "out/_summary.json").read_text())
    assert summary["written"] == 3
    assert [(own["scored"], own["counts"]["missing"]) for own in summary["metrics"].values()] == [(3, 5)] * 3


def test_numbers_are_no_texts(ctx, tmp_path):
    """Columns with types are refused; in a text format, where a translation may be a number, a notice says so."""
    pandas, typed = pytest.importorskip("pandas"), tmp_path / "table.parquet"
    frame = pandas.DataFrame({"id": [1, 2, 3], "doc": [4, 4, 5], "mt": ["A."] * 3, "ref": ["A."] * 3})
    pytest.importorskip("pyarrow")
    frame.to_parquet(typed)
    done = ctx("annotate", typed, "-m", "chrf", "--columns", "mt=id", "-o", tmp_path / "out")
    assert done.code == 1 and done.err.endswith(
        "row 1: column id holds 1, not text; its text columns are mt, ref (choose with --columns)\n"
    )
    assert ctx("annotate", typed, "-m", "chrf", "-o", tmp_path / "ids").code == 0
    frame.to_csv(tmp_path / "table.csv", index=False)
    done = ctx("annotate", tmp_path / "table.csv", "-m", "chrf", "--columns", "mt=id", "-o", tmp_path / "text", "-q")
    assert done.code == 0 and "column id (the first 3 rows): holds only numbers" in done.err


@pytest.mark.full
def test_error_spans_are_columns(ctx, table, tmp_path):
    """Those that `score --spans` writes; a row without a reference has none."""
    model = ["-m", "chrf", "comet", "--model", build(RECIPES["xcomet"], tmp_path / "model"), "-l", "de-en", "--spans"]
    done = ctx("annotate", table, "-o", tmp_path / "out", *model, "--block", "30")
    assert done.code == 0, done.err
    found = annotated(tmp_path / "out")
    assert [*found[0]][-5:] == ["chrf", "comet", *MARKS] and {role: found[0][role] for role in COLUMNS} == rows()[0]
    files = ["-s", SOURCE, "-t", A, "-r", REF, "--docids", DOCIDS]
    assert ctx("score", *files, *model, tmp_path / "predictions.tsv").code == 0
    with (tmp_path / "predictions.tsv").open(newline="") as file:
        written = list(csv.DictReader(file, delimiter="\t"))
    assert [[row[name] for name in MARKS] for row in found] == [[row[name] for name in MARKS] for row in written]
    assert len({row["error_types"] for row in found}) > 5


@pytest.mark.full
def test_a_run_that_ended_goes_on(ctx, table, tmp_path):
    command = ["annotate", table, "-m", "chrf", "bertr", "-l", "de-en", "--block", "8", "-o"]
    ctx(*command, tmp_path / "whole")
    whole = everything(tmp_path / "whole")
    for kept in (0, 1, 4):
        folder = tmp_path / f"kept{kept}"
        shutil.copytree(tmp_path / "whole", folder)
        (folder / "_summary.json").unlink()
        for number in range(kept, len(parts(folder))):
            (folder / f".annotate/{number:06d}.json.z").unlink()
            if number % 2:  # of every second block the part was written, and not the record
                (folder / f"part-{number:06d}.tsv").unlink()
        done = ctx(*command, folder)
        assert done.code == 0 and everything(folder) == whole
        assert (f"rows in {'1 part' if kept == 1 else f'{kept} parts'}; the run continues after them" in done.err) == (
            kept > 0
        )
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "whole").rglob("*")}
    done = ctx(*command, tmp_path / "whole")
    assert done.code == 0 and "so nothing was scored" in done.err and "chrf" in done.out
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "whole").rglob("*")}


@pytest.mark.parametrize("chosen", [["--top", "30%"], ["--keep", "chrf >= 20"]])
def test_a_table_that_changed_far_from_its_start_is_refused(ctx, tmp_path, chosen):
    """And of the same size, as where two rows change places."""
    own = rows() * 8
    table = write_tsv(tmp_path / "table.tsv", own)
    assert table.stat().st_size > 100_000
    command = ["annotate", table, "-m", "chrf", "-l", "de-en", *chosen, "-o", tmp_path / "out"]
    assert ctx(*command).code == 0
    before = parts(tmp_path / "out")
    (tmp_path / "out/_summary.json").unlink()
    write_tsv(table, [*own[:-20], *reversed(own[-20:])])
    done = ctx(*command)
    assert done.code == 1 and "holds a run with other tables, or tables that have changed since" in done.err
    assert parts(tmp_path / "out") == before


def test_an_interrupt_says_what_is_kept(ctx, table, tmp_path, monkeypatch):
    write = Parts.write_record

    def interrupted(self, number, record):
        write(self, number, record)
        if number == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Parts, "write_record", interrupted)
    done = ctx("annotate", table, "-m", "chrf", "--block", "8", "-o", tmp_path / "out")
    rows_there = sum(len(file.read_text().splitlines()) - 1 for file in (tmp_path / "out").glob("part-00000[01].tsv"))
    kept = f"ctx-metrics: stopped; annotate: {rows_there} of 59 rows are kept in {tmp_path}/out; run the same command again to continue\n"
    assert done.code == 130 and done.err == kept


def test_small_first_blocks_and_how_far_a_run_is(ctx, tmp_path, monkeypatch):
    """The blocks are the same in a run that goes on, over several tables, and each line counts all rows of the tables."""
    monkeypatch.setattr("ctx_metrics.annotate.annotate.FIRST", 4)
    monkeypatch.setattr("ctx_metrics.notices.EVERY", 0)
    own = rows()
    write_tsv(tmp_path / "a.tsv", [{"mt": row["mt"], "ref": row["ref"]} for row in own[:20]])
    write_tsv(tmp_path / "b.tsv", [{"mt": row["mt"], "ref": row["ref"]} for row in own[20:]])
    command = ["annotate", tmp_path / "a.tsv", tmp_path / "b.tsv", "-m", "chrf", "--block", "20", "-o"]
    done = ctx(*command, tmp_path / "whole")
    numbers = [len(content.splitlines()) - 1 for content in parts(tmp_path / "whole").values()]
    assert numbers == [4, 8, 8, 20, 19]
    lines = [line for line in done.err.splitlines() if line.startswith("ctx-metrics: annotate: ")]
    assert [line.partition(" in ")[0].split(": ")[-1] for line in lines] == [f"{n} of 59 rows" for n in (4, 12, 20, 40)]
    write = Parts.write_record

    def interrupted(self, number, record):
        write(self, number, record)
        if number == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Parts, "write_record", interrupted)
    assert ctx(*command, tmp_path / "out").code == 130
    monkeypatch.setattr(Parts, "write_record", write)
    done = ctx(*command, tmp_path / "out", "-q")
    assert done.code == 0 and "annotate: " not in done.err
    assert everything(tmp_path / "out") == everything(tmp_path / "whole")


@pytest.mark.parametrize("form", ["tsv", "tsv.gz", "csv", "jsonl.xz", "parquet"])
def test_rows_are_counted(tmp_path, form):
    """As many as are read, whether or not the last line ends, and where a cell has two lines."""
    frame = pytest.importorskip("pandas").DataFrame(rows())
    if form == "csv":
        frame["mt"] = "one\ntwo"
    path = write_form(frame, tmp_path / f"table.{form}")
    [table] = find_tables([str(path)])
    reader = reader_of(table, ["mt"], [])
    assert reader.count() == sum(map(len, reader.rows())) == 59
    if form == "tsv":
        path.write_bytes(path.read_bytes().rstrip(b"\n"))
        assert reader.count() == 59 and reader_of(table, ["2"], []).count() == 60
        path.write_bytes(b"")
        assert reader.count() == 0


def test_a_header_among_rows_is_said(ctx, table, tmp_path):
    done = ctx("annotate", table, "-m", "chrf", "--columns", "mt=2", "ref=3", "-o", tmp_path / "out")
    assert done.code == 0 and f"{table}: its first row holds 'mt' and is scored as text" in done.err


@pytest.mark.parametrize(
    "more, message",
    [
        (["--block", "9"], "a run with other --block;"),
        (["-l", "cs-en"], "a run with other languages or --ctx-dtype;"),
        (["--drop", "none"], "a run with other new columns (--drop, --align, --spans);"),
        (["--chrf-word-order", "2"], "a run with other metrics, or with other settings of them;"),
    ],
)
def test_another_run_is_not_mixed_in(ctx, table, tmp_path, more, message):
    command = ["annotate", table, "-o", tmp_path / "out", "-m", "chrf", "--block", "8"]
    ctx(*command)
    before = everything(tmp_path / "out")
    done = ctx(*command, *more)
    assert done.code == 1 and message in done.err and done.err.count("\n") == 1
    assert everything(tmp_path / "out") == before


def test_bad_rows_leave_nothing_or_what_was_finished(ctx, table, tmp_path, monkeypatch):
    monkeypatch.setattr("ctx_metrics.annotate.rows.AT_ONCE", 8)
    lines = table.read_text().splitlines()
    for broken in (3, 40):
        table.write_text(
            "".join(f"{line}\n" for line in [*lines[:broken], lines[broken] + "\tmore", *lines[broken + 1 :]])
        )
        done = ctx("annotate", table, "-o", tmp_path / f"out{broken}", "-m", "chrf", "--block", "8")
        assert done.code == 1 and done.err.endswith(f"table.tsv, row {broken}: 5 columns, but the first line has 4\n")
    assert not (tmp_path / "out3").exists() and 3 <= len(parts(tmp_path / "out40")) <= 5


def test_an_error_in_a_later_block_names_its_row(ctx, tmp_path):
    """In its own table, where rows without an output precede it."""
    own = [{"src": row["src"], "mt": row["mt"]} for row in rows()]
    own[30]["mt"], own[40]["mt"] = None, "long " * 999
    for name, part in (("a", own[:20]), ("b", own[20:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    model = build(RECIPES["referenceless"], tmp_path / "model")
    flags = ["-m", "comet", "--comet-model", model, "--comet-on-long", "error", "--block", "12", "-o", tmp_path / "out"]
    done = ctx("annotate", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "-l", "de-en", *flags)
    assert done.code == 1 and f"error: {tmp_path}/b.jsonl: comet, row 21: " in done.err, done.err


def test_a_full_disk(ctx, table, tmp_path):
    own = rows()
    own[40]["src"] *= 200
    write_tsv(table, [{role: row[role] for role in ("src", "mt", "ref")} for row in own])
    command = ["annotate", table, "-m", "chrf", "--block", "8", "-o"]
    ctx(*command, tmp_path / "whole")
    with at_most(9000):
        done = ctx(*command, tmp_path / "out")
    fix = "File too large; make room and run the same command again: finished parts are kept"
    assert done.code == 1 and done.err == f"ctx-metrics: error: cannot write {tmp_path}/out/part-000005.tsv: {fix}\n"
    assert len(parts(tmp_path / "out")) == 5 and ctx(*command, tmp_path / "out").code == 0
    assert everything(tmp_path / "out") == everything(tmp_path / "whole")


def test_a_table_that_vanishes(ctx, tmp_path, monkeypatch):
    for name, own in (("a.tsv", rows()[:30]), ("b.tsv", rows()[30:])):
        write_tsv(tmp_path / name, own)
    command = ["annotate", tmp_path / "*.tsv", "-m", "chrf", "--block", "8", "-o"]
    ctx(*command, tmp_path / "whole")
    shutil.copy2(tmp_path / "b.tsv", tmp_path / "kept")
    write = Parts.write_part
    monkeypatch.setattr(Parts, "write_part", lambda *a: (tmp_path / "b.tsv").unlink(missing_ok=True) or write(*a))
    done = ctx(*command, tmp_path / "out")
    monkeypatch.undo()
    gone = f"ctx-metrics: error: cannot read {tmp_path}/b.tsv: No such file or directory\n"
    assert done.code == 1 and done.err == gone and 1 < len(parts(tmp_path / "out")) < len(parts(tmp_path / "whole"))
    shutil.copy2(tmp_path / "kept", tmp_path / "b.tsv")
    assert ctx(*command, tmp_path / "out").code == 0
    assert everything(tmp_path / "out") == everything(tmp_path / "whole")


@pytest.mark.parametrize(
    "flags, message",
    [
        (["-m", "rttchrf"], "rttchrf: needs round trips: name their column (--columns rtt=NAME)"),
        (["-m", "bertr", "-l", "en-is", "--bertr-model", "gone/model"], "gone/model"),
    ],
)
def test_what_cannot_be_scored(ctx, table, tmp_path, flags, message):
    done = ctx("annotate", table, "-o", tmp_path / "out", *flags)
    assert done.code == 1 and message in done.err and done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.full
def test_a_table_without_document_ids_is_one_document(ctx, tmp_path, monkeypatch):
    """As for score: no block divides it, however small the first blocks are."""
    monkeypatch.setattr("ctx_metrics.annotate.annotate.FIRST", 4)
    table = write_tsv(tmp_path / "table.tsv", [{"mt": row["mt"], "ref": row["ref"]} for row in rows()])
    command = ["annotate", table, "-m", "slide", "-l", "de-en", "-o", tmp_path / "out"]
    done = ctx(*command, "--block", "58")
    why = "slide treats a table without document ids as one document, but it has more than 58 rows"
    fix = "name the column of the document ids (--columns doc=NAME), or give a larger --block"
    assert done.code == 1 and done.err == f"ctx-metrics: error: {table}: {why}; {fix}\n"
    assert not (tmp_path / "out").exists() and ctx(*command, "--block", "59").code == 0
    words = ["-r", REF, "-l", "de-en", "-m", "slide", "--level", "segment", "--format", "tsv"]
    assert [row["slide-embedded"] for row in annotated(tmp_path / "out")] == [
        row["score"] for row in ctx("score", "-t", A, *words).rows()
    ]


@pytest.mark.full
def test_slide_needs_whole_documents(ctx, tmp_path):
    """Documents of 1 to 20 rows in blocks of 8 have slide's scores of one run."""
    lengths, texts = [1, 20, 3, 7, 2, 8, 3], lines_of(A)
    own = [
        {"mt": texts[(7 * number + i) % len(texts)], "ref": texts[(5 * number + i) % len(texts)], "doc": f"d{number}"}
        for number, length in enumerate(lengths)
        for i in range(length)
    ]
    table = write_tsv(tmp_path / "table.tsv", own)
    command = ["annotate", table, "-m", "slide", "-l", "de-en", "--slide-window", "3", "--slide-stride", "1"]
    ctx(*command, "--block", "8", "-o", tmp_path / "blocks")
    ctx(*command, "--block", "1000", "-o", tmp_path / "one")
    numbers = [len(content.splitlines()) - 1 for content in parts(tmp_path / "blocks").values()]
    assert numbers == lengths
    left, right = ([float(row["slide-embedded"]) for row in annotated(tmp_path / name)] for name in ("blocks", "one"))
    assert left == pytest.approx(right, abs=2e-4)


@pytest.mark.full
def test_a_killed_run_goes_on(table, tmp_path):
    """SIGKILL at five moments: the result is that of a run in peace, byte for byte."""
    many = [{**row, "mt": f"{row['mt']} {number}"} for number in range(20) for row in rows()]
    write_tsv(table, many)
    model = build(RECIPES["referenceless"], tmp_path / "model")
    command = [COMMAND, "annotate", str(table), "-m", "comet", "chrf", "--comet-model", str(model)]
    command += ["--block", "25", "-q", "-o"]
    done = subprocess.run([*command, tmp_path / "whole"], capture_output=True, env=environment(), check=True)
    killed = 0
    for seed in range(5):
        run = subprocess.Popen(
            [*command, tmp_path / "out"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment()
        )
        before = len(list((tmp_path / "out").glob("part-*"))) if (tmp_path / "out").exists() else 0
        deadline = time.time() + 120
        while time.time() < deadline and run.poll() is None:
            if len(list((tmp_path / "out").glob("part-*"))) >= before + 2 + seed:
                run.send_signal(signal.SIGKILL)
                killed += run.wait() == -signal.SIGKILL
                break
            time.sleep(0.002 * (seed + 1))
    assert killed >= 3
    again = subprocess.run([*command, tmp_path / "out"], capture_output=True, env=environment(), check=True)
    assert b"the run continues after them" in again.stderr and again.stdout == done.stdout
    assert everything(tmp_path / "out") == everything(tmp_path / "whole")


@pytest.mark.full
def test_ray_gives_the_same_parts(ctx, table, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    command = ["annotate", table, "-m", "slide", "chrf", "-l", "de-en", "--block", "8"]
    ctx(*command, "-o", tmp_path / "here")
    done = ctx(*command, "-o", tmp_path / "ray", "--on", "ray", "--workers", "2")
    assert done.code == 0, done.err
    assert everything(tmp_path / "ray") == everything(tmp_path / "here")
    bad = ctx("annotate", table, "-o", tmp_path / "bad", "-m", "comet", "--comet-model", "gone/model", "--on", "ray")
    assert bad.code == 1 and bad.err.count("\n") == 1 and "gone/model" in bad.err and not (tmp_path / "bad").exists()


@pytest.mark.full
def test_a_worker_without_the_model(ctx, table, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    from ctx_metrics.scale.on_ray import RayExecutor

    model = build(RECIPES["referenceless"], tmp_path / "model")
    score = RayExecutor.map
    monkeypatch.setattr(
        RayExecutor, "map", lambda *a: model.exists() and model.rename(tmp_path / "moved") and score(*a)
    )
    monkeypatch.setattr("ctx_metrics.scale.on_ray.WAIT_FOR_WORKERS", 600)  # no notice of a busy machine
    done = ctx("annotate", table, "-o", tmp_path / "out", "-m", "comet", "--comet-model", model, "--on", "ray")
    assert done.code == 1 and done.err.count("\n") == 1 and str(model) in done.err, done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.full
def test_a_killed_worker_is_replaced(table, tmp_path):
    """The worker that scores is killed again and again; each block comes once."""
    pytest.importorskip("ray")
    write_tsv(table, [{**row, "mt": f"{row['mt']} {number}"} for number in range(20) for row in rows()])
    command = [COMMAND, "annotate", str(table), "-m", "bertr", "-l", "de-en", "--block", "50", "-q"]
    env = environment(OMP_NUM_THREADS="1")
    subprocess.run([*command, "-o", tmp_path / "whole"], check=True, capture_output=True, env=env)
    run = subprocess.Popen(
        [*command, "-o", tmp_path / "out", "--on", "ray", "--workers", "2"],
        env=env,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    killed = 0
    while run.poll() is None and killed < 2:
        written = len(list((tmp_path / "out").glob("part-*")))
        workers = subprocess.run(["pgrep", "-f", "ray::Worker"], capture_output=True, text=True).stdout.split()
        if written >= 2 * killed + 1 and workers:
            os.kill(int(workers[0]), signal.SIGKILL)
            killed += 1
            time.sleep(1)
        time.sleep(0.02)
    printed, error = (stream.decode() for stream in run.communicate())
    assert run.returncode == 0 and killed == 2 and "died" not in printed, error
    assert error.count("--on ray: a worker died; another one takes its place and its block\n") >= 1
    assert everything(tmp_path / "out") == everything(tmp_path / "whole")


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--by", "chrf"], "--by selects the metric of --top and --bottom"),
        (["--top", "3", "--bottom", "3"], "--top writes the best rows and --bottom the worst; give one"),
        (["--bottom", "0"], "argument --bottom: '0' is neither a share such as 20% nor a number of rows"),
        (["--columns", "mt=a", "mt=b"], "--columns gives mt twice"),
        (["--columns", "mt=1", "src=b"], "--columns mixes names and numbers"),
        (["--columns", "mt=\u00b2", "src=1"], "--columns mixes names and numbers"),
        (["--names", "a", "b"], "--names has 2 names for 1 metric (chrf)"),
        (["--names", "a\u2028b"], "--names has a name with a tab, a line end or another control character"),
        (["--names", "caf\udce9"], "--names has a name that is not UTF-8"),
        (["--drop", "copy"], "argument --drop: 'copy' is not one of copies, wrong-language, repeats"),
        (["--drop", "none", "--no-text-checks"], "--drop needs the checks that --no-text-checks turns off"),
        (["--drop", "wrong-language"], "--drop wrong-language needs the language"),
        (["--roundtrip", "a.txt"], "--roundtrip: annotate reads tables; name the column of these texts"),
    ],
)
def test_flags_that_contradict(ctx, table, tmp_path, flags, message):
    done = ctx("annotate", table, "-o", tmp_path / "out", "-m", "chrf", *flags)
    assert done.code == 2 and done.err.splitlines()[-1].startswith(f"ctx-metrics annotate: error: {message}")
    assert not (tmp_path / "out").exists() and re.search("usage", done.err)
