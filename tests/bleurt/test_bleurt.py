"""bleurt against transformers' own model, and what a run says and refuses."""

import json
import math
import pickle
import shutil
from pathlib import Path

import laws
import numpy as np
import pytest
import torch
from bleurt_folders import TEXTS, make, oracle, pieces
from safetensors.torch import load_file, save_file

from ctx_metrics import BLEURT, EngineOptions, InputError, ModelError
from ctx_metrics.bleurt.tokenizer import kept

HYPOTHESES, REFERENCES = TEXTS[3:] + TEXTS[:3], TEXTS[::-1]
OTHERS = TEXTS[2:] + TEXTS[:2]
QUIET = EngineOptions(quiet=True)
CLOSE = 1e-3  # 1e-5 of the values, which are printed x100


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("checkpoints") / "BLEURT-20-tiny")


def scores(metric: BLEURT, hypotheses=HYPOTHESES, references=(REFERENCES,)) -> list[float]:
    return [each.score for each in metric.segment_scores(hypotheses, [list(each) for each in references])]


def expected(folder: Path, hypotheses=HYPOTHESES, references=REFERENCES, activation="gelu") -> list[float]:
    return [100 * value for value in oracle(folder, list(zip(hypotheses, references, strict=True)), activation)]


def stated(folder: Path, **changed) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    return folder


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_scores_are_those_of_transformers(folder, activation):
    found = scores(BLEURT(model=str(folder), activation=activation, engine=QUIET))
    assert np.ptp(found) > 30
    assert found == pytest.approx(expected(folder, activation=activation), abs=CLOSE)
    other = {"gelu": "gelu_tanh", "gelu_tanh": "gelu"}[activation]
    assert found != pytest.approx(expected(folder, activation=other), abs=CLOSE)


@pytest.mark.parametrize("act", ["gelu", "gelu_new", "gelu_pytorch_tanh"])
def test_the_folder_says_which_activation(folder, tmp_path, act):
    own = stated(shutil.copytree(folder, tmp_path / act), hidden_act=act)
    form = "gelu" if act == "gelu" else "gelu_tanh"
    metric = BLEURT(model=str(own), engine=QUIET)
    assert scores(metric) == scores(BLEURT(model=str(folder), activation=form, engine=QUIET))
    assert metric.get_signature().info["activation"] == form
    assert f"act:{form}" in metric.get_signature().format(short=True)


def test_the_reference_comes_first(folder):
    metric = BLEURT(model=str(folder), engine=QUIET)
    swapped = scores(metric, REFERENCES, [HYPOTHESES])
    assert swapped == pytest.approx(expected(folder, REFERENCES, HYPOTHESES), abs=CLOSE)
    assert np.abs(np.subtract(swapped, scores(metric))).max() > 1


@pytest.mark.parametrize("form", ["bin", "bin shards", "safetensors shards"])
def test_all_forms_of_weights_give_the_same_scores(folder, tmp_path, form):
    own = rewritten(folder, tmp_path / "rewritten", form)
    assert scores(BLEURT(model=str(own), engine=QUIET)) == scores(BLEURT(model=str(folder), engine=QUIET))


def rewritten(folder: Path, path: Path, form: str) -> Path:
    """The same checkpoint with its weights in another form."""
    kind, _, shards = form.partition(" ")
    write, stem = (torch.save, "pytorch_model.bin") if kind == "bin" else (save_file, "model.safetensors")
    path.mkdir()
    for name in ("config.json", "spm.model"):
        shutil.copyfile(folder / name, path / name)
    tensors = load_file(folder / "model.safetensors")
    if not shards:
        write(tensors, path / stem)
        return path
    name, _, ending = stem.partition(".")
    files = [f"{name}-{number}-of-00002.{ending}" for number in ("00001", "00002")]
    owner = {each: files[number % 2] for number, each in enumerate(sorted(tensors))}
    for file in files:
        write({each: tensor for each, tensor in tensors.items() if owner[each] == file}, path / file)
    (path / f"{stem}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": owner}))
    return path


def test_pairs_are_cut_as_google_cuts_them(folder):
    """The longer text loses its last tokens; both do where they are equally long."""
    long = " ".join(TEXTS * 30)
    hypotheses = [long, TEXTS[0], long, f"{long} {TEXTS[0]}", TEXTS[0]]
    references = [TEXTS[1], long, long, long, TEXTS[1]]
    metric = BLEURT(model=str(folder), engine=QUIET)
    assert scores(metric, hypotheses, [references]) == pytest.approx(
        expected(folder, hypotheses, references), abs=CLOSE
    )
    found = metric.corpus_score(hypotheses, [references])
    assert "truncated = 4" in found.format() and metric.last_result.counts["truncated"] == 4
    with pytest.raises(InputError, match=r"longer than the model reads \(512 tokens in total\), as 3 others are"):
        BLEURT(model=str(folder), on_long="error", engine=QUIET).corpus_score(hypotheses, [references])


