"""`ctx-metrics train pairwise`."""

import json
import random
import re
from dataclasses import replace

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from toy_judgements import WORDS

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.pairwise.model import MODEL_TYPE
from ctx_metrics.pairwise.training import learn as training
from ctx_metrics.pairwise.training.data import read_pair_sets, split_by_segment
from ctx_metrics.pairwise.training.learn import Architecture, TrainingResult
from ctx_metrics.pairwise.training.recipe import MODERN, PAPER, PairwiseRecipe
from ctx_metrics.pairwise.training.report import say_poor, say_unfinished
from ctx_metrics.pairwise.training.task import Check
from ctx_metrics.training.data import data_sha256

FILES = ["README.md", "checks.jsonl", "config.json", "learning-curve.png", "model.safetensors"]
CHECKS = [Check("logistic", 1, 0.7, 0.5), Check("kendall", 1, 0.6, 0.25)]


def write_preferences(path, segments: int, seed: int):
    """Better outputs with fewer words changed."""
    draw = random.Random(seed)
    lines = ["src\tref\tbetter\tworse"]
    for _ in range(segments):
        words = [draw.choice(WORDS) for _ in range(8)]
        outputs = [
            " ".join(word if draw.random() < kept else draw.choice(WORDS) for word in words) for kept in (0.8, 0.3)
        ]
        lines.append("\t".join([" ".join(reversed(words)), " ".join(words), *outputs]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def folder(tmp_path):
    write_preferences(tmp_path / "train.cs-en.tsv", 40, 1)
    write_preferences(tmp_path / "dev.cs-en.tsv", 20, 2)
    write_preferences(tmp_path / "train.en-de.tsv", 20, 3)
    return tmp_path


@pytest.fixture
def train(ctx, folder):
    def call(*more, data=("train.cs-en.tsv",), dev=("dev.cs-en.tsv",), out=folder / "out", plot=False):
        dev = [folder / each if each.endswith("tsv") else each for each in dev]
        paths = ["--train", *(folder / each for each in data), "--dev", *dev, "--out", out]
        return ctx("train", "pairwise", *paths, *([] if plot else ["--no-plot"]), *more)

    return call


@pytest.fixture
def learned(monkeypatch):
    """In place of learning, its arguments are kept; returns the list of them."""
    calls = []

    def learn(architecture, recipe, training, development, **named):
        data = {"training": training, "development": development}
        calls.append({"architecture": architecture, "recipe": recipe, **data, **named})
        for made in (named["out"], named["cache"]):
            made.mkdir(parents=True, exist_ok=True)
        config = {"encoder": "embedded", "encoder_ckpt": "0" * 12, "features": [], "vectors": [], "network": {}}
        config |= {"languages": named["languages"], "training": {"pairs": 40}, "development": {"pairs": 20}}
        for name in ("config.json", "model.safetensors"):
            (named["out"] / name).write_text("")
        return TrainingResult({**config, **named["notes"]}, CHECKS, 0, {"bleu": 0.75, "ter": 0.125})

    monkeypatch.setattr(training, "learn", learn)
    return calls


def names(path):
    return sorted(each.name for each in path.iterdir())


@pytest.mark.full
def test_a_model_of_features_is_trained(train, folder):
    out = folder / "out"
    more = "--features bleu chrf:word_order=2 --vectors none --recipe modern --epochs 20 --batch 4 --hidden 0".split()
    done = train("--cost", "logistic+kendall", *more, plot=True)
    assert done.code == 0, done.err
    assert names(out) == FILES
    config = json.loads((out / "config.json").read_text())
    assert config["model_type"] == MODEL_TYPE
    assert config["network"]["vectors"] == 0 and config["network"]["hidden"] == 0 and config["encoder"] is None
    assert config["data"]["train"] == [
        {"name": "train.cs-en.tsv", "sha256": data_sha256(folder / "train.cs-en.tsv"), "rows": 40, "kept": 40}
    ]
    checks = [json.loads(line) for line in (out / "checks.jsonl").read_text().splitlines()]
    assert set(checks[0]) == {"phase", "epoch", "cost", "tau"} and [each["phase"] for each in checks][-1] == "kendall"
    best = max(check["tau"] for check in checks)
    assert best > 0.5 and config["development"]["score"] == best
    rows = dict(re.findall(r"([\w:=]+) +│ (-?\d\.\d{4}) ", done.out))
    of_features = {name: f"{tau:.4f}" for name, tau in config["development"]["features"].items()}
    assert rows == {"pairwise": f"{best:.4f}", **of_features} and len(rows) == 3
    assert "Learned from 40 pairs of 40 segments; chosen on 20 pairs of 20 segments" in done.out
    assert f"Use: sacrebleu REF -i SYSTEM1 SYSTEM2 -m pairwise --pairwise-model {out}\n" in done.out
    card = (out / "README.md").read_text()
    assert f"**{best:.4f}**" in card and str(folder) not in card


def test_what_learns_is_told(train, learned, folder):
    """The development data are also the training data."""
    more = ["--antisymmetric", "--tied", "--hidden", 6, "--seed", 9, "--ctx-batch-tokens", 64, "-q"]
    done = train(*more, dev=("train.cs-en.tsv",))
    assert done.code == 0, done.err
    [call] = learned
    assert call["architecture"] == Architecture(hidden=6, tied=True, antisymmetric=True)
    assert call["recipe"] == PairwiseRecipe(seed=9) and call["languages"] == ["en"]
    assert call["engine"] == EngineOptions("auto", "fp32", 64, 384, True)
    assert [len(judged.preferences) for judged in (*call["training"], *call["development"])] == [40, 40]
    assert call["cache"] == folder / "out" / "training-embeddings" and not call["cache"].exists()
    assert [each["name"] for each in call["notes"]["data"]["development"]] == ["train.cs-en.tsv"]
    assert "40 of 40 development references are in the training data too" in done.err
    assert "bleu alone agrees with people at least as well as this model: tau 0.7500, and 0.5000\n" in done.err
    assert "Best epoch: 1 of 2 (epoch 1 of the logistic cost)" in done.out


def test_a_share_for_development(train, learned, folder):
    done = train("--seed", 3, "--cache", folder / "kept", data=("train.cs-en.tsv", "dev.cs-en.tsv"), dev=("0.25",))
    assert done.code == 0, done.err
    [call] = learned
    paths = [str(folder / name) for name in ("train.cs-en.tsv", "dev.cs-en.tsv")]
    wanted = split_by_segment(read_pair_sets(paths).sets, 0.25, 3)
    for given, sets in zip((call["training"], call["development"]), wanted):
        assert [each.preferences.tolist() for each in given] == [each.preferences.tolist() for each in sets]
    assert sum(len(each.preferences) for each in call["development"]) == 15
    assert call["cache"] == folder / "kept" and call["cache"].exists()
    card = (folder / "out" / "README.md").read_text()
    assert "15 of the 60 pairs are used only for development: a share of 0.25 of the source sentences" in card
    assert call["notes"]["data"]["development"] == []


def test_rankings_and_what_they_name(ctx, learned, put, tmp_path):
    columns = [f"system{k}{what}" for k in range(1, 6) for what in ("Id", "rank")]
    rows = [f"fr,en,{segment},A,1,B,2,C,3,D,-1,E,-1" for segment in (1, 2, 3)]
    rankings = put("rank.csv", ",".join(["srclang", "trglang", "segmentId", *columns]), *rows)
    for name in "ABC":
        put(f"outputs/{name}", *(f"{name} {k}" for k in range(3)))
    flags = ["--outputs", tmp_path / "outputs", "--reference", put("ref.en", "r1", "r2", "r3"), "--dev", "0.4"]
    done = ctx("train", "pairwise", "--train", rankings, *flags, "-l", "fr-en", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    [call] = learned
    assert [len(judged.preferences) for judged in (*call["training"], *call["development"])] == [6, 3]
    data = call["notes"]["data"]
    assert data["outputs"] == {"name": "outputs", "sha256": data_sha256(tmp_path / "outputs")}
    assert data["reference"] == {"name": "ref.en", "sha256": data_sha256(tmp_path / "ref.en")}


@pytest.mark.full
def test_vectors_of_the_multilingual_encoder(train, folder, ctx, multilingual):
    """Of a pair into German, which the embedded encoder does not read; the model finds the encoder again by its name."""
    more = ["--encoder", "multilingual", "--vectors", "encoder@7:4", "--features", "bleu", "--epochs", 2]
    done = train(*more, data=("train.en-de.tsv",), dev=("0.5",))
    assert done.code == 0, done.err
    config = json.loads((folder / "out" / "config.json").read_text())
    assert [config[key] for key in ("encoder", "encoder_ckpt", "languages")] == ["multilingual", "1571fc982750", ["de"]]
    rows = [line.split("\t") for line in (folder / "train.en-de.tsv").read_text().splitlines()[1:]]
    for name, column in (("ref", 1), ("better", 2), ("worse", 3)):
        (folder / name).write_text("".join(f"{row[column]}\n" for row in rows))
    systems = ["-i", folder / "better", folder / "worse"]
    done = ctx("pairwise", "rank", folder / "ref", *systems, "--model", folder / "out", "-l", "en-de")
    assert done.code == 0 and "better" in done.out, done.err


def test_the_language_of_the_embedded_encoder(train, learned):
    of_de = {"data": ("train.en-de.tsv",), "dev": ("0.5",)}
    done = train(**of_de)
    assert done.code == 1 and done.err.count("\n") == 1 and learned == []
    assert "reads only English, but the language is German (de); name another with --encoder" in done.err
    assert train("--vectors", "none", **of_de).code == 0 and learned[-1]["languages"] == ["de"]
    done = train("--encoder", "embedded", "--overwrite", **of_de)
    assert done.code == 0 and "reads only English" in done.err and learned[-1]["languages"] == ["en"]
    assert train("--encoder", "x/y", "--overwrite", **of_de).code == 0 and learned[-1]["languages"] == ["de"]
    assert train("--vectors", "encoder", "--overwrite", **of_de).code == 1


def test_text_that_does_not_look_english(train, learned, folder):
    german = "und sie wartete nicht auf die Maus, die bei uns wohnt, weil es ihr zu lange war " * 3
    lines = [f"s{k}\t{k} {german}\ta{k}\tb{k}" for k in range(4)]
    (folder / "mine.tsv").write_text("\n".join(["src\tref\tbetter\tworse", *lines]) + "\n")
    done = train(data=("mine.tsv",), dev=("0.5",))
    assert done.code == 0 and "the text does not look English" in done.err
    assert "look English" not in train("--overwrite", "-l", "de-en", data=("mine.tsv",), dev=("0.5",)).err


def test_nothing_is_made_where_something_is_wrong(train, learned, folder):
    before = names(folder)
    for more, says in (
        ({"dev": ("0.001",)}, "leaves one part empty"),
        ({"out": folder / "dev.cs-en.tsv" / "model"}, "cannot write into"),
    ):
        done = train(**more)
        assert done.code == 1 and done.err.count("\n") == 1 and says in done.err
    assert learned == [] and names(folder) == before


@pytest.mark.full
def test_what_cannot_be_read_leaves_no_folder(train, folder):
    """Features are computed before the PCA fails; what was there before stays."""
    before = names(folder)
    flags = ["--features", "chrf", "--vectors", "encoder:300"]
    done = train(*flags, out=folder / "new" / "deeper")
    assert done.code == 1 and done.err.count("\n") == 1 and "PCA of 115 texts" in done.err
    assert names(folder) == before
    (folder / "out" / "training-embeddings").mkdir(parents=True)
    assert train(*flags).code == 1
    assert len(names(folder / "out" / "training-embeddings")) == 4
    (folder / "out" / "training-embeddings").rename(folder / "kept")
    assert train(*flags, "--cache", folder / "kept").code == 1
    assert names(folder / "out") == [] and len(names(folder / "kept")) == 4


@pytest.mark.parametrize(
    "taus, epochs, said",
    [([0.1, 0.2, 0.3], 3, True), ([0.3], 1, True), ([0.1, 0.3, 0.3], 3, False), ([0.1, 0.2, 0.3], 4, False)],
)
def test_a_training_that_ends_too_early_is_said(taus, epochs, said, caplog):
    say_unfinished([Check("logistic", number, 0.5, tau) for number, tau in enumerate(taus, 1)], epochs)
    assert ["the last epoch is the best" in message for message in caplog.messages] == [True] * said


def test_help(ctx):
    done = ctx("train", "pairwise", "--help")
    assert done.code == 0 and "(Default: 10000; modern: 300)" in " ".join(done.out.split())


@pytest.mark.parametrize(
    "flags, recipe, architecture",
    [
        ("", PAPER, Architecture()),
        ("--recipe modern --vectors none --hidden 0", MODERN, Architecture(vectors=(), hidden=0)),
        ("--patience 7 --epochs 9 --features none", PairwiseRecipe(patience=7, epochs=9), Architecture(features=())),
        (
            "--recipe modern --patience none --features bleucomp ter --no-antisymmetric",
            replace(MODERN, patience=None),
            Architecture(features=("bleucomp", "ter")),
        ),
        (
            "--cost logistic+kendall --beta 2 --gamma 3 --optimiser adamw --learning-rate .5 --encoder x/y --vectors encoder:3",
            PairwiseRecipe("logistic+kendall", "adamw", 0.5, beta=2.0, gamma=3.0),
            Architecture(vectors=("encoder:3",), encoder="x/y"),
        ),
    ],
)
def test_recipes_and_architectures(train, learned, flags, recipe, architecture):
    assert train(*flags.split()).code == 0
    assert (learned[0]["recipe"], learned[0]["architecture"]) == (recipe, architecture)


@pytest.mark.parametrize(
    "flags, says",
    [
        ("--dev 0.5", "--dev takes files and folders, or one share"),
        ("-l deen", "-l deen is not a language pair"),
        ("--features none bleu", "--features none cannot be combined"),
        ("--vectors encoder none", "--vectors none cannot be combined"),
        ("--features none --vectors none", "leave nothing to read"),
        ("--vectors none --encoder embedded", "--encoder works only with"),
        ("--tied --hidden 0", "--tied needs a hidden layer"),
        ("--tied --vectors none", "--tied needs a hidden layer"),
        ("--gamma 2", "--gamma works only with"),
        ("--hidden 10001", "10001 is not a whole number from 0 to 10,000"),
        ("--dev 2", "2 is neither a file nor a share"),
    ],
)
def test_flags_that_cannot_be(train, learned, flags, says):
    done = train(*flags.split())
    assert done.code == 2 and says in done.err.splitlines()[-1] and learned == []


@pytest.mark.parametrize(
    "tau, taus, says",
    [
        (0.5, {"bleu": 0.4, "ter": 0.1}, ""),
        (0.5, {}, ""),
        (0.4, {"bleu": 0.4}, "bleu alone agrees"),
        (0.4, {"bleu": 0.4, "ter": 0.6}, "ter alone agrees"),
        (0.0, {"bleu": 0.4}, "no better than chance"),
    ],
)
def test_a_poor_model_is_said(tau, taus, says, caplog):
    say_poor(tau, taus)
    assert len(caplog.messages) == bool(says) and says in caplog.text
