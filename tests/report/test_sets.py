"""Several test sets on one page: what the command line gives, and what the page's first screen says of them."""

import re
from dataclasses import replace

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import DOCIDS, NAME_A, NAME_B, REF, SOURCE, A, B, C
from report_pages import data_of
from test_content import made
from test_verdict import A_BY_TER, ALL_TIED, NAN, column
from test_verdict import A as A_WINS

from ctx_metrics.report.page import page, title_of
from ctx_metrics.report.sets import headline, say_missing, summary
from ctx_metrics.report.verdict import Verdict, verdict

FRENCH = [f"fr-en/{name}" for name in (A, B, C)]
SETS = [
    *("--set", "de-en", "-s", SOURCE, "-t", A, B, C, "-r", REF, "--docids", DOCIDS, "-l", "de-en"),
    *("--set", "fr-en", "-s", "fr-en/source.fr.txt", "-t", *FRENCH, "-r", f"fr-en/{REF}", "-l", "fr-en"),
]


@pytest.mark.parametrize(
    ("winners", "said"),
    [
        (["a", "a"], "a wins on both test sets"),
        (["a", "a", "a"], "a wins on all 3 test sets"),
        (["b", "a", "a"], "a wins on 2 of 3 test sets, b on 1"),
        (["a", None], "a wins on 1 of 2 test sets; no system clearly wins on the other"),
        (["a", None, None], "a wins on 1 of 3 test sets; no system clearly wins on the other 2"),
        ([None, None], "No system clearly wins on any of the 2 test sets"),
        (
            [*"aabcde", None],
            "a wins on 2 of 7 test sets, b on 1, c on 1, 2 other systems on 2; no system clearly wins on the other",
        ),
    ],
)
def test_headlines(winners, said):
    assert headline([Verdict("", winner=winner) for winner in winners]) == said


def test_what_is_not_tested_is_said():
    none, untested = Verdict(""), Verdict("", tested=False)
    assert headline([none, none, untested]) == "No system clearly wins on any of the 3 test sets; 1 is not tested"
    assert headline([untested] * 3) == "The differences are not tested on any of the 3 test sets"
    assert headline([Verdict("", winner="a"), untested, untested]) == "a wins on 1 of 3 test sets; 2 are not tested"
    assert not verdict("ab", [column("NIST", [1.0, 2.0], None)]).tested
    alone = [made(names=("a",)), made(names=("b",))]
    found = summary(alone, [verdict(each.names, each.columns) for each in alone])
    assert found.headline == "One system on each of 2 test sets"


def test_who_wins_clearly():
    """A system that wins by some metrics while no other one does; not where the metrics disagree."""
    assert verdict("abc", [A_WINS, A_BY_TER]).winner == "a" and verdict("abc", [A_WINS, ALL_TIED]).winner == "a"
    against = column("COMET", [20.0, 30.0, 10.0], {(0, 1): 0.01, (0, 2): 0.2, (1, 2): 0.01})
    assert verdict("abc", [A_WINS, against]).winner is None and verdict("abc", [ALL_TIED]).winner is None


def of_names(names, **changes):
    content = made()
    return replace(content, context=replace(content.context, names=names), **changes)


@pytest.mark.full
def test_systems_by_test_sets():
    """Those in all sets come first, the best mean at the top; what is missing has no cell and no mean."""
    first = replace(made(), columns=[column("BLEU", [30.0, 20.0], {(0, 1): 0.01})])
    names = ["b", "c", "a"]
    second = of_names(names, columns=[column("BLEU", [50.0, 45.0, 10.0], None)])
    found = summary([first, second], [verdict(each.names, each.columns) for each in (first, second)])
    [matrix] = found.matrices
    rows = [(name, [cell and (cell.score, cell.rank) for cell in cells], mean) for name, cells, mean in matrix.rows]
    assert rows == [
        ("b", [("20.0", 2), ("50.0", None)], "35.0"),
        ("a", [("30.0", 1), ("10.0", None)], "20.0"),
        ("c", [None, ("45.0", None)], "-"),
    ]
    assert found.headline == "a wins on 1 of 2 test sets; 1 is not tested"
    worse = [replace(made(), columns=[column("TER", [9.0, 8.0], None, -1)]) for _ in range(2)]
    assert [row[0] for row in summary(worse, [Verdict("")] * 2).matrices[0].rows] == ["b", "a"]
    unknown = [first, replace(made(), columns=[column("BLEU", [NAN, 20.0], None)])]
    assert summary(unknown, [Verdict("")] * 2).matrices[0].rows[-1][2] == "-"


