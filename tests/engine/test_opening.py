"""Damaged and hostile files of models: whatever they hold, opening them gives one line, in no time and no memory."""

import json
import os
import shutil

import pytest
import torch
from classifiers import write_classifier
from damage import as_pytorch, compress, cut, in_turn, line, other, text, weights, without
from identities import identity_of_folder
from safetensors.torch import save_file
from sentence_folders import TANH, dense, distilbert, pooling, write_model
from toy_translation import random_marian

from ctx_metrics import BERTR
from ctx_metrics.engine.checkpoint import SafeTensors
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import CtxMetricsError, InputError, ResourceError
from ctx_metrics.models.hub import resolve
from ctx_metrics.opening import file_sha256, opening
from ctx_metrics.pseudo_references.paraphrase.classifier import ParaphraseClassifier
from ctx_metrics.roundtrip.back_translation import BackTranslation
from ctx_metrics.roundtrip.model_translator import ModelTranslator
from ctx_metrics.roundtrip.sentence_encoder import resolve_sentence_model, shared_sentence_encoder

QUIET = EngineOptions(device="cpu", quiet=True)
DEEP = "[" * 20_000

# text encoders


def promise(folder) -> None:
    """Change the header of a safetensors file: one tensor has 2^40 numbers there, more than the file."""
    path = folder / "model.safetensors"
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    last = max(header, key=lambda name: header[name].get("data_offsets", [0, 0])[1])
    header[last]["shape"], start = [2**40], header[last]["data_offsets"][0]
    header[last]["data_offsets"] = [start, start + 2**42]
    changed = json.dumps(header).encode()
    path.unlink()
    path.write_bytes(len(changed).to_bytes(8, "little") + changed + data[8 + length :])


def index(content: str):
    return in_turn(without("model.safetensors"), text("model.safetensors.index.json", content))


def config(**changes):
    return other("config.json", **changes)


def expand(folder) -> None:
    path = folder / "pytorch_model.bin"
    torch.save({**torch.load(path), DENSE: torch.zeros(1).expand(2**40)}, path)


