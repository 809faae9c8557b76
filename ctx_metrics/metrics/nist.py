"""NIST (Doddington 2002): matched n-grams, weighted by their information."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from ..corpus import Corpus, list_of_strings
from ..errors import InputError
from ..scoring.base import ContextMetric, ContextScore, Row, SystemResult
from ..scoring.context import Capabilities
from ..scoring.inputs import Input, Keyword, Streams
from ..scoring.results import counted_result
from ..scoring.tokenization import Words, WordSettings, tokenizer_for

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .keywords import NISTKeywords, References, Systems

# streams whose n-grams are counted, of any length; None: the references
INFO_REFERENCES = Input({"info_references": Keyword(Streams, streams=True)})

MAX_ORDER = 5
BETA = math.log(0.5) / math.log(1.5) ** 2


class NgramInformation:
    """The information of n-grams in bits, estimated from tokenized texts (Doddington 2002, equation 2).

        info(w1 ... wn) = log2(count(w1 ... wn-1) / count(w1 ... wn))    n > 1
        info(w) = log2(words / count(w))

    An n-gram that is not in the texts counts as if it occurred once. The information is at least 0.

    >>> information = NgramInformation([["a", "b", "a", "c"]])
    >>> information(("a",)), information(("b",)), information(("a", "b")), information(("b", "a"))
    (1.0, 2.0, 1.0, 0.0)
    """

    def __init__(self, texts: Sequence[Sequence[str]]):
        self.words = sum(map(len, texts))
        counts: Counter[tuple[str, ...]] = Counter((word,) for tokens in texts for word in tokens)
        for order in range(2, MAX_ORDER + 1):
            # an n-gram that starts with a part that occurs once has no information and needs no count: most long n-grams
            counts.update(ngram for tokens in texts for ngram in ngrams(tokens, order) if counts.get(ngram[:-1], 1) > 1)
        self._counts = counts

    def __call__(self, ngram: tuple[str, ...]) -> float:
        before = self._counts.get(ngram[:-1], 1) if len(ngram) > 1 else self.words
        return math.log2(before / self._counts.get(ngram, 1))


class NIST(ContextMetric):
    """NIST of a corpus, on its own scale: from 0 up, about 15 at most (Doddington 2002, equation 3).

        NIST = sum_n (sum of info of the matched n-grams / n-grams of the hypotheses) * exp(beta log^2 min(1, L_hyp / L_ref))

    for n = 1..5, with beta = log .5 / log^2 1.5: a corpus two thirds as long as its references keeps half of the sum. An
    n-gram matches at most as often as it occurs in the reference that has the most occurrences. L_ref is the sum of the mean
    lengths of the segments' references. An order without n-grams in the hypotheses adds 0.

    A segment whose hypothesis or whose references have no tokens scores 0, stays in the corpus and is counted. Texts
    equal to their references have no fixed score. Raises InputError for info_references without a word.

    >>> metric = NIST([["a b d"]], tokenize="none", info_references=[["a b a c"]])
    >>> round(metric.corpus_score(["a b"], None).score, 9)    # info of a is 1, of b 2, of "a b" 1: (3/2 + 1/1) * .5
    1.25
    """

    NAME = "NIST"
    Settings = WordSettings
    capabilities = Capabilities(
        reads=frozenset({"target_lang"}),
        inputs=(INFO_REFERENCES,),
        whole_corpus="n-grams are counted over all references",
    )

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[NISTKeywords]): ...

    def _prepare(self) -> None:
        lowercase, info_references = self.settings.lowercase, self._context.inputs["info_references"]
        self._words = Words("nist", tokenizer_for(self.settings.tokenize, self._context.target_lang), lowercase)
        self._information = None if info_references is None else self._information_of(info_references)
        if info_references is not None:
            self.can = replace(self.can, whole_corpus="")
        self.signature = {
            "case": "lc" if lowercase else "mixed",
            "tok": self._words.signature(),
            "info": "refs" if info_references is None else "given",
            "scale": 1,
        }

    def _information_of(self, streams: Sequence[Sequence[str | None]]) -> NgramInformation:
        texts = [
            self._words(text)
            for stream in list_of_strings("nist: info_references", streams)
            for text in list_of_strings("nist: a stream of info_references", stream)
            if text is not None
        ]
        if not any(texts):
            raise InputError("nist: info_references hold no word to count")
        return NgramInformation(texts)

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        of_segments = list(zip(*corpora[0].references, strict=True)) or [()] * len(corpora[0])
        references = [[self._words(text) for text in texts if text is not None] for texts in of_segments]
        information = self._information
        if information is None:
            texts = [tokens for of_segment in references for tokens in of_segment]
            if len(texts) == 1:
                self._say("one reference is too little text for the information of n-grams; score a whole set")
            information = NgramInformation(texts)
        rows: list[list[Row]] = [[] for _ in corpora]
        empty: list[list[int]] = [[] for _ in corpora]
        for i, of_segment in enumerate(references):
            # all systems, segment by segment, so that only one segment's n-grams are in memory
            most: Counter = reduce(
                or_, map(counts, of_segment), Counter()
            )  # each n-gram's highest count in any reference
            length = sum(map(len, of_segment)) / max(1, len(of_segment))
            for corpus, of_corpus, places in zip(corpora, rows, empty, strict=True):
                tokens = self._words(corpus.hypotheses[i]) if of_segment else []
                if of_segment and not (tokens and length):
                    places.append(i)
                ngrams_of_order = [float(max(0, len(tokens) - order)) for order in range(MAX_ORDER)]
                matched: list[list[float]] = [[] for _ in range(MAX_ORDER)]
                for ngram, times in (counts(tokens) & most).items():
                    matched[len(ngram) - 1].append(times * information(ngram))
                gains = map(math.fsum, matched)
                of_corpus.append([*gains, *ngrams_of_order, float(len(tokens)), length, float(bool(of_segment))])
        unreferenced = [i for i, of_segment in enumerate(references) if not of_segment]
        return [counted_result(*each, unreferenced) for each in zip(rows, empty, strict=True)]

    def _compute_score_from_stats(self, stats: Row) -> ContextScore:
        *sums, length, reference_length, scored = map(float, stats)
        if not scored:
            return ContextScore(self.NAME, math.nan)
        gain = sum(gained / of for gained, of in zip(sums[:MAX_ORDER], sums[MAX_ORDER:], strict=True) if of)
        return ContextScore(self.NAME, gain * length_factor(length, reference_length))


def ngrams(tokens: Sequence[str], order: int) -> Iterator[tuple[str, ...]]:
    """Return the n-grams of one order, from first to last.

    >>> list(ngrams("abc", 2)), list(ngrams("a", 2))
    ([('a', 'b'), ('b', 'c')], [])
    """
    return zip(*(tokens[start:] for start in range(order)), strict=False)


def counts(tokens: Sequence[str]) -> Counter:
    return Counter(ngram for order in range(1, MAX_ORDER + 1) for ngram in ngrams(tokens, order))


def length_factor(length: float, reference_length: float) -> float:
    """Return the factor, in [0, 1], by which the score is reduced if the hypotheses are shorter than the references.

        exp(beta log^2 min(1, length / reference_length)),    beta = log .5 / log^2 1.5

    >>> round(length_factor(2, 3), 9), length_factor(4, 3), length_factor(0, 3)
    (0.5, 1.0, 0.0)
    """
    if length >= reference_length:
        return 1.0
    return math.exp(BETA * math.log(length / reference_length) ** 2) if length else 0.0
