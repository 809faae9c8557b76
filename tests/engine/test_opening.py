"""Damaged and hostile files of models: whatever they hold, opening them gives one line, in no time and no memory."""

import json
import os
import shutil
import zipfile

import pytest
import torch
import yaml
from classifiers import write_classifier
from comet_checkpoints import RECIPES, build
from identities import identity_of_folder
from safetensors.torch import load_file, save_file
from sentence_folders import TANH, dense, distilbert, pooling, write_model
from toy_translation import random_marian

from ctx_metrics import BERTR
from ctx_metrics.engine.checkpoint import SafeTensors
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import CtxMetricsError, InputError, ResourceError
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.hub import resolve
from ctx_metrics.models.load import load_estimator
from ctx_metrics.opening import JSON_LIMIT, file_sha256, opening
from ctx_metrics.pseudo_references.paraphrase.classifier import ParaphraseClassifier
from ctx_metrics.roundtrip.model_translator import TranslationModel, resolve_translation
from ctx_metrics.roundtrip.sentence_encoder import resolve_sentence_model, shared_sentence_encoder

QUIET = EngineOptions(device="cpu", quiet=True)
EXAMPLE = Example("the cat sat", "a cat sat", "the old cat")
HIDDEN, HEAD = "encoder.model.encoder.layer.0.output.dense.weight", "estimator.ff.3.weight"
DEEP = "[" * 20_000
CKPT = "FOLDER/checkpoints/model.ckpt"
REFUSED = "is damaged or holds more than tensors"


def line(function, folder) -> str:
    """What a call says of a folder, which it has to name."""
    with pytest.raises(CtxMetricsError) as caught:
        function()
    text = str(caught.value)
    assert "\n" not in text and len(text) < 800 and str(folder) in text, text
    return text.replace(str(folder), "FOLDER")


