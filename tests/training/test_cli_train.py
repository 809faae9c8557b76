import inspect
import json
import os
import re
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from disk_faults import refused
from plugin_conftest import lines_of
from selection import some
from toy_judgements import write_judgements

from ctx_metrics.learned.estimator import kind_of
from ctx_metrics.models.folder import read_config
from ctx_metrics.training.cli import _first_weights
from ctx_metrics.training.data import data_sha256, known_languages, target_languages
from ctx_metrics.training.folder import TrainingFolder
from ctx_metrics.training.loop import Loop
from ctx_metrics.training.quality import development, examples, learn
from ctx_metrics.training.quality.examples import read_training_set, some_rows
from ctx_metrics.training.quality.options import TrainingOptions
from ctx_metrics.training.quality.recipe import COMET, KINDS, PAPER, UNIFIED, Architecture

FILES = ["README.md", "checks.jsonl", "config.json", "learning-curve.png", "model.safetensors"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    write_judgements(folder / "train.tsv", 20, 1)
    write_judgements(folder / "more.tsv", 10, 3, raters=False)
    write_judgements(folder / "dev.cs-en.tsv", 12, 2)
    write_judgements(folder / "train.en-de.tsv", 12, 4)
    return folder


@pytest.fixture
def train(ctx, folder, tiny_bert, tmp_path):
    """Trains on the toy data over the tiny encoder; --out is `out`."""

    def call(
        kind, *more, data=("train.tsv",), dev=("dev.cs-en.tsv",), encoder=tiny_bert, out=tmp_path / "out", plot=False
    ):
        paths = ["--train", *(folder / name for name in data), "--dev", *(folder / name for name in dev), "--out", out]
        options = [*(["--encoder", encoder] if encoder else []), *([] if plot else ["--no-plot"]), *more]
        return ctx("train", kind, *paths, *"--hidden 4 --feedforward 6 --epochs 2 --batch 8".split(), *options)

    return call


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir())


@pytest.mark.parametrize("kind", some(KINDS, ["esim", "comet"]))
def test_each_network_trains(train, tmp_path, folder, kind):
    done = train(kind, data=("train.tsv:0.5", "more.tsv"), plot=True)
    said = [line for line in done.err.splitlines() if "no better than chance" not in line]  # so few rows
    assert done.code == 0 and said == [], done.err
    out = tmp_path / "out"
    assert names(out) == FILES
    config = json.loads((out / "config.json").read_text())
    checks = [json.loads(line) for line in (out / "checks.jsonl").read_text().splitlines()]
    assert len(checks) == 2 and set(checks[0]) == {"step", "epoch", "rows", "loss", "score", "learning_rate"}
    assert config["development"]["score"] == max(check["score"] for check in checks)
    assert config["data"]["train"] == [
        {"name": "train.tsv", "sha256": data_sha256(folder / "train.tsv"), "weight": 0.5, "rows": 40, "kept": 40},
        {"name": "more.tsv", "sha256": data_sha256(folder / "more.tsv"), "weight": 1.0, "rows": 20, "kept": 20},
    ]
    assert config["data"]["development"][0]["name"] == "dev.cs-en.tsv" and config["languages"] == ["en"]
    assert config["training"]["rows"] == 60 and config["training"]["epochs"] == 2
    card = (out / "README.md").read_text()
    assert f"{config['development']['score']:.4f}" in card and str(folder) not in card and str(tmp_path) not in card
    assert f"{config['development']['score']:.4f}" in done.out and "Best check: " in done.out
    used = re.findall(r"^Use: (.*)$", done.out, re.M)
    assert used[0] == f"sacrebleu REF -i HYP -m {kind} --{kind}-model {out}" and len(used) == 1 + (kind == "comet")


def stop(monkeypatch, at: int):
    """Ctrl-C in the middle of a step."""
    step = Loop._step

    def stopping(self, batch):
        if self.progress.step == at:
            os.kill(os.getpid(), signal.SIGINT)
        step(self, batch)

    monkeypatch.setattr(Loop, "_step", stopping)


