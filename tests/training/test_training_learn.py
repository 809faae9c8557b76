import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from selection import some
from toy_judgements import write_judgements
from unified_models import QUIET, stopped_at

from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.errors import InputError, ModelError, ResourceError
from ctx_metrics.learned.estimator import LearnedEstimator
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.regressor import AlignmentRegressor
from ctx_metrics.training.loop import Loop
from ctx_metrics.training.quality import learn as learn_module
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.examples import read_training_set, some_rows
from ctx_metrics.training.quality.learn import STATE, Architecture, digest_of, learn
from ctx_metrics.training.quality.recipe import COMET, Recipe
from ctx_metrics.training.quality.task import QualityTask
from ctx_metrics.training.token_states import EmbeddingCache

RECIPE = Recipe(learning_rate=5e-3, epochs=2, batch=8, patience=None)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    training = read_training_set([str(write_judgements(folder / "train.tsv", 20, 1))])
    return training, read_development([str(write_judgements(folder / "dev.tsv", 12, 2))])


def small(kind, encoder, **more) -> Architecture:
    sizes = {} if kind == "comet" else {"projection": 5, "layers": [1, 3]}
    return Architecture(kind, str(encoder), hidden=4, feedforward=6, **{**sizes, **more})


@pytest.fixture
def train(tmp_path, tiny_bert, data):
    def call(kind="esim", out="m", recipe=RECIPE, sets=data, encoder=tiny_bert, more=None, **named):
        return learn(small(kind, encoder, **(more or {})), recipe, *sets, out=tmp_path / out, engine=QUIET, **named)

    return call


@pytest.mark.parametrize("kind", some(["bilstm", "bilstmatt", "esim"], ["esim"]))
def test_what_is_loaded_gives_the_values_that_training_saw(train, tmp_path, tiny_bert, data, kind):
    training, development = data
    trained = train(kind, notes={"x": [1]})
    config = trained.config
    assert config == json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["model_type"] == f"ctx-{kind}" and config["inputs"] == "mt+ref" and config["max_length"] == 68
    assert config["encoder"] == str(tiny_bert) and config["layers"] == [1, 3] and config["x"] == [1]
    assert config["empty_value"] == training.targets.min() and config["languages"] is None
    assert config["training"] == {**vars(RECIPE), "rows": 40, "init": None}
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["config.json", "model.safetensors"]
    estimator = LearnedEstimator(tmp_path / "m", QUIET)
    examples = [Example(h, r, None) for h, r in zip(development.hypotheses, development.partners)]
    values = np.array([each.value for each in estimator.estimate(examples, "")])
    # the cache rounds the encoder's states to fp16
    assert development.score(values) == pytest.approx(config["development"]["score"], abs=2e-3)
    assert config["development"]["score"] == max(check.score for check in trained.checks)
    assert config["development"]["sets"] == {"dev": config["development"]["score"]}


@pytest.mark.parametrize(
    "kind, place",
    [
        ("esim", (EmbeddingCache, "_encoded")),
        ("comet", (TextEncoder, "_start")),
        ("esim", (QualityTask, "loss")),
        ("comet", (QualityTask, "check")),
    ],
)
def test_a_training_that_does_not_fit_is_one_line(train, monkeypatch, kind, place):
    """Neither while texts are encoded, nor in a step, nor in a look at the development data."""

    def fails(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(*place, fails)
    with pytest.raises(ResourceError, match="give a smaller --batch"):
        train(kind)


def test_comet_learns_and_loads(train, tmp_path, data):
    development = data[1]
    trained = train("comet", recipe=COMET, languages=["en"])
    assert trained.config["model_type"] == "ctx-alignment-regressor" and trained.config["layers"] == [1, 2, 3]
    assert len(trained.checks) == 6
    estimator = AlignmentRegressor(tmp_path / "m", QUIET)
    examples = [Example(h, r, None) for h, r in zip(development.hypotheses, development.partners)]
    values = np.array([each.value for each in estimator.estimate(examples, "")])
    assert ((values > 0) & (values < 1)).any()
    # z is cut to [0, 1] there, which these few do not reach
    assert development.score(values) == pytest.approx(trained.config["development"]["score"], abs=5e-3)
    assert load_file(tmp_path / "m" / "model.safetensors")["alignment.std"].min() > 0


@pytest.mark.full
def test_another_seed_gives_other_weights(train, tmp_path):
    for seed in (1, 2):
        train("bilstm", str(seed), replace(RECIPE, seed=seed))
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in "12")
    assert not any(torch.equal(one[name], other[name]) for name in ("encoder.weight_ih_l0", "regressor.1.weight"))


