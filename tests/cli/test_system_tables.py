"""Tables of systems by metrics: LaTeX, Markdown, CSV, JSON and the terminal show the same numbers, which are those of the pairs."""

import csv
import io
import json
import re
import shutil

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import EXAMPLES, NAME_A, NAME_B, NAME_C, REF, A, B, C

THREE = ["compare", "-t", A, B, C, "-r", REF, "-l", "de-en", "-m", "chrf", "ter", "--samples", "199"]
HOSTILE = ["a_1 & 50% of $x$", "#2 {b} ~c^d\\e", '[c] | <i> --"h"']


def of_latex(text):
    rows = re.search(r"\\midrule\n(.*)\\bottomrule", text, re.S)[1].removesuffix(" \\\\\n").split(" \\\\\n")
    cells = [re.sub(r"\\textbf\{(.+?)\}", r"\1", row).replace("\\_", "_").split(" & ") for row in rows]
    return [
        [name, overall, (one, rank.strip("()")), (two, other.strip("()"))]
        for name, overall, one, rank, two, other in cells
    ]


def of_cells(rows):
    return [
        [name, overall, *(tuple(re.findall(r"[-\d.]+", cell)) for cell in scores)] for name, overall, *scores in rows
    ]


def of_markdown(text):
    rows = [row.strip("|").split("|") for row in text.split("\n\n")[0].splitlines()[2:]]
    return of_cells([[cell.strip().replace("*", "").replace("\\_", "_") for cell in row] for row in rows])


def of_terminal(text):
    rows = [row.strip("│").split("│") for row in text.splitlines() if row.startswith("│")][1:]
    return of_cells([[cell.strip() for cell in row] for row in rows])


def of_csv(text):
    rows = csv.DictReader(io.StringIO(text))
    return [
        [row["system"], row["autorank_wmt25"], *((row[each], row[f"{each}_rank"]) for each in ("chrf", "ter"))]
        for row in rows
    ]


def of_json(text):
    def of(values):
        return f"{values['score']:.2f}", str(values["rank"])

    return [
        [row["system"], f"{row['autorank_wmt25']:.2f}", *(of(row["metrics"][each]) for each in ("chrf", "ter"))]
        for row in json.loads(text)
    ]


READERS = {"latex": of_latex, "markdown": of_markdown, "table": of_terminal, "csv": of_csv, "json": of_json}


@pytest.mark.full
def test_the_numbers_are_the_same_in_all_formats(ctx):
    given = [*THREE, "-q", "-w", "2", "--autorank", "wmt25"]
    found = {form: read(ctx(*given, "--format", form).out) for form, read in READERS.items()}
    assert [row[0] for row in found["json"]] == [NAME_B, NAME_A, NAME_C]
    assert all(table == found["json"] for table in found.values()), found
    scores, ranks = {}, {}
    for row in ctx(*THREE, "-q", "-w", "2", "--format", "jsonl").objects():
        for own, prefix in (("system", ""), ("other", "other_")):
            scores[row[own], row["metric"]] = f"{row[f'{prefix}score']:.2f}"
            ranks[row[own], row["metric"]] = str(row[f"{prefix}rank"])
    for name, _, *of_metrics in found["json"]:
        for metric, (score, rank) in zip(("chrf", "ter"), of_metrics, strict=True):
            assert (scores[name, metric], ranks[name, metric]) == (score, rank)


@pytest.mark.full
def test_a_table_that_a_paper_can_input(ctx, tmp_path):
    done = ctx(*THREE, "--names", *HOSTILE, "-o", tmp_path / "systems.tex")
    assert (done.code, done.out) == (0, "") and "|version:" not in done.err, "the signatures stand in the file"
    text = (tmp_path / "systems.tex").read_text()
    comments = [line for line in text.splitlines() if line.startswith("%")]
    assert [line[2:12] for line in comments[2:]] == ["chrF2|nref", "TER|nrefs:"]
    assert text.count("chrF2: nrefs:1\\textbar{}\\allowbreak{}case:mixed") == 1, "and in its footnote"
    assert "{chrF2 $\\uparrow$}" in text and "{TER $\\downarrow$}" in text
    rows = re.search(r"\\midrule\n(.*)\\bottomrule", text, re.S)[1].splitlines()
    names = [
        r"\#2 \{b\} \textasciitilde{}c\textasciicircum{}d\textbackslash{}e",
        r"a\_1 \& 50\% of \$x\$",
        r"{}[c] \textbar{} \textless{}i\textgreater{} -{}-\symbol{34}h\symbol{34}",
    ]
    assert [row.split(" & ")[0] for row in rows] == names
    assert all(row.endswith(r" \\") and len(re.findall(r"(?<!\\)&", row)) == 4 for row in rows)
    opened = re.findall(r"\\(begingroup|endgroup|begin\{tabular\}|end\{tabular\})", text)
    assert opened == ["begingroup", "begin{tabular}", "end{tabular}", "endgroup"]
    unescaped = re.sub(r"\\[{}]", "", text)
    assert unescaped.count("{") == unescaped.count("}")


def test_the_first_cluster_is_bold(ctx, tmp_path):
    """Two equal systems share rank 1, and the third is worse."""
    same = shutil.copy(EXAMPLES / B, tmp_path / "same.txt")
    both = ["compare", "-t", B, same, C, "-r", REF, "-m", "chrf", "--samples", "199"]
    rows = ctx(*both, "--format", "markdown").out.splitlines()[2:5]
    assert [("**" in row, re.search(r"\((\d)\)", row)[1]) for row in rows] == [(True, "1"), (True, "1"), (False, "2")]
    assert len(re.findall(r"\\textbf\{[\d.]+\} & \(1\)", ctx(*both, "--format", "latex").out)) == 2


@pytest.mark.full
def test_a_csv_file_holds_csv(ctx, tmp_path):
    path = tmp_path / "pairs.csv"
    for other in ("tsv", "latex"):
        done = ctx(*THREE, "-q", "--format", other, "-o", path)
        assert done == (0, "", f"ctx-metrics: {path}: a .csv file holds CSV, so --format {other} is not used\n")
        assert path.read_text().startswith("metric,system,")
    ctx(*THREE, "-q", "--format", "jsonl", "-o", tmp_path / "pairs.json")
    assert (tmp_path / "pairs.json").read_text().startswith('{"metric"')
