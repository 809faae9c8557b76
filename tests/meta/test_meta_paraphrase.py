"""`ctx-metrics meta paraphrase`: sentence pairs are read as they stand, and AUC and correlations are worked by hand."""

import gzip
import logging
import lzma

import numpy as np
import pytest
from cli_conftest import ctx, error  # noqa: F401  a fixture
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Score
from scipy.stats import mannwhitneyu

from ctx_metrics import BERTR, SLIDE, InputError
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.judgements.readers.sentence_pairs import PairSet, read_pair_sets, read_pairs
from ctx_metrics.meta.evaluation import Significance
from ctx_metrics.meta.paraphrase import auc, paraphrase_check
from ctx_metrics.meta.scoring import MetricSettings
from ctx_metrics.roundtrip.inputs import ROUND_TRIPS
from ctx_metrics.scoring.context import Capabilities

PAWS = 'id\tsentence1\tsentence2\tlabel\n1\tDogs bite men .\tMen bite dogs .\t0\n2\tHe ran .\t"He" ran .\t1\n'
MRPC = (
    "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    '1\t11\t12\t"We won," he said.\tHe said: "We won".\r\n0\t13\t14\tIt rains.\tShe "left.\r\n'
)
STS = (
    "main\tMSRvid\t2012test\t0001\t0.000\tA man runs.\tA man is running.\n"
    'main\tnews\t2016\t0002\t0.8\t"Then he left.\tIt rains.\thttp://one\thttp://other\n'
)
PLAIN = "score\tsentence2\tnote\tsentence1\n2.5\tb\tx\ta\n-1\td\t\tc\n"
QUICK = ["--resamples", "20", "-q"]


class Written(CHRF):
    """A metric whose score is the number that is the hypothesis, less ten times the reference's; NaN for "none"."""

    def _extract_corpus_statistics(self, hypotheses, references):
        [stream] = self._written
        return [
            [0.0, 0] if one == "none" else [float(one) - 10 * float(other), 1] for one, other in zip(hypotheses, stream)
        ]

    def _aggregate_and_compute(self, rows):
        total, scored = np.sum(rows, axis=0)
        return Score("written", total / scored if scored else np.nan)

    def __init__(self, references):
        super().__init__(references=references)
        self._written = references


class OfSources(CHRF):
    def __init__(self, references=None, sources=None, wrong=False):
        super().__init__(references=references)
        if sources is None:
            raise InputError("ofsources: needs the sources: give --source FILE")
        if wrong:
            raise InputError("ofsources: cannot be made at all")


class OfRoundTrips(CHRF):
    capabilities = Capabilities(reads=frozenset({"sources"}), inputs=(ROUND_TRIPS,))

    def __init__(self, references=None, sources=None, roundtrips=None, backtranslator=None):
        raise AssertionError("it is not made, since that may load a model")


def written(labels, scores, name="toy", others=None, graded=False) -> PairSet:
    hypotheses = ["none" if np.isnan(score) else repr(float(score)) for score in scores]
    others = ["0"] * len(labels) if others is None else [repr(float(other)) for other in others]
    labels = np.array([labels], float)
    return PairSet(name, ["sentence1"], len(hypotheses), [hypotheses], [others], segment_scores=labels, graded=graded)


def check(*sets, cls=Written, resamples=20, **options):
    significance = Significance("bootstrap", resamples=resamples, intervals=True)
    return paraphrase_check(sets, [MetricSettings("written", cls)], significance=significance, **options)


def values(report) -> dict[str, list[float]]:
    return {each.protocol: each.values[0].tolist() for each in report.agreements}


def write(path, text: str):
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with opened(path, "wb") as file:
        file.write(text.encode())
    return path


