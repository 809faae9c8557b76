"""evaluate gives the figures of `ctx-metrics score`, from lists, arrays and columns of tables."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from comet_checkpoints import RECIPES, build
from plugin_conftest import DOCIDS, REF, SOURCE, A, B, C, lines_of
from selection import some

import ctx_metrics
import ctx_metrics.evaluation.result
from ctx_metrics import SLIDE, EngineOptions, InputError, PseudoFilter, evaluate

FEW = 22  # segments, of the first two documents
OUTPUTS_A, OUTPUTS_B, OUTPUTS_C, REFERENCES, SOURCES, DOCS = (
    lines_of(name)[:FEW] for name in (A, B, C, REF, SOURCE, DOCIDS)
)
SYSTEMS = {"a": OUTPUTS_A, "b": OUTPUTS_B}
CPU = EngineOptions(device="cpu")
PSEUDO = ["prsentbleu", "prbleu", "prchrf"]
ROUND_TRIPS = ["rttbleu", "rttsentbleu", "rttchrf", "rttsbert", "rttbertscore"]
# metrics; settings of each; further flags, and the keywords that say the same
RUNS: dict[str, tuple[dict[str, dict], list[str], dict]] = {
    "words": (
        {"bleu": {}, "chrf": {"word_order": 2}, "ter": {}, "nist": {}, "meteor": {}},
        ["--chrf-word-order", "2"],
        {},
    ),
    "documents": ({"bertr": {}, "slide": {"window": 3}}, ["--slide-window", "3"], {}),
    "pseudo-references": (
        {name: {} for name in PSEUDO},
        ["--pseudo-refs", "c", "--pseudo-filter", "mas"],
        {"inputs": {"pseudo_references": [OUTPUTS_C], "pseudo_filter": PseudoFilter("mas")}},
    ),
    "round trips": (
        {name: {} for name in ROUND_TRIPS},
        ["--roundtrip", "b", "a", "--rtt-bt-name", "toy"],
        {"inputs": {"roundtrips": {"b": OUTPUTS_A, "a": OUTPUTS_B}, "backtranslator": "toy"}},
    ),
}


@pytest.fixture
def files(tmp_path, monkeypatch, ctx) -> Path:
    for name, lines in {**SYSTEMS, "c": OUTPUTS_C, "ref": REFERENCES, "src": SOURCES, "doc": DOCS}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def signatures_of_equal(rows: list[dict], result: ctx_metrics.evaluation.result.Evaluation) -> dict[str, str]:
    """The signatures in a command's rows, whose scores are those of the result."""
    of_levels = {
        "segment": lambda row, of: of.segments[row["metric"]][row["segment"] - 1],
        "document": lambda row, of: of.documents[row["metric"]][row["document"]],
        "system": lambda row, of: of.system[row["metric"]],
    }
    rows = [{**row, "metric": row["metric"].removesuffix("-peers").removesuffix("-embedded")} for row in rows]
    for row in rows:
        score = of_levels[row["level"]](row, result[row["system"]])
        assert type(score) is float
        # the command multiplies some by its --scale
        assert row["score"] in (score, score * 100 / 100) or (math.isnan(score) and row["score"] is None)
    return {row["metric"]: row["signature"] for row in rows if row["level"] == "system"}


@pytest.mark.parametrize("run", some(RUNS, ["words", "documents"]))
def test_the_figures_are_those_of_the_command(ctx, files, run):
    metrics, flags, keywords = RUNS[run]
    languages = ("en", "en") if run == "round trips" else ("de", "en")
    words = ["-s", "src", "-t", "a", "b", "-r", "ref", "--docids", "doc", "-l", "-".join(languages)]
    argv = [*words, "-m", *metrics, *flags]
    done = ctx("score", *argv, "--ctx-device", "cpu", "--format", "jsonl", "--level", "segment", "document", "system")
    assert done.code == 0, done.err
    given_texts = {"sources": SOURCES, "docs": DOCS, "source_lang": languages[0], "target_lang": languages[1]}
    result = evaluate(SYSTEMS, REFERENCES, metrics=metrics, engine=CPU, **given_texts, **keywords)
    rows = done.objects()
    assert len(rows) == (FEW + 2 + 1) * 2 * len(metrics)
    signatures = signatures_of_equal(rows, result)
    # the command's pseudo-references have the name of their file
    assert run == "pseudo-references" or signatures == result.signatures
    assert done.err.count("\n") == len(result.notices)


