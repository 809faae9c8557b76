"""`ctx-metrics mbr` and `rerank`: what they choose, write and refuse."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from cli_pages import DOCS, flags_of
from comet_checkpoints import RECIPES, build
from plugin_conftest import REF, SOURCE, A, B, C, lines_of
from sacrebleu.metrics import CHRF
from selection import some

from ctx_metrics.choice.candidates import Item
from ctx_metrics.choice.reranking import tuned
from ctx_metrics.run.run import Run
from ctx_metrics.run.texts import Texts

THREE = [A, B, C]
OUTPUTS = list(zip(*map(lines_of, THREE), strict=True))


def some_lines(folder: Path) -> list[Path]:
    """Files of the first 15 outputs of each system."""
    for name in THREE:
        (folder / name).write_text("".join(f"{line}\n" for line in lines_of(name)[:15]), encoding="utf-8")
    return [folder / name for name in THREE]


def best_by_chrf() -> list[str]:
    chrf = CHRF()
    means = [[np.mean([chrf.sentence_score(h, [r]).score for r in own]) for h in own] for own in OUTPUTS]
    return [own[int(np.argmax(scores))] for own, scores in zip(OUTPUTS, means, strict=True)]


def test_the_best_lines(ctx, tmp_path):
    done = ctx("mbr", *some_lines(tmp_path), "-m", "chrf", "-q")
    assert (done.code, done.err) == (0, "") and done.out.splitlines() == best_by_chrf()[:15]
    lines, sources = tmp_path / "candidates.txt", tmp_path / "sources.txt"
    lines.write_text("".join(f"{text}\n" for own in OUTPUTS[:15] for text in own))
    sources.write_text("".join(f"{line}\n" for line in lines_of(SOURCE)[:15]))
    assert ctx("mbr", lines, "-n", "3", "-m", "chrf", "-q").out == done.out
    assert ctx("mbr", lines, "-s", sources, "-m", "chrf", "-q").out == done.out


@pytest.mark.full
def test_nbest_lists_and_json_lines_are_read_again(ctx, tmp_path):
    """What is written is candidates with scores, by which rerank and mbr can go on."""
    ctx("mbr", *THREE, "-m", "chrf", "-o", tmp_path / "all.nbest", "-q")
    lists = (tmp_path / "all.nbest").read_text().splitlines()
    assert re.fullmatch(r"0 \|\|\| .+ \|\|\| \d+\.\d{6}", lists[0]) and len(lists) > 150
    ctx("mbr", *THREE, "-m", "chrf", "-s", SOURCE, "-o", tmp_path / "all.jsonl", "-q")
    first = json.loads((tmp_path / "all.jsonl").read_text().splitlines()[0])
    assert first["candidates"] == list(OUTPUTS[0]) and first["src"] == lines_of(SOURCE)[0]
    assert first["best"] == first["candidates"][int(np.argmax(first["scores"]))] == best_by_chrf()[0]
    for name in ("all.nbest", "all.jsonl"):
        assert ctx("mbr", tmp_path / name, "-m", "chrf", "-q").out.splitlines() == best_by_chrf()
    two = ctx("mbr", tmp_path / "all.nbest", "-m", "chrf", "--top", "2", "-q").out.splitlines()
    assert [line for line in lists if line.startswith("5 ")][:2] == [line for line in two if line.startswith("5 ")]


@pytest.mark.parametrize("metric", some(["bertr", "comet", "ter", "bleu"], ["bertr", "ter"]))
def test_any_metric_is_a_utility(ctx, metric):
    """A candidate that stands twice is the better supported one; TER's lower values are the better ones."""
    done = ctx("mbr", A, C, "-m", metric, "-l", "de-en", "-q", "--format", "jsonl", "--references", B)
    scored = [json.loads(line) for line in done.out.splitlines()]
    against = ctx(
        "score", "-t", A, C, "-r", B, "-m", metric, "-l", "de-en", "--format", "tsv", "--level", "segment", "-q"
    )
    sign = -1 if metric == "ter" else 1
    expected = [sign * float(row["score"]) for row in against.rows()]
    found = [each["scores"][k] for k in (0, 1) for each in scored]
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.full
def test_pairs_in_parts(ctx, monkeypatch, tmp_path):
    words = ["mbr", *some_lines(tmp_path), "-m", "ter", "-q", "--format", "jsonl"]
    whole = ctx(*words).out
    monkeypatch.setattr("ctx_metrics.pairs.utilities.PAIRS", 7)
    assert ctx(*words).out == whole