@pytest.mark.parametrize(
    "text, one, other, labels, graded",
    [
        (PAWS, ["Dogs bite men .", "He ran ."], ["Men bite dogs .", '"He" ran .'], [0, 1], False),
        (MRPC, ['"We won," he said.', "It rains."], ['He said: "We won".', 'She "left.'], [1, 0], False),
        (
            "\ufeff" + STS.rstrip("\n"),
            ["A man runs.", '"Then he left.'],
            ["A man is running.", "It rains."],
            [0, 0.8],
            True,
        ),
        (PLAIN, ["a", "c"], ["b", "d"], [2.5, -1], True),
    ],
    ids=["paws", "mrpc", "sts", "plain"],
)
def test_layouts(tmp_path, text, one, other, labels, graded):
    pairs = read_pairs(str(write(tmp_path / "some.pairs.txt.gz", text)))
    assert (pairs.hypotheses, pairs.references) == ([one], [[*other]])
    assert pairs.segment_scores.tolist() == [labels] and pairs.segment_scores.dtype == np.float64
    assert (pairs.name, pairs.graded, pairs.segments, pairs.systems) == ("some.pairs", graded, 2, ["sentence1"])


def test_byte_literals(tmp_path, caplog):
    """As bytes are written under Python 3: é is c3 a9 in UTF-8, and text with an apostrophe is in double quotes."""
    rows = [r"b'caf\xc3\xa9 ?'", 'b"it \'s"', r"b'a\\b'", r"b'say \'so\' \"'"]
    text = f"id\tsentence1\tsentence2\tlabel\n1\t{rows[0]}\t{rows[1]}\t0\n2\t{rows[2]}\t{rows[3]}\t1\n"
    path = write(tmp_path / "paws.tsv", text)
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        pairs = read_pairs(str(path))
    assert pairs.hypotheses + pairs.references == [["café ?", "a\\b"], ["it 's", "say 'so' \""]]
    assert caplog.messages == [f"{path}: its sentences are byte literals of Python (b'...'), which were decoded"]
    plain = read_pairs(str(write(tmp_path / "mixed.tsv", text.replace('b"it \'s"', "it 's"))))
    assert plain.hypotheses == [[rows[0], rows[2]]] and len(caplog.messages) == 1
    for wrong in (r"b'\xff'", "b'é'", "b'a'b'", r"b'\'"):
        path = write(tmp_path / "wrong.tsv", text.replace(rows[2], wrong))
        with pytest.raises(
            InputError, match=r"wrong\.tsv, line 3: not a byte literal of UTF-8 text: .*; write the sentence"
        ):
            read_pairs(str(path))


HEADER = "sentence1\tsentence2\tlabel\n"
SCORES = HEADER.replace("label", "score")


@pytest.mark.parametrize(
    "text, said",
    [
        ("\n" + PAWS, ": the file is empty"),
        ("sentence1,sentence2,label\na,b,1\n", ": its columns are separated by commas"),
        ("a,b,c,d,5.0,e,f\n", ": its first line (a, b, c, d, 5.0, e, f) has no known layout"),
        ("a\tb\tc\td\tx\te\tf\n", ": its first line (a, b, c, d, x, e, f) has no known layout"),
        ("label\t" + SCORES, ", line 1: the header must name one of label"),
        (HEADER, ": the file has no sentence pairs"),
        (HEADER + "a\tb\t1\nc\td\t-.5e1\n", ", line 3: label '-.5e1' is neither 0 nor 1; write 0 or 1, or name"),
        (MRPC.replace("\n0\t", "\n-1\t"), ", line 3: Quality '-1' is neither 0 nor 1; write 0 or 1$"),
        (SCORES + "a\tb\t2.5\nc\td\t2.50\n", ": every pair has the label 2.5, and a correlation"),
        (SCORES + "a\tb\t1\nc\td\tNone\n", ", line 3: the pair has no score"),
        (STS + "main\tMSRvid\t2012test\t3\t1.0\ta\n", ", line 3: 6 columns"),
    ],
)
def test_what_cannot_be_read(tmp_path, text, said):
    path = str(write(tmp_path / "pairs.tsv", text))
    with pytest.raises(InputError) as caught:
        read_pairs(path)
    assert f"{caught.value}$".startswith(f"{path}{said}")


