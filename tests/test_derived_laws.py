"""The laws of tests/test_laws.py for the metrics that read words (nist, meteor) or compare other texts than hypotheses and
references: round trips with the source, hypotheses with gold and pseudo-references."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time

import laws
import pytest
from laws import EXAMPLES, REFERENCES, SCRAMBLED, SYSTEMS
from sacrebleu.metrics import METRICS
from selection import some

from ctx_metrics import InputError
from ctx_metrics.corpus import named
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.pseudo_references.inputs import PseudoFilter
from ctx_metrics.scoring.context import capabilities
from ctx_metrics.scoring.sentence_bleu import SentenceBLEU

ROUNDTRIP = ("rttbleu", "rttsentbleu", "rttchrf", "rttsbert", "rttbertscore")
PSEUDO = ("prsentbleu", "prbleu", "prchrf")
LARGEST = {"nist": math.inf, "meteor": 100}  # of the metrics of words
# the corpus score is the mean of the segments'
MEANS = ("rttsentbleu", "rttsbert", "rttbertscore", "prsentbleu")
OUTPUT_LINES = [f"Satz {number}: eine Ausgabe des Systems" for number in range(1, 60)]


def roundtrip_metric(name: str, outputs, sources, roundtrips, **settings):
    cls = METRICS[name.upper()]
    languages = {"source_lang": "en"} if "source_lang" in capabilities(cls).reads else {}
    return cls(None, outputs, sources=sources, roundtrips=roundtrips, **languages, **settings)


def make(name: str, systems: list, truth: list, **settings):
    """A metric, and what it scores as hypotheses so that `systems` are compared with `truth`."""
    if name in ROUNDTRIP:
        outputs = [[f"{number} {line}" for line in OUTPUT_LINES[:1] * len(each)] for number, each in enumerate(systems)]
        return roundtrip_metric(name, outputs, truth, systems, backtranslator="toy", **settings), outputs
    if name in LARGEST:
        return METRICS[name.upper()]([truth], systems, target_lang="en", **settings), systems
    given = {"pseudo_filter": PseudoFilter("mas", guard=None), "target_lang": "en"}
    pseudo = [named([f"{line} again" for line in truth], "again.txt")]
    return METRICS[name.upper()]([truth], systems, pseudo_references=pseudo, **given, **settings), systems


def of_pseudo(name: str, *streams: list, filter="mas", gold=REFERENCES, systems=()):
    """A metric with pseudo-references; `filter` is a filter or the name of one without a guard."""
    chosen = PseudoFilter(filter, guard=None) if isinstance(filter, str) else filter
    given = {"pseudo_references": list(streams) or None, "pseudo_filter": chosen}
    return METRICS[name.upper()]([gold], systems, target_lang="en", **given)


def without_pseudo(name: str, *references: list):
    """The metric of references that a pseudo-reference metric extends."""
    cls = SentenceBLEU if name == "prsentbleu" else METRICS[name.removeprefix("pr").upper()]
    return cls(references=list(references))


def score(name: str, system: list, truth: list, **settings) -> float:
    metric, [hypotheses] = make(name, [system], truth, **settings)
    return metric.corpus_score(hypotheses, None).score


def segment_scores(name: str, systems: list, truth: list, **settings) -> list[list[float]]:
    metric, scored = make(name, systems, truth, **settings)
    return [[each.score for each in metric.segment_scores(hypotheses, None)] for hypotheses in scored]


NAMES = [*ROUNDTRIP, *PSEUDO, *LARGEST]
# of each family a metric of means and one of counts, and those that read a model; the others run with -m full
USUAL = ["rttsentbleu", "rttsbert", "prbleu", *LARGEST]


@pytest.fixture(params=some(NAMES, USUAL))
def name(request) -> str:
    return request.param


@pytest.fixture(params=LARGEST)
def lexical(request) -> str:
    return request.param


@pytest.fixture(params=ROUNDTRIP)
def roundtrip(request) -> str:
    return request.param


@pytest.fixture(params=PSEUDO)
def pseudo(request) -> str:
    return request.param


@pytest.mark.parametrize("name", some(NAMES, LARGEST), indirect=True)
def test_order_and_company(name):
    """A segment's score depends neither on the order nor on the other systems nor on the batch."""
    settings = {"idf": "none"} if name == "rttbertscore" else {}  # idf is of the whole source
    references, *systems = (each[:30] for each in (REFERENCES, *SYSTEMS.values()))
    [base] = segment_scores(name, [systems[1]], references, **settings)
    order = random.Random(3).sample(range(len(base)), len(base))
    truth = [references[i] for i in order]
    [shuffled] = segment_scores(name, [[systems[1][i] for i in order]], truth, **settings)
    assert [shuffled[order.index(i)] for i in range(len(base))] == pytest.approx(base, abs=1e-3)
    together = segment_scores(name, systems, references, **settings)[1]
    assert together == pytest.approx(base, abs=1e-3)
    corpus = score(name, systems[1], references, **settings)
    assert score(name, [systems[1][i] for i in order], truth, **settings) == pytest.approx(corpus, abs=1e-3)
    if name in ("rttsbert", "rttbertscore") or name in PSEUDO:
        engine = EngineOptions(batch_tokens=100, store_mb=1)
        [small] = segment_scores(name, [systems[1]], references, engine=engine, **settings)
        assert small == pytest.approx(base, abs=1e-3)


