"""Error spans: F1 over characters by hand, WMT25's tables, and `ctx-metrics meta spans` and `score --spans`."""

import json

import numpy as np
import pytest
from cli_conftest import ctx, error  # noqa: F401  a fixture
from cli_pages import DOCS
from comet_checkpoints import RECIPES, build
from plugin_conftest import DOCIDS, NAME_A, NAME_B, REF, SOURCE, A, B, lines_of
from selection import some

from ctx_metrics import InputError
from ctx_metrics.judgements.measures.spans import Span, f1, precision, recall, span_sums
from ctx_metrics.judgements.readers.spans import read_marked
from ctx_metrics.meta.error_spans import span_check

HEADER = "source_lang target_lang set_id system_id doc_id segment_id hypothesis_segment start_indices end_indices error_types"
# hypothesis, judged and predicted spans; then by hand: credit, judged characters, predicted characters
FIVE = [
    ("The dog sleeps.", "4 7 major", "4 7 major", (3, 3, 3)),
    ("It was rainy.", "0 2 minor", "0 2 critical", (1, 2, 2)),  # the wrong severity: half the credit
    ("We are going home.", "7 13 minor", "9 15 minor", (4, 6, 6)),  # 9 to 12 are right
    ("She reads.", "-1 -1 no-error", "4 6 minor", (0, 0, 2)),
    # "I saw" is major and "saw him" minor; of "I saw him", "I " has the wrong severity, the rest a minor error that is there
    ("I saw him today.", "0,2,missing 5,9,missing major,minor,major", "0 9 minor", (8, 12, 9)),
]
CREDIT, JUDGED, PREDICTED = 16, 23, 22


def cells(words: str) -> list[str]:
    return [cell.replace(",", " ") for cell in words.split(" ")]


def table(path, rows, header=HEADER.split()):
    path.write_text("".join("\t".join(row) + "\n" for row in [header, *rows]), encoding="utf-8")
    return str(path)


def row(k, text, marks, system="A", pair=("en", "de"), set_id="official"):
    return [*pair, set_id, system, "news", str(k), text, *cells(marks)]


@pytest.fixture
def five(tmp_path):
    judged = [row(k, text, own) for k, (text, own, _, _) in enumerate(FIVE, 1)]
    predicted = [row(k, text, own) for k, (text, _, own, _) in enumerate(FIVE, 1)]
    return table(tmp_path / "judged.tsv", judged), table(tmp_path / "predictions.tsv", predicted[::-1])


def test_five_segments_by_hand(five):
    judged, predicted = map(read_marked, five)
    sums = [
        span_sums(len(one.hypothesis), one.spans, other.spans)
        for one, other in zip(judged, predicted[::-1], strict=True)
    ]
    assert [tuple(each) for each in sums] == [by_hand for *_, by_hand in FIVE]
    whole = np.sum(sums, axis=0)
    assert whole.tolist() == [CREDIT, JUDGED, PREDICTED]
    assert precision(whole) == CREDIT / PREDICTED and recall(whole) == CREDIT / JUDGED
    assert f1(whole) == pytest.approx(2 * CREDIT / (JUDGED + PREDICTED))


def test_the_page_shows_them():
    page = (DOCS / "meta.md").read_text(encoding="utf-8").split("## Error spans")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")][1:]

    def words(marks: str) -> str:
        starts, ends, types = (cell.split(",") for cell in marks.split(" "))
        spans = [
            f"{start}-{end} {kind}".replace("missing-missing", "missing")
            for start, end, kind in zip(starts, ends, types, strict=True)
        ]
        return ", ".join(spans).removeprefix("-1--1 no-error")

    assert rows[:-1] == [
        [text, words(judged), words(predicted), *map(str, by_hand)] for text, judged, predicted, by_hand in FIVE
    ]
    assert rows[-1][-3:] == [str(CREDIT), str(JUDGED), str(PREDICTED)]


