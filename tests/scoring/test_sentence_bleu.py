import math
import random

import pytest
from sacrebleu.metrics import BLEU

from ctx_metrics.scoring import sentence_bleu
from ctx_metrics.scoring.sentence_bleu import SentenceBLEU, moses_bleu


def moses_sentence_bleu(hypothesis: list[str], references: list[list[str]]) -> float:
    """Of a tokenized hypothesis against all tokenized references together."""
    bleu = BLEU(tokenize="none")
    pooled = bleu._extract_reference_info([" ".join(words) for words in references])
    return moses_bleu(bleu._compute_segment_statistics(" ".join(hypothesis), pooled))


# What Moses' sentence-bleu gives, worked by hand: m/h are matches and n-grams of each order, each with one added.
GOLDEN = [
    ("the cat sat on the mat", ["the cat sat on the mat"], 1.0),
    # m 5 3 2 1, h 6 5 4 3: (6/7 * 4/6 * 3/5 * 2/4)^(1/4)
    ("the cat sat on a mat", ["the cat sat on the mat"], 0.643459),
    ("the cat is on the mat today", ["the cat sat on the mat", "there is a cat on the mat"], 0.427287),
    ("a b c d e", ["a b x d e", "c d e f"], 0.604275),
    ("a b c", ["a b c d e f"], 0.367879),  # e^-1
    ("a dog", ["the cat sat"], 0.387539),  # (1/3 * 1/2 * 1 * 1)^(1/4) * e^(1 - 3/2)
    ("a", ["b"], 0.840896),  # (1/2)^(1/4)
    ("a b c d", ["w x y z"], 0.302138),  # (1/5 * 1/4 * 1/3 * 1/2)^(1/4)
    ("a b c d e f", ["a b c d", "a b c d e f g h"], 1.0),  # lengths 4 and 8 are as close to 6: 4 counts
]


@pytest.mark.parametrize("hypothesis, references, score", GOLDEN, ids=[text for text, _, _ in GOLDEN])
def test_golden_values(hypothesis, references, score):
    value = moses_sentence_bleu(hypothesis.split(), [text.split() for text in references])
    assert value == pytest.approx(score, abs=5e-7)
    metric = SentenceBLEU(tokenize="none")
    assert metric.sentence_score(hypothesis, references).score == pytest.approx(100 * score, abs=5e-5)


def test_golden_values_in_one_corpus():
    """References of different numbers: the second stream has None where there is one reference only."""
    streams = [[refs[0] for _, refs, _ in GOLDEN], [refs[1] if len(refs) > 1 else None for _, refs, _ in GOLDEN]]
    hypotheses = [text for text, _, _ in GOLDEN]
    metric = SentenceBLEU(streams, [hypotheses], tokenize="none")
    assert [s.score for s in metric.segment_scores(hypotheses)] == pytest.approx(
        [100 * g for *_, g in GOLDEN], abs=5e-5
    )
    mean = 100 * sum(score for *_, score in GOLDEN) / len(GOLDEN)
    assert metric.corpus_score(hypotheses, None).score == pytest.approx(mean, abs=5e-5)
    assert metric.get_signature().info["nrefs"] == "var"


def test_empty_texts_in_moses():
    assert moses_sentence_bleu([], [["a"]]) == 0.0
    assert moses_sentence_bleu([], [[]]) == 1.0
    assert moses_sentence_bleu([], [["a"], []]) == 1.0  # the closest length is 0
    # an empty reference beside another one is the closest to a short hypothesis: no brevity penalty
    assert moses_sentence_bleu(["a"], [["a", "b", "c"], []]) == 1.0


def plain_bleu(hypothesis: list[str], references: list[list[str]]) -> float:
    """The formula, with n-grams counted in lists."""
    product = 1.0
    for order in (1, 2, 3, 4):
        of_hypothesis, *of_references = (
            [text[i : i + order] for i in range(len(text) - order + 1)] for text in (hypothesis, *references)
        )
        matched, seen = 0, []
        for ngram in of_hypothesis:
            seen.append(ngram)
            matched += seen.count(ngram) <= max(found.count(ngram) for found in of_references)
        product *= (matched + 1) / (len(of_hypothesis) + 1)
    closest = sorted((abs(len(text) - len(hypothesis)), len(text)) for text in references)[0][1]
    return product**0.25 * math.exp(min(0, 1 - closest / len(hypothesis)))