def test_a_cache_serves_one_training_after_another(train, tmp_path, monkeypatch):
    train("bilstm", "a", cache=tmp_path / "cache")
    monkeypatch.setattr(EmbeddingCache, "_encoded", lambda *_: pytest.fail("it is encoded again"))
    train("esim", "b", cache=tmp_path / "cache")


def test_a_failed_training_gives_the_cache_back(train, tmp_path, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyError) as kept:
        patched.setattr(Loop, "train", lambda self: {}["stop"])
        train("bilstm", cache=tmp_path / "cache")
    train("bilstm", cache=tmp_path / "cache")
    assert kept.traceback  # which keeps what was in use, so that it is no garbage collector that gave it back


@pytest.mark.parametrize("kind", ["esim", "comet"])
def test_first_weights_from_another_model(train, tmp_path, data, kind, monkeypatch):
    train(kind, "a")
    first = {}

    def keep(self):
        first.update(self._copy())
        return whole(self)

    whole = Loop.train
    monkeypatch.setattr(Loop, "train", keep)
    fewer = some_rows(data[0], 15, 1)
    trained = train(kind, "b", sets=(fewer, data[1]), more={"dropout": 0.2}, init=tmp_path / "a")
    given = load_file(tmp_path / "a" / "model.safetensors")
    assert all(torch.equal(first[name], given[name]) for name in given)
    assert trained.config["training"]["init"] == "a"


def test_first_weights_must_fit(train, tmp_path, tiny_roberta):
    train(out="a")
    for other, what in (
        ({"kind": "bilstm"}, "has model_type ctx-esim"),
        ({"more": {"layers": [1, 2]}}, "has layers .*, not .1, 2."),
        ({"more": {"pooling": "avg"}}, "has pooling both"),
        ({"encoder": tiny_roberta}, "has encoder_ckpt "),
    ):
        with pytest.raises(InputError, match=what):
            train(**other, out="b", init=tmp_path / "a")
    (tmp_path / "c").mkdir()
    with pytest.raises(ModelError, match="no readable config.json"):
        train(out="b", init=tmp_path / "c")
    assert not (tmp_path / "b").exists()


def test_a_state_of_another_training_is_refused_before_anything_is_encoded(tmp_path, tiny_bert, data, monkeypatch):
    training, development = data
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stopped_at(patched, 1)
        learn(small("esim", tiny_bert), RECIPE, training, development, out=tmp_path, engine=QUIET)
    assert {path.name for path in tmp_path.iterdir()} == {STATE}
    monkeypatch.setattr(learn_module, "EmbeddingCache", lambda *_: pytest.fail("it is encoded"))
    path = str(write_judgements(tmp_path / "other.tsv", 20, 7))
    for other, what in (
        ({"architecture": small("esim", tiny_bert, dropout=0.1)}, "network, encoder or languages"),
        ({"recipe": COMET}, "recipe"),
        ({"training": read_training_set([path])}, "training data"),
        ({"development": read_development([path])}, "development data"),
    ):
        given = {"architecture": small("esim", tiny_bert), "recipe": RECIPE, "training": training} | {
            "development": development
        }
        with pytest.raises(InputError, match=f"a stopped training with other {what}; "):
            learn(**{**given, **other}, out=tmp_path, engine=QUIET)


def test_the_digest_is_of_every_text_and_number(data):
    training, development = data
    whole = digest_of(training, training.targets)
    assert len({whole, digest_of(training), digest_of(development), digest_of(training, training.targets + 1e-12)}) == 4
    moved = type(development)(["ab", "c"], ["x", "y"], [None, None], "pearson", {}, [])
    other = type(development)(["a", "bc"], ["x", "y"], [None, None], "pearson", {}, [])
    assert digest_of(moved) != digest_of(other)


@pytest.mark.parametrize("kind", ["esim", "comet"])
def test_a_text_without_tokens_is_refused(train, data, kind):
    training, development = data
    training = type(training)(**{**vars(training), "hypotheses": ["\u200b", *training.hypotheses[1:]]})
    with pytest.raises(InputError, match=r"1 training text has no tokens for this encoder, such as '\\u200b'"):
        train(kind, sets=(training, development))


def test_long_texts_are_cut_and_counted_once(train, data, caplog):
    config = train(more={"max_length": 4}).config
    texts = {text for each in data for text in (*each.hypotheses, *each.partners)}
    longer = sum(len(text.split()) > 4 for text in texts)  # every word is one piece here
    assert f"{longer} texts were truncated to 4 tokens" in caplog.text and 0 < longer < len(texts)
    assert config["max_length"] == 4


def test_targets_that_teach_nothing_are_refused(put):
    path = put("raters.tsv", "mt|ref|score|rater", "a|b|1|anna", "c|d|2|boris")
    with pytest.raises(InputError, match="every target is 0, .* --normalise file"):
        read_training_set([path])
    assert read_training_set([path], normalise="file").targets.tolist() == [-1, 1]
