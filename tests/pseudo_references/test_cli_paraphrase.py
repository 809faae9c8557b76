"""`ctx-metrics paraphrase train` and `score`."""

import json
import os
import re
import signal

import pytest
from classifiers import PAIRS, write_classifier
from cli_conftest import ctx  # noqa: F401  a fixture

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.hub import checkpoint_hash
from ctx_metrics.pseudo_references.paraphrase.classifier import ParaphraseClassifier
from ctx_metrics.training.data import data_sha256
from ctx_metrics.training.loop import Loop
from ctx_metrics.training.state import STATE

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
def command(ctx, monkeypatch):
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
    assert "    ctx-metrics paraphrase train --train train.tsv --dev 0.25 --encoder bert --epochs 2 --batch 8" in card
    assert "6 of the 24 pairs, drawn by the seed, are used only for development." in card
    for name, value in config["development"].items():
        assert f"{value:.4f}" in done.out, name
    assert re.search(r"^Best epoch: [12] of 2, 18 pairs each$", done.out, re.M)
    assert done.out.splitlines()[-1] == f"Use: ctx-metrics paraphrase score PAIRS --model {out}"
    scored = command("score", tmp_path / "train.tsv", "--model", out)
    assert scored.code == 0 and len(scored.out.splitlines()) == 24


def test_whole_training_with_a_development_file(train, tmp_path):
    dev = write_pairs(tmp_path / "dev.tsv", 12)
    done = train("--rank", 0, dev=dev)
    assert done.code == 0, done.err
    said = "12 of the development pairs are in the training data too, so their figures are too optimistic"
    assert done.err.splitlines() == [f"ctx-metrics: {said}"]
    out = tmp_path / "out"
    there = {path.name for path in out.iterdir()}
    assert {"README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} <= there
    card = (out / "README.md").read_text()
    assert "| learning_rate | 2e-05 |" in card and "all weights of bert" in card and data_sha256(dev) in card
    assert "drawn by the seed" not in card
    assert 0 <= ParaphraseClassifier(str(out), QUIET).probabilities(PAIRS[:1])[0] <= 1


@pytest.mark.full
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


@pytest.mark.full
@pytest.mark.parametrize("rank", [4, 0])
def test_stopped_by_ctrl_c_it_goes_on_where_it_was(train, tmp_path, monkeypatch, rank):
    """In the first epoch, and after it, each time with the steps that are left; the bytes are those of a run in one go."""
    more, step = ["--rank", rank, "--learning-rate", "3e-3", "--seed", 2], Loop._step
    assert train(*more, out=tmp_path / "unstopped").code == 0
    steps, out = [], tmp_path / "out"

    def interrupted(loop, batch):
        steps.append(loop.progress.step)
        if steps in ([0, 1], [0, 1, 2, 3]):
            os.kill(os.getpid(), signal.SIGINT)
        return step(loop, batch)

    monkeypatch.setattr(Loop, "_step", interrupted)
    for _ in range(2):
        done = train(*more)
        assert (
            done[:2] == (130, "")
            and f"stopped; run the same command again to continue from the state in {out}" in done.err
        )
        assert [path.name for path in out.iterdir()] == [STATE]
    done = train(*more, "--weight-decay", 0.5)
    assert done.code == 1 and "a stopped training with other recipe" in done.err
    done = train(*more)
    assert done.code == 0 and steps == [0, 1, 2, 3, 4, 5]
    written = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in (out, tmp_path / "unstopped")]
    written[1]["README.md"] = written[1]["README.md"].replace(b"unstopped", b"out")
    assert written[0] == written[1]


def test_begun_anew_where_that_is_asked_for(train, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / STATE).write_text("another training's")
    assert "is not the state of a training run; delete it" in train("--rank", 4).err
    assert train("--rank", 4, "--restart").code == 0 and not (out / STATE).exists()


@pytest.mark.parametrize(
    "more, said",
    [
        (["--ctx-dtype", "fp16"], "--ctx-dtype fp16 is too narrow to train in"),
        (["--dev", "0.001"], "--dev 0.001 of 24 pairs leaves one part empty"),
        (["--max-length", "4"], "--max-length 4 leaves no room for the sentences besides the 3 special tokens"),
    ],
)
def test_training_that_cannot_be(train, tmp_path, more, said):
    done = train(*more)
    assert done.code == 1 and done.out == "" and done.err.startswith(f"ctx-metrics: error: {said}"), done.err
    assert len(done.err.splitlines()) == 1 and not (tmp_path / "out").exists()


def test_faults_of_the_data_name_file_and_line(train, tmp_path):
    short = write_pairs(tmp_path / "short.tsv", 3, bad="the cat\tthe dog")
    done = train(data=short)
    assert done.code == 1 and f"{short}, line 5: 2 columns, but the header names 3" in done.err
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    done = train()
    assert done.code == 1 and "holds other files" in done.err


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
    assert signature == f"ctx-metrics: paraphrase|model:bert|ckpt:{checkpoint_hash(bert)}|maxlen:70|dtype:fp32"


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
    assert short.code == 1 and "one.txt has 12 lines, but " in short.err
    assert command("score", *files, files[0], "--model", bert).code == 2


