"""What `ctx-metrics meta` prints: the same small report in every format."""

import json
import math

import numpy as np
import pytest

from ctx_metrics.meta.output import WIDTH, render
from ctx_metrics.meta.report import Agreement, Report

NAN = math.nan


def agreement(**changes) -> Agreement:
    fields = {
        "protocol": "sys-acc",
        "title": "system-level pairwise accuracy",
        "level": "system",
        "unit": "system pairs",
        "sets": ["wmt22.zh-en", "wmt22.en-de"],
        "sizes": [91, 78],
        "metrics": ["A_1&", "slide", "BLEU"],
        "values": np.array([[0.75, 1.0], [0.6254, -0.0625], [NAN, 0.5]]),
        "overall": np.array([0.8654, 0.3077, NAN]),
        "overall_is": "pooled",
        "intervals": np.array([[0.8, 0.9], [-0.25, 0.5], [NAN, NAN]]),
        "ranks": [1, 2, 0],
        "test": "paired bootstrap",
        "p_values": {("A_1&", "slide"): 0.012, ("slide", "BLEU"): NAN},
        "draws": {("A_1&", "slide"): 100},
        "seen": {("slide", "wmt22.en-de")},
        "details": {
            "slide": {"wmt22.en-de": {"agreeing": np.int64(3), "left out": ("a", "b"), "epsilon": np.float32("inf")}}
        },
    }
    return Agreement(**{**fields, **changes})


def report(*agreements: Agreement, **changes) -> Report:
    fields = {
        "agreements": list(agreements) or [agreement()],
        "sets": {"wmt22.zh-en": {"systems": 14}},
        "signatures": {"A_1&": "", "slide": "", "BLEU": "nrefs:1|case:mixed"},
        "settings": {"alpha": 0.05, "all_pairs": True, "intervals": False},
    }
    return Report(**{**fields, **changes})


NOTES = """\
* The metric was trained on this set or on one of these sets, so the value is not comparable.
- The metric has no value here; it has no overall value if a set is missing.
Metrics that share a rank form one significance cluster.
Significance: paired bootstrap.
Settings: alpha 0.05, all pairs."""


def test_table():
    expected = f"""\
System-level pairwise accuracy (sys-acc): 169 system pairs in 2 sets
╒══════════════╤═══════╤════════╤═════════╤═══════════════╤══════╕
│       wmt22. │ zh-en │ en-de  │ pooled  │ 95 % interval │ rank │
│ system pairs │    91 │    78  │    169  │               │      │
╞══════════════╪═══════╪════════╪═════════╪═══════════════╪══════╡
│         A_1& │  .750 │ 1.000  │   .865  │  [.800, .900] │    1 │
├──────────────┼───────┼────────┼─────────┼───────────────┼──────┤
│        slide │  .625 │ -.062* │   .308* │ [-.250, .500] │    2 │
├──────────────┼───────┼────────┼─────────┼───────────────┼──────┤
│         BLEU │     - │  .500  │      -  │             - │    - │
╘══════════════╧═══════╧════════╧═════════╧═══════════════╧══════╛

{NOTES}

Metric signatures
 - BLEU nrefs:1|case:mixed
"""
    assert render(report(), "table") == expected


def test_markdown():
    expected = (
        """\
System-level pairwise accuracy (sys-acc): 169 system pairs in 2 sets (wmt22.zh-en 91, wmt22.en-de 78)

| wmt22.    |   zh-en |   en-de |   pooled |   95 % interval |   rank |
|:----------|--------:|--------:|---------:|----------------:|-------:|
| **A\\_1&** |    .750 |   1.000 | **.865** |    [.800, .900] |      1 |
| slide     |    .625 | -.062\\* |   .308\\* |   [-.250, .500] |      2 |
| BLEU      |       - |    .500 |        - |               - |      - |

"""
        + "\n\n".join(["\\" + line if line[0] in "*-" else line for line in NOTES.split("\n")])
        + """

Bold: the best significance cluster.

Metric signatures:

- BLEU: `nrefs:1|case:mixed`
"""
    )
    assert render(report(), "markdown") == expected


def test_latex():
    notes = NOTES.replace("\n", "\n% ")
    expected = f"""\
% needs \\usepackage{{booktabs}}

% \\caption{{System-level pairwise accuracy (sys-acc): 169 system pairs in 2 sets (wmt22.zh-en 91, wmt22.en-de 78). Bold: the best significance cluster.}}
% \\label{{tab:sys-acc}}
\\begin{{tabular}}{{lrrrrr}}
\\toprule
wmt22. & zh-en & en-de & pooled & 95 \\% interval & rank \\\\
\\midrule
\\textbf{{A\\_1\\&}} & .750 & 1.000 & \\textbf{{.865}} & [.800, .900] & 1 \\\\
slide & .625 & $-$.062\\rlap{{*}} & .308\\rlap{{*}} & [$-$.250, .500] & 2 \\\\
BLEU & -- & .500 & -- & -- & -- \\\\
\\bottomrule
\\end{{tabular}}

% {notes}
% BLEU: nrefs:1\\textbar{{}}case:mixed
"""
    assert render(report(), "latex") == expected