@pytest.mark.full
def test_autorank_of_sets():
    first, second = made(), made(names=("b", "a"))
    found = summary([first, second], [Verdict("")] * 2, [[1.0, 2.0], [1.0, 1.5]]).matrices[0]
    rows = [(name, [(cell.score, cell.best) for cell in cells], mean) for name, cells, mean in found.rows]
    assert found.heading == "AutoRank ↓"
    assert rows == [("a", [("1.0", True), ("1.5", False)], "1.2"), ("b", [("2.0", False), ("1.0", True)], "1.5")]


@pytest.mark.full
def test_metrics_that_only_one_set_has():
    sets = [of_names(["a", "b", "c"], columns=[A_WINS]), of_names(["a", "b", "c"], columns=[ALL_TIED])]
    found = summary(sets, [Verdict("")] * 2)
    assert [(each.heading, each.rows[0][1][0] is None, each.rows[0][2]) for each in found.matrices] == [
        ("BLEU", False, "-"),
        ("chrF", True, "-"),
    ]


@pytest.mark.full
def test_the_names_of_sets_and_systems_are_escaped():
    sets = [
        of_names(["<img src=y>", "b"], test_set=name) for name in ("<img src=x onerror=\"alert('1')\">", "__proto__")
    ]
    html = page(sets, title_of(*sets))
    assert "<img src=x" not in html and "<img src=y" not in html and html.count("&lt;img src=x") >= 4
    assert "&lt;img src=y&gt; and b on 2 test sets" in html


@pytest.mark.full
def test_systems_that_a_set_lacks_are_said(caplog):
    say_missing([made(), made(names=("a", "b", "a"))])
    assert not caplog.messages
    say_missing([made(), made(names=("a",))])
    assert caplog.messages == [
        "1 system is not in every test set (b); --names gives the systems of a set the same names as in the others"
    ]


@pytest.mark.full
def test_a_page_of_two_sets(ctx, tmp_path):
    """Its data are those of two pages of one set each; its notices name the set."""
    both, one, two = (tmp_path / f"{name}.html" for name in ("both", "one", "two"))
    done = ctx("report", *SETS, "-m", "bleu", "chrf", "-o", both)
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines() == [
        "ctx-metrics: --set de-en: resampling by document: there are only 7 documents, so intervals are imprecise and "
        "few differences can be significant; use at least 10, preferably many more",
        f"ctx-metrics: written: {both}",
    ]
    for k, path in enumerate((one, two)):
        own = SETS[2 : SETS.index("fr-en") - 1] if k == 0 else SETS[SETS.index("fr-en") + 1 :]
        assert ctx("report", *own, "-m", "bleu", "chrf", "-o", path, "-q").code == 0
        assert data_of(both, k) == data_of(path)
    html = both.read_text()
    assert f"<title>{NAME_A}, {NAME_B} and system_c.en on 2 test sets</title>" in html
    assert re.search("<h2>system_b.en wins on both test sets</h2>", html) and "fr → en" in html


@pytest.mark.full
def test_languages_of_one_set_alone_are_said(ctx, tmp_path):
    sets = ["--set", "x", "-t", A, "-r", REF, "--set", "y", "-t", B, "-r", REF, "-l", "de-en"]
    done = ctx("report", *sets, "-m", "chrf", "-q", "-o", tmp_path / "page.html")
    assert done.code == 0 and done.err.splitlines()[0] == (
        "ctx-metrics: --set x: no languages (-l), but other test sets have some; before the first --set, -l applies to all"
    )


@pytest.mark.full
def test_flags_before_the_first_set_are_of_all(ctx, tmp_path):
    page_of_sets = tmp_path / "page.html"
    shared = ["-t", A, B, "--names", "One", "Two", "-l", "de-en"]
    sets = ["--set", "x", "-r", REF, "--set", "y", "-r", C, "--names", "Two", "Three", "-m", "chrf", "-q"]
    done = ctx("report", *shared, *sets, "-o", page_of_sets)
    assert done.code == 0
    assert [data_of(page_of_sets, k)["systems"] for k in (0, 1)] == [["One", "Two"], ["Two", "Three"]]
    assert {data_of(page_of_sets, k)["source_lang"] for k in (0, 1)} == {"de"}
    assert "2 systems are not in every test set (One, Three)" in done.err
