import math
import pickle
import random
from urllib.error import URLError

import pytest
from nltk.translate.nist_score import corpus_nist

from ctx_metrics import NIST, InputError, evaluate
from ctx_metrics.metrics.nist import NgramInformation

log2 = math.log2


def nist(*references, **settings) -> NIST:
    return NIST(list(references), tokenize="none", **settings)


# words 6: a 3, b 2, c 1; "a b" 2, "b a" 1, "a c" 1; "a b a" 1, "b a c" 1; "a b a c" 1
REFERENCES, HYPOTHESES = ["a b a c", "a b"], ["a b a", "b a"]
INFO = {
    ("a",): 1.0,
    ("b",): log2(3),
    ("c",): log2(6),
    ("a", "b"): log2(3 / 2),
    ("b", "a"): 1.0,
    ("a", "c"): log2(3),
    ("a", "b", "a"): 1.0,
    ("b", "a", "c"): 0.0,
    ("a", "b", "a", "c"): 0.0,
}


def test_information_worked_by_hand():
    information = NgramInformation([text.split() for text in REFERENCES])
    assert {ngram: information(ngram) for ngram in INFO} == pytest.approx(INFO)
    # n-grams that the texts do not hold count once: 6 words, of which 3 are "a", and "a b" twice
    assert information(("x",)) == pytest.approx(log2(6)) and information(("a", "x")) == pytest.approx(log2(3))
    assert information(("a", "b", "x")) == 1.0 and information(("c", "a")) == information(("x", "y")) == 0.0


def test_a_corpus_worked_by_hand():
    # unigrams a b a, b a; bigrams "a b", "b a" of the first alone; trigram "a b a"; 5 words for 6
    gain = (1 + log2(3) + 1 + log2(3) + 1) / 5 + (log2(3 / 2) + 1) / 3 + 1 / 1
    beta = math.log(0.5) / math.log(1.5) ** 2
    score = nist(REFERENCES).corpus_score(HYPOTHESES, None)
    assert score.score == pytest.approx(gain * math.exp(beta * math.log(5 / 6) ** 2))
    assert score.name == "NIST"
    # the information is the whole set's for one segment too
    first, second = (each.score for each in nist(REFERENCES).segment_scores(HYPOTHESES))
    gain = (2 + log2(3)) / 3 + (log2(3 / 2) + 1) / 2 + 1
    assert first == pytest.approx(gain * math.exp(beta * math.log(3 / 4) ** 2))
    assert second == pytest.approx((1 + log2(3)) / 2)


def test_matches_are_clipped_by_the_reference_that_has_most():
    # words 8, a 4, b 2: info 1 and 2; of "a a a b" three a match by the first reference, b by the second; lengths 4
    metric = nist(["a a a c"], ["a b b d"])
    [row] = metric._extract_corpus_statistics(["a a a b"], None)
    assert row[0] == pytest.approx(3 * 1 + 2) and row[5:7] == [4, 3] and row[10:] == [4, 4, 1]
    # and two a alone where no reference has three
    [row] = nist(["a a b c"], ["a b a d"])._extract_corpus_statistics(["a a a x"], None)
    assert row[0] == pytest.approx(2 * log2(8 / 4))


def test_the_reference_length_is_the_mean_of_those_given():
    metric = nist(["a b c d", "x"], ["a b", None], ["", "x y z"])
    rows = metric._extract_corpus_statistics(["a b", "x"], None)
    assert [row[11] for row in rows] == [(4 + 2) / 2, (1 + 3) / 2]  # the empty one beside others is left out