def test_tsv():
    expected = """\
protocol	metric	set	value	low	high	rank	within	n	seen
sys-acc	A_1&	wmt22.zh-en	0.750000					91	no
sys-acc	A_1&	wmt22.en-de	1.000000					78	no
sys-acc	A_1&	overall	0.865400	0.800000	0.900000	1		169	no
sys-acc	slide	wmt22.zh-en	0.625400					91	no
sys-acc	slide	wmt22.en-de	-0.062500					78	yes
sys-acc	slide	overall	0.307700	-0.250000	0.500000	2		169	yes
sys-acc	BLEU	wmt22.zh-en						91	no
sys-acc	BLEU	wmt22.en-de	0.500000					78	no
sys-acc	BLEU	overall						169	no
"""
    assert render(report(), "tsv") == expected
    assert "\t0.87\t0.80\t0.90\t1\t" in render(report(), "tsv", 2)


def test_a_baseline_and_the_agreement_within_segments():
    """The baseline's row stands last, below a line; it has no rank, no interval and nothing within."""
    one = agreement(
        protocol="seg-pearson",
        level="segment",
        sets=["wmt23"],
        sizes=[9],
        metrics=["chrf", "length"],
        values=np.array([[0.25], [0.5]]),
        overall=np.array([0.25, 0.5]),
        within=np.array([[0.375], [NAN]]),
        intervals=np.array([[0.125, 0.375], [NAN, NAN]]),
        ranks=[1, 0],
        baseline="length",
        seen=set(),
    )
    table = render(report(one), "table").split("\n")
    assert table[1:9] == [
        "╒══════════════╤═══════╤═════════════════╤═══════════════╤══════╕",
        "│              │ wmt23 │ within segments │ 95 % interval │ rank │",
        "│ system pairs │     9 │                 │               │      │",
        "╞══════════════╪═══════╪═════════════════╪═══════════════╪══════╡",
        "│         chrf │  .250 │            .375 │  [.125, .375] │    1 │",
        "├──────────────┼───────┼─────────────────┼───────────────┼──────┤",
        "│       length │  .500 │                 │               │      │",
        "╘══════════════╧═══════╧═════════════════╧═══════════════╧══════╛",
    ]
    assert table[10].startswith("length is a baseline: minus the number of characters in the source")
    assert "├" in render(report(agreement(**{**vars(one), "ranks": None})), "table")
    latex = render(report(one), "latex")
    assert "1 \\\\\n\\midrule\nlength & .500 &  &  &  \\\\\n\\bottomrule" in latex
    assert "| length   |     .500 |" in render(report(one), "markdown")
    rows = [line.split("\t") for line in render(report(one), "tsv", 3).splitlines()]
    assert rows[2] == ["seg-pearson", "chrf", "overall", "0.250", "0.125", "0.375", "1", "0.375", "9", "no"]
    assert rows[4] == ["seg-pearson", "length", "overall", "0.500", "", "", "", "", "9", "no"]
    metrics = strict(render(report(one), "json"))["agreements"][0]["metrics"]
    assert [(each["baseline"], each["within"]) for each in metrics] == [
        (False, {"wmt23": 0.375}),
        (True, {"wmt23": None}),
    ]


def strict(text: str):
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_json_has_everything():
    found = strict(render(report(), "json"))
    (one,) = found.pop("agreements")
    assert found == {
        "settings": {"alpha": 0.05, "all_pairs": True, "intervals": False},
        "sets": {"wmt22.zh-en": {"systems": 14}},
        "signatures": {"A_1&": "", "slide": "", "BLEU": "nrefs:1|case:mixed"},
    }
    metrics = one.pop("metrics")
    assert one == {
        "protocol": "sys-acc",
        "title": "system-level pairwise accuracy",
        "level": "system",
        "unit": "system pairs",
        "overall_is": "pooled",
        "test": "paired bootstrap",
        "sizes": {"wmt22.zh-en": 91, "wmt22.en-de": 78},
        "p_values": [
            {"better": "A_1&", "worse": "slide", "p": 0.012, "draws": 100},
            {"better": "slide", "worse": "BLEU", "p": None, "draws": None},
        ],
    }
    assert metrics[1:2] == [
        {
            "metric": "slide",
            "overall": 0.3077,
            "interval": [-0.25, 0.5],
            "rank": 2,
            "values": {"wmt22.zh-en": 0.6254, "wmt22.en-de": -0.0625},
            "seen": ["wmt22.en-de"],
            "within": None,
            "baseline": False,
            "details": {"wmt22.en-de": {"agreeing": 3, "left out": ["a", "b"], "epsilon": None}},
        }
    ]
    nothing = {"overall": None, "interval": [None, None], "rank": None, "details": {}}
    assert metrics[2].items() >= nothing.items() and metrics[2]["values"] == {"wmt22.zh-en": None, "wmt22.en-de": 0.5}


