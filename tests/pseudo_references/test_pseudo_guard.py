"""The contamination guard: its share by brute force, its bound, its memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

from ctx_metrics.errors import InputError
from ctx_metrics.pseudo_references import guard
from ctx_metrics.pseudo_references.guard import chrf_bound, near_equal
from ctx_metrics.pseudo_references.paraphrase.data import read_labelled

LONG = "The committee approved the plan for the new bridge over the river on Tuesday morning."


def brute_force(hypotheses, pseudo):
    pairs = [(h or "", p) for h, p in zip(hypotheses, pseudo) if p and p.strip()]
    near = [h.split() == p.split() or CHRF().sentence_score(h, [p]).score >= 95 for h, p in pairs]
    return sum(near) / len(pairs) if pairs else 0.0


def test_by_hand():
    # equal; one letter of 72 changed; another text; equal but for white space; no pseudo-reference (three kinds)
    hypotheses = [LONG, LONG, LONG, "a b c", "x", "", "y"]
    pseudo = [LONG, LONG.replace("T", "t", 1), "Gold prices rose.", " a  bc", None, "", " "]
    assert near_equal(hypotheses, pseudo) == 3 / 4
    assert near_equal(["", None], ["a", "b"]) == 0.0
    assert near_equal(["", LONG], ["a", LONG]) == 0.5  # an empty hypothesis is another text
    assert near_equal(["a"], [None]) == near_equal([], []) == 0.0


def test_other_lengths():
    with pytest.raises(InputError, match="pseudo-references: 1 line for 2 hypotheses"):
        near_equal(["a", "b"], ["a"])


TEXTS = st.text("ab c", max_size=12)


@given(TEXTS, TEXTS)
def test_the_bound_is_one(hypothesis, reference):
    bare = ["".join(text.split()) for text in (hypothesis, reference)]
    assert chrf_bound(*bare) >= CHRF().sentence_score(bare[0], [bare[1]]).score - 1e-6


edits = st.lists(
    st.tuples(st.integers(0, len(LONG)), st.sampled_from(["", "x", "the ", "."]), st.integers(0, 2)), max_size=4
)


@given(edits)
def test_the_bound_is_one_near_the_limit(changes):
    text = LONG
    for place, new, cut in changes:
        text = text[:place] + new + text[place + cut :]
    bare = ["".join(each.split()) for each in (text, LONG)]
    assert chrf_bound(*bare) >= CHRF().sentence_score(bare[0], [bare[1]]).score - 1e-6
    assert near_equal([text, LONG], [LONG, text]) == brute_force([text, LONG], [LONG, text])


def test_the_limit_is_95():
    text = LONG * 3
    cut = [text[:-k] for k in range(1, 40)]
    scores = [CHRF().sentence_score(each, [text]).score for each in cut]
    assert any(95 <= score < 95.5 for score in scores) and any(94.5 < score < 95 for score in scores)
    assert [near_equal([each], [text]) for each in cut] == [float(score >= 95) for score in scores]


def test_most_lines_are_settled_without_chrf(monkeypatch):
    asked = []
    score = CHRF.sentence_score
    monkeypatch.setattr(CHRF, "sentence_score", lambda *args: asked.append(args) or score(*args))
    guard._share.cache_clear()
    other = "On Tuesday morning the plan for a bridge across the river was approved by the committee."
    lines = [LONG, LONG, LONG], [LONG, other, LONG.replace("T", "t", 1)]
    assert near_equal(*lines) == near_equal(*lines) == 2 / 3
    assert len(asked) == 1  # of six comparisons


@pytest.mark.full
def test_real_systems(shared_data):
    """Outputs of one corpus against themselves and shifted by a line: the same system and none."""
    pairs = read_labelled(str(shared_data / "paraphrase" / "msr_paraphrase_test.txt.xz")).pairs
    first, second = map(list, zip(*pairs, strict=True))
    assert near_equal(first, first) == 1.0
    assert near_equal(first, first[1:] + first[:1]) < 0.01
    share = near_equal(first, second)
    assert share == brute_force(first, second) and 0 < share < 0.05
