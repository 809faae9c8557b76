"""Sentence embeddings against the sentence_transformers library, over folders that are written here."""

import json
import logging
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ctx_metrics.engine.encoder import shared_encoder
from ctx_metrics.engine.options import EngineOptions
from ctx_metrics.engine.readout import PooledMix
from ctx_metrics.errors import ModelError, ResourceError
from ctx_metrics.models import hub
from ctx_metrics.models.sentence import (
    LibrarySentenceEncoder,
    PackedSentenceEncoder,
    SentenceVector,
    cosines,
    shared_sentence_encoder,
)
from ctx_metrics.models.sentence_folder import NotPacked, packed_layout, read_modules, resolve_sentence_model

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


MODELS = {
    "mean": ([pooling("mean_tokens")], {}),
    "cls": ([pooling("cls_token"), {"kind": "Normalize"}], {}),
    "max": ([pooling("max_tokens")], {}),
    "dense": ([pooling("mean_tokens"), dense(TANH)], {}),
    "dense, dense, normalize": (
        [pooling("cls_token"), dense(IDENTITY, bias=False), dense(TANH, inputs=20, outputs=30), {"kind": "Normalize"}],
        {},
    ),
    "normalize, dense": ([pooling("max_tokens"), {"kind": "Normalize"}, dense(TANH)], {}),
    "limit": ([pooling("mean_tokens")], {"limit": 9}),
    "no flag": ([pooling()], {}),
    "new": ([new_pooling("max")], {"new": True}),
    "new list": ([new_pooling(["cls"]), dense(TANH, module_input_name="sentence_embedding")], {"new": True}),
}


@pytest.mark.parametrize("name", MODELS)
def test_packed_models_agree_with_the_library(tmp_path, tiny_bert, name):
    modules, settings = MODELS[name]
    folder = write_model(tmp_path / "model", tiny_bert, modules, **settings)
    encoder = encoder_of(folder)
    assert isinstance(encoder, PackedSentenceEncoder)
    found, expected = values(encoder.cosines(PAIRS)), library_cosines(folder, PAIRS)
    assert found == pytest.approx(expected, abs=1e-5)
    assert np.ptp(expected) > 0.02


@pytest.mark.parametrize("family", ["tiny_roberta", "tiny_xlmr"])
@pytest.mark.parametrize("name", ["mean", "cls", "dense, dense, normalize", "limit"])
def test_other_families_agree_with_the_library(tmp_path, request, family, name):
    modules, settings = MODELS[name]
    folder = write_model(tmp_path / "model", request.getfixturevalue(family), modules, **settings)
    encoder = encoder_of(folder)
    assert isinstance(encoder, PackedSentenceEncoder)
    assert values(encoder.cosines(PAIRS)) == pytest.approx(library_cosines(folder, PAIRS), abs=1e-5)


def test_a_plain_encoder_is_averaged(tiny_bert):
    encoder = encoder_of(tiny_bert)
    assert isinstance(encoder, PackedSentenceEncoder) and encoder.pooling == "mean" and encoder.max_tokens == 70
    assert values(encoder.cosines(PAIRS)) == pytest.approx(library_cosines(tiny_bert, PAIRS), abs=1e-5)


def test_the_encoder_may_lie_in_a_folder_of_its_own(tmp_path, tiny_bert):
    folder = write_model(tmp_path / "whole", tiny_bert, [pooling("cls_token")], limit=12)
    below = tmp_path / "model"
    below.mkdir()
    shutil.move(folder / "1_Pooling", below)
    lines = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").unlink()
    lines[0]["path"] = "0_Transformer"
    shutil.move(folder, below / "0_Transformer")
    (below / "modules.json").write_text(json.dumps(lines))
    encoder = encoder_of(below)
    assert isinstance(encoder, PackedSentenceEncoder) and encoder.max_tokens == 12
    assert values(encoder.cosines(PAIRS)) == pytest.approx(library_cosines(below, PAIRS), abs=1e-5)