def test_labels_as_pandas_writes_them(tmp_path):
    text = HEADER + "a\tb\t1.0\nc\td\t0.0\ne\tf\t 1 \ng\th\t0.00\n"
    assert read_pairs(str(write(tmp_path / "pairs.tsv", text))).segment_scores.tolist() == [[1, 0, 1, 0]]


def test_empty_sentences_are_counted_once(ctx, tmp_path):
    text = HEADER + "a\tb\t1\nc\t\t0\n \td\t1\n\t\t0\ne\tf\t0\n"
    path = write(tmp_path / "pairs.tsv", text)
    done = ctx("meta", "paraphrase", path, "-m", "chrf", "ter", "--both-directions", *QUICK)
    said = f"ctx-metrics: {path}: 3 pairs have an empty sentence (segments 2, 3, 4); kept as they are\n"
    assert (done.code, done.err) == (0, said)
    path = write(tmp_path / "grades.tsv", SCORES + "\tb\t1\nc\td\t2\ne\tf\t3\n")
    done = ctx("meta", "paraphrase", path, "-m", "chrf", *QUICK)
    assert done.err == f"ctx-metrics: {path}: 1 pair has an empty sentence (segment 1); kept as they are\n"


def test_one_label_passes_where_it_may(tmp_path):
    path = str(write(tmp_path / "pairs.tsv", HEADER + "a\tb\t1\nc\td\t1\n"))
    assert read_pairs(path, alike=True).segment_scores.tolist() == [[1, 1]]


def test_names_of_sets(tmp_path):
    for folder in ("wiki", "qqp"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "dev.tsv", PAWS)
    write(tmp_path / "other.tsv.gz", PAWS)
    paths = [tmp_path / "wiki" / "dev.tsv", tmp_path / "other.tsv.gz", tmp_path / "qqp" / "dev.tsv"]
    sets = read_pair_sets(paths, "de")
    assert [each.name for each in sets] == ["wiki/dev", "other", "qqp/dev"] and {each.target_lang for each in sets} == {
        "de"
    }
    assert [each.name for each in read_pair_sets(paths[:2])] == ["dev", "other"]
    with pytest.raises(InputError, match="two sets are named qqp/dev; leave one out, or rename a file or its folder"):
        read_pair_sets([*paths, paths[-1]])


def test_auc_by_hand():
    # pairs of a paraphrase and none: 3 > 2, 3 > 1, 3 > 0; 1 < 2, 1 = 1, 1 > 0: (3 + .5 + 1) / 6
    labels, scores = np.array([1, 0, 0, 1, 0]), np.array([3.0, 2, 1, 1, 0])
    assert auc(labels, scores) == 4.5 / 6
    assert auc(labels, -scores) == 1.5 / 6
    assert auc(labels, 0 * scores) == 0.5
    # without the 2: 3 > 1, 3 > 0, 1 = 1, 1 > 0
    assert auc(labels, np.array([3.0, np.nan, 1, 1, 0])) == 3.5 / 4
    assert np.isnan(auc(labels, np.array([np.nan, 2, 1, np.nan, 0]))) and np.isnan(auc(labels[:1], scores[:1]))


def test_auc_against_scipy():
    random = np.random.default_rng(0)
    labels, scores = random.integers(2, size=60), random.integers(12, size=60).astype(float)  # many ties
    one, none = scores[labels == 1], scores[labels == 0]
    u = mannwhitneyu(one, none, method="asymptotic").statistic
    assert auc(labels, scores) == pytest.approx(u / (len(one) * len(none)), abs=1e-12)


