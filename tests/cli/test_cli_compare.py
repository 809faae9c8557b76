"""`ctx-metrics compare` and `score --compare`: what they print, in which format, and the figure."""

import json
import shlex

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from cli_pages import DOCS, assert_about_as_printed, blocks, unwrapped
from plugin_conftest import DOCIDS, NAME_A, NAME_B, NAME_C, REF, A, B, C

TEXT = (DOCS / "compare.md").read_text(encoding="utf-8")
THREE = ["compare", "-t", A, B, C, "-r", REF, "-l", "de-en", "-m", "chrf"]
QUICK = ["--samples", "199"]


@pytest.mark.full
def test_the_page_prints_what_it_shows(ctx):
    [(command, printed)] = blocks(TEXT.split("## What is tested")[0])
    done = ctx(*shlex.split(command)[1:])
    assert_about_as_printed(done.err + done.out, unwrapped(printed))


@pytest.mark.full
def test_the_table_of_the_page_is_written(ctx, tmp_path):
    (command, _), (_, printed) = blocks(TEXT.split("## Tables for papers")[1].split("\n## ")[0])
    path = tmp_path / "systems.tex"
    assert ctx(*shlex.split(command.replace("systems.tex", str(path)))[1:]).code == 0
    assert_about_as_printed(path.read_text(), unwrapped(printed))


@pytest.mark.full
def test_rows_and_objects_are_of_the_same_pairs(ctx):
    """The better system comes first; TER's smaller score is the better one."""
    more = ["ter", "--samples", "199", "--seed", "7"]
    rows = ctx(*THREE, *more, "--format", "tsv").rows()
    objects = ctx(*THREE, *more, "--format", "jsonl").objects()
    assert [(row["metric"], row["system"], row["other"]) for row in rows] == [
        (metric, *pair) for metric in ("chrf", "ter") for pair in ((NAME_B, NAME_A), (NAME_B, NAME_C), (NAME_A, NAME_C))
    ]
    for row, found in zip(rows, objects, strict=True):
        assert float(row["difference"]) == pytest.approx(found["score"] - found["other_score"], abs=1e-4)
        assert found["low"] < found["difference"] < found["high"]
        assert found["p"] <= found["p_holm"] and row["significant"] == str(found["p_holm"] < 0.05).lower()
        assert (found["difference"] > 0) == (found["metric"] == "chrf")
        assert found["unit"] == "segment" and found["seed"] == 7 and "|version:" in found["signature"]


@pytest.mark.full
def test_documents_are_the_unit_where_their_ids_are_given(ctx):
    with_ids = ctx(*THREE, "--docids", DOCIDS, "--format", "jsonl")
    assert {(each["unit"], each["units"]) for each in with_ids.objects()} == {("document", 7)}
    assert "only 7 documents" in with_ids.err and "none of the chosen metrics reads" not in with_ids.err
    by_segment = ctx(*THREE, "--docids", DOCIDS, "--resample", "segment", "--format", "jsonl")
    assert {each["unit"] for each in by_segment.objects()} == {"segment"} and "documents" not in by_segment.err


def test_without_the_correction_there_is_no_corrected_value(ctx):
    objects = ctx(*THREE, "--no-holm", "--test", "bootstrap", "--samples", "99", "--format", "jsonl").objects()
    assert {each["p_holm"] for each in objects} == {None} and {each["test"] for each in objects} == {"bootstrap"}
    assert "not corrected" in " ".join(ctx(*THREE, "--no-holm", "--samples", "99").out.split())


def test_the_figure(ctx, tmp_path):
    done = ctx(*THREE, *QUICK, "-o", tmp_path / "pairs.txt", "--plot", tmp_path / "pairs.svg")
    assert done.code == 0 and done.out == "" and "<svg" in (tmp_path / "pairs.svg").read_text()


@pytest.mark.full
def test_scores_and_comparisons_in_one_run(ctx):
    scored = ctx("score", *THREE[1:]).out
    both = ctx("score", *THREE[1:], "--compare").out
    compared = ctx(*THREE).out
    assert both.startswith(scored)
    assert both[len(scored) :].strip() == compared.split("-----------------")[0].strip()


def test_one_segment_cannot_be_tested(ctx, tmp_path):
    for name in ("r", "a", "b"):
        (tmp_path / name).write_text("It rains.\n")
    done = ctx("compare", "-t", tmp_path / "a", tmp_path / "b", "-r", tmp_path / "r", "-m", "chrf", "--format", "json")
    [pair] = json.loads(done.out)
    assert (pair["p"], pair["low"], pair["rank"], pair["significant"]) == (None, None, None, False)
    assert "only one segment" in done.err


@pytest.mark.full
def test_windows_without_documents_are_said(ctx):
    done = ctx("compare", "-t", A, B, "-r", REF, "-l", "de-en", "-m", "slide", "--samples", "19", "-q")
    assert "segments share scores, so p-values of single segments are too small" in done.err


@pytest.mark.full
def test_few_documents_cannot_show_a_difference(ctx, tmp_path):
    """With 5 documents there are 32 ways to swap, and two of them are the systems themselves."""
    ids = tmp_path / "ids"
    ids.write_text("".join(f"{k * 5 // 59}\n" for k in range(59)))
    done = ctx(*THREE, "--docids", ids)
    said = (
        "with 5 documents no p-value can be below 0.062 (0.19 with Holm's correction for 3 pairs), so no difference can"
    )
    assert said in done.err and "*" not in done.out.split("Each cell")[0]
    assert "no p-value" not in ctx(*THREE, *QUICK).err
    for test in ("randomization", "bootstrap"):
        few = ctx(*THREE, "--test", test, "--samples", "9").err
        assert "with 9 trials no p-value can be below 0.1 (0.3 with Holm's correction for 3 pairs)" in few
        assert few.count("no p-value") == 1 and "use more --samples" in few


def test_flags_of_comet_compare_are_known(ctx):
    done = ctx(*THREE, "--num_splits", "300", "--ctx-resample", "document", "--gpus", "1")
    assert done.code == 2 and "--num_splits N: --samples N" in done.err and "--resample document" in done.err
    assert "a flag of ctx-metrics compare" in ctx("score", *THREE[1:], "--compare", "--alpha", "0.1").err
