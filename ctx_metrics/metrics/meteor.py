"""METEOR of 2005/07 without synonyms (Banerjee and Lavie 2005; Lavie and Agarwal 2007), as nltk computes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..corpus import Corpus
from ..language import language_name, primary
from ..notices import notice
from ..scoring.base import ContextMetric, SystemResult
from ..scoring.context import Capabilities
from ..scoring.results import results_of_segments
from ..scoring.tokenization import TokenizerSettings, Words, tokenizer_for
from ..settings import setting

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .keywords import METEORKeywords, References, Systems

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5
SNOWBALL = dict(
    each.split("=")
    for each in (
        "ar=arabic da=danish de=german es=spanish fi=finnish fr=french hu=hungarian "
        "it=italian nb=norwegian nl=dutch nn=norwegian no=norwegian pt=portuguese ro=romanian ru=russian sv=swedish"
    ).split()
)
NO_SYNONYMS = SimpleNamespace(synsets=lambda word: [])  # replaces WordNet, which nltk would have to download


@dataclass(frozen=True)
class METEORSettings(TokenizerSettings):
    stem: str = setting(
        "auto: Porter's stemmer for English, Snowball's for other target languages that it has; porter for any "
        "language; none: only identical words match.",
        "auto",
        choices=("auto", "porter", "none"),
    )


class METEOR(ContextMetric):
    """METEOR against the best reference; averaged over segments, x100, in [0, 100).

        F = P R / (.9 P + .1 R)    METEOR = F (1 - .5 (chunks / matches)^3)

    P and R are the shares of the hypothesis's and the reference's words that match: first equal words, then equal stems
    of the remaining words. A chunk is a run of matches that are adjacent and in the same order in both texts. Equal
    words are matched from last to first, which does not always give the fewest chunks. Case is ignored. There are no
    synonyms, paraphrases or function words. Without a target language, the stemmer is English.

    A segment whose hypothesis or whose references have no tokens scores 0 and is counted.

    >>> METEOR().corpus_score(["cats sat down"], [["the cat sat"]]).score    # P = R = 2/3, one chunk of two matches
    62.5
    """

    NAME = "METEOR"
    Settings = METEORSettings
    capabilities = Capabilities(reads=frozenset({"target_lang"}))

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[METEORKeywords]): ...

    def _prepare(self) -> None:
        target_lang = self._context.target_lang
        self._words = Words("meteor", tokenizer_for(self.settings.tokenize, target_lang))
        self.stemmer = stemmer_for(self.settings.stem, target_lang)
        self.signature = {"case": "lc", "tok": self._words.signature(), "stem": self.stemmer, "nltk": version("nltk")}

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        return results_of_segments(corpora, lambda *references: list(map(self._words, references)), self._value)

    def _value(self, hypothesis: str, references: Sequence[Sequence[str]]) -> float | None:
        words = self._words(hypothesis)
        if not words or not any(references):
            return None
        return max(meteor(words, reference, self.stemmer) for reference in references)


def meteor(hypothesis: Sequence[str], reference: Sequence[str], stemmer: str = "porter") -> float:
    """Return METEOR of a tokenized hypothesis against one tokenized reference, in [0, 1); equal words match, then stems.

    stemmer    "porter", "snowball-LANGUAGE" or "none"

    >>> round(meteor("a b c d".split(), "a b x c d".split()), 6)    # P 1, R 4/5: F .8/.98; 2 chunks of 4 matches
    0.765306
    >>> meteor([], ["a"])
    0.0
    """
    from nltk.translate.meteor_score import single_meteor_score  # the import takes a second

    if not hypothesis or not reference:
        return 0.0
    modules = {"stemmer": SimpleNamespace(stem=partial(stem_of, stemmer)), "wordnet": NO_SYNONYMS}
    return single_meteor_score(reference, hypothesis, **modules, alpha=ALPHA, beta=BETA, gamma=GAMMA)


def stemmer_for(stem: str, language: str | None) -> str:
    """Return the name of the stemmer that `stem` selects for a language; prints a notice if "auto" finds none.

    >>> stemmer_for("auto", None), stemmer_for("auto", "de_AT"), stemmer_for("none", "en")
    ('porter', 'snowball-german', 'none')
    """
    if stem != "auto":
        return stem
    code = primary(language) or "en"
    if code == "en":
        return "porter"
    if code in SNOWBALL:
        return f"snowball-{SNOWBALL[code]}"
    notice(
        f"there is no stemmer for {language_name(code if language is None else language)}, so only identical words match",
        metric="meteor",
    )
    return "none"


@lru_cache(maxsize=1 << 20)
def stem_of(stemmer: str, word: str) -> str:
    """Return a word's stem.

    >>> stem_of("porter", "running"), stem_of("snowball-german", "häuser"), stem_of("none", "running")
    ('run', 'haus', 'running')
    """
    from nltk.stem import SnowballStemmer  # and Porter's

    if stemmer == "none":
        return word
    # a new stemmer for each word, because the result of the Arabic one depends on the words before
    return SnowballStemmer(stemmer.removeprefix("snowball-")).stem(word)