def test_identity(name):
    same = score(name, REFERENCES, REFERENCES)
    assert same <= LARGEST[name] if name in LARGEST else same == pytest.approx(100, abs=1e-3)
    assert max(score(name, system, REFERENCES) for system in SYSTEMS.values()) < same - 1


@pytest.mark.parametrize("name", some(MEANS, ["rttsentbleu", "rttsbert"]), indirect=True)
def test_corpus_score_of_means(name):
    [scores] = segment_scores(name, [SYSTEMS["b"]], REFERENCES)
    assert score(name, SYSTEMS["b"], REFERENCES) == pytest.approx(sum(scores) / len(scores), abs=1e-6)


def test_odd_lines(name):
    for hypotheses, truth in laws.odd_lines():
        [scores] = segment_scores(name, [hypotheses], truth)
        assert len(scores) == len(hypotheses) and all(map(math.isfinite, scores))
        least, most = (0, LARGEST[name]) if name in LARGEST else (-100.001, 100.001)
        assert all(least <= each <= most for each in scores)


def test_lengths_must_agree(name):
    with pytest.raises(InputError, match="2.*3|3.*2"):
        score(name, ["a", "b"], ["a", "b", "c"])


def test_signature(name):
    metric, [hypotheses] = make(name, [SYSTEMS["a"]], REFERENCES)
    result = laws.signature(metric, hypotheses, None)
    assert result["name"].lower() == name
    if name in LARGEST:
        assert result["nrefs"] == "1" and result["tok"] == "13a"
        return
    assert result["scale"] == "100"
    if name in ROUNDTRIP:
        assert result["nrefs"] == "0" and result["bt"] == "toy" and result["inputs"] == "src+rtt"
    else:
        assert result["nrefs"] == "1" and result["pseudo"] == "1" and result["filter"] == "mas"


def test_bootstrap(name):
    metric, [hypotheses] = make(name, [SYSTEMS["b"]], REFERENCES)
    whole = metric.corpus_score(hypotheses, None, n_bootstrap=200)
    assert 0 < whole._ci < whole.score / 4 and abs(whole._mean - whole.score) < whole.score / 25
    assert "±" in whole.format()


@pytest.mark.parametrize("name", some(NAMES, ["rttbertscore", "prbleu", "nist"]), indirect=True)
@pytest.mark.parametrize("kind", some(["bs", "ar"], ["bs"]))
def test_paired(name, kind):
    """The systems differ."""
    [b, c] = make(name, [SYSTEMS["b"], SYSTEMS["c"]], REFERENCES)[1]
    p_value = laws.paired(lambda: make(name, [SYSTEMS["b"], SYSTEMS["c"]], REFERENCES)[0], [("c", c), ("b", b)], kind)
    assert p_value < 0.1


def test_documents(name):
    metric, [b, c] = make(name, [SYSTEMS["b"], SYSTEMS["c"]], REFERENCES)
    laws.documents(metric, b, c)
    assert metric.corpus_score(b, None).score == pytest.approx(score(name, SYSTEMS["b"], REFERENCES), abs=1e-6)


