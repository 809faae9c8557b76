"""The sacrebleu command with the plugin: its own metrics as before, and `bertr` in all its modes."""

import json
import re
from pathlib import Path

import pytest
from plugin_conftest import (
    DOCIDS,
    REF,
    SACREBLEU,
    SOURCE,
    A,
    B,
    C,
    Forked,
    fresh_sacrebleu,
    lines_of,
    sacrebleu,
    strict,
)
from selection import some

# stock output is unchanged

COLUMNS = "".join(f"{a}\t{b}\t{c}\n" for a, b, c in zip(*map(lines_of, (A, B, C))))
SMALL = ["--paired-bs-n", "60", "--paired-ar-n", "60"]
STOCK = {
    "multi": [REF, "-i", A, B, C, "-m", "bleu", "chrf", "ter"],
    "multi text": [REF, "-i", A, B, "-f", "text", "-m", "bleu", "ter"],
    "multi latex": [REF, "-i", A, B, "-f", "latex"],
    "confidence": [REF, "-i", A, "-ci", "-cin", "100"],
    "sentence level": [REF, "-i", A, "-sl"],
    "paired-ar": [REF, "-i", A, B, C, "-m", "bleu", "chrf", "--paired-ar", *SMALL, "-f", "text"],
    "paired jobs": [REF, "-i", A, B, C, "--paired-bs", *SMALL, "-j", "2", "-q"],
    "two references": [REF, B, "-i", A],
    "stdin": [REF, "-m", "chrf"],
    "tabs": ["{tabs}", "-nr", "2", "-i", A],
    "missing reference": ["no_such_file", "-i", A],
    "unequal lengths": ["{tabs}", "-i", "{short}"],
    "not utf-8": [REF, "-i", "{latin}"],
    "unknown format": [REF, "-i", A, "-f", "xml"],
    "no reference": ["-i", A],
    "same system twice": [REF, "-i", A, A],
    "abbreviated": [REF, "--inp", A, "--met", "chrf", "--sent", "--score"],
}
SOME_STOCK = ["multi", "multi text", "sentence level", "paired jobs", "tabs", "stdin", "not utf-8", "unknown format"]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("files")
    (folder / "tabs").write_text("".join(f"{r}\t{b}\n" for r, b in zip(lines_of(REF), lines_of(B))))
    (folder / "short").write_text("one\ntwo\n")
    (folder / "latin").write_bytes("café\n".encode("latin-1") * 59)
    return {f"{{{path.name}}}": str(path) for path in folder.iterdir()}


@pytest.mark.parametrize("name", some(STOCK, SOME_STOCK))
def test_output_without_plugin_metrics_is_as_in_stock(files, name):
    arguments = [files.get(argument, argument) for argument in STOCK[name]]
    stdin = {"stdin": "".join(f"{line}\n" for line in lines_of(A))}.get(name, "")
    ours = fresh_sacrebleu(*arguments, stdin=stdin)
    stock = fresh_sacrebleu(*arguments, stdin=stdin, CTX_METRICS_NO_AUTOLOAD="1")
    said = [done.stderr for done in (ours, stock)]
    if ours.returncode == 2:  # argparse's usage lines name the plugin's flags
        said = [text.splitlines()[-1] for text in said]
    if "Traceback" in said[1]:  # the frames show the plugin
        said = [text.splitlines()[-1] for text in said]
    assert (ours.returncode, ours.stdout, said[0]) == (stock.returncode, stock.stdout, said[1])


def test_an_unknown_metric_exits_with_2_and_names_ours_too():
    ours, stock = (
        fresh_sacrebleu(REF, "-i", A, "-m", "rouge", **env) for env in ({}, {"CTX_METRICS_NO_AUTOLOAD": "1"})
    )
    assert ours.returncode == stock.returncode == 2 and ours.stdout == stock.stdout == ""
    assert "invalid choice: 'rouge'" in ours.stderr.splitlines()[-1] and "bertr" in ours.stderr.splitlines()[-1]


# with bertr