def test_the_embedded_encoder_agrees_with_the_library():
    texts = [text.replace("<pad>", "") for text in TEXTS] + ["word " * 300]
    pairs = [(left, right) for left in texts for right in texts[:2]]
    encoder = shared_sentence_encoder(resolve_sentence_model("embedded"), EngineOptions(quiet=True))
    assert encoder.max_tokens == 256 and encoder.pooling == "mean+normalize"
    results = encoder.cosines(pairs)
    assert values(results) == pytest.approx(library_cosines(hub.resolve("embedded").folder, pairs), abs=1e-5)
    assert [result.cut for result in results[-2:]] == [(True, False)] * 2 and not any(any(r.cut) for r in results[:-2])


# what the library runs


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


def test_another_family_goes_through_the_library(tmp_path, tiny_bert, caplog):
    caplog.set_level(logging.DEBUG, logger="ctx_metrics")
    plain = distilbert(tmp_path / "plain", tiny_bert)
    modules = [{**pooling("mean_tokens"), "word_embedding_dimension": 24}, dense(TANH, inputs=24)]
    folder = write_model(tmp_path / "distil", plain, modules, limit=10)
    encoder = encoder_of(folder)
    assert isinstance(encoder, LibrarySentenceEncoder) and encoder.pooling.startswith("sentence-transformers-")
    assert encoder.max_tokens == 10
    [said] = caplog.messages
    assert said.startswith("distil: embedded by the sentence_transformers library: ") and "'distilbert'" in said
    pairs = [*PAIRS, ("", "a dog"), ("a dog", " \u200b"), ("a " * 8, "a " * 9)]
    results = encoder.cosines(pairs)
    assert values(results)[: len(PAIRS)] == pytest.approx(library_cosines(folder, PAIRS), abs=1e-5)
    assert values(results)[-3:-1] == [None, None] and [r.empty for r in results[-3:]] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    assert results[-1].cut == (False, True)  # eight words and two specials fit
    again = pickle.loads(pickle.dumps(encoder))
    assert again.model is None and values(again.cosines(PAIRS)) == pytest.approx(values(results)[: len(PAIRS)])


def test_a_plain_encoder_of_another_family_is_averaged_by_the_library(tmp_path, tiny_bert):
    folder = distilbert(tmp_path / "plain", tiny_bert)
    encoder = encoder_of(folder)
    assert isinstance(encoder, LibrarySentenceEncoder)
    assert values(encoder.cosines(PAIRS)) == pytest.approx(library_cosines(folder, PAIRS), abs=1e-5)


def test_the_library_encodes_a_text_once(tmp_path, tiny_bert, monkeypatch):
    encoder = LibrarySentenceEncoder(distilbert(tmp_path / "plain", tiny_bert), EngineOptions(quiet=True))
    asked = []
    inner = encoder.model.encode
    monkeypatch.setattr(
        encoder.model, "encode", lambda texts, **options: asked.append(texts) or inner(texts, **options)
    )
    encoder.cosines([("a", "b"), ("a", "c"), ("b", "a"), ("", "d"), ("a", "a")])
    assert asked == [["a", "b", "c", "d"]]
    asked.clear()
    assert [result.value for result in encoder.cosines([("", "")])] == [None] and asked == []


def test_what_the_library_cannot_run_is_said_in_a_line(tmp_path, tiny_bert, monkeypatch):
    encoder = LibrarySentenceEncoder(distilbert(tmp_path / "plain", tiny_bert), EngineOptions(quiet=True))

    def fail(error):
        def encode(*args, **options):
            raise error

        monkeypatch.setattr(encoder.model, "encode", encode)

    fail(TypeError("unexpected\nargument"))
    with pytest.raises(ModelError, match="plain: sentence_transformers cannot run it: unexpected$"):
        encoder.cosines([("a", "b")])
    fail(RuntimeError("CUDA out of memory"))
    with pytest.raises(ResourceError, match="device cpu has too little memory for 32 texts; try --ctx-device cpu"):
        encoder.cosines([("a", "b")])


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
def test_files_that_ask_for_the_library(tmp_path, mean_model, file, content, reason):
    folder = shutil.copytree(mean_model, tmp_path / "model")
    (folder / file).write_text(json.dumps(content))
    with pytest.raises(NotPacked, match=reason):
        packed_layout(folder)


