"""The laws of tests/test_laws.py for metrics that read words and no model: nist, meteor."""

import json
import math
import random
from functools import partial

import laws
import pytest
from laws import EXAMPLES, REFERENCES, SCRAMBLED, SYSTEMS
from sacrebleu.metrics import METRICS
from selection import some

from ctx_metrics import InputError

LARGEST = {"nist": math.inf, "meteor": 100}


def make(name: str, references=None, systems=(), **settings):
    return METRICS[name.upper()](references, systems, **{"target_lang": "en", **settings})


def values(metric, hypotheses, references) -> list[float]:
    return [each.score for each in metric.segment_scores(hypotheses, references)]


@pytest.fixture(params=LARGEST)
def name(request) -> str:
    return request.param


def test_order_and_company(name):
    """A segment's score depends neither on the order nor on the other systems; nor does the corpus score."""
    references, *systems = (each[:30] for each in (REFERENCES, *SYSTEMS.values()))
    base = values(make(name), systems[1], [references])
    order = random.Random(3).sample(range(len(base)), len(base))
    truth, shuffled = ([texts[i] for i in order] for texts in (references, systems[1]))
    assert values(make(name), shuffled, [truth]) == [base[i] for i in order]
    together = make(name, [references], systems)
    assert values(together, systems[1], None) == base
    corpus = make(name).corpus_score(systems[1], [references]).score
    assert make(name).corpus_score(shuffled, [truth]).score == together.corpus_score(systems[1], None).score == corpus


def test_identity_is_the_most(name):
    same = make(name).corpus_score(REFERENCES, [REFERENCES]).score
    assert max(make(name).corpus_score(system, [REFERENCES]).score for system in SYSTEMS.values()) < same - 2
    assert same <= LARGEST[name]


def test_odd_lines(name):
    for hypotheses, references in laws.odd_lines():
        found = values(make(name), hypotheses, [references])
        assert len(found) == len(hypotheses) and all(0 <= value <= LARGEST[name] for value in found)


def test_lengths_must_agree(name):
    laws.lengths(partial(make, name))
    for references in ([[None]], []):
        with pytest.raises(InputError, match=f"{name}: no segment can be scored"):
            make(name).corpus_score(["a"], references)


def test_one_segment(name):
    sentence = make(name).sentence_score("The cat sat.", ["The cat sat down."]).score
    assert sentence == make(name).corpus_score(["The cat sat."], [["The cat sat down."]]).score > 0


def test_references(name):
    """None marks a missing reference; a segment without any is left out."""
    some = [text if i % 2 else None for i, text in enumerate(SYSTEMS["a"])]
    metric = make(name)
    score = metric.corpus_score(SYSTEMS["b"], [REFERENCES, some])
    assert math.isfinite(score.score) and "nrefs:var" in str(metric.get_signature())
    left = make(name).corpus_score(SYSTEMS["b"], [[None, *REFERENCES[1:]]])
    assert left.score == make(name).corpus_score(SYSTEMS["b"][1:], [REFERENCES[1:]]).score
    assert "unreferenced = 1" in left.format()


def test_signature(name):
    found = laws.signature(make(name), SYSTEMS["a"], [REFERENCES])
    assert found["name"].lower() == name and found["tok"] == "13a" and found["nrefs"] == "1"


def test_bootstrap(name):
    score = make(name).corpus_score(SYSTEMS["b"], [REFERENCES], n_bootstrap=200)
    assert 0 < score._ci < score.score / 5 and abs(score._mean - score.score) < score.score / 30
    assert "±" in score.format()


@pytest.mark.parametrize("kind", some(["bs", "ar"], ["ar"]))
def test_paired(name, kind):
    """The systems differ."""
    named = [(letter, SYSTEMS[letter]) for letter in "cba"]
    assert laws.paired(lambda: make(name, [REFERENCES], [each for _, each in named]), named, kind) < 0.05


def test_documents(name):
    laws.documents(make(name, [REFERENCES]), SYSTEMS["b"], SYSTEMS["c"])


def test_pickling(name):
    laws.pickling(make(name, [REFERENCES]), SYSTEMS["a"], SYSTEMS["b"], size=100_000)


def test_words_count(name):
    """Scrambled words lower the score."""
    whole = make(name).corpus_score(SYSTEMS["b"], [REFERENCES]).score
    assert make(name).corpus_score(SCRAMBLED, [REFERENCES]).score < 0.95 * whole


@pytest.fixture
def run(name, forked_sacrebleu):
    """Runs the command with the metric; gives what it prints."""

    def call(*more, text=""):
        done = forked_sacrebleu("ref.en.txt", "-m", name, "-w", "4", "-q", "-l", "de-en", *more, stdin=text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.parametrize("name", some(LARGEST, ["nist"]), indirect=True)
def test_command(name, run):
    """--sentence-level agrees with the segments' scores, and standard input with -i."""
    corpus = json.loads(run("-i", "system_b.en.txt"))["score"]
    assert float(run("-b", text=(EXAMPLES / "system_b.en.txt").read_text(encoding="utf-8"))) == corpus
    assert corpus == pytest.approx(make(name).corpus_score(SYSTEMS["b"], [REFERENCES]).score, abs=1e-4)
    sentences = [float(line) for line in run("-i", "system_b.en.txt", "-sl", "-b").split()]
    assert sentences == pytest.approx(values(make(name), SYSTEMS["b"], [REFERENCES]), abs=1e-3)


@pytest.mark.full
def test_flags_reach_the_constructor(name, run):
    corpus = make(name).corpus_score(SYSTEMS["b"], [REFERENCES]).score
    settings = {"nist": ["--nist-lowercase"], "meteor": ["--meteor-stem", "none"]}[name]
    other = json.loads(run("-i", "system_b.en.txt", f"--{name}-tokenize", "char", *settings))
    assert other["tok"] == "char" and abs(other["score"] - corpus) > 0.01
    assert other["case"] == "lc" and other.get("stem", "none") == "none"
