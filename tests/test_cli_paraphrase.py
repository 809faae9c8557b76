"""`ctx-metrics paraphrase train` and `score`."""

import json
import re

import pytest
from classifiers import PAIRS, write_classifier
from cli_conftest import ctx  # noqa: F401  a fixture

from ctx_metrics.engine.options import EngineOptions
from ctx_metrics.models.hub import checkpoint_hash, file_sha256
from ctx_metrics.models.paraphrase import ParaphraseClassifier
from ctx_metrics.training.data import data_sha256

QUIET = EngineOptions(quiet=True)
WORDS = "cat dog rain river city bird".split()


def write_pairs(path, rows: int, header: str = "sentence1\tsentence2\tlabel", bad: str = ""):
    lines = [header]
    for number in range(rows):
        one, other = WORDS[number % 6], WORDS[(number + number // 6 * (number % 2)) % 6]
        cells = [f"the {one} sat", f"a {other} sat {number}", str(int(one == other))]
        lines.append("\t".join(cells[: header.count("\t") + 1]))
    path.write_text("\n".join([*lines, *[bad] * bool(bad)]) + "\n")
    return path


@pytest.fixture
def command(ctx, monkeypatch):  # noqa: F811
    return lambda *words, **more: ctx("paraphrase", *words, **more)


@pytest.fixture
def train(command, tmp_path, tiny_bert):
    def call(*more, data=None, dev="0.25", out=tmp_path / "out"):
        data = data or write_pairs(tmp_path / "train.tsv", 24)
        small = ["--encoder", tiny_bert, "--epochs", 2, "--batch", 8, "--out", out]
        return command("train", "--train", data, "--dev", dev, *small, *more)

    return call


@pytest.fixture(scope="module")
def bert(tmp_path_factory, tiny_bert):
    return write_classifier(tmp_path_factory.mktemp("classifier") / "bert", tiny_bert)


def test_training_writes_a_model_that_scores(train, command, tmp_path):
    done = train("--rank", 4, "--learning-rate", "3e-3")
    assert (done.code, done.err) == (0, "")
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    config = json.loads((out / "config.json").read_text())
    assert config["training"] | {"rank": 4, "learning_rate": 3e-3, "epochs": 2, "swap": True} == config["training"]
    data = {"name": "train.tsv", "sha256": data_sha256(tmp_path / "train.tsv"), "rows": 24, "kept": 24}
    assert config["data"] == {"train": [data], "development": []}
    assert config["pairs"] == {"train": 18, "development": 6}
    card = (out / "README.md").read_text()
    assert str(tmp_path) not in card and data["sha256"] in card
    assert (
        "    ctx-metrics paraphrase train --train train.tsv --dev 0.25 --encoder bert --epochs 2 --batch 8 --out out"
        in card
    )
    assert "6 of the 24 pairs, drawn by the seed, are for development alone." in card
    for name, value in config["development"].items():
        assert f"{value:.4f}" in done.out, name
    assert re.search(r"^Best epoch: [12] of 2, 18 pairs each$", done.out, re.M)
    assert done.out.splitlines()[-1] == f"Use: ctx-metrics paraphrase score PAIRS --model {out}"
    scored = command("score", tmp_path / "train.tsv", "--model", out)
    assert scored.code == 0 and len(scored.out.splitlines()) == 24


def test_the_same_command_writes_the_same_bytes_and_another_seed_others(train, tmp_path):
    for name, seed in (("one", 3), ("two", 3), ("three", 4)):
        assert train("--seed", seed, out=tmp_path / name).code == 0
    one, two, three = (file_sha256(tmp_path / name / "model.safetensors") for name in ("one", "two", "three"))
    assert one == two != three


def test_whole_training_with_a_development_file(train, tmp_path):
    dev = write_pairs(tmp_path / "dev.tsv", 12)
    done = train("--rank", 0, dev=dev)
    assert done.code == 0, done.err
    said = "12 of the development pairs are in the training data too: their figures flatter the model"
    assert done.err.splitlines() == [f"ctx-metrics: {said}"]
    out = tmp_path / "out"
    there = {path.name for path in out.iterdir()}
    assert {"README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} <= there
    card = (out / "README.md").read_text()
    assert "| learning_rate | 2e-05 |" in card and "all weights of bert" in card and data_sha256(dev) in card
    assert "drawn by the seed" not in card
    assert 0 <= ParaphraseClassifier(str(out), QUIET).probabilities(PAIRS[:1])[0] <= 1


def test_several_files_and_a_model_that_is_replaced(train, tmp_path):
    more = write_pairs(tmp_path / "more.tsv", 12)
    assert train("--train", more, dev="0.5").code == 0
    config = (tmp_path / "out" / "config.json").read_text()
    assert [each["name"] for each in json.loads(config)["data"]["train"]] == ["train.tsv", "more.tsv"]
    assert json.loads(config)["pairs"] == {"train": 18, "development": 18}
    done = train()
    assert done.code == 1 and "holds a model already; name another folder with --out, or replace it" in done.err
    assert (tmp_path / "out" / "config.json").read_text() == config
    assert train("--overwrite").code == 0 and (tmp_path / "out" / "config.json").read_text() != config


@pytest.mark.parametrize(
    "more, said",
    [
        (["--ctx-dtype", "fp16"], "--ctx-dtype fp16 is too narrow to train in; take bf16 or fp32"),
        (["--encoder", "./gone"], "no model folder './gone', and it is no hub name"),
        (["--rank", "49"], "rank 49 is more than the encoder's width, 48; choose a lower one"),
        (["--ctx-device", "tpu"], "unknown device 'tpu'"),
        (["--dev", "0.001"], "--dev 0.001 of 24 pairs leaves one part empty"),
        (["--dev", "gone.tsv"], "cannot read gone.tsv: No such file or directory"),
    ],
)
def test_training_that_cannot_be(train, tmp_path, more, said):
    done = train(*more)
    assert done.code == 1 and done.out == "" and done.err.startswith(f"ctx-metrics: error: {said}"), done.err
    assert len(done.err.splitlines()) == 1 and not (tmp_path / "out" / "config.json").exists()


def test_faults_of_the_data_name_file_and_line(train, tmp_path):
    bad = write_pairs(tmp_path / "bad.tsv", 3, bad="the cat\tthe dog\tmaybe")
    done = train(data=bad)
    assert done.code == 1 and f"{bad}, line 5: label 'maybe' is neither 0 nor 1" in done.err
    assert len(done.err.splitlines()) == 1
    short = write_pairs(tmp_path / "short.tsv", 3, bad="the cat\tthe dog")
    done = train(data=short)
    assert done.code == 1 and f"{short}, line 5: 2 columns, and the header names 3" in done.err
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    done = train()
    assert done.code == 1 and done.err.endswith("holds other things; name a new or empty folder with --out\n")


@pytest.mark.parametrize(
    "words", [["--dev", "0"], ["--dev", "1.5"], ["--rank", "-1"], ["--epochs", "0"], ["--seed", "x"]]
)
def test_wrong_usage(train, words):
    done = train(*words)
    assert done.code == 2 and "ctx-metrics paraphrase train: error: argument" in done.err


def test_scores_of_labelled_pairs(command, tmp_path, bert):
    data = write_pairs(tmp_path / "pairs.tsv", 12)
    done = command("score", data, "--model", bert)
    assert done.code == 0
    pairs = [tuple(line.split("\t")[:2]) for line in data.read_text().splitlines()[1:]]
    labels = [int(line.split("\t")[2]) for line in data.read_text().splitlines()[1:]]
    wanted = ParaphraseClassifier(str(bert), QUIET).probabilities(pairs)
    assert [float(line) for line in done.out.splitlines()] == pytest.approx(wanted, abs=1e-6)
    right = sum((value > 0.5) == label for value, label in zip(wanted, labels)) / len(labels)
    figures, signature = done.err.splitlines()
    assert figures.startswith(f"ctx-metrics: {data}: 12 pairs; accuracy {right:.4f}, f1 ")
    assert signature == f"ctx-metrics: paraphrase|model:bert|ckpt:{checkpoint_hash(bert)}|maxlen:128|dtype:fp32"


def test_scores_without_labels_and_of_two_files(command, tmp_path, bert):
    data = write_pairs(tmp_path / "pairs.tsv", 12, "sentence1\tsentence2")
    done = command("score", data, "--model", bert, "--quiet", "-w", 3)
    assert (done.code, done.err) == (0, "") and re.fullmatch(r"(\d\.\d{3}\n){12}", done.out)
    rows = [line.split("\t") for line in data.read_text().splitlines()[1:]]
    for name, side in (("one.txt", 0), ("two.txt", 1)):
        (tmp_path / name).write_text("".join(row[side] + "\n" for row in rows))
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    same = command("score", *files, "--model", bert, "--quiet", "-w", 3, "-o", tmp_path / "new" / "p.txt")
    assert (same.code, same.out, same.err) == (0, "", "")
    assert (tmp_path / "new" / "p.txt").read_text() == done.out
    turned = command("score", *files[::-1], "--model", bert, "--quiet", "-w", 3)
    assert turned.out != done.out
    (tmp_path / "two.txt").write_text("one line\n")
    short = command("score", *files, "--model", bert)
    assert short.code == 1 and "one.txt has 12 lines, and " in short.err and "a line each makes a pair" in short.err
    three = command("score", *files, files[0], "--model", bert)
    assert three.code == 2 and three.err.endswith("error: name one file of pairs, or two of sentences\n")


def test_faults_of_scoring(command, tmp_path, bert, tiny_bert):
    other = tmp_path / "other.tsv"
    other.write_text("mt\tref\na\tb\n")
    done = command("score", other, "--model", bert)
    assert done.code == 1 and str(other) in done.err and len(done.err.splitlines()) == 1
    done = command("score", write_pairs(tmp_path / "p.tsv", 12), "--model", tiny_bert)
    assert done.code == 1 and "is no sequence classifier: classifier.bias is not among its weights" in done.err


def test_the_embedded_one_minds_its_language(command, tmp_path):
    german = tmp_path / "german.tsv"
    rows = ["Die Katze saß auf der Matte und wartete nicht auf die Maus\tDie Katze wartet nicht auf eine Maus"] * 4
    german.write_text("\n".join(["sentence1\tsentence2", *rows]) + "\n")
    done = command("score", german)
    assert done.code == 0 and "the text does not look English" in done.err
    assert "paraphrase|model:embedded-paraphrase|ckpt:" in done.err


def test_help_shows_both(command):
    assert all(f"    {name} " in command("--help").out for name in ("train", "score"))
    for name in ("train", "score"):
        assert "--ctx-device" in command(name, "--help").out
    assert command().code == 2
