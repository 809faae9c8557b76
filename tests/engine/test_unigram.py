"""Pieces of a unigram model against those that the library tokenizers finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from ctx_metrics.engine import unigram
from ctx_metrics.engine.unigram import Unigram

SPECIALS = ["<s>", "<unk>"]
PIECES = {"▁": -3.0, "a": -4.0, "b": -4.0, "ab": -5.0, "▁a": -5.0, "aba": -8.0, "bab": -8.0, "é": -6.0, "猫": -7.0}
PIECES |= {"▁猫": -10.0, "a猫b": -9.5, "aaa": -12.0, "<": -6.0, "s": -6.0}


@pytest.fixture(scope="module")
def ours():
    pieces = [*SPECIALS, *PIECES]
    return Unigram(
        np.frombuffer("".join(pieces).encode("utf-32-le"), "<u4"),
        np.cumsum([0, *map(len, pieces)]),
        np.array([0.0, 0.0, *PIECES.values()]),
        specials={"<s>": 0, "<unk>": 1},
        unknown=1,
        normalizer=normalizers.NFKC(),
    )


@pytest.fixture(scope="module")
def theirs():
    scored = [*((piece, 0.0) for piece in SPECIALS), *PIECES.items()]
    tokenizer = Tokenizer(models.Unigram(scored, 1, False))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.add_special_tokens([AddedToken(piece, special=True) for piece in SPECIALS])
    return tokenizer


@given(st.lists(st.text("abé猫 ▁x\u0301😀\u3000", max_size=12), max_size=6))
def test_ids_are_those_of_tokenizers(ours, theirs, texts):
    assert ours(texts) == [each.ids for each in theirs.encode_batch(texts, add_special_tokens=False)]


@pytest.mark.parametrize("text", ["", " ", "a<s>b", "<s> <s>ab", "<unk>x", "< s", "<<s>>", "x" * 3000, "ab " * 3000])
def test_specials_and_long_texts(ours, theirs, text):
    assert ours([text]) == [theirs.encode(text, add_special_tokens=False).ids]


def test_specials_are_found_as_they_stand_alone(ours):
    assert ours(["<s>"]) == [[0]]
    assert 0 not in ours(["＜s＞"])[0]  # NFKC makes them the same letters


def test_texts_of_many_parts(ours, theirs, monkeypatch):
    """What is segmented together bounds the memory, and changes nothing."""
    texts = ["".join("ab猫é"[(i * k) % 4] for i in range(k % 9)) + " ba" for k in range(60)]
    expected = [each.ids for each in theirs.encode_batch(texts, add_special_tokens=False)]
    for letters in (1, 7, 50):
        monkeypatch.setattr(unigram, "LETTERS_AT_ONCE", letters)
        assert ours(texts) == expected
