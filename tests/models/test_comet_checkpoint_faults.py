"""Damaged, hostile or unfit COMET checkpoints: each gives one line that names the file, in no time and no memory."""

import json
import shutil

import pytest
import torch
import yaml
from damage import CKPT, change_ckpt, compress, cut, line, other, text, without, write_ckpt
from selection import some

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator
from ctx_metrics.opening import JSON_LIMIT

QUIET = EngineOptions(device="cpu", quiet=True)
EXAMPLE = Example("the cat sat", "a cat sat", "the old cat")
HIDDEN, HEAD = "encoder.model.encoder.layer.0.output.dense.weight", "estimator.ff.3.weight"


@pytest.fixture
def copy(comet_checkpoint, tmp_path):
    """Makes a copy of a checkpoint that a test may damage; it points to its own encoder folder."""

    def make(name="regression"):
        folder = shutil.copytree(comet_checkpoint(name), tmp_path / name)
        return change_ckpt(folder, hyper_parameters={"pretrained_model": str(folder / "encoder")})

    return make


def values(folder) -> list[float]:
    return [each.value for each in load_estimator(str(folder), QUIET).estimate([EXAMPLE], "test")]


def content(change):
    """A change of all that a .ckpt holds."""
    return lambda folder: write_ckpt(folder, change(torch.load(folder / CKPT, weights_only=True)))


def tensor(name: str, change):
    return lambda folder: change_ckpt(folder, state_dict={name: change})


def parameter(name: str, value):
    return lambda folder: change_ckpt(folder, hyper_parameters={name: value})


def config(**changes):
    return other("encoder/config.json", **changes)


def hparams(content: str):
    return text("hparams.yaml", content)


def more_pieces(folder) -> None:
    """Give the tokenizer ids beyond the word embeddings."""
    path = folder / "encoder" / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    pieces = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = [*pieces[:4], *([f"p{i}", -9.0] for i in range(4000)), *pieces[4:]]
    tokenizer["added_tokens"] = [token for token in tokenizer["added_tokens"] if token["id"] < 4]
    path.write_text(json.dumps(tokenizer))


def nested(levels: int = 40):
    """A list that holds one list eight times, and so on: a few objects that no printer comes to the end of."""
    value = ["x"]
    for _ in range(levels):
        value = [value] * 8
    return value


