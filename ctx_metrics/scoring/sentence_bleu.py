"""Sentence BLEU as Moses' `sentence-bleu` computes it: every n-gram order smoothed by one, all references pooled."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from sacrebleu.metrics import BLEU

from ..corpus import Corpus
from ..errors import InputError
from ..run.context import Stream
from .base import ContextMetric, SystemResult
from .segment_counts import counted_result
from .tokenization import Words

MAX_ORDER = 4


class PooledReferences(NamedTuple):
    """What BLEU reads of a segment's references.

    ngrams     for each order 1..4, the largest count of each n-gram in any one reference
    lengths    number of tokens of each reference
    """

    ngrams: list[dict[tuple[str, ...], int]]
    lengths: list[int]


class SentenceBLEU(ContextMetric):
    """100 times the mean over segments of Moses' sentence BLEU against all of the segment's references together.

    references    streams of references for scoring with references=None; None where a segment has none in a stream
    tokenize      one of sacrebleu's tokenizers for BLEU; "none" splits at white space, for text that is tokenized already
    lowercase     whether case is ignored
    context       systems, as run.context.Context describes them

    A segment whose hypothesis has no tokens, or whose references all have none, scores 0 and is counted. An empty reference
    beside others counts as a reference of length 0. Identical texts score 100.
    Raises InputError for a tokenizer that does not exist or cannot be loaded.
    """

    NAME = "SentenceBLEU"

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        tokenize: str = "13a",
        lowercase: bool = False,
        **context: Any,
    ):
        super().__init__(references, systems=systems, **context)
        self.tokenize, self.lowercase = tokenize, lowercase
        if tokenize not in BLEU.TOKENIZERS:
            names = ", ".join(BLEU.TOKENIZERS)
            raise InputError(f"{self.NAME.lower()}: unknown tokenizer {tokenize!r}; take one of {names}")
        self._tokens = Words(self.NAME.lower(), tokenize, lowercase)
        self.settings = {
            "case": "lc" if lowercase else "mixed",
            "eff": "no",
            "tok": self._tokens.signature(),
            "smooth": "moses",
        }

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        known: dict[tuple[str, ...], PooledReferences] = {}
        return [self._system_result(corpus, known) for corpus in corpora]

    def _system_result(self, corpus: Corpus, known: dict[tuple[str, ...], PooledReferences]) -> SystemResult:
        """Rows and counts of one system; `known` keeps the references' n-grams for the next one."""
        rows, empty, unreferenced = [], [], []
        for i, hypothesis in enumerate(corpus.hypotheses):
            references = tuple(text for stream in corpus.references if (text := stream[i]) is not None)
            if not references:
                unreferenced.append(i)
                rows.append([0.0, 0.0])
                continue
            if references not in known:
                known[references] = pooled_references([self._tokens(text) for text in references])
            tokens, pooled = self._tokens(hypothesis), known[references]
            if tokens and any(pooled.lengths):
                rows.append([_bleu(tokens, pooled), 1.0])
            else:
                empty.append(i)
                rows.append([0.0, 1.0])
        return counted_result(rows, empty, unreferenced)


def moses_sentence_bleu(hypothesis: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Sentence BLEU of a tokenized hypothesis against all tokenized references together, in [0, 1].

        BLEU = exp(1/4 sum_n log((m_n + 1) / (h_n + 1)) + min(0, 1 - r / h))

    for n = 1..4. h_n is the hypothesis's number of n-grams, m_n how many of them match when each counts at most as often as
    in the reference that has most of it, h = h_1, and r the length of the reference that is closest to h, the shorter one
    of two (Moses, mert/BleuScorer.cpp; the smoothing of Lin and Och 2004, here of single words too). An empty hypothesis
    has 0, or 1 if the closest reference is empty as well.

    Raises InputError without references.

    >>> moses_sentence_bleu("a b c".split(), ["a b c d e f".split()])    # all matches; exp(1 - 6/3)
    0.36787944117144233
    >>> moses_sentence_bleu(["a"], [["b"]])    # (1/2)^(1/4)
    0.8408964152537145
    """
    if not references:
        raise InputError("sentence BLEU needs at least one reference")
    return _bleu(hypothesis, pooled_references(references))


def pooled_references(references: Sequence[Sequence[str]]) -> PooledReferences:
    """What BLEU reads of tokenized references.

    >>> pooled = pooled_references([["a", "a"], ["a", "b", "c"]])
    >>> pooled.ngrams[0], pooled.lengths
    ({('a',): 2, ('b',): 1, ('c',): 1}, [2, 3])
    """
    most: list[dict[tuple[str, ...], int]] = [{} for _ in range(MAX_ORDER)]
    for reference in references:
        for pooled, found in zip(most, _ngrams(reference), strict=True):
            for ngram, count in found.items():
                if count > pooled.get(ngram, 0):
                    pooled[ngram] = count
    return PooledReferences(most, [len(reference) for reference in references])


def _bleu(tokens: Sequence[str], references: PooledReferences) -> float:
    length = len(tokens)
    closest = min(references.lengths, key=lambda other: (abs(other - length), other))
    if not length:
        return 0.0 if closest else 1.0
    log = 0.0
    for order, (found, most) in enumerate(zip(_ngrams(tokens), references.ngrams, strict=True), 1):
        matched = sum(min(count, most[ngram]) for ngram, count in found.items() if ngram in most)
        log += math.log((matched + 1) / (max(0, length - order + 1) + 1))
    return math.exp(log / MAX_ORDER + min(0.0, 1 - closest / length))


def _ngrams(tokens: Sequence[str]) -> list[Counter]:
    """Counts of the n-grams of each order."""
    return [
        Counter(zip(*(tokens[start:] for start in range(order)), strict=False)) for order in range(1, MAX_ORDER + 1)
    ]