def plain_nist(hypotheses, references) -> float:
    """The formulas by lists: references[segment] is a list of token lists."""

    def every(tokens, order):
        return [tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1)]

    streams = [tokens for of_segment in references for tokens in of_segment]
    words, score = sum(map(len, streams)), 0.0
    for order in range(1, 6):
        counted = [ngram for tokens in streams for ngram in every(tokens, order)]
        before = [ngram for tokens in streams for ngram in every(tokens, order - 1)] if order > 1 else []
        total, gain = 0, 0.0
        for hypothesis, of_segment in zip(hypotheses, references):
            seen = []
            for ngram in every(hypothesis, order):
                total += 1
                seen.append(ngram)
                if seen.count(ngram) <= max(every(tokens, order).count(ngram) for tokens in of_segment):
                    gain += log2((before.count(ngram[:-1]) if order > 1 else words) / counted.count(ngram))
        score += gain / total if total else 0.0
    length = sum(map(len, hypotheses))
    target = sum(sum(map(len, of_segment)) / len(of_segment) for of_segment in references)
    beta = math.log(0.5) / math.log(1.5) ** 2
    return score * math.exp(beta * math.log(min(1, length / target)) ** 2)


@pytest.mark.parametrize("streams", [1, 3])
def test_agrees_with_a_plain_implementation(streams):
    generator = random.Random(streams)

    def text():
        return " ".join(generator.choices("abcd", k=generator.randint(1, 9)))

    for _ in range(40):
        hypotheses = [text() for _ in range(4)]
        references = [[text() for _ in range(4)] for _ in range(streams)]
        of_segments = [[stream[i].split() for stream in references] for i in range(4)]
        score = nist(*references).corpus_score(hypotheses, None).score
        assert score == pytest.approx(plain_nist([each.split() for each in hypotheses], of_segments))


def test_agrees_with_nltk_on_one_reference():
    """nltk takes, for each order, the one reference with the best precision, where mteval and we take the most of each n-gram
    over all; and it divides by zero where no hypothesis has five words. With one reference and a longer text it is the same."""
    generator = random.Random(5)
    for _ in range(40):
        texts = [[generator.choices("abcdef", k=generator.randint(1, 12)) for _ in range(6)] for _ in range(2)]
        texts[0][0] = list("abcdef")
        theirs = corpus_nist([[reference] for reference in texts[1]], texts[0])
        hypotheses, references = ([" ".join(tokens) for tokens in each] for each in texts)
        assert nist(references).corpus_score(hypotheses, None).score == pytest.approx(theirs)
    with pytest.raises(ZeroDivisionError):
        corpus_nist([[["a", "b"]]], [["a", "b"]])
    assert nist(["a b"]).corpus_score(["a b"], None).score == 1.0


def test_information_of_other_streams():
    """Scoring a part of a set with the whole set's references gives the segments the same scores."""
    whole = nist(REFERENCES).segment_scores(HYPOTHESES)
    part = nist(REFERENCES[1:], info_references=[REFERENCES])
    assert part.corpus_score(HYPOTHESES[1:], None).score == whole[1].score
    assert "info:given" in str(part.get_signature())
    assert part.sentence_score("b a", ["a b"]).score == whole[1].score
    streams = nist(REFERENCES, info_references=[REFERENCES[:1], [None, *REFERENCES[1:]]])
    assert [each.score for each in streams.segment_scores(HYPOTHESES)] == [each.score for each in whole]
    assert pickle.loads(pickle.dumps(part)).corpus_score(HYPOTHESES[1:], None).score == whole[1].score
    # twice as many words, and "a b" in a third text: other information
    other = nist(REFERENCES, info_references=[["a b a c", "a b"], ["a b", "d e f g"]])
    assert other.corpus_score(HYPOTHESES, None).score != nist(REFERENCES).corpus_score(HYPOTHESES, None).score


def test_information_that_cannot_be_counted():
    for streams in ([], [[]], [["", None]]):
        with pytest.raises(InputError, match="info_references hold no word"):
            nist(["a"], info_references=streams)
    for streams in ("a b", ["a b"]):
        with pytest.raises(InputError, match="info_references: expected a list of strings, got one string"):
            nist(["a"], info_references=streams)


def test_one_reference_tells_little(caplog):
    nist().sentence_score("a b", ["a b"])
    assert caplog.messages == [
        "nist: one reference is too little text for the information of n-grams; score a whole set"
    ]
    caplog.clear()
    nist(["a b"], ["b a"]).corpus_score(["a b"], None)
    nist(info_references=[["a b", "c"]]).sentence_score("a b", ["a b"])
    assert not caplog.messages


