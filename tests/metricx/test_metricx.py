"""metricx against transformers' own model, and what a run says and refuses."""

import json
import logging
import pickle
import shutil
from pathlib import Path

import huggingface_hub
import metricx_folders
import numpy as np
import pytest
import sentencepiece
import torch
import transformers
from damage import in_form, other, weights, without
from metricx_folders import TEXTS, make, oracle
from tokenizers import Tokenizer

from ctx_metrics import EngineOptions, InputError, ModelError
from ctx_metrics.metricx.metric import MetricX
from ctx_metrics.metricx.network import buckets

SOURCES, HYPOTHESES, REFERENCES = TEXTS[:3] * 2, TEXTS[3:] + TEXTS[:3], TEXTS[::-1]
OTHERS = TEXTS[2:] + TEXTS[:2]
PROMPTS = {
    ("24", True): "source: {src} candidate: {mt} reference: {ref}",
    ("24", False): "source: {src} candidate: {mt}",
    ("23", True): "candidate: {mt} reference: {ref}",
    ("23-qe", False): "candidate: {mt} source: {src}",
}


def prompts(version: str, referenced: bool) -> list[str]:
    form = PROMPTS[version, referenced]
    return [form.format(src=s, mt=m, ref=r) for s, m, r in zip(SOURCES, HYPOTHESES, REFERENCES, strict=True)]


ALL = [prompt for mode in PROMPTS for prompt in prompts(*mode)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("checkpoints") / "metricx-24-tiny", texts=ALL)


def scores(metric: MetricX, hypotheses=HYPOTHESES, references=(REFERENCES,)) -> list[float]:
    return [each.score for each in metric.segment_scores(hypotheses, [list(each) for each in references])]


@pytest.mark.parametrize("mode", PROMPTS, ids=str)
def test_scores_are_those_of_transformers(folder, mode):
    version, referenced = mode
    own = shutil.copytree(folder, folder.parent / f"metricx-{version}-{referenced}")
    metric = MetricX(model=str(own), sources=SOURCES, engine=EngineOptions(quiet=True))
    expected = oracle(folder, prompts(*mode), 1536)
    assert np.ptp(expected) > 5
    assert scores(metric, references=[REFERENCES] if referenced else []) == pytest.approx(expected, abs=2.5e-4)


@pytest.mark.parametrize("form", ["bin", "bin shards", "safetensors shards"])
def test_all_forms_of_weights_give_the_same_scores(folder, tmp_path, form):
    def numbers(path) -> list[float]:
        return scores(MetricX(model=str(path), sources=SOURCES, engine=EngineOptions(quiet=True)))

    assert numbers(in_form(folder, tmp_path / "metricx-24-rewritten", form)) == numbers(folder)


@pytest.mark.full
def test_tied_tables(tmp_path):
    folder = make(tmp_path / "metricx-23-tied", tied=True, texts=ALL)
    assert scores(MetricX(model=str(folder))) == pytest.approx(oracle(folder, prompts("23", True), 1024), abs=2.5e-4)


@pytest.mark.full
@pytest.mark.skipif(int(transformers.__version__.split(".")[0]) > 4, reason="its mT5 has tied tables alone")
@pytest.mark.parametrize("tied", [False, True])
def test_the_oracle_is_transformers_own_logit(tmp_path, tied):
    path = make(tmp_path / "metricx-23", tied=tied, texts=ALL)
    network = transformers.MT5ForConditionalGeneration.from_pretrained(path).eval()
    tokens, start = Tokenizer.from_file(str(path / "tokenizer.json")), torch.zeros(1, 1, dtype=torch.long)
    for prompt in ALL[:4]:
        ids = torch.tensor([tokens.encode(prompt).ids[:-1]])
        with torch.no_grad():
            logit = network(input_ids=ids, decoder_input_ids=start).logits[0, 0, metricx_folders.ROW]
        assert oracle(path, [prompt], 1024) == pytest.approx([float(logit.clamp(0, 25))], abs=1e-5)


def test_a_long_text_is_cut_as_google_cuts_it(folder):
    long = " ".join(TEXTS * 60)
    metric = MetricX(model=str(folder), sources=[long])
    found = metric.corpus_score([HYPOTHESES[0]], [[REFERENCES[0]]])
    prompt = PROMPTS["24", True].format(src=long, mt=HYPOTHESES[0], ref=REFERENCES[0])
    assert found.score == pytest.approx(oracle(folder, [prompt], 1536)[0], abs=2.5e-4)
    assert metric.last_result.counts["truncated"] == 1


def test_batches_and_order_do_not_matter(folder):
    def of(**engine) -> list[float]:
        return scores(MetricX(model=str(folder), sources=SOURCES, engine=EngineOptions(quiet=True, **engine)))

    one_by_one = of(batch_tokens=1)
    assert of() == pytest.approx(one_by_one, abs=1e-4)
    metric = MetricX(model=str(folder), sources=SOURCES[::-1])
    assert scores(metric, HYPOTHESES[::-1], [REFERENCES[::-1]])[::-1] == pytest.approx(one_by_one, abs=1e-4)


