import json
import shutil

import numpy as np
import pytest
from comet_checkpoints import WORDS
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from ctx_metrics.engine.tokenizer import TextTokenizer
from ctx_metrics.errors import ModelError

TEXTS = [
    "The cat sat on the mat.",
    "",
    " ",
    "a",
    "rivers, birds and 猫 in 2024!",
    "Straße mit Löwen",
    "two\tbits\u2028of text",
    "[SEP] a [MASK] b",
    "<s> old </s> rain <mask> <pad>",
    "the " * 90,
]
LONG = 1000


@pytest.fixture(scope="module", params=["tiny_bert", "tiny_roberta", "tiny_xlmr"])
def folder(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def ours(folder):
    return TextTokenizer(folder)


@pytest.fixture(scope="module")
def theirs(folder):
    # not AutoTokenizer: transformers 5 builds some classes' pipelines anew, and not from tokenizer.json
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder)


def test_same_ids_as_transformers(ours, theirs):
    """Special tokens spelled out in a text are read as special tokens by both."""
    for text, found in zip(TEXTS, ours(TEXTS, LONG)):
        assert found.ids.tolist() == theirs(text, truncation=False)["input_ids"], text
        assert found.cut == 0 and found.content == len(found.ids) - 2 and found.ids.dtype == np.int32


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=5))
def test_same_ids_as_transformers_for_any_text(ours, theirs, texts):
    for text, found in zip(texts, ours(texts, LONG), strict=True):
        assert found.ids.tolist() == theirs(text)["input_ids"]


def test_the_end_is_cut_and_counted(ours):
    whole = ours(["the old cat ran home"], LONG)[0]
    for most in (1, 2, whole.content - 1, whole.content, whole.content + 1):
        found = ours(["the old cat ran home"], most)[0]
        kept = min(most, whole.content)
        assert found.cut == whole.content - kept and found.content == kept
        assert found.ids.tolist() == [*whole.ids[: kept + 1], whole.ids[-1]]


@pytest.mark.parametrize("most", [None, 3])
def test_tokens_and_where_they_begin(folder, most):
    ours = TextTokenizer(folder, most)
    ids, begins = ours.located(TEXTS)
    for text, found, at, plain in zip(TEXTS, ids, begins, ours(TEXTS), strict=True):
        assert (found.key, found.cut) == (plain.key, plain.cut), text
        assert at.tolist() == [begin for begin, _ in ours.offsets([text], most or LONG)[0][1:-1]]
        assert at.dtype == np.int64


def test_truncation_and_padding_in_the_file_are_not_used(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.enable_truncation(6)
    backend.enable_padding(length=20)
    backend.save(str(folder / "tokenizer.json"))
    for found, plain in zip(TextTokenizer(folder)(TEXTS, LONG), TextTokenizer(tiny_bert)(TEXTS, LONG), strict=True):
        assert np.array_equal(found.ids, plain.ids) and found.cut == plain.cut == 0


def test_a_vocabulary_alone_is_enough(tiny_bert, tmp_path):
    vocabulary = json.loads((tiny_bert / "tokenizer.json").read_text())["model"]["vocab"]
    (tmp_path / "vocab.txt").write_text("".join(piece + "\n" for piece in sorted(vocabulary, key=vocabulary.get)))
    (tmp_path / "config.json").write_text((tiny_bert / "config.json").read_text())
    found, expected = TextTokenizer(tmp_path)(TEXTS, LONG), TextTokenizer(tiny_bert)(TEXTS, LONG)
    assert [text.ids.tolist() for text in found] == [text.ids.tolist() for text in expected]


XLMR = json.dumps({"model_type": "xlm-roberta"})


@pytest.mark.parametrize(
    "files, words",
    [
        *(({"tokenizer.json": content}, "cannot be loaded: ") for content in ("", "{", "{}")),
        ({"config.json": XLMR}, "is missing: none of tokenizer.json, vocab.txt"),
        ({"config.json": XLMR, "sentencepiece.bpe.model": "no model"}, "cannot be loaded: .*; to read older formats"),
    ],
)
def test_broken_tokenizers(tmp_path, files, words):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(ModelError, match=f"its tokenizer {words}"):
        TextTokenizer(tmp_path)


def replace(written: str, **pattern: str) -> dict:
    return {"type": "Replace", "pattern": pattern, "content": written}


def normalizers(*parts: dict) -> dict:
    return {"normalizer": {"type": "Sequence", "normalizers": parts}}


AGAIN = {"Sequence": {"id": "A", "type_id": 0}}
CLS, SEP = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]"))
SPECIALS = {name: {"id": name, "ids": [k], "tokens": [name]} for name, k in (("[CLS]", 2), ("[SEP]", 3))}
TEMPLATE = {
    "type": "TemplateProcessing",
    "pair": [AGAIN, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": SPECIALS,
}
LONGER = "cannot be loaded: it multiplies the length of a text, which"


@pytest.mark.parametrize(
    "changes, refused",
    [
        ({"post_processor": None}, "puts 0 special tokens around a text, not 2"),
        (normalizers(replace("a" * 9999, String="a")), LONGER),  # first, as it harms no machine where it is not refused
        (normalizers(*[replace("aa", String="a")] * 40), LONGER),  # a terabyte of one letter
        (normalizers(*[replace("aaaaaaaaa", Regex="b*")] * 9), LONGER),
        (normalizers(*[{"type": "Prepend", "prepend": "a" * 99}] * 9), LONGER),
        ({"decoder": {"type": "Sequence", "decoders": [replace("aa", String="a")] * 40}}, LONGER),
        ({"post_processor": {**TEMPLATE, "single": [CLS, *[AGAIN] * 5000, SEP]}}, LONGER),
        # what released tokenizers are made of
        (normalizers(*[replace("b", String="a")] * 40, replace(" ", Regex=" {2,}"), {"type": "NFKC"}), None),
        (normalizers({"type": "Prepend", "prepend": "▁"}, replace("▁", String=" "), {"type": "Lowercase"}), None),
    ],
)
def test_a_tokenizer_that_multiplies_a_text_or_leaves_out_specials(tiny_bert, tmp_path, changes, refused):
    """Rust ends the process where memory ends."""
    saved = json.loads((tiny_bert / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps({**saved, **changes}))
    if refused:
        with pytest.raises(ModelError, match=refused):
            TextTokenizer(tmp_path)
    else:
        assert TextTokenizer(tmp_path)(["a cat"], LONG)[0].content


def test_a_sentencepiece_model_alone(tmp_path):
    """As older XLM-R checkpoints come: converted with their ids, which are not sentencepiece's own."""
    import sentencepiece

    lines = [" ".join(words) for words in zip(WORDS, WORDS[1:], WORDS[2:])] * 9
    given = {"sentence_iterator": iter(lines), "model_prefix": str(tmp_path / "sentencepiece.bpe")}
    sentencepiece.SentencePieceTrainer.train(**given, vocab_size=40, model_type="unigram", minloglevel=2)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "xlm-roberta"}))
    found = TextTokenizer(tmp_path)(["the old cat", ""], LONG)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "sentencepiece.bpe.model"))
    assert found[0].ids.tolist() == [0, *(i + 1 for i in pieces.encode("the old cat")), 2]
    assert found[1].ids.tolist() == [0, 2]