FOUR = {**SYSTEMS, "c": OUTPUTS_C, "d": [*reversed(REFERENCES)]}
# flags, and the keywords that say the same
SHARED: dict[str, tuple[list[str], dict[str, Any]]] = {
    "peers": (["--peers", "--peers-weight", "0.3"], {"peers": True, "peers_weight": 0.3}),
    "peers by source": (["--peers", "--peers-by-source"], {"peers": True, "peers_by_source": True}),
    "tuned": (["--tuned-with", "chrf", "bleu:x", "--kind-of-references", "synthetic"], {"tuned_with": ["chrf", "bleu:x"], "kind_of_references": "synthetic"}),
    "one tuned": (["--tuned-with", "b=prchrf", "c=ter", "c=nist"], {"tuned_with": {"b": "prchrf", "c": ["ter", "nist"]}}),
    "kept": (["--ctx-cache", "kept"], {"cache": Path("kept")}),
}  # fmt: skip


@pytest.mark.parametrize("option", some(SHARED, ["one tuned", "kept"]))
def test_keywords_do_what_flags_do(ctx, files, multilingual, option):
    flags, keywords = SHARED[option]
    (files / "d").write_text("".join(f"{line}\n" for line in FOUR["d"]), encoding="utf-8")
    metrics = ["chrf", "bertr"]
    argv = ["-s", "src", "-t", *FOUR, "-r", "ref", "-l", "de-en", "-m", *metrics, *flags]
    done = ctx("score", *argv, "--ctx-device", "cpu", "--format", "jsonl", "--level", "segment", "system")
    assert done.code == 0, done.err
    result = evaluate(
        FOUR, REFERENCES, sources=SOURCES, metrics=metrics, source_lang="de", target_lang="en", engine=CPU, **keywords
    )
    rows = done.objects()
    assert len(rows) == (FEW + 1) * len(FOUR) * len(metrics)
    assert signatures_of_equal(rows, result) == result.signatures
    said = [line.removeprefix("ctx-metrics: ") for line in done.err.splitlines()]
    told = [each for each in result.notices if "read from an earlier run" not in each]
    assert [each for each in told if each not in said and "sources" not in each] == []
    if option == "kept":
        assert "bertr: 88 of 88 outputs were read from an earlier run (cache)" in result.notices
    assert ("metric interference: " in " ".join(told)) == ("tuned" in option)


@pytest.mark.full
def test_documents_are_aligned_as_by_the_command(ctx, files):
    documents = {name: [" ".join(texts[:13]), "\n".join(texts[13:])] for name, texts in SYSTEMS.items()}
    for name, texts in documents.items():
        (files / f"{name}.aligned").write_text("\n\n".join(texts), encoding="utf-8")
    argv = ["-t", "a.aligned", "b.aligned", "--names", "a", "b", "-r", "ref", "--docids", "doc", "-l", "de-en"]
    argv += ["-m", "bleu", "chrf", "--align", "--format", "jsonl", "--level", "segment", "system"]
    done = ctx("score", *argv, "--ctx-device", "cpu", "--align-output", "lines")
    aligned = {"docs": DOCS, "metrics": ["bleu", "chrf"], "target_lang": "en", "engine": CPU, "align": True}
    result = evaluate(documents, REFERENCES, align_output=files / "of_lists", **aligned)
    of_files, of_lists = (sorted((files / folder).iterdir()) for folder in ("lines", "of_lists"))
    assert [each.name for each in of_lists] == ["a.jsonl", "a.txt", "b.jsonl", "b.txt"]
    for theirs, ours in zip(of_files, of_lists, strict=True):
        assert theirs.read_text(encoding="utf-8").replace(".aligned", "") == ours.read_text(encoding="utf-8")
    rows = done.objects()
    assert len(rows) == (FEW + 1) * 2 * 2
    signatures = signatures_of_equal(rows, result)
    assert signatures == result.signatures and "|align:v1-ref-" in signatures["bleu"]
    assert sum("22 segments of 2 documents" in each for each in result.notices) == 2
    whole = evaluate(["\n".join(OUTPUTS_A)], REFERENCES, metrics="chrf", align=True, target_lang="en", engine=CPU)
    assert len(whole.segments["chrf"]) == FEW


