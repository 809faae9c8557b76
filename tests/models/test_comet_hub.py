"""COMET checkpoints from a hub that is a small server of ours: what is fetched, what is cached, what is said."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from comet_checkpoints import RECIPES, build, build_lite
from damage import change_ckpt
from hub_server import COMMITS, Repositories, hub_in
from plugin_conftest import EXAMPLES, REF, SOURCE, A

from ctx_metrics.models.comet.checkpoint import convert

pytestmark = pytest.mark.full

FILES = {  # by repository; those of the encoder hold weights that nobody reads
    "own/encoder": {"pytorch_model.bin": b"weights", "model.safetensors": b"weights", "README.md": b"text"},
    "own/comet": {"README.md": b"text", "checkpoints/optimizer.pt": b"no"},
    "own/converted": {"README.md": b"text", "checkpoints/model.ckpt": b"no", "hparams.yaml": b"no"},
    "own/orphan": {},
    "own/deberta": {"pytorch_model.bin": b"weights", "README.md": b"text"},
    "own/lite": {"README.md": b"text", "events.out": b"no"},
    "own/text": {"README.md": b"text", "train.csv": b"text"},
    "own/unfinished": {"hparams.yaml": b"class_identifier: regression_metric"},
    "own/broken": {"hparams.yaml": b"class_identifier: regression_metric", "checkpoints/model.ckpt": b"no"},
}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def of_hub_encoder(folder: Path, encoder: str) -> dict[str, bytes]:
    """The files of a checkpoint, after naming its encoder."""
    change_ckpt(folder, hyper_parameters={"pretrained_model": encoder})
    hparams = yaml.safe_load((folder / "hparams.yaml").read_text())
    (folder / "hparams.yaml").write_text(yaml.safe_dump({**hparams, "pretrained_model": encoder}))
    return {name: data for name, data in contents(folder).items() if not name.startswith("encoder/")}


@pytest.fixture(scope="module")
def repositories(tmp_path_factory) -> Repositories:
    folder = build(RECIPES["regression"], tmp_path_factory.mktemp("repositories") / "first")
    convert(str(folder), folder.parent / "converted")
    named = {"encoder_model": "DeBERTa", "pretrained_model": "own/deberta"}
    lite = build_lite(build(RECIPES["xcomet-lite"], folder.parent / "ckpt"), folder.parent / "lite", **named)
    orphan = shutil.copytree(folder, folder.parent / "orphan")
    made = {
        "own/encoder": contents(folder / "encoder"),
        "own/converted": contents(folder.parent / "converted"),
        "own/comet": of_hub_encoder(folder, "own/encoder"),
        "own/orphan": of_hub_encoder(orphan, "own/nothing"),
        "own/deberta": contents(lite / "encoder"),
        "own/lite": {name: data for name, data in contents(lite).items() if not name.startswith("encoder/")},
    }
    return {name: {**files, **made.get(name, {})} for name, files in FILES.items()}


SETUP = """
import ctx_metrics.metrics.comet, ctx_metrics.models.comet.model
from sacrebleu.sacrebleu import main
assert "huggingface_hub" not in sys.modules  # it reads its settings when imported
"""
BODY = """
os.chdir(job['env']['FOLDER']); sys.argv = ['sacrebleu', *job['args']]
main()
"""


@pytest.fixture(scope="module")
def runs(repositories, tmp_path_factory) -> dict:
    """What the command made of each model, and what the server was asked for meanwhile."""
    folder = tmp_path_factory.mktemp("hub")
    with hub_in(folder, repositories, {}) as hub:

        def job(model, home="home", **settings):
            made = hub.job([REF, "-i", A, "-m", "comet", "--comet-model", model, "--source", SOURCE], home, **settings)
            made["env"]["FOLDER"] = str(EXAMPLES)
            return made

        snapshot = folder / "home" / "hub" / "models--own--comet" / "snapshots" / COMMITS["main"]
        jobs = {
            "first": job("own/comet"),
            "offline": job("own/comet", offline="1"),
            "cached folder": job(str(snapshot), offline="1"),
            "cached file": job(str(snapshot / "checkpoints" / "model.ckpt"), offline="1"),
            "converted": job("own/converted", "other"),
            "converted offline": job("own/converted", "other", offline="1"),
            "lite": job("own/lite", "third"),
            "lite offline": job("own/lite", "third", offline="1"),
            "a DeBERTa encoder": job("own/deberta", "third"),
            "text": job("own/text"),
            "unfinished": job("own/unfinished"),
            "broken": job("own/broken"),
            "encoder": job("own/encoder", "other"),
            "no encoder": job("own/orphan"),
            "no encoder, offline": job("own/orphan", offline="1"),
        }
        return hub.run(SETUP, BODY, jobs)


def fetched(done) -> set[str]:
    """Repository and file of all that a run has downloaded."""
    found = [re.fullmatch(r"GET /(.+)/resolve/[^/]+/(.+)", line) for line in done.asked]
    return {f"{match[1]}: {match[2]}" for match in found if match}


def score(done) -> dict:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_a_model_and_its_encoders_tokenizer_are_fetched(runs, repositories):
    found = score(runs["first"])
    assert fetched(runs["first"]) == {
        "own/comet: hparams.yaml",
        "own/comet: checkpoints/model.ckpt",
        "own/encoder: config.json",
        "own/encoder: tokenizer.json",
        "own/encoder: tokenizer_config.json",
    }
    assert (found["model"], found["rev"]) == ("own/comet", COMMITS["main"][:12])


@pytest.mark.parametrize(
    "name, like",
    [
        ("offline", "first"),
        ("cached folder", "first"),
        ("cached file", "first"),
        ("converted offline", "converted"),
        ("lite offline", "lite"),
    ],
)
def test_what_is_cached_makes_no_request(runs, name, like):
    """Also where the path in the cache is given, as unbabel-comet's download_model returns it."""
    assert runs[name].stdout == runs[like].stdout and json.loads(runs[name].stdout)
    assert runs[name].asked == []


