"""Sentence BLEU as Moses' `sentence-bleu` computes it: every n-gram order smoothed by one, all references pooled."""

import math
from collections.abc import Sequence

from sacrebleu.metrics import BLEU
from sacrebleu.metrics.base import Metric

from ..corpus import Corpus
from .base import ContextMetric, SystemResult
from .results import results_of_segments
from .scores import against_references, rows_of
from .tokenization import Words, WordSettings

ORDERS = 4
_COUNTS = BLEU(tokenize="none")  # counts n-grams of texts that are already tokenized


class SentenceBLEU(ContextMetric):
    """Moses' sentence BLEU against all references of a segment together; averaged over segments, x100.

    A segment whose hypothesis has no tokens, or whose references all have none, scores 0 and is counted. Identical texts
    score 100.
    """

    NAME = "SentenceBLEU"
    Settings = WordSettings

    def _prepare(self) -> None:
        lowercase = self.settings.lowercase
        self._words = Words(self.NAME.lower(), self.settings.tokenize or BLEU.TOKENIZER_DEFAULT, lowercase)
        self.signature = {
            "case": "lc" if lowercase else "mixed",
            "eff": "no",
            "tok": self._words.signature(),
            "smooth": "moses",
        }

    def _text(self, text: str) -> str:
        return " ".join(self._words(text))

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        return results_of_segments(corpora, self._pooled, self._value)

    def _pooled(self, *references: str) -> Metric | None:
        """Return the counts with a segment's references; None if none of them has tokens."""
        texts = [self._text(text) for text in references]
        return against_references(_COUNTS, [[text] for text in texts]) if any(texts) else None

    def _value(self, hypothesis: str, pooled: Metric | None) -> float | None:
        if pooled is None or not (text := self._text(hypothesis)):
            return None
        [statistics] = rows_of(pooled, [text])
        return moses_bleu(statistics)


def moses_bleu(statistics: Sequence[float]) -> float:
    """Returns Moses' sentence BLEU, in [0, 1].

        BLEU = exp(1/4 sum_n log((m_n + 1) / (h_n + 1)) + min(0, 1 - r / h))

    for n = 1..4. h_n is the number of n-grams in the hypothesis. m_n is the number of those that match, where each n-gram
    is clipped to its highest count in any one reference. h = h_1, and r is the length of the reference closest to h, or
    the shorter of two that are equally close (Moses, mert/BleuScorer.cpp; the smoothing is that of Lin and Och 2004, but
    also applies to unigrams). An empty hypothesis scores 0, or 1 if the closest reference is also empty.

    statistics    in the order of sacrebleu's BLEU: h, r, m_1 to m_4, h_1 to h_4

    >>> moses_bleu([3, 6, 3, 2, 1, 0, 3, 2, 1, 0])    # all of "a b c" matches in "a b c d e f"; exp(1 - 6/3)
    0.36787944117144233
    >>> moses_bleu([1, 1, 0, 0, 0, 0, 1, 0, 0, 0])    # "a" against "b": (1/2)^(1/4)
    0.8408964152537145
    """
    length, closest, *counts = statistics
    if not length:
        return 0.0 if closest else 1.0
    log = 0.0
    for matched, total in zip(counts[:ORDERS], counts[ORDERS:], strict=True):
        log += math.log((matched + 1) / (total + 1))
    return math.exp(log / ORDERS + min(0.0, 1 - closest / length))