def test_one_system_needs_no_name():
    outputs = ["It rains in the city.", "We went home by train."]
    references = ["It rains in the city.", "We took the train home."]
    result = evaluate(outputs, references=references, metrics=["bleu", "chrf"])
    assert result.system == pytest.approx({"bleu": 56.81, "chrf": 62.89}, abs=0.01)
    assert result.segments["chrf"] == pytest.approx([100, 30.09], abs=0.01)
    assert result.documents == {"bleu": {}, "chrf": {}} and list(result) == ["system"]
    assert "BLEU" in str(result) and "nrefs:1|case:mixed" in str(result)
    assert result.signatures.keys() == {"bleu", "chrf"}


def test_arrays_and_columns_of_tables_are_lists():
    import pandas

    shared = {"metrics": ["bertr", "chrf"], "target_lang": "en", "engine": CPU}
    plain = evaluate(SYSTEMS, REFERENCES, docs=DOCS, **shared)
    frame = pandas.DataFrame({**SYSTEMS, "ref": REFERENCES, "doc": [0] * 13 + [1] * 9}, index=range(100, 100 + FEW))
    table = evaluate(dict(frame[["a", "b"]]), frame["ref"], docs=frame["doc"], **shared)
    of_arrays = {name: np.array(texts) for name, texts in SYSTEMS.items()}
    arrays = evaluate(of_arrays, np.array([REFERENCES, OUTPUTS_C]), **shared)
    assert [each.segments for each in table.values()] == [each.segments for each in plain.values()]
    assert list(table["a"].documents["chrf"]) == ["0", "1"]
    assert list(table["a"].documents["chrf"].values()) == list(plain["a"].documents["chrf"].values())
    assert "nrefs:2" in arrays.signatures["bertr"]
    assert all(two >= one for two, one in zip(arrays["a"].segments["bertr"], plain["a"].segments["bertr"]))


def test_tables_of_pandas_have_all_levels():
    result = evaluate(SYSTEMS, REFERENCES, docs=DOCS, metrics={"bleu": {}, "chrf:++": {"word_order": 2}})
    of_systems = result.to_pandas()
    assert list(of_systems.columns) == ["system", "bleu", "chrf:++"] and list(of_systems["system"]) == ["a", "b"]
    assert list(of_systems["chrf:++"]) == [of.system["chrf:++"] for of in result.values()]
    of_documents, of_segments = result.to_pandas("document"), result.to_pandas("segment")
    assert list(of_documents["document"]) == ["news-harbour", "talk-bees"] * 2
    assert list(of_segments["segment"]) == [*range(1, FEW + 1)] * 2
    assert list(of_segments["bleu"]) == [score for of in result.values() for score in of.segments["bleu"]]
    assert list(evaluate(["a"], ["a"], metrics="bleu").to_pandas("segment").columns) == ["system", "segment", "bleu"]


@pytest.mark.full
def test_tables_of_pandas_name_what_scored():
    """As files do; the result itself is asked by the names of the metrics."""
    result = evaluate(
        ["It rains."], ["It rains."], metrics={"chrf": {}, "comet": {}, "comet:again": {}}, target_lang="en"
    )
    assert list(result.to_pandas().columns) == ["system", "chrf", "comet-embedded", "comet-embedded:again"]
    assert result.system["comet"] == result.system["comet:again"]
    outputs = {name: ["It rains.", name] for name in "abcd"}
    table = evaluate(outputs, ["It rains.", "a"], metrics="chrf", peers=True)
    assert list(table.to_pandas().columns) == ["system", "chrf-peers"]
    assert {each["metric"] for each in table.compare(samples=20).pairs} == {"chrf-peers"}


