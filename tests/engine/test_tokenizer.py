import json
import shutil

import numpy as np
import pytest
from comet_checkpoints import WORDS
from hypothesis import given
from hypothesis import strategies as st

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


def test_no_texts_and_empty_texts(ours):
    assert ours([], LONG) == []
    (empty,) = ours([""], LONG)
    assert (empty.content, empty.cut, len(empty.ids)) == (0, 0, 2)


def test_lengths_of_other_texts_do_not_matter(ours):
    together = ours(TEXTS, LONG)
    assert all(np.array_equal(ours([text], LONG)[0].ids, found.ids) for text, found in zip(TEXTS, together))


def test_truncation_and_padding_in_the_file_are_not_used(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    content = json.loads((folder / "tokenizer.json").read_text())
    content["truncation"] = {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0}
    content["padding"] = {
        "strategy": {"Fixed": 20},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    (folder / "tokenizer.json").write_text(json.dumps(content))
    for found, plain in zip(TextTokenizer(folder)(TEXTS, LONG), TextTokenizer(tiny_bert)(TEXTS, LONG), strict=True):
        assert np.array_equal(found.ids, plain.ids) and found.cut == plain.cut == 0


def test_a_vocabulary_alone_is_enough(tiny_bert, tmp_path):
    vocabulary = json.loads((tiny_bert / "tokenizer.json").read_text())["model"]["vocab"]
    (tmp_path / "vocab.txt").write_text("".join(piece + "\n" for piece in sorted(vocabulary, key=vocabulary.get)))
    (tmp_path / "config.json").write_text((tiny_bert / "config.json").read_text())
    found, expected = TextTokenizer(tmp_path)(TEXTS, LONG), TextTokenizer(tiny_bert)(TEXTS, LONG)
    assert [text.ids.tolist() for text in found] == [text.ids.tolist() for text in expected]


@pytest.mark.parametrize("content", ["", "{", "{}"])
def test_broken_tokenizer(content, tmp_path):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match="its tokenizer cannot be loaded: "):
        TextTokenizer(tmp_path)


def test_an_unreadable_vocabulary(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "xlm-roberta"}))
    (tmp_path / "sentencepiece.bpe.model").write_bytes(b"no model")
    with pytest.raises(ModelError, match="its tokenizer cannot be loaded: .*; what reads older ones: pip install"):
        TextTokenizer(tmp_path)


def test_a_tokenizer_without_specials_is_refused(tiny_bert, tmp_path):
    content = json.loads((tiny_bert / "tokenizer.json").read_text())
    content["post_processor"] = None
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ModelError, match="puts 0 special tokens around a text, not 2"):
        TextTokenizer(tmp_path)


def replace(written: str, **pattern: str) -> dict:
    return {"type": "Replace", "pattern": pattern, "content": written}


def normalizers(*parts: dict) -> dict:
    return {"normalizer": {"type": "Sequence", "normalizers": parts}}


AGAIN = {"Sequence": {"id": "A", "type_id": 0}}
CLS, SEP = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("[CLS]", "[SEP]"))
PAIR = [AGAIN, {"Sequence": {"id": "B", "type_id": 0}}]
SPECIALS = {name: {"id": name, "ids": [k], "tokens": [name]} for name, k in (("[CLS]", 2), ("[SEP]", 3))}


@pytest.mark.parametrize(
    "changes, refused",
    [
        (normalizers(replace("a" * 9999, String="a")), True),
        (normalizers(*[replace("aa", String="a")] * 40), True),  # a terabyte of one letter
        (normalizers(*[replace("aaaaaaaaa", Regex="b*")] * 9), True),
        (normalizers(*[{"type": "Prepend", "prepend": "a" * 99}] * 9), True),
        ({"decoder": {"type": "Sequence", "decoders": [replace("aa", String="a")] * 40}}, True),
        (
            {
                "post_processor": {
                    "type": "TemplateProcessing",
                    "single": [CLS, *[AGAIN] * 5000, SEP],
                    "pair": PAIR,
                    "special_tokens": SPECIALS,
                }
            },
            True,
        ),
        # what released tokenizers are made of
        (normalizers(*[replace("b", String="a")] * 40, replace(" ", Regex=" {2,}"), {"type": "NFKC"}), False),
        (normalizers({"type": "Prepend", "prepend": "▁"}, replace("▁", String=" "), {"type": "Lowercase"}), False),
    ],
)
def test_a_tokenizer_that_multiplies_a_text_is_refused(tiny_bert, tmp_path, changes, refused):
    """Rust ends the process where memory ends."""
    saved = json.loads((tiny_bert / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps({**saved, **changes}))
    if refused:
        with pytest.raises(
            ModelError, match="its tokenizer cannot be loaded: it multiplies the length of a text, which"
        ):
            TextTokenizer(tmp_path)
    else:
        assert TextTokenizer(tmp_path)(["a cat"], LONG)[0].content


def test_a_sentencepiece_model_alone(tmp_path):
    """As older XLM-R checkpoints come: converted with their ids, which are not sentencepiece's own."""
    import sentencepiece

    lines = [" ".join(words) for words in zip(WORDS, WORDS[1:], WORDS[2:])] * 9
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_prefix=str(tmp_path / "model"),
        vocab_size=40,
        model_type="unigram",
        minloglevel=2,
    )
    (tmp_path / "model.model").rename(tmp_path / "sentencepiece.bpe.model")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "xlm-roberta"}))
    found = TextTokenizer(tmp_path)(["the old cat", ""], LONG)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "sentencepiece.bpe.model"))
    assert found[0].ids.tolist() == [0, *(i + 1 for i in pieces.encode("the old cat")), 2]
    assert found[1].ids.tolist() == [0, 2]


def test_a_folder_without_vocabulary(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "xlm-roberta"}))
    with pytest.raises(ModelError, match="its tokenizer is missing: none of tokenizer.json, vocab.txt"):
        TextTokenizer(tmp_path)
