import lzma

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.judgements.readers import read_judged
from ctx_metrics.judgements.readers.mqm import read_mqm, weight
from ctx_metrics.judgements.readers.table import read_table

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"


@pytest.fixture
def mqm(tmp_path):
    """A function that reads rows of (system, doc, doc_id, rater, source, target, category, severity)."""

    def read(rows, name="mqm_newstest99_ende.tsv", header=HEADER, **arguments):
        lines = ["\t".join([*row[:3], "1", *row[3:]]) for row in rows]
        (tmp_path / name).write_text("\n".join([header, *lines]) + "\n")
        return read_mqm(str(tmp_path / name), **arguments)

    return read


@pytest.mark.parametrize(
    "severity, category, expected",
    [
        ("Major", "Accuracy/Mistranslation", 5),
        ("major", "Lexical Selection", 5),
        ("Minor", "Accuracy/Omission", 1),
        ("Minor", "Fluency/Punctuation", 0.1),
        ("Neutral", "Fluency/Punctuation", 0),
        ("minor", "Punctuation", 1),  # Unbabel's
        ("Major", "Non-translation!", 25),
        ("major", "non-translation!", 25),
        ("Minor", "Non-translation!", 1),
        ("minor", "fluency/punctuation/Comma", 0.1),
        ("Minor", "Fluency/Punctuation marks", 1),
        ("critical", "Untranslated", 10),
        ("No-error", "No-error", 0),
        ("no-error", "no-error", 0),
    ],
)
def test_official_weights(severity, category, expected):
    assert weight(severity, category) == expected


def test_scores_are_minus_the_mean_over_raters_of_their_sums(mqm):
    # A: rater 1 finds 5 + 0.1, rater 2 finds 1, rater 3 finds nothing: -(5.1 + 1 + 0) / 3 = -6.1 / 3
    judged = mqm(
        [
            ("A", "d", "1", "r1", "s", "<v>Ja</v>, nein.", "Accuracy/Mistranslation", "Major"),
            ("A", "d", "1", "r1", "s", "Ja<v>,</v> nein.", "Fluency/Punctuation", "Minor"),
            ("A", "d", "1", "r2", "s", "Ja, <v>nein</v>.", "Style/Awkward", "Minor"),
            ("A", "d", "1", "r3", "s", "Ja, nein.", "No-error", "No-error"),
            ("B", "d", "1", "r1", "s", "Nein.", "Non-translation!", "Major"),
            ("C", "d", "1", "r1", "s", "Ja.", "No-error", "No-error"),
        ]
    )
    assert (judged.name, judged.source_lang, judged.target_lang) == ("mqm_newstest99_ende", "en", "de")
    np.testing.assert_allclose(judged.segment_scores, [[-6.1 / 3], [-25], [0]], rtol=1e-15)
    assert str(judged.segment_scores[2, 0]) == "0.0"  # not -0.0
    assert judged.hypotheses == [["Ja, nein."], ["Nein."], ["Ja."]]
    assert (judged.sources, judged.doc_ids, list(judged.references)) == (["s"], ["d"], [])


def test_segments_are_in_the_order_of_their_documents(mqm):
    row = ("No-error", "No-error")
    places = [("late", "2"), ("early", "10"), ("late", "1"), ("early", "9")]
    judged = mqm([("A", document, number, "r", f"s{number}", "t", *row) for document, number in places])
    assert judged.doc_ids == ["late", "late", "early", "early"]
    assert judged.sources == ["s1", "s2", "s9", "s10"]


def test_critical_errors_and_the_cap(mqm, caplog):
    critical = ("A", "d", "1", "r1", "s", "t", "Untranslated", "critical")
    major = ("A", "d", "1", "r2", "s", "t", "Lexical Selection", "major")
    assert mqm([critical, critical, major], reference="A").segment_scores[0, 0] == -(20 + 5) / 2
    assert not caplog.messages
    assert mqm([critical] * 3 + [major], reference="A").segment_scores[0, 0] == -(25 + 5) / 2
    assert caplog.messages[0].endswith("has critical errors, so 1 sum of a rater above 25 count as 25")
    assert mqm([major] * 6, reference="A").segment_scores[0, 0] == -30  # without critical errors there is no cap


def test_a_human_translation_as_reference(mqm, caplog):
    rows = [
        (system, "d", number, "r", "s", f"{system}-{number}", "No-error", "No-error")
        for system, numbers in (("hyp.A", "12"), ("ref.C", "123"), ("ref.A", "12"))
        for number in numbers
    ]
    judged = mqm(rows, reference="ref.A")
    assert judged.systems == ["A", "ref.C", "ref.A"]
    assert judged.references == [["ref.A-1", "ref.A-2"]]
    assert caplog.messages == ["mqm_newstest99_ende: left out 1 segment without a reference, of 3"]
    caplog.clear()
    without = mqm(rows)
    assert without.segments == 3 and without.hypotheses[0] == ["hyp.A-1", "hyp.A-2", None]
    assert "read without a reference; name one of its systems with --reference (ref.C, ref.A)" in caplog.messages[0]
    with pytest.raises(InputError, match="no system ref.B that could be the reference; there are A, ref.C, ref.A"):
        mqm(rows, reference="ref.B")


