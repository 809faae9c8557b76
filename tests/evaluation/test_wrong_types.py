"""Values of wrong types in Python: each is an InputError, and never another exception."""

import inspect
import math
from dataclasses import fields
from typing import Any

import numpy as np
import pandas
import pytest

import ctx_metrics
from ctx_metrics import InputError, evaluate, predict
from ctx_metrics.registry import metric_table
from ctx_metrics.run.wrappers import installed_wrappers
from ctx_metrics.scoring.context import parameters

TEXTS = ["It rains.", "We left."]
WRONG = [None, 5, 1.5, "x", [None], object(), math.nan, -1, True, {}, b"x"]
STREAMS = {"references", "systems", "sources", "doc_ids"}


def is_ours(cls: type) -> bool:
    return hasattr(cls, "Settings")


def settings_of(cls: type) -> list[str]:
    own = [each.name for each in fields(cls.Settings)] if is_ours(cls) else [*parameters(cls)]
    return [name for name in own if name not in STREAMS and name not in ("self", "trg_lang")]


SETTINGS = [(name.lower(), each) for name, cls in metric_table().items() for each in settings_of(cls)]


@pytest.mark.full
@pytest.mark.parametrize("metric, setting", SETTINGS, ids=[":".join(each) for each in SETTINGS])
def test_settings_of_metrics(metric, setting):
    """Some wrong values are right here: such a metric is constructed, or says what else it needs."""
    streams = {"roundtrips": [TEXTS], "backtranslator": "toy"} if metric.startswith("rtt") else {}
    if metric.startswith("pr"):
        streams = {"pseudo_references": [TEXTS]}
    wrong = 0
    for value in WRONG:
        try:
            evaluate(
                {"a": TEXTS, "b": [*reversed(TEXTS)]},
                TEXTS,
                sources=TEXTS,
                metrics={metric: {setting: value}},
                inputs=streams,
                source_lang="en",
                target_lang="en",
                text_checks=False,
            )
        except ctx_metrics.CtxMetricsError as error:
            wrong += isinstance(error, InputError)
            assert "\n" not in str(error), value
    assert wrong > len(WRONG) / 2


*OF_EVERY_RUN, _ = inspect.signature(evaluate).parameters  # and the keywords of wrappers
PARAMETERS = [*OF_EVERY_RUN, *(name for each in installed_wrappers() for name in each.offered)]


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_evaluate(name):
    wrong = 0
    for value in WRONG:
        given = {"hypotheses": TEXTS, "references": TEXTS, "metrics": "chrf", "target_lang": "en", name: value}
        try:
            evaluate(**given)
        except InputError as error:
            assert "\n" not in str(error), value
            wrong += 1
    assert wrong > len(WRONG) / 2


@pytest.mark.parametrize("name", inspect.signature(predict).parameters)
def test_parameters_of_predict(name):
    for value in [each for each in WRONG if each != "x" and each is not None]:
        with pytest.raises((InputError, ctx_metrics.ModelError)):
            predict(**{"samples": [{"mt": "a", "ref": "b"}], "target_lang": "en", name: value})


@pytest.mark.parametrize("method", ["compare", "to_pandas", "report", "details"])
def test_methods_of_results(method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = evaluate({"a": TEXTS, "b": [*reversed(TEXTS)]}, TEXTS, metrics="chrf", target_lang="en")
    call = getattr(result, method)
    for name in inspect.signature(call).parameters:
        for value in [object(), math.nan, 1.5, [None], b"x"]:
            with pytest.raises(InputError):
                call(**{name: value})


MISSING = [pandas.NA, pandas.NaT, math.nan, np.float64("nan")]


@pytest.mark.parametrize("value", MISSING, ids=repr)
@pytest.mark.parametrize("stream", ["hypotheses", "references", "sources"])
def test_a_missing_text_is_named(stream, value):
    given: dict[str, Any] = {"hypotheses": TEXTS, "references": TEXTS, stream: [TEXTS[0], value]}
    with pytest.raises(InputError, match=f"{stream}, segment 2: expected a string, got .*, a missing value"):
        evaluate(**given, metrics="chrf", target_lang="en")
    with pytest.raises(InputError, match="^samples, sample 1: mt: expected a string, got .*, a missing value"):
        predict([{"mt": value, "ref": "b"}], target_lang="en")


SHAPES = {
    "set": {*TEXTS},
    "dict": dict.fromkeys(TEXTS),
    "generator": (text for text in TEXTS),
    "0-d array": np.array("a"),
    "2-d array": np.array([TEXTS, TEXTS]),
    "table": pandas.DataFrame({"a": TEXTS}),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("stream", ["hypotheses", "references", "sources", "docs"])
def test_what_is_no_list_of_texts(stream, shape):
    if (stream, shape) in (("references", "2-d array"), ("hypotheses", "dict")):
        return
    given: dict[str, Any] = {"hypotheses": TEXTS, "references": TEXTS, stream: SHAPES[shape]}
    with pytest.raises(InputError, match=stream[:3]):
        evaluate(**given, metrics="chrf", target_lang="en")
    if stream == "docs":
        return
    metric = ctx_metrics.NIST
    if stream == "hypotheses":
        with pytest.raises(InputError):
            metric([TEXTS]).corpus_score(SHAPES[shape])
    elif stream == "references":
        with pytest.raises(InputError):
            metric([SHAPES[shape]]).corpus_score(TEXTS)


def test_keys_and_values_of_a_dict_have_an_order():
    texts = {"It rains.": "We left."}
    assert evaluate(texts.keys(), texts.keys(), metrics="chrf", target_lang="en").system["chrf"] == 100
    assert evaluate(texts.values(), texts.values(), metrics="chrf", target_lang="en").system["chrf"] == 100


def test_whole_numbers_are_document_ids():
    result = evaluate(["a", "b", "c"], ["a", "b", "c"], docs=pandas.Series([1.0, 1.0, 2.0]), metrics="chrf")
    assert list(result.documents["chrf"]) == ["1", "2"]
    metric = ctx_metrics.SLIDE([["a", "b", "c"]], doc_ids=[1.0, 1, 2], target_lang="en")
    assert metric.corpus_score(["a", "b", "c"]).score > 0
    with pytest.raises(InputError, match="docs, line 2: the document id 1.5 is neither"):
        evaluate(["a", "b"], ["a", "b"], docs=[1, 1.5], metrics="chrf")
