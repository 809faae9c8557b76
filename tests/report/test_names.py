"""The name of a score stays the same in every format: scores of the embedded model are never called COMET's."""

import json

import pytest
from plugin_conftest import fresh_sacrebleu as sacrebleu

from ctx_metrics import evaluate
from ctx_metrics.cli import main
from ctx_metrics.report.columns import read_columns
from ctx_metrics.scoring.context import Context
from ctx_metrics.scoring.testing import USUAL

LINES = {
    "a": ["The dog sleeps.", "We go home."],
    "b": ["A dog slept.", "We are home."],
    "ref": ["The dog is asleep.", "We go."],
}
INPUTS = "-t a b -r ref -l de-en -m comet".split()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    for name, lines in LINES.items():
        (folder / name).write_text("".join(line + "\n" for line in lines))
    return folder


@pytest.fixture(autouse=True)
def here(files, monkeypatch):
    monkeypatch.chdir(files)


def shown_in_report(scores) -> str:
    systems = [LINES["a"], LINES["b"]]
    [column] = read_columns([str(scores)], Context(systems=systems, names=["a", "b"]), USUAL.design(systems, None))
    return column.title


@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl"])
def test_tables_of_scores(files, form):
    levels = ["--level", "segment", "system"]
    assert main(["score", *INPUTS, *levels, "-q", "-o", f"scores.{form}"]) == 0
    assert shown_in_report(files / f"scores.{form}") == "COMET-embedded"


def test_an_older_table_is_named_by_its_signature(files):
    signature = "nrefs:1|model:embedded-alignment-regressor|ckpt:14fc17326625"
    rows = [
        {"level": "segment", "system": name, "segment": i, "metric": "comet", "score": 50.0 + i, "signature": signature}
        for name in "ab"
        for i in (1, 2)
    ]
    (files / "older.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert shown_in_report(files / "older.jsonl") == "COMET-embedded"


@pytest.mark.parametrize("form", ["csv", "json", "latex", "markdown"])
def test_tables_of_comparisons(capsys, form):
    assert main(["compare", *INPUTS, "--samples", "20", "--format", form, "-q"]) == 0
    assert "comet-embedded" in capsys.readouterr().out.lower()


@pytest.mark.full
def test_files_of_sacrebleu(files):
    ref, a, b, kept = (str(files / name) for name in ("ref", "a", "b", "kept"))
    done = sacrebleu(ref, "-i", a, b, "-l", "de-en", "-m", "comet", "--ctx-seg-scores", kept, "--format", "json")
    assert "COMET-embedded" in done.stdout
    assert shown_in_report(files / "kept" / "comet-embedded-ref.seg.score") == "COMET-embedded"


def test_tables_in_python():
    found = evaluate(
        {name: LINES[name] for name in "ab"}, LINES["ref"], source_lang="de", target_lang="en", metrics=["comet"]
    )
    assert "COMET-embedded" in found._repr_html_() and "COMET-embedded" in repr(found)
