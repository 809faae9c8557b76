"""A model that learned with --plain-quotes reads all styles of quotation marks as one."""

import json
from dataclasses import replace

import pytest
from damage import change
from unified_models import ALL, QUIET, data, learned, values  # noqa: F401  a fixture
from unified_oracle import plain_value

from ctx_metrics.engine.tokenizer import TextTokenizer
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator
from ctx_metrics.training.quality.unified import UnifiedInputs

PLAIN = Example('the "cat" sat', 'it\'s a "cat"', "the 'old' dog")
STYLED = [
    Example("the “cat” sat", "it’s a „cat“", "the ‘old’ dog"),
    Example("the «cat» sat", "it‛s a ”cat”", "the ‚old‘ dog"),
    Example("the »cat« sat", "it's a ‟cat“", "the ‹old› dog"),
]


@pytest.fixture(scope="module")
def model(data, tiny_xlmr, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain") / "model"
    learned(tiny_xlmr, data, folder, flags=["plain_quotes"])
    return folder


@pytest.mark.parametrize("inputs", ["mt+src", "mt+ref", ALL])
def test_the_style_changes_no_score(model, tiny_xlmr, inputs):
    [plain, *styled] = values(model, [PLAIN, *STYLED], inputs)
    assert styled == pytest.approx([plain] * 3, abs=1e-6)
    assert len({*load_estimator(str(model), QUIET, inputs).token_counts([PLAIN, *STYLED])}) == 1
    if inputs != ALL:
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
    learned(tiny_xlmr, data, tmp_path / "other")
    assert "plain_quotes" not in json.loads((tmp_path / "other" / "config.json").read_text())
    assert len({*values(tmp_path / "other", [PLAIN, *STYLED])}) > 1


def test_a_model_without_it_neither_starts_from_one_nor_is_read_as_one(data, tiny_xlmr, model, tmp_path):
    with pytest.raises(InputError, match="plain_quotes"):
        learned(tiny_xlmr, data, tmp_path / "m", init=model)
    whole = (model / "config.json").read_text()
    change(model, plain_quotes="yes")
    with pytest.raises(ModelError, match="plain_quotes"):
        load_estimator(str(model), QUIET)
    (model / "config.json").write_text(whole)
