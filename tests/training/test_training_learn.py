import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from sacrebleu.metrics import CHRF, TER
from safetensors.torch import load_file
from toy_judgements import write_judgements

from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError, ResourceError
from ctx_metrics.learned.estimator import LearnedEstimator
from ctx_metrics.meta.scoring import MetricSettings
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.regressor import AlignmentRegressor
from ctx_metrics.training.loop import Loop
from ctx_metrics.training.quality import learn as learn_module
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.examples import read_training_set, some_rows
from ctx_metrics.training.quality.learn import STATE, Architecture, digest_of, learn
from ctx_metrics.training.quality.recipe import COMET, Recipe
from ctx_metrics.training.quality.task import QualityTask
from ctx_metrics.training.quality.teacher import taught
from ctx_metrics.training.token_states import EmbeddingCache

QUIET = EngineOptions(device="cpu", quiet=True)
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


@pytest.mark.parametrize("kind", ["bilstm", "bilstmatt", "esim"])
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


@pytest.mark.parametrize("kind", ["esim", "comet"])
@pytest.mark.parametrize(
    "place", [(TextEncoder, "encode"), (TextEncoder, "_start"), (QualityTask, "loss"), (QualityTask, "check")]
)
def test_a_training_that_does_not_fit_is_one_line(train, monkeypatch, kind, place):
    """Neither while texts are encoded, nor in a step, nor in a look at the development data."""

    def fails(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(*place, fails)
    if place[1] == "encode" and kind == "esim":
        monkeypatch.setattr(EmbeddingCache, "_encoded", fails)
    with pytest.raises(ResourceError) as caught:
        train(kind)
    assert "too little memory for the training; give a smaller --batch" in str(caught.value)


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
def test_the_same_again_is_the_same_and_another_seed_is_not(train, tmp_path):
    def weights(name, **settings):
        train("bilstm", name, replace(RECIPE, **settings))
        return load_file(tmp_path / name / "model.safetensors")

    one, again, other = weights("a"), weights("b"), weights("c", seed=2)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


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
    with monkeypatch.context() as patched, pytest.raises(InputError, match="no number|stop"):
        save = Loop._save

        def save_and_stop(self):
            save(self)
            raise InputError("stop")

        patched.setattr(Loop, "_save", save_and_stop)
        learn(small("esim", tiny_bert), RECIPE, training, development, out=tmp_path, engine=QUIET)
    assert [path.name for path in tmp_path.iterdir()] == [STATE]
    monkeypatch.setattr(learn_module, "EmbeddingCache", lambda *_: pytest.fail("it is encoded"))
    other = read_training_set([str(write_judgements(tmp_path / "other.tsv", 20, 7))])
    for arguments, what in (
        ((small("esim", tiny_bert, dropout=0.1), RECIPE, training, development), "network, encoder or languages"),
        ((small("esim", tiny_bert), COMET, training, development), "recipe"),
        ((small("esim", tiny_bert), RECIPE, other, development), "training data"),
        (
            (small("esim", tiny_bert), RECIPE, training, read_development([str(tmp_path / "other.tsv")])),
            "development data",
        ),
    ):
        with pytest.raises(InputError, match=f"a stopped training with other {what}; "):
            learn(*arguments, out=tmp_path, engine=QUIET)


def test_the_digest_is_of_every_text_and_number(data):
    training, development = data
    whole = digest_of(training, training.targets)
    assert len({whole, digest_of(training), digest_of(development), digest_of(training, training.targets + 1e-12)}) == 4
    moved = type(development)(["ab", "c"], ["x", "y"], [None, None], "pearson", {}, [])
    other = type(development)(["a", "bc"], ["x", "y"], [None, None], "pearson", {}, [])
    assert digest_of(moved) != digest_of(other)


def test_settings_that_do_not_fit(train, tmp_path):
    with pytest.raises(InputError, match="layer 4: the encoder has the layers 0 to 3"):
        train(more={"layers": [1, 4]})
    with pytest.raises(ModelError, match="no model folder"):
        train(encoder=tmp_path / "no")
    assert not (tmp_path / "m").exists()


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


def test_a_teacher_s_scores_are_learned_in_place_of_people_s(tmp_path):
    paths = [str(write_judgements(tmp_path / name, 8, seed)) for seed, name in enumerate(("a.cs-en.tsv", "b.tsv"))]
    training = read_training_set([paths[0], paths[1] + ":0.5"], taught=paths)
    known = {"a.cs-en": ("cs", "en"), "b": (None, None)}
    found, signature = taught(training, MetricSettings("chrf", CHRF, {"word_order": 2}), languages=known, engine=QUIET)
    chrf = CHRF(word_order=2)
    pairs = list(zip(training.hypotheses, training.partners))
    scores = np.array([chrf.sentence_score(output, [reference]).score for output, reference in pairs])
    # one scale over all data sets
    assert found.targets == pytest.approx((scores - scores.mean()) / scores.std(), abs=1e-4)
    assert signature.startswith("nrefs:1|case:mixed") and "nw:2" in signature
    assert found.weights.tolist() == training.weights.tolist() and found.groups == training.groups
    # TER is less where it is better
    backwards, _ = taught(training, MetricSettings("ter", TER), languages=known, engine=QUIET)
    assert np.corrcoef(backwards.targets, found.targets)[0, 1] > 0.5


def test_a_teacher_that_says_one_thing_only(tmp_path):
    path = tmp_path / "same.tsv"
    path.write_text("mt\tref\tscore\n" + "".join(f"{word}\t{word}\t{k}\n" for k, word in enumerate(("cat", "dog"))))
    training = read_training_set([str(path)], taught=[str(path)])
    with pytest.raises(
        InputError,
        match="teacher chrf: gives all rows the same score, from which nothing can be learned; choose another teacher",
    ):
        taught(training, MetricSettings("chrf", CHRF), languages={"same": (None, None)}, engine=QUIET)


def test_a_teacher_s_scores_are_kept_and_read_again(tmp_path, monkeypatch, caplog):
    path = str(write_judgements(tmp_path / "a.tsv", 8, 1))
    training = read_training_set([path], taught=[path])
    teacher, known, kept = MetricSettings("chrf", CHRF), {"a": (None, None)}, tmp_path / "kept.npz"
    first, signature = taught(training, teacher, languages=known, engine=QUIET, kept=kept)
    plain, _ = taught(training, teacher, languages=known, engine=QUIET)
    monkeypatch.setattr("ctx_metrics.training.quality.teacher.score_set", lambda *_: pytest.fail("it is scored again"))
    again, same = taught(training, teacher, languages=known, engine=QUIET, kept=kept)
    assert first.targets.tolist() == plain.targets.tolist() == again.targets.tolist() and same == signature
    assert f"the teacher's scores are read from {kept}" in caplog.text
    for other in (MetricSettings("chrf", CHRF, {"word_order": 2}), MetricSettings("ter", TER)):
        with pytest.raises(InputError, match="holds the scores of other texts, or of another teacher; name another"):
            taught(training, other, languages=known, engine=QUIET, kept=kept)
    whole = kept.read_bytes()
    at = whole.index(b"scores.npy") + 200  # one bit of a score
    for content in (b"no scores", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
        kept.write_bytes(content)
        with pytest.raises(
            InputError, match="does not hold scores of a teacher; name another file with --teacher-scores"
        ):
            taught(training, teacher, languages=known, engine=QUIET, kept=kept)


def test_texts_without_scores_can_be_taught(tmp_path):
    path = tmp_path / "texts.tsv"
    path.write_text("mt\tref\tscore\na cat\ta cat sat\t\nit rained\tit rains\tNone\n")
    with pytest.raises(InputError, match="no rows are left to learn from"):
        read_training_set([str(path)])
    training = read_training_set([str(path)], taught=[str(path)])
    assert np.isnan(training.targets).all()
    found, _ = taught(training, MetricSettings("chrf", CHRF), languages={"texts": (None, None)}, engine=QUIET)
    assert found.targets == pytest.approx([1, -1]) or found.targets == pytest.approx([-1, 1])


def test_a_hinge_without_pairs_is_refused(train, tmp_path):
    path = tmp_path / "alone.tsv"
    rows = "".join(f"the cat {k}\tthe dog {k}\t{k}\n" for k in range(6))  # six segments of one output each
    path.write_text(f"mt\tref\tscore\n{rows}")
    sets = read_training_set([str(path)]), read_development([str(path)])
    with pytest.raises(InputError, match="hinge: no segment has two outputs"):
        train(recipe=replace(RECIPE, loss="hinge"), sets=sets)


def test_targets_that_teach_nothing_are_refused(tmp_path):
    path = tmp_path / "raters.tsv"
    path.write_text("mt\tref\tscore\trater\na\tb\t1\tanna\nc\td\t2\tboris\n")
    with pytest.raises(InputError, match="every target is 0, .* --normalise file"):
        read_training_set([str(path)])
    assert read_training_set([str(path)], normalise="file").targets.tolist() == [-1, 1]
