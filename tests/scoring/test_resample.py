"""Resampling whole documents: exact sums, the same scores, and intervals that hold what they promise."""

import math
import pickle

import numpy as np
import pytest
from plugin_conftest import DOCIDS, EXAMPLES, REF, A, B, C
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from selection import some

from ctx_metrics import DocumentPairedTest, InputError, read_lines, resample_documents
from ctx_metrics.scoring.base import ContextMetric, SystemResult

REFERENCES, IDS = ([read_lines(str(EXAMPLES / REF))], read_lines(str(EXAMPLES / DOCIDS)))
SYSTEMS = [(name, read_lines(str(EXAMPLES / name))) for name in (A, B, C)]


class Given(ContextMetric):
    """Takes the hypotheses for their scores; "-" is one that nothing scores."""

    NAME = "GIVEN"

    def _score(self, corpora):
        return [
            SystemResult([[0.0, 0.0] if text == "-" else [float(text), 1.0] for text in corpus.hypotheses])
            for corpus in corpora
        ]


def given(values, doc_ids=None) -> tuple[ContextMetric, list[str]]:
    """A metric and the hypotheses that it scores with these values; by document where there are ids."""
    texts = [value if isinstance(value, str) else repr(float(value)) for value in values]
    metric = Given([[""] * len(texts)])
    return (resample_documents(metric, doc_ids) if doc_ids else metric), texts


def stock(cls, **settings):
    return cls(references=REFERENCES, **settings)


# statistics


@pytest.mark.parametrize("cls", [BLEU, CHRF, TER])
def test_a_documents_row_is_the_sum_of_its_segments(cls):
    segments = np.array(stock(cls)._extract_corpus_statistics(SYSTEMS[0][1], None))
    seen = []

    class Looking(cls):
        def _aggregate_and_compute(self, stats):
            seen.append(stats)
            return super()._aggregate_and_compute(stats)

        def _compute_score_from_stats(self, stats):
            seen.append(stats)
            return super()._compute_score_from_stats(stats)

    metric = resample_documents(stock(Looking), IDS)
    DocumentPairedTest(SYSTEMS[:2], {"X": metric}, None, "bs", 50)
    ends = [i for i in range(1, len(IDS) + 1) if i == len(IDS) or IDS[i] != IDS[i - 1]]
    documents = [segments[start:end].sum(0) for start, end in zip([0, *ends], ends)]
    resamples = np.array(seen[2:])
    assert len(documents) == 7 and len(resamples) == 50
    rng = np.random.default_rng(12345)  # what sacrebleu draws by default
    expected = np.array(documents)[rng.choice(7, size=(50, 7), replace=True)].sum(1)
    assert resamples == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("cls", some([BLEU, CHRF, TER], [BLEU, CHRF]))
def test_scores_are_what_they_were(cls):
    plain, metric = stock(cls), resample_documents(stock(cls), IDS)
    for _, system in SYSTEMS:
        expected = plain.corpus_score(system, None).score
        assert metric.corpus_score(system, None).score == expected
        assert metric.corpus_score(system, None, n_bootstrap=20).score == expected
    for kind in ("bs", "ar"):
        ours = DocumentPairedTest(SYSTEMS, {"X": metric}, None, kind, 20)()[1]
        theirs = PairedTest(SYSTEMS, {"X": plain}, None, kind, 20)()[1]
        assert [each.score for each in ours[plain_name(ours)]] == [each.score for each in theirs[plain_name(ours)]]


def plain_name(scores: dict) -> str:
    return next(name for name in scores if name != "System")


def test_our_scores_are_summed_exactly_over_segments():
    """Summed by document first, these would round otherwise."""
    values, ids = [1e16, 1.0, 1.0, -1e16, 1.0, 1.0], ["a", "a", "b", "b", "c", "c"]
    metric, texts = given(values, ids)
    assert metric.corpus_score(texts, None, n_bootstrap=5).score == 100 * math.fsum(values) / 6


def test_segments_stay_segments():
    metric, texts = given([0.25, 0.5, "-", 1.0], ["a", "a", "b", "b"])
    metric.corpus_score(texts, None, n_bootstrap=5)
    assert [score.score for score in metric.segment_scores(texts)][:2] == [25, 50]
    assert metric.sentence_score("0.75", [""]).score == 75
    assert len(metric._extract_corpus_statistics(texts, None)) == 4


