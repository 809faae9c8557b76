"""bilstm, bilstmatt and esim as sacrebleu metrics, over tiny models with random weights."""

import pytest
from learned_folders import write_learned
from selection import some

from ctx_metrics import InputError
from ctx_metrics.errors import ModelError
from ctx_metrics.learned import estimator as learned_estimator
from ctx_metrics.learned.metrics import ESIM, BiLSTM, BiLSTMAtt
from ctx_metrics.models.estimator import Example

CLASSES = {"bilstm": BiLSTM, "bilstmatt": BiLSTMAtt, "esim": ESIM}
HYPOTHESES = ["the cat sat on the mat", "rain", "a dog ran home", "the old red bird"]
REFERENCES = ["a cat sat on a mat", "a song", "the dog ran fast", "the bird"]
OTHERS = ["the cat sat", "the rain", "a dog", "an old bird"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory, tiny_bert) -> dict[str, str]:
    """A model of each kind; and of each one that reads sources, and one that reads English alone."""
    root, made = tmp_path_factory.mktemp("learned"), {}
    variants = {"": {}, "-src": {"inputs": "mt+src"}, "-en": {"languages": ["en"]}}
    for seed, kind in enumerate(CLASSES):
        for variant, fields in variants.items():
            name = f"{kind}{variant}"
            made[name] = str(write_learned(root / name, kind, tiny_bert, seed=seed, max_length=68, **fields))
    return made


@pytest.fixture(params=some(CLASSES, ["esim"]))
def kind(request) -> str:
    return request.param


@pytest.fixture
def make(kind, folders):
    """Makes the metric over one of its models."""

    def of(variant="", **settings):
        return CLASSES[kind](model=folders[kind + variant], **settings)

    return of


def values(metric, pairs) -> list[float]:
    return [estimate.value for estimate in metric.estimator.estimate([Example(*pair) for pair in pairs], "test")]


def test_scores_are_100_times_the_mean_of_the_values(make):
    expected = values(make(), zip(HYPOTHESES, REFERENCES))
    metric = make()
    score = metric.corpus_score(HYPOTHESES, [REFERENCES])
    assert score.score == pytest.approx(100 * sum(expected) / 4, abs=1e-4) and score._verbose == ""
    segments = [each.score for each in metric.segment_scores(HYPOTHESES, [REFERENCES])]
    assert segments == pytest.approx([100 * value for value in expected], abs=1e-4)
    sentence = metric.sentence_score(HYPOTHESES[0], [REFERENCES[0]])
    assert sentence.score == pytest.approx(100 * expected[0], abs=1e-4)
    assert type(sentence) is type(score) and max(expected) - min(expected) > 0.01


def test_signature(make, kind, folders):
    metric = make(multiref="mean")
    metric.corpus_score(HYPOTHESES, [REFERENCES])
    wanted = {"model": kind, "inputs": "mt+ref", "dtype": "fp32", "maxlen": "68", "multiref": "mean"}
    assert wanted.items() <= {name: str(value) for name, value in metric.get_signature().info.items()}.items()
    assert len({CLASSES[name](model=folders[name]).signature["ckpt"] for name in CLASSES}) == 3


def test_models_that_read_the_source(make):
    """The source stands where the reference would; references are not asked for."""
    expected = values(make(), zip(HYPOTHESES, REFERENCES))
    metric = make("-src", sources=REFERENCES)
    score = metric.corpus_score(HYPOTHESES)
    assert score.score == pytest.approx(100 * sum(expected) / 4, abs=1e-4)
    assert make("-src", sources=REFERENCES).corpus_score(HYPOTHESES, [OTHERS]).score == score.score
    shown = str(metric.get_signature())
    assert "nrefs:0|" in shown and "|inputs:mt+src|" in shown and "multiref" not in shown
    assert "sources" in metric.can.reads and "sources" not in make(sources=OTHERS).can.reads


def test_what_is_empty_is_counted_and_has_the_models_score(make, kind, caplog):
    alone = values(make(), [(HYPOTHESES[3], REFERENCES[3])])[0]
    score = make().corpus_score(["", "rain", " ", HYPOTHESES[3]], [["a cat", "", "", REFERENCES[3]]])
    assert score.score == pytest.approx(100 * (3 * -1.75 + alone) / 4, abs=1e-4) and score._verbose == "(empty = 3)"
    says = "3 segments have an empty hypothesis or reference and score -175 (segments 1, 2, 3)"
    assert caplog.messages == [f"{kind}: {says}"]
    caplog.clear()
    make("-src", sources=["", "b"]).corpus_score(["a", "b"])
    assert caplog.messages == [f"{kind}: 1 segment has an empty hypothesis or source and scores -175 (segment 1)"]


def test_the_embedded_model_refuses_another_language(kind, monkeypatch, folders):
    load = learned_estimator.load_learned
    monkeypatch.setattr(
        learned_estimator, "load_learned", lambda kind, name, options: load(kind, folders[f"{kind}-en"], options)
    )
    with pytest.raises(InputError, match=rf"^{kind}: .* German \(de\); name another with model="):
        CLASSES[kind](target_lang="de")
    CLASSES[kind](target_lang="en")


def test_models_of_another_kind(kind, folders):
    for other in CLASSES.keys() - {kind}:
        with pytest.raises(ModelError, match=f"holds no {kind} model, but one of {other}: use the metric {other} with"):
            CLASSES[kind](model=folders[other])
