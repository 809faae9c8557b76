"""bilstm, bilstmatt and esim as sacrebleu metrics, over tiny models with random weights."""

import json
import re

import pytest
from learned_folders import write_learned
from plugin_conftest import REF, SACREBLEU, A, B, C, lines_of, run_forked, sacrebleu, strict
from sacrebleu.metrics import METRICS

from ctx_metrics import InputError
from ctx_metrics.errors import ModelError
from ctx_metrics.learned.metrics import ESIM, BiLSTM, BiLSTMAtt
from ctx_metrics.models.estimator import Example

CLASSES = {"bilstm": BiLSTM, "bilstmatt": BiLSTMAtt, "esim": ESIM}
HYPOTHESES = ["the cat sat on the mat", "rain", "a dog ran home", "the old red bird"]
REFERENCES = ["a cat sat on a mat", "a song", "the dog ran fast", "the bird"]
OTHERS = ["the cat sat", "the rain", "a dog", "an old bird"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory, tiny_bert) -> dict[str, str]:
    """A model of each kind, English or not, that reads references or (…-src) sources."""
    root = tmp_path_factory.mktemp("learned")
    made = {}
    for seed, kind in enumerate(CLASSES):
        made[kind] = write_learned(root / kind, kind, tiny_bert, seed=seed, max_length=68)
        made[f"{kind}-src"] = write_learned(
            root / f"{kind}-src", kind, tiny_bert, seed=seed, max_length=68, inputs="mt+src"
        )
        made[f"{kind}-en"] = write_learned(root / f"{kind}-en", kind, tiny_bert, seed=seed, languages=["en"])
        made[f"{kind}-short"] = write_learned(root / f"{kind}-short", kind, tiny_bert, seed=seed, max_length=3)
    return {name: str(folder) for name, folder in made.items()}


@pytest.fixture(params=CLASSES)
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


def test_names_and_entry_points(kind):
    assert METRICS[kind.upper()] is CLASSES[kind] and CLASSES[kind].NAME.lower() == kind


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
    score = metric.corpus_score(HYPOTHESES, [REFERENCES])
    signature = metric.get_signature()
    shown = json.loads(score.format(1, False, signature.format(), True))
    assert shown["name"] == CLASSES[kind].NAME and shown["score"] == round(score.score, 1)
    wanted = {"nrefs": "1", "model": kind, "inputs": "mt+ref", "dtype": "fp32", "maxlen": "68"}
    wanted |= {"long": "truncate", "multiref": "mean", "scale": "100"}
    assert wanted.items() <= shown.items() and len(shown["ckpt"]) == 12
    others = {CLASSES[name](model=folders[name]).signature["ckpt"] for name in CLASSES}
    assert len(others) == 3


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


def test_a_missing_source_or_reference_is_named(make, kind):
    with pytest.raises(InputError, match=f"^{kind}: .* needs the sources: give sources$"):
        make("-src")
    with pytest.raises(InputError, match=f"^{kind}: .* needs the references: give a reference$"):
        make().corpus_score(HYPOTHESES, [])


def test_what_is_empty_is_counted_and_has_the_models_score(make, kind, caplog):
    alone = values(make(), [(HYPOTHESES[3], REFERENCES[3])])[0]
    metric = make()
    score = metric.corpus_score(["", "rain", " ", HYPOTHESES[3]], [["a cat", "", "", REFERENCES[3]]])
    assert score.score == pytest.approx(100 * (3 * -1.75 + alone) / 4, abs=1e-4) and score._verbose == "(empty = 3)"
    says = "3 segments have an empty hypothesis or reference and score -175 (segments 1, 2, 3)"
    assert caplog.messages == [f"{kind}: {says}"]
    caplog.clear()
    make("-src", sources=["", "b"]).corpus_score(["a", "b"])
    assert caplog.messages == [f"{kind}: 1 segment has an empty hypothesis or source and scores -175 (segment 1)"]
    assert make().sentence_score("", ["a cat"]).score == -175


def test_long_texts(make, kind, caplog):
    texts = ["the cat sat on", "a cat"]
    score = make("-short").corpus_score(texts, [["a cat", "a dog"]])
    assert score._verbose == "(truncated = 1)"
    assert caplog.messages == [f"{kind}: 1 segment was truncated (3 tokens per text): segment 1"]
    cut = make().corpus_score(["the cat sat", "a cat"], [["a cat", "a dog"]]).score
    assert score.score == pytest.approx(cut, abs=1e-3)
    with pytest.raises(InputError, match=f"^{kind}, segment 1: longer than .*on_long='truncate'"):
        make("-short", on_long="error").corpus_score(texts, [["a cat", "a dog"]])
    make("-short", on_long="error").corpus_score(texts[1:], [["a dog"]])
    with pytest.raises(InputError, match="on_long 'cut' is neither truncate nor error"):
        make(on_long="cut")


GERMAN = ["der alte hund sitzt unter dem roten baum und sieht auf den fluss"] * 4