def test_a_converted_model_needs_nothing_else(runs, repositories):
    found = score(runs["converted"])
    assert fetched(runs["converted"]) == {
        f"own/converted: {name}"
        for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    }
    assert (found["model"], found["rev"]) == ("own/converted", COMMITS["main"][:12])
    assert found["ckpt"] == json.loads(repositories["own/converted"]["config.json"])["ckpt"]
    assert found["score"] == score(runs["first"])["score"]


def test_xcomet_lite_and_its_encoders_tokenizer_are_fetched(runs):
    done = runs["lite"]
    assert done.returncode == 0 and json.loads(done.stdout)["model"] == "own/lite"
    assert fetched(done) == {
        "own/lite: config.json",
        "own/lite: pytorch_model.bin",
        "own/deberta: config.json",
        "own/deberta: tokenizer.json",
        "own/deberta: tokenizer_config.json",
    }


@pytest.mark.parametrize(
    "name, says",
    [
        ("no encoder", "its encoder 'own/nothing': no model 'own/nothing' on"),
        ("no encoder, offline", "its encoder 'own/nothing': own/nothing is not in the cache"),
        ("broken", "/models--own--broken/snapshots/" + COMMITS["main"] + "/checkpoints/model.ckpt "),
        ("encoder", "own/encoder is not a COMET checkpoint"),
        ("a DeBERTa encoder", "/pytorch_model.bin "),
        ("text", "own/text is not a COMET checkpoint"),
        ("unfinished", "own/unfinished is not a COMET checkpoint"),
    ],
)
def test_what_is_unusable_says_why(runs, name, says):
    done = runs[name]
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sacreBLEU: error: ") and done.stderr.count("\n") == 1 and says in done.stderr
    if name in ("text", "unfinished"):
        assert not [file for file in fetched(done) if file.endswith((".ckpt", ".safetensors", ".bin"))]
    if "offline" in name:
        assert done.asked == []