MERGES = "class_identifier: regression_metric\na0: &a0 {k: v}\n" + "".join(
    f"a{k}: &a{k}\n  <<: [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 9)
)
FILE = f"FOLDER/{CKPT}"
UNREAD = f"{FILE} cannot be read: "
REFUSED = f"{FILE} is damaged or holds more than tensors"
NO_COMET = f"{FILE} is not a COMET checkpoint: hyper_parameters or state_dict is missing"
UNFIT = f"{FILE} does not fit its hyper-parameters; "
NO_CONFIG = "FOLDER/encoder holds no readable config.json"
NO_CLASS = "FOLDER/hparams.yaml: class_identifier {} is not one of regression_metric, "
UNREAD_HPARAMS, UNNAMED = "FOLDER/hparams.yaml cannot be read: ", "FOLDER/hparams.yaml names no class_identifier"
TOO_SMALL = "numbers, more than the"
DAMAGES = {  # what is damaged, and words of the line
    # the .ckpt as a file
    "no .ckpt": (without(CKPT), "FOLDER/checkpoints must hold one .ckpt file (found: none)"),
    "an empty file": (cut(CKPT, 0), f"{UNREAD}EOFError"),
    **{f"a file cut to {part}": (cut(CKPT, part), f"{UNREAD}it is cut short") for part in (0.01, 0.999)},
    "compressed": (lambda folder: compress(folder / CKPT), f"{FILE} is compressed"),
    "a refusal": (text(CKPT, "Rate limit exceeded"), f"{UNREAD}it is not a PyTorch file"),
    "html": (text(CKPT, "<!DOCTYPE html>\n<html><head><title>404</title>"), "begins with '<!DOCTYPE html> <html>"),
    "bytes": (text(CKPT, b"\xff" * 99), REFUSED),
    "an unpickler's stack": (text(CKPT, b"\x80\x02]q\x00"), f"{UNREAD}EOFError"),
    "an unpickler's memo": (text(CKPT, b"\x80\x02h\x61."), f"{UNREAD}KeyError: 97"),
    "an archive's end": (text(CKPT, b"PK\x05\x06" + b"\0" * 18), REFUSED),
    # what it holds
    "a state dict alone": (content(lambda found: found["state_dict"]), NO_COMET),
    "a list": (content(lambda found: [found]), f"{UNREAD}it holds no dictionary of tensors"),
    "a list of names": (content(lambda found: {**found, "state_dict": [*found["state_dict"]]}), NO_COMET),
    "text for hyper-parameters": (content(lambda found: {**found, "hyper_parameters": "text"}), NO_COMET),
    "no tensors": (content(lambda found: {**found, "state_dict": {}}), f"describes 49984 {TOO_SMALL}"),
    "text for tensors": (content(lambda found: {**found, "state_dict": {HEAD: "text"}}), TOO_SMALL),
    "one tensor more": (tensor("adapter.weight", torch.zeros(3)), f"{UNFIT}not expected: adapter.weight;"),
    "nan": (tensor(HIDDEN, lambda t: t * torch.nan), f"{FILE}: {HIDDEN} is not finite"),
    "inf in the head": (tensor(HEAD, lambda t: t + torch.inf), f"{FILE}: {HEAD} is not finite"),
    "bools": (tensor(HIDDEN, torch.Tensor.bool), f"{FILE}: {HIDDEN} is a strided tensor of bool on cpu"),
    "sparse": (tensor(HIDDEN, torch.Tensor.to_sparse), f"{FILE}: {HIDDEN} is a sparse_coo tensor of float32 on cpu"),
    "meta": (tensor(HEAD, lambda t: t.to("meta")), f"{FILE}: {HEAD} is a strided tensor of float32 on meta"),
    "2^40 numbers of one": (
        tensor(HEAD, lambda t: t[:1, :1].clone().expand(1, 2**40)),
        f"{UNREAD}its tensors have 10995116",
    ),
    "a thousand names of one tensor": (
        lambda folder, one=torch.ones(10**5): change_ckpt(folder, state_dict={f"loss.{k}": one for k in range(1000)}),
        f"{UNREAD}its tensors have 100",
    ),
    "a layer of the head with a number of 5,000 digits": (
        tensor(f"estimator.ff.{'9' * 5000}.weight", torch.zeros(3)),
        f"{UNFIT}not expected: estimator.ff.{'9' * 67};",
    ),
    "no activation": (parameter("activations", None), f"{FILE}: activations is None"),
    "an activation of pairs": (parameter("activations", "Glu"), f"{FILE}: torch.nn has no activation 'Glu'"),
    "a value without end": (parameter("pretrained_model", nested()), f"{FILE}: pretrained_model is a list"),
    # hparams.yaml
    "no hparams.yaml": (without("hparams.yaml"), "FOLDER/hparams.yaml is missing"),
    **{f"hparams.yaml: {held}": (hparams(held), UNNAMED) for held in ("", "- a", "pool: avg")},
    "a list without end": (hparams("a: ["), f"{UNREAD_HPARAMS}while parsing a flow node"),
    "a zero byte": (hparams("\x00"), f"{UNREAD_HPARAMS}unacceptable character #x0000"),
    "code": (
        hparams("class_identifier: !!python/object/apply:os.mkdir ['ran']"),
        f"{UNREAD_HPARAMS}could not determine a constructor for the tag",
    ),
    "merge keys": (hparams(MERGES), f"{UNREAD_HPARAMS}it holds a merge key (<<)"),
    "deep YAML": (hparams(f"class_identifier: {'[' * 500}"), f"{UNREAD_HPARAMS}it is nested too deeply"),
    "large YAML": (hparams("x: 1\n" * 100_000), f"{UNREAD_HPARAMS}it is larger than 256 KiB"),
    "a date": (
        hparams("class_identifier: regression_metric\nday: 2001-99-99\n"),
        f"{UNREAD_HPARAMS}month must be in 1..12",
    ),
    "aliases": (hparams(yaml.safe_dump({"class_identifier": nested(12)})), NO_CLASS.format("a list")),
    **{f"class {kind}": (hparams(f"class_identifier: {kind}"), NO_CLASS.format(kind)) for kind in (3, "''")},
    "another class": (hparams("class_identifier: unified_metric"), "is class_identifier right?"),
    # the encoder's files
    "no config": (without("encoder/config.json"), "needs the configuration and tokenizer of its encoder 'FOLDER/enc"),
    "deep JSON": (text("encoder/config.json", '{"model_type":' + "[" * 20_000), NO_CONFIG),
    "large JSON": (text("encoder/config.json", json.dumps({"x": "x" * JSON_LIMIT})), NO_CONFIG),
    "10^12 words of width": (config(hidden_size=10**12), TOO_SMALL),
    "1,000,000 layers": (config(num_hidden_layers=1_000_000), f"describes 8544024352 {TOO_SMALL}"),
    "large words": (config(hidden_size=4 * 10**3000), f"describes over 1e60 {TOO_SMALL}"),
    "one position": (config(max_position_embeddings=1), "FOLDER/encoder: config.json gives max_position_embeddings 1"),
    "wider": (config(hidden_size=64), f"{UNFIT}of another shape: encoder.model.embeddings.word_embeddings.weight [244"),
    "fewer layers": (config(num_hidden_layers=2), f"{UNFIT}not expected: encoder.model.encoder.layer.2."),
    "more layers": (config(num_hidden_layers=4), f"{UNFIT}missing: encoder.model.encoder.layer.3."),
    "a kind that is a list": (config(model_type=[]), "FOLDER/encoder is of kind a list"),
    "of kind bert": (config(model_type="bert"), "is of kind 'bert', but the checkpoint's encoder is XLM-RoBERTa"),
    "an epsilon that is a word": (config(layer_norm_eps="x"), "config.json gives 'x' for layer_norm_eps"),
    "no tokenizer": (
        without("encoder/tokenizer.json", "encoder/tokenizer_config.json"),
        "FOLDER/encoder: its tokenizer is missing",
    ),
    "a broken tokenizer": (text("encoder/tokenizer.json", "[]"), "FOLDER/encoder: its tokenizer cannot be loaded"),
    "another tokenizer": (more_pieces, "FOLDER/encoder: its tokenizer gives token 4207, but the model has 244: "),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_checkpoint(copy, name, recwarn):
    damage, words = DAMAGES[name]
    folder = copy()
    damage(folder)
    assert words in line(lambda: values(folder), folder)
    assert not [str(each.message) for each in recwarn]


LAYERS = "FOLDER/encoder: the encoder has layers 0 to {}, but the checkpoint reads {}"


@pytest.mark.parametrize(
    "name, setting, value, words",
    [
        ("regression", "encoder_model", "GPT", f"{FILE}: encoder_model 'GPT' is not one of XLM-RoBERTa, "),
        ("regression", "pool", "median", f"{FILE}: pool 'median' is not one of avg, "),
        *(("regression", "layer", each, LAYERS.format(3, f"layer {each!r}")) for each in (4, -1, "first")),
        ("regression", "activations", "Module", f"{FILE}: torch.nn has no activation 'Module'"),
        ("regression", "final_activation", "Linear", f"{FILE}: torch.nn has no activation 'Linear'"),
        ("regression", "final_activation", 5, f"{FILE}: final_activation is 5, "),
        ("kiwi", "sent_layer", 9, LAYERS.format(4, "layer 9")),
        ("kiwi", "word_layer", 5, LAYERS.format(4, "word_layer 5")),
        ("kiwi", "word_layer", "mix", f"{FILE}: word_layer is 'mix', "),
        *(
            ("kiwi", "input_segments", each, f"{FILE}: input_segments {each} are not mt with src, ref or both")
            for each in (["mt"], ["src", "ref"])
        ),
        ("kiwi", "input_segments", 3, f"{FILE}: its hyper-parameters are not those of a COMET model"),
        ("kiwi", "error_labels", None, f"{FILE}: its hyper-parameters are not those of a COMET model"),
        ("kiwi", "error_labels", ["minor"], "of another shape: hidden2tag.weight [3, 32], not [2, 32]"),
        ("xcomet", "error_labels", ["minor", "major"], "of another shape: hidden2tag.weight [4, 32], not [3, 32]"),
    ],
)
def test_unfit_settings(copy, name, setting, value, words):
    folder = copy(name)
    change_ckpt(folder, hyper_parameters={setting: value})
    assert words in line(lambda: values(folder), folder)


@pytest.mark.parametrize(
    "name, tensor",
    [
        ("regression", "encoder.model.encoder.layer.2.output.dense.bias"),
        ("regression", "layerwise_attention.scalar_parameters.2"),
        ("regression", "layerwise_attention.gamma"),
        ("regression", "estimator.ff.3.weight"),
        ("regression", "estimator.ff.6.bias"),
        ("xcomet", "hidden2tag.bias"),
        ("xcomet", "encoder.model.encoder.LayerNorm.weight"),
    ],
)
def test_a_tensor_is_missing_or_misshaped(copy, name, tensor):
    folder = copy(name)
    whole = torch.load(folder / CKPT, weights_only=True)
    kept = whole["state_dict"].pop(tensor).clone()
    for changed in ({}, *({tensor: wrong} for wrong in (torch.cat([kept, kept]), kept[None], "text"))):
        write_ckpt(folder, {**whole, "state_dict": {**whole["state_dict"], **changed}})
        said = line(lambda: values(folder), folder)
        assert said.startswith(FILE) and tensor in said


@pytest.mark.parametrize("seed", some(range(12), range(4)))
def test_a_checkpoint_of_random_bytes(copy, seed):
    """Bytes are changed where the archive's directory or the pickle lies."""
    folder, generator = copy(), torch.Generator().manual_seed(seed)
    data = bytearray((folder / CKPT).read_bytes())
    for at in torch.randint(0, 3000, (20,), generator=generator).tolist():
        data[-at if seed % 2 else at] ^= 1 + at % 255
    (folder / CKPT).unlink()
    (folder / CKPT).write_bytes(data)
    assert FILE in line(lambda: load_estimator(str(folder), QUIET), folder)


def test_leftovers_of_older_releases_do_not_matter(copy):
    folder, model = copy(), "encoder.model."
    before = values(folder)
    old = {
        f"{model}embeddings.position_ids": torch.arange(514)[None],
        f"{model}embeddings.token_type_ids": torch.zeros(1, 514, dtype=torch.long),
        f"{model}pooler.dense.weight": torch.zeros(32, 32),
        f"{model}pooler.dense.bias": torch.zeros(32),
    }
    assert values(change_ckpt(folder, state_dict=old)) == before


def test_tensors_that_share_their_memory(copy):
    """Tied weights and expanded ones have more numbers than the file, and give the scores of copies."""
    folder = copy()

    def tied(change) -> list[float]:
        def tie(found):
            tensors = found["state_dict"]
            tensors[HIDDEN.replace("layer.0", "layer.1")] = change(tensors[HIDDEN])
            bias = HIDDEN.replace("weight", "bias")
            tensors[bias] = change(torch.tensor([0.25]).expand(tensors[bias].shape))
            return found

        content(tie)(folder)
        return values(folder)

    copied, size = tied(torch.clone), (folder / CKPT).stat().st_size
    assert tied(lambda tensor: tensor) == copied
    assert (folder / CKPT).stat().st_size < size
    convert(str(folder), folder.parent / "converted")
    assert values(folder.parent / "converted") == copied


def test_dropout_for_an_activation_is_that_of_evaluation(copy):
    folder = copy()
    change_ckpt(folder, hyper_parameters={"activations": "Dropout"})
    found = [values(folder) for _ in range(3)]
    change_ckpt(folder, hyper_parameters={"activations": "Identity"})
    assert found == [values(folder)] * 3