@pytest.mark.full
def test_kept_results_are_found_however_they_are_computed(ctx, tmp_path):
    words = ["mbr", *some_lines(tmp_path), "-m", "chrf", "bertr", "-l", "de-en"]
    words += ["--method", "prune", "--ctx-cache", tmp_path / "kept", "--format", "jsonl"]
    first, again = ctx(*words), ctx(*words)
    quiet = ctx(*words, "-q", "--ctx-batch-tokens", "300", "--ctx-device", "cpu", "--ctx-store-mb", "1")
    assert first.out == again.out == quiet.out and "|version:" in first.err and "|version:" in again.err
    for done in (again, quiet):
        assert "mbr: 15 of 15 sources were read from an earlier run (--ctx-cache)" in done.err
    for other in (["--method", "exact"], ["--chrf-word-order", "1"], ["--ctx-dtype", "bf16"]):
        assert "were read" not in ctx(*words, *other).err


def test_kept_results_do_not_depend_on_the_output_nor_on_settings_of_other_methods(ctx, tmp_path):
    words = ["mbr", *some_lines(tmp_path), "-m", "chrf", "--ctx-cache", tmp_path / "kept"]
    assert ctx(*words).code == 0
    found = "mbr: 15 of 15 sources were read from an earlier run (--ctx-cache)"
    for other in (["--top", "2"], ["--format", "jsonl"], ["--seed", "3", "--share", "0.5", "-o", tmp_path / "out"]):
        assert found in ctx(*words, *other).err
    prune = [*words, "--method", "prune"]
    again = [found in ctx(*prune, *other).err for other in ([], ["--rank", "3"], ["--seed", "3"], ["--top", "2"])]
    assert again == [False, True, False, False]


