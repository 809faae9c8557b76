"""What the metrics' constructors take by keyword, for type checkers: the fields of their settings, and of the context that
they read. At run time the settings and capabilities decide; tests/test_typing.py compares the two."""

from collections.abc import Collection
from typing import TypedDict

from ..engine.options import EngineOptions
from ..pseudo_references.options import PseudoFilter
from ..scoring.token_matching import Layers

# lists of strings, arrays of NumPy, columns of pandas
Texts = Collection[str]
References = Collection[Collection[str | None]] | None
Systems = Collection[Texts]


class Tokenizing(TypedDict, total=False):
    """Of metrics that compare words."""

    tokenize: str | None


class Lowercasing(Tokenizing, total=False):
    """Of metrics that compare words, whose case can be ignored."""

    lowercase: bool


class CharacterNgrams(TypedDict, total=False):
    """Of chrF."""

    char_order: int
    word_order: int
    beta: int


class Encoding(TypedDict, total=False):
    """Of metrics over an encoder."""

    model: str | None
    layers: Layers | None
    engine: EngineOptions


class TokenMatching(Encoding, total=False):
    """Of BERTR."""

    max_length: int | None
    multiref: str
    target_lang: str | None
    explain: bool


class BERTScoreKeywords(TokenMatching, total=False):
    """Of BERTScore."""

    idf: str
    score: str


class Estimating(TypedDict, total=False):
    """Of BiLSTM, BiLSTMAtt and ESIM."""

    model: str | None
    on_long: str
    multiref: str
    sources: Texts | None
    source_lang: str | None
    target_lang: str | None
    engine: EngineOptions


class DocCOMETKeywords(Estimating, total=False):
    """Of DocCOMET."""

    context: int
    doc_ids: Texts | None


class COMETKeywords(Estimating, total=False):
    """Of COMET."""

    inputs: str | None
    average: str | None
    spans: bool


class SLIDEKeywords(COMETKeywords, total=False):
    """Of SLIDE."""

    window: int | None
    stride: int | None
    partial: str | None
    tokens: int | None
    doc_ids: Texts | None


class PairwiseKeywords(TypedDict, total=False):
    """Of Pairwise."""

    model: str | None
    against: Systems | None
    baseline: bool
    sources: Texts | None
    target_lang: str | None
    engine: EngineOptions


class RoundTrips(TypedDict, total=False):
    """Of the round-trip metrics."""

    sources: Texts | None
    source_lang: str | None
    roundtrips: Systems | None
    backtranslator: str | None


class RTTBLEUKeywords(RoundTrips, Lowercasing, total=False):
    """Of RTTBLEU and RTTSentBLEU."""


class RTTChrFKeywords(RoundTrips, CharacterNgrams, total=False):
    """Of RTTChrF."""

    average: bool


class RTTSBERTKeywords(RoundTrips, total=False):
    """Of RTTSBERT."""

    model: str | None
    engine: EngineOptions


class RTTBERTScoreKeywords(RoundTrips, Encoding, total=False):
    """Of RTTBERTScore."""

    idf: str


class PseudoReferences(TypedDict, total=False):
    """Of the pseudo-reference metrics."""

    target_lang: str | None
    pseudo_references: References
    pseudo_filter: PseudoFilter | str
    engine: EngineOptions


class PRBLEUKeywords(PseudoReferences, Lowercasing, total=False):
    """Of PRBLEU and PRSentBLEU."""


class PRChrFKeywords(PseudoReferences, CharacterNgrams, total=False):
    """Of PRChrF."""


class NISTKeywords(Lowercasing, total=False):
    """Of NIST."""

    target_lang: str | None
    info_references: References


class METEORKeywords(Tokenizing, total=False):
    """Of METEOR."""

    stem: str
    target_lang: str | None