def test_prompts_that_are_not_the_default_change_nothing(tmp_path, mean_model):
    folder = shutil.copytree(mean_model, tmp_path / "model")
    config = {"default_prompt_name": None, "prompts": {"query": "q: ", "document": ""}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    assert packed_layout(folder).pooling == "mean"


def test_usual_settings_of_the_encoder_stay_packed(tmp_path, tiny_bert):
    settings = {
        "do_lower_case": False,
        "transformer_task": "feature-extraction",
        "module_output_name": "token_embeddings",
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    }
    folder = write_model(tmp_path / "model", tiny_bert, [pooling("mean_tokens")], limit=20, **settings)
    assert packed_layout(folder) == (folder, "mean", [], 20)


# broken and unsafe folders


@pytest.mark.parametrize("package", ["custom_pooling", "sentence_transformers_custom"])
def test_code_of_its_own_is_refused(tmp_path, tiny_bert, monkeypatch, package):
    folder = write_model(tmp_path / "model", tiny_bert, [pooling("mean_tokens")])
    lines = json.loads((folder / "modules.json").read_text())
    lines[1]["type"] = f"{package}.Pooling"
    (folder / "modules.json").write_text(json.dumps(lines))
    (folder / f"{package}.py").write_text("raise SystemExit('it ran')")
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(ModelError, match=rf"asks for code of its own \({package}.Pooling\), which is never run"):
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


@pytest.mark.parametrize("content", ["{", "[1]", "{}", "[]", '[{"type": "sentence_transformers.models.Pooling"}]'])
def test_a_broken_list_of_modules(tmp_path, tiny_bert, content):
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    (folder / "modules.json").write_text(content)
    with pytest.raises(ModelError, match="modules.json (is no readable list of|lists no) modules") as error:
        read_modules(folder)
    assert "\n" not in str(error.value)


def test_other_broken_folders(tmp_path, tiny_bert):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="holds no weights"):
        resolve_sentence_model(str(tmp_path / "empty"))
    folder = write_model(tmp_path / "dense", tiny_bert, [pooling("mean_tokens"), dense(TANH)])
    save_file({"weight": torch.zeros(2, 2)}, folder / "2_Dense" / "model.safetensors")
    with pytest.raises(ModelError, match="2_Dense holds no weights of a dense layer"):
        encoder_of(folder)
    (folder / "1_Pooling" / "config.json").write_text("{")
    with pytest.raises(ModelError, match="config.json is no readable JSON"):
        packed_layout(folder)
    folder = write_model(tmp_path / "short", tiny_bert, [pooling("mean_tokens")], limit=2)
    with pytest.raises(ModelError, match="max_seq_length 2 leaves no token"):
        encoder_of(folder)
    folder = distilbert(tmp_path / "broken", tiny_bert)
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match="sentence_transformers cannot load it: ") as error:
        encoder_of(folder)
    assert "\n" not in str(error.value)


# one pass, one encoder


def test_the_encoder_is_shared_with_other_metrics(mean_model):
    options = EngineOptions(quiet=True, store_mb=7)
    encoder = shared_sentence_encoder(resolve_sentence_model(str(mean_model)), options)
    assert encoder is shared_sentence_encoder(resolve_sentence_model(str(mean_model)), options)
    texts = shared_encoder(mean_model, options)
    assert encoder.encoder is texts
    tokens = texts.tokenize(["a dog", "a cat"])
    texts.encode(tokens, [(1,)])  # another metric's layer: the sentence vectors are read in the same pass
    texts._start = None
    assert values(encoder.cosines([("a dog", "a cat")])) != [None]


def test_sentence_vectors_are_of_segments_only():
    vector, mix = SentenceVector((0.0, 1.0), "avg"), PooledMix((0.0, 1.0), "avg")
    assert vector.unit == "segment" and mix.unit is None and vector != mix
    assert vector == SentenceVector((0.0, 1.0), "avg") and hash(vector) == hash(SentenceVector((0.0, 1.0), "avg"))


def test_a_pickled_encoder_gives_the_same(mean_model):
    encoder = encoder_of(mean_model)
    assert values(pickle.loads(pickle.dumps(encoder)).cosines(PAIRS)) == values(encoder.cosines(PAIRS))