def compress(path) -> None:
    """Pack the entries of a file of torch.save."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    path.unlink()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def write_json(path, **changes) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


# COMET checkpoints


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return build(RECIPES["regression"], tmp_path_factory.mktemp("original") / "regression")


@pytest.fixture
def checkpoint(original, tmp_path):
    """A checkpoint that a test may damage."""
    folder = shutil.copytree(original, tmp_path / "checkpoint")
    return rewrite(folder, hyper_parameters={"pretrained_model": str(folder / "encoder")})


def rewrite(folder, **changes):
    """Change entries of the dictionaries in a .ckpt; a function gets what is there."""
    path = folder / "checkpoints" / "model.ckpt"
    content = torch.load(path, weights_only=True)
    for name, changed in changes.items():
        for key, value in changed.items():
            content[name][key] = value(content[name][key]) if callable(value) else value
    path.unlink()  # it may be mapped into memory
    torch.save(content, path)
    return folder


def in_ckpt(name: str, key: str, value):
    return lambda folder: rewrite(folder, **{name: {key: value}})


def tensor(name: str, change):
    return in_ckpt("state_dict", name, change)


def parameter(name: str, value):
    return in_ckpt("hyper_parameters", name, value)


def other(name: str, **changes):
    return lambda folder: write_json(folder / name, **changes)


def config(**changes):
    return other("encoder/config.json", **changes)


def text(name: str, content):
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data)


def ckpt(content: bytes):
    return text("checkpoints/model.ckpt", content)


def nested(levels: int = 40):
    """A list that holds one list eight times, and so on: a few objects that no printer comes to the end of."""
    value = ["x"]
    for _ in range(levels):
        value = [value] * 8
    return value


MERGES = "class_identifier: regression_metric\na0: &a0 {k: v}\n" + "".join(
    f"a{k}: &a{k}\n  <<: [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 9)
)
TOO_SMALL = "numbers, more than the"
COMET = {  # what is damaged, and words of the line; those of a .ckpt and those of the encoder's config.json name that file
    "compressed": (lambda folder: compress(folder / "checkpoints" / "model.ckpt"), f"{CKPT} is compressed"),
    "a refusal": (ckpt(b"Rate limit exceeded"), f"{CKPT} cannot be read: it is not a PyTorch file"),
    "html": (ckpt(b"<!DOCTYPE html>\n<html><head><title>404</title>"), "begins with '<!DOCTYPE html> <html>"),
    "bytes": (ckpt(b"\xff" * 99), REFUSED),
    "an unpickler's stack": (ckpt(b"\x80\x02]q\x00"), f"{CKPT} cannot be read: EOFError"),
    "an unpickler's memo": (ckpt(b"\x80\x02h\x61."), f"{CKPT} cannot be read: KeyError: 97"),
    "an archive's end": (ckpt(b"PK\x05\x06" + b"\0" * 18), REFUSED),
    "nan": (tensor(HIDDEN, lambda t: t * torch.nan), f"{CKPT}: {HIDDEN} is not finite"),
    "inf in the head": (tensor(HEAD, lambda t: t + torch.inf), f"{CKPT}: {HEAD} is not finite"),
    "integers": (tensor(HEAD, torch.Tensor.long), f"{CKPT}: {HEAD} is a strided tensor of int64 on cpu"),
    "bools": (tensor(HIDDEN, torch.Tensor.bool), f"{CKPT}: {HIDDEN} is a strided tensor of bool on cpu"),
    "sparse": (tensor(HIDDEN, torch.Tensor.to_sparse), f"{CKPT}: {HIDDEN} is a sparse_coo tensor of float32 on cpu"),
    "meta": (tensor(HEAD, lambda t: t.to("meta")), f"{CKPT}: {HEAD} is a strided tensor of float32 on meta"),
    "2^40 numbers of one": (
        tensor(HEAD, lambda t: t[:1, :1].clone().expand(1, 2**40)),
        f"{CKPT} cannot be read: its tensors have 10995116",
    ),
    "a thousand names of one tensor": (
        lambda folder, one=torch.ones(10**5): rewrite(folder, state_dict={f"loss.{k}": one for k in range(1000)}),
        f"{CKPT} cannot be read: its tensors have 100",
    ),
    "a layer of the head with a number of 5,000 digits": (
        tensor(f"estimator.ff.{'9' * 5000}.weight", torch.zeros(3)),
        f"{CKPT} does not fit its hyper-parameters; not expected: estimator.ff.{'9' * 67};",
    ),
    "no activation": (parameter("activations", None), f"{CKPT}: activations is None"),
    "an activation of pairs": (parameter("activations", "Glu"), f"{CKPT}: torch.nn has no activation 'Glu'"),
    "a value without end": (parameter("pretrained_model", nested()), f"{CKPT}: pretrained_model is a list"),
    "merge keys": (text("hparams.yaml", MERGES), "FOLDER/hparams.yaml cannot be read: it holds a merge key (<<)"),
    "deep YAML": (
        text("hparams.yaml", f"class_identifier: {'[' * 500}"),
        "FOLDER/hparams.yaml cannot be read: it is nested too deeply",
    ),
    "large YAML": (
        text("hparams.yaml", "x: 1\n" * 100_000),
        "FOLDER/hparams.yaml cannot be read: it is larger than 256 KiB",
    ),
    "a date": (
        text("hparams.yaml", "class_identifier: regression_metric\nday: 2001-99-99\n"),
        "FOLDER/hparams.yaml cannot be read: month must be in 1..12",
    ),
    "aliases": (
        text("hparams.yaml", yaml.safe_dump({"class_identifier": nested(12)})),
        "FOLDER/hparams.yaml: class_identifier a list is none of regression_metric, ",
    ),
    "10^12 words of width": (config(hidden_size=10**12), TOO_SMALL),
    "1,000,000 layers": (config(num_hidden_layers=1_000_000), f"describes 8544024352 {TOO_SMALL}"),
    "large words": (config(hidden_size=4 * 10**3000), f"describes over 1e60 {TOO_SMALL}"),
    "one position": (config(max_position_embeddings=1), "FOLDER/encoder: config.json gives max_position_embeddings 1"),
    "a kind that is a list": (config(model_type=[]), "FOLDER/encoder is of kind a list"),
    "an epsilon that is a word": (config(layer_norm_eps="x"), "config.json gives 'x' for layer_norm_eps"),
    "deep JSON": (text("encoder/config.json", '{"model_type":' + DEEP), "FOLDER/encoder holds no readable config.json"),
    "large JSON": (
        text("encoder/config.json", json.dumps({"x": "x" * JSON_LIMIT})),
        "FOLDER/encoder holds no readable config.json",
    ),
}


@pytest.mark.parametrize("name", COMET)
def test_a_comet_checkpoint(checkpoint, name, recwarn):
    damage, words = COMET[name]
    damage(checkpoint)
    assert words in line(lambda: load_estimator(str(checkpoint), QUIET).estimate([EXAMPLE], "test"), checkpoint)
    assert not [str(each.message) for each in recwarn]


@pytest.mark.parametrize("seed", range(12))
def test_a_checkpoint_of_random_bytes(checkpoint, seed):
    """Bytes are changed where the archive's directory or the pickle lies, or the file is cut."""
    generator = torch.Generator().manual_seed(seed)
    path = checkpoint / "checkpoints" / "model.ckpt"
    data = bytearray(path.read_bytes())
    for at in torch.randint(0, 3000, (20,), generator=generator).tolist():
        data[-at if seed % 2 else at] ^= 1 + at % 255
    path.unlink()
    path.write_bytes(data)
    assert CKPT in line(lambda: load_estimator(str(checkpoint), QUIET), checkpoint)