def test_an_approximate_choice_says_so(ctx, tmp_path):
    """Once on stderr, also with -q, and in JSON lines; not where all pairs were scored."""
    few, many = [f"it rains {n}" for n in "abc"], [f"it rains {n * 7} times since {n * 3}" for n in range(24)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps({"candidates": own}) + "\n" for own in (few, many)))
    jsonl = [tmp_path / "all.jsonl", "-m", "chrf", "-q", "--format"]
    for method in ("prune", "low-rank"):
        done = ctx("mbr", *jsonl, "jsonl", "--method", method)
        [line] = done.err.splitlines()
        assert f"mbr: --method {method} only approximates the scores of 1 of 2 sources" in line
        few, many = done.objects()
        assert "approximate" not in few and many["approximate"] == method
        text = ctx("mbr", *jsonl, "text", "--method", method)
        assert text.out.splitlines() == [few["best"], many["best"]] and text.err == done.err
    assert ctx("mbr", *jsonl, "jsonl", "--method", "low-rank", "--share", "1").err == ""


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A model that reads no reference."""
    return str(build(RECIPES["referenceless"], tmp_path_factory.mktemp("comet") / "referenceless"))


@pytest.mark.parametrize("embedded", [False, pytest.param(True, marks=pytest.mark.full)])
def test_rerank_by_a_model_without_references(ctx, embedded, model):
    words = ["-s", SOURCE, "-l", "de-en", *([] if embedded else ["--model", model])]
    done = ctx("rerank", *THREE, *words, "--format", "jsonl")
    scored = ctx("score", "-t", *THREE, *words, "--format", "tsv", "--level", "segment", "-q")
    found = [json.loads(line)["scores"][k] for k in range(3) for line in done.out.splitlines()]
    assert found == pytest.approx([float(row["score"]) for row in scored.rows()], abs=2e-3)
    assert "inputs:mt+src" in done.err


@pytest.mark.full
def test_a_weight_is_found_that_chooses_best(ctx, tmp_path, model):
    """The decoder knows chrF: alone it chooses best, and every weight that is large enough does."""
    chrf, reference = CHRF(), lines_of(REF)
    lists = "".join(
        f"{k} ||| {text} ||| {chrf.sentence_score(text, [reference[k]]).score}\n"
        for k, own in enumerate(OUTPUTS)
        for text in own
    )
    (tmp_path / "list").write_text(lists)
    words = ["rerank", tmp_path / "list", "-s", SOURCE, "-l", "de-en", "-q", "--model", model]
    rows = ctx(*words, "--tune", REF).rows()
    weight, *scores = rows[1]["--mix"], *(float(row["chrF2"]) for row in rows)
    assert scores[1] > scores[0] and scores[1] >= scores[2] - 1e-9
    chosen = ctx(*words, "--mix", weight).out.splitlines()
    assert CHRF().corpus_score(chosen, [reference]).score == pytest.approx(scores[1], abs=0.005)


def test_tuning_tries_every_place_where_a_choice_changes():
    """Against 300 weights, none is better than the one that is found."""
    rng = np.random.default_rng(4)
    words = "a b c d e f g h".split()
    references = [" ".join(rng.choice(words, 8)) for _ in range(30)]
    items, scores = [], []
    for reference in references:
        texts = [" ".join(w if rng.random() < 0.7 else "x" for w in reference.split()) for _ in range(6)]
        items.append(Item(tuple(texts), tuple(rng.normal(size=6))))
        scores.append(rng.normal(size=6).tolist())
    best = tuned(items, scores, references, "chrf", Run(Texts(), [], {}, text_checks=False))

    def judged(weight: float) -> float:
        chosen = [
            item.candidates[int(np.argmax(np.array(own) + weight * np.array(item.scores)))]
            for item, own in zip(items, scores, strict=True)
        ]
        return CHRF().corpus_score(chosen, [references]).score

    assert judged(best.weight) == pytest.approx(best.best) and judged(0) == pytest.approx(best.without)
    assert max(judged(weight) for weight in np.linspace(0, 20, 300)) <= best.best + 1e-9


MBR, RERANK = f"mbr {A} {B} {C}", f"rerank {A} {B} {C} -s {SOURCE}"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (f"{MBR} -m chrf --weights 0", 2, "--weights are all 0"),
        (f"{MBR} -m chrf -o x.tsv", 2, "-o x.tsv: there is no format tsv here"),
        (f"{MBR} -m rttchrf", 1, "rttchrf: the metric cannot compare"),
        (f"{MBR} -m bertscore --bertscore-idf paper -l de-en", 1, "bertscore: mbr compares two candidates at a time"),
        (f"{MBR} -m chrf --exclude-self --references {REF}", 2, "leave it or --references out"),
        (f"{MBR} -m comet --comet-inputs mt+src -s {SOURCE}", 1, "comet: the model reads no reference"),
        (f"{MBR} --num_samples 2", 2, "--num_samples N: -n N"),
        (f"{RERANK} -m bertr", 1, "bertr: needs a reference, but candidates have none"),
        (f"{RERANK} --tune {REF} --top 2", 2, "--tune prints the value of --mix"),
        (f"{RERANK} --tune-by chrf", 2, "--tune-by works only with --tune FILE"),
        (f"{RERANK} --tune {REF} --tune-by slide", 1, "--tune-by slide: the metric cannot"),
        (f"{RERANK} --beam 4", 2, "--beam works only with --documents path"),
        (f"{RERANK} --gpus 1 -t {A}", 2, "ctx-metrics rerank FILE"),
    ],
)
def test_what_cannot_be_done(ctx, words, code, said):
    done = ctx(*words.split())
    assert (done.code, done.out) == (code, "") and said in done.err, done.err


def test_a_decoder_score_that_is_no_number(ctx, tmp_path):
    (tmp_path / "list").write_text("0 ||| a b ||| -1\n0 ||| a c ||| nan\n")
    (tmp_path / "src").write_text("x\n")
    done = ctx("rerank", tmp_path / "list", "-s", tmp_path / "src", "--mix", "1")
    assert done.code == 1 and "a decoder score is nan, but --mix needs finite numbers" in done.err


@pytest.mark.parametrize("flag", ["--tune", "--docids"])
def test_too_few_lines_are_found_before_anything_is_scored(ctx, tmp_path, flag):
    (tmp_path / "list").write_text("0 ||| a b ||| -1\n1 ||| a c ||| -2\n")
    (tmp_path / "src").write_text("x\ny\n")
    (tmp_path / "one").write_text("x\n")
    done = ctx("rerank", tmp_path / "list", "-s", tmp_path / "src", flag, tmp_path / "one")
    said = f"{tmp_path / 'one'} has 1 line, but there are candidates for 2 sources"
    assert done.code == 1 and said in done.err and "inputs:mt+src" not in done.err


def test_several_lists_are_not_read_as_lines(ctx, tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("0 ||| a b ||| -1\n0 ||| a c ||| -2\n")
    done = ctx("mbr", tmp_path / "a", tmp_path / "b", "-m", "chrf")
    assert done.code == 1 and "is a file of the format nbest, but several files have one candidate per line" in done.err
    assert ctx("mbr", tmp_path / "a", tmp_path / "b", "-m", "chrf", "--input-format", "lines").code == 0


def test_bars_in_a_text_do_not_go_into_a_list(ctx, tmp_path):
    (tmp_path / "c.tsv").write_text("a ||| b\ta c\n")
    done = ctx("mbr", tmp_path / "c.tsv", "-m", "chrf", "--top", "2")
    assert done.code == 1 and "a candidate holds |||" in done.err
    assert ctx("mbr", tmp_path / "c.tsv", "-m", "chrf", "--format", "jsonl").code == 0


def test_the_flags_of_the_pages_are_there():
    text = (DOCS / "mbr.md").read_text(encoding="utf-8").split("## Coming from comet-mbr")[0]
    flags = set(re.findall(r"`(-{1,2}[a-z][a-z-]*)", text))
    known = flags_of("mbr") | flags_of("rerank")
    assert len(flags) > 15 and flags <= known, flags - known