def test_the_signature_says_it_once_it_was_done():
    plain, metric = stock(BLEU), resample_documents(stock(BLEU), IDS)
    system = SYSTEMS[0][1]
    plain.corpus_score(system, None)
    metric.corpus_score(system, None)
    assert str(metric.get_signature()) == str(plain.get_signature())
    metric.corpus_score(system, None, n_bootstrap=10)
    assert "|resample:document|" in metric.get_signature().format()
    assert "|ru:document|" in metric.get_signature().format(short=True)
    ours, texts = given([0.1, 0.2], ["a", "b"])
    ours.corpus_score(texts, None, n_bootstrap=10)
    short = [part.split(":")[0] for part in ours.get_signature().format(short=True).split("|")]
    assert "ru" in short and len(short) == len(set(short))


def test_the_metric_is_still_of_its_class_and_can_be_taken_twice():
    metric = stock(BLEU)
    assert resample_documents(resample_documents(metric, IDS), [*IDS[:58], "other"]) is metric
    assert isinstance(metric, BLEU) and type(metric).__name__ == "BLEU"
    assert len(metric.document_ranges) == 8
    system = SYSTEMS[0][1]
    assert metric.corpus_score(system, None, n_bootstrap=10)._ci > 0
    copied = pickle.loads(pickle.dumps(metric))
    assert copied.corpus_score(system, None, n_bootstrap=10)._ci == metric.corpus_score(system, None, 10)._ci


@pytest.mark.parametrize("kind", some(["bs", "ar"], ["ar"]))
def test_workers_give_what_one_process_gives(kind):
    def run(jobs):
        systems = [(name, [str(len(text) / 100) for text in system]) for name, system in SYSTEMS]
        metrics = {"GIVEN": given([0] * len(IDS), IDS)[0], "BLEU": resample_documents(stock(BLEU), IDS)}
        return DocumentPairedTest(systems, metrics, None, kind, 40, n_jobs=jobs)()[1]

    two, one = run(2), run(1)
    for name in ("GIVEN", "BLEU"):
        assert [vars(each) for each in two[name]] == [vars(each) for each in one[name]]


# what is refused or said


def test_what_cannot_be_resampled_is_refused():
    metric = stock(BLEU)
    with pytest.raises(InputError, match="it needs at least 2 documents, but the document ids name 1 document"):
        resample_documents(metric, ["a"] * 59)
    with pytest.raises(InputError, match="line 3: 'a' returns"):
        resample_documents(metric, ["a", "b", "a"])
    short = resample_documents(metric, ["a", "b", "c"])
    with pytest.raises(InputError, match="3 document ids for 59 hypotheses"):
        short.corpus_score(SYSTEMS[0][1], None, n_bootstrap=10)
    with pytest.raises(InputError, match="by the same documents, or none"):
        DocumentPairedTest(SYSTEMS, {"BLEU": stock(BLEU), "CHRF": resample_documents(stock(CHRF), IDS)}, None)


