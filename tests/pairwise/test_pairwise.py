"""The metric `pairwise`: its values by hand from the features, its opponents, and the laws that concern comparisons."""

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from damage import change
from pairwise_folders import write_pairwise
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from ctx_metrics import InputError, Pairwise, read_lines
from ctx_metrics.corpus import Segments
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import ModelError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
REFERENCES = read_lines(str(EXAMPLES / "ref.en.txt"))
SYSTEMS = [read_lines(str(EXAMPLES / f"system_{letter}.en.txt")) for letter in "abc"]
WEIGHTS = 3.0, -2.0


@pytest.fixture(scope="module")
def of_chrf(tmp_path_factory) -> str:
    """Logistic regression over chrF alone: logit(1, 2) = 3 psi1 - 2 psi2, psi = 2 chrF / 100 - 1."""
    return str(write_pairwise(tmp_path_factory.mktemp("chrf") / "model", output=WEIGHTS))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> str:
    """Two features, two sources of sentence vectors, a hidden layer."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    return str(write_pairwise(folder, ("chrf", "bleu"), ("encoder@0:5", "encoder@3:3"), 4))


def make(model: str, systems=SYSTEMS, **settings) -> Pairwise:
    return Pairwise([REFERENCES], systems, target_lang="en", model=model, **settings)


def values(metric: Pairwise, hypotheses, references=None) -> list[float]:
    return [value / weight for value, weight in metric._extract_corpus_statistics(hypotheses, references)]


def chance(psi_1: np.ndarray, psi_2: np.ndarray) -> np.ndarray:
    """The mean of both orders, by the formula."""

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    first, second = WEIGHTS
    return (sigmoid(first * psi_1 + second * psi_2) + 1 - sigmoid(first * psi_2 + second * psi_1)) / 2


def chrf(outputs, references=REFERENCES) -> np.ndarray:
    return np.array(
        [2 * CHRF().sentence_score(*pair).score / 100 - 1 for pair in zip(outputs, [[r] for r in references])]
    )


def test_values_by_hand(of_chrf):
    metric = make(of_chrf)
    psi = [chrf(system) for system in SYSTEMS]
    for i, system in enumerate(SYSTEMS):
        expected = np.mean([chance(psi[i], psi[j]) for j in range(3) if j != i], axis=0)
        assert np.allclose(values(metric, system), expected, atol=1e-6)
        assert metric.corpus_score(system, None).score == pytest.approx(100 * expected.mean(), abs=1e-4)


def test_a_swap_gives_one_minus_it_exactly(whole):
    references, systems = REFERENCES[:20], [system[:20] for system in SYSTEMS]
    wins = Pairwise([references], systems, target_lang="en", model=whole).win_probabilities()
    assert wins.shape == (3, 3, 20)
    assert (wins + wins.transpose(1, 0, 2) == 1).all() and (wins[range(3), range(3)] == 0.5).all()
    assert len(np.unique(wins[0, 1])) > 10  # the model tells segments apart
    swapped = Pairwise([references], systems[::-1], target_lang="en", model=whole).win_probabilities()
    assert (swapped[::-1, ::-1] == wins).all()


@pytest.mark.full
def test_scores_are_the_means_of_the_wins(whole):
    metric = make(whole)
    wins = metric.win_probabilities()
    for i, system in enumerate(SYSTEMS):
        assert np.allclose(values(metric, system), (wins[i].sum(0) - 0.5) / 2, atol=1e-12)
    total = sum(metric.corpus_score(system, None).score for system in SYSTEMS)
    assert total == pytest.approx(150)  # every comparison gives its two systems 1 together


@pytest.mark.full
def test_order_and_batch(whole):
    references, *systems = (each[:22] for each in (REFERENCES, *SYSTEMS))

    def made(references, systems, **settings):
        return Pairwise([references], systems, target_lang="en", model=whole, **settings)

    base = values(made(references, systems), systems[1])
    for tokens in (1, 300):
        other = made(references, systems[::-1], engine=EngineOptions(batch_tokens=tokens, store_mb=1))
        assert np.allclose(values(other, systems[1]), base, atol=1e-5)
    turned = made(references[::-1], [s[::-1] for s in systems])
    assert np.allclose(values(turned, systems[1][::-1])[::-1], base, atol=1e-5)


@pytest.mark.full
def test_one_system_scored_alone_has_the_others_for_opponents(whole):
    metric = make(whole)
    assert np.allclose(values(metric, SYSTEMS[0], [REFERENCES]), values(make(whole), SYSTEMS[0]), atol=1e-6)
    stranger = [text.upper() for text in SYSTEMS[0]]
    assert metric.corpus_score(stranger, [REFERENCES])._verbose == "(opponents = 3)"


def test_equal_systems(of_chrf):
    metric = make(of_chrf, [SYSTEMS[0], list(SYSTEMS[0])])
    assert metric.corpus_score(SYSTEMS[0], None).score == 50
    assert (metric.win_probabilities() == 0.5).all()
    # a copy of a system counts as an opponent like any other
    three = make(of_chrf, [SYSTEMS[0], list(SYSTEMS[0]), SYSTEMS[1]])
    two = make(of_chrf, [SYSTEMS[0], SYSTEMS[1]])
    against_b = two.corpus_score(SYSTEMS[0], None).score
    assert three.corpus_score(SYSTEMS[0], None).score == pytest.approx((50 + against_b) / 2)


def test_against_and_baseline(of_chrf):
    psi = [chrf(system) for system in SYSTEMS]
    metric = make(of_chrf, [SYSTEMS[0]], against=[SYSTEMS[1], SYSTEMS[2]])
    expected = (chance(psi[0], psi[1]) + chance(psi[0], psi[2])) / 2
    assert np.allclose(values(metric, SYSTEMS[0]), expected, atol=1e-6)
    assert "against:file" in str(metric.get_signature())
    metric = make(of_chrf, baseline=True)
    assert metric.corpus_score(SYSTEMS[0], None).score == 50
    assert np.allclose(values(metric, SYSTEMS[2]), chance(psi[2], psi[0]), atol=1e-6)
    assert "against:baseline" in str(metric.get_signature())


@pytest.mark.full
def test_several_references(whole, of_chrf):
    """Features see all references; the network reads one at a time, and the mean counts."""
    other = [f"{text} indeed" for text in REFERENCES]
    some = [None if number % 2 else text for number, text in enumerate(other)]
    both = Pairwise([REFERENCES, some], SYSTEMS, target_lang="en", model=of_chrf).win_probabilities()
    psi = [
        np.array(
            [
                2 * CHRF().sentence_score(text, [r for r in of_segment if r is not None]).score / 100 - 1
                for text, *of_segment in zip(system, REFERENCES, some)
            ]
        )
        for system in SYSTEMS
    ]
    assert np.allclose(both[0, 1], chance(psi[0], psi[1]), atol=1e-6)
    vectors_only = whole.replace("model", "vectors")
    write_pairwise(Path(vectors_only), (), ("encoder@0:5",), 4)
    one, two, mixed = (
        Pairwise(streams, SYSTEMS, target_lang="en", model=vectors_only).win_probabilities()
        for streams in ([REFERENCES], [other], [REFERENCES, some])
    )
    assert np.abs(one - two).max() > 1e-4
    expected = [(a + b) / 2 if number % 2 == 0 else a for number, (a, b) in enumerate(zip(one[0, 1], two[0, 1]))]
    assert np.allclose(mixed[0, 1], expected, atol=1e-6)


def test_a_segment_without_a_reference_is_left_out(whole, caplog):
    references, systems = [None, *REFERENCES[1:12]], [system[:12] for system in SYSTEMS]
    metric = Pairwise([references], systems, target_lang="en", model=whole)
    score = metric.corpus_score(systems[0], None)
    assert metric.last_result.rows[0] == [0.0, 0.0] and score._verbose == "(opponents = 2 unreferenced = 1)"
    assert np.isnan(metric.win_probabilities()[:, :, 0]).all()
    assert "pairwise: every system: 1 segment has no reference and is left out (segment 1)" in caplog.messages
    rest = Pairwise([references[1:]], [s[1:] for s in systems], target_lang="en", model=whole)
    assert score.score == pytest.approx(rest.corpus_score(systems[0][1:], None).score, abs=1e-4)


def test_odd_texts(whole, caplog):
    odd = ["", " ", "\u200b", "a\0b", "🙂 👍🏽", "\u2028", "-", "x " * 3000, "Ünïcödé ﬁ ①", "[SEP] [CLS]", "日本語"]
    references = ["A plain sentence."] * len(odd)
    metric = Pairwise([references], [odd, references], model=whole)
    assert all(0 <= value <= 1 for value in values(metric, odd))
    assert "4 segments have empty hypotheses, compared as any other (segments 1, 2, 3, 6)" in " ".join(caplog.messages)
    assert "1 text was cut to what the encoder reads" in " ".join(caplog.messages)
    reference_odd = Pairwise([odd], [references, odd], model=whole)
    assert all(map(math.isfinite, values(reference_odd, references)))


def test_what_is_odd_is_said_of_win_probabilities_too(of_chrf, caplog):
    system = Segments(["", "a", " "])
    system.name = "odd.txt"
    Pairwise([["a", " ", "c"]], [system, ["a", "b", "c"]], model=of_chrf).win_probabilities()
    assert caplog.messages == [
        "pairwise: odd.txt: 2 segments have empty hypotheses, compared as any other (segments 1, 3)",
        "pairwise: every system: 1 segment has an empty reference (segment 2)",
    ]


def test_what_has_no_opponent_or_two_kinds_of_them(of_chrf):
    alone = make(of_chrf, [SYSTEMS[0]], baseline=True)
    for metric in (make(of_chrf, [SYSTEMS[0]]), alone):
        with pytest.raises(
            InputError, match="there is only one; give several as systems, or its opponents as against$"
        ):
            metric.corpus_score(SYSTEMS[0], None)
    assert alone.corpus_score(SYSTEMS[1], None).score != 50
    with pytest.raises(InputError, match="given twice, by against and baseline"):
        make(of_chrf, against=[SYSTEMS[0]], baseline=True)
    with pytest.raises(InputError, match="against=.* is not a list of lists"):
        make(of_chrf, against=["b.txt"])
    short = Segments(SYSTEMS[0][:-1])
    short.name = "short.txt"
    with pytest.raises(InputError, match="short.txt has 58 segments, but the systems have 59"):
        make(of_chrf, against=[short]).corpus_score(SYSTEMS[0], None)


def test_signature(whole):
    first, turned = make(whole), make(whole, SYSTEMS[::-1])
    text = str(first.get_signature())
    assert "|features:chrf+bleu|vectors:encoder@0_5+encoder@3_3|against:others|pool:" in text
    assert str(turned.get_signature()) == text != str(make(whole, SYSTEMS[:2]).get_signature())
    json.dumps(first.get_signature().info)
    assert "sources" not in first.can.reads  # no feature reads them
    assert "fe:chrf+bleu" in first.get_signature().format(short=True)


def test_features_must_be_those_of_training(tmp_path):
    folder = write_pairwise(tmp_path / "model", ("bleu",))
    assert make(str(folder))
    with pytest.raises(ModelError, match=r"trained on bleu as bleu\|.*tok:13a.*, but here it is bleu\|.*tok:zh"):
        Pairwise([REFERENCES], SYSTEMS, target_lang="zh", model=str(folder))
    folder = write_pairwise(tmp_path / "german", ("meteor",))
    [feature] = json.loads((folder / "config.json").read_text())["features"]
    german = feature["signature"].replace("stem:porter", "stem:snowball-german")
    change(folder, features=[{**feature, "signature": german}])
    with pytest.raises(ModelError, match="; name the language with target_lang .*, or train the model again$"):
        Pairwise(model=str(folder))
    with pytest.raises(ModelError, match="scale:100; train the model again$"):
        Pairwise(target_lang="en", model=str(folder))
    Pairwise(target_lang="de", model=str(folder))


@pytest.mark.full
def test_pickle_and_paired_tests(whole):
    metric = make(whole)
    scores = [metric.corpus_score(system, None).score for system in SYSTEMS]
    again = pickle.loads(pickle.dumps(metric))
    assert [again.corpus_score(system, None).score for system in SYSTEMS] == scores
    named = [(str(number), system) for number, system in enumerate(SYSTEMS)]
    for kind in ("bs", "ar"):
        _, results = PairedTest(named, {"Pairwise": make(whole)}, [REFERENCES], test_type=kind, n_samples=200)()
        assert [result.score for result in results["Pairwise"]] == pytest.approx(scores)
        assert all(0 < result.p_value <= 1 for result in results["Pairwise"][1:])


def test_sacrebleus_tests_call_identical_systems_different(of_chrf):
    """As docs/significance.md says: whatever the metric, p is the least there is, 1 / (n + 1)."""
    named, copy = ("a", SYSTEMS[0]), ("copy", list(SYSTEMS[0]))
    metrics = {"BLEU": BLEU(references=[REFERENCES]), "Pairwise": make(of_chrf, [SYSTEMS[0], copy[1]])}
    for kind in ("bs", "ar"):
        _, results = PairedTest([named, copy], metrics, None, test_type=kind, n_samples=99)()
        assert [results[name][1].p_value for name in metrics] == [0.01, 0.01]


def test_english_alone(tmp_path, caplog):
    folder = write_pairwise(tmp_path / "model", languages=["en"])
    with pytest.raises(InputError, match="pairwise: the model reads only English"):
        Pairwise([REFERENCES], SYSTEMS, target_lang="de")
    Pairwise([REFERENCES], SYSTEMS, target_lang="de", model=str(folder))  # it was asked for
    assert "it is scored because" in caplog.text


@pytest.mark.parametrize(
    "feature, language, says",
    [
        ("meteor", "de_AT", "was trained on meteor as .*stem:porter"),
        ("bertr", "sah", "cannot be used here: bertr: no embedded model reads"),
    ],
)
def test_another_language_than_an_english_models(tmp_path, caplog, feature, language, says):
    """The error names what can be at fault, and nothing says that the texts are scored all the same."""
    folder = write_pairwise(tmp_path / "model", (feature,), languages=["en"])
    fix = "; name en as target_lang, or train the model again$"
    with pytest.raises(ModelError, match=f"{says}[^;]*{fix}"):
        Pairwise(target_lang=language, model=str(folder))
    assert caplog.messages == []


def test_a_feature_that_reads_another_language_by_another_encoder(tmp_path, multilingual):
    folder = write_pairwise(tmp_path / "model", ("bertr",), languages=["en"])
    with pytest.raises(ModelError, match="trained on bertr as .*model:embedded.*here it is .*model:multilingual-e5"):
        Pairwise(target_lang="de", model=str(folder))


@pytest.mark.full
def test_in_the_command(whole, forked_sacrebleu):
    flags = "-m bleu chrf pairwise --paired-bs --paired-bs-n 50 -j 2 -f json --pairwise-model".split()
    done = forked_sacrebleu("ref.en.txt", "-i", *(f"system_{letter}.en.txt" for letter in "abc"), *flags, whole)
    expected = [make(whole).corpus_score(system, None).score for system in SYSTEMS]
    assert [row["Pairwise"]["score"] for row in json.loads(done.stdout)] == pytest.approx(expected, abs=0.06)