DENSE = "encoder.layer.1.output.dense.weight"
SAFE, BIN = "FOLDER/model.safetensors", "FOLDER/pytorch_model.bin"
COMPRESSED = in_turn(as_pytorch, lambda folder: compress(folder / "pytorch_model.bin"))
SHARDS = f"{SAFE}.index.json is not a readable index of shards"
NO_CONFIG = "FOLDER holds no readable config.json"
# what is damaged, and words of the line; models/test_comet_checkpoint_faults.py has more of files of torch.save
ENCODERS = {
    "no weights": (without("model.safetensors"), "FOLDER holds no weights: none of model.safetensors, "),
    "nan": (weights(DENSE, lambda t: t * torch.nan), f"{SAFE}: {DENSE} is not finite"),
    "shape": (weights(DENSE, lambda t: t[:3].clone()), f"{DENSE} is of shape [3, 96], not [48, 96]"),
    "compressed": (COMPRESSED, f"{BIN} is compressed"),
    "cut tensors": (cut("model.safetensors", 0.5), f"{SAFE} cannot be read: "),
    "no tensors": (text("model.safetensors", b"\xff" * 64), f"{SAFE} cannot be read: "),
    **{f"the index {held}": (index(held), SHARDS) for held in ("{", "{}", '{"weight_map": []}')},
    "shards that are numbers": (index('{"weight_map": {"a": 3, "b": "x"}}'), SHARDS),
    "a deep index": (index('{"weight_map":' + DEEP), SHARDS),
    "a missing shard": (
        index('{"weight_map": {"a": "model-1.safetensors"}}'),
        "cannot read FOLDER/model-1.safetensors: ",
    ),
    "2^40 numbers of one": (in_turn(as_pytorch, expand), f"{BIN} cannot be read: its tensors have "),
    "a header of safetensors that promises 2^40 numbers": (promise, f"{SAFE} cannot be read: "),
    "no config": (without("config.json"), NO_CONFIG),
    **{f"the config {held!r}": (text("config.json", held), NO_CONFIG) for held in ("{", "null", b"\xff")},
    "of COMET": (text("hparams.yaml", ""), "FOLDER is a COMET checkpoint, not a text encoder"),
    **{f"kind {kind!r}": (config(model_type=kind), f"FOLDER is of kind {kind!r}; ") for kind in ("t5", None)},
    **{
        key: (config(**{key: value}), f"FOLDER: {key} {value!r} is not supported")
        for key, value in (("hidden_act", "gelu_new"), ("position_embedding_type", "relative_key"))
    },
    **{key: (config(**{key: True}), "FOLDER is a decoder") for key in ("is_decoder", "add_cross_attention")},
    **{
        key: (config(**{key: value}), f"FOLDER: config.json gives no number for {key}")
        for key, value in (("hidden_size", None), ("num_hidden_layers", "3"), ("num_attention_heads", 0))
    },
    "5 heads": (config(num_attention_heads=5), "config.json gives hidden_size 48, which 5 attention heads cannot"),
    "10^12 layers": (config(num_hidden_layers=10**12), "describes 18960000000009360 numbers, more than the"),
    "one position": (config(max_position_embeddings=1), "FOLDER: config.json gives max_position_embeddings 1"),
    "20 words": (config(vocab_size=20), "FOLDER: its tokenizer gives token 100, but the model has 20: they do not"),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_a_text_encoder(tiny_bert, tmp_path, name):
    damage, words = ENCODERS[name]
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    damage(folder)
    assert words in line(lambda: BERTR(model=str(folder), engine=QUIET).corpus_score(["a cat"], [["the cat"]]), folder)


# models that other libraries load, and sentence encoders


def translate(folder):
    return ModelTranslator(BackTranslation(f"hf:{folder}", target_code="eng"), engine=QUIET).translate(["the cat"])


KINDS = {
    "classifier": (
        lambda folder, bert: write_classifier(folder, bert),
        lambda folder: ParaphraseClassifier(str(folder), QUIET).probabilities([("the cat", "a cat")]),
    ),
    "translation": (lambda folder, bert: shutil.copytree(random_marian(), folder), translate),
    "library": (
        lambda folder, bert: distilbert(folder, bert),
        lambda folder: shared_sentence_encoder(resolve_sentence_model(str(folder)), QUIET),
    ),
    "sentence": (
        lambda folder, bert: write_model(folder, bert, [pooling("mean_tokens"), dense(TANH)]),
        lambda folder: shared_sentence_encoder(resolve_sentence_model(str(folder)), QUIET),
    ),
}


@pytest.mark.parametrize(
    "kind, damage, words",
    [
        ("classifier", config(num_hidden_layers=10**6), "gives 1000000 for num_hidden_layers, more than"),
        ("classifier", config(type_vocab_size=10**12), "gives 1000000000000 for type_vocab_size, more than"),
        ("classifier", config(num_labels=10**9, id2label=None), "gives 1000000000 for num_labels, more than"),
        ("classifier", COMPRESSED, "pytorch_model.bin is compressed"),
        ("classifier", text("config.json", DEEP), "it is nested too deeply"),
        ("classifier", other("tokenizer_config.json", model_max_length="x"), "model_max_length is 'x'"),
        ("translation", config(encoder_layers=10**6), "gives 1000000 for encoder_layers, more than"),
        ("translation", COMPRESSED, "pytorch_model.bin is compressed"),
        ("translation", other("generation_config.json", num_beams="x"), "its num_beams is 'x', which is not a number"),
        ("library", config(n_layers=10**6), "gives 1000000 for n_layers, more than"),
        ("library", COMPRESSED, "pytorch_model.bin is compressed"),
        ("sentence", text("modules.json", DEEP), "modules.json is not a readable list of modules"),
        ("sentence", text("sentence_bert_config.json", '{"max_seq_length": 1e999}'), "max_seq_length inf"),
        ("sentence", weights("linear.bias", lambda t: t[:3].clone(), "2_Dense"), "of shape [20, 48] and [3]"),
    ],
)
def test_other_models(tiny_bert, tmp_path, kind, damage, words):
    make, use = KINDS[kind]
    folder = make(tmp_path / "model", tiny_bert)
    damage(folder)
    assert words in line(lambda: use(folder), folder)


# what a line is made of


class PanicException(BaseException):
    """Named as what Rust libraries raise."""


@pytest.mark.parametrize(
    "error, said",
    [
        (PanicException("called unwrap\non None"), "x.bin cannot be read: called unwrap; copy or fetch it again"),
        (IndexError("pop"), "x.bin cannot be read: IndexError: pop; copy or fetch it again"),
        (InputError("as it is"), "as it is"),
    ],
)
def test_what_is_said_of_an_error(tmp_path, error, said):
    with pytest.raises(CtxMetricsError) as caught, opening("x.bin"):
        raise error
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: 9"),
    ],
)
def test_too_little_memory_is_no_damage(error):
    with pytest.raises(ResourceError, match="^x.bin needs more memory than is available; "), opening("x.bin"):
        raise error