def test_the_mean_and_the_best_of_several_references(folder):
    each = [scores(MetricX(model=str(folder), sources=SOURCES), references=[stream]) for stream in (REFERENCES, OTHERS)]
    for multiref, function in (("min", np.min), ("mean", np.mean)):
        metric = MetricX(model=str(folder), sources=SOURCES, multiref=multiref)
        assert scores(metric, references=(REFERENCES, OTHERS)) == pytest.approx(
            function(each, axis=0).tolist(), abs=1e-4
        )


def test_scores_end_at_0_and_25(tmp_path, folder):
    path = shutil.copytree(folder, tmp_path / "metricx-24-wide")
    weights("lm_head.weight", lambda table: table * 40)(path)
    found = scores(MetricX(model=str(path), sources=SOURCES))
    assert {0.0, 25.0} & set(np.round(found, 9)) and all(0 <= score <= 25 for score in found)


def test_the_signature_and_the_direction(folder):
    metric = MetricX(model=str(folder), sources=SOURCES)
    metric.corpus_score(HYPOTHESES, [REFERENCES])
    signature = metric.get_signature().info
    wanted = {"inputs": "mt+src+ref", "metricx": "24", "maxlen": 1536, "multiref": "min"}
    assert {name: signature[name] for name in wanted} == wanted
    assert json.dumps(signature) and "mx:24" in metric.get_signature().format(short=True)
    assert not metric.can.higher_is_better
    again = pickle.loads(pickle.dumps(metric))
    assert again.corpus_score(HYPOTHESES, [REFERENCES]).score == metric.corpus_score(HYPOTHESES, [REFERENCES]).score


def test_buckets_are_those_of_transformers():
    from transformers.models.mt5.modeling_mt5 import MT5Attention

    distances = np.arange(-1600, 1601)
    theirs = MT5Attention._relative_position_bucket(torch.from_numpy(distances), True, 32, 128)
    assert (buckets(distances, 32, 128) == theirs.numpy()).all()


def test_the_tokenizer_may_stand_elsewhere(folder, tmp_path):
    path = in_form(folder, tmp_path / "metricx-24-bare", "bin")
    elsewhere = tmp_path / "tokenizer"
    elsewhere.mkdir()
    (path / "tokenizer.json").rename(elsewhere / "tokenizer.json")
    metric = MetricX(model=str(path), sources=SOURCES, tokenizer=str(elsewhere))
    assert scores(metric) == scores(MetricX(model=str(folder), sources=SOURCES))
    before = metric.estimator.model.ckpt
    (elsewhere / "tokenizer.json").rename(path / "tokenizer.json")
    assert MetricX(model=str(path), sources=SOURCES).estimator.model.ckpt == before


def test_a_sentencepiece_model_needs_no_warning(folder, tmp_path, caplog, monkeypatch, recwarn):
    """As google/mt5-xl comes: transformers converts it, and warns about how mT5 was trained."""
    path = in_form(folder, tmp_path / "metricx-24-pieces", "bin")
    (path / "tokenizer.json").unlink()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(ALL),
        model_prefix=str(tmp_path / "model"),
        vocab_size=400,
        hard_vocab_limit=False,
        byte_fallback=True,
        minloglevel=2,
        **{"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    )
    (tmp_path / "model.model").rename(path / "spiece.model")
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    transformers.logging.set_verbosity_info()  # the user's own choices
    huggingface_hub.utils.disable_progress_bars()
    try:
        with caplog.at_level(logging.WARNING):
            tokenizer = MetricX(model=str(path), sources=SOURCES).estimator.loaded.tokenizer
        assert transformers.logging.get_verbosity() == logging.INFO
        assert huggingface_hub.utils.are_progress_bars_disabled()
    finally:
        transformers.logging.set_verbosity_warning()
        huggingface_hub.utils.enable_progress_bars()
    assert [each.name for each in caplog.records] == [] and [str(each.message) for each in recwarn] == []
    theirs = transformers.T5TokenizerFast.from_pretrained(path, legacy=True)
    [(ids, _)] = tokenizer([ALL[0]], 1000)
    assert [*ids, 1] == theirs(ALL[0])["input_ids"]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (without("model-00002-of-00002.safetensors"), "model-00002-of-00002.safetensors"),
        (other("config.json", architectures=["MT5ForConditionalGeneration"]), "is not a MetricX checkpoint"),
        (other("config.json", vocab_size=32128), "32,128 rows"),
        (without("tokenizer.json"), r"has no tokenizer, and mT5's \(google/mt5-xl\) is not in the cache"),
    ],
)
def test_a_folder_that_cannot_be_used(folder, tmp_path, monkeypatch, damage, words):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    path = in_form(folder, tmp_path / "metricx-24-damaged", "safetensors shards")
    damage(path)
    with pytest.raises(ModelError, match=words) as caught:
        MetricX(model=str(path), sources=SOURCES)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"version": "23"}, InputError, "is MetricX-24, not 23"),
        ({"inputs": "mt+ref"}, InputError, "inputs"),
        ({"engine": EngineOptions(dtype="fp16")}, InputError, "overflows in fp16"),
        ({"tokenizer": "nowhere/at/all"}, ModelError, "nowhere/at/all"),
    ],
    ids=["version", "inputs", "fp16", "tokenizer"],
)
def test_wrong_settings(folder, given, error, words):
    with pytest.raises(error, match=words):
        MetricX(**{"model": str(folder), "sources": SOURCES} | given)
