"""The laws of test_laws.py for `judge`, with a judge whose answers depend on the texts alone. Of a sampled judge, they hold for
the answers that are kept. What a model finds good is its own affair, so identity, sensitivity and difference do not apply."""

import math
import random

import laws
import pytest
from judge_server import serving
from laws import REFERENCES, SOURCES, SYSTEMS

from ctx_metrics import Judge
from ctx_metrics.engine_options import EngineOptions

FEW = range(22)


@pytest.fixture(scope="module")
def server():
    with serving() as made:
        yield made


@pytest.fixture(scope="module")
def make(server, tmp_path_factory):
    store = str(tmp_path_factory.mktemp("store"))

    def of(references=None, indices=FEW, **given) -> Judge:
        own = {"url": server.url, "model": "toy", "samples": 2, "store": store, "engine": EngineOptions(quiet=True)}
        return Judge(references, **{"sources": [SOURCES[i] for i in indices], **own, **given})

    return of


def few(texts, indices=FEW) -> list[str]:
    return [texts[i] for i in indices]


def values(metric, hypotheses, references) -> list[float]:
    return [value / weight for value, weight in metric._extract_corpus_statistics(hypotheses, references)]


@pytest.mark.full
def test_order_and_company(make, tmp_path):
    """A segment's score depends neither on its place nor on the other systems, also where all is asked for anew."""
    base = values(make(), few(SYSTEMS["b"]), [few(REFERENCES)])
    order = random.Random(1).sample(FEW, len(FEW))
    shuffled = make(indices=order, store=str(tmp_path))
    assert values(shuffled, few(SYSTEMS["b"], order), [few(REFERENCES, order)]) == [base[i] for i in order]
    together = make([few(REFERENCES)], systems=[few(each) for each in SYSTEMS.values()])
    assert values(together, few(SYSTEMS["b"]), None) == base


@pytest.mark.full
def test_odd_lines(make, tmp_path):
    for hypotheses, references in laws.odd_lines():
        metric = make(sources=None, store=str(tmp_path))
        found = values(metric, hypotheses, [references])
        assert len(found) == len(hypotheses) and all(0 <= value <= 1 for value in found)


def test_one_segment(make):
    one = make(indices=[0]).sentence_score(SYSTEMS["b"][0], [REFERENCES[0]]).score
    assert one == make(indices=[0]).corpus_score(SYSTEMS["b"][:1], [REFERENCES[:1]]).score


def test_lengths_must_agree(make):
    laws.lengths(lambda references=None: make(references, sources=None))


def test_signature(make):
    result = laws.signature(make(), few(SYSTEMS["a"]), [few(REFERENCES)])
    assert (result["judge"], result["samples"], result["temperature"], result["scale"]) == ("toy", "2", "1", "100")


def test_paired(make):
    named = [(letter, few(SYSTEMS[letter])) for letter in "cb"]
    systems = [system for _, system in named]
    assert 0 < laws.paired(lambda: make([few(REFERENCES)], systems=systems), named, "bs") <= 1


def test_pickling(make):
    systems = few(SYSTEMS["a"]), few(SYSTEMS["b"])
    laws.pickling(make([few(REFERENCES)], systems=systems), *systems, size=200_000)


def test_references(make):
    """Of several references the best counts; None marks a missing one; a segment without any is left out."""
    a, b, references = few(SYSTEMS["a"]), few(SYSTEMS["b"]), few(REFERENCES)
    one, other = (values(make(), b, [stream]) for stream in (references, a))
    assert values(make(), b, [references, a]) == [max(pair) for pair in zip(one, other)]
    mean = values(make(multiref="mean"), b, [references, a])
    assert mean == pytest.approx([sum(pair) / 2 for pair in zip(one, other)])
    score = make().corpus_score(b, [[None, *references[1:]]])
    assert score.score == pytest.approx(100 * sum(one[1:]) / len(one[1:]))
    assert "unreferenced = 1" in score.format() and math.isfinite(score.score)