def test_agrees_with_a_plain_implementation():
    generator = random.Random(6)

    def text():
        return generator.choices("abcd", k=generator.randint(1, 9))

    for _ in range(300):
        hypothesis, references = text(), [text() for _ in range(generator.randint(1, 3))]
        assert moses_sentence_bleu(hypothesis, references) == pytest.approx(plain_bleu(hypothesis, references))


def test_tokenizer_and_case():
    hypothesis, reference = "The cat, sat.", "the cat , sat ."
    assert SentenceBLEU(lowercase=True).sentence_score(hypothesis, [reference]).score == pytest.approx(100)
    mixed = SentenceBLEU().sentence_score(hypothesis, [reference]).score
    assert mixed == pytest.approx(100 * moses_sentence_bleu("The cat , sat .".split(), [reference.split()]))
    assert SentenceBLEU(tokenize="none").sentence_score(hypothesis, [reference]).score < mixed
    assert SentenceBLEU(tokenize="char").sentence_score("abcd e", ["abcde"]).score == pytest.approx(100)
    assert SentenceBLEU(tokenize="zh").sentence_score("我吃饭", ["我 吃 饭"]).score == pytest.approx(100)


@pytest.mark.parametrize("name", ["13a", "none", "zh", "intl", "char"])
def test_identical_texts_score_100(name):
    texts = ["x", "Hello, world!", "  a  b ", "ein \u3000 Wort", "eins zwei drei vier fünf", "猫が好き"]
    for text in texts:
        assert SentenceBLEU(tokenize=name).sentence_score(text, [text]).score == 100.0


def test_odd_segments_are_counted(caplog):
    hypotheses = ["a b", "", " ", "a", "a", "a b"]
    streams = [["a b", "a", "a", "", None, None], [None, "", None, " ", None, "a b"]]
    metric = SentenceBLEU(streams, [hypotheses])
    result = metric.corpus_score(hypotheses, None)
    [found] = metric.system_results()
    assert found.rows == [[1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    assert result.score == pytest.approx(40) and "(empty = 3 unreferenced = 1 ignored = 1)" in str(result)
    assert caplog.messages == [
        "sentencebleu: 3 segments have an empty hypothesis or reference and score 0 (segments 2, 3, 4)",
        "sentencebleu: 1 segment has no reference and is left out (segment 5)",
        "sentencebleu: 1 segment has an empty reference among several, which is left out (segment 2)",
    ]


def test_references_are_those_of_each_corpus():
    """Derived metrics give each system other references."""
    from ctx_metrics.corpus import Corpus

    corpora = [
        Corpus(["a b c"], [["a b c"]]),
        Corpus(["a b c"], [["a b d"]]),
        Corpus(["a b c"], [["a b d"], ["a b c"]]),
    ]
    rows = [result.rows for result in SentenceBLEU()._score(corpora)]
    assert rows[0] == rows[2] == [[1.0, 1.0]] and rows[1][0][0] < 1


def test_reference_ngrams_are_made_once(monkeypatch):
    made = []
    inner = sentence_bleu._COUNTS._extract_reference_info
    monkeypatch.setattr(
        sentence_bleu._COUNTS, "_extract_reference_info", lambda texts: made.append(texts) or inner(texts)
    )
    systems = [["a b", "c"], ["b b", "c d"], ["a", "d"]]
    metric = SentenceBLEU([["a b c", "c d"]], systems)
    for system in systems:
        metric.corpus_score(system, None)
    assert made == [["a b c"], ["c d"]]


def test_signature():
    metric = SentenceBLEU([["a"]], tokenize="intl", lowercase=True)
    info = metric.get_signature().info
    assert {"case": "lc", "eff": "no", "tok": "intl", "smooth": "moses", "nrefs": 1}.items() <= info.items()
    assert SentenceBLEU([["a"]]).get_signature().info["case"] == "mixed"
    assert "s:moses" in metric.get_signature().format(short=True)
