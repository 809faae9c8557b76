"""Which pseudo-references are kept, and what is said of it."""

import pytest

from ctx_metrics import release
from ctx_metrics.corpus import Segments
from ctx_metrics.errors import InputError
from ctx_metrics.models import word_vectors
from ctx_metrics.pseudo_references import filter as selection
from ctx_metrics.pseudo_references.filter import select
from ctx_metrics.pseudo_references.inputs import PseudoFilter


class Scores:
    """A filter that knows its scores; others are of pairs that must not be asked for."""

    threshold = 0.5

    def __init__(self, known):
        self.known, self.asked = known, 0

    def scores(self, pairs):
        self.asked += 1
        return [self.known[pair] for pair in pairs]


@pytest.fixture
def known(monkeypatch):
    def use(scores):
        made = Scores(scores)
        monkeypatch.setattr(selection, "shared_filter", lambda options, engine, target_lang: made)
        return made

    return use


def named(name, lines):
    stream = Segments(lines)
    stream.name = name
    return stream


def test_kept_above_the_threshold(known):
    asked = known({("a", "G"): 0.51, ("b", "H"): 0.5, ("c", "G"): 0.0, ("d", "H"): 1.0})
    found = select([["G", "H"]], [named("x.txt", ["a", "b"]), ["c", "d"]])
    assert found.streams == [["a", None], [None, "d"]]
    assert found.scores == [[0.51, 0.5], [0.0, 1.0]]
    assert (found.kept, found.dropped) == ([1, 1], [1, 1])
    assert found.names == ["x.txt", "pseudo-reference 2"] and found.notices == [] and asked.asked == 1


def test_the_best_of_several_golds_counts(known):
    known({("a", "G1"): 0.1, ("a", "G2"): 0.9, ("b", "H1"): 0.6})
    found = select([["G1", "H1"], ["G2", None]], [["a", "b"]])
    assert found.streams == [["a", "b"]] and found.scores == [[0.9, 0.6]]


def test_empty_lines_and_missing_golds_are_rejected(known):
    known({("e", "G"): 0.9})
    pseudo = named("x.txt", ["", " ", None, "d", "c", "e"])
    found = select([["G", "G", "G", None, "", "G"]], [pseudo])
    assert found.streams == [[None, None, None, None, None, "e"]]
    assert found.scores == [[None] * 5 + [0.9]] and (found.kept, found.dropped) == ([1], [5])
    assert [(each.about, each.number, each.first) for each in found.notices] == [
        ("x.txt", 3, (0, 1, 2)),
        ("", 2, (3, 4)),
    ]


def test_nothing_kept_is_said(known):
    known({("a", "G"): 0.2})
    [said] = select([["G"]], [named("x.txt", ["a"])]).notices
    assert str(said).startswith("x.txt: none of its")


def test_without_a_filter_all_but_empty_lines_are_kept():
    found = select([["G", None, "G"]], [named("x.txt", ["a", "b", ""])], PseudoFilter("none"), target_lang="de")
    assert found.streams == [["a", "b", None]] and found.scores == [[None, None, None]]
    assert [(each.about, each.number, each.first) for each in found.notices] == [("x.txt", 1, (2,))]


def test_the_text_is_kept_as_it_stands():
    assert select([["G"]], [[" a  b "]], PseudoFilter("none")).streams == [[" a  b "]]


def test_settings_reach_the_filter(monkeypatch):
    seen = []
    monkeypatch.setattr(selection, "shared_filter", lambda *args: seen.append(args) or Scores({("a", "G"): 1.0}))
    options, engine = PseudoFilter("mas", 0.3), selection.EngineOptions(quiet=True)
    select([["G"]], [["a"]], options, engine, "en")
    assert seen == [(options, engine, "en")]


def test_three_metrics_filter_once(tmp_path, monkeypatch):
    release()
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0 1\n")
    options = PseudoFilter("mas", 0.3, vectors=str(tmp_path / "v.txt"))
    golds, pseudo = [["cat", "dog"]], [["cat", "cat"]]
    first = select(golds, pseudo, options)
    with monkeypatch.context() as patched:
        patched.setattr(word_vectors, "read_vectors", None)
        assert select(golds, pseudo, options) == first and first.streams == [["cat", None]]
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 1 0\n")  # other vectors under the same name
    assert select(golds, pseudo, options).streams == [["cat", "cat"]]


@pytest.mark.parametrize(
    ("golds", "pseudo", "words"),
    [
        ([["G"]], [named("x.txt", ["a", "b"])], "x.txt has 2 lines, but reference stream 1 has 1"),
        ([["G", "H"], ["G"]], [["a", "b"]], "reference stream 2 has 1 line, but reference stream 1 has 2"),
        ([], [["a"]], "give gold references"),
    ],
)
def test_streams_that_do_not_fit(golds, pseudo, words):
    with pytest.raises(InputError, match=words):
        select(golds, pseudo, PseudoFilter("none"))