def test_an_interruption_is_none_of_the_files():
    with pytest.raises(KeyboardInterrupt), opening("x.bin"):
        raise KeyboardInterrupt


# hashes


def test_a_links_name_is_believed_in_the_hubs_cache_alone(tiny_bert, tmp_path):
    """Altered weights under a name of 64 hex digits must not pass for others."""
    name, true = "0123456789abcdef" * 4, file_sha256(tiny_bert / "model.safetensors")
    cache = tmp_path / "models--own--name"
    for folder, believed in ((tmp_path / "mine", False), (cache / "snapshots" / ("1" * 40), True)):
        folder.mkdir(parents=True)
        blobs = cache / "blobs" if believed else folder
        blobs.mkdir(exist_ok=True)
        shutil.copy(tiny_bert / "model.safetensors", blobs / name)
        (folder / "model.safetensors").symlink_to(blobs / name)
        assert file_sha256(folder / "model.safetensors") == (name if believed else true)
    (tmp_path / "mine" / "elsewhere.safetensors").symlink_to(cache / "blobs" / name)
    assert file_sha256(tmp_path / "mine" / "elsewhere.safetensors") == true
    shutil.copy(tiny_bert / "config.json", tmp_path / "mine")
    assert resolve(str(tmp_path / "mine")).ckpt == identity_of_folder(
        tmp_path / "mine", "config.json", "model.safetensors"
    )


def test_a_file_is_hashed_once_until_it_changes(tmp_path, monkeypatch):
    path, read = tmp_path / "weights", []
    monkeypatch.setattr("builtins.open", lambda *args, real=open, **more: read.append(args[0]) or real(*args, **more))

    def hashed(data: bytes, age: int) -> tuple[str, int]:
        path.write_bytes(data)
        monkeypatch.setattr("time.time_ns", lambda: path.stat().st_ctime_ns + age)
        read.clear()
        return file_sha256(path), file_sha256(path), read.count(str(path))

    first, again, times = hashed(b"one", 10**10)
    assert first == again and times == 1
    assert hashed(b"three", 10**10)[0] != first
    assert hashed(b"one", 0) == (first, first, 2)  # so young that it may change and keep its time


# memory


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads memory as Linux tells it")
def test_memory_holds_what_is_in_use(tmp_path):
    """A mapping of the whole file would keep all that was read of it."""
    save_file({f"{k}": torch.ones(2**21) for k in range(12)} | {"small": torch.ones(8)}, tmp_path / "x.safetensors")

    def mapped() -> int:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssFile")) // 1024

    tensors, before, most = SafeTensors(tmp_path / "x.safetensors"), mapped(), 0
    kept = tensors["small"]
    for k in range(12):
        assert tensors[f"{k}"].sum() == 2**21
        most = max(most, mapped() - before)
    assert 8 <= most <= 40, most  # MiB of 96
    assert kept.sum() == 8 and kept.shape == (8,) and len(tensors) == 13
    with pytest.raises(KeyError):
        tensors["absent"]
