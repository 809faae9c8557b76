"""Outputs that a metric chose, scored by it, by related metrics and by others: who is named, and what records are trusted."""

import json
import os
from pathlib import Path

import pytest
from cli_conftest import ctx, error  # noqa: F401  a fixture
from comet_checkpoints import RECIPES, build
from plugin_conftest import DOCIDS, EXAMPLES, REF, SOURCE, A, B, C

from ctx_metrics.interference.related import Measure, Tuning, relation
from ctx_metrics.interference.said import interference

START = "metric interference: best was chosen by mbr with chrf, so chrf (the same metric) may overrate it."
MBR = ["mbr", A, B, C, "-m", "chrf", "-q", "-o"]


def said(done) -> list[str]:
    assert done.code == 0, done
    return [line.partition(": ")[2] for line in done.err.splitlines()]


def tuned(done) -> dict[str, str]:
    """The systems that the signature of each metric names, from JSON lines."""
    keys = {
        each["metric"]: dict(part.split(":", 1) for part in each["signature"].split("|")) for each in done.objects()
    }
    return {metric: own["tuned"] for metric, own in keys.items() if "tuned" in own}


@pytest.fixture
def best(ctx, tmp_path) -> Path:
    assert said(ctx(*MBR, tmp_path / "best.txt")) == []
    return tmp_path / "best.txt"


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A COMET model that reads no reference."""
    return str(build(RECIPES["referenceless"], tmp_path_factory.mktemp("comet") / "referenceless"))


@pytest.mark.parametrize(
    "one, other, how",
    [
        (Measure("bleu"), Measure("bleu"), "the same metric"),
        (Measure("comet"), Measure("comet", "a", "1"), "the same metric"),
        (Measure("comet", "a", "1"), Measure("comet", "a", "2"), "the same metric with another model"),
        (Measure("comet", "o/a@main"), Measure("slide", "a", "1"), "the same model"),
        (Measure("bertscore", "x", "1"), Measure("rttsbert", "y", "1"), "the same model"),
        (Measure("prbleu"), Measure("rttbleu"), "made of the same metric"),
        (
            Measure.of_signature("pairwise", "model:p|features:nist+bertr_layers=4"),
            Measure("bertr"),
            "made of the same metric",
        ),
        (Measure("bertr", "embedded-all-MiniLM-L6-v2", "1"), Measure("esim", "embedded-esim", "2"), "the same encoder"),
        (Measure("bertr", "embedded-all-MiniLM-L6-v2", "1"), Measure("comet", "embedded-unified", "2"), ""),
        (Measure("metricx", "m", "1"), Measure("comet", "c", "2"), "both learned from human judgements"),
        (Measure("bleu"), Measure("chrf"), ""),
        (Measure("comet", "a", "1"), Measure("judge", "b"), ""),
        (Measure("bertscore", "a", "1"), Measure("comet", "b", "2"), ""),
    ],
    ids=str,
)
def test_related_metrics(one, other, how):
    assert relation(one, other) == relation(other, one) == how


def test_one_line_names_all_systems_with_their_closest_reasons():
    chrf, comet = Tuning("", Measure("chrf")), Tuning("", Measure("comet", "a"))
    reasons = {"a": [comet, chrf], "b": [], "c": [chrf], "d": [chrf, comet], "e": [chrf]}
    scored = {name: Measure(name) for name in ("bleu", "chrf", "slide")} | {"comet": Measure("comet", "b")}
    text = interference(reasons, scored).partition(". Use ")[0]
    both = "chrf (the same metric), slide (both learned from human judgements) and comet (the same metric with another model)"
    assert text.removeprefix("metric interference: ").split("; ") == [
        f"a, d were tuned with chrf and tuned with comet:a, so {both} may overrate them",
        "c, e were tuned with chrf, so chrf (the same metric) may overrate them",
    ]
    assert interference(reasons, {"bleu": Measure("bleu")}) == interference({"b": []}, scored) == ""


@pytest.mark.full
def test_what_mbr_chose_is_named_once(ctx, best):
    """Its score does not change, and other systems and metrics are not named."""
    score = ["score", "-t", best, A, "-r", REF, "-m", "chrf", "bleu", "ter", "--level", "system", "-q"]
    score += ["--format", "jsonl"]
    done = ctx(*score)
    [line] = said(done)
    assert line.startswith(START) and line.endswith("(Pombal et al. 2025, https://arxiv.org/abs/2503.08327)")
    assert tuned(done) == {"chrf": "best"}
    assert said(ctx("score", "-t", best, A, "-r", REF, "-m", "bleu", "ter", "-q")) == []
    assert said(ctx("score", "-t", A, B, "-r", REF, "-m", "chrf", "-q")) == []
    best.with_name("best.txt.tuned.json").unlink()
    without = ctx(*score)
    assert without.err == "" and without.out == done.out.replace("|tuned:best", "")


@pytest.mark.full
def test_a_comparison_and_a_page_say_it(ctx, best, tmp_path):
    done = ctx("compare", "-t", best, A, "-r", REF, "-m", "chrf", "-q", "--format", "jsonl", "--names", "mine", "yours")
    [line] = said(done)
    assert line.startswith(START.replace("best", "mine")) and tuned(done) == {"chrf": "mine"}
    [line] = said(ctx("report", "-t", best, A, "-r", REF, "-m", "chrf", "-q", "-o", tmp_path / "page.html"))
    assert line.startswith(START) and START in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.full
def test_a_choice_among_chosen_candidates_has_both_reasons(ctx, model, tmp_path):
    words = ["-s", SOURCE, "-l", "de-en", "--model", model, "-q"]
    assert said(ctx("rerank", A, B, C, *words, "--top", "2", "-o", tmp_path / "top.nbest")) == []
    assert said(ctx("mbr", tmp_path / "top.nbest", "-m", "chrf", "-q", "-o", tmp_path / "both.txt")) == []
    chosen_by = json.loads((tmp_path / "both.txt.tuned.json").read_text())["chosen_by"]
    assert [(each["command"], each["metric"]) for each in chosen_by] == [("rerank", "comet"), ("mbr", "chrf")]
    metrics = ["-m", "comet", "slide", "chrf", "bleu", "--docids", DOCIDS, "-r", REF]
    done = ctx("score", "-t", tmp_path / "both.txt", A, *words, *metrics, "--format", "jsonl", "--level", "system")
    [line] = [line for line in said(done) if "interference" in line]
    assert "both was chosen by rerank with comet:referenceless and chosen by mbr with chrf, so comet (the same" in line
    assert "comet (the same metric), slide (the same model) and chrf (the same metric) may overrate it" in line
    assert tuned(done) == dict.fromkeys(("comet", "slide", "chrf"), "both")


def test_sacrebleu_says_it(best, forked_sacrebleu):
    """Also where it runs its own metrics alone, which are otherwise left to themselves."""
    run = forked_sacrebleu(REF, "-i", best, A, "-m", "chrf", "bleu", "-f", "text", cwd=EXAMPLES)
    assert [line for line in run.stderr.splitlines() if "interference" in line] == [
        f"sacreBLEU: {START} Use unrelated metrics, or people (Pombal et al. 2025, https://arxiv.org/abs/2503.08327)"
    ]
    assert run.stdout.count("|tuned:best|") == 1
    given = ["--ctx-tuned-with", f"{A}=prbleu", "system_b.en=bleu"]
    run = forked_sacrebleu(REF, "-i", A, B, C, "-m", "nist", "chrf", "-f", "text", *given, "--short", cwd=EXAMPLES)
    [line] = [line for line in run.stderr.splitlines() if "interference" in line]
    assert (
        "system_a.en was tuned with prbleu, so nist (made of the same metric) may overrate it; system_b.en was" in line
    )
    assert run.stdout.count("|tu:system_a.en+system_b.en|") == 1


@pytest.mark.full
def test_sacrebleu_says_it_of_related_metrics_alone(best, forked_sacrebleu):
    one = forked_sacrebleu(REF, "-i", best, "-m", "chrf", "--sentence-level", cwd=EXAMPLES)
    assert one.stderr.count(START) == 1 and one.stderr.count("\n") == 1
    others = [forked_sacrebleu(REF, "-i", name, "-m", "bleu", cwd=EXAMPLES) for name in (best, A)]
    assert [run.stderr for run in others] == ["", ""]
    piped = forked_sacrebleu(REF, "-m", "chrf", "-b", "--ctx-tuned-with", "chrf", stdin=best.read_text(), cwd=EXAMPLES)
    assert "system1 was tuned with chrf" in piped.stderr


@pytest.mark.full
def test_the_flag_names_systems_or_means_all(ctx):
    score = ["score", "-t", A, B, "-r", REF, "-m", "chrf", "ter", "--format", "jsonl", "--level", "system", "-q"]
    done = ctx(*score, "--tuned-with", "prchrf", "ter:x", "--names", "one", "t:w o")
    [line] = said(done)
    assert (
        "one, t:w o were tuned with prchrf and tuned with ter:x, so chrf (made of the same metric) and ter (the" in line
    )
    assert tuned(done) == dict.fromkeys(("chrf", "ter"), "one+t_w_o")
    [line] = said(ctx(*score, "--tuned-with", "system_b.en=ter"))
    assert "system_b.en was tuned with ter, so ter (the same metric) may overrate it" in line
    [line] = said(ctx("score", "-r", REF, "-m", "ter", "-q", "--tuned-with", "ter", stdin=(EXAMPLES / A).read_bytes()))
    assert "stdin was tuned with ter" in line


def test_a_record_is_of_one_content(ctx, best):
    record, score = best.with_name("best.txt.tuned.json"), ["score", "-t", best, "-r", best, "-m", "chrf", "-q"]
    whole = record.read_bytes()
    ctx(*MBR, best)
    assert record.read_bytes() == whole
    best.write_text(best.read_text().replace("e", "E"))
    [line] = said(ctx(*score))
    assert line.startswith(f"{record} belongs to another text than {best} holds now, so it is not used; ")
    ctx(*MBR, best)
    assert said(ctx(*score))[0].startswith(START) and record.read_bytes() == whole


def written(record: Path, content: bytes) -> None:
    record.write_bytes(content)


def linked(record: Path, content: bytes) -> None:
    (record.parent / "elsewhere").write_bytes(content)
    record.unlink()
    record.symlink_to(record.parent / "elsewhere")


@pytest.mark.parametrize(
    "damage, content, why",
    [
        (written, b"[" * 10_000, "holds no record of what was chosen"),
        (written, b'{"sha256": "1", "chosen_by": 2}', "holds no record of what was chosen"),
        (
            written,
            b'{"sha256": "1", "chosen_by": [{"command": "\\u001b[31m", "metric": "", "signature": ""}]}',
            "holds no record",
        ),
        (written, b'{"sha256": "\xff"}', "holds no record of what was chosen"),
        (written, b" " * 2**20 + b"{}", "is too large"),
        (linked, b"{}", "is a link"),
    ],
)
def test_a_bad_record_costs_one_line(ctx, best, damage, content, why):
    record = best.with_name("best.txt.tuned.json")
    damage(record, content)
    [line] = said(ctx("score", "-t", best, "-r", REF, "-m", "chrf", "-q"))
    assert line.startswith(f"{record} is ignored, because it {why}")


def test_no_record_is_written_through_a_link(ctx, tmp_path):
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "best.txt.tuned.json").symlink_to(tmp_path / "elsewhere")
    assert error(ctx(*MBR, tmp_path / "best.txt")) == (
        f"cannot write {tmp_path}/best.txt.tuned.json: it is a link, and nothing is written through a link; name the file "
        "itself"
    )
    assert (tmp_path / "elsewhere").read_text() == "mine" and not (tmp_path / "best.txt").exists()


def test_only_a_file_of_chosen_texts_has_a_record(ctx, tmp_path):
    """All candidates with their scores are no choice; a pipe and a device can have no file beside them."""
    ctx(*MBR, tmp_path / "all.jsonl")
    ctx(*MBR, "/dev/stdout")
    assert os.listdir(tmp_path) == ["all.jsonl"] and not Path("/dev/stdout.tuned.json").exists()
    ctx(*MBR, tmp_path / "top.jsonl", "--top", "1")
    assert sorted(os.listdir(tmp_path)) == ["all.jsonl", "top.jsonl", "top.jsonl.tuned.json"]


def test_a_metric_of_weight_0_has_not_chosen(ctx, tmp_path):
    ctx(*MBR[:5], "chrf", "bleu", "--weights", "1", "0", "-q", "-o", tmp_path / "best.txt")
    [choice] = json.loads((tmp_path / "best.txt.tuned.json").read_text())["chosen_by"]
    assert choice["metric"] == "chrf"


@pytest.fixture
def table(tmp_path, monkeypatch) -> str:
    rows = zip(*((EXAMPLES / name).read_text(encoding="utf-8").splitlines() for name in (A, REF)), strict=True)
    (tmp_path / "t.tsv").write_text("mt\tref\n" + "".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return str(tmp_path / "t.tsv")


@pytest.mark.full
def test_selected_rows_that_are_annotated_again(ctx, table, tmp_path):
    kept, again, other = (tmp_path / name for name in ("kept", "again", "other"))
    selection = ctx("annotate", table, "-o", kept, "-m", "chrf", "ter", "-q", "--top", "20", "--by", "chrf")
    assert all("interference" not in line for line in said(selection))
    summary = json.loads((kept / "_summary.json").read_text())
    assert [each["metric"] for each in summary["chosen_by"]] == ["chrf"] and "notices" not in summary
    scored = ["-m", "chrf", "ter", "--names", "x", "y", "-q"]
    for _ in range(2):  # the second time from what is kept
        lines = [line for line in said(ctx("annotate", kept, "-o", again, *scored)) if "interference" in line]
        [line] = lines
        assert f"{kept} was chosen by annotate with chrf, so chrf (the same metric) may overrate it" in line
    summary = json.loads((again / "_summary.json").read_text())
    assert summary["notices"] == lines and [each["metric"] for each in summary["chosen_by"]] == ["chrf"]
    part = kept / "part-000000.tsv"
    part.write_text(part.read_text(encoding="utf-8").replace(" the ", " The "), encoding="utf-8")
    changed = said(ctx("annotate", kept, "-o", other, *scored))
    assert [line for line in changed if "chose" in line or "interference" in line] == [
        f"{part} has changed since annotate wrote it, so _summary.json no longer describes how its rows were chosen"
    ]


def test_outputs_of_a_table_that_were_tuned(ctx, table, tmp_path):
    annotate = ["annotate", table, "-o", tmp_path / "scored", "-m", "chrf", "-q"]
    for _ in range(2):
        [line] = [line for line in said(ctx(*annotate, "--tuned-with", "prchrf")) if "interference" in line]
        assert "column mt was tuned with prchrf, so chrf (made of the same metric) may overrate it" in line
    assert json.loads((tmp_path / "scored/_summary.json").read_text())["notices"] == [line]
    assert all("interference" not in line for line in said(ctx(*annotate)))
    done = ctx(*annotate, "--tuned-with", "A=chrf")
    assert done.code == 2 and "--tuned-with A=chrf: a table has one column of outputs; leave out A=" in done.err


def test_all_rows_are_no_choice(ctx, table, tmp_path):
    ctx("annotate", table, "-o", tmp_path / "all", "-m", "chrf", "-q", "--no-text-checks")
    assert not {"chosen_by", "states", "notices"} & json.loads((tmp_path / "all/_summary.json").read_text()).keys()


@pytest.mark.full
def test_kept_results_stay(ctx, tmp_path):
    """What a run adds to the signature does not change the rows."""
    score = ["score", "-t", A, "-r", REF, "-m", "bertr", "-l", "de-en", "--ctx-cache", tmp_path / "kept"]
    ctx(*score)
    assert "59 of 59 outputs were read" in ctx(*score, "--tuned-with", "bertr").err


def test_the_paper_can_be_cited(ctx, best):
    row = ctx("score", "-t", best, "-r", REF, "-m", "chrf", "-q", "--format", "jsonl", "--level", "system").objects()[0]
    for words in (["interference"], [f"chrF2|{row['signature']}"], ["chrF2|#:1|tu:best"]):
        assert "pombal-etal-2025-adding" in ctx("cite", *words).out
    assert "pombal" not in ctx("cite", "chrF2|nrefs:1|case:mixed").out