LOGGED = """
import ctx_metrics.metrics.bertr
from ctx_metrics.engine.forward import PackedEncoder
def logged(cls, name, size):
    inner = getattr(cls, name)
    def wrapper(self, batch, *rest):
        with open(job["base"] + ".log", "a") as log:
            log.write(json.dumps([name, os.getpid(), size(batch)]) + "\\n")
        return inner(self, batch, *rest)
    setattr(cls, name, wrapper)
logged(PackedEncoder, "__call__", len)
logged(ctx_metrics.metrics.bertr.BERTR, "_score", len)
"""
THREE = [REF, "-i", A, B, C, "-m", "bertr"]
BERTR = {
    "json": [REF, "-i", A, "-m", "bertr"],
    "three": THREE,
    "paired": [*THREE, "chrf", "ter", "--paired-bs", *SMALL],
    "confidence": [REF, "-i", A, "-m", "bertr", "bleu", "--confidence", "-cin", "200", "-f", "text"],
    "sentences": [REF, "-i", A, "-m", "bertr", "-sl", "-b", "-w", "4"],
    "stdin": [REF, "-m", "bertr"],
    "short": [REF, "-i", A, "-m", "bertr", "--short", "-f", "text"],
    "quiet": [REF, "-i", A, "-m", "bertr", "-b", "-q"],
    "mixed": [REF, "-i", A, "-m", "ter", "bertr", "bleu"],
    "unused": [REF, "-i", A, "-m", "bleu", "bertr", "-b", "--source", SOURCE, "--docids", DOCIDS],
    "unused quiet": [REF, "-i", A, "-m", "bertr", "-b", "-q", "--source", SOURCE],
    "unused stock": [REF, "-i", A, "-m", "bleu", "-b", "--docids", DOCIDS],
    "two references": [REF, B, "-i", A, "-m", "bertr"],
    "tabs": ["tabs", "-nr", "2", "-i", A, "-m", "bertr"],
    "gap": [REF, "-i", "gap", A, "-m", "bertr", "-f", "text"],
}


class Runs(Forked):
    def __missing__(self, name: str):
        done = super().__missing__(name)
        done.log = [json.loads(line) for line in self.log(name)]
        return done