def test_the_tokens_that_are_kept(command, tmp_path, bert, tiny_roberta):
    data = write_pairs(tmp_path / "pairs.tsv", 12, "sentence1\tsentence2")

    def signature(*more, model=bert):
        done = command("score", data, "--model", model, *more)
        return re.search(r"maxlen:\d+", done.err)[0], done.err.count("\n"), done.out

    whole = signature()
    assert whole[:2] == ("maxlen:70", 1)
    assert signature("--max-length", 70) == whole
    assert signature("--max-length", 71) == ("maxlen:70", 2, whole[2])
    least = signature("--max-length", 5)
    assert least[:2] == ("maxlen:5", 2) and least[2] != whole[2]
    roberta = write_classifier(tmp_path / "roberta", tiny_roberta)  # <s> one </s></s> other </s>
    assert signature("--max-length", 6, model=roberta)[0] == "maxlen:6"
    for model, given, special in ((bert, 2, 3), (bert, 4, 3), (roberta, 5, 4)):
        done = command("score", data, "--model", model, "--max-length", given)
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert f"--max-length {given} leaves no room" in done.err and done.err.endswith(f"at least {special + 2}\n")


def test_labels_that_are_all_alike_are_scored(command, tmp_path, bert):
    """Without paraphrases, and with none called one, there is no F1 either; of ones alone, F1 is 2 c / (c + n)."""
    rows = write_pairs(tmp_path / "pairs.tsv", 12, "sentence1\tsentence2").read_text().splitlines()
    done = command("score", tmp_path / "pairs.tsv", "--model", bert, "--quiet")
    called = sum(float(line) > 0.5 for line in done.out.splitlines())
    data = tmp_path / "alike.tsv"
    for label, right, f1 in (("1.0", called, 2 * called / (called + 12)), ("0", 12 - called, 0 if called else "-")):
        data.write_text("\n".join([rows[0] + "\tlabel", *(f"{row}\t{label}" for row in rows[1:])]) + "\n")
        found = command("score", data, "--model", bert, "--quiet")
        said = f1 if f1 == "-" else f"{f1:.4f}"
        assert (found.code, found.out) == (0, done.out)
        assert found.err == f"ctx-metrics: {data}: 12 pairs; accuracy {right / 12:.4f}, f1 {said}, auc -\n"


def test_empty_sentences_are_said_once(command, tmp_path, bert):
    one, two, pairs = tmp_path / "one.txt", tmp_path / "two.txt", tmp_path / "pairs.tsv"
    one.write_text("the cat\n\nthe dog\n")
    two.write_text("a cat\na dog\n  \n")
    pairs.write_text("sentence1\tsentence2\nthe cat\ta cat\n\ta dog\nthe dog\t  \n")
    labelled = tmp_path / "labelled.tsv"
    labelled.write_text("sentence1\tsentence2\tlabel\nthe cat\ta cat\t1\n\ta dog\t0\nthe dog\t  \t0\n")
    for files, name in (([one, two], f"{one} and {two}"), ([pairs], pairs), ([labelled], labelled)):
        done = command("score", *files, "--model", bert, "--quiet")
        said = f"ctx-metrics: {name}: 2 pairs have an empty sentence (segments 2, 3); kept as they are"
        assert done.code == 0 and len(done.out.splitlines()) == 3 and done.err.splitlines()[0] == said
        assert len(done.err.splitlines()) == 1 + (files == [labelled])


def test_faults_of_scoring(command, tmp_path, bert, tiny_bert):
    path = tmp_path / "other.tsv"
    for content, model, said in (
        ("mt\tref\na\tb\n", bert, "its first line (mt, ref) has no known"),
        ("sentence1,sentence2\na,b\n", bert, "its columns are separated by commas"),
        ("sentence1\tsentence2\na\tb\n", tiny_bert, "is not a sequence classifier"),
    ):
        path.write_text(content)
        done = command("score", path, "--model", model)
        assert (done.code, done.err.count("\n")) == (1, 1) and said in done.err


def test_the_embedded_one_minds_its_language(command, tmp_path):
    german = tmp_path / "german.tsv"
    rows = ["Die Katze saß auf der Matte und wartete nicht auf die Maus\tDie Katze wartet nicht auf eine Maus"] * 4
    german.write_text("\n".join(["sentence1\tsentence2", *rows]) + "\n")
    done = command("score", german)
    fix = "the text does not look English; name a model of its language with --model\n"
    assert done.code == 0 and fix in done.err
    assert "paraphrase|model:embedded-paraphrase|ckpt:" in done.err