def test_few_documents_are_said(caplog):
    resample_documents(stock(BLEU), [str(i // 2) for i in range(20)])
    assert not caplog.messages
    resample_documents(stock(BLEU), IDS)
    assert "only 7 documents" in caplog.text


@pytest.mark.parametrize("unit, ids", [("document", ["a", "a", "b", "b"]), ("segment", None)])
def test_resamples_without_a_score_give_no_p_value(caplog, unit, ids):
    metric, texts = given([0.2, 0.3 if ids else "-", "-", "-"], ids)
    other = ["0.4", texts[1].replace("0.3", "0.4"), "-", "-"]
    results = DocumentPairedTest([("a", texts), ("b", other)], {"GIVEN": metric}, None, "bs", 50)()[1]["GIVEN"]
    assert [each.score for each in results] == [25 if ids else 20, 40]
    assert all(each.p_value is each.ci is None for each in results)
    assert f"some resamples contain no scored {unit}" in caplog.text


@pytest.mark.parametrize("ids", [None, ["a", "b", "b", "c"]])
def test_few_units_have_exact_p_values(caplog, ids):
    """By hand: a system that wins each of 3 units has as large a difference in 2 of 8 ways to swap, a copy in all ways."""
    better, copy = ["0.9"] * (4 if ids else 3), ["0.5"] * (4 if ids else 3)
    metric, texts = given([0.5] * len(copy), ids)
    systems = [("a", texts), ("b", better), ("copy", copy)]
    signatures, scores = DocumentPairedTest(systems, {"GIVEN": metric}, None, "ar", 8)()
    assert [each.p_value for each in scores["GIVEN"]] == [None, 0.25, 1]
    assert signatures["GIVEN"].info["ar"] == "exact" and "p-value below" not in caplog.text
    signatures, scores = DocumentPairedTest(systems, {"GIVEN": metric}, None, "ar", 7)()
    assert scores["GIVEN"][1].p_value == 1 / 8 and signatures["GIVEN"].info["ar"] == 7  # sacrebleu's


def test_p_values_of_sacrebleus_own_metrics_remain_and_the_smallest_is_said(caplog):
    systems = [(name, lines[:5]) for name, lines in SYSTEMS[:2]]
    references = [REFERENCES[0][:5]]
    ours, theirs = (
        test(systems, {"BLEU": BLEU(references=references)}, None, "ar", 32)()[1]["BLEU"][1].p_value
        for test in (DocumentPairedTest, PairedTest)
    )
    assert ours == theirs and caplog.text.count("BLEU: with 5 segments no p-value below 0.062 is valid") == 1


def test_without_documents_it_is_sacrebleu_test():
    ours, theirs = (
        [vars(each) for each in test(SYSTEMS, {"BLEU": stock(BLEU)}, None, "bs", 30)()[1]["BLEU"]]
        for test in (DocumentPairedTest, PairedTest)
    )
    assert ours == theirs


# statistics that hold what they promise: documents of 4 to 16 segments share a random effect

DOCUMENTS = 50
SIZES = np.random.default_rng(1).integers(4, 17, DOCUMENTS)
DEPENDENT_IDS = [f"d{k}" for k, size in enumerate(SIZES) for _ in range(size)]


def dependent(rng: np.random.Generator) -> np.ndarray:
    """A score for each segment: mean 0.6, and as much variance between documents as inside them."""
    return 0.6 + np.repeat(rng.normal(0, 0.1, DOCUMENTS), SIZES) + rng.normal(0, 0.1, SIZES.sum())


def simulations(monkeypatch, number: int):
    """As many generators; sacrebleu draws other resamples in each, or all would share the luck of one draw."""
    for seed in range(number):
        monkeypatch.setenv("SACREBLEU_SEED", str(seed + 1))
        yield np.random.default_rng(seed)


def coverage(monkeypatch, doc_ids) -> float:
    """How often the 95 % interval that sacrebleu prints holds the true mean."""
    held = 0
    for rng in simulations(monkeypatch, 300):
        metric, texts = given(dependent(rng), doc_ids)
        score = metric.corpus_score(texts, None, n_bootstrap=200)
        held += abs(score._mean - 60) <= score._ci
    return held / 300


@pytest.mark.full
def test_intervals_from_segments_are_too_narrow_and_those_from_documents_hold(monkeypatch):
    assert coverage(monkeypatch, None) < 0.75
    assert 0.9 < coverage(monkeypatch, DEPENDENT_IDS) < 0.985


def rejections(monkeypatch, number: int, kind: str, doc_ids) -> float:
    """How often two systems of equal quality are called different at 0.05."""
    rejected = 0
    for rng in simulations(monkeypatch, number):
        metric, first = given(dependent(rng), doc_ids)
        systems = [("a", first), ("b", given(dependent(rng))[1])]
        results = DocumentPairedTest(systems, {"GIVEN": metric}, None, kind, 200)()[1]["GIVEN"]
        rejected += results[1].p_value < 0.05
    return rejected / number


# sacrebleu's bootstrap p-value is that of one side: of independent segments, too, it rejects some 13 %
@pytest.mark.full
@pytest.mark.parametrize("number, kind, least, most", [(150, "bs", 0.35, 0.2), (150, "ar", 0.3, 0.1)])
def test_equal_systems_are_called_different_by_segments_and_not_by_documents(monkeypatch, number, kind, least, most):
    assert rejections(monkeypatch, number, kind, None) > least
    assert rejections(monkeypatch, number, kind, DEPENDENT_IDS) < most