LINES = 20  # of each example, with which these runs are made


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The first lines of the examples; `tabs` has two references, and the first line of `gap` is empty."""
    folder = tmp_path_factory.mktemp("bertr")
    texts = {name: lines_of(name)[:LINES] for name in (REF, SOURCE, DOCIDS, A, B, C)}
    texts["tabs"] = ["\t".join(row) for row in zip(texts[REF], texts[B])]
    texts["gap"] = ["", *texts[A][1:]]
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def runs(folder, tmp_path_factory) -> Runs:
    jobs = {
        name: {
            "args": arguments,
            "stdin": "".join(COLUMNS.splitlines(True)[:LINES]) if name == "stdin" else "",
            "cwd": folder,
        }
        for name, arguments in BERTR.items()
    }
    return Runs(tmp_path_factory.mktemp("runs"), LOGGED + SACREBLEU, jobs)


def test_the_score_and_its_signature(runs):
    result = strict(runs["json"].stdout)
    assert result["name"] == "BERTR" and 70 < result["score"] < 95
    keys = "nrefs model ckpt inputs layers multiref dtype maxlen long scale ctx torch tokenizers version"
    assert set(keys.split()) <= set(result)
    assert result["model"] == "embedded-all-MiniLM-L6-v2" and result["nrefs"] == "1" and result["scale"] == "100"
    assert (runs["quiet"].stdout, runs["quiet"].stderr) == (f"{result['score']}\n", "")


@pytest.mark.full
def test_a_run_of_the_real_command_gives_the_same(runs, folder):
    assert sacrebleu(REF, "-i", A, "-m", "bertr", cwd=folder).stdout == runs["json"].stdout


@pytest.mark.full
def test_the_short_signature(runs):
    head = runs["short"].stdout.split(" = ")[0]
    assert {"m", "ck", "in", "ly", "mr", "dt", "ml", "lg", "sc", "th", "tk", "v", "#"} <= {
        part.split(":")[0] for part in head.split("|")[1:]
    }


def test_every_mode_gives_the_same_scores(runs):
    three = strict(runs["three"].stdout)
    scores = [float(row["BERTR"]) for row in three]
    assert [row["system"] for row in three] == [A, B, C] and scores[0] > scores[2]
    assert scores[0] == strict(runs["json"].stdout)["score"]
    assert [float(row["BERTR"]) for row in strict(runs["stdin"].stdout)] == scores
    cells = [row["BERTR"] for row in strict(runs["paired"].stdout)]
    assert [round(cell["score"], 1) for cell in cells] == scores
    assert cells[0]["p_value"] is None and all(0 < cell["p_value"] <= 1 for cell in cells[1:])
    assert all(isinstance(cell["mean"], float) and cell["ci"] > 0 for cell in cells)


def test_sacrebleus_own_metrics_are_the_same_beside_ours(runs, folder):
    mixed = {result["name"]: result for result in strict(runs["mixed"].stdout)}
    alone = fresh_sacrebleu(REF, "-i", A, "-m", "ter", "bleu", cwd=folder, CTX_METRICS_NO_AUTOLOAD="1")
    stock = {result["name"]: result for result in strict(alone.stdout)}
    assert set(mixed) == {"BERTR", "BLEU", "TER"} and all(mixed[name] == stock[name] for name in stock)


@pytest.mark.full
def test_confidence_in_a_text(runs):
    of_bertr, of_bleu = runs["confidence"].stdout.splitlines()  # at the margin, ours in its short form
    assert re.match(r"BERTR\|#:1\|bs:200\|\S+\|v:\S+ = \d+\.\d \(μ = \d+\.\d ± \d+\.\d\)", of_bertr)
    assert re.match(r"BLEU\|nrefs:1\|bs:200\|\S+\|version:\S+ = \d+\.\d \(μ = ", of_bleu)


def test_sentence_level_is_the_corpus_row_by_row(runs):
    values = [float(line) for line in runs["sentences"].stdout.splitlines()]
    assert len(values) == LINES and len(set(values)) > LINES - 5
    assert sum(values) / LINES == pytest.approx(strict(runs["json"].stdout)["score"], abs=0.06)
    assert [entry[0] for entry in runs["sentences"].log].count("_score") == 1


@pytest.mark.parametrize("name", ["three", "paired", "stdin"])
def test_all_systems_are_scored_in_one_pass_in_the_parent(runs, name):
    log = runs[name].log
    assert len({pid for _, pid, _ in log}) == 1
    assert [size for kind, _, size in log if kind == "_score"] == [3]
    distinct = {line for file in (REF, A, B, C) for line in lines_of(file)[:LINES]}
    assert 0 < sum(size for kind, _, size in log if kind == "__call__") <= len(distinct)  # no text twice


def test_context_that_nothing_reads_is_said_once(runs):
    said = runs["unused"].stderr.splitlines()
    assert [sum(flag in line for line in said) for flag in ("--source", "--docids")] == [1, 1] and len(said) == 2
    assert all("(bleu, bertr)" in line for line in said)
    assert runs["unused quiet"].stderr.count("reads --source") == 1 and runs["unused quiet"].stderr.count("\n") == 1
    assert runs["unused stock"].stderr.count("reads --docids") == 1
    assert float(runs["unused stock"].stdout) > 10


@pytest.mark.parametrize("name", some(["tabs", "two references"], ["tabs"]))
def test_several_references(runs, name):
    one, two = (strict(runs[run].stdout) for run in ("json", name))
    assert two["nrefs"] == "2" and two["score"] > one["score"]


def test_an_empty_text_is_counted(runs):
    assert "gap: 1 segment has an empty hypothesis or reference and scores 0 (segment 1)" in runs["gap"].stderr
    assert runs["gap"].stderr.count("empty hypothesis") == 1


@pytest.mark.full
def test_a_paired_test_whose_resamples_score_nothing_has_no_p_value(tmp_path):
    """PairedTest of sacrebleu prints p = 1/1001 and a star for such systems."""
    lines = lines_of(A)[:6], lines_of(B)[:6], lines_of(REF)[:6], ["x", "x", "x", "y", "y", "z"]
    for name, texts in zip(("a", "b", "ref", "ids"), lines, strict=True):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    command = "ref -i a b -m slide bleu -l de-en --docids ids --slide-window 3 --slide-stride 3 --slide-partial drop"
    done = fresh_sacrebleu(*command.split(), "--paired-bs", *SMALL, cwd=tmp_path)
    _, other = json.loads(done.stdout)
    assert "some resamples contain no scored segment" in done.stderr
    assert [other[name].get("p_value") is None for name in sorted(other) if name != "system"] == [False, True]


@pytest.mark.full
def test_every_signature_names_the_kind_of_references():
    common = (REF, "-i", A, "-m", "bleu", "bertr", "-f", "json")
    named, usual = (
        strict(fresh_sacrebleu(*common, *more).stdout) for more in (["--ctx-kind-of-references", "post-edited"], [])
    )
    assert [each["refs"] for each in named] == ["post-edited"] * 2
    assert [each["signature"].replace("|refs:post-edited", "") for each in named] == [
        each["signature"] for each in usual
    ]
    assert [each["score"] for each in named] == [each["score"] for each in usual]
