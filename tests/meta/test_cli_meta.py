"""`ctx-metrics meta` as users run it: data, metrics, protocols, and what is written where."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_conftest import ctx, error  # noqa: F401  a fixture
from comet_checkpoints import RECIPES, build
from disk_faults import refused
from plugin_conftest import EXAMPLES
from selection import some

from ctx_metrics.meta import make_protocols, read_judged
from ctx_metrics.meta.cli import PROTOCOLS

JUDGED, PREFERENCES = "judged.tsv", "preferences.tsv"
QUICK = ["--test", "none", "-q"]
SYSTEMS = ["system_a", "system_b", "system_c", "system_d", "system_e"]


def lines(path: Path, texts: list) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def write_tree(folder: Path, pair: str, extra: tuple[str, ...] = (), docs: bool = True) -> None:
    """The judged examples as a tree of a language pair; `extra` are names of human translations among the systems."""
    [judged] = read_judged(str(EXAMPLES / JUDGED))
    lines(folder / "sources" / f"{pair}.txt", judged.sources)
    lines(folder / "references" / f"{pair}.refA.txt", judged.references[0])
    if docs:
        lines(folder / "documents" / f"{pair}.docs", [f"news\t{each}" for each in judged.doc_ids])
    human = []
    for name, texts, scores in zip(judged.systems, judged.hypotheses, judged.segment_scores):
        lines(folder / "system-outputs" / pair / f"{name}.txt", texts)
        human += [f"{name}\t{score:g}" for score in scores]
    for name in extra:
        texts = judged.references[0] if name == "refA" else [f"So {text}" for text in judged.references[0]]
        lines(folder / "system-outputs" / pair / f"{name}.txt", texts)
        human += [f"{name}\t99"] * judged.segments
    lines(folder / "human-scores" / f"{pair}.mqm.seg.score", human)


@pytest.fixture
def tree(tmp_path) -> Path:
    for pair in ("de-en", "cs-en"):
        write_tree(tmp_path / "wmt", pair, ("refA", "refB"))
    return tmp_path / "wmt"


def values(done, protocol: str, name: str = "overall") -> dict[str, float]:
    """{metric: value} of one protocol and set in TSV."""
    assert done.code == 0, done.err
    rows = [row for row in done.rows() if (row["protocol"], row["set"]) == (protocol, name)]
    return {row["metric"]: float(row["value"] or "nan") for row in rows}


def evaluation(done) -> dict:
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_the_examples_are_what_their_page_says():
    [judged], [preferences] = (read_judged(str(EXAMPLES / name)) for name in (JUDGED, PREFERENCES))
    assert judged.systems == SYSTEMS and judged.complete and judged.segments == 25
    assert judged.system_scores.round(1).tolist() == [91.0, 62.8, 22.2, 89.9, 53.6]
    assert len(preferences.preferences) == 158
    ids = (EXAMPLES / "docids.txt").read_text(encoding="utf-8").splitlines()
    assert [each for each in ids if each in set(judged.doc_ids)] == list(judged.doc_ids)


def test_the_default_run(ctx):
    done = ctx("meta", JUDGED, "-l", "de-en", "-m", "bleu", "bertr", "--resamples", "50", "-q")
    assert (done.code, done.err) == (0, "")
    for text in (
        "System-level pairwise accuracy (sys-acc): 10 system pairs in judged",
        "Soft pairwise accuracy of systems (spa): 10 system pairs in judged",
        "Segment-level Pearson's r (seg-pearson): 125 outputs in judged",
        "(acc-eq): 250 output pairs in judged",
        "PERM-BOTH",
        "Metric signatures",
        " - bertr           nrefs:1|model:embedded",
        " - bleu (segments) nrefs:1|case:mixed|eff:yes|",
    ):
        assert text in done.out, text
    assert "(darr)" not in done.out and "seg-kendall" not in done.out


@pytest.mark.parametrize("given", some(["folder", "folder of the set", "files"], ["folder"]))
def test_saved_scores_give_the_same_report(ctx, tmp_path, given):
    argv = ["--format", "json", "--resamples", "50"]
    saved = tmp_path / "saved"
    scored = evaluation(ctx("meta", JUDGED, "-m", "bleu", "ter", "--save-scores", saved, *argv))
    files = sorted((saved / "judged").glob("*.score"))
    assert [path.name for path in files] == [
        f"{m}-ref.{level}.score" for m in ("bleu", "ter") for level in ("seg", "sys")
    ]
    paths = {"folder": [saved, saved], "folder of the set": [saved / "judged"], "files": files}[given]
    read = evaluation(ctx("meta", JUDGED, "--scores", *paths, *argv))
    assert read["agreements"] == scored["agreements"] and read["signatures"] == scored["signatures"]


@pytest.mark.full
def test_a_long_run_says_how_far_it_is(ctx, tmp_path, monkeypatch):
    """As if a minute had gone since the last line, always."""
    monkeypatch.setattr("ctx_metrics.notices.EVERY", 0.0)
    argv = ["meta", JUDGED, "-l", "de-en", "-m", "bertr", "chrf", "-p", "acc-eq", "--resamples", "5"]
    done = ctx(*argv)
    assert done.code == 0, done.err
    for line in (
        r"ctx-metrics: bertr: [\d,]+ of [\d,]+ texts in \d+ s; about \d+ s left",
        r"ctx-metrics: chrf: 2 of 5 systems in \d+ s; about \d+ s left",
        r"ctx-metrics: acc-eq, significance: 1 comparison in \d+ s",
    ):
        assert re.search(f"^{line}$", done.err, re.MULTILINE), done.err
    assert not re.search("bertr: . of 5 systems", done.err)  # the first one is all of its work
    assert "texts in" not in ctx(*argv, "-q").err


def test_two_settings_of_a_metric(ctx, tmp_path):
    argv = ["meta", JUDGED, "-p", "acc-eq", "--format", "json", *QUICK]
    metrics = ["bleu", "bleu:lowercase=yes,tokenize=char", "chrf:word_order=2", "chrf:word-order=1,beta=3"]
    done = ctx(*argv, "-m", *metrics, "--smooth-method", "none", "--save-scores", tmp_path)
    found = evaluation(done)
    assert {each["metric"] for each in found["agreements"][0]["metrics"]} == set(metrics)
    signatures = found["signatures"]
    assert "case:mixed|eff:yes|tok:13a|smooth:none" in signatures["bleu"]
    assert "case:lc|eff:yes|tok:char|smooth:none" in signatures["bleu:lowercase=yes,tokenize=char"]
    assert "nw:2" in signatures["chrf:word_order=2"] and "nw:1" in signatures["chrf:word-order=1,beta=3"]
    assert (tmp_path / "judged" / "chrf:word_order=2-ref.seg.score").exists()
    again = ctx(*argv, "-m", *metrics, "--smooth-method", "none", "--save-scores", tmp_path)
    assert evaluation(again) == found and f"not scored again: {', '.join(metrics)}" in again.err
    read = evaluation(ctx(*argv, "--scores", tmp_path, "--seen", "chrf:word_order=2:judged"))
    assert read["signatures"] == signatures


@pytest.mark.parametrize(
    "metric, message",
    [
        ("bleu:lowercase=1", "-m bleu:lowercase=1: --lowercase must be yes or no, not '1'"),
        ("chrf:size=3", "-m chrf:size=3: 'size=3' is not KEY=VALUE with a setting of chrf; its settings: beta, "),
        ("slide:partial=none", "-m slide:partial=none: argument --slide-partial: invalid choice: 'none' (choose from "),
    ],
)
def test_settings_that_a_metric_has_not(ctx, metric, message):
    done = ctx("meta", JUDGED, "-m", metric)
    assert (done.code, done.out) == (2, "") and f"error: {message}" in done.err


@pytest.mark.full
def test_scores_without_a_reference_are_saved_as_such(ctx, tmp_path):
    argv = ["meta", JUDGED, "-l", "de-en", "-p", "seg-pearson", "--format", "json", *QUICK]
    model = ["--comet-model", build(RECIPES["unite"], tmp_path / "model")]
    saved = ctx(*argv, "-m", "comet", "comet:inputs=mt+src", *model, "--save-scores", tmp_path)
    found = evaluation(saved)
    files = sorted(path.name for path in (tmp_path / "judged").glob("*.seg.score"))
    assert files == ["comet-ref.seg.score", "comet:inputs=mt+src-src.seg.score"]
    again = ctx(*argv, "-m", "comet:inputs=mt+src", *model, "--save-scores", tmp_path)
    assert "not scored again: comet:inputs=mt+src" in again.err
    assert evaluation(ctx(*argv, "--scores", tmp_path))["agreements"] == found["agreements"]


@pytest.mark.parametrize(
    "patterns, left",
    [
        (["de-en:system_c"], {"wmt.cs-en": 5, "wmt.de-en": 4}),
        (["wmt.*:system_c", "cs-*:system_d"], {"wmt.cs-en": 3, "wmt.de-en": 4}),
    ],
)
def test_systems_are_dropped(ctx, tree, patterns, left):
    done = ctx("meta", tree, "-m", "chrf", "-p", "sys-acc", "--drop", *patterns, "--format", "json", *QUICK)
    assert {name: found["systems"] for name, found in evaluation(done)["sets"].items()} == left
    dropped = next(line for line in done.err.splitlines() if "by --drop" in line)
    assert [name in dropped for name in left] == [count < 5 for count in left.values()]
    none = ctx("meta", tree, "-m", "chrf", "--drop", "system_a", "--drop", "fr-en:system_a")
    assert error(none) == "--drop fr-en:system_a: no such system in wmt.cs-en, wmt.de-en"


def test_systems_that_nobody_judged_are_left_out(ctx, tree):
    """They enter no measure, so a metric need not score them either."""
    for pair in ("de-en", "cs-en"):
        lines(tree / "system-outputs" / pair / "synthetic_ref.txt", [f"Output {k}" for k in range(25)])
    scores = tree.parent / "scores"
    done = ctx("meta", tree, "-m", "chrf", "-p", "sys-acc", "--save-scores", scores, "--no-text-checks", *QUICK)
    assert done.code == 0, done.err
    assert done.err.splitlines()[1:] == [
        "ctx-metrics: left out without human judgements: synthetic_ref (wmt.cs-en), synthetic_ref (wmt.de-en)"
    ]
    assert "synthetic_ref" not in (scores / "wmt.de-en" / "chrf-refA.seg.score").read_text(encoding="utf-8")
    for name in SYSTEMS:
        (tree / "system-outputs" / "de-en" / f"{name}.txt").unlink()
    alone = ctx("meta", tree, "-l", "de-en", "-m", "chrf")
    assert alone.code == 1
    assert alone.err.endswith("error: wmt.de-en: no systems are left; nobody judged synthetic_ref\n")


def test_human_translations_and_the_reference_are_left_out(ctx, tree):
    argv = ["meta", tree, "-m", "chrf", "-p", "sys-acc", "--format", "json", "--no-text-checks", *QUICK]
    done = ctx(*argv)
    assert {found["systems"] for found in evaluation(done)["sets"].values()} == {5}
    assert done.err == ("ctx-metrics: left out as human translations: refA, refB (wmt.cs-en), refA, refB (wmt.de-en)\n")
    done = ctx(*argv, "--keep-humans")
    assert {found["systems"] for found in evaluation(done)["sets"].values()} == {6}
    assert done.err == "ctx-metrics: left out as the reference itself: refA (wmt.cs-en), refA (wmt.de-en)\n"


def test_language_pairs(ctx, tree, tmp_path):
    argv = ["-m", "chrf", "-p", "sys-acc", "--format", "tsv", *QUICK]
    done = ctx("meta", tree, "-l", "de-en", *argv)
    assert {row["set"] for row in done.rows()} == {"wmt.de-en", "overall"}
    assert "there are cs-en, de-en" in error(ctx("meta", tree, "-l", "fr-en", *argv))
    named = shutil.copy(EXAMPLES / JUDGED, tmp_path / "mine.de-en.tsv")
    assert ctx("meta", named, "-l", "de-en", *argv).code == 0
    assert error(ctx("meta", named, "-l", "fr-en", *argv)) == f"{named}: its language pair is de-en, not fr-en (-l)"
    assert "name one with -l, not 2" in error(ctx("meta", JUDGED, "-l", "de-en", "cs-en", *argv))


def test_errors_are_found_before_scoring(ctx, tmp_path, monkeypatch):
    for pair in ("cs-en", "en-sah"):
        write_tree(tmp_path / "wmt", pair)
    ctx("meta", JUDGED, "-m", "chrf", "--save-scores", tmp_path, *QUICK)
    monkeypatch.setattr("ctx_metrics.meta.cli.data.score_set", lambda *_: pytest.fail("it is found before scoring"))
    said = "bertr: no embedded model reads Yakut (sah); name another with --bertr-model"
    assert error(ctx("meta", tmp_path / "wmt", "-m", "bertr")) == f"wmt.en-sah: {said}"
    assert error(ctx("meta", tmp_path / "wmt", "-l", "en-sah", "-m", "bertr")) == said
    assert "two metrics are named chrf" in error(ctx("meta", JUDGED, "-m", "chrf", "--scores", tmp_path / "judged"))


@pytest.mark.full
def test_a_metric_of_documents_is_left_out_where_there_are_none(ctx, tmp_path):
    for pair in ("de-en", "cs-en"):
        write_tree(tmp_path / "bare", pair, docs=False)
    quick = ["--no-text-checks", *QUICK]  # the sources of cs-en are German
    done = ctx("meta", tmp_path / "bare", JUDGED, "-m", "slide", "chrf", "-p", "sys-acc", "--format", "tsv", *quick)
    assert done.err == "ctx-metrics: slide: left out on bare.cs-en, bare.de-en: no document ids\n"
    assert {row["set"] for row in done.rows() if row["metric"] == "slide-embedded" and row["value"]} == {"judged"}
    nowhere = ctx("meta", tmp_path / "bare", "-m", "slide", "chrf", "-p", "sys-acc", *quick)
    assert nowhere.err == "ctx-metrics: slide: left out on every set: no document ids\n" and nowhere.code == 0
    assert np.isnan(values(done, "sys-acc")["slide-embedded"]) and values(done, "sys-acc")["chrf"] > 0.5


def test_a_set_with_another_signature_has_its_own(ctx, tmp_path):
    for pair in ("de-en", "de-zh", "de-yue_Hant"):
        write_tree(tmp_path / "wmt", pair)
    argv = ["-m", "bleu", "chrf", "-p", "sys-acc", "--no-text-checks", *QUICK]
    found = evaluation(ctx("meta", tmp_path / "wmt", *argv, "--format", "json"))["signatures"]
    assert [*found] == ["bleu", "bleu (wmt.de-yue_Hant, wmt.de-zh)", "chrf"]
    assert "tok:13a" in found["bleu"] and "tok:zh" in found["bleu (wmt.de-yue_Hant, wmt.de-zh)"]
    assert " - bleu (wmt.de-yue_Hant, wmt.de-zh) nrefs:1" in ctx("meta", tmp_path / "wmt", *argv).out


@pytest.mark.full
def test_the_grid_gives_what_separate_runs_give(ctx, tmp_path):
    argv = ["-l", "de-en", "-p", "sys-acc", "sys-pearson", "--format", "tsv", *QUICK]
    done = ctx("meta", JUDGED, "--slide-grid", "3", "--plot", tmp_path / "x.png", *argv)
    for window, stride in ((1, 1), (2, 1), (3, 2), (3, 3)):
        own = ctx("meta", JUDGED, "-m", "slide", "--slide-window", window, "--slide-stride", stride, *argv)
        for protocol in ("sys-acc", "sys-pearson"):
            found = values(done, protocol)
            assert len(found) == 6
            alone = values(own, protocol)["slide-embedded"]
            assert found[f"slide-embedded({window},{stride})"] == pytest.approx(alone, abs=1e-5)
    assert {"x.slide-grid.sys-acc.png", "x.slide-grid.sys-pearson.png"} <= set(os.listdir(tmp_path))
    signatures = evaluation(ctx("meta", JUDGED, "--slide-grid", "2", "--format", "json", *QUICK))["signatures"]
    assert set(signatures) == {f"slide-embedded({shape})" for shape in ("1,1", "2,1", "2,2")}
    assert all("|window:1-2|stride:1-2|" in signature for signature in signatures.values())
    text = ctx("meta", JUDGED, "--slide-grid", "3", "-l", "de-en", *QUICK).out
    assert text.count("|window:1-3|stride:1-3|") == 1 and " - slide-embedded(1,1), ..., slide-embedded(3,3) " in text
    beside = ctx("meta", JUDGED, "-m", "slide", "--slide-tokens", "60", "--slide-grid", "3", *argv)
    assert values(beside, "sys-acc").items() >= values(done, "sys-acc").items()
    assert "slide-embedded" in values(beside, "sys-acc")


@pytest.mark.full
def test_the_grid_alone_takes_protocols_of_systems(ctx):
    done = ctx("meta", JUDGED, "--slide-grid", "1", "--format", "tsv", *QUICK)
    assert {row["protocol"] for row in done.rows()} == {"sys-acc"} and done.err == ""
    assert "no human scores of systems" in error(ctx("meta", PREFERENCES, "--slide-grid", "1"))
    wrong = ctx("meta", JUDGED, "--slide-grid", "2", "--slide-window", "3")
    assert wrong.code == 2 and "takes all windows and strides" in wrong.err


def test_figures(ctx, tmp_path):
    pytest.importorskip("matplotlib")
    argv = ["-m", "chrf", "bleu", "-p", "sys-acc", "acc-eq", "--resamples", "30", "--format", "tsv", *QUICK]
    done = ctx("meta", JUDGED, *argv, "--plot", tmp_path / "new" / "x.SVG")
    assert done.err.startswith(f"ctx-metrics: figures: {tmp_path / 'new' / 'x.agreement.sys-acc.SVG'}, ")
    names = {f"{kind}.{name}" for kind in ("agreement", "document-length") for name in ("acc-eq", "sys-acc")}
    assert {*os.listdir(tmp_path / "new")} == {f"x.{name}.SVG" for name in (*names, "systems.judged")}
    assert all(path.read_bytes().startswith(b"<?xml") for path in (tmp_path / "new").iterdir())
    assert all(row["low"] and row["high"] for row in done.rows() if row["set"] == "overall")  # the figure has intervals


def test_what_cannot_be_written_is_said_before_anything_is_read(ctx, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("ctx_metrics.meta.cli.data.read_sets", lambda *_: pytest.fail("nothing must be read"))
    (tmp_path / "file").write_text("mine")
    for flag, path in (("--plot", "file/x.png"), ("--save-scores", "file")):
        assert f"{tmp_path / 'file'} is a file, but a folder is needed there" in error(
            ctx("meta", JUDGED, "-m", "chrf", flag, tmp_path / path)
        )
    assert "a figure's name ends in .png, .pdf, .svg" in error(ctx("meta", JUDGED, "-m", "chrf", "--plot", tmp_path))
    assert "it is a folder" in error(ctx("meta", JUDGED, "-m", "chrf", "-o", tmp_path))
    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    assert "x.png: Permission denied" in error(ctx("meta", JUDGED, "-m", "chrf", "--plot", tmp_path / "x.png"))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_figures_without_matplotlib(ctx, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "figures need matplotlib" in error(ctx("meta", JUDGED, "-m", "chrf", "--plot", tmp_path / "new" / "x.png"))
    assert not (tmp_path / "new").exists()


def test_sets_that_a_metric_was_trained_on_are_marked(ctx, tree):
    argv = ["meta", tree, "-m", "chrf", "bleu", "-p", "sys-acc", "--drop", "ref*", *QUICK]
    done = ctx(*argv, "--seen", "chrf:*.de-en", "--seen", "bleu:wmt.cs-en", "--format", "tsv")
    marked = {(row["metric"], row["set"]) for row in done.rows() if row["seen"] == "yes"}
    assert marked == {("chrf", "wmt.de-en"), ("bleu", "wmt.cs-en"), ("chrf", "overall"), ("bleu", "overall")}
    assert "* The metric was trained on this set" in ctx(*argv, "--seen", "chrf:*.de-en").out
    assert "no set of this name" in error(ctx("meta", JUDGED, "-m", "chrf", "--seen", "chrf:wmt*"))
    wrong = ctx("meta", JUDGED, "-m", "chrf", "--seen", "chrf")
    assert wrong.code == 2 and "'chrf' is not METRIC:SET" in wrong.err
    wrong = ctx("meta", JUDGED, "--scores", "x", "--save-scores", "y")
    assert wrong.code == 2 and "-m names no metric" in wrong.err


def test_averages(ctx):
    argv = ["meta", JUDGED, "-m", "chrf", "-p", "seg-kendall", "acc-eq", "--format", "tsv", *QUICK]
    found = {
        average: ctx(*argv, *average)
        for average in ((), ("--average", "none"), ("--average", "item"), ("--average", "system"))
    }
    kendall, accuracy = ([values(done, name)["chrf"] for done in found.values()] for name in ("seg-kendall", "acc-eq"))
    assert kendall[0] == kendall[1] and len(set(kendall)) == 3
    assert accuracy[0] == accuracy[2] and len(set(accuracy)) == 3


def test_preferences_follow_from_scores(ctx):
    """preferences.tsv was made of judged.tsv, with the usual threshold."""
    argv = ["-m", "chrf", "bertr", "-p", "darr", "wmt14", "--format", "tsv", *QUICK]
    scores, lists = ctx("meta", JUDGED, *argv), ctx("meta", PREFERENCES, *argv)
    for protocol in ("darr", "wmt14"):
        assert values(scores, protocol) == pytest.approx(values(lists, protocol), abs=1e-5)
    sizes = [ctx("meta", JUDGED, *argv, "--threshold", x).rows()[0]["n"] for x in ("25", "60")]
    assert sizes[0] == "158" and int(sizes[1]) < 80
    assert error(ctx("meta", JUDGED, *argv, "--threshold", "101")) == (
        "judged: none of the protocols applies: darr (no preferences between these systems); "
        "wmt14 (no preferences between these systems)"
    )


def test_preferences_have_their_own_usual_protocol(ctx):
    done = ctx("meta", PREFERENCES, "-m", "chrf", "--format", "tsv", *QUICK)
    assert {row["protocol"] for row in done.rows()} == {"darr"} and done.err == ""
    mixed = ctx("meta", PREFERENCES, JUDGED, "-m", "chrf", "--format", "tsv", *QUICK)
    assert [*dict.fromkeys(row["protocol"] for row in mixed.rows())] == "sys-acc spa seg-pearson acc-eq darr".split()
    assert {row["set"] for row in mixed.rows() if row["protocol"] == "spa"} == {"judged", "overall"}


def test_help(ctx):
    done = ctx("meta", "--help")
    assert done.code == 0 and done.err == "" and max(map(len, done.out.splitlines())) <= 125
    assert list(PROTOCOLS) == list(make_protocols())
    for name, words in PROTOCOLS.items():
        assert any(line.split()[:1] == [name] and line.endswith(words) for line in done.out.splitlines()), name
    assert "--slide-window" not in done.out and "--chrf-word-order" not in done.out