def test_tensors_that_share_their_memory(checkpoint):
    """Tied weights and expanded ones have more numbers than the file, and give the scores of copies."""
    tied = {HIDDEN.replace("layer.0", "layer.1"): HIDDEN, HIDDEN.replace("weight", "bias"): None}

    def values(change) -> list[float]:
        path = checkpoint / "checkpoints" / "model.ckpt"
        content = torch.load(path, weights_only=True)
        tensors = content["state_dict"]
        for name, other in tied.items():
            tensors[name] = change(tensors[other] if other else torch.tensor([0.25]).expand(tensors[name].shape))
        path.unlink()
        torch.save(content, path)
        return [each.value for each in load_estimator(str(checkpoint), QUIET).estimate([EXAMPLE], "test")]

    copied = values(torch.clone)
    size = (checkpoint / "checkpoints" / "model.ckpt").stat().st_size
    assert values(lambda tensor: tensor) == copied
    assert (checkpoint / "checkpoints" / "model.ckpt").stat().st_size < size
    convert(str(checkpoint), checkpoint.parent / "converted")
    assert [
        each.value for each in load_estimator(str(checkpoint.parent / "converted"), QUIET).estimate([EXAMPLE], "test")
    ] == copied


def test_dropout_for_an_activation_is_that_of_evaluation(checkpoint):
    rewrite(checkpoint, hyper_parameters={"activations": "Dropout"})
    values = {load_estimator(str(checkpoint), QUIET).estimate([EXAMPLE], "test")[0].value for _ in range(3)}
    rewrite(checkpoint, hyper_parameters={"activations": "Identity"})
    assert values == {load_estimator(str(checkpoint), QUIET).estimate([EXAMPLE], "test")[0].value}


# text encoders


def weights(name: str, change):
    def damage(folder):
        tensors = {key: value.clone() for key, value in load_file(folder / "model.safetensors").items()}
        (folder / "model.safetensors").unlink()
        save_file({**tensors, name: change(tensors[name])}, folder / "model.safetensors")

    return damage


def promises(numbers: int):
    """Change the header of a safetensors file: one tensor is longer there than the file is."""

    def damage(folder):
        path = folder / "model.safetensors"
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        last = max(header, key=lambda name: header[name].get("data_offsets", [0, 0])[1])
        header[last]["shape"], start = [numbers], header[last]["data_offsets"][0]
        header[last]["data_offsets"] = [start, start + 4 * numbers]
        changed = json.dumps(header).encode()
        path.unlink()
        path.write_bytes(len(changed).to_bytes(8, "little") + changed + data[8 + length :])

    return damage


def as_pytorch(*then):
    def damage(folder):
        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
        for each in then:
            each(folder)

    return damage


def index(content: str):
    return as_pytorch(
        lambda folder: (folder / "pytorch_model.bin").unlink(), text("model.safetensors.index.json", content)
    )


def own_config(**changes):
    return other("config.json", **changes)


