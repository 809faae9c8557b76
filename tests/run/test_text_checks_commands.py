"""Every command says before scoring which lines are shifted and where HTML entities are, unless it is told not to."""

import re

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from comet_checkpoints import RECIPES, build
from plugin_conftest import EXAMPLES, REF, SOURCE, A, B, lines_of

PAGE = EXAMPLES.parent / "docs" / "text-checks.md"
SHIFTED = "shifted.txt: lines 11-50 fit line+1 of ref.txt better than their own; look for a missing or additional line"
ESCAPED = "HTML entities such as &amp; are in 59 of 59 lines (100.0 %) of escaped.txt; ref.txt: none; "
UNESCAPED = "--unescape: HTML entities replaced in 59 of 59 lines (100.0 %) of escaped.txt"
MARKED = (
    "the byte-order mark at the start of marked.txt is part of the first word for bleu; save the file without it "
    "(plugin metrics and ctx-metrics score remove it)"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The examples' texts, and a system's whose lines are shifted, escaped, or marked; the same as judged tables."""
    root, hypotheses, references = tmp_path_factory.mktemp("texts"), lines_of(B), lines_of(REF)
    texts = {
        "ref.txt": references,
        "src.txt": lines_of(SOURCE),
        "good.txt": hypotheses,
        "shifted.txt": [*hypotheses[:10], *hypotheses[11:51], *hypotheses[50:]],
        "escaped.txt": [f"{line} &amp; &apos;so&#39;" for line in hypotheses],
        "marked.txt": ["\ufeff" + hypotheses[0], *hypotheses[1:]],
    }
    for name, lines in texts.items():
        (root / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for name in ("good", "shifted", "escaped"):
        rows = [
            f"{i}\t{system}\t{text}\t{reference}\t{i % 7 + bonus}\n"
            for i, reference in enumerate(references, 1)
            for system, text, bonus in (("A", lines_of(A)[i - 1], 0), ("B", texts[f"{name}.txt"][i - 1], i % 2))
        ]
        (root / f"{name}.tsv").write_text("seg\tsystem\tmt\tref\tscore\n" + "".join(rows), encoding="utf-8")
    return root


def said(done) -> list[str]:
    return [line.partition(": ")[2] for line in done.err.splitlines()]


def test_score(ctx, folder, monkeypatch):
    score = ["score", "-r", "ref.txt", "-m", "bleu", "--only-system", "--format", "tsv", "-q", "-t", "good.txt"]
    monkeypatch.chdir(folder)
    assert said(ctx(*score)) == []
    assert said(ctx(*score, "shifted.txt")) == [SHIFTED]
    assert said(ctx(*score, "shifted.txt", "escaped.txt", "--no-text-checks")) == []
    [found] = said(done := ctx(*score, "escaped.txt"))
    assert found.startswith(ESCAPED)
    [found] = said(mended := ctx(*score, "escaped.txt", "--unescape"))
    assert found == UNESCAPED
    good, bad, better = (rows[-1]["score"] for rows in (done.rows()[:1], done.rows(), mended.rows()))
    assert float(bad) < float(better) < float(good)


@pytest.mark.full
def test_pairwise_rank(ctx, folder, monkeypatch):
    monkeypatch.chdir(folder)
    rank = ["pairwise", "rank", "ref.txt", "-i", "good.txt", "shifted.txt", "--format", "tsv", "-q", "-l", "de-en"]
    assert SHIFTED in said(ctx(*rank, "--resamples", "10"))
    assert SHIFTED not in said(ctx(*rank, "--resamples", "10", "--no-text-checks"))


@pytest.mark.full
def test_meta(ctx, folder, monkeypatch):
    monkeypatch.chdir(folder)
    meta = ["meta", "-m", "chrf", "-l", "de-en", "-q", "-p", "seg-pearson", "--test", "none"]
    shifted = SHIFTED.replace("shifted.txt", "shifted/B").replace("ref.txt", "shifted/reference")
    assert said(ctx(*meta, "good.tsv")) == []
    assert said(ctx(*meta, "shifted.tsv")) == [shifted]
    assert said(ctx(*meta, "shifted.tsv", "escaped.tsv", "--no-text-checks")) == []
    [reversed_] = [line for line in said(ctx(*meta[:4], "en-de", *meta[5:], "good.tsv")) if "checked lines" in line]
    assert reversed_.startswith(
        "the language pair is en-de, but 58 of 58 checked lines of good/A (and of 2 more) look English (en);"
    )
    assert said(ctx(*meta, "escaped.tsv"))[0].startswith(
        ESCAPED.replace("escaped.txt", "escaped/B").replace("ref.txt", "escaped/reference")
    )
    assert said(ctx(*meta, "escaped.tsv", "--unescape")) == [UNESCAPED.replace("escaped.txt", "escaped/B")]


@pytest.mark.parametrize("kind", ["esim", pytest.param("pairwise", marks=pytest.mark.full)])
def test_train(ctx, folder, monkeypatch, kind):
    monkeypatch.chdir(folder)
    train = ["train", kind, "--train", "shifted.tsv", "--dev", "missing.tsv", "--out", "model", "-q"]
    shifted = SHIFTED.replace("shifted.txt", "shifted/B").replace("ref.txt", "shifted/reference")
    assert shifted in said(ctx(*train))
    assert shifted not in said(ctx(*train, "--no-text-checks"))


def test_sacrebleu(folder, forked_sacrebleu):
    lines = {}
    for name, words in {
        "good": "good.txt -m nist bleu",
        "shifted": "good.txt shifted.txt -m nist bleu",
        "escaped": "escaped.txt -m nist",
        "marked": "marked.txt -m bleu nist",
        "off": "shifted.txt -m bleu nist --ctx-no-text-checks",
        "stock": "shifted.txt -m bleu",
        "untranslated": "src.txt good.txt -m nist -l de-en",
        "reversed": "good.txt -m nist -l en-de",
        "all off": "good.txt -m nist -l en-de --ctx-no-text-checks",
    }.items():
        done = forked_sacrebleu("ref.txt", "-i", *words.split(), "-b", cwd=folder)
        assert done.returncode == 0, done.stderr
        lines[name] = [line.partition(": ")[2] for line in done.stderr.splitlines()]
    assert lines["good"] == lines["off"] == lines["stock"] == lines["all off"] == []
    looks = "look German (de), the source language: is this the translation?"
    assert lines["untranslated"][0] == f"src.txt: 57 of 57 checked lines {looks}"
    assert [line.partition("; ")[2] for line in lines["reversed"]] == ["if the pair is reversed, give -l de-en"]
    assert lines["shifted"] == [SHIFTED, "Found 2 systems."]
    assert lines["escaped"][0].startswith(ESCAPED)
    assert lines["marked"][0] == MARKED and len(lines["marked"]) == 2


COPIES = "source.de.txt: 52 of 57 checked lines are copies of the source: is this the translation?"
REVERSED = (
    "the language pair is en-de, but 58 of 58 checked lines of system_a.en.txt (and of 1 more) look English (en); if the pair is "
    "reversed, give -l de-en"
)


@pytest.mark.parametrize(
    "start, flags",
    [
        (["score", "-t"], ["-m", "chrf", "-r", REF]),
        pytest.param(["compare", "-t"], ["-m", "chrf", "-r", REF], marks=pytest.mark.full),
        pytest.param(["report", "-t"], ["-m", "chrf", "-r", REF, "-o", "page.html"], marks=pytest.mark.full),
        (["mbr"], ["-m", "chrf"]),
        pytest.param(["rerank"], ["-m", "comet"], marks=pytest.mark.full),
    ],
)
def test_commands_say_what_is_no_translation(ctx, tmp_path, start, flags):
    flags = [
        str(tmp_path / flag) if flag == "page.html" else flag for flag in [*flags, "-s", SOURCE, "-l", "de-en", "-q"]
    ]
    assert said(ctx(*start, A, SOURCE, *flags)).count(COPIES) == 1
    assert not [line for line in said(ctx(*start, A, SOURCE, *flags, "--no-text-checks")) if "checked lines" in line]
    assert not [line for line in said(ctx(*start, A, B, *flags)) if "checked lines" in line]


def test_a_pair_the_wrong_way_round(ctx, tmp_path):
    given = ["score", "-m", "chrf", "-r", REF, "-t", A, "-q", "--format", "tsv"]
    assert said(ctx(*given, "-l", "en-de")) == [REVERSED]
    assert said(ctx(*given, "-l", "de-en")) == said(ctx(*given)) == []
    model = build(RECIPES["referenceless"], tmp_path / "model")
    alone = ["score", "-m", "comet", "--model", model, "-s", A, "-t", SOURCE, "-q", "--format", "tsv", "-l"]
    assert said(ctx(*alone, "de-en"))[0].endswith("look German (de); if the pair is reversed, give -l en-de")


def test_the_page_shows_what_is_printed(ctx, tmp_path, monkeypatch):
    hypotheses = lines_of(B)
    (tmp_path / REF).write_text("\n".join(lines_of(REF)) + "\n", encoding="utf-8")
    (tmp_path / B).write_text("\n".join(hypotheses) + "\n", encoding="utf-8")
    moved = [*hypotheses[:10], *hypotheses[11:41], "", *hypotheses[41:]]
    (tmp_path / "shifted.txt").write_text("\n".join(moved) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    [shown] = re.findall(r"^    \$ ctx-metrics (score .*)\n((?:    .*\n)+)", PAGE.read_text(encoding="utf-8"), re.M)
    done = ctx(*shown[0].split())
    assert done.err + done.out == re.sub(r"^    ", "", shown[1].replace("\n        ", " "), flags=re.M)


def test_empty_references_beside_others_are_left_out_and_said(ctx, tmp_path):
    texts = {
        "hyp": "the council voted on tuesday\nthe plan was backed by the members\n",
        "one": "the council met on tuesday to vote\nthe members of the council backed the plan\n",
        "two": "on tuesday the council cast its votes\n\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    hyp, *refs = (tmp_path / name for name in texts)
    for metric in ("nist", "bertr", "slide"):
        mean = [] if metric == "nist" else [f"--{metric}-multiref", "mean"]
        done = ctx("score", "-t", hyp, "-r", *refs, "-m", metric, *mean, "-l", "de-en", "--format", "json")
        assert done.code == 0 and "has an empty reference among several, which is left out (segment 2)" in done.err
        assert '"ignored": 1' in done.out
    done = ctx("score", "-t", hyp, "-r", *refs, "-m", "bleu", "ter", "nist", "-l", "de-en", "-q")
    assert "which counts as a reference without words for bleu, ter (segment 2)" in done.err