def test_the_check_by_hand():
    """The graded scores' ranks are 1 to 4 and the metric's 1, 2.5, 2.5, 4: rho = 4.5 / sqrt(5 * 4.5), as
    deviations are (-1.5, -.5, .5, 1.5) and (-1.5, 0, 0, 1.5). Pearson: grades' deviations (-2, -1, 0, 3), the metric's
    (-3, -2, -2, 7): (6 + 2 + 0 + 21) / sqrt(14 * 66)."""
    report = check(
        written([1, 0, 0, 1, 0], [3, 2, 1, 1, 0], "labels"),
        written([1, 1, 0, 0], [0.9, 0.5, 0.5, 0.1], "others"),
        written([0, 1, 2, 5], [1, 2, 2, 11], "grades", graded=True),
    )
    assert values(report) == {
        "auc": pytest.approx([0.75, 0.875]),
        "spearman": pytest.approx([4.5 / np.sqrt(5 * 4.5)]),
        "pearson": pytest.approx([29 / np.sqrt(14 * 66)]),
    }
    of_auc, of_spearman, _ = report.agreements
    assert of_auc.overall.tolist() == pytest.approx([0.8125])
    assert (of_auc.sets, of_auc.sizes, of_spearman.sets) == (["labels", "others"], [5, 4], ["grades"])
    assert {each.unit for each in report.agreements} == {"sentence pairs"}
    assert of_auc.details["written"] == {"labels": {"paraphrases": 2}, "others": {"paraphrases": 2}}
    assert report.sets == {
        "labels": {"sentence pairs": 5, "labels": "0 or 1"},
        "others": {"sentence pairs": 4, "labels": "0 or 1"},
        "grades": {"sentence pairs": 4, "labels": "graded"},
    }


def test_grades_of_0_and_1_are_grades():
    assert set(values(check(written([0, 1, 1], [1, 2, 3], graded=True)))) == {"spearman", "pearson"}


def test_less_is_better_in_ter():
    texts = ["A man runs.", "It rains."], ["A man is running.", "We went home early."]
    toy = PairSet("toy", ["sentence1"], 2, [texts[0]], [texts[1]], segment_scores=np.array([[1.0, 0.0]]))
    assert {values(check(toy, cls=cls))["auc"][0] for cls in (TER, CHRF, BLEU)} == {1.0}


def test_both_directions():
    """One way round the scores are (1 - 20, 2 - 10, 3 - 50): the paraphrase, the second pair, is above both others. The
    other way (2 - 10, 1 - 20, 5 - 30): above one. Means (-13.5, -13.5, -36): above one, and a tie."""
    pairs = written([0, 1, 0], [1, 2, 3], others=[2, 1, 5])
    assert values(check(pairs)) == {"auc": [1]}
    assert values(check(pairs.swapped())) == {"auc": [0.5]}
    assert values(check(pairs, both_directions=True)) == {"auc": [0.75]}
    settings = [check(pairs, both_directions=both).settings["both_directions"] for both in (True, False)]
    assert settings == [True, False]


def test_pairs_without_a_score_stay_out(caplog):
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        report = check(written([1, 0, 0, 1, 0], [3, np.nan, 1, 1, 0], "labels"), engine=EngineOptions(quiet=True))
    assert values(report) == {"auc": [3.5 / 4]} and report.agreements[0].sizes == [4]
    assert caplog.messages == ["written: 1 output has no score on labels"]


def test_intervals_draw_pairs():
    random = np.random.default_rng(3)
    labels, scores = np.array([0, 1] * 15), random.normal(size=30) + np.array([0, 0.5] * 15)
    [of_auc] = check(written(labels, scores), resamples=200).agreements
    drawn = np.random.default_rng([0, 0]).integers(30, size=(200, 30))
    replicates = [
        np.mean([(a > b) for a in scores[r][labels[r] == 1] for b in scores[r][labels[r] == 0]]) for r in drawn
    ]
    assert of_auc.intervals[0].tolist() == pytest.approx(np.quantile(replicates, [0.025, 0.975]).tolist())
    [of_auc] = check(written([0, 1] * 15, [0, 1] * 15)).agreements
    assert (of_auc.intervals[0].tolist(), of_auc.ranks, of_auc.test) == ([1, 1], [1], "paired bootstrap")
    for each in check(written(range(30), range(30), graded=True)).agreements:
        assert each.intervals[0].tolist() == pytest.approx([1, 1]) and each.test == "paired bootstrap"


