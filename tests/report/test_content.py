"""What a report's page and its exports hold."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from comet_checkpoints import RECIPES
from comet_checkpoints import build as build_checkpoint
from comet_texts import ORDINARY
from report_pages import data_in
from sacrebleu.metrics import BLEU, CHRF, TER
from selection import some

from ctx_metrics import BERTR, COMET, SLIDE, InputError
from ctx_metrics.cli.common import system_tables
from ctx_metrics.cli.common.comparisons import SystemComparisons
from ctx_metrics.report import content as report_content
from ctx_metrics.report import exports
from ctx_metrics.report.charts import charts, classes
from ctx_metrics.report.columns import missing_words
from ctx_metrics.report.content import Content, as_data, check_size
from ctx_metrics.report.page import page, title_of
from ctx_metrics.report.verdict import p_value
from ctx_metrics.scoring.comparison import Column
from ctx_metrics.scoring.context import Context, build
from ctx_metrics.scoring.scores import scores
from ctx_metrics.scoring.testing import USUAL

TEXTS = {
    "source": ["Der Hund schläft.", "Es regnet.", "Wir gehen.", "Sie liest."],
    "ref": ["The dog is asleep.", "It is raining today.", "We are going home.", "She reads a book."],
    "a": ["The dog sleeps.", "</script><b>bold</b>", "We go home.", "She reads a book."],
    "b": ["A cat runs.", "It rains.", "We are going home.", ""],
}
SOURCES, OUTPUTS, REFERENCES = map(list, zip(*ORDINARY))
IDS = ["one", "one", "two", "two"]
WON = "How often does a system have the better segment?"


def made(metrics=None, names=("a", "b"), **changes) -> Content:
    """A run's content, by BLEU and TER unless other metrics are given."""
    context = Context(
        **{
            "references": [TEXTS["ref"]],
            "sources": TEXTS["source"],
            "systems": [TEXTS[name] for name in names],
            "doc_ids": IDS,
            "source_lang": "de",
            "target_lang": "en",
            "inputs": {"explain": True},
            "names": names,
            **changes,
        }
    )
    metrics = {name: build(metric, context) for name, metric in (metrics or {"bleu": BLEU, "ter": TER}).items()}
    design = USUAL.design(context.systems, context.doc_ids)
    columns = [
        Column.of(name, metric, [scores(metric, system, context.doc_ids) for system in context.systems], design)
        for name, metric in metrics.items()
    ]
    return Content(context, design, columns, ["something was cut"])


@pytest.fixture(scope="module")
def content() -> Content:
    return made()


@pytest.fixture(scope="module")
def html(content) -> str:
    return page([content], "a <title>")


@pytest.mark.full
def test_the_page_holds_all_texts_and_scores(content, html):
    data = data_in(html)
    assert data["outputs"] == [TEXTS["a"], TEXTS["b"]] and data["references"] == [TEXTS["ref"]]
    assert data["source"] == TEXTS["source"] and data["systems"] == ["a", "b"]
    assert data["documents"] == [{"id": "one", "start": 0, "end": 2}, {"id": "two", "start": 2, "end": 4}]
    assert data["metrics"].pop()["title"] == "missing words, % ↓"
    for each, own in zip(data["metrics"], content.columns, strict=True):
        assert each["title"] == own.heading and each["sign"] == own.sign
        assert each["segments"] == [of_system.segments for of_system in own.scores]
        assert each["documents"] == [of_system.documents for of_system in own.scores]
        assert each["system"] == [of_system.system for of_system in own.scores]
        assert p_value(own.comparison.adjusted[0, 1]) in html
    assert "<title>a &lt;title&gt;</title>" in html and "something was cut" in html
    assert all(own.signature in html for own in content.columns)