def test_one_metric_can_score_twice_with_a_label_each():
    metrics = {"comet:short": {}, "comet:mean": {"multiref": "mean"}}
    result = evaluate(OUTPUTS_A, REFERENCES, metrics=metrics, engine=CPU)
    assert result.system["comet:short"] == result.system["comet:mean"] > 0
    assert "multiref:mean" in result.signatures["comet:mean"] and "multiref:max" in result.signatures["comet:short"]


def test_notebooks_show_a_table_whose_names_are_escaped():
    html = evaluate({"<b>A": ["It rains here."]}, ["It rains here."], metrics="chrf")._repr_html_()
    assert "&lt;b&gt;A" in html and "<b>A" not in html and "100.0" in html and "case:mixed" in html


@pytest.mark.full
def test_pairs_are_compared_as_by_the_command(ctx, files):
    result = evaluate(SYSTEMS, REFERENCES, docs=DOCS, metrics=["chrf", "ter"])
    argv = ["-t", "a", "b", "-r", "ref", "--docids", "doc", "-m", "chrf", "ter", "--samples", "50", "--seed", "3"]
    done = ctx("compare", *argv, "--format", "json")
    found = result.compare(samples=50, seed=3)
    assert found.pairs == json.loads(done.out)
    assert found.ranks == {"chrf": {"a": 1, "b": 1}, "ter": {"a": 1, "b": 1}}
    assert str(found) + "\n" == ctx("compare", *argv).out
    assert (
        found.table("latex", autorank="wmt25") == ctx("compare", *argv, "--format", "latex", "--autorank", "wmt25").out
    )
    frame = found.to_pandas()
    assert list(frame["difference"]) == [each["difference"] for each in found.pairs]
    better = result.compare(resample="segment", test="bootstrap", holm=False).pairs
    assert {each["correction"] for each in better} == {"none"} and all(each["units"] == FEW for each in better)


@pytest.mark.full
def test_the_report_is_that_of_the_command(ctx, files):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    languages = {"source_lang": "de", "target_lang": "en"}
    texts = {"sources": SOURCES, "docs": DOCS, **languages}
    result = evaluate(SYSTEMS, REFERENCES, metrics=["chrf", "bertr"], engine=CPU, explain=True, **texts)
    result.report(files / "mine.html")
    argv = ["-s", "src", "-t", "a", "b", "-r", "ref", "--docids", "doc", "-l", "de-en", "-m", "chrf", "bertr"]
    assert ctx("report", *argv, "--ctx-device", "cpu", "-o", "theirs.html", "-q").code == 0
    # the notices name keywords here and flags there
    mine, theirs = ((files / f"{name}.html").read_text() for name in ("mine", "theirs"))
    notices = re.compile('<details class="notices".*?</details>', re.DOTALL)
    assert notices.sub("", mine) == notices.sub("", theirs)
    assert "use more documents, or resample=" in (files / "mine.html").read_text()


@pytest.mark.full
@pytest.mark.parametrize("recipe", ["regression", "referenceless", "xcomet"])
def test_predict_gives_a_model_s_own_scores(tmp_path, recipe):
    model = str(build(RECIPES[recipe], tmp_path / recipe))
    samples = [dict(zip(("src", "mt", "ref"), texts)) for texts in zip(SOURCES, OUTPUTS_A, REFERENCES)]
    found = ctx_metrics.predict(samples, model=model, engine=CPU)
    metric = ctx_metrics.COMET([REFERENCES], sources=SOURCES, model=model, engine=CPU)
    scores = [each.score for each in metric.segment_scores(OUTPUTS_A)]
    assert [100 * score for score in found.scores] == pytest.approx(scores, abs=1e-9)
    assert 100 * found.system_score == pytest.approx(metric.corpus_score(OUTPUTS_A).score, abs=1e-9)
    assert (found.error_spans is not None) == (recipe == "xcomet")
    if found.error_spans:
        assert len(found.error_spans) == FEW and {"start", "end", "severity"} <= sum(found.error_spans, [])[0].keys()


