"""Folders of sentence-transformers models around the tiny encoders, and what our encoder and the library make of them."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.roundtrip.sentence_encoder import resolve_sentence_model, shared_sentence_encoder

OLD = "sentence_transformers.models."
# What sentence_transformers 5 writes.
NEW = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "Normalize": "sentence_transformers.sentence_transformer.modules.normalize.Normalize",
}
TANH, IDENTITY = "torch.nn.modules.activation.Tanh", "torch.nn.modules.linear.Identity"
TEXTS = [
    "the cat sat on the mat",
    "a dog ran home",
    "a dog ran home",
    "  a red   bird, and rain!",
    "slow river song \u2028 light",
    "x",
    "[PAD] the [SEP] <pad> cat",
    "the old dog sat under a tree and ran home fast " * 12,  # longer than the tiny models read
    "Ünïcödé 猫 \u200b",
]
PAIRS = [(left, right) for left in TEXTS for right in TEXTS[:4]]


def write_model(folder: Path, encoder: Path, modules: list[dict], limit=None, new=False, **settings) -> Path:
    """A sentence-transformers folder around a plain encoder's: modules [{"kind", and its config}, ...] behind it."""
    shutil.copytree(encoder, folder)
    lines = [{"idx": 0, "name": "0", "path": "", "type": NEW["Transformer"] if new else OLD + "Transformer"}]
    if limit or settings:
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": limit, **settings}))
    generator = torch.Generator().manual_seed(5)
    for number, module in enumerate(modules, 1):
        kind, config = module["kind"], {key: value for key, value in module.items() if key != "kind"}
        path = f"{number}_{kind}"
        lines.append({"idx": number, "name": str(number), "path": path, "type": NEW[kind] if new else OLD + kind})
        if kind == "Normalize":
            continue  # the hub keeps no empty folders
        (folder / path).mkdir()
        (folder / path / "config.json").write_text(json.dumps(config))
        if kind == "Dense":
            tensors = {"linear.weight": torch.randn(config["out_features"], config["in_features"], generator=generator)}
            if config["bias"]:
                tensors["linear.bias"] = torch.randn(config["out_features"], generator=generator)
            save_file(tensors, folder / path / "model.safetensors")
    (folder / "modules.json").write_text(json.dumps(lines))
    return folder


def pooling(*flags: str) -> dict:
    """A Pooling module as older versions write it."""
    names = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens")
    return {
        "kind": "Pooling",
        "word_embedding_dimension": 48,
        **{f"pooling_mode_{name}": name in flags for name in names},
    }


def dense(activation: str, inputs: int = 48, outputs: int = 20, bias: bool = True, **more) -> dict:
    return {
        "kind": "Dense",
        "in_features": inputs,
        "out_features": outputs,
        "bias": bias,
        "activation_function": activation,
        **more,
    }


def new_pooling(mode) -> dict:
    return {"kind": "Pooling", "embedding_dimension": 48, "pooling_mode": mode, "include_prompt": True}


def library_cosines(folder: Path, pairs) -> list[float]:
    from sentence_transformers import SentenceTransformer, util

    model = SentenceTransformer(str(folder), device="cpu")
    embedded = {text: model.encode(text) for text in {text for pair in pairs for text in pair}}
    return [util.cos_sim(embedded[left], embedded[right]).item() for left, right in pairs]


def encoder_of(folder: Path, **options):
    return shared_sentence_encoder(resolve_sentence_model(str(folder)), EngineOptions(quiet=True, **options))


def values(results) -> list[float]:
    return [result.value for result in results]


@pytest.fixture(scope="module")
def mean_model(tmp_path_factory, tiny_bert) -> Path:
    return write_model(tmp_path_factory.mktemp("st") / "mean", tiny_bert, [pooling("mean_tokens")])


def distilbert(folder: Path, tiny_bert: Path) -> Path:
    from transformers import DistilBertConfig, DistilBertModel

    torch.manual_seed(3)
    words = json.loads((tiny_bert / "config.json").read_text())["vocab_size"]
    config = DistilBertConfig(
        vocab_size=words, dim=24, hidden_dim=40, n_layers=2, n_heads=2, max_position_embeddings=70
    )
    DistilBertModel(config).save_pretrained(folder)
    shutil.copy(tiny_bert / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "DistilBertTokenizerFast", "do_lower_case": True, "model_max_length": 70})
    )
    return folder