def test_pickling(name):
    metric, [hypotheses] = make(name, [SYSTEMS["a"]], REFERENCES)
    laws.pickling(metric, hypotheses, size=100_000 if name in LARGEST else 5_000_000)


def test_references_of_words(lexical):
    """None marks a missing reference; a segment without any is left out."""
    some = [text if i % 2 else None for i, text in enumerate(SYSTEMS["a"])]
    metric = METRICS[lexical.upper()](target_lang="en")
    assert math.isfinite(metric.corpus_score(SYSTEMS["b"], [REFERENCES, some]).score)
    assert "nrefs:var" in str(metric.get_signature())
    left = metric.corpus_score(SYSTEMS["b"], [[None, *REFERENCES[1:]]])
    assert left.score == score(lexical, SYSTEMS["b"][1:], REFERENCES[1:]) and "unreferenced = 1" in left.format()
    for references in ([[None]], []):
        with pytest.raises(InputError, match=f"{lexical}: no segment can be scored"):
            metric.corpus_score(["a"], references)


def test_words_count(lexical):
    """Scrambled words lower the score; one segment's score is the corpus'."""
    assert score(lexical, SCRAMBLED, REFERENCES) < 0.95 * score(lexical, SYSTEMS["b"], REFERENCES)
    sentence = METRICS[lexical.upper()](target_lang="en").sentence_score("The cat sat.", ["The cat sat down."])
    assert sentence.score == score(lexical, ["The cat sat."], ["The cat sat down."]) > 0


@pytest.mark.full
def test_flags_reach_the_constructor(lexical, forked_sacrebleu):
    flags = {"nist": ["--nist-lowercase"], "meteor": ["--meteor-stem", "none"]}[lexical]
    command = ["ref.en.txt", "-i", "system_b.en.txt", "-l", "de-en", "-m", lexical, f"--{lexical}-tokenize", "char"]
    other = json.loads(forked_sacrebleu(*command, *flags, "-w", "4").stdout)
    assert (other["tok"], other["case"], other.get("stem", "none")) == ("char", "lc", "none")
    assert abs(other["score"] - score(lexical, SYSTEMS["b"], REFERENCES)) > 0.01


def test_a_source_and_round_trips_are_needed(roundtrip):
    cls = METRICS[roundtrip.upper()]
    with pytest.raises(InputError, match=f"{roundtrip}: needs the source"):
        cls(roundtrips=[["a"]])
    with pytest.raises(InputError, match=f"{roundtrip}: needs each system's round trip"):
        cls(sources=["a"])
    with pytest.raises(InputError, match="round trips of 1 system for 2"):
        cls(systems=[["a"], ["b"]], sources=["a"], roundtrips=[["a"]])
    with pytest.raises(InputError, match="stream 1 has 1 line, but system 1 has 2"):
        cls(systems=[["a", "b"]], sources=["a", "b"], roundtrips=[["a"]])


def test_one_stream_serves_where_no_systems_are_named(roundtrip):
    metric = roundtrip_metric(roundtrip, (), ["The cat sat down."], [["The cat sat down."]])
    assert metric.corpus_score(["Die Katze setzte sich."], None).score == pytest.approx(100, abs=1e-3)
    with pytest.raises(InputError, match="round trips of 1 segment for 2"):
        metric.corpus_score(["Die Katze", "Der Hund"], None)


def test_unknown_hypotheses_are_refused(roundtrip):
    metric, _ = make(roundtrip, [SYSTEMS["a"]], REFERENCES)
    with pytest.raises(InputError, match="no round trips of these hypotheses"):
        metric.corpus_score(SYSTEMS["a"], None)


def test_copies_and_empty_lines_are_counted(roundtrip):
    sources = ["The old man went home.", "It rained all day long.", "A dog barked at us.", "We left."]
    outputs = ["The old man went home.", "Es regnete den ganzen Tag.", "", "Wir gingen."]
    metric = roundtrip_metric(roundtrip, [outputs], sources, [[sources[0], sources[1], "", ""]])
    text = metric.corpus_score(outputs, None).format()
    assert "source_copies = 1" in text and "empty_outputs = 1" in text and "empty_roundtrips = 1" in text


def test_equal_systems_with_unequal_round_trips_are_said(roundtrip, caplog):
    roundtrip_metric(roundtrip, [["x"], ["x"]], ["a"], [["a"], ["b"]])
    assert "is identical to an earlier system" in caplog.text


