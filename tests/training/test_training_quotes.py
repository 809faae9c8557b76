"""A model that learned with --plain-quotes reads all styles of quotation marks as one."""

import json
from dataclasses import replace

import pytest
from toy_judgements import write_judgements
from unified_oracle import plain_value

from ctx_metrics.engine.tokenizer import TextTokenizer
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.examples import read_training_set
from ctx_metrics.training.quality.recipe import UNIFIED, Architecture
from ctx_metrics.training.quality.unified import UnifiedInputs, learn_unified

QUIET = EngineOptions(device="cpu", quiet=True)
PLAIN = Example('the "cat" sat', 'it\'s a "cat"', "the 'old' dog")
STYLED = [
    Example("the “cat” sat", "it’s a „cat“", "the ‘old’ dog"),
    Example("the «cat» sat", "it‛s a ”cat”", "the ‚old‘ dog"),
    Example("the »cat« sat", "it's a ‟cat“", "the ‹old› dog"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    paths = [str(write_judgements(folder / f"{name}.tsv", n, n)) for name, n in (("a", 20), ("d", 6))]
    return read_training_set(paths[:1], "mt+src+ref"), read_development(paths[1:], inputs="mt+src+ref")


def learned(encoder, data, out, plain=True, init=None):
    architecture = Architecture("comet", str(encoder), inputs="mt+src+ref", rank=2, feedforward=5, plain_quotes=plain)
    learn_unified(architecture, replace(UNIFIED, epochs=1), *data, out=out, engine=QUIET, init=init)
    return out


@pytest.fixture(scope="module")
def model(data, tiny_xlmr, tmp_path_factory):
    return learned(tiny_xlmr, data, tmp_path_factory.mktemp("plain") / "model")


@pytest.mark.parametrize("inputs", ["mt+src", "mt+ref", "mt+src+ref"])
def test_the_style_changes_no_score(model, tiny_xlmr, inputs):
    estimator = load_estimator(str(model), QUIET, inputs)
    [plain, *styled] = [each.value for each in estimator.estimate([PLAIN, *STYLED], "")]
    assert styled == pytest.approx([plain] * 3, abs=1e-6)
    assert len({*estimator.token_counts([PLAIN, *STYLED])}) == 1
    if inputs != "mt+src+ref":
        texts = PLAIN.texts(inputs)
        assert plain == pytest.approx(plain_value(model, tiny_xlmr, texts, inputs.split("+")), abs=1e-5)


def test_training_reads_what_scoring_reads(data, tiny_xlmr):
    training = replace(data[0], hypotheses=["“a” it’s"] * len(data[0]))
    tokenizer = TextTokenizer(tiny_xlmr)
    for plain, text in ((True, '"a" it\'s'), (False, "“a” it’s")):
        inputs = UnifiedInputs(training, tokenizer, "XLM-RoBERTa", 512, 100, plain=plain)
        for each in (inputs, inputs.with_more(training)):
            own = tokenizer([text])[0].ids.tolist()
            assert each.sequence(len(each.rows) - 1, "mt+src").ids[: len(own)].tolist() == own


@pytest.mark.full
def test_without_it_a_model_reads_what_is_there(data, tiny_xlmr, model, tmp_path):
    assert json.loads((model / "config.json").read_text())["plain_quotes"] is True
    folder = learned(tiny_xlmr, data, tmp_path / "other", plain=False)
    assert "plain_quotes" not in json.loads((folder / "config.json").read_text())
    values = [each.value for each in load_estimator(str(folder), QUIET).estimate([PLAIN, *STYLED], "")]
    assert len({*values}) > 1


def test_first_weights_keep_reading_plain_quotes(data, tiny_xlmr, model, tmp_path):
    with pytest.raises(InputError, match=r"has plain_quotes \(--plain-quotes\); start from a model with the same"):
        learned(tiny_xlmr, data, tmp_path / "m", plain=False, init=model)


def test_a_config_that_says_neither(data, model, tmp_path):
    (tmp_path / "m").mkdir()
    for file in model.iterdir():
        (tmp_path / "m" / file.name).write_bytes(file.read_bytes())
    config = json.loads((model / "config.json").read_text())
    (tmp_path / "m" / "config.json").write_text(json.dumps({**config, "plain_quotes": "yes"}))
    with pytest.raises(ModelError, match="plain_quotes"):
        load_estimator(str(tmp_path / "m"), QUIET)
