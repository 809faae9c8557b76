"""Folders of pairwise models: what they compute, by a plain reimplementation, and what is refused."""

import json

import numpy as np
import pytest
import torch
from damage import change, rehash
from identities import identity_of_folder
from pairwise_folders import write_pairwise
from safetensors.numpy import load_file, save_file

from ctx_metrics.errors import ModelError
from ctx_metrics.opening import file_sha256
from ctx_metrics.pairwise.model import PairwiseModel
from ctx_metrics.pairwise.sentence_vectors import SentenceVectors, parse_source

TEXTS = ["The cat sat on the mat.", "A cat sat on a mat.", "Cats sit.", "It rained all day in the town."]
VECTORS = ("encoder@0:5", "encoder@3")


@pytest.fixture
def folder(tmp_path):
    return write_pairwise(tmp_path / "model", ("bleu", "chrf"), VECTORS, 2)


def refused(folder, match):
    with pytest.raises(ModelError, match=match) as caught:
        PairwiseModel(str(folder))
    assert "\n" not in str(caught.value)


def plain(folder, texts, features, first, second, reference) -> float:
    """P of both orders' mean, from the tensors of the folder, in the order of the paper's equations."""
    tensors = {name: value.astype(np.float64) for name, value in load_file(folder / "model.safetensors").items()}
    raw = SentenceVectors([parse_source(spec) for spec in VECTORS])(texts)
    reduced = (raw[0] - tensors["mean_0"]) @ tensors["components_0"].T
    x = np.clip(np.concatenate([reduced, raw[1]], axis=1), -1, 1)  # vectors' limits are -1 and 1
    psi = np.clip(2 * features / 100 - 1, -1, 1)
    # places of the network's weight: t1 in (t1, t2), t1 in (t1, r), t2 in (t1, t2), t2 in (t2, r), r in (t1, r), r in (t2, r)
    w, b = tensors["network.weight"], tensors["network.bias"]

    def p(one, other):
        h_12 = np.tanh(w[0] @ x[one] + w[2] @ x[other] + b[0])
        h_1r = np.tanh(w[1] @ x[one] + w[4] @ x[reference] + b[1])
        h_2r = np.tanh(w[3] @ x[other] + w[5] @ x[reference] + b[2])
        inputs = np.concatenate([h_12, h_1r, h_2r, psi[one], psi[other]])
        return 1 / (1 + np.exp(-(tensors["network.output"] @ inputs + tensors["network.output_bias"][0])))

    return (p(first, second) + 1 - p(second, first)) / 2


def test_a_model_of_the_hub_is_known_by_its_commit(folder, monkeypatch):
    commit = folder.rename(folder.with_name("0123456789abcdef" * 2 + "01234567"))
    monkeypatch.setattr("ctx_metrics.pairwise.model.hub_folder", lambda name, kind: ("someone/pairwise", commit))
    signature = PairwiseModel("someone/pairwise@main").signature()
    assert (signature["model"], signature["rev"]) == ("someone/pairwise", "0123456789ab")


def test_the_whole_by_hand(folder):
    model = PairwiseModel(str(folder))
    features = np.array([[90.0, 80], [40, 150], [-10, 30], [0, 0]])
    outputs = model.outputs(TEXTS, features)
    for first, second, reference in ((0, 1, 3), (1, 2, 0), (2, 0, 0)):
        [found] = model.probabilities(
            outputs.rows(np.array([first])), outputs.rows(np.array([second])), outputs.terms[[reference]]
        )
        assert found == pytest.approx(plain(folder, TEXTS, features, first, second, reference), abs=1e-6)
    turned = np.array([3, 2, 1, 0])
    there = model.probabilities(outputs, outputs.rows(turned), outputs.terms)
    back = model.probabilities(outputs.rows(turned), outputs, outputs.terms)
    assert (there + back == 1).all()


def test_signature(folder):
    model = PairwiseModel(str(folder))
    assert model.signature() == {
        "model": "model",
        "rev": None,
        "ckpt": identity_of_folder(folder, "config.json", "model.safetensors"),
        "features": "bleu+chrf",
        "vectors": "encoder@0:5+encoder@3",
    }
    assert not model.english_only and model.feature_specs == ["bleu", "chrf"]
    # it has no path
    model.feature_specs = ["comet:inputs=mt,model=/home/me/my comet,on_long=error", "bertr:layers=3,4,model=a/b"]
    assert model.signature()["features"] == "comet:inputs=mt,model=my comet,on_long=error+bertr:layers=3,4,model=b"


def test_a_feature_without_a_score_gives_nan(folder):
    outputs = PairwiseModel(str(folder)).outputs(TEXTS[:2], np.array([[50.0, np.nan], [50, 50]]))
    found = PairwiseModel(str(folder)).probabilities(outputs, outputs.rows(np.array([1, 1])), outputs.terms)
    assert np.isnan(found[0]) and found[1] == 0.5


@pytest.mark.parametrize(
    "fields, match",
    [
        ({"without": ["features", "vectors"]}, "lacks features, vectors"),
        ({"features": [{"spec": "bleu"}]}, "features holds .*, which is not an entry with spec, columns, signature"),
        ({"features": [{"spec": "bleu", "columns": True, "signature": ""}]}, "features holds"),
        ({"features": [{"spec": "bleu", "columns": 1, "signature": ""}]}, "a network of 2 features"),
        ({"vectors": [7]}, "vectors holds 7"),
        ({"vectors": []}, "sentence vectors have 0 numbers, and the network reads 389"),
        ({"network": {"vectors": 389}}, "its network has vectors"),
        ({"encoder": "/nowhere"}, "its encoder '/nowhere' cannot be used"),
    ],
)
def test_a_wrong_field(folder, fields, match):
    refused(change(folder, **fields), match)


@pytest.mark.parametrize(
    "changes", [{"hidden": 3}, {"vectors": -1}, {"hidden": "x"}, {"tied": True}, {"features": None}]
)
def test_another_network(folder, changes):
    network = json.loads((folder / "config.json").read_text())["network"]
    refused(change(folder, network={**network, **changes}), "copy the folder again")


def test_word_vectors(tmp_path):
    """A file of word vectors is found beside the model or where it was, and must be the one of training."""
    file = tmp_path / "words.txt"
    file.write_text("the 1 0 0\ncat 0 1 0\nsat 0 0 1\n")
    entry = {"spec": "words.txt", "width": 3, "dimensions": None, "path": str(file), "sha256": file_sha256(file)}
    whole = write_pairwise(tmp_path / "model", ("chrf",), ("encoder",), 2)
    network = json.loads((whole / "config.json").read_text())["network"]
    change(whole, vectors=[entry], network={**network, "vectors": 3}, encoder=None, encoder_ckpt=None)
    tensors = load_file(whole / "model.safetensors")
    for name in ("network.weight", "vector_low", "vector_high"):
        tensors[name] = np.ascontiguousarray(tensors[name][..., :3])
    save_file(tensors, whole / "model.safetensors")
    rehash(whole)
    there = PairwiseModel(str(whole)).terms(["the cat", "The dog"])
    assert torch.equal(there[0], PairwiseModel(str(whole)).terms(["the cat"])[0]) and not torch.equal(*there)
    moved = file.rename(tmp_path / "model" / "words.txt")
    assert torch.equal(PairwiseModel(str(whole)).terms(["the cat"])[0], there[0])
    moved.write_text(moved.read_text().replace("cat 0 1", "cat 0 2"))
    refused(whole, "words.txt hashes to .*, but .* was trained on word vectors that hash to")
