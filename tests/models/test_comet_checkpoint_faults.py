"""Damaged or unfit COMET checkpoints: each gives one line that names the file."""

import json
import os
import shutil

import pytest
import torch
import yaml
from comet_checkpoints import RECIPES, build

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import ModelError
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator

EXAMPLE = Example("the cat sat", "a cat sat", "the old cat")


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    root = tmp_path_factory.mktemp("originals")
    return {name: build(RECIPES[name], root / name) for name in ("regression", "kiwi", "xcomet")}


@pytest.fixture
def copy(originals, tmp_path):
    """Gives a copy of a checkpoint that a test may damage; it points to its own encoder folder."""

    def make(name="regression"):
        folder = shutil.copytree(originals[name], tmp_path / f"{name}{len(list(tmp_path.iterdir()))}")
        change_parameters(folder, pretrained_model=str(folder / "encoder"))
        return folder

    return make


def ckpt(folder):
    return folder / "checkpoints" / "model.ckpt"


def read(folder) -> dict:
    return torch.load(ckpt(folder), weights_only=True)


def write(folder, content) -> None:
    ckpt(folder).unlink()  # the old file may be mapped into memory
    torch.save(content, ckpt(folder))


def change_tensors(folder, without=(), **changes) -> None:
    content = read(folder)
    content["state_dict"] = {k: v for k, v in {**content["state_dict"], **changes}.items() if k not in without}
    write(folder, content)


def change_parameters(folder, **changes) -> None:
    """Change hyper_parameters in the checkpoint and in hparams.yaml alike."""
    content = read(folder)
    content["hyper_parameters"] |= changes
    write(folder, content)
    path = folder / "hparams.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changes}))


def change_config(folder, **changes):
    path = folder / "encoder" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def message(model) -> str:
    """The one line of the ModelError that loading the model and scoring with it raises."""
    with pytest.raises(ModelError) as caught:
        load_estimator(str(model), EngineOptions(device="cpu", quiet=True)).estimate([EXAMPLE], label="test")
    text = str(caught.value)
    assert "\n" not in text and len(text) < 600, text
    return text


def test_undamaged_copies_score(copy):
    for name in ("regression", "kiwi", "xcomet"):
        estimator = load_estimator(str(copy(name)), EngineOptions(device="cpu", quiet=True))
        assert len(estimator.estimate([EXAMPLE], label="test")) == 1


@pytest.mark.parametrize("part", [0, 0.01, 0.5, 0.999])
def test_cut_short(copy, part):
    path = ckpt(copy())
    os.truncate(path, int(path.stat().st_size * part))
    assert "model.ckpt" in message(path)


class TestFile:
    def test_code_is_not_run(self, copy, tmp_path):
        marker = tmp_path / "ran"

        class Evil:
            def __reduce__(self):
                return os.mkdir, (str(marker),)

        folder = copy()
        write(folder, {**read(folder), "callbacks": Evil()})
        assert "model.ckpt" in message(folder)
        assert not marker.exists()
        torch.load(ckpt(folder), weights_only=False)
        assert marker.exists()  # so the file does hold code that runs

    def test_absent(self, copy):
        path = ckpt(copy())
        path.unlink()
        assert "model.ckpt" in message(path)
        assert "checkpoints" in message(path.parents[1])
        path.mkdir()
        assert "model.ckpt" in message(path)


class TestContent:
    @pytest.mark.parametrize(
        "change",
        [
            lambda content: content["state_dict"],
            lambda content: [content],
            lambda content: {**content, "state_dict": list(content["state_dict"])},
            lambda content: {**content, "state_dict": {}},
            lambda content: {**content, "state_dict": {"estimator.ff.0.weight": "text"}},
            lambda content: {key: value for key, value in content.items() if key != "state_dict"},
            lambda content: {key: value for key, value in content.items() if key != "hyper_parameters"},
            lambda content: {**content, "hyper_parameters": "text"},
        ],
    )
    def test_of_another_kind(self, copy, change):
        folder = copy()
        write(folder, change(read(folder)))
        assert "model.ckpt" in message(folder)

    @pytest.mark.parametrize(
        "name, tensor",
        [
            ("regression", "encoder.model.embeddings.word_embeddings.weight"),
            ("regression", "encoder.model.encoder.layer.2.output.dense.bias"),
            ("regression", "layerwise_attention.scalar_parameters.2"),
            ("regression", "layerwise_attention.gamma"),
            ("regression", "estimator.ff.3.weight"),
            ("regression", "estimator.ff.6.bias"),
            ("kiwi", "hidden2tag.weight"),
            ("xcomet", "hidden2tag.bias"),
            ("xcomet", "encoder.model.encoder.LayerNorm.weight"),
        ],
    )
    def test_a_tensor_is_missing_or_misshaped(self, copy, name, tensor):
        folder = copy(name)
        whole = read(folder)["state_dict"][tensor]
        change_tensors(folder, without=[tensor])
        text = message(folder)
        assert "model.ckpt" in text and tensor in text
        for wrong in (torch.cat([whole, whole]), whole[None], "text"):
            change_tensors(folder, **{tensor: wrong})
            text = message(folder)
            assert "model.ckpt" in text and tensor in text

    def test_more_tensors_than_the_model_has(self, copy):
        folder, layer = copy(), "encoder.model.encoder.layer."
        change_tensors(folder, **{"adapter.weight": torch.zeros(3)})
        assert "adapter.weight" in message(folder)
        tensors = read(folder)["state_dict"]
        more = {k.replace(".2.", ".3.", 1): v for k, v in tensors.items() if k.startswith(f"{layer}2.")}
        change_tensors(folder, without=["adapter.weight"], **more)
        assert f"model.ckpt does not fit its hyper-parameters; not expected: {layer}3." in message(folder)

    def test_leftovers_of_older_releases_do_not_matter(self, copy):
        model = "encoder.model."
        old = {
            f"{model}embeddings.position_ids": torch.arange(514)[None],
            f"{model}embeddings.token_type_ids": torch.zeros(1, 514, dtype=torch.long),
            f"{model}pooler.dense.weight": torch.zeros(32, 32),
            f"{model}pooler.dense.bias": torch.zeros(32),
        }
        folder, with_more = copy(), copy()
        change_tensors(with_more, **old)
        found = [
            load_estimator(str(place), EngineOptions(device="cpu", quiet=True)).estimate([EXAMPLE], label="test")
            for place in (folder, with_more)
        ]
        assert found[0] == found[1]


