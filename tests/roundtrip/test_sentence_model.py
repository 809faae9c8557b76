"""Sentence embeddings against the sentence_transformers library, over folders that are written here."""

import json
import logging
import pickle
import shutil

import numpy as np
import pytest
import torch
from selection import some
from sentence_folders import (
    IDENTITY,
    PAIRS,
    TANH,
    TEXTS,
    dense,
    distilbert,
    encoder_of,
    library_cosines,
    mean_model,  # noqa: F401  a fixture
    new_pooling,
    pooling,
    values,
    write_model,
)

from ctx_metrics.engine.encoder import shared_encoder
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import ModelError, ResourceError
from ctx_metrics.models import hub
from ctx_metrics.roundtrip.sentence_encoder import (
    LibrarySentenceEncoder,
    PackedSentenceEncoder,
    cosines,
    resolve_sentence_model,
    shared_sentence_encoder,
)

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


@pytest.mark.parametrize("name", some(MODELS, ["cls", "max", "dense, dense, normalize", "no flag", "new list"]))
def test_packed_models_agree_with_the_library(tmp_path, tiny_bert, name):
    modules, settings = MODELS[name]
    folder = write_model(tmp_path / "model", tiny_bert, modules, **settings)
    encoder = encoder_of(folder)
    assert isinstance(encoder, PackedSentenceEncoder)
    found, expected = values(encoder.cosines(PAIRS)), library_cosines(folder, PAIRS)
    assert found == pytest.approx(expected, abs=1e-5)
    assert np.ptp(expected) > 0.02


@pytest.mark.parametrize("family", ["tiny_roberta", "tiny_xlmr"])
@pytest.mark.parametrize("name", some(["mean", "cls", "dense, dense, normalize", "limit"], ["mean", "limit"]))
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
    with pytest.raises(ResourceError, match="device cpu has too little memory for 32 texts; try device='cpu'"):
        encoder.cosines([("a", "b")])


# one pass, one encoder


def test_the_encoder_is_shared_with_other_metrics(mean_model):
    options = EngineOptions(quiet=True, store_mb=7)
    encoder = shared_sentence_encoder(resolve_sentence_model(str(mean_model)), options)
    assert encoder is shared_sentence_encoder(resolve_sentence_model(str(mean_model)), options)
    texts = shared_encoder(mean_model, options)
    assert encoder.encoder is texts
    tokens = texts.tokenizer(["a dog", "a cat"])
    texts.encode(tokens, [(1,)])  # another metric's layer: the sentence vectors are read in the same pass
    texts._start = None
    assert values(encoder.cosines([("a dog", "a cat")])) != [None]


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