def test_the_command_prints_them(ctx, five):
    found = json.loads(ctx("meta", "spans", *five, "--names", "ours", "--format", "json").out)
    [of_f1, of_precision, of_recall] = [each["metrics"][0] for each in found["agreements"]]
    assert of_precision["overall"] == pytest.approx(16 / 22) and of_recall["values"] == {
        "en-de": pytest.approx(16 / 23)
    }
    assert of_f1["details"] == {"en-de": {"credit": 16, "gold": 23, "predicted": 22}}
    low, high = of_f1["interval"]
    assert low < of_f1["overall"] == pytest.approx(32 / 45) and high > 32 / 45
    assert ctx("meta", "spans", *five).out.count(" .711 ") == 1


def test_nothing_predicted_and_nothing_judged():
    """As at WMT25: without predictions precision is 1, without judged errors recall is 1."""
    nothing, some_errors = [], [Span(0, 3, "minor")]
    assert f1(span_sums(5, nothing, nothing)) == 1
    assert [float(of(span_sums(5, some_errors, nothing))) for of in (precision, recall, f1)] == [1, 0, 0]
    assert [float(of(span_sums(5, nothing, some_errors))) for of in (precision, recall, f1)] == [0, 1, 0]


@pytest.mark.parametrize("uncounted", [Span(None, None, "major"), Span(1, 4, "undecided")])
def test_missing_and_undecided_errors_do_not_count(uncounted):
    assert span_sums(9, [uncounted, Span(0, 2, "major")], [uncounted]).tolist() == [0, 2, 0]


def test_spans_beyond_the_hypothesis_are_cut(five, tmp_path, ctx):
    judged, _ = five
    rows = [row(k, text, own) for k, (text, own, _, _) in enumerate(FIVE, 1)]
    rows[3] = row(4, "She reads.", "4 99 minor")
    done = ctx("meta", "spans", judged, table(tmp_path / "long.tsv", rows), "--format", "json")
    assert "1 row has a span that reaches beyond the hypothesis; spans are cut at its end" in done.err
    details = json.loads(done.out)["agreements"][0]["metrics"][0]["details"]["en-de"]
    assert details == {"credit": 23, "gold": 23, "predicted": 23 + len("She reads.") - 4}


def test_language_pairs_are_averaged_and_only_the_official_set_counts(tmp_path, caplog):
    judged = [
        row(1, "One dog.", "0 3 major"),
        row(1, "Ein Hund.", "0 4 minor", pair=("en", "is")),
        row(1, "No.", "0 2 minor", set_id="challenge"),
    ]
    right = [row(1, "One dog.", "0 3 major"), row(1, "Ein Hund.", "0 4 major", pair=("en", "is"))]
    gold = table(tmp_path / "gold.tsv", judged)
    paths = {"both": table(tmp_path / "a.tsv", [*right, judged[2]]), "half": table(tmp_path / "b.tsv", right[:1])}
    first = span_check(gold, paths).agreements[0]
    assert (first.metrics, first.sets, first.sizes) == (["both", "half"], ["en-de", "en-is"], [1, 1])
    assert first.values.tolist()[0] == [1, 0.5] and first.overall[0] == 0.75
    assert first.values[1, 0] == 1 and np.isnan(first.overall[1]) and first.ranks == [1, 0]
    said = "\n".join(caplog.messages)
    assert "left out 1 row of other sets than official" in said and "half: no rows of en-is" in said
    assert "a.tsv: left out 1 row without a judgement that counts" in said


def test_the_better_predictions_rank_first(tmp_path):
    """One finds all errors, one finds the first half of each."""
    texts = [(k, "word " * 5, f"{k % 5} {k % 5 + 6} major") for k in range(40)]
    gold = table(tmp_path / "gold.tsv", [row(*each) for each in texts])
    half = table(tmp_path / "half.tsv", [row(k, text, f"{k % 5} {k % 5 + 3} major") for k, text, _ in texts])
    first = span_check(gold, {"half": half, "all": gold}).agreements[0]
    assert (first.metrics, first.ranks) == (["all", "half"], [1, 2])
    assert first.overall.tolist() == [1, pytest.approx(2 / 3)] and first.p_values["all", "half"] < 0.01


