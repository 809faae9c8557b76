"""Document ids that never repeat are named, in every front end and for tests too."""

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import DOCIDS, REF, A, B, lines_of, sacrebleu

from ctx_metrics import evaluate
from ctx_metrics.checks.documents import say_single
from ctx_metrics.notices import collected

IDS = [f"{doc}_#_{k}" for k, doc in enumerate(lines_of(DOCIDS))]
SAID = "59 documents for 59 segments, so "


@pytest.fixture
def ids(tmp_path):
    (tmp_path / "ids").write_text("".join(f"{each}\n" for each in IDS))
    return str(tmp_path / "ids")


def test_what_is_said():
    for given, cause in (
        ([f"a\t{k}" for k in range(6)], "(`cut -f1`)"),
        ([f"talk.{k}" for k in range(6)], "(.0)"),
        ([*"abcdef"], "the id of its whole document"),
    ):
        with collected() as notices:
            say_single(given, "x")
        assert cause in str(notices[0])
    with collected() as notices:
        say_single([*"abcdee"], "x")
        say_single([*"abcd"], "x")
        say_single(None, "x")
    assert not notices


@pytest.mark.full
def test_commands_say_it_once(ctx, ids, tmp_path):
    score = ctx("score", "-t", A, B, "-r", REF, "-m", "slide", "--docids", ids, "-l", "de-en", "-q")
    compare = ctx("compare", "-t", A, B, "-r", REF, "-m", "chrf", "--docids", ids, "-l", "de-en", "-q")
    report = ctx("report", "-t", A, B, "-r", REF, "-m", "chrf", "--docids", ids, "-q", "-o", tmp_path / "page.html")
    for done in (score, compare, report):
        assert done.code == 0 and done.err.count(SAID) == 1
    rows = zip(IDS, lines_of(REF), lines_of(A), strict=True)
    (tmp_path / "t.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    columns = ["--columns", "doc=1", "ref=2", "mt=3"]
    done = ctx(
        "annotate", tmp_path / "t.tsv", *columns, "-m", "slide", "-l", "de-en", "--block", "20", "-o", tmp_path / "o"
    )
    assert done.err.count("20 documents for 20 segments") == 1 and "19 documents" not in done.err


@pytest.mark.full
def test_sacrebleu_and_evaluate_say_it(ids):
    tested = ["--paired-bs", "--paired-bs-n", "20", "--ctx-resample", "document"]
    done = sacrebleu(REF, "-i", A, B, "-m", "slide", "-l", "de-en", "--docids", ids, *tested)
    assert done.stderr.count(SAID) == 2  # of windows, and of tests
    reference = lines_of(REF)
    assert any(SAID in str(each) for each in evaluate(reference, reference, metrics=["slide"], docs=IDS).notices)