def test_the_last_token_of_the_longer_text_goes_first():
    def one_by_one(reference: int, hypothesis: int, most: int) -> tuple[int, int]:
        while reference + hypothesis > most:
            if reference > hypothesis:
                reference -= 1
            else:
                hypothesis -= 1
        return reference, hypothesis

    for most in (9, 10):
        for lengths in np.ndindex(25, 25):
            assert kept(*lengths, most) == one_by_one(*lengths, most)


def test_a_pair_of_exactly_512_tokens_is_whole(folder):
    """Each word is one token; the hypothesis loses its last one where both are equally long."""
    for hypothesis, reference, whole in ((255, 254, True), (255, 255, False), (209, 300, True), (209, 301, False)):
        texts = [" ".join(["a"] * length) for length in (hypothesis, reference)]
        metric = BLEURT(model=str(folder), engine=QUIET)
        [found] = scores(metric, texts[:1], [texts[1:]])
        assert [found] == pytest.approx(expected(folder, texts[:1], texts[1:]), abs=CLOSE)
        metric.corpus_score(texts[:1], [texts[1:]])
        assert metric.last_result.counts.get("truncated", 0) == (not whole)


def test_batches_and_order_do_not_matter(folder):
    one_by_one = scores(BLEURT(model=str(folder), engine=EngineOptions(quiet=True, batch_tokens=1, store_mb=1)))
    assert scores(BLEURT(model=str(folder), engine=QUIET)) == pytest.approx(one_by_one, abs=CLOSE)
    backwards = scores(BLEURT(model=str(folder), engine=QUIET), HYPOTHESES[::-1], [REFERENCES[::-1]])
    assert backwards[::-1] == pytest.approx(one_by_one, abs=CLOSE)


def test_equal_pairs_are_read_once(folder, monkeypatch):
    metric = BLEURT(model=str(folder), engine=QUIET)
    seen = []
    encode = type(metric.estimator.encoder).encode
    monkeypatch.setattr(
        type(metric.estimator.encoder),
        "encode",
        lambda self, tokens, *more: seen.append(len(tokens)) or encode(self, tokens, *more),
    )
    found = scores(metric, [TEXTS[0]] * 5 + [TEXTS[1]], [[TEXTS[2]] * 6])
    assert seen == [2] and len(set(found[:5])) == 1 and found[5] != found[0]


def test_the_best_and_the_mean_of_several_references(folder):
    each = [scores(BLEURT(model=str(folder), engine=QUIET), references=[stream]) for stream in (REFERENCES, OTHERS)]
    for multiref, function in (("max", np.max), ("mean", np.mean)):
        metric = BLEURT(model=str(folder), multiref=multiref, engine=QUIET)
        found = scores(metric, references=(REFERENCES, OTHERS))
        assert found == pytest.approx(function(each, axis=0).tolist(), abs=CLOSE)


def test_empty_texts_get_what_the_model_computes_and_are_counted(folder):
    hypotheses, references = ["", TEXTS[0], "", TEXTS[1]], [TEXTS[0], "", "", TEXTS[2]]
    metric = BLEURT(model=str(folder), engine=QUIET)
    assert scores(metric, hypotheses, [references]) == pytest.approx(
        expected(folder, hypotheses, references), abs=CLOSE
    )
    assert "empty = 3" in metric.corpus_score(hypotheses, [references]).format()
    # beside others, an empty reference is none
    several = scores(metric, [TEXTS[0]], [[""], [TEXTS[2]]])
    assert several == pytest.approx(expected(folder, [TEXTS[0]], [TEXTS[2]]), abs=CLOSE)


def test_odd_lines(folder):
    metric = BLEURT(model=str(folder), engine=QUIET)
    for hypotheses, references in laws.odd_lines():
        found = scores(metric, hypotheses, [references])
        assert all(map(math.isfinite, found))
        assert found == pytest.approx(expected(folder, hypotheses, references), abs=CLOSE)


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_half_precision_is_close(folder, dtype):
    exact = scores(BLEURT(model=str(folder), engine=QUIET))
    found = scores(BLEURT(model=str(folder), engine=EngineOptions(dtype=dtype, quiet=True)))
    assert found == pytest.approx(exact, abs=1)


