"""ContextScore and ContextSignature: what sacrebleu's format breaks on, and must not."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.base import Score, Signature

from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.notices import Notice
from ctx_metrics.scoring.base import ContextMetric, ContextScore, ContextSignature, SystemResult
from ctx_metrics.scoring.context import Capabilities

SCORE_KEYS = {"name", "score", "signature", "verbose_score", "confidence", "confidence_mean", "confidence_var"}


def strict(text: str) -> dict:
    """JSON as the standard has it: no NaN, no Infinity, no key twice."""

    def once(pairs):
        assert len(pairs) == len(dict(pairs)), f"a key comes twice: {pairs}"
        return dict(pairs)

    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"), object_pairs_hook=once)


def score(value: float, mean: float | None = None, ci: float | None = None) -> ContextScore:
    made = ContextScore("X", value)
    if mean is not None:
        made._mean, made._ci = mean, ci
    return made


def signature(settings: dict = {}, **arguments) -> ContextSignature:
    return ContextSignature({"num_refs": 1, "signature": settings, **arguments})


EVERY = dict.fromkeys(ContextSignature.ABBREVIATIONS, "v")
FULL = {"n_bootstrap": 1000, "seed": 12345, "test_set": "wmt18", "langpair": "de-en", "origlang": "de"}
FULL["subset"] = "country:US"


def test_every_key_has_an_abbreviation_of_its_own():
    made = signature(EVERY, **FULL)
    made.update("ar", 10000)
    assert set(made.info) <= set(made._abbr)
    short = [made._abbr[key] for key in made.info]
    assert len(short) == len(set(short))
    assert not set(made.info) & SCORE_KEYS
    assert set(Signature({"num_refs": 1})._abbr) <= set(made._abbr)


@pytest.mark.parametrize("short", [False, True])
def test_every_key_can_be_formatted(short):
    made = signature(EVERY, **FULL)
    made.update("ar", 10000)
    text = made.format(short)
    assert len(text.split("|")) == len(made.info) and all(part.count(":") == 1 for part in text.split("|"))
    assert strict(score(1.0).format(1, False, text, True))["score"] == 1.0


@pytest.mark.full
@given(
    st.dictionaries(
        st.sampled_from(sorted(ContextSignature.ABBREVIATIONS)), st.one_of(st.text(), st.integers(), st.booleans())
    ),
    st.text(),
    st.booleans(),
)
def test_no_value_breaks_the_json(settings, subset, short):
    made = signature(settings, subset=subset)
    text = made.format(short)
    result = strict(score(12.34).format(1, False, text, True))
    assert (result["name"], result["score"], result["signature"]) == ("X", 12.3, text)
    assert result["v" if short else "version"]
    assert "scale" in settings or result["sc" if short else "scale"] == "100"


def test_values_lose_delimiters_and_nothing_else():
    text = signature({"model": "a:b|c\td", "layers": "3,4", "partial": True, "rev": None}).format()
    assert "model:a_b_c_d|" in text and "layers:3,4|" in text and "partial:yes|" in text and "rev" not in text
    info = signature({"window": 7, "model": "plain-1.0_x"}).info
    assert info["window"] == 7 and info["model"] == "plain-1.0_x"


def test_versions_and_scale_are_in_it():
    assert not {"torch", "tokenizers"} & signature().info.keys()  # no model, so no score can depend on them
    info = signature({"model": "m"}).info
    assert info["scale"] == 100 and info["ctx"] and info["torch"] and info["tokenizers"] and info["version"]


def test_the_number_of_references_must_be_known():
    with pytest.raises(ValueError):
        ContextSignature({"signature": {}})
    assert "nrefs:var" in signature(num_refs=-1).format()


@pytest.mark.parametrize("value, mean, ci", [(-3.21, -3.26, 0.4), (0.0, 0.0, 0.25), (-0.04, -0.04, 1.04)])
def test_a_mean_that_is_not_positive_shows_its_interval(value, mean, ci):
    for width in (0, 1, 2, 6):
        made = score(value, mean, ci)
        shown = f"μ = {mean:.{width}f} ± {ci:.{width}f}"
        assert made.format(width, signature="a:b") == f"X|a:b = {value:.{width}f} ({shown})"
        assert made.format(width, True) == f"{value:.{width}f} ({shown})"
        result = strict(made.format(width, False, "a:b", True))
        assert result["confidence"] == shown
        assert result["confidence_mean"] == float(f"{mean:.{width}f}") and result["confidence_var"] == float(
            f"{ci:.{width}f}"
        )
        assert made._mean == mean


@given(st.floats(-100, 100), st.floats(0.001, 100), st.floats(0, 50), st.integers(0, 6))
def test_a_positive_mean_is_formatted_as_sacrebleu_does_it(value, mean, ci, width):
    ours, stock = score(value, mean, ci), Score("X", value)
    stock._mean, stock._ci = mean, ci
    for is_json in (False, True):
        assert ours.format(width, False, "a:b", is_json) == stock.format(width, False, "a:b", is_json)


def test_no_interval_where_none_was_estimated():
    assert score(-5.0).format(1) == "X = -5.0" and "confidence" not in strict(score(-5.0).format(1, False, "a:b", True))


def test_nan_is_null_in_json_and_nan_in_text():
    made = score(math.nan)
    made._verbose = "(0 of 3)"
    assert made.format(1) == "X = nan (0 of 3)" and made.format(1, True) == "nan"
    made._mean, made._ci = -2.0, 0.5
    result = strict(made.format(1, False, "a:b", True))
    assert result["score"] is None and result["verbose_score"] == "(0 of 3)" and result["a"] == "b"
    assert result["confidence_mean"] == -2.0


def test_the_interval_is_over_resamples_that_hold_a_scored_segment():
    made = score(50.0)
    made.estimate_ci([ContextScore("X", value) for value in [math.nan, 40.0, 60.0, math.nan]])
    assert (made._mean, made._ci) == (50.0, 10.0)
    made = score(50.0)
    made.estimate_ci([ContextScore("X", math.nan)])
    assert made.format(1) == "X = 50.0"


class Lengths(ContextMetric):
    """Words of the hypothesis, weighted 1; a hypothesis "-" is not scored."""

    NAME = "Lengths"
    capabilities = Capabilities(reads=frozenset({"source_lang", "target_lang"}))

    def __init__(self, *args, **context):
        super().__init__(*args, **context)
        self.signature, self.passes = {"inputs": "mt"}, []

    def _score(self, corpora):
        self.passes.append(len(corpora))
        return [
            SystemResult(
                [[0.0, 0.0] if text == "-" else [len(text.split()) / 10, 1.0] for text in corpus.hypotheses],
                {"skipped": corpus.hypotheses.count("-")},
                [Notice("a note")] if "-" in corpus.hypotheses else [],
            )
            for corpus in corpora
        ]


ONE, TWO, REFS = ["a b", "a", "-"], ["a b c", "a b", "a"], [["x", "y", "z"]]


def test_all_systems_are_scored_in_one_pass():
    metric = Lengths(REFS, [ONE, TWO, list(ONE)])
    assert metric.corpus_score(TWO, None).score == pytest.approx(20.0)
    assert metric.corpus_score(ONE, None).score == pytest.approx(15.0)
    assert metric.passes == [2]  # equal systems are one
    assert metric.corpus_score(["a", "-", "-"], None).score == pytest.approx(10.0)
    assert metric.passes == [2, 1]


def test_a_metric_that_leaves_out_segments_is_no_score():
    class Short(Lengths):
        def _score(self, corpora):
            return [SystemResult(result.rows[:-1]) for result in super()._score(corpora)]

    with pytest.raises(ModelError, match="lengths: the metric gives 2 rows for 3 segments"):
        Short(REFS, [TWO]).corpus_score(TWO, None)


def test_counts_are_shown_after_the_score():
    metric = Lengths(REFS, [ONE, TWO])
    assert str(metric.corpus_score(ONE, None)) == "Lengths = 15.00 (skipped = 1)"
    assert str(metric.corpus_score(TWO, None)) == "Lengths = 20.00"
    assert "inputs:mt" in str(metric.get_signature())


def test_notices_name_the_system(caplog):
    with caplog.at_level("WARNING", "ctx_metrics"):
        Lengths(REFS, [TWO, ONE]).corpus_score(TWO, None)
    assert [record.getMessage() for record in caplog.records] == ["lengths: system 2: a note"]


def test_the_confidence_interval_of_a_corpus():
    result = Lengths(REFS, [TWO]).corpus_score(TWO, None, n_bootstrap=200)
    assert 10 < result._mean < 30 and 0 < result._ci < 20


def test_sentence_score_has_the_sentence_alone():
    assert Lengths().sentence_score("a b c", ["x"]).score == pytest.approx(30.0)


def test_references_are_never_cut_to_the_shortest():
    with pytest.raises(InputError, match=r"differ in length: \[3, 2\]"):
        Lengths([["x", "y", "z"], ["x", "y"]])
    with pytest.raises(InputError, match="references: 3 segments for 2 hypotheses"):
        Lengths(REFS).corpus_score(["a", "b"], None)
    with pytest.raises(InputError, match="references: 2 segments for 3 hypotheses"):
        Lengths().corpus_score(ONE, [["x", "y"]])
    with pytest.raises(InputError, match="list of streams"):
        Lengths(["x", "y", "z"])


def test_what_cannot_be_scored():
    with pytest.raises(InputError, match="no hypotheses"):
        Lengths(REFS).corpus_score([], None)
    with pytest.raises(InputError, match="no references are given"):
        Lengths().corpus_score(ONE, None)
    with pytest.raises(InputError, match="no segment can be scored; a note"):
        Lengths([["x"]]).corpus_score(["-"], None)


def test_missing_references_make_their_number_vary():
    metric = Lengths([["x", "y", "z"], ["x", None, ""]])
    assert metric.num_refs == -1
    assert Lengths([["x", "y"], ["x", ""]]).num_refs == -1  # an empty reference beside another is none
    assert Lengths([["x", ""], ["x", ""]]).num_refs == 2


def test_pickling_drops_the_systems_and_keeps_the_results():
    import pickle

    metric = Lengths(REFS, [ONE, TWO])
    metric.corpus_score(ONE, None)
    again = pickle.loads(pickle.dumps(metric))
    assert again.corpus_score(TWO, None).score == pytest.approx(20.0)
    assert (len(again._context.systems), again.passes) == (0, [2])


def test_statistics_take_arrays():
    import numpy as np

    metric = Lengths(REFS)
    assert metric._aggregate_and_compute(np.array([[0.3, 2.0]])).score == pytest.approx(15.0)
    value = metric._compute_score_from_stats(np.array([0.3, 2.0], dtype="float32")).score
    assert type(value) is float and value == pytest.approx(15.0, abs=1e-5)
    assert math.isnan(metric._compute_score_from_stats([0.0, 0.0]).score)


def test_no_attribute_shows_up_in_the_signature_by_accident():
    """sacrebleu reads these keys from the metric's attributes."""
    metric = Lengths(REFS, [ONE], target_lang="en", source_lang="de")
    assert not {"test_set", "langpair", "origlang", "subset"} & set(vars(metric))
    metric.corpus_score(ONE, None)
    keys = [part.split(":")[0] for part in str(metric.get_signature()).split("|")]
    assert keys == ["nrefs", "inputs", "scale", "ctx", "version"]