def test_the_back_translator_under_test_is_said(roundtrip, caplog):
    roundtrip_metric(roundtrip, [named(["x"], "out/opus-mt.txt")], ["a"], [["a"]], backtranslator="opus-mt")
    assert "seems to be the system under test, out/opus-mt.txt" in caplog.text


def test_without_pseudo_references_gold_alone(pseudo, caplog):
    metric = METRICS[pseudo.upper()]([REFERENCES], target_lang="en")
    plain = metric.corpus_score(SYSTEMS["b"], None)
    assert "no pseudo-references" in caplog.text and "pseudo:0" in str(metric.get_signature())
    other = without_pseudo(pseudo, REFERENCES)
    assert plain.score == pytest.approx(other.corpus_score(SYSTEMS["b"], None).score, abs=1e-9)


def test_kept_pseudo_references_are_further_references(pseudo):
    """With filter none and no guard, pseudo-references are references."""
    with_pseudo = of_pseudo(pseudo, SYSTEMS["a"], filter="none").corpus_score(SYSTEMS["b"], None)
    other = without_pseudo(pseudo, REFERENCES, SYSTEMS["a"])
    assert with_pseudo.score == pytest.approx(other.corpus_score(SYSTEMS["b"], None).score, abs=1e-9)


def test_the_guard_leaves_the_system_itself_out(pseudo):
    """Each system's score is the one with the other pseudo-references alone, and that is said."""
    streams = [named(SYSTEMS["a"], "a.txt"), named(SYSTEMS["b"], "b.txt")]
    guard = PseudoFilter("none")
    metric = of_pseudo(pseudo, *streams, filter=guard, systems=list(SYSTEMS.values()))
    guarded = metric.corpus_score(SYSTEMS["a"], None)
    assert "left_out[a.txt] = 59" in guarded.format() and "kept[b.txt] = 59" in guarded.format()
    alone = of_pseudo(pseudo, streams[1], filter=guard)
    assert guarded.score == pytest.approx(alone.corpus_score(SYSTEMS["a"], None).score, abs=1e-9)
    off = of_pseudo(pseudo, *streams, filter="none")
    assert off.corpus_score(SYSTEMS["a"], None).score == pytest.approx(100, abs=1e-3)


def test_rejected_ones_are_none_and_not_empty(pseudo):
    """A rejected pseudo-reference of length 0 would be the closest length of a short hypothesis."""
    truth, hypotheses = ["The committee met on Monday in the old town hall."], ["The committee met then"]
    strict = PseudoFilter("mas", threshold=0.999, guard=None)
    metrics = (
        of_pseudo(pseudo, ["Bananas!"], filter=strict, gold=truth),
        METRICS[pseudo.upper()]([truth], target_lang="en"),
        of_pseudo(pseudo, ["The committee met then"], filter="none", gold=truth),
    )
    rejected, gold, kept = (metric.corpus_score(hypotheses, None).score for metric in metrics)
    assert rejected == gold < kept


def test_gold_that_is_missing(pseudo):
    """A segment without gold reference has the pseudo-references that pass without one; without any it is left out."""
    metric = of_pseudo(pseudo, SYSTEMS["a"], gold=[None, *REFERENCES[1:]])
    found = metric.corpus_score(SYSTEMS["b"], None)
    assert "unreferenced = 1" in found.format()
    assert math.isnan(metric.segment_scores(SYSTEMS["b"], None)[0].score)


ROUND_TRIP = "-l en-de --source ref.en.txt --roundtrip system_b.en.txt"
PSEUDO_REFERENCES = "-l de-en --pseudo-refs system_a.en.txt --pseudo-filter mas"


@pytest.mark.full
@pytest.mark.parametrize("name, flags", [("rttsentbleu", ROUND_TRIP), ("prsentbleu", PSEUDO_REFERENCES)])
def test_scores_of_sentences_agree_with_the_corpus(name, flags, forked_sacrebleu):
    command = ["ref.en.txt", "-i", "system_b.en.txt", "-m", name, "-w", "4", "-b", *flags.split()]
    sentences = [float(line) for line in forked_sacrebleu(*command, "-sl").stdout.split()]
    assert len(sentences) == 59
    assert float(forked_sacrebleu(*command).stdout) == pytest.approx(sum(sentences) / 59, abs=1e-3)


