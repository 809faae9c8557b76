"""xCOMET-lite as it is published: a folder without hparams.yaml that PyTorchModelHubMixin has saved."""

import json
import shutil

import pytest
import torch
from comet_checkpoints import RECIPES, build_lite
from comet_texts import TEXTS
from damage import change, line, other, text, without
from selection import some

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator

QUIET = EngineOptions(device="cpu", quiet=True)
FEW = TEXTS[:12]


@pytest.fixture(scope="module")
def lite(comet_checkpoint, tmp_path_factory):
    return build_lite(comet_checkpoint("xcomet-lite"), tmp_path_factory.mktemp("lite") / "lite")


@pytest.fixture
def copy(lite, tmp_path):
    return shutil.copytree(lite, tmp_path / "copy")


def estimates(folder, **settings) -> list:
    estimator = load_estimator(str(folder), QUIET, **settings)
    return estimator.estimate([Example(mt, ref, src) for src, mt, ref in FEW], "test")


def signature(folder) -> dict:
    return load_estimator(str(folder), QUIET).signature()


def test_scores_and_spans_are_those_of_the_same_tensors_in_a_ckpt_file(lite, comet_checkpoint):
    for inputs in (None, "mt+src", "mt+ref"):
        found = estimates(lite, inputs=inputs)
        assert found == estimates(comet_checkpoint("xcomet-lite"), inputs=inputs)
    assert any(each.spans for each in found)


@pytest.mark.parametrize("safetensors", some([True, False], [True]))
def test_a_config_of_how_the_class_was_made(lite, comet_checkpoint, tmp_path, safetensors):
    """As newer releases of huggingface_hub save it; what it says counts."""
    made = {"encoder_model": "DeBERTa", "hidden_sizes": list(RECIPES["xcomet-lite"].hidden_sizes), "word_layer": 8}
    made |= {"layer_transformation": "softmax", "load_pretrained_weights": False, "word_level_training": True}
    made |= {"pretrained_model": "microsoft/mdeberta-v3-base", "validation_data": []}
    folder = build_lite(comet_checkpoint("xcomet-lite"), tmp_path / "made", safetensors, **made)
    assert estimates(folder) == estimates(lite)
    values = [each.value for each in estimates(lite)]
    for name, value in (("word_layer", 3), ("layer_transformation", "sparsemax")):
        change(folder, **made | {name: value})
        assert [each.value for each in estimates(folder)] != values


def test_the_tokenizer_may_lie_in_the_folder_itself(lite, copy):
    for file in (copy / "encoder").iterdir():
        shutil.move(file, copy / file.name)
    assert estimates(copy) == estimates(lite)


def test_a_sentencepiece_model_is_the_tokenizer(lite, copy, tmp_path):
    """microsoft/mdeberta-v3-base has no other."""
    sentencepiece = pytest.importorskip("sentencepiece")
    from transformers import AutoTokenizer

    pieces = tmp_path / "text"
    pieces.write_text("\n".join(mt for _, mt, _ in FEW))
    special = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    options = {f"{role}_id": number for number, role in enumerate(special)}
    options |= {f"{role}_piece": piece for role, piece in special.items()}
    model = str(copy / "encoder" / "spm")
    sentencepiece.SentencePieceTrainer.train(
        input=str(pieces), model_prefix=model, vocab_size=60, minloglevel=2, **options
    )
    (copy / "encoder" / "tokenizer.json").unlink()
    (copy / "encoder" / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False, "vocab_type": "spm"}))
    tokenizer = load_estimator(str(copy), QUIET).encoder.tokenizer
    theirs = AutoTokenizer.from_pretrained(str(copy / "encoder"))
    for _, hypothesis, _ in FEW:
        assert tokenizer([hypothesis])[0].ids.tolist() == theirs(hypothesis)["input_ids"]
    assert [each.value for each in estimates(copy)] != [each.value for each in estimates(lite)]
    assert signature(copy)["ckpt"] != signature(lite)["ckpt"]


def test_a_converted_folder_needs_nothing_else(lite, copy, tmp_path):
    convert(str(copy), tmp_path / "converted")
    shutil.rmtree(copy)
    for found, expected in zip(estimates(tmp_path / "converted"), estimates(lite), strict=True):
        assert found.value == pytest.approx(expected.value, abs=1e-6)
        assert [span[:2] for span in found.spans] == [span[:2] for span in expected.spans]
    assert signature(tmp_path / "converted") == {**signature(lite), "model": "converted"}


def tensors(change):
    def damage(folder):
        path = folder / "pytorch_model.bin"
        found = change(torch.load(path, weights_only=True))
        path.unlink()
        torch.save(found, path)

    return damage


HEAD, TABLE = "estimator.ff.0.weight", "encoder.model.encoder.rel_embeddings.weight"
FILE = "FOLDER/pytorch_model.bin"
DAMAGES = {
    "no weights": (without("pytorch_model.bin"), "FOLDER is not a quality model"),
    "an encoder alone": (
        tensors(lambda found: {name: each for name, each in found.items() if "encoder" in name}),
        f"{FILE} holds a text encoder, or no whole COMET model ({HEAD} is missing); name a COMET model",
    ),
    "an encoder's own names": (
        tensors(lambda found: {name.removeprefix("encoder.model."): each for name, each in found.items()}),
        f"{FILE} does not fit its hyper-parameters; missing: encoder.model.embeddings.word_embeddings.weight",
    ),
    "a table of fewer distances": (
        tensors(lambda found: found | {TABLE: found[TABLE][:8]}),
        f"{FILE} does not fit its hyper-parameters; of another shape: {TABLE} [8, 32], not [64, 32]",
    ),
    "text for a config": (text("config.json", "x"), "FOLDER holds no readable config.json"),
    "another kind of model": (other("config.json", model_type="bert"), "FOLDER is not a quality model"),
    "a word layer that is a word": (
        text("config.json", '{"encoder_model": "DeBERTa", "word_layer": "x"}'),
        "FOLDER/config.json: word_layer is 'x', which no COMET model has; fetch it again",
    ),
    "another encoder": (
        text("config.json", '{"encoder_model": "BERT"}'),
        "FOLDER/encoder: config.json is of kind 'deberta-v2', but the checkpoint's encoder is BERT",
    ),
    **{
        f"{key} {value}": (
            other("encoder/config.json", **{key: value}),
            f"FOLDER/encoder: {key} {shown} is not supported",
        )
        for key, value, shown in (
            ("position_biased_input", True, "True"),
            ("conv_kernel_size", 3, "3"),
            ("pos_att_type", ["c2p"], "'c2p'"),
            ("pos_att_type", 7, "'7'"),
            ("type_vocab_size", 2, "2"),
        )
    },
    "no buckets": (other("encoder/config.json", position_buckets=-1), "gives no number for position_buckets"),
    "one bucket": (other("encoder/config.json", position_buckets=1), "gives 1 for position_buckets"),
    "10^9 positions": (other("encoder/config.json", max_position_embeddings=10**9), "1000000000, more than 8192"),
    "10^12 buckets": (other("encoder/config.json", position_buckets=10**12), "numbers, more than the"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_folder(copy, name):
    damage, words = DAMAGES[name]
    damage(copy)
    assert words in line(lambda: estimates(copy), copy)
