import json
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from ctx_metrics.engine.checkpoint import EncoderFolder, weight_files
from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.errors import ModelError


@pytest.fixture
def folder(tiny_bert, tmp_path):
    """A copy of the tiny BERT that a test may damage."""
    return shutil.copytree(tiny_bert, tmp_path / "model")


@pytest.fixture
def tensors(tiny_bert):
    return load_file(tiny_bert / "model.safetensors")


def same(found, tensors, without=("pooler",)):
    expected = {name: tensor for name, tensor in tensors.items() if not name.startswith(without)}
    return found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in found)


def test_shards(folder, tensors):
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    where = {name: f"model-0000{1 + (i >= len(names) // 2)}-of-00002.safetensors" for i, name in enumerate(names)}
    for shard in set(where.values()):
        save_file({name: tensors[name] for name in names if where[name] == shard}, folder / shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    assert weight_files(folder) == [folder / f"model-0000{k}-of-00002.safetensors" for k in (1, 2)]
    assert same(EncoderFolder(folder).weights(), tensors)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelError, match="model-00002-of-00002.safetensors cannot be read"):
        EncoderFolder(folder).weights()


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before torch 1.6"])
def test_pytorch_file(folder, tensors, zipped):
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    assert same(EncoderFolder(folder).weights(), tensors)


def test_safetensors_are_preferred(folder, tensors):
    torch.save({}, folder / "pytorch_model.bin")
    assert weight_files(folder) == [folder / "model.safetensors"]
    assert same(EncoderFolder(folder).weights(), tensors)


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before torch 1.6"])
def test_pickled_code_is_refused_and_not_run(folder, tensors, tmp_path, zipped):
    trace = tmp_path / "trace"

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(trace),)

    (folder / "model.safetensors").unlink()
    torch.save({**tensors, "extra": Evil()}, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    with pytest.raises(ModelError, match="pytorch_model.bin"):
        EncoderFolder(folder).weights()
    assert not trace.exists()
    torch.load(folder / "pytorch_model.bin", weights_only=False)
    assert trace.exists()  # the trap does work where code is allowed


def test_old_names_of_layer_norms(folder, tensors):
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in tensors.items()
    }
    assert old.keys() != tensors.keys()
    save_file(old, folder / "model.safetensors")
    assert same(EncoderFolder(folder).weights(), tensors)


def test_prefix_and_heads_go(folder, tensors):
    save_file(
        {"bert." + name: tensor for name, tensor in tensors.items()} | {"cls.predictions.bias": torch.zeros(3)},
        folder / "model.safetensors",
    )
    assert same(EncoderFolder(folder).weights(), tensors)


def test_missing_tensor(folder, tensors):
    del tensors["encoder.layer.1.output.dense.bias"]
    save_file(tensors, folder / "model.safetensors")
    encoder = TextEncoder(folder)
    encoder.encode(encoder.tokenizer(["the cat"]), [(1,)])  # the first layer is whole
    with pytest.raises(ModelError, match="lacks the tensor 'encoder.layer.1.output.dense.bias'"):
        encoder.encode(encoder.tokenizer(["the cat"]), [(2,)])