def test_the_signature(folder):
    metric = BLEURT(model=str(folder), engine=QUIET)
    found = metric.corpus_score(HYPOTHESES, [REFERENCES])
    info = metric.get_signature().info
    wanted = {"inputs": "mt+ref", "maxlen": 512, "multiref": "max", "activation": "gelu", "scale": 100, "dtype": "fp32"}
    assert {key: info[key] for key in wanted} == wanted and json.dumps(info)
    assert found.name == "BLEURT" and metric.can.higher_is_better
    again = pickle.loads(pickle.dumps(metric))
    assert again.corpus_score(HYPOTHESES, [REFERENCES]).score == found.score


def lacking_a_shard(folder: Path) -> None:
    next(folder.glob("*-00002-of-00002.*")).unlink()


def lacking_a_tensor(folder: Path) -> None:
    path = folder / "model.safetensors.index.json"
    shards = [load_file(each) for each in sorted(folder.glob("*.safetensors"))]
    tensors = {name: each for shard in shards for name, each in shard.items() if "pooler" not in name}
    path.unlink()
    save_file(tensors, folder / "model.safetensors")


def of_another_head(folder: Path) -> None:
    lacking_a_tensor(folder)
    path = folder / "model.safetensors"
    tensors, width = load_file(path), 36
    pooler = {"bleurt.pooler.dense.weight": torch.ones(width, width + 1), "bleurt.pooler.dense.bias": torch.ones(width)}
    save_file(tensors | pooler, path)


def without_pieces(folder: Path) -> None:
    (folder / "spm.model").unlink()


def broken_pieces(folder: Path) -> None:
    (folder / "spm.model").write_bytes((folder / "spm.model").read_bytes()[:-50])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lacking_a_shard, "model-00002-of-00002.safetensors"),
        (lacking_a_tensor, "its weights lack the tensor 'pooler.dense.weight'"),
        (of_another_head, r"bleurt.pooler.dense.weight is of shape \[36, 37\], not \[36, 36\]"),
        (without_pieces, "has no spm.model"),
        (broken_pieces, "spm.model cannot be read as a SentencePiece model"),
        (
            lambda folder: stated(folder, model_type="rembert"),
            "is not a BLEURT-20 checkpoint: config.json gives 'rembert'",
        ),
        (lambda folder: stated(folder, embedding_size=None), "older BLEURT for English"),
        (lambda folder: stated(folder, embedding_size="16"), "config.json gives '16' for embedding_size"),
        (lambda folder: stated(folder, hidden_size=35), "hidden_size 35, which 3 attention heads cannot share"),
        (lambda folder: stated(folder, type_vocab_size=1), "type_vocab_size 1"),
        (lambda folder: stated(folder, vocab_size=10**9), "more than the .* bytes"),
        (lambda folder: stated(folder, vocab_size=9), "its tokenizer gives token .* do not belong together"),
        (lambda folder: stated(folder, num_hidden_layers=4), "lack the tensor 'encoder.layer.3"),
        (lambda folder: stated(folder, ctx_metrics="x"), "is not as ctx-metrics convert writes it"),
    ],
)
def test_a_folder_that_cannot_be_used(folder, tmp_path, damage, words):
    path = rewritten(folder, tmp_path / "damaged", "safetensors shards")
    damage(path)
    with pytest.raises(ModelError, match=words) as caught:
        scores(BLEURT(model=str(path), engine=QUIET))
    assert "\n" not in str(caught.value)


def test_another_activation_is_refused_and_can_be_overruled(folder, tmp_path):
    own = stated(shutil.copytree(folder, tmp_path / "relu"), hidden_act="relu")
    with pytest.raises(
        ModelError, match="'relu' for hidden_act, which is not one of gelu, gelu_new.*activation='gelu'"
    ):
        BLEURT(model=str(own))
    assert scores(BLEURT(model=str(own), activation="gelu")) == scores(BLEURT(model=str(folder)))


def test_a_file_that_changes_after_opening(folder, tmp_path):
    own = shutil.copytree(folder, tmp_path / "changing")
    metric = BLEURT(model=str(own), engine=QUIET)
    (own / "spm.model").write_bytes(pieces(["Another model."]))
    with pytest.raises(ModelError, match="has changed since it was opened"):
        scores(metric)


def test_no_model_is_named():
    with pytest.raises(InputError, match="bleurt: name a checkpoint with model=.*BLEURT-20-D12"):
        BLEURT()


@pytest.mark.parametrize(
    ("name", "words"), [("bleurt-20-d6", "perhaps lucadiliello/BLEURT-20-D6"), ("nowhere", "no model folder 'nowhere'")]
)
def test_a_name_without_its_owner(name, words):
    with pytest.raises(ModelError, match=words):
        BLEURT(model=name)
