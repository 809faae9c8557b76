import random
from importlib.metadata import version
from pathlib import Path

import pytest

from ctx_metrics import METEOR, InputError, read_lines
from ctx_metrics.metrics.meteor import NO_SYNONYMS, SNOWBALL, meteor, stem_of, stemmer_for

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# F = P R / (.9 P + .1 R), times 1 - .5 (chunks / matches)^3
GOLDEN = [
    ("a", "a", 0.5),  # one word is one chunk
    ("a b", "a b", 1 - 0.5 / 8),
    ("a b c d", "a b c d", 1 - 0.5 / 64),
    ("a b c d", "a b x c d", (0.8 / 0.98) * (1 - 0.5 / 8)),  # P 1, R 4/5; 2 chunks of 4
    ("a b x c d", "a b c d", (0.8 / 0.82) * (1 - 0.5 / 8)),  # P 4/5, R 1: recall counts nine times as much
    ("b a", "a b", 0.5),  # 2 chunks of 2
    ("a b", "c d", 0.0),
    ("A b", "a B", 1 - 0.5 / 8),
    ("cats running", "cat runs", 1 - 0.5 / 8),  # by their stems
    # the equal word takes its match first: "cats" is left with nothing
    ("cats cat", "cat", (0.5 * 1 / (0.9 * 0.5 + 0.1)) * 0.5),
    # of two equal words the later is matched: 2 chunks, where "a b" alone would be one
    ("a b", "a b a", (2 / 3) / (0.9 + 0.1 * 2 / 3) * 0.5),
]


@pytest.mark.parametrize("hypothesis, reference, value", GOLDEN, ids=[f"{h}-{r}" for h, r, _ in GOLDEN])
def test_golden_values(hypothesis, reference, value):
    assert meteor(hypothesis.split(), reference.split()) == pytest.approx(value)
    assert METEOR(tokenize="none").sentence_score(hypothesis, [reference]).score == pytest.approx(100 * value)


def test_the_best_reference_counts():
    values = [meteor("a b c".split(), text.split()) for text in ("a b x y", "b c", "z")]
    metric = METEOR([["a b x y"], ["b c"], ["z"], [None]], tokenize="none")
    assert metric.corpus_score(["a b c"], None).score == pytest.approx(100 * max(values))
    assert max(values) == values[1] > values[0] > values[2] == 0


def test_agrees_with_nltk_on_the_examples():
    from nltk.translate.meteor_score import meteor_score  # takes a second

    references, others = (read_lines(str(EXAMPLES / name)) for name in ("ref.en.txt", "system_c.en.txt"))
    for letter in "ab":
        hypotheses = read_lines(str(EXAMPLES / f"system_{letter}.en.txt"))
        metric = METEOR([references, others], target_lang="en")
        found = [each.score for each in metric.segment_scores(hypotheses)]
        theirs = [
            meteor_score([metric._words(a), metric._words(b)], metric._words(text), wordnet=NO_SYNONYMS)
            for text, a, b in zip(hypotheses, references, others)
        ]
        assert found == pytest.approx([100 * value for value in theirs])


@pytest.mark.parametrize(
    "language, texts",
    [
        ("en", ("houses", "house")),
        ("en-GB", ("houses", "house")),
        (None, ("houses", "house")),
        ("de", ("Häuser", "Haus")),
        ("de_AT", ("Häuser", "Haus")),
        ("fr", ("maisons", "maison")),
        ("ru", ("книги", "книга")),
        ("fi", ("talossa", "talon")),
    ],
)
def test_stems_by_language(language, texts):
    metric = METEOR([[texts[1]]], target_lang=language)
    assert metric.corpus_score([texts[0]], None).score == 50
    assert METEOR([[texts[1]]], target_lang=language, stem="none").corpus_score([texts[0]], None).score == 0


def test_all_languages_of_snowball_are_there():
    from nltk.stem import SnowballStemmer  # takes a second

    assert {*SNOWBALL.values(), "english", "porter"} == set(SnowballStemmer.languages)
    for code, name in SNOWBALL.items():
        assert stemmer_for("auto", code) == f"snowball-{name}"
        assert isinstance(stem_of(f"snowball-{name}", "abc"), str)


def test_a_language_without_a_stemmer_is_said(caplog):
    metric = METEOR([["domy"]], target_lang="pl")
    assert caplog.messages == ["meteor: there is no stemmer for Polish (pl), so only identical words match"]
    assert metric.corpus_score(["dom"], None).score == 0 and "stem:none" in str(metric.get_signature())
    caplog.clear()
    assert stemmer_for("porter", "pl") == "porter" and stemmer_for("none", "pl") == "none" and not caplog.messages
    with pytest.raises(InputError, match="meteor: stem 'snowball' is not one of auto, porter, none"):
        METEOR(stem="snowball")


def test_a_stem_does_not_depend_on_the_words_before():
    """nltk's Arabic stemmer remembers what it found in the last word."""
    from nltk.stem import SnowballStemmer  # takes a second

    generator = random.Random(1)
    letters = "ابتثجحخدذرزسشصضطظعغفقكلمنهويىءآأإةؤئًٌٍَُِّْ"
    words = ["".join(generator.choices(letters, k=generator.randint(1, 9))) for _ in range(2000)]
    one = SnowballStemmer("arabic")
    assert any(one.stem(word) != SnowballStemmer("arabic").stem(word) for word in words)
    stem_of.cache_clear()
    there = [stem_of("snowball-arabic", word) for word in words]
    stem_of.cache_clear()
    assert there == [stem_of("snowball-arabic", word) for word in reversed(words)][::-1]


def test_tokenizer():
    assert METEOR().sentence_score("Hello, world", ["hello , world"]).score == pytest.approx(100 * (1 - 0.5 / 27))
    assert METEOR(tokenize="none").sentence_score("Hello, world", ["hello , world"]).score < 50
    assert METEOR(target_lang="zh", stem="none").sentence_score("我吃饭", ["我喝饭"]).score > 0


def test_signature():
    metric = METEOR([["a"]], target_lang="de")
    metric.corpus_score(["a"], None)
    long, short = (metric.get_signature().format(short=short) for short in (False, True))
    nltk = version("nltk")
    assert long.startswith(f"nrefs:1|case:lc|tok:13a|stem:snowball-german|nltk:{nltk}|scale:100|ctx:")
    assert short.startswith(f"#:1|c:lc|tok:13a|sm:snowball-german|nl:{nltk}|sc:100|ctx:")


def test_an_empty_reference_beside_another_is_no_empty_segment():
    metric = METEOR([["a b"], [""]], [["a b"]])
    assert "empty" not in str(metric.corpus_score(["a b"], None))
