"""BERTScore, its idf weights and its greedy match against values worked out by hand."""

import math

import numpy as np
import pytest
import torch
from stub_encoder import stub, values  # noqa: F401  a fixture

from ctx_metrics.errors import InputError
from ctx_metrics.metrics.bertscore import BERTScore, greedy_match, largest_cosines, text_weights


@pytest.mark.parametrize(
    "hypothesis, reference, precision, recall",
    [
        # cosines: east-north 0, east-steep 3/5, north-steep 4/5, east-flat 4/5, steep-flat 24/25; the special tokens lie at
        # (0, -1) and (-1, 0): the opposites of north and east
        ("east", "east", 1, 1),
        ("east", "east steep", 1, (1 + 3 / 5) / 2),
        ("east steep", "east", (1 + 3 / 5) / 2, 1),
        ("east north", "steep", (3 / 5 + 4 / 5) / 2, 4 / 5),
        ("steep north", "flat flat east", (24 / 25 + 3 / 5) / 2, (24 / 25 + 24 / 25 + 3 / 5) / 3),
        ("west", "north", 1, 0),  # west is found in the closing token, north in nothing better than at right angles
        ("west steep", "east east east west", (1 + 3 / 5) / 2, (3 * 3 / 5 + 1) / 4),
    ],
)
def test_golden_values(stub, hypothesis, reference, precision, recall):
    f1 = 2 * precision * recall / (precision + recall)
    for score, expected in (("p", precision), ("r", recall), ("f1", f1)):
        found = BERTScore(score=score).sentence_score(hypothesis, [reference])
        assert found.score == pytest.approx(100 * expected, abs=1e-4) and found.name == "BERTScore"


# Four documents: east is in all of them, north in two, steep in one, flat and west in none.
DOCUMENTS = ["east north north", "east", "steep east", "north east"]


@pytest.mark.parametrize(
    "idf, hypothesis, reference, precision, recall",
    [
        # paper: east log 4/4 = 0, north log 4/2 = log 2, steep log 4/1 = 2 log 2, flat log 4 = 2 log 2
        ("paper", "north steep", 0, (1 * 1 + 2 * 4 / 5) / 3, 1),
        ("paper", "east steep", 2, 1, 1),  # east weighs nothing on either side
        ("paper", "east flat north", 2, (0 + 2 * 24 / 25 + 1 * 4 / 5) / 3, 24 / 25),
        ("paper", "north", 1, 0, 0),  # the reference's one word weighs 0, so it has all the weight
        ("paper", "steep", 1, 3 / 5, 3 / 5),
        ("paper", "east east", 0, 1, 0),  # weights of the hypothesis fall back; north alone weighs in the reference
        # plus-one: east log 5/5 = 0, north log 5/3, steep log 5/2, flat log 5/1
        (
            "plus-one",
            "north steep",
            0,
            (math.log(5 / 3) + math.log(5 / 2) * 4 / 5) / (math.log(5 / 3) + math.log(5 / 2)),
            1,
        ),
        (
            "plus-one",
            "east flat north",
            2,
            (math.log(5) * 24 / 25 + math.log(5 / 3) * 4 / 5) / (math.log(5) + math.log(5 / 3)),
            24 / 25,
        ),
        ("none", "north steep", 0, (1 + 4 / 5) / 2, (3 / 5 + 1 + 1) / 3),
    ],
)
def test_golden_values_of_idf(stub, idf, hypothesis, reference, precision, recall):
    # the hypothesis stands beside document `reference`, and the others beside themselves
    hypotheses = [*DOCUMENTS[:reference], hypothesis, *DOCUMENTS[reference + 1 :]]
    for score, expected in (("p", precision), ("r", recall)):
        found = values(BERTScore(score=score, idf=idf), hypotheses, [DOCUMENTS])
        assert found[reference] == pytest.approx(expected, abs=1e-6)
        assert np.delete(found, reference) == pytest.approx(1, abs=1e-6)


def test_idf_counts_every_reference_as_a_document(stub):
    # as above, the four documents in two streams with a gap: 4 of them; the empty text of the last test is a fifth
    streams = [["east north north", "steep east", None], ["east", None, "north east"]]
    found = values(BERTScore(score="p", idf="paper"), ["north steep", "steep", "north"], streams)
    assert found[0] == pytest.approx((1 + 2 * 4 / 5) / 3, abs=1e-6)
    # an empty reference beside another is no document
    streams = [["east north north", "steep east", ""], ["east", None, "north east"]]
    assert (
        values(BERTScore(score="p", idf="paper"), ["north steep", "steep", "north"], streams).tolist() == found.tolist()
    )


def test_idf_of_one_reference_is_said(stub, caplog):
    metric = BERTScore(idf="paper")
    assert metric.sentence_score("steep", ["east"]).score == pytest.approx(60, abs=1e-4)
    assert caplog.messages == [
        "bertscore: idf has little effect with one reference text: all its tokens are equally rare"
    ]
    BERTScore(idf="paper").corpus_score(["steep", "east"], [["east", "steep"]])
    BERTScore().sentence_score("steep", ["east"])
    assert len(caplog.messages) == 1


def test_f1_without_a_harmonic_mean():
    east, west = torch.tensor([[1.0, 0.0]]), torch.tensor([[-1.0, 0.0]])
    one = np.ones(1)
    assert greedy_match(*largest_cosines(east, west), one, one) == (-1, -1, -1)
    both, weights = torch.cat([east, west]), np.array([0.0, 1.0])
    # precision: west against east; recall: east against both
    assert greedy_match(*largest_cosines(both, east), weights, one) == (-1, 1, 0)
    assert greedy_match(*largest_cosines(both, torch.tensor([[0.0, 1.0]])), weights, one) == (0, 0, 0)


def test_special_tokens_weigh_nothing():
    weights = np.array([5.0, 7.0, 1.0, 2.0])
    # 0 and 1 stand around the text; the 0 within it is that token written out
    assert text_weights(np.array([0, 2, 0, 3, 1]), weights).tolist() == pytest.approx([0, 1 / 3, 0, 2 / 3, 0])
    assert text_weights(np.array([0, 2, 3, 1]), np.zeros(4)).tolist() == [0, 0.5, 0.5, 0]


def test_cuts_texts_for_idf_too(stub):
    # cut to one token, the documents are east and north
    found = values(BERTScore(score="p", idf="paper", max_length=1), ["steep", "north"], [["east north steep", "north"]])
    assert found == pytest.approx([3 / 5, 1], abs=1e-6)
    metric = BERTScore(idf="paper", max_length=1)
    assert metric.signature["maxlen"] == 1
    table = metric._token_weights([["east north steep", "north"]])
    assert table == pytest.approx([0, *[math.log(2)] * 5, 0])


def test_segments_without_reference(stub):
    score = BERTScore(idf="paper").corpus_score(["east", "east"], [["steep", None]])
    assert score.score == pytest.approx(60, abs=1e-4) and score._verbose == "(unreferenced = 1)"
    for streams in ([[None, None]], []):
        with pytest.raises(InputError, match="bertscore: no segment can be scored"):
            BERTScore(idf="paper").corpus_score(["east", "east"], streams)


def test_idf_does_not_depend_on_systems(stub):
    systems = [["north steep", "flat", "east"], ["steep", "steep flat", "west"], ["east", "north", "flat steep"]]
    references = [["steep north", "east", "east flat"]]
    together = BERTScore(references, systems, idf="plus-one")
    for system in systems:
        alone = BERTScore(idf="plus-one").corpus_score(system, references).score
        assert together.corpus_score(system, None).score == pytest.approx(alone, abs=1e-9)