class Tags(HTMLParser):
    """The tags of a page as a browser reads them: what a script holds is none."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_nothing_is_fetched_and_no_text_closes_a_script(html):
    tags = Tags(html).found
    assert [tag for tag, _ in tags].count("script") == len(re.findall("</script>", html)) == 3
    assert not [tag for tag in tags if tag[0] in ("img", "link", "iframe", "object") or "src" in tag[1]]
    assert all(attributes["href"].startswith("#") for tag, attributes in tags if "href" in attributes)
    assert "b" not in [tag for tag, _ in tags]  # texts are packed, and set as text by the page's script


@pytest.mark.full
def test_titles():
    assert title_of(made()) == "a and b, de → en"
    assert title_of(made(names=["a", "b"] * 2, source_lang=None)) == "4 systems, en"
    assert title_of(made(names=["a"], source_lang=None, target_lang=None)) == "a"


@pytest.mark.full
@pytest.mark.parametrize("method", ["wmt24", "wmt25"])
def test_autorank_is_that_of_compare(method):
    """The page has the column and the order of the table of systems."""
    content = made({"bleu": BLEU, "ter": TER, "chrf": CHRF}, names=("b", "a", "ref"))
    rows = json.loads(system_tables.render(content.compared, "json", None, method))
    html = page([replace(content, autorank=method)], "t")
    found = re.findall(
        r'<tr><th scope="row">(\w+)</th><td(?: class="best")?><span class="score">([\d.]+)</span></td>', html
    )
    assert found == [(row["system"], f"{row[f'autorank_{method}']:.1f}") for row in rows]
    assert f"AutoRank ({method.upper()}): " in html and "AutoRank" not in page([content], "t")


@pytest.mark.full
@pytest.mark.parametrize("count", some([1, 2, 12], [1, 2]))
def test_any_number_of_systems_draws_charts(count):
    content = made(names=["a", "b"] * (count // 2) or ["a"])
    drawn = charts(content)
    assert len(drawn) == (4 if count == 1 else 6)
    assert all(len(row) == len(chart.header) for chart in drawn for row in chart.rows)
    assert all(chart.caption.endswith("?") and chart.spec["width"] == "container" for chart in drawn)
    json.dumps([chart.spec for chart in drawn], allow_nan=False)


def test_one_metric_without_documents():
    content = made({"chrf": CHRF}, names=("a",), doc_ids=None)
    captions = ["How many segments have low scores?", "Do long segments have lower scores?"]
    assert [chart.caption for chart in charts(content)] == captions
    assert as_data(content)["metrics"][0]["documents"] is None


def test_the_numbers_of_charts(content):
    """Of the four references 4, 4, 4 and 4 words are counted, of the sources 3, 2, 2 and 2."""
    names, of_segments = classes(content)
    assert names[0] == "1-5" and of_segments.tolist() == [0, 0, 0, 0]
    drawn = charts(content)
    by_caption = {chart.caption: chart.rows for chart in drawn}
    bleu = np.array([each.segments for each in content.columns[0].scores])
    best, worse, *_ = by_caption["Do long segments have lower scores?"]  # in the order of ranks
    assert best[1] == "b" and worse[:3] == ["BLEU", "a", pytest.approx(bleu[0].mean())]
    wins = 100 * float(np.mean((bleu[0] > bleu[1]) + (bleu[0] == bleu[1]) / 2))
    won = by_caption[WON]
    assert np.isnan(won[0][2]) and won[0][3] == pytest.approx(wins)
    ter = np.array([each.segments for each in content.columns[1].scores])  # the smaller one is the better one
    wins = 100 * float(np.mean((ter[0] < ter[1]) + (ter[0] == ter[1]) / 2))
    assert won[2][3] == pytest.approx(wins)
    spec = next(chart.spec for chart in drawn if chart.caption == WON)
    shares = [each["share"] for each in spec["datasets"][spec["data"]["name"]]]  # better, equal and worse of each pair
    assert [sum(shares[k : k + 3]) for k in range(0, len(shares), 3)] == pytest.approx([1] * 4)
    perfect = {chart.caption: chart.rows for chart in charts(made(names=("ref", "b")))}
    won = perfect[WON]
    assert won[0][3] > 50 and won[2][3] > 50, "the references win by BLEU, and by TER"
    r = np.corrcoef(bleu.ravel(), ter.ravel())[0, 1]
    assert by_caption["Do two metrics agree on segments?"][0] == ["BLEU", pytest.approx(1), pytest.approx(r)]


def test_windows_of_slide():
    [windows] = as_data(made({"bertr": BERTR, "slide": SLIDE}))["windows"]
    assert windows["metric"] == 1 and [row[:2] for row in windows["rows"][0]] == [[0, 2], [2, 4]]


def test_matches_are_those_of_the_worst_segments_where_there_are_too_many(monkeypatch, caplog):
    whole = as_data(made({"bertr": BERTR}))["matches"][0]
    assert sorted(whole["segments"]) == [0, 1, 2, 3]
    tokens = sum(len(pair[3]) for pair in whole["pairs"][0] + whole["pairs"][1] if pair)
    monkeypatch.setattr(report_content, "MATCHED", tokens - 1)
    some = as_data(made({"bertr": BERTR}))["matches"][0]
    assert some["segments"] == whole["segments"][:3]
    assert caplog.messages[-1:] == ["BERTR: matches of tokens are shown for the 3 segments with the lowest scores"]


def test_a_page_is_not_made_of_too_many_outputs():
    check_size([["a"] * 25_000, ["b"] * 25_000])
    with pytest.raises(InputError, match="2 x 25,001 outputs, but a report's page holds at most 50,000"):
        check_size([["a"] * 25_001, ["b"] * 25_001])


# missing words


def test_missing_words_by_hand():
    """Of "the cat and the dog ." the output "the dog ran ." lacks cat, and, the: 3 of 6; an empty one lacks all."""
    references = ["The cat and the dog.", "It rains.", ""]
    context = Context(
        references=[references], systems=[["The dog ran.", "It rains.", "x"], ["", "it", ""]], doc_ids=["a", "a", "b"]
    )
    column = missing_words(context, USUAL.design(context.systems, context.doc_ids))
    assert [each.system for each in column.scores] == [pytest.approx(100 * 3 / 9), pytest.approx(100 * 8 / 9)]
    np.testing.assert_allclose(column.scores[0].segments, [50, 0, np.nan])
    np.testing.assert_allclose(column.scores[1].documents, [100 * 8 / 9, np.nan])
    assert column.sign == -1 and column.best == 0


@pytest.mark.parametrize("language, share", [("zh", 50), ("en", 100)])
def test_words_of_languages_without_spaces_are_characters(language, share):
    context = Context(references=[["今天下雨"]], systems=[["今天晴朗"]], target_lang=language)
    assert missing_words(context, USUAL.design(context.systems, None)).scores[0].system == share


def test_nothing_is_missing_without_references():
    context = Context(sources=["Es regnet."], systems=[["It rains."]])
    assert missing_words(context, USUAL.design(context.systems, None)) is None


# exports


def test_texts_as_tsv(content):
    header, *rows = [line.split("\t") for line in exports.texts_table(content).splitlines()]
    assert header == "system document segment BLEU TER source reference hypothesis".split()
    assert len(rows) == 8
    scored = [repr(each.scores[0].segments[1]) for each in content.columns]
    assert rows[1] == ["a", "one", "2", *scored, *(TEXTS[name][1] for name in ("source", "ref", "a"))]


def test_items_of_subset2evaluate(content):
    items = [json.loads(line) for line in exports.subset2evaluate(content).splitlines()]
    assert [item["i"] for item in items] == [0, 1, 2, 3] and [item["doc"] for item in items] == IDS
    assert items[0]["tgt"] == {"a": TEXTS["a"][0], "b": TEXTS["b"][0]} and items[0]["src"] == TEXTS["source"][0]
    assert items[3]["scores"]["a"]["TER"] == 0 and items[3]["scores"]["b"]["TER"] < 0  # larger is better there


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """The content of an XCOMET checkpoint's run."""
    folder = build_checkpoint(RECIPES["xcomet"], tmp_path_factory.mktemp("models") / "xcomet")
    context = Context(references=[REFERENCES], sources=SOURCES, systems=[OUTPUTS], names=["a"])
    metric = COMET([REFERENCES], [OUTPUTS], sources=SOURCES, model=str(folder))
    design = USUAL.design(context.systems, None)
    return Content(context, design, [Column.of("comet", metric, [scores(metric, OUTPUTS)], design)])


