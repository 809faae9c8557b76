"""Keyword arguments of the metrics' constructors, for type checkers: the fields of their settings and of the context that
they read. At run time, the settings and capabilities are used instead; tests/test_typing.py compares the two. Those of a
family are next to its metrics."""

from collections.abc import Collection
from typing import TypedDict

from ..engine_options import EngineOptions, Layers

# lists of strings, arrays of NumPy, columns of pandas
Texts = Collection[str]
References = Collection[Collection[str | None]] | None
Systems = Collection[Texts]


class Tokenizing(TypedDict, total=False):
    tokenize: str | None


class Lowercasing(Tokenizing, total=False):
    lowercase: bool


class CharacterNgrams(TypedDict, total=False):
    char_order: int
    word_order: int
    beta: int


class Encoding(TypedDict, total=False):
    model: str | None
    layers: Layers | None
    engine: EngineOptions


class TokenMatching(Encoding, total=False):
    max_length: int | None
    multiref: str
    target_lang: str | None
    explain: bool


class BERTScoreKeywords(TokenMatching, total=False):
    idf: str
    score: str


class Estimating(TypedDict, total=False):
    model: str | None
    on_long: str
    multiref: str
    sources: Texts | None
    source_lang: str | None
    target_lang: str | None
    engine: EngineOptions


class DocCOMETKeywords(Estimating, total=False):
    context: int
    doc_ids: Texts | None


class COMETKeywords(Estimating, total=False):
    inputs: str | None
    spans: bool


class SLIDEKeywords(COMETKeywords, total=False):
    window: int | None
    stride: int | None
    partial: str | None
    tokens: int | None
    doc_ids: Texts | None


class NISTKeywords(Lowercasing, total=False):
    target_lang: str | None
    info_references: References


class METEORKeywords(Tokenizing, total=False):
    stem: str
    target_lang: str | None
