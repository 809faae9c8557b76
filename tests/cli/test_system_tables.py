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


@pytest.mark.full
def test_the_numbers_are_the_same_in_all_formats(ctx):
    given = [*THREE, "-q", "-w", "2", "--autorank", "wmt25"]
    systems = json.loads(ctx(*given, "--format", "json").out)
    assert [row["system"] for row in systems] == [NAME_B, NAME_A, NAME_C]
    scores, ranks = {}, {}
    for row in ctx(*THREE, "-q", "-w", "2", "--format", "jsonl").objects():
        for own, prefix in (("system", ""), ("other", "other_")):
            scores[row[own], row["metric"]] = row[f"{prefix}score"]
            ranks[row[own], row["metric"]] = row[f"{prefix}rank"]
    rows = csv.DictReader(io.StringIO(ctx(*given, "--format", "csv").out))
    shown = {form: ctx(*given, "--format", form).out.replace("\\_", "_") for form in ("latex", "markdown", "table")}
    for row, cells in zip(systems, rows, strict=True):
        name, overall, pattern = row["system"], f"{row['autorank_wmt25']:.2f}", ""
        assert (cells["system"], cells["autorank_wmt25"]) == (name, overall)
        for metric, of in row["metrics"].items():
            assert (of["score"], of["rank"]) == (scores[name, metric], ranks[name, metric])
            assert (cells[metric], cells[f"{metric}_rank"]) == (f"{of['score']:.2f}", str(of["rank"]))
            pattern += rf"\D+{of['score']:.2f}\D*\({of['rank']}\)"
        assert all(re.search(rf"{name}\D+{overall}{pattern}", text) for text in shown.values()), shown


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