@pytest.mark.full
def test_ctrl_c_and_what_may_follow(train, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert train("bilstm", out=tmp_path / "whole").code == 0
    with monkeypatch.context() as patched:
        stop(patched, 7)
        done = train("bilstm")
    assert done.code == 130 and done.out == ""
    assert f"ctx-metrics: stopped; run the same command again to continue from the state in {out}" in done.err
    for more, other in ((["--seed", "2"], "recipe"), (["--layers", "2"], "network, encoder or languages")):
        done = train("bilstm", *more)
        assert done.code == 1 and done.err.count("\n") == 1 and f"with other {other}; " in done.err
        assert names(out) == ["training-embeddings", learn.STATE]
    kept = shutil.copytree(out, tmp_path / "kept")
    assert train("bilstm", "--layers", "2", "--restart", plot=True).code == 0
    assert names(out) == FILES and json.loads((out / "config.json").read_text())["layers"] == [2]
    steps, step = [], Loop._step
    monkeypatch.setattr(Loop, "_step", lambda self, batch: (steps.append(self.progress.step), step(self, batch)))
    assert train("bilstm", out=kept).code == 0 and steps == [8, 9]
    assert names(kept) == [name for name in FILES if name != "learning-curve.png"]
    for name in ("model.safetensors", "checks.jsonl"):
        assert (kept / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_ctrl_c_before_anything_is_kept(train, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    out = tmp_path / "out"
    monkeypatch.setattr(examples, "read_training_set", interrupted)
    (out / "training-embeddings").mkdir(parents=True)
    (out / "training-embeddings" / "cache.json").write_text("{}")
    assert (train("bilstm").code, train("bilstm").err) == (130, "ctx-metrics: stopped\n")
    for kept in ("chunk-0000-000000.f16", "0.npy"):
        (out / "training-embeddings" / kept).write_text("")
        assert "run the same command again to continue" in train("bilstm").err
        (out / "training-embeddings" / kept).unlink()
    assert train("bilstm").err == "ctx-metrics: stopped\n"


@pytest.mark.full
def test_a_model_is_replaced_only_where_that_is_asked_for(train, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert train("bilstm", plot=True).code == 0
    before = {name: (out / name).read_bytes() for name in FILES}
    done = train("bilstm", "--seed", "2")
    assert done.code == 1 and "holds a model already" in done.err and done.err.count("\n") == 1
    with monkeypatch.context() as patched:
        stop(patched, 7)
        assert train("bilstm", "--seed", "2", "--overwrite").code == 130
    assert before == {name: (out / name).read_bytes() for name in FILES}
    assert train("bilstm", "--seed", "2", "--overwrite").code == 0
    assert names(out) == [name for name in FILES if name != "learning-curve.png"]
    assert (out / "model.safetensors").read_bytes() != before["model.safetensors"]


def test_nothing_is_made_where_something_is_wrong(train, tmp_path, monkeypatch):
    monkeypatch.setattr(learn, "learn", lambda *_: pytest.fail("it trains"))
    (tmp_path / "file").write_text("x")
    done = train("bilstm", out=tmp_path / "file" / "model")
    assert (
        done.code == 1 and done.err.count("\n") == 1 and f"cannot write into {tmp_path / 'file' / 'model'}" in done.err
    )
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.TemporaryFile", refused)
        assert "Permission denied" in train("bilstm").err
    for more in ([], ["--inputs", "mt+src"]):
        done = train("bilstm", *more, data=("train.en-de.tsv",), dev=("train.tsv",), encoder=None)
        assert done.code == 1 and "reads only English, but the language is German" in done.err
    done = train("bilstm", "--inputs", "mt+src", encoder=None)
    assert "the language is Czech (cs); name another with --encoder" in done.err
    assert names(tmp_path) == ["file"] and (tmp_path / "file").read_text() == "x"


@pytest.mark.full
def test_the_embedded_encoder(train, tmp_path, caplog):
    done = train("bilstm", "--layers", "1", encoder=None)
    assert done.code == 0, done.err
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["encoder"] == "embedded" and config["languages"] == ["en"]
    done = train("bilstm", "--layers", "1", "--overwrite", data=("train.en-de.tsv",), encoder="embedded")
    assert done.code == 0 and "reads only English" in done.err  # it was asked for


def test_a_teacher_and_darr(train, tmp_path):
    """The development data are those that it learns from: of its 40 rows, two are the same texts."""
    more = "--teacher chrf --chrf-word-order 2 --dev-metric darr --dev-threshold 10 --loss hinge --margin 0.2".split()
    done = train("bilstm", *more, data=("train.tsv", "more.tsv"), dev=("train.tsv",))
    assert done.code == 0 and "tau (DARR)" in done.out, done.err
    assert "39 of 39 development outputs are in the training data too" in done.err
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert "nw:2" in config["targets"]["teacher"]
    assert config["development"]["metric"] == "darr" and config["training"]["margin"] == 0.2
    assert "scores of the metric `" in (tmp_path / "out" / "README.md").read_text()


def test_a_teacher_that_compares_systems(train, tmp_path):
    done = train("bilstm", "--teacher", "pairwise")
    assert done.code == 1 and "teacher pairwise: compares the outputs of systems" in done.err
    assert names(tmp_path) == []


@pytest.mark.full
def test_a_cache_of_ones_own_is_kept(train, tmp_path):
    assert train("bilstm", "--cache", tmp_path / "cache", plot=True).code == 0
    kept = [path.stat().st_size for path in (tmp_path / "cache").glob("*.f16")]
    assert names(tmp_path / "out") == FILES and sum(kept) > 1000
    done = train("esim", "--cache", tmp_path / "cache", "--cache-mb", "1", out=tmp_path / "second")
    assert done.code == 0, done.err


def test_the_flags_of_the_data_reach_its_readers(train, folder, monkeypatch):
    said = {}

    def reader(name, function):
        signature = inspect.signature(function)

        def read(*given, **named):
            said[name] = signature.bind(*given, **named).arguments
            return function(*given, **named)

        return read

    for module, name in ((examples, "read_training_set"), (development, "read_development")):
        monkeypatch.setattr(module, name, reader(name, getattr(module, name)))
    more = ["--normalise", "file", "--average", "--no-mqm-root", "-l", "cs-en", "--human", "x", "--reference", "refB"]
    assert train("bilstm", *more, "--score-column", "score", "--dev-metric", "darr", "--dev-threshold", "7").code == 0
    options = TrainingOptions(["cs-en"], "refB", text_checks=True, human=["x"], score=[["score"]])
    shared = {"inputs": "mt+ref", "options": options}
    usual = {"taught": (), "seed": 1, "humans": False, "leave_out": (), "centred": ()}
    chosen = {"normalise": "file", "average": True, "mqm_root": False}
    assert said["read_training_set"] == {**shared, **usual, **chosen, "paths": [str(folder / "train.tsv")]}
    paths = [str(folder / "dev.cs-en.tsv")]
    assert said["read_development"] == {**shared, "paths": paths, "metric": "darr", "threshold": 7}


@pytest.mark.full
def test_first_weights(train, tmp_path):
    assert train("bilstm").code == 0
    assert train("bilstm", "--init", tmp_path / "out", out=tmp_path / "second").code == 0
    commands = json.loads((tmp_path / "second" / "config.json").read_text())["commands"]
    assert ["--init out" in each for each in commands] == [False, True]  # from nothing to these weights
    assert all(f"    {each}\n" in (tmp_path / "second" / "README.md").read_text() for each in commands)
    done = train("esim", "--init", tmp_path / "out", out=tmp_path / "third")
    assert done.code == 1 and "model_type ctx-bilstm" in done.err and not (tmp_path / "third").exists()


def test_without_matplotlib_there_is_no_curve(train, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = train("bilstm", plot=True)
    assert done.code == 0 and "no learning curve is drawn: figures need matplotlib" in done.err
    assert names(tmp_path / "out") == [name for name in FILES if name != "learning-curve.png"]
    assert "learning-curve" not in done.out


def test_recipes(ctx, monkeypatch):
    found = []
    monkeypatch.setattr("ctx_metrics.training.cli._check", lambda *settings: found.append(settings[-1]))
    monkeypatch.setattr(TrainingFolder, "run", lambda *_: 0)
    own = replace(PAPER, patience=None, learning_rate=1e-3, check_rows=5)
    for argv, recipe in {
        "esim": PAPER,
        "comet": COMET,
        "comet --inputs mt+src": UNIFIED,
        "esim --patience none --learning-rate 1e-3 --check-rows 5": own,
    }.items():
        assert ctx(*f"train {argv} --train x --dev x --out x".split()).code == 0 and found[-1] == recipe


def test_first_weights_of_the_embedded_models():
    for architecture in (Architecture("comet"), Architecture("comet", inputs="mt+src"), Architecture("esim")):
        folder = _first_weights("embedded", architecture)
        assert folder is not None and (folder / "model.safetensors").exists()
    assert kind_of(read_config(folder)) == "esim"


def test_help(ctx):
    text = ctx("train", "--help").out
    assert "(Default: 75; comet: 6; comet --inputs: 1)" in " ".join(text.split())
    assert "--comet-model MODEL" not in text
    assert "--comet-model MODEL" in ctx("train", "--teacher", "comet", "--help").out


def test_languages_of_the_data():
    known = known_languages(["wmt.en-de", "mine", "wmt.cs-en (other/wmt.cs-en.tsv)"], None)
    assert list(known.values()) == [("en", "de"), (None, None), ("cs", "en")]
    assert target_languages("x", known) == ["de", "en"] and target_languages(None, known) == ["en"]
    assert target_languages("x", {"mine": (None, None)}) is None
    assert known_languages(["mine"], ["cs-en"]) == {"mine": ("cs", "en")}
    assert known_languages(["mine"], ["cs-en", "de-en"]) == {"mine": (None, None)}


def test_a_folder_with_other_things_is_left_alone(train, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "README.md").write_text("my notes")
    done = train("bilstm")
    assert done.code == 1 and "holds other files (README.md); name a new or empty folder" in done.err
    (tmp_path / "out" / "thesis.tex").write_text("x")
    assert "(README.md, thesis.tex)" not in train("bilstm").err and "(thesis.tex)" in train("bilstm", "--overwrite").err
    assert (tmp_path / "out" / "README.md").read_text() == "my notes"


@pytest.mark.full
def test_a_model_that_reads_sources(train, ctx, tmp_path):
    done, out = train("esim", "--inputs", "mt+src"), tmp_path / "out"
    assert done.code == 0 and json.loads((out / "config.json").read_text())["inputs"] == "mt+src", done.err
    assert f"Use: ctx-metrics score -s SOURCE -t HYP -m esim --esim-model {out}\n" in done.out
    done = ctx(*f"score -s source.de.txt -t system_a.en.txt -m esim --esim-model {out} --level segment -q".split())
    assert done.code == 0 and str(len(lines_of("system_a.en.txt"))) in done.out, done.err


@pytest.mark.full
def test_some_of_the_rows(train, tmp_path, folder):
    assert train("bilstm", "--rows", "12").code == 0
    assert json.loads((tmp_path / "out" / "config.json").read_text())["training"]["rows"] == 12
    done = train("bilstm", "--rows", "4000", "--overwrite")
    assert done.code == 0 and "--rows 4000: there are 40 rows" in done.err
    whole = read_training_set([str(folder / "train.tsv")])
    few, more, other = some_rows(whole, 5, 1), some_rows(whole, 9, 1), some_rows(whole, 5, 2)
    assert len(few) == 5 and len(more) == 9 and set(few.hypotheses) < set(more.hypotheses)
    assert few.hypotheses != other.hypotheses
    for k in range(5):
        row = whole.hypotheses.index(few.hypotheses[k])
        assert all(getattr(few, name)[k] == getattr(whole, name)[row] for name in ("partners", "groups", "targets"))


@pytest.mark.parametrize(
    "argv, said",
    [
        ("comet --pooling both", "--pooling is not for comet, which has its own pooling"),
        ("comet --rank 3", "--rank is not for comet, which changes its encoder only with --inputs"),
        ("esim --rank 3", "--rank is not for esim, which does not change its encoder"),
        ("esim --inputs mt+src+ref", "esim reads mt+ref or mt+src"),
        ("comet --inputs mt+src --window 1", "--window 1"),
        ("comet --inputs mt+src --init-share .5", "give --init too"),
        ("bilstm --init-share .5", "--init-share is not for bilstm"),
        ("esim --dev-threshold 3", "--dev-threshold works only with"),
        ("esim --teacher-scores t.npz", "--teacher-scores works only with"),
        ("esim --dev dev.cs-en.tsv:0.5", "only --train takes weights"),
        ("esim -l deen", "-l deen is not a language pair"),
        ("esim --layers 1,,2", "'1,,2' is not a list of layers"),
        ("esim --layers 2,2", "names a layer twice"),
        ("esim --learning-rate nan", "nan is not a number above 0"),
        ("esim --dropout 1", "1 is not a number from 0 to below 1"),
        ("esim --patience -1", "-1 is not a whole number of at least 1"),
        ("esim --languages English", "is not a list of language codes"),
    ],
)
def test_wrong_usage(ctx, folder, monkeypatch, argv, said):
    monkeypatch.chdir(folder)
    done = ctx(*f"train {argv} --train train.tsv --dev dev.cs-en.tsv --out no".split())
    assert done.code == 2 and said in done.err