def test_without_intervals_and_ranks():
    bare = report(agreement(intervals=None, ranks=None, test="", p_values={}), settings={})
    for form in ("table", "markdown", "latex"):
        text = render(bare, form)
        assert not any(word in text for word in ("interval", "rank", "Significance", "textbf", "**", "Settings"))
    assert "├" not in render(bare, "table")  # no clusters, no lines
    metric = strict(render(bare, "json"))["agreements"][0]["metrics"][0]
    assert metric["interval"] is None and metric["rank"] is None
    assert render(bare, "tsv").split("\n")[3] == "sys-acc\tA_1&\toverall\t0.865400\t\t\t\t\t169\tno"


def test_lines_only_between_clusters():
    text = render(report(agreement(ranks=[1, 1, 3])), "table").split("\n")
    assert [line[0] for line in text[1:9]] == list("╒││╞││├│")


def test_one_set_is_not_repeated_as_overall():
    one = agreement(
        sets=["a.b"], sizes=[91], values=np.array([[0.75], [0.5], [0.25]]), overall=np.array([0.75, 0.5, 0.25])
    )
    text = render(report(one), "markdown")
    assert text.startswith("System-level pairwise accuracy (sys-acc): 91 system pairs in a.b\n")
    assert "| metric" in text and "pooled" not in text and "**.750**" in text


def test_escapes():
    names = ["a|b*c_d`e", "50%_of~#1^{x}\\", "[bold] & <i>"]
    latex = render(report(agreement(metrics=names, ranks=None)), "latex").split("\n")
    assert latex[8:11] == [
        r"a\textbar{}b*c\_d`e & .750 & 1.000 & .865 & [.800, .900] \\",
        r"50\%\_of\textasciitilde{}\#1\textasciicircum{}\{x\}\textbackslash{} & .625 & $-$.062 & .308 & [$-$.250, .500] \\",
        r"{}[bold] \& \textless{}i\textgreater{} & -- & .500 & -- & -- \\",
    ]
    markdown = render(report(agreement(metrics=names, ranks=None)), "markdown")
    assert r"| a\|b\*c\_d\`e " in markdown and r"| \[bold\] & \<i\> " in markdown
    tsv = render(report(agreement(metrics=["a\tb\nc", "d", "e"])), "tsv")
    assert {line.count("\t") for line in tsv.splitlines()} == {9} and "\ta b c\t" in tsv


@pytest.mark.parametrize("sets, tables", [(7, 1), (8, 2), (40, 4)])
def test_many_sets_stay_within_the_terminal(sets, tables):
    names = [f"newstest2016.x{k:02}-en" for k in range(sets)]
    values = np.linspace(-1, 1, 3 * sets).reshape(3, sets)
    wide = agreement(sets=names, sizes=[1000] * sets, values=values, seen=set())
    text = render(report(wide), "table")
    lines = text.split("\n")
    assert max(map(len, lines)) <= WIDTH
    headings = [line for line in lines if line.startswith("│") and ("newstest2016." in line or "95 %" in line)]
    assert len(headings) == tables
    shown = [cell.strip() for line in headings for cell in line.strip("│").split("│")]
    assert [name for name in shown if name.startswith("x")] == [f"x{k:02}-en" for k in range(sets)]
    last = ["pooled", "95 % interval", "rank"]
    assert [name for name in shown if name in last] == last
    assert render(report(wide), "latex").count("\\begin{tabular}") == tables
    assert render(report(wide), "markdown").count("|:--") == tables


def test_names_that_share_no_part_before_a_point_stay_whole():
    text = render(report(agreement(sets=["wmt20.zh-en", "wmt21.zh-en"], seen=set())), "table")
    assert "│              │ wmt20.zh-en │ wmt21.zh-en │" in text


def test_tests_that_differ_are_told_apart():
    both = report(agreement(), agreement(protocol="spa", test="PERM-BOTH"), agreement(protocol="acc-eq"))
    assert "\nSignificance: paired bootstrap (sys-acc, acc-eq); PERM-BOTH (spa).\n" in render(both, "table")


def test_p_values_on_fewer_draws_than_asked_for_are_counted():
    shown = render(report(settings={"resamples": 1000}), "table")
    assert "1 of 1 p-value uses fewer than 1,000 draws (at least 100)" in " ".join(shown.split())
    assert "draws" not in render(report(settings={"resamples": 100}), "table")


def test_decimals():
    assert "│   1.0  │     .9  │" in render(report(), "table", 1)
    assert ".8654" in render(report(), "latex", 4) and '"overall": 0.9' in render(report(), "json", 1)


@pytest.mark.parametrize("form", ["table", "json", "tsv", "csv", "latex", "markdown"])
def test_nothing_to_show(form):
    none = {"metrics": [], "ranks": [], "seen": set(), "p_values": {}, "details": {}}
    rows = np.zeros((0, 2))
    assert render(report(agreement(**none, values=rows, overall=rows[:, 0], intervals=rows)), form).endswith("\n")
    assert render(Report([], {}, {}, {}), form).endswith("\n")
