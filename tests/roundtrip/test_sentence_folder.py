"""Folders of sentence models: what is left to the library, broken and unsafe ones, names, and the hub."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from damage import line, text, weights, without
from identities import identity_of_folder
from safetensors.torch import save_file
from sentence_folders import (
    TANH,
    dense,
    distilbert,
    encoder_of,
    mean_model,  # noqa: F401  a fixture
    new_pooling,
    pooling,
    write_model,
)

from ctx_metrics.errors import ModelError
from ctx_metrics.models import hub
from ctx_metrics.roundtrip.sentence_encoder import (
    SENTENCE,
    NotPacked,
    packed_layout,
    read_modules,
    resolve_sentence_model,
)


@pytest.fixture
def copied(mean_model, tmp_path) -> Path:
    return shutil.copytree(mean_model, tmp_path / "model")


@pytest.mark.parametrize(
    "modules, settings, reason",
    [
        ([pooling("mean_sqrt_len_tokens")], {}, "its pooling is mean_sqrt_len_tokens"),
        ([pooling("cls_token", "mean_tokens")], {}, "its pooling is cls, mean"),
        ([new_pooling("lasttoken")], {}, "its pooling is lasttoken"),
        ([pooling("mean_tokens"), dense("torch.nn.modules.activation.ReLU")], {}, "has the activation torch.nn.*ReLU"),
        ([pooling("mean_tokens"), dense(TANH, module_input_name="token_embeddings")], {}, "works on tokens"),
        ([pooling("mean_tokens"), {"kind": "LayerNorm", "dimension": 48}], {}, "are Transformer, Pooling, LayerNorm"),
        ([], {}, "its modules are Transformer"),
        ([pooling("mean_tokens")], {"do_lower_case": True}, "its encoder sets do_lower_case to True"),
        ([pooling("mean_tokens")], {"tokenizer_args": {"a": 1}}, "its encoder sets tokenizer_args"),
    ],
)
def test_what_is_left_to_the_library(tmp_path, tiny_bert, modules, settings, reason):
    folder = write_model(tmp_path / "model", tiny_bert, modules, **settings)
    with pytest.raises(NotPacked, match=reason):
        packed_layout(folder)


@pytest.mark.parametrize(
    "file, content, reason",
    [
        ("config_sentence_transformers.json", {"default_prompt_name": "query", "prompts": {"query": "q: "}}, "prompt"),
        ("tokenizer_config.json", {"truncation_side": "left"}, "cuts texts at the start"),
        ("adapter_config.json", {}, "has an adapter"),
        ("config.json", {"model_type": "mpnet"}, "'mpnet'"),
    ],
)
def test_files_that_ask_for_the_library(copied, file, content, reason):
    (copied / file).write_text(json.dumps(content))
    with pytest.raises(NotPacked, match=reason):
        packed_layout(copied)


def test_prompts_that_are_not_the_default_change_nothing(copied):
    config = {"default_prompt_name": None, "prompts": {"query": "q: ", "document": ""}}
    (copied / "config_sentence_transformers.json").write_text(json.dumps(config))
    assert packed_layout(copied).pooling == "mean"


def test_usual_settings_of_the_encoder_stay_packed(tmp_path, tiny_bert):
    settings = {
        "do_lower_case": False,
        "transformer_task": "feature-extraction",
        "module_output_name": "token_embeddings",
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    }
    folder = write_model(tmp_path / "model", tiny_bert, [pooling("mean_tokens")], limit=20, **settings)
    assert packed_layout(folder) == (folder, "mean", [], 20, "")


# broken and unsafe folders


@pytest.mark.parametrize("package", ["custom_pooling", "sentence_transformers_custom"])
def test_code_of_its_own_is_refused(tmp_path, tiny_bert, monkeypatch, package):
    folder = write_model(tmp_path / "model", tiny_bert, [pooling("mean_tokens")])
    lines = json.loads((folder / "modules.json").read_text())
    lines[1]["type"] = f"{package}.Pooling"
    (folder / "modules.json").write_text(json.dumps(lines))
    (folder / f"{package}.py").write_text("raise SystemExit('it ran')")
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(ModelError, match=rf"asks for its own code \({package}.Pooling\), which is never run"):
        resolve_sentence_model(str(folder))


def test_weights_that_hold_code_are_refused(tmp_path, tiny_bert):
    class Evil:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "it-ran",))

    bert = write_model(tmp_path / "bert", tiny_bert, [pooling("mean_tokens"), dense(TANH)])
    (bert / "2_Dense" / "model.safetensors").unlink()
    torch.save({"linear.weight": Evil()}, bert / "2_Dense" / "pytorch_model.bin")
    distil = distilbert(tmp_path / "distil", tiny_bert)
    (distil / "model.safetensors").unlink()
    torch.save({"embeddings": Evil()}, distil / "pytorch_model.bin")
    for folder in (bert, distil):
        with pytest.raises(ModelError):
            encoder_of(folder)
    assert not (tmp_path / "it-ran").exists()


LIST = "modules.json (is not a readable list of|lists no) modules"


@pytest.mark.parametrize(
    "use, damage, says",
    [
        *(
            (read_modules, text("modules.json", content), LIST)
            for content in ("{", "[1]", "[]", '[{"type": "sentence_transformers.models.Pooling"}]')
        ),
        (packed_layout, text("1_Pooling/config.json", "{"), "config.json is not readable JSON"),
        (encoder_of, text("sentence_bert_config.json", '{"max_seq_length": 2}'), "max_seq_length 2 leaves no token"),
        (encoder_of, weights("linear.weight", lambda _: None, "2_Dense"), "2_Dense holds no weights of a dense layer"),
        (encoder_of, without("model.safetensors"), "holds no weights"),
    ],
)
def test_a_broken_folder(tmp_path, tiny_bert, use, damage, says):
    folder = write_model(tmp_path / "model", tiny_bert, [pooling("mean_tokens"), dense(TANH)])
    damage(folder)
    assert re.search(says, line(lambda: use(folder), folder))


def test_a_broken_folder_of_the_library(tmp_path, tiny_bert):
    folder = distilbert(tmp_path / "broken", tiny_bert)
    (folder / "tokenizer.json").write_text("{")
    assert "FOLDER: sentence_transformers cannot load it: " in line(lambda: encoder_of(folder), folder)


# names


def test_a_folder(mean_model, tiny_bert, monkeypatch):
    monkeypatch.chdir(mean_model.parent)
    for name in (str(mean_model), "mean", "./mean/"):
        model = resolve_sentence_model(name)
        assert (model.name, model.revision, model.embedded) == ("mean", None, False)
        files = [str(path.relative_to(mean_model)) for path in mean_model.rglob("*") if path.is_file()]
        assert model.ckpt == identity_of_folder(mean_model, *files)


def test_the_hash_is_of_all_weights(tmp_path, tiny_bert):
    folder = write_model(tmp_path / "model", tiny_bert, [pooling("mean_tokens"), dense(TANH)])
    before = resolve_sentence_model(str(folder)).ckpt
    assert before != hub.checkpoint_hash(tiny_bert)
    save_file({"linear.weight": torch.zeros(20, 48)}, folder / "2_Dense" / "model.safetensors")
    assert resolve_sentence_model(str(folder)).ckpt != before


def test_the_embedded_model():
    assert resolve_sentence_model("embedded") == hub.resolve("embedded")
    with pytest.raises(ModelError, match="the name of the model is empty"):
        resolve_sentence_model("")


@pytest.mark.parametrize(
    "name, repo, revision",
    [
        ("own/name", "own/name", None),
        ("distiluse@v2", "sentence-transformers/distiluse", "v2"),
        ("LaBSE", "sentence-transformers/LaBSE", None),
        ("LaBSE@refs/pr/1", "sentence-transformers/LaBSE", "refs/pr/1"),
    ],
)
def test_hub_names(mean_model, tmp_path, monkeypatch, name, repo, revision):
    commit = shutil.copytree(mean_model, tmp_path / ("0123456789abcdef" + "0" * 24))
    asked = []
    monkeypatch.setattr(hub, "_snapshot", lambda *a: asked.append(a) or commit)
    model = resolve_sentence_model(name)
    assert asked == [(repo, revision, SENTENCE)]
    assert (model.name, model.revision) == (repo, "0123456789ab")


REPOSITORY = {
    "modules.json",
    "config.json",
    "sentence_bert_config.json",
    "tokenizer.json",
    "vocab.txt",
    "sentencepiece.bpe.model",
    "README.md",
    "pytorch_model.bin",
    "model.safetensors",
    "tf_model.h5",
    "onnx/model.onnx",
    "onnx/config.json",
    "1_Pooling/config.json",
    "2_Dense/config.json",
    "2_Dense/pytorch_model.bin",
    "2_Dense/extra/config.json",
    "code.py",
}


def test_which_files_are_fetched():
    assert SENTENCE.wanted(REPOSITORY, "own/name") == [
        "config.json",
        "modules.json",
        "sentence_bert_config.json",
        "sentencepiece.bpe.model",
        "tokenizer.json",
        "vocab.txt",
        "model.safetensors",
        "1_Pooling/config.json",
        "2_Dense/config.json",
        "2_Dense/pytorch_model.bin",
    ]
    shards = {"model.safetensors.index.json", "model-00001-of-00001.safetensors"}
    found = SENTENCE.wanted({"modules.json", *shards}, "own/name")
    assert sorted(found) == sorted({"modules.json", *shards})
    with pytest.raises(ModelError, match="own/name is not a sentence-transformers model: modules.json is missing"):
        SENTENCE.wanted({"config.json", "model.safetensors"}, "own/name")


def test_a_cached_model_is_whole_only_with_its_modules(tmp_path, tiny_bert):
    """Another metric may have fetched the encoder alone: that is not yet the sentence model."""
    assert not SENTENCE.whole(tiny_bert)
    modules = [pooling("mean_tokens"), dense(TANH), {"kind": "Normalize"}]
    folder = write_model(tmp_path / "model", tiny_bert, modules)
    assert SENTENCE.whole(folder)
    for name in ("2_Dense/model.safetensors", "2_Dense/config.json", "1_Pooling", "model.safetensors", "modules.json"):
        broken = shutil.copytree(folder, tmp_path / name.replace("/", "-"))
        (shutil.rmtree if name == "1_Pooling" else Path.unlink)(broken / name)
        assert not SENTENCE.whole(broken), name
    (folder / "modules.json").write_text("[1]")
    assert not SENTENCE.whole(folder)