def test_pearmut_ends_are_inclusive(marked):
    """A span's last character is named there, as Pearmut's page marks it; in the page it is the one after."""
    [document, *_] = json.loads(exports.pearmut(marked, "campaign"))["data"]
    [spans], seen = as_data(marked)["marked"], set()
    for i, [item] in enumerate(document):
        assert item["tgt"] == {"a": OUTPUTS[i]} and item["src"] == SOURCES[i]
        ours = spans["spans"].get(f"0 {i}", [])
        theirs = item["error_spans"]["a"]
        exclusive = [(each["start_i"], each["end_i"] + 1) for each in theirs]
        assert exclusive == [(start, end) for start, end, _ in ours]
        seen |= {each["severity"] for each in theirs}
    assert seen and seen <= {"minor", "major"}


def test_parts_are_on_the_scale_of_scores(marked):
    parts = as_data(marked)["parts"]["0 0"]
    [scored] = [each for each in marked.columns[0].scores[0].result.windows if each.window.start == 0]
    assert parts == {name: pytest.approx(100 * value) for name, value in scored.estimate.parts.items()}


def test_a_campaign_without_sources_is_said(content, caplog):
    unsourced = replace(content, context=replace(content.context, sources=None))
    campaign = json.loads(exports.pearmut(unsourced, "de-en a, b"))
    assert campaign["campaign_id"] == "de-en-a-b"
    ids = [item["item_id"] for [document] in [campaign["data"]] for items in document for item in items]
    assert ids == ["one#1", "one#2", "two#1", "two#2"]  # not told apart by their texts, which may repeat
    assert caplog.messages == ["--pearmut: people need the source to judge a translation: give -s FILE"]


def test_tables_of_systems_without_scores(content):
    """They stand last, with dashes."""
    [bleu, _], missing = content.columns, float("nan")
    column = replace(bleu, scores=[bleu.scores[0]._replace(system=missing), bleu.scores[1]], comparison=None)
    compared = SystemComparisons(["a", "b"], [column], content.design)
    table, note, signature = system_tables.render(compared, "markdown").split("\n\n")
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[2:]]
    assert cells == [["b", f"{bleu.scores[1].system:.1f}"], ["a", "-"]]
    assert note == "Not tested: BLEU." and signature.startswith("- BLEU: `nrefs:1|")
    assert "\na & -- &  \\\\\n" in system_tables.render(compared, "latex")
