"""Models that a process shares: what is handed out is what the files hold now, and release() frees all of it."""

import gc
import json
import os
import shutil
import subprocess
import sys
import weakref

import pytest
import torch
from classifiers import write_classifier
from comet_checkpoints import RECIPES, build
from safetensors.torch import load_file, save_file
from sentence_folders import TANH, dense, pooling, write_model

import ctx_metrics
from ctx_metrics import BERTR, COMET, RTTSBERT, PRSentBLEU, release
from ctx_metrics.engine.device import TokenBudget
from ctx_metrics.engine.encoder import TextEncoder, shared_encoder
from ctx_metrics.engine.memory import LoadedModels
from ctx_metrics.engine.options import EngineOptions
from ctx_metrics.errors import ModelError
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.sentence import resolve_sentence_model, shared_sentence_encoder
from ctx_metrics.pseudo_references.paraphrase.classifier import shared_classifier

QUIET = EngineOptions(device="cpu", quiet=True)
HYPOTHESIS, REFERENCE = "the cat sat", "a cat ran home"


def replace_weights(path, factor: float = 1.3) -> None:
    """Put other numbers into a file of tensors, in place of the old ones, with their time of change."""
    before = path.stat()
    tensors = {
        name: tensor * factor if tensor.dim() > 1 else tensor.clone() for name, tensor in load_file(path).items()
    }
    save_file(tensors, f"{path}.new", {"format": "pt"})
    os.utime(f"{path}.new", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(f"{path}.new", path)


def edit(path, **changes) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def bertr(folder):
    return lambda: BERTR(model=str(folder), engine=QUIET).corpus_score([HYPOTHESIS], [[REFERENCE]]).score


def comet(folder):
    metric = {"sources": [REFERENCE], "model": str(folder), "engine": QUIET}
    return lambda: COMET(**metric).corpus_score([HYPOTHESIS], [[REFERENCE]]).score


def cosine(folder):
    pairs = [(HYPOTHESIS, REFERENCE)]
    return lambda: shared_sentence_encoder(resolve_sentence_model(str(folder)), QUIET).cosines(pairs)[0].value


def paraphrase(folder):
    return lambda: shared_classifier(str(folder), QUIET).probabilities([(HYPOTHESIS, REFERENCE)])[0]


def converted(folder, bert):
    convert(str(build(RECIPES["regression"], folder.parent / "unconverted")), folder)
    return folder


def change_converted(folder):
    """Other weights in a converted folder, whose config.json vouches for them."""
    shutil.rmtree(folder)
    source = folder.parent / "unconverted" / "checkpoints" / "model.ckpt"
    content = torch.load(source, weights_only=True)
    content["state_dict"]["estimator.ff.6.bias"] = content["state_dict"]["estimator.ff.6.bias"] + 1
    source.unlink()
    torch.save(content, source)
    convert(str(source), folder)


def change_ckpt(folder):
    path = folder / "checkpoints" / "model.ckpt"
    before, content = path.stat(), torch.load(path, weights_only=True)
    content["state_dict"]["estimator.ff.6.bias"] = content["state_dict"]["estimator.ff.6.bias"] + 1
    path.unlink()
    torch.save(content, path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def copied(folder, bert):
    return shutil.copytree(bert, folder)


def sentence_model(folder, bert):
    return write_model(folder, bert, [pooling("mean_tokens"), dense(TANH)])


def regression(folder, bert):
    return build(RECIPES["regression"], folder)


def pytorch_model(folder, bert):
    """An encoder of a PyTorch file; its safetensors, which are preferred, lie under another name."""
    torch.save(load_file(copied(folder, bert) / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).rename(folder / "kept")


def prefer_others(folder):
    (folder / "kept").rename(folder / WEIGHTS)
    replace_weights(folder / WEIGHTS)


WEIGHTS = "model.safetensors"
OTHER_WORD = {"type": "Replace", "pattern": {"String": "sat"}, "content": "ran"}
MAXIMUM = {"pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True}
CHANGES = {
    "bertr, weights": (copied, bertr, lambda folder: replace_weights(folder / WEIGHTS)),
    "bertr, config": (copied, bertr, lambda folder: edit(folder / "config.json", layer_norm_eps=0.5)),
    "bertr, tokenizer": (copied, bertr, lambda folder: edit(folder / "tokenizer.json", normalizer=OTHER_WORD)),
    "bertr, other weights": (pytorch_model, bertr, prefer_others),
    "sentence, weights": (sentence_model, cosine, lambda folder: replace_weights(folder / WEIGHTS)),
    "sentence, dense layer": (sentence_model, cosine, lambda folder: replace_weights(folder / "2_Dense" / WEIGHTS)),
    "sentence, pooling": (sentence_model, cosine, lambda folder: edit(folder / "1_Pooling" / "config.json", **MAXIMUM)),
    "paraphrase, weights": (write_classifier, paraphrase, lambda folder: replace_weights(folder / WEIGHTS)),
    "paraphrase, config": (
        write_classifier,
        paraphrase,
        lambda folder: edit(folder / "config.json", hidden_act="relu"),
    ),
    "comet, weights": (regression, comet, change_ckpt),
    "comet, config": (regression, comet, lambda folder: edit(folder / "encoder" / "config.json", layer_norm_eps=0.5)),
    "comet, converted": (converted, comet, change_converted),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_replaced_is_not_handed_out(tiny_bert, tmp_path, name):
    """One process, one folder: the score is that of a new process before and after the folder's files change."""
    make, use, change = CHANGES[name]
    folder = tmp_path / "model"
    make(folder, tiny_bert)
    score = use(folder)
    first = score()
    assert score() == first
    change(folder)
    second = score()
    release()
    assert score() == second != first


def test_an_encoder_is_shared_while_it_is_current(tiny_bert, tmp_path):
    folder = copied(tmp_path / "model", tiny_bert)
    encoder = shared_encoder(folder, QUIET)
    assert shared_encoder(folder, QUIET) is encoder
    assert shared_encoder(folder, EngineOptions(device="cpu", quiet=True, store_mb=9)) is not encoder
    (folder / "README.md").write_text("what nobody reads")
    assert shared_encoder(folder, QUIET) is encoder
    shutil.move(folder, tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", folder)
    assert shared_encoder(folder, QUIET) is encoder


@pytest.mark.parametrize("part", ["weights", "tokenizer"])
def test_a_change_before_the_first_text_is_said(tiny_bert, tmp_path, part):
    """The signature was made of what the folder held, and weights are loaded with the first text."""
    folder = copied(tmp_path / "model", tiny_bert)
    metric = BERTR(model=str(folder), engine=QUIET)
    if part == "weights":
        replace_weights(folder / WEIGHTS)
    else:
        edit(folder / "tokenizer.json", decoder=None)
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            metric.corpus_score([HYPOTHESIS], [[REFERENCE]])
        assert str(caught.value) == f"{folder} has changed since it was opened; create the metric again"


def test_release_frees_every_model(tiny_bert, tmp_path):
    folder = sentence_model(tmp_path / "model", tiny_bert)
    classifier = write_classifier(tmp_path / "classifier", tiny_bert)
    checkpoint = regression(tmp_path / "regression", tiny_bert)
    for score in (bertr(tiny_bert), cosine(folder), paraphrase(classifier), comet(checkpoint)):
        score()
    PRSentBLEU([[REFERENCE]], pseudo_references=[[HYPOTHESIS]])
    RTTSBERT(sources=[REFERENCE], roundtrips=[[HYPOTHESIS]], model=str(tiny_bert), engine=QUIET)
    held = BERTR(model=str(folder), engine=QUIET)
    models = [weakref.ref(model) for kind in LoadedModels._kinds for model in kind._models.values()]
    assert len(models) >= 6 and len(LoadedModels._kinds) == 5
    assert sum(type(model()) is TextEncoder for model in models) >= 3
    release()
    gc.collect()
    assert [model() for model in models if model() is not None] == [held.encoder]
    assert held.corpus_score([HYPOTHESIS], [[REFERENCE]]).score == bertr(folder)()


@pytest.mark.parametrize(
    "free", [release, lambda: TokenBudget(torch.device("cpu")).split(["a", "b"], [1, 1], full, "text")]
)
def test_memory_that_torch_keeps_is_freed(monkeypatch, free):
    """By release(), and before a batch that did not fit is tried again: on CUDA and on MPS, where there is either."""
    emptied = []
    for mps in (False, True):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda there=not mps: there)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda there=mps: there)
        for name in ("cuda", "mps"):
            monkeypatch.setattr(getattr(torch, name), "empty_cache", lambda name=name: emptied.append(name))
        free()
    assert emptied == ["cuda", "mps"]


def full(batch):
    """A forward that has memory for one text."""
    if len(batch) > 1:
        raise torch.OutOfMemoryError("out of memory")


def test_release_imports_no_torch():
    code = "import sys, ctx_metrics; ctx_metrics.release(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
    assert "release" in ctx_metrics.__all__