def test_odd_segments_are_counted(caplog):
    hypotheses = ["a b", "", " ", "a", "a", "a b"]
    streams = [["a b", "a", "a", "", None, None], [None, "", None, " ", None, "a b"]]
    metric = nist(*streams, systems=[hypotheses])
    score = metric.corpus_score(hypotheses, None)
    [found] = metric.system_results()
    assert [row[-1] for row in found.rows] == [1, 1, 1, 1, 0, 1] and set(found.rows[4]) == {0.0}
    assert "(empty = 3 unreferenced = 1 ignored = 1)" in str(score)
    assert caplog.messages == [
        "nist: 3 segments have an empty hypothesis or reference and score 0 (segments 2, 3, 4)",
        "nist: 1 segment has no reference and is left out (segment 5)",
        "nist: 1 segment has an empty reference among several, which is left out (segment 2)",
    ]
    values = [each.score for each in metric.segment_scores(hypotheses)]
    assert values[1:4] == [0, 0, 0] and math.isnan(values[4]) and values[0] > 0
    # an empty output's reference length counts: 5 words for 2 + 1 + 1 + 0 + 2
    whole = [sum(row[k] for row in found.rows) for k in range(13)]
    assert whole[10:12] == [2 + 1 + 2, 2 + 1 + 1 + 0 + 2]


def test_case_and_tokenizer():
    references, hypotheses = ["the cat , sat .", "A dog ran."], ["The cat, sat.", "a dog ran ."]
    same = NIST([references], lowercase=True).corpus_score(references, None).score
    assert NIST([references], lowercase=True).corpus_score(hypotheses, None).score == pytest.approx(same)
    mixed = NIST([references])
    assert mixed.corpus_score(hypotheses, None).score < same - 0.3
    assert nist(references).corpus_score(hypotheses, None).score < mixed.corpus_score(hypotheses, None).score
    assert "tok:zh" in str(_scored(NIST([["我吃饭"]], target_lang="zh"), ["我吃饭"]))
    with pytest.raises(InputError, match="no tokenizer '13b'; BLEU has none, zh, 13a"):
        NIST(tokenize="13b")


def test_a_tokenizer_that_cannot_be_loaded(monkeypatch):
    def missing(*args, **options):
        raise RuntimeError("\nIt needs more.\n\n    pip install it\n")

    monkeypatch.setattr("sacrebleu.metrics.BLEU.__init__", missing)
    with pytest.raises(InputError) as error:
        NIST(tokenize="ja-mecab")
    assert str(error.value) == "nist: the tokenizer ja-mecab cannot be loaded: It needs more. pip install it"


@pytest.mark.parametrize("run", ["bleu", "nist", "prbleu"])
def test_a_tokenizer_whose_file_cannot_be_fetched(monkeypatch, tmp_path, run):
    """In Python too, for sacrebleu's metrics as for ours."""

    def unreachable(url, path):
        raise URLError("no network")

    pytest.importorskip("sentencepiece")
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.download_file", unreachable)
    with pytest.raises(InputError) as error:
        pseudo = {"pseudo_references": [["a"]]} if run == "prbleu" else {}
        evaluate(["a"], ["a"], metrics={run: {"tokenize": "flores200"}}, inputs=pseudo, target_lang="en")
    said = f"{run}: the tokenizer flores200 cannot be loaded: "
    assert str(error.value).startswith(said) and str(tmp_path / "models" / "flores200sacrebleuspm") in str(error.value)


def _scored(metric, hypotheses):
    metric.corpus_score(hypotheses, None)
    return metric.get_signature()


def test_signature():
    signature = _scored(NIST([["a"], ["b"]], lowercase=True), ["a"])
    assert str(signature).startswith("nrefs:2|case:lc|tok:13a|info:refs|scale:1|ctx:")
    assert signature.format(short=True).startswith("#:2|c:lc|tok:13a|if:refs|sc:1|ctx:")
    assert signature.info["scale"] == 1  # other metrics say 100