EVERY_FLAG = """
    --source ref.en.txt --roundtrip system_a.en.txt system_b.en.txt system_c.en.txt --rtt-bt-name toy-engine
    --rtt-sbert-model embedded --rtt-bertscore-model embedded --rtt-bertscore-layers 3,4 --rtt-bertscore-idf paper
    --pseudo-refs system_b.en.txt system_c.en.txt --pseudo-filter mas --pseudo-threshold 0.7 --pseudo-guard 0.5
    --prsentbleu-tokenize intl --prsentbleu-lowercase
    --bertscore-model embedded --bertscore-layers mean --bertscore-score r --bertscore-idf plus-one
    --bertscore-max-length 100 --bertscore-multiref mean
    --bertr-model embedded --bertr-layers 4 --bertr-max-length 100 --bertr-multiref mean
    --ctx-device cpu --ctx-dtype fp32 --ctx-batch-tokens 4000 --ctx-store-mb 100
""".split()
TOGETHER = ["bleu", "prsentbleu", "rttsbert", "rttbertscore", "bertscore", "bertr"]


@pytest.mark.full
def test_every_flag_in_one_run(tmp_path, forked_sacrebleu):
    command = ["ref.en.txt", "-i", *(f"system_{x}.en.txt" for x in "abc"), "-m", *TOGETHER, *EVERY_FLAG]
    tests = "--paired-bs --paired-bs-n 30 -j 2 --docids docids.txt --ctx-resample document".split()
    done = forked_sacrebleu(*command, *tests, "--ctx-seg-scores", tmp_path)
    assert done.returncode == 0, done.stderr
    for name in TOGETHER:
        [file] = tmp_path.glob(f"{name}-*.seg.score")
        assert file.read_text().count("\n") == 3 * 59
    assert done.stderr.count("pseudo-references of system_b.en.txt are left out") == 1
    rows = json.loads(done.stdout)
    assert len(rows) == 3 and all(len(row) == 7 for row in rows)
    assert all({"score", "p_value", "mean", "ci"} == set(row["RTTSBERT"]) for row in rows[1:])


def test_streams_that_are_one_string_are_refused():
    with pytest.raises(InputError, match="expected a list of strings, got one string"):
        roundtrip_metric("rttbleu", [["x"]], ["a"], ["a"])
    with pytest.raises(InputError, match="expected a list of strings, got one string"):
        METRICS["PRBLEU"]([["a"]], target_lang="en", pseudo_references=["a b"], pseudo_filter="none")


def test_the_name_of_a_filter_stands_for_its_defaults(pseudo):
    given = {"target_lang": "en", "pseudo_references": [SYSTEMS["a"]]}
    by_name = METRICS[pseudo.upper()]([REFERENCES], **given, pseudo_filter="none")
    by_value = of_pseudo(pseudo, SYSTEMS["a"], filter=PseudoFilter("none"))
    assert len({metric.corpus_score(SYSTEMS["b"], None).score for metric in (by_name, by_value)}) == 1


def test_odd_pseudo_references_are_said(pseudo, caplog):
    with pytest.raises(InputError, match="a.txt are given twice"):
        of_pseudo(pseudo, *[named(SYSTEMS["a"], "a.txt")] * 2)
    of_pseudo(pseudo, named(REFERENCES, "gold.txt"), filter=PseudoFilter("none")).corpus_score(SYSTEMS["b"], None)
    assert "pseudo-references of gold.txt are equal to the reference" in caplog.text


@pytest.mark.full
def test_ctrl_c_while_round_trips_are_made(tmp_path):
    """One line and exit code 130, not a traceback."""
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import ctx_metrics; "
        "from sacrebleu.sacrebleu import main; main()"
    )
    waiting = tmp_path / "waiting"
    command = [sys.executable, "-c", start, *"ref.en.txt -i system_b.en.txt -m rttbleu --source ref.en.txt".split()]
    command += ["--rtt-cache", str(tmp_path), "--rtt-bt", f"cmd:touch {waiting}; exec sleep 60"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=EXAMPLES, start_new_session=True)
    while not waiting.exists() and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("sacreBLEU: stopped; 0 of ") and "Traceback" not in said
