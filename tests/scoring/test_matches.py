"""What explains a score of matched tokens adds up to it, and names the characters of each token."""

import numpy as np
import pytest
from plugin_conftest import REF, A, B, lines_of

from ctx_metrics import BERTR
from ctx_metrics.metrics.bertscore import BERTScore
from ctx_metrics.scoring.context import Context, build

SYSTEMS = [lines_of(A)[:12], lines_of(B)[:12]]
REFERENCES = [lines_of(REF)[:12], [text if i % 3 == 0 else "Nothing of it." for i, text in enumerate(SYSTEMS[0])]]


def made(cls, references, systems=SYSTEMS, explain=True, **options):
    context = Context(references=references, systems=systems, target_lang="en", inputs={"explain": explain})
    return build(cls, context, options)


def results(metric, systems=SYSTEMS):
    """Each system's segment scores on the metric's own scale, and its matches."""
    return [
        ([score.score / 100 for score in metric.segment_scores(system, None)], result.matches)
        for system, result in zip(systems, metric.system_results(), strict=True)
    ]


@pytest.mark.parametrize("references", [REFERENCES[:1], REFERENCES], ids=["one reference", "two references"])
@pytest.mark.parametrize(
    "cls, options",
    [
        (BERTR, {}),
        (BERTScore, {"score": "r"}),
        (BERTScore, {"score": "p"}),
        (BERTScore, {"score": "p", "idf": "plus-one"}),
    ],
    ids=["bertr", "r", "p", "idf"],
)
def test_the_matches_add_up(cls, options, references):
    metric = made(cls, references, **options)
    numbers = set()
    for values, matches in results(metric):
        for value, match in zip(values, matches, strict=True):
            [side] = [side for side in (match.pair.hypothesis, match.pair.reference) if side is not None]
            assert side.weights.sum() == pytest.approx(1, abs=1e-6)
            assert float(side.cosines.astype(float) @ side.weights) == pytest.approx(value, abs=1e-6)
            numbers.add(match.number)
    assert numbers == ({0, 1} if len(references) == 2 else {0})


def test_f1_is_that_of_both_sides():
    for values, matches in results(made(BERTScore, REFERENCES[:1])):
        for value, match in zip(values, matches, strict=True):
            p, r = (float(side.cosines @ side.weights) for side in (match.pair.hypothesis, match.pair.reference))
            assert 2 * p * r / (p + r) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("cls", [BERTR, BERTScore])
def test_as_many_places_as_tokens(cls):
    texts = ["The cat sat.", "  Two blanks before, and a naïve 🙂 word  ", ""]
    metric = made(cls, [texts], [texts])
    [(_, matches)] = results(metric, [texts])
    for text, places, match in zip(texts, metric.tokens(texts), matches, strict=True):
        if match is None:
            assert text == "" and places == []
            continue
        assert len(places) == len(match.pair.reference.cosines)
        assert all(0 <= start <= end <= len(text) for start, end in places)
        letters = "".join(text[start:end] for start, end in places)
        assert letters == text.replace(" ", "")


def test_nothing_is_kept_where_nobody_asked():
    metric = made(BERTR, REFERENCES[:1], explain=False)
    assert [matches for _, matches in results(metric)] == [[], []]


def test_scores_are_the_same_with_and_without():
    plain, explained = (made(BERTScore, REFERENCES, explain=explain) for explain in (False, True))
    for (one, _), (other, _) in zip(results(plain), results(explained), strict=True):
        np.testing.assert_array_equal(one, other)
