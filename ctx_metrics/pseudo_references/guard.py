"""The contamination guard: detects that a pseudo-reference system is also the system being scored.

At WMT19 the systems whose outputs had served as pseudo-references were also scored, and came out far ahead of all others.
"""

from collections.abc import Sequence
from functools import lru_cache

from ..errors import InputError
from ..notices import counted

NEAR_CHRF = 95.0
_ORDERS, _BETA2 = 6, 4  # sacrebleu's chrF2: character n-grams up to 6, recall weighs twice as much
_BOUNDED_BY = 4  # order of the n-grams that are compared before chrF is computed
_ROUNDING = 1e-9


def near_equal(hypotheses: Sequence[str | None], pseudo: Sequence[str | None]) -> float:
    """Return the share of lines, in [0, 1], on which two systems (nearly) agree: equal texts, or sacrebleu's chrF >= 95.

    White space is ignored. chrF scores the hypothesis against the pseudo-reference. Lines without a pseudo-reference (None
    or empty) are left out; if no lines remain, the share is 0. Several metrics compute the share of two streams once.

    >>> near_equal(["a cat", "a dog", "rain"], ["a  cat", "two mice", None])
    0.5
    """
    if len(hypotheses) != len(pseudo):
        lines = counted(len(pseudo), "line", "lines")
        raise InputError(f"pseudo-references: {lines} for {counted(len(hypotheses), 'hypothesis', 'hypotheses')}")
    return _share(tuple(hypotheses), tuple(pseudo))


@lru_cache(maxsize=1024)
def _share(hypotheses: tuple[str | None, ...], pseudo: tuple[str | None, ...]) -> float:
    from sacrebleu.metrics import CHRF

    chrf = CHRF()
    near = lines = 0
    for pair in zip(hypotheses, pseudo, strict=True):
        hypothesis, reference = ("".join((text or "").split()) for text in pair)
        if reference:
            lines += 1
            near += hypothesis == reference or (
                chrf_bound(hypothesis, reference) >= NEAR_CHRF
                and chrf.sentence_score(hypothesis, [reference]).score >= NEAR_CHRF
            )
    return near / lines if lines else 0.0


def chrf_bound(hypothesis: str, reference: str) -> float:
    """Return an upper bound on chrF of two texts without white space, from their lengths and distinct 4-grams.

    An n-gram that the other text does not contain cannot match, and every longer n-gram that matches begins with a matching
    4-gram of its own; shorter ones may all match. The F-score of the bounds on mean precision and mean recall bounds the
    F-score of the means. If the lengths alone give a bound below NEAR_CHRF, the 4-grams are not compared.

    >>> round(chrf_bound("abcdefg", "abcdefg")), round(chrf_bound("abcdef", "abcdefghijkl"))    # half as long
    (100, 40)
    >>> round(chrf_bound("abcdefg", "abcdxyz"))    # 1 of 4, 3 and 2 n-grams: (3 + 1/4 + 1/3 + 1/2) / 6
    68
    """
    if not hypothesis or not reference:
        return 0.0
    lengths = len(hypothesis), len(reference)
    bound = _f_bound(lengths, min(lengths))
    if bound < NEAR_CHRF:
        return bound
    left, right = _ngrams(hypothesis), _ngrams(reference)
    unmatched = len(left - right), len(right - left)
    matched = [length - number for length, number in zip(lengths, unmatched, strict=True)]
    return _f_bound(lengths, min(matched) - _BOUNDED_BY + 1)


def _f_bound(lengths: tuple[int, int], matches: int) -> float:
    """Return the bound on chrF if at most `matches` n-grams match at each order from _BOUNDED_BY upwards."""
    shorter = min(lengths)
    orders = range(1, min(_ORDERS, shorter) + 1)  # sacrebleu averages over the orders that both texts have
    most = [shorter - n + 1 if n < _BOUNDED_BY else min(matches, shorter - n + 1) for n in orders]
    precision, recall = (
        sum(number / (length - n + 1) for n, number in enumerate(most, 1)) / len(orders) for length in lengths
    )
    return 100 * (1 + _BETA2) * precision * recall / (_BETA2 * precision + recall) + _ROUNDING


@lru_cache(maxsize=8192)  # one system's lines are compared with several streams
def _ngrams(text: str) -> frozenset[str]:
    return frozenset(text[start : start + _BOUNDED_BY] for start in range(len(text) - _BOUNDED_BY + 1))
