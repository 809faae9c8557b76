"""chrF and BLEU of all pairs against sacrebleu's own sentence scores, and against mean counts worked out by hand."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

from ctx_metrics.pairs import ngrams
from ctx_metrics.pairs.ngrams import BleuCounts, ChrfCounts

WORDS = "the a cat sat on mat it rained , . again and aaa dog’s 猫 ".split()


def texts() -> list[str]:
    draw = random.Random(1)
    made = [" ".join(draw.choice(WORDS) for _ in range(draw.randint(0, 12))) for _ in range(15)]
    return [*made, "", "a", "a a a a a a", "  A  b "]


OF_CHRF = [
    {},
    {"word_order": 2},
    {"whitespace": True, "beta": 1},
    {"eps_smoothing": True, "lowercase": True},
    {"char_order": 3},
]
OF_BLEU = [
    *({}, {"smooth_method": "floor"}, {"smooth_method": "floor", "smooth_value": 0.3}, {"smooth_method": "add-k"}),
    *({"smooth_method": "none"}, {"lowercase": True, "tokenize": "char"}, {"max_ngram_order": 2}),
]


@pytest.mark.parametrize("settings", OF_CHRF)
def test_chrf_is_sacrebleus(settings):
    metric, given = CHRF(**settings), texts()
    found = ChrfCounts(metric, given).scores(range(len(given)), range(len(given)))
    assert found.tolist() == [[metric.sentence_score(text, [other]).score for other in given] for text in given]


@pytest.mark.parametrize("settings", OF_BLEU)
def test_bleu_is_sacrebleus(settings):
    metric, given = BLEU(effective_order=True, **settings), texts()
    found = BleuCounts(metric, given).scores(range(len(given)), range(len(given)))
    expected = [[metric.sentence_score(text, [other]).score for other in given] for text in given]
    assert found == pytest.approx(np.array(expected), abs=1e-9)


def test_some_rows_and_columns():
    given = texts()
    counts = ChrfCounts(CHRF(), given)
    whole = counts.scores(range(len(given)), range(len(given)))
    assert (counts.scores([3, 0], [2, 5, 5]) == whole[np.ix_([3, 0], [2, 5, 5])]).all()


def test_parts_of_a_matrix_that_is_too_large(monkeypatch):
    given = texts()
    whole = ChrfCounts(CHRF(), given).scores(range(len(given)), range(len(given)))
    monkeypatch.setattr(ngrams, "CELLS", 50)
    assert (ChrfCounts(CHRF(), given).scores(range(len(given)), range(len(given))) == whole).all()


def test_the_mean_of_equal_references_is_each():
    given = ["It rained again.", "It rained a lot.", "It rained a lot.", "It rained a lot."]
    for make, metric in ((ChrfCounts, CHRF()), (BleuCounts, BLEU(effective_order=True))):
        counts = make(metric, given)
        mean = counts.against_mean([0, 1], [1, 2, 3], np.array([1.0, 2.0, 5.0]))
        assert mean == pytest.approx(counts.scores([0, 1], [1])[:, 0])


def test_a_mean_by_hand():
    """chrF1 of letters against the mean of "ab" and "aa": counts a 1.5, b .5. Of "ab", a 1 and b .5 match: P = R = .75."""
    counts = ChrfCounts(CHRF(char_order=1, beta=1), ["ab", "aa"])
    assert counts.against_mean([0, 1], [0, 1], np.ones(2)) == pytest.approx([75.0, 75.0])
    # BLEU of one word against the mean of "a b" and "a a": of "a b" 1 and .5 of 2 words match, and no reference is longer
    words = BleuCounts(BLEU(max_ngram_order=1, effective_order=True, tokenize="none"), ["a b", "a a"])
    assert words.against_mean([0], [0, 1], np.ones(2)) == pytest.approx([75.0])