def test_english_models(make, kind, caplog):
    metric = make("-en", target_lang="de")  # asked for: said, not refused
    says = f"{kind}: the model reads only English, but the language is German (de); it is scored because "
    assert caplog.messages == [f"{says}model=... asks for it"]
    metric.corpus_score(GERMAN, [GERMAN])
    caplog.clear()
    make("-en", target_lang="en").corpus_score(HYPOTHESES, [REFERENCES])
    make("-en").corpus_score(HYPOTHESES, [REFERENCES])
    make(target_lang="de").corpus_score(HYPOTHESES, [REFERENCES])
    assert caplog.messages == []
    make("-en").corpus_score([text[:20] for text in GERMAN], [GERMAN])
    assert [message for message in caplog.messages if "does not look English" in message]


def test_the_embedded_model_refuses_another_language(kind, monkeypatch, folders):
    from ctx_metrics.learned import estimator as learned_estimator

    load = learned_estimator.load_learned
    monkeypatch.setattr(
        learned_estimator, "load_learned", lambda kind, name, options: load(kind, folders[f"{kind}-en"], options)
    )
    with pytest.raises(
        InputError, match=rf"^{kind}: .* only English, but the language is German \(de\); name another with model="
    ):
        CLASSES[kind](target_lang="de")
    CLASSES[kind](target_lang="en")


def test_negative_scores_are_shown(make):
    """sacrebleu hides the interval of a mean that is not positive."""
    metric = make()
    texts = ["", *HYPOTHESES, "", ""]
    score = metric.corpus_score(texts, [["a cat", *REFERENCES, "a cat", "a cat"]], n_bootstrap=100)
    assert score.score < 0 and score._mean < 0 and score._ci > 0
    text = score.format(2, False, metric.get_signature().format(), False)
    shown = re.search(r" = (-\d+\.\d\d) \(μ = (-\d+\.\d\d) ± (\d+\.\d\d)\)", text)
    assert shown and [float(part) for part in shown.groups()] == pytest.approx(
        [score.score, score._mean, score._ci], abs=0.006
    )
    data = json.loads(score.format(2, False, metric.get_signature().format(), True))
    assert data["score"] == round(score.score, 2) and data["confidence_mean"] == round(score._mean, 2)
    assert data["confidence_var"] == round(score._ci, 2) > 0
    plain = metric.corpus_score(texts, [["a cat", *REFERENCES, "a cat", "a cat"]])
    assert plain.format(1, True) == f"{score.score:.1f}"


@pytest.mark.parametrize("other", CLASSES)
def test_models_of_another_kind(kind, other, folders):
    if kind != other:
        with pytest.raises(ModelError, match=f"holds no {kind} model, but one of {other}: use the metric {other} with"):
            CLASSES[kind](model=folders[other])


# the command


ALL = [REF, "-i", A, B, C, "-m", "bertr", *CLASSES, "bleu", "--paired-ar", "-j", "2", "--paired-ar-n", "60"]
LOGGED = """
from ctx_metrics.engine.forward import PackedEncoder
forward = PackedEncoder.__call__
def logged(self, sequences, *rest):
    with open(job["base"] + ".log", "a") as log:
        for sequence in sequences:
            log.write(f"{os.getpid()} {sequence.tobytes().hex()}\\n")
    return forward(self, sequences, *rest)
PackedEncoder.__call__ = logged
"""


@pytest.mark.full
def test_one_pass_of_the_command(folders, tiny_bert, tmp_path):
    """All systems and all four metrics: each text goes through the encoder once, in the parent process."""
    models = {"bertr": str(tiny_bert), **{kind: folders[kind] for kind in CLASSES}}
    args = [*ALL, *(word for name, model in models.items() for word in (f"--{name}-model", model))]
    jobs = {form: {"args": [*args, "-f", form]} for form in ("json", "text")}
    done, as_text = run_forked(tmp_path, LOGGED, SACREBLEU, jobs).values()
    log = [line.split() for line in (tmp_path / "0.log").read_text().splitlines()]
    texts = {line.lower() for file in (REF, A, B, C) for line in lines_of(file)}
    assert len({pid for pid, _ in log}) == 1
    assert len(log) == len({sequence for _, sequence in log})
    assert 0.9 * len(texts) < len(log) <= len(texts)  # texts that are cut can be the same then
    rows = strict(done.stdout)
    for kind, metric in CLASSES.items():
        scores = [metric(model=folders[kind]).corpus_score(lines_of(file), [lines_of(REF)]).score for file in (A, B, C)]
        assert [row[metric.NAME]["score"] for row in rows] == pytest.approx(scores, abs=1e-3)
        assert all(f"{score:.1f}" in as_text.stdout for score in scores)
        assert re.search(f"sacreBLEU: {kind}: .*truncated .68 tokens per text", done.stderr)


def test_flags_are_in_the_help():
    help_text = sacrebleu("-m", *CLASSES, "--help").stdout
    for kind in CLASSES:
        for flag in ("model", "on-long", "multiref"):
            assert f"--{kind}-{flag} " in help_text
