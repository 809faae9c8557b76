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
from damage import change, cut, in_form, other, without
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


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_scores_are_those_of_transformers(folder, activation):
    found = scores(BLEURT(model=str(folder), activation=activation, engine=QUIET))
    assert np.ptp(found) > 30
    assert found == pytest.approx(expected(folder, activation=activation), abs=CLOSE)
    other = {"gelu": "gelu_tanh", "gelu_tanh": "gelu"}[activation]
    assert found != pytest.approx(expected(folder, activation=other), abs=CLOSE)


@pytest.mark.parametrize("act", ["gelu", "gelu_new", "gelu_pytorch_tanh"])
def test_the_folder_says_which_activation(folder, tmp_path, act):
    own = change(shutil.copytree(folder, tmp_path / act), hidden_act=act)
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
    own = in_form(folder, tmp_path / "rewritten", form)
    assert scores(BLEURT(model=str(own), engine=QUIET)) == scores(BLEURT(model=str(folder), engine=QUIET))


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


def test_equal_pairs_are_read_once(folder, monkeypatch):
    metric = BLEURT(model=str(folder), engine=QUIET)
    seen = []
    encode = type(metric.estimator.encoder).encode

    def noted(encoder, tokens, *more):
        seen.append(len(tokens))
        return encode(encoder, tokens, *more)

    monkeypatch.setattr(type(metric.estimator.encoder), "encode", noted)
    found = scores(metric, [TEXTS[0]] * 5 + [TEXTS[1]], [[TEXTS[2]] * 6])
    assert seen == [2] and len(set(found[:5])) == 1 and found[5] != found[0]


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


def test_half_precision_is_close(folder):
    """test_models_of_languages.py has bf16."""
    exact = scores(BLEURT(model=str(folder), engine=QUIET))
    found = scores(BLEURT(model=str(folder), engine=EngineOptions(dtype="fp16", quiet=True)))
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


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (without("model-00002-of-00002.safetensors"), "model-00002-of-00002.safetensors"),
        (lacking_a_tensor, "its weights lack the tensor 'pooler.dense.weight'"),
        (of_another_head, r"bleurt.pooler.dense.weight is of shape \[36, 37\], not \[36, 36\]"),
        (without("spm.model"), "has no spm.model"),
        (cut("spm.model", 0.9), "spm.model cannot be read as a SentencePiece model"),
        (other("config.json", model_type="rembert"), "is not a BLEURT-20 checkpoint: config.json gives 'rembert'"),
        (other("config.json", embedding_size=None), "older BLEURT for English"),
        (other("config.json", embedding_size="16"), "config.json gives '16' for embedding_size"),
        (other("config.json", hidden_size=35), "hidden_size 35, which 3 attention heads cannot share"),
        (other("config.json", type_vocab_size=1), "type_vocab_size 1"),
        (other("config.json", vocab_size=10**9), "more than the .* bytes"),
        (other("config.json", vocab_size=9), "its tokenizer gives token .* do not belong together"),
        (other("config.json", num_hidden_layers=4), "lack the tensor 'encoder.layer.3"),
        (other("config.json", ctx_metrics="x"), "is not as ctx-metrics convert writes it"),
    ],
)
def test_a_folder_that_cannot_be_used(folder, tmp_path, damage, words):
    path = in_form(folder, tmp_path / "damaged", "safetensors shards")
    damage(path)
    with pytest.raises(ModelError, match=words) as caught:
        scores(BLEURT(model=str(path), engine=QUIET))
    assert "\n" not in str(caught.value)


def test_another_activation_is_refused_and_can_be_overruled(folder, tmp_path):
    own = change(shutil.copytree(folder, tmp_path / "relu"), hidden_act="relu")
    with pytest.raises(ModelError, match="'relu' for hidden_act, .*activation='gelu'"):
        BLEURT(model=str(own))
    assert scores(BLEURT(model=str(own), activation="gelu")) == scores(BLEURT(model=str(folder)))


def test_a_file_that_changes_after_opening(folder, tmp_path):
    own = shutil.copytree(folder, tmp_path / "changing")
    metric = BLEURT(model=str(own), engine=QUIET)
    (own / "spm.model").write_bytes(pieces(["Another model."]))
    with pytest.raises(ModelError, match="has changed since it was opened"):
        scores(metric)