class TestSettings:
    @pytest.mark.parametrize("text", ["", "a: [", "- a\n- b\n", "just text", "\x00", "pool: avg\n"])
    def test_unreadable_hparams(self, copy, text):
        folder = copy()
        (folder / "hparams.yaml").write_text(text)
        assert "hparams.yaml" in message(folder)

    def test_hparams_that_would_run_code(self, copy, tmp_path):
        folder, marker = copy(), tmp_path / "ran"
        (folder / "hparams.yaml").write_text(f"class_identifier: !!python/object/apply:os.mkdir ['{marker}']\n")
        assert "hparams.yaml" in message(folder)
        assert not marker.exists()

    def test_no_hparams(self, copy):
        folder = copy()
        (folder / "hparams.yaml").unlink()
        assert "hparams.yaml" in message(folder)
        assert "hparams.yaml" in message(ckpt(folder))

    @pytest.mark.parametrize("kind", ["ranking_metric", "regression", "", 3, ["regression_metric"], "unified_metric"])
    def test_other_class(self, copy, kind):
        folder = copy()
        path = folder / "hparams.yaml"
        path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "class_identifier": kind}))
        assert str(folder) in message(folder)

    @pytest.mark.parametrize(
        "name, setting, value",
        [
            ("regression", "encoder_model", "GPT"),
            ("regression", "encoder_model", "BERT"),
            ("regression", "pool", "median"),
            ("regression", "layer", 4),
            ("regression", "layer", -1),
            ("regression", "layer", "first"),
            ("regression", "activations", "Wobble"),
            ("regression", "activations", "Module"),
            ("regression", "final_activation", "Linear"),
            ("regression", "final_activation", 5),
            ("regression", "pretrained_model", "./absent"),
            ("kiwi", "sent_layer", 9),
            ("kiwi", "word_layer", 5),
            ("kiwi", "word_layer", "mix"),
            ("kiwi", "input_segments", ["mt"]),
            ("kiwi", "input_segments", ["src", "ref"]),
            ("kiwi", "input_segments", 3),
            ("kiwi", "error_labels", ["minor"]),
            ("kiwi", "error_labels", None),
            ("xcomet", "error_labels", ["minor", "major"]),
        ],
    )
    def test_unfit_setting(self, copy, name, setting, value):
        folder = copy(name)
        if setting == "pretrained_model":
            shutil.rmtree(folder / "encoder")
        change_parameters(folder, **{setting: value})
        assert str(folder) in message(folder)


class TestEncoder:
    @pytest.mark.parametrize("file", ["config.json", "tokenizer.json"])
    @pytest.mark.parametrize("content", [None, "", "{", "[]", "{}"])
    def test_unreadable(self, copy, file, content):
        folder = copy()
        path = folder / "encoder" / file
        if content is None:
            path.unlink()
            (folder / "encoder" / "tokenizer_config.json").unlink()
        else:
            path.write_text(content)
        text = message(folder)
        assert "encoder" in text and (file.split(".")[0] in text)

    def test_no_folder(self, copy):
        folder = copy()
        shutil.rmtree(folder / "encoder")
        assert "encoder" in message(folder)

    @pytest.mark.parametrize(
        "changes",
        [
            {"model_type": "bert"},
            {"model_type": "xlm-roberta-xl"},
            {"model_type": "t5"},
            {"hidden_size": 64},
            {"num_hidden_layers": 2},
            {"num_hidden_layers": 4},
            {"num_attention_heads": 5},
            {"num_attention_heads": 0},
            {"num_attention_heads": "4"},
            {"max_position_embeddings": 600},
            {"vocab_size": 10},
            {"hidden_act": "wobble"},
        ],
    )
    def test_config_of_another_model(self, copy, changes):
        folder = copy()
        change_config(folder, **changes)
        assert str(folder) in message(folder)

    def test_tokenizer_of_another_model(self, copy):
        """Its ids reach beyond the word embeddings."""
        folder = copy()
        path = folder / "encoder" / "tokenizer.json"
        tokenizer = json.loads(path.read_text())
        pieces = tokenizer["model"]["vocab"]
        tokenizer["model"]["vocab"] = [*pieces[:4], *([f"p{i}", -9.0] for i in range(4000)), *pieces[4:]]
        tokenizer["added_tokens"] = [token for token in tokenizer["added_tokens"] if token["id"] < 4]
        path.write_text(json.dumps(tokenizer))
        text = message(folder)
        assert "tokenizer" in text and str(folder / "encoder") in text