def test_texts_with_quotes_tabs_and_line_ends(tmp_path):
    """As pandas reads and writes them."""
    pandas = pytest.importorskip("pandas")
    texts = ['"Yes," she said.', "a\tb", "one\ntwo", "It's 5\" long"]
    frame = pandas.DataFrame([row(k, text, "0 2 minor") for k, text in enumerate(texts)], columns=HEADER.split())
    frame.to_csv(tmp_path / "spans.tsv", sep="\t", index=False)
    assert [each.hypothesis for each in read_marked(str(tmp_path / "spans.tsv"), texts=True)] == texts


WRONG = {"-1 to 2 are not positions of characters": "-1 2 minor", "0 starts, 0 ends and 0 types": "  "}


@pytest.mark.parametrize("said", WRONG)
def test_wrong_cells_name_their_line(tmp_path, said):
    path = table(tmp_path / "spans.tsv", [row(1, "Yes.", "0 2 minor"), row(2, "No.", WRONG[said])])
    with pytest.raises(InputError) as raised:
        read_marked(path)
    assert str(raised.value).startswith(f"{path}, line 3: ") and said in str(raised.value)


def test_rows_that_lack_or_come_twice(five, tmp_path, ctx):
    judged, _ = five
    rows = [row(k, text, own) for k, (text, _, own, _) in enumerate(FIVE, 1)]
    fewer, twice = table(tmp_path / "fewer.tsv", rows[1:]), table(tmp_path / "twice.tsv", [*rows, rows[0]])
    assert error(ctx("meta", "spans", judged, fewer)).endswith(f"the first is {judged}, line 2")
    assert "twice.tsv, line 7: a second row of source_lang en," in error(ctx("meta", "spans", judged, twice))


@pytest.fixture(scope="module")
def xcomet(tmp_path_factory):
    return str(build(RECIPES["xcomet"], tmp_path_factory.mktemp("models") / "xcomet"))


@pytest.mark.full
def test_the_spans_of_a_model_are_written_and_read(ctx, xcomet, tmp_path):
    given = ["-t", A, B, "-s", SOURCE, "-r", REF, "-l", "de-en", "--docids", DOCIDS, "--model", xcomet]
    path = tmp_path / "predictions.tsv"
    done = ctx("score", *given, "-m", "chrf", "comet", "--format", "jsonl", "--level", "segment", "--spans", path)
    shown = [each for each in done.objects() if each["metric"] == "comet"]
    rows = read_marked(str(path), texts=True)
    assert [each.hypothesis for each in rows] == [*lines_of(A), *lines_of(B)]
    for own, found in zip(rows, shown, strict=True):
        assert [tuple(each) for each in own.spans] == [
            (each["start"], each["end"], each["severity"]) for each in found["error_spans"]
        ]
        assert (own.key["system_id"], int(own.key["segment_id"])) == (found["system"], found["segment"])
        assert own.key["doc_id"] == found["document"] and own.key["set_id"] == "official"
    assert {own.key["system_id"] for own in rows} == {NAME_A, NAME_B} and sum(len(own.spans) for own in rows) > 100
    assert " 1.000 " in ctx("meta", "spans", path, path).out


@pytest.mark.parametrize("metric", some([["chrf"], ["comet"]], [["chrf"]]), ids=" ".join)
def test_a_metric_that_marks_nothing(ctx, tmp_path, metric):
    """The scores are printed all the same."""
    done = ctx("score", "-t", A, "-r", REF, "-l", "de-en", "-m", *metric, "--spans", tmp_path / "spans.tsv")
    assert done.code == 1 and done.out.startswith("╒") and not (tmp_path / "spans.tsv").exists()
    assert "ctx-metrics: error: --spans: " in done.err and " marks no error spans; use comet with" in done.err