def test_empty_and_cut_texts(tmp_path, tiny_bert):
    encoder = encoder_of(write_model(tmp_path / "model", tiny_bert, [pooling("mean_tokens")], limit=6))
    fits, over = "a dog ran home", "a dog ran home fast"
    results = encoder.cosines([("", "a dog"), ("a dog", " "), (fits, over), (over, over)])
    assert [result.value for result in results][:2] == [None, None]
    assert [result.empty for result in results] == [(True, False), (False, True), (False, False), (False, False)]
    assert [result.cut for result in results[2:]] == [(False, True), (True, True)]
    assert values(results)[2:] == pytest.approx([1, 1])


def test_cosines():
    left = torch.tensor([[1.0, 0.0], [1.0, 2.0], [0.0, 0.0], [1e-3, 0.0]])
    right = torch.tensor([[3.0, 4.0], [-1.0, -2.0], [1.0, 0.0], [1e3, 0.0]])
    assert cosines(left, right).tolist() == pytest.approx([0.6, -1.0, 0.0, 1.0])
    random = torch.randn(500, 37, generator=torch.Generator().manual_seed(1))
    assert cosines(random, random).max() <= 1.0


# names


def test_a_folder(mean_model, tiny_bert, monkeypatch):
    monkeypatch.chdir(mean_model.parent)
    for name in (str(mean_model), "mean", "./mean/"):
        model = resolve_sentence_model(name)
        assert (model.name, model.revision, model.embedded) == ("mean", None, False)
        assert model.ckpt == hub.checkpoint_hash(tiny_bert)


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
    assert asked == [(repo, revision, hub.SENTENCE)]
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
    assert hub._sentence_among(REPOSITORY, "own/name") == [
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
    found = hub._sentence_among({"modules.json", *shards}, "own/name")
    assert sorted(found) == sorted({"modules.json", *shards})
    with pytest.raises(ModelError, match="own/name is no sentence-transformers model: modules.json is missing"):
        hub._sentence_among({"config.json", "model.safetensors"}, "own/name")


def test_a_cached_model_is_whole_only_with_its_modules(tmp_path, tiny_bert):
    """Another metric may have fetched the encoder alone: that is not yet the sentence model."""
    assert not hub.SENTENCE.whole(tiny_bert)
    modules = [pooling("mean_tokens"), dense(TANH), {"kind": "Normalize"}]
    folder = write_model(tmp_path / "model", tiny_bert, modules)
    assert hub.SENTENCE.whole(folder)
    for name in ("2_Dense/model.safetensors", "2_Dense/config.json", "1_Pooling", "model.safetensors", "modules.json"):
        broken = shutil.copytree(folder, tmp_path / name.replace("/", "-"))
        (shutil.rmtree if name == "1_Pooling" else Path.unlink)(broken / name)
        assert not hub.SENTENCE.whole(broken), name
    (folder / "modules.json").write_text("[1]")
    assert not hub.SENTENCE.whole(folder)


def test_a_model_is_fetched_from_the_hub(tmp_path, tiny_bert, monkeypatch):
    """Over a hub that copies files of a folder; the cache first holds the encoder alone."""
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    whole = write_model(tmp_path / "whole", tiny_bert, [pooling("mean_tokens"), dense(TANH)])
    (whole / "README.md").write_text("no")
    cache = tmp_path / "cache" / ("ab" * 20)
    cache.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        shutil.copy(whole / name, cache)
    files = [str(path.relative_to(whole)) for path in whole.rglob("*") if path.is_file()]

    class Info:
        siblings = [type("File", (), {"rfilename": name}) for name in files]

    def download(repo, revision=None, local_files_only=False, allow_patterns=None):
        if local_files_only and not any((cache / name).exists() for name in allow_patterns):
            raise LocalEntryNotFoundError("not here")
        for name in allow_patterns if not local_files_only else ():
            (cache / name).parent.mkdir(exist_ok=True)
            shutil.copy(whole / name, cache / name)
        return str(cache)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *a, **k: Info)
    model = resolve_sentence_model("own/name")
    assert (model.name, model.revision, model.folder) == ("own/name", "ab" * 6, cache)
    assert not (cache / "README.md").exists() and isinstance(encoder_of(cache), PackedSentenceEncoder)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *a, **k: pytest.fail("the hub was asked again"))
    assert resolve_sentence_model("own/name") == model