def test_what_sentence_pairs_lack(caplog):
    pairs = written([1, 0], [1, 0])
    named = [MetricSettings(cls.__name__.lower(), cls) for cls in (CHRF, SLIDE, OfSources, OfRoundTrips, BERTR)]
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        report = paraphrase_check([pairs], named, significance=Significance("none"))
    assert sorted(report.agreements[0].metrics) == ["bertr", "chrf"]
    left_out = [message for message in caplog.messages if "left out" in message]
    assert left_out == [
        "slide: left out, sentence pairs have no document ids",
        "ofsources: left out, sentence pairs have no sources",
        "ofroundtrips: left out, sentence pairs have no round trips",
    ]
    with pytest.raises(InputError, match="no metrics are left; slide: left out, sentence pairs have no document ids"):
        paraphrase_check([pairs], named[1:2])
    with pytest.raises(InputError, match="ofsources: cannot be made at all"):
        paraphrase_check([pairs], [*named[:2], MetricSettings("ofsources", OfSources, {"wrong": True})])


@pytest.fixture
def files(tmp_path) -> list:
    """Twelve pairs with labels, and twelve with grades."""
    words = "one two three four five six seven eight nine ten eleven twelve".split()
    labels = [(f"{word} {word} {i}", f"{word} {i % 5}", i % 2) for i, word in enumerate(words)]
    grades = [(f"{word} is here", "we " + " ".join(words[: i % 4]), i % 3) for i, word in enumerate(words)]
    rows = [["\t".join(map(str, row)) for row in of_file] for of_file in (labels, grades)]
    return [
        write(tmp_path / "labels.tsv", HEADER + "\n".join(rows[0]) + "\n"),
        write(tmp_path / "grades.tsv", SCORES + "\n".join(rows[1]) + "\n"),
    ]


def test_the_command(ctx, files):
    words = ["--seed", "3", "--alpha", "0.2", *QUICK]
    done = ctx("meta", "paraphrase", *files, "-m", "chrf", "ter", "chrf", "--ter-no-punct", *words)
    assert (done.code, done.err) == (0, "")
    for text in (
        "Area under the ROC curve, paraphrases against other pairs (auc): 12 sentence pairs in labels",
        "Spearman's rho with people's grades of similarity (spearman): 12 sentence pairs in grades",
        "Pearson's r with people's grades of similarity (pearson): 12 sentence pairs in grades",
        "95 % interval",
        "alpha 0.2, resamples 20, seed 3",
        " - ter  nrefs:1|case:lc|tok:tercom|norm:no|punct:no",
    ):
        assert text in done.out, text
    assert "both directions" not in done.out
    assert "both directions" in ctx("meta", "paraphrase", *files, "-m", "chrf", "--both-directions", *QUICK).out
    assert "reads Yakut" in error(ctx("meta", "paraphrase", files[0], "-m", "bertr", "-l", "sah"))


def test_a_file_of_that_name_is_judged_data(ctx, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "paraphrase", "mt\tref\tsystem\tscore\na b\ta c\tA\t1\na c\ta c\tA\t2\nx\ta d\tA\t0\n")
    done = ctx("meta", "./paraphrase", "-m", "chrf", "--test", "none", "--format", "tsv", "-q")
    assert done.code == 0 and {row["protocol"] for row in done.rows()} == {"seg-pearson"}


@pytest.mark.slow
def test_real_pairs(shared_data):
    """chrF with sacrebleu 2.6.0's defaults; counts are the data sets' own."""
    names = ("paws_qqp/dev_and_test.tsv.xz", "paraphrase/msr_paraphrase_test.txt.xz", "paraphrase/sts-test.csv.xz")
    sets = read_pair_sets([shared_data / name for name in names])
    assert [(each.segments, each.graded) for each in sets] == [(677, False), (1725, False), (1379, True)]
    assert [int(each.segment_scores.sum()) for each in sets[:2]] == [191, 1147]
    report = paraphrase_check(sets, [MetricSettings("chrf", CHRF)], significance=Significance("none"))
    assert values(report) == {
        "auc": pytest.approx([0.617, 0.736], abs=0.001),
        "spearman": pytest.approx([0.598], abs=0.001),
        "pearson": pytest.approx([0.604], abs=0.001),
    }