def output(*of_raters):
    """Rows of one output, from each rater's marked texts."""
    return [
        ("A", "d", "1", f"r{number}", "s", text, "Style/Awkward", "no-error" if "<v>" not in text else "Minor")
        for number, texts in enumerate(of_raters)
        for text in texts
    ]


@pytest.mark.parametrize(
    "of_raters, text",
    [
        # overlapping marks: the tool wrote "Human Services" twice, in all rows of a rater
        ((["the Human Services<v>Services here</v>.", "the <v>Human Services</v>Services here."], ["the <v>Human</v> Services here."]),
         "the Human Services here."),
        # a rater who found no error read the text itself, also where it is the longer one
        ((["We <v>left</v>."], ["We all left."]), "We all left."),
        # words that a rater added in one of his rows
        ((["We <v>all</v> left.", "<v>We</v> left.", "We <v>left</v>."],), "We left."),
        # quotes of a comma-separated file
        ((['"Er sagt: <v>""Ja""</v>."', '"Er <v>sagt</v>: ""Ja""."'],), 'Er sagt: "Ja".'),
        ((['"Ja", <v>sagt</v> er. "Gut."'],), '"Ja", sagt er. "Gut."'),
        ((['"<v>Ja.</v>"'],), '"Ja."'),
    ],
)  # fmt: skip
def test_the_text_itself(mqm, of_raters, text):
    assert mqm(output(*of_raters)).hypotheses == [[text]]


def test_columns_at_the_end_may_be_missing_or_too_many(mqm):
    row = ("A", "d", "1", "r", "s", "t", "Style/Awkward", "Minor")
    judged = mqm([row, (*row, "a comment"), (*row, "a", "b")], header=f"{HEADER}\tcomments")
    assert judged.segment_scores[0, 0] == -3


@pytest.mark.parametrize(
    "row, message",
    [
        (("1", "r", "s", "t", "Style", "Terrible"), "severity 'Terrible' is not one of critical, major"),
        (("9" * 5000, "r", "s", "t", "Style", "Minor"), f"doc_id '{'9' * 40}' is not a segment number"),
        (("1", "r", "s", "t", "Style"), "column severity is missing"),
    ],
)
def test_rows_that_cannot_be_used(mqm, row, message):
    with pytest.raises(InputError, match=f"line 2: {message}"):
        mqm([("A", "d", *row)])


def test_tables_that_cannot_be_used(mqm):
    with pytest.raises(InputError, match="line 1: no column severity; the header names system, doc,"):
        mqm([], header=HEADER.removesuffix("\tseverity"))
    with pytest.raises(InputError, match="no rows below the header"):
        mqm([])


CAMPAIGNS = {  # reference, systems, segments with a reference
    "mqm_newstest2020_ende": ("wmt20.news.en-de", "Human-A.0", 10, 1418),
    "mqm_newstest2020_zhen": ("wmt20.news.zh-en", "Human-A.0", 10, 2000),
    "mqm-newstest2021_ende": ("wmt21.news.en-de", "ref.A", 17, 527),
    "mqm-newstest2021_zhen": ("wmt21.news.zh-en", "ref.A", 15, 650),
    "mqm-newstest2021_enru": ("wmt21.news.en-ru", "ref.A", 16, 527),
    "mqm-ted_ende": ("wmt21.ted.en-de", "ref", 14, 529),
    "mqm-ted_zhen": ("wmt21.ted.zh-en", "refB", 15, 529),
    "mqm-ted_enru": ("wmt21.ted.en-ru", "ref.A", 15, 512),
}


@pytest.mark.slow
@pytest.mark.parametrize("raw", CAMPAIGNS)
def test_scores_of_eight_campaigns(shared_data, raw):
    """The prepared tables hold the same scores, computed by someone else, to six decimals."""
    folder = shared_data / "wmt20_21_mqm"
    prepared, reference, systems, segments = CAMPAIGNS[raw]
    (judged,) = read_judged(str(folder / "raw_tsv" / f"{raw}.tsv.xz"), reference=reference)
    assert (len(judged.systems), judged.segments) == (systems, segments)
    assert judged.complete and f"{judged.source_lang}-{judged.target_lang}" == prepared[-5:]
    [table] = read_table(str(folder / f"{prepared}.tsv.xz"))
    order = [table.systems.index(system) for system in judged.systems]
    assert judged.doc_ids == table.doc_ids
    np.testing.assert_allclose(judged.segment_scores, table.segment_scores[order], atol=1e-6)
    # and all outputs' scores, those of segments without a reference too
    lines = lzma.open(folder / f"{prepared}.tsv.xz", "rt", encoding="utf-8", newline="\n").read().split("\n")[1:-1]
    everything = read_mqm(str(folder / "raw_tsv" / f"{raw}.tsv.xz"))
    assert (~np.isnan(everything.segment_scores)).sum() == len(lines)
    total = sum(float(line.split("\t")[6]) for line in lines)
    assert np.nansum(everything.segment_scores) == pytest.approx(total, abs=0.02)