def test_predict_without_references_or_with_some(caplog):
    samples = [
        {"src": "Es regnet.", "mt": "It rains.", "ref": "It is raining.", "id": "7"},
        {"mt": "We went.", "ref": None},
    ]
    with pytest.raises(InputError, match="^samples, sample 2: src: expected a string, got NoneType"):
        ctx_metrics.predict(samples)
    for each in samples:
        each.pop("src", None)
    samples[0]["mt"] += "\0"
    scored = ctx_metrics.predict(samples, engine=CPU)
    assert "|inputs:mt+ref|" in scored.signature
    assert scored.scores[0] > 0 and math.isnan(scored.scores[1]) and scored.error_spans is None
    assert "samples: 1 sample has keys that are not read (id)" in caplog.text
    assert "1 sample has no whole reference and is left out (sample 2)" in caplog.text
    assert "samples: mt: 1 sample holds NUL characters, which are kept (sample 1)" in caplog.text


def test_sources_are_read_where_there_are_no_references(multilingual):
    """Without a language too, where a model for English would score if there were references."""
    scored = evaluate(["Der Laden öffnet um neun."], sources=["The shop opens at nine."], engine=CPU)
    assert "|inputs:mt+src|" in scored.signatures["comet"]
    assert not any("reads the sources" in each for each in scored.notices)


def test_each_notice_is_given_once_and_kept(caplog):
    odd = ["Tom &amp; Ann went home.", "It rains."]
    result = evaluate({"a": odd, "b": [*odd]}, ["Tom and Ann went home.", "It rains."], sources=odd, metrics=["chrf"])
    assert [record.getMessage() for record in caplog.records] == list(result.notices)
    assert any("HTML" in each for each in result.notices) and any("sources" in each for each in result.notices)
    assert not evaluate(odd, odd, metrics=["chrf"], text_checks=False).notices


def pandas_na() -> Any:
    return pytest.importorskip("pandas").NA