DENSE = "encoder.layer.1.output.dense.weight"
BIN_COMPRESSED = as_pytorch(lambda folder: compress(folder / "pytorch_model.bin"))
SHARDS = "FOLDER/model.safetensors.index.json is not a readable index of shards"
ENCODERS = {
    "nan": (weights(DENSE, lambda t: t * torch.nan), f"FOLDER/model.safetensors: {DENSE} is not finite"),
    "shape": (weights(DENSE, lambda t: t[:3].clone()), f"{DENSE} is of shape [3, 96], not [48, 96]"),
    "compressed": (BIN_COMPRESSED, "FOLDER/pytorch_model.bin is compressed"),
    "a refusal": (
        as_pytorch(text("pytorch_model.bin", "Rate limit exceeded")),
        "FOLDER/pytorch_model.bin cannot be read: it is not a PyTorch file",
    ),
    "shards that are numbers": (index('{"weight_map": {"a": 3, "b": "x"}}'), SHARDS),
    "a deep index": (index('{"weight_map":' + DEEP), SHARDS),
    "a missing shard": (
        index('{"weight_map": {"a": "model-1.safetensors"}}'),
        "cannot read FOLDER/model-1.safetensors: ",
    ),
    "2^40 numbers of one": (
        as_pytorch(
            lambda folder: torch.save(
                {**torch.load(folder / "pytorch_model.bin"), DENSE: torch.zeros(1).expand(2**40)},
                folder / "pytorch_model.bin",
            )
        ),
        "FOLDER/pytorch_model.bin cannot be read: its tensors have ",
    ),
    "a header of safetensors that promises 2^40 numbers": (
        promises(2**40),
        "FOLDER/model.safetensors cannot be read: ",
    ),
    "10^12 layers": (own_config(num_hidden_layers=10**12), f"describes 18960000000009360 {TOO_SMALL}"),
    "one position": (own_config(max_position_embeddings=1), "FOLDER: config.json gives max_position_embeddings 1"),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_a_text_encoder(tiny_bert, tmp_path, name):
    damage, words = ENCODERS[name]
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    damage(folder)
    assert words in line(lambda: BERTR(model=str(folder), engine=QUIET).corpus_score(["a cat"], [["the cat"]]), folder)


# models that other libraries load, and sentence encoders


def translate(folder):
    model = TranslationModel(resolve_translation(str(folder)), engine=QUIET)
    return model.generate(model.tokenize(["the cat"])[0])


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
        ("classifier", own_config(num_hidden_layers=10**6), "gives 1000000 for num_hidden_layers, more than"),
        ("classifier", own_config(type_vocab_size=10**12), "gives 1000000000000 for type_vocab_size, more than"),
        ("classifier", own_config(num_labels=10**9, id2label=None), "gives 1000000000 for num_labels, more than"),
        ("classifier", BIN_COMPRESSED, "pytorch_model.bin is compressed"),
        ("classifier", text("config.json", DEEP), "it is nested too deeply"),
        ("classifier", other("tokenizer_config.json", model_max_length="x"), "its model_max_length is 'x', no number"),
        ("translation", own_config(encoder_layers=10**6), "gives 1000000 for encoder_layers, more than"),
        ("translation", BIN_COMPRESSED, "pytorch_model.bin is compressed"),
        ("translation", other("generation_config.json", num_beams="x"), "its num_beams is 'x', no number"),
        ("library", own_config(n_layers=10**6), "gives 1000000 for n_layers, more than"),
        ("library", BIN_COMPRESSED, "pytorch_model.bin is compressed"),
        ("sentence", text("modules.json", DEEP), "modules.json is not a readable list of modules"),
        (
            "sentence",
            text("sentence_bert_config.json", '{"max_seq_length": 1e999}'),
            "max_seq_length inf is not a number",
        ),
        (
            "sentence",
            lambda folder: weights("linear.bias", lambda t: t[:3].clone())(folder / "2_Dense"),
            "a layer of 48 inputs cannot be of shape [20, 48] and [3]",
        ),
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
        (
            IndexError("pop from empty list"),
            "x.bin cannot be read: IndexError: pop from empty list; copy or fetch it again",
        ),
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
    said = "x.bin needs more memory than is available; free some, or raise the limit that `ulimit -v` shows"
    with pytest.raises(ResourceError, match=f"^{said}$"), opening("x.bin"):
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