WRONG = {
    "one string": (lambda: evaluate("It rains.", ["a"]), "hypotheses: expected a list of strings, got one string"),
    "a number": (lambda: evaluate(["a", 7], ["a", "b"]), "hypotheses, segment 2: expected a string, got int"),
    "no text": (lambda: evaluate([], []), "no hypotheses to score"),
    "no system": (lambda: evaluate({}, []), "hypotheses: no system given"),
    "a name": (lambda: evaluate({" ": ["a"]}, ["a"]), "hypotheses has an empty name"),
    "lengths": (lambda: evaluate(["a"], ["a", "b"]), "references: 2 segments for 1 segment of hypotheses"),
    "documents": (lambda: evaluate([*"abc"], [*"abc"], docs=[1, 2, 1]), "docs, line 3: '1' returns"),
    "no metric": (lambda: evaluate(["a"], ["a"], metrics=[]), "metrics: no metric given"),
    "no model": (lambda: evaluate(["a"], ["a"], metrics="bleu", model="x"), "none of the metrics has a quality model"),
    "inputs of systems": (
        lambda: evaluate(["a"], sources=["a"], metrics="rttbleu", inputs={"roundtrips": {"x": ["a"]}}),
        "roundtrips is a list of streams, or a dict with one for each system by its name",
    ),
    "numbers as inputs": (
        lambda: evaluate(["a"], ["a"], metrics="prbleu", inputs={"pseudo_references": [[3]]}),
        "pseudo_references, stream 1, segment 1: expected a string, got int",
    ),
    "a missing round trip": (
        lambda: evaluate(["a"], sources=["a"], metrics="rttbleu", inputs={"roundtrips": [[None]]}),
        "roundtrips, stream 1, segment 1: expected a string, got NoneType",
    ),
    "no level": (lambda: evaluate(["a"], ["a"], metrics="chrf").to_pandas(pandas_na()), "is not one of system, document"),
    "a source of a metric": (
        lambda: SLIDE(references=[["a"]], target_lang="en", sources=[pandas_na()]).segment_scores(["a"]),
        "slide: sources, segment 1: expected a string, got <NA>, a missing value",
    ),
    "texts by document": (
        lambda: evaluate({"s": {"d": "a"}}, ["a"], docs=["d"], align=True, target_lang="en"),
        "s: this is a dict; give a list of its texts",
    ),
    "nothing to align with": (lambda: evaluate(["a"], metrics="comet", align=True), "give references or the source"),
    "no language to align": (lambda: evaluate(["a"], ["a"], align=True), "name the language with target_lang"),
    "the source alone": (lambda: evaluate(["a"], ["a"], peers_by_source=True), "give peers=True too"),
    "a folder alone": (lambda: evaluate(["a"], ["a"], align_output="x"), "works only with align=True; give both, or"),
    "a kind of no references": (lambda: evaluate(["a"], kind_of_references="human"), "there are none; give references, or"),
    "few peers": (lambda: evaluate(SYSTEMS, REFERENCES, metrics="chrf", peers=True), "chrf: peers need at least 4"),
    "tuned with a number": (lambda: evaluate(["a"], ["a"], tuned_with=7), "tuned_with: expected a list of strings, got int"),
    "a file as cache": (lambda: evaluate(["a"], ["a"], cache=__file__), "is a file, but a folder is needed there"),
    "samples": (lambda: ctx_metrics.predict([{"src": "a"}]), "samples, sample 1: this is not a dict with mt"),
    "no samples": (lambda: ctx_metrics.predict([]), "samples: there are none to score"),
    "bare samples": (lambda: ctx_metrics.predict([{"mt": "a"}]), "samples: none has src or ref"),
    "a level": (lambda: evaluate(["a"], ["a"], metrics="bleu").to_pandas("word"), "level 'word' is not one of system"),
    "no documents": (lambda: evaluate(["a"], ["a"], metrics="bleu").to_pandas("document"), "need docs"),
    "alpha": (lambda: evaluate(SYSTEMS, REFERENCES, metrics="chrf").compare(alpha=5), "alpha=5 is not a number between 0 and 1"),
    "resample": (
        lambda: evaluate(SYSTEMS, REFERENCES, metrics="chrf").compare(resample="document"),
        "resample='document' needs at least 2 documents, but the document ids name 0 documents; use resample='segment'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_bad_input_is_one_line_that_names_the_fix(fault):
    call, says = WRONG[fault]
    with pytest.raises(InputError) as raised:
        call()
    assert says in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "keywords, meant", [({"metrics": {"slide": {"windw": 3}}}, "window"), ({"peer": True}, "peers")]
)
def test_a_misspelt_word_is_a_type_error(keywords, meant):
    with pytest.raises(TypeError, match=f"did you mean '?{meant}"):
        evaluate(["a"], ["a"], **keywords)


def test_sacrebleus_metrics_need_a_reference_for_each_segment():
    texts = ["It rains.", "We left."], [["It rains.", None], [None, None]]
    with pytest.raises(InputError, match=r"references: segment 2 has none, which bleu, chrf cannot score; leave such"):
        evaluate(*texts, metrics=["bleu", "bertr", "chrf"], target_lang="en")
    assert evaluate(*texts, metrics="bertr", target_lang="en").system["bertr"] == pytest.approx(100)


def test_references_of_each_segment_in_a_square_are_named():
    hypotheses = ["The council met on Tuesday.", "He left the room at noon.", "It rained all day in town."]
    of_segments = [[text, f"{text[:-1]} again.", f"Yes, {text[0].lower()}{text[1:]}"] for text in hypotheses]
    [line] = [str(each) for each in evaluate(hypotheses, of_segments, metrics=["chrf"]).notices]
    assert "3 lists of 3 texts" in line and "give list(zip(*references))" in line
    streams = [*zip(*of_segments, strict=True)]
    assert not evaluate(hypotheses, streams, metrics=["chrf"]).notices
    assert not evaluate(hypotheses, [["no"] * 3] * 3, metrics=["chrf"]).notices
