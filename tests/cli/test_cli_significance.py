"""One input has one answer: which systems differ, by which unit, test and correction, in everything that shows it."""

import random
import re

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import fresh_sacrebleu as sacrebleu

WORDS = "the cat sat on a mat while it rained in town all day and nobody went out to see her".split()
TEST = "exact randomization, all 4,096 swaps of 12 documents"
HOW = f"{TEST}, Holm's correction for 6 pairs"
NAMES = ["a", "b", "c", "d"]
METRIC, TITLE = "bertr", "BERTR"  # a mean of segments, of which 10,000 trials are one product of matrices


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Four systems, each of which drops more words than the one before, in 12 documents that some of them like better."""
    folder, draw = tmp_path_factory.mktemp("inputs"), random.Random(5)
    lines = {name: [] for name in ["ref", "ids", *NAMES]}
    for document in range(12):
        likes = {name: draw.uniform(-0.15, 0.15) for name in NAMES}
        for _ in range(5):
            words = draw.choices(WORDS, k=12)
            lines["ref"].append(" ".join(words))
            lines["ids"].append(f"document {document}")
            for k, name in enumerate(NAMES):
                kept = [word for word in words if draw.random() > 0.2 + 0.04 * k + likes[name]]
                lines[name].append(" ".join(kept) or "cat")
    for name, own in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in own))
    return {name: str(folder / name) for name in lines}


def flags(inputs, *more) -> list[str]:
    systems = [inputs[name] for name in NAMES]
    return ["-t", *systems, "-r", inputs["ref"], "-l", "de-en", "--docids", inputs["ids"], "-m", METRIC, *more]


def of_objects(objects) -> tuple[set, dict]:
    """The pairs that differ significantly, and the ranks."""
    ranks = {
        each[name]: int(each[f"{other}rank"])
        for each in objects
        for name, other in (("system", ""), ("other", "other_"))
    }
    return {frozenset((e["system"], e["other"])) for e in objects if e["significant"] in (True, "true")}, ranks


def of_table(text: str) -> dict:
    """The ranks of a table for a paper: system, score and, in parentheses, rank."""
    found = re.findall(r"^\W*([a-d])\b[^\n]*?\((\d+)\)", text, re.MULTILINE)
    return {name: int(rank) for name, rank in found}


def of_terminal(text: str) -> tuple[set, dict]:
    """The same of the two tables for a terminal."""
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")]
    ranks = {row[1]: int(row[0]) for row in rows if row[0].isdigit()}
    order = list(ranks)
    pairs = [row for row in rows if row[0] in NAMES and len(row) == 1 + len(NAMES)]
    return {
        frozenset((row[0], order[k])) for row in pairs for k, cell in enumerate(row[1:]) if cell.endswith("*")
    }, ranks


def of_page(path) -> tuple[set, dict]:
    """The same of a page: of its table of systems and its tables of differences, which must agree with each other."""
    html = path.read_text(encoding="utf-8")
    of_systems, *of_baselines = re.findall(r"<table.*?</table>", html.partition('<div class="baseline')[0], re.DOTALL)[
        :1
    ] + [each.partition("</table>")[0] for each in html.split('<div class="baseline')[1:]]
    drawn = []
    for table in of_baselines:
        baseline = re.search(r"Score minus the score of (\w+)", table)[1]
        column = [re.sub("<.*?>", "", each) for each in re.findall(r'<th scope="col">(.*?)</th>', table)].index(
            TITLE
        ) - 1
        for name, cells in re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table):
            if "*" in re.findall(r"<td.*?>(.*?)</td>", cells)[column].partition("<small")[0]:
                drawn.append(frozenset((baseline, name)))
    assert all(drawn.count(pair) == 2 for pair in drawn)
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', of_systems)
    return {*drawn}, {name: int(re.search(r'title="rank (\d+)"', row)[1]) for name, row in rows if "title=" in row}


@pytest.mark.full
def test_all_outputs_agree_and_name_unit_test_and_correction(ctx, inputs, tmp_path):
    objects = ctx("compare", *flags(inputs, "--format", "jsonl")).objects()
    wanted = of_objects(objects)
    named = {
        "test": "randomization",
        "exact": True,
        "trials": 4096,
        "unit": "document",
        "units": 12,
        "correction": "holm",
    }
    assert all(named.items() <= each.items() for each in objects)

    rows = ctx("compare", *flags(inputs, "--format", "tsv")).rows()
    assert of_objects(rows) == wanted
    assert all(
        {**{key: str(value) for key, value in named.items()}, "exact": "true"}.items() <= row.items() for row in rows
    )

    page, latex, markdown = (tmp_path / f"report.{ending}" for ending in ("html", "tex", "md"))
    assert ctx("report", *flags(inputs, "-o", page, "--tables", latex, markdown)).code == 0
    assert of_page(page) == wanted
    assert TEST in page.read_text(encoding="utf-8")
    texts = {
        "latex": (ctx("compare", *flags(inputs, "--format", "latex")).out, latex.read_text()),
        "markdown": (ctx("compare", *flags(inputs, "--format", "markdown")).out, markdown.read_text()),
    }
    for ours, theirs in texts.values():
        assert ours == theirs and of_table(ours) == wanted[1]

    tables = [ctx("compare", *flags(inputs)).out, ctx("score", *flags(inputs, "--compare")).out]
    assert [of_terminal(each) for each in tables] == [wanted] * 2
    said = f"* marks p < 0.05 ({HOW})."
    shown = [*tables, page.read_text().replace("&lt;", "<").replace("&#39;", "'")]
    assert all(said in " ".join(each.split()) for each in shown)
    assert all(f"({HOW})" in ours for ours, _ in texts.values())

    by_segment = of_objects(ctx("compare", *flags(inputs, "--format", "jsonl", "--resample", "segment")).objects())
    uncorrected = of_objects(ctx("compare", *flags(inputs, "--format", "jsonl", "--no-holm")).objects())
    assert len({frozenset(each[0]) for each in (wanted, by_segment, uncorrected)}) == 3  # else nothing is shown here


@pytest.mark.full
def test_the_sacrebleu_command_gives_the_same_answer(ctx, inputs, tmp_path):
    page, ours = tmp_path / "report.html", tmp_path / "ours.html"
    words = [inputs["ref"], "-i", *(inputs[name] for name in NAMES), "-l", "de-en", "-m", METRIC]
    ids = ["--docids", inputs["ids"]]
    for more in ([], ["--ctx-resample", "segment"]):
        done = sacrebleu(*words, *ids, "--ctx-report", str(page), *more)
        assert done.returncode == 0 and "--ctx-resample" not in done.stderr
        flag = [word.replace("--ctx-", "--") for word in more]
        assert of_page(page) == of_objects(ctx("compare", *flags(inputs, "--format", "jsonl", *flag)).objects())
        assert ctx("report", *flags(inputs, "-o", ours, *flag, "-q")).code == 0 and of_page(ours) == of_page(page)
    without = sacrebleu(*words, "--ctx-report", str(page), "--ctx-resample", "document")
    assert without.returncode == 1 and "--docids FILE" in without.stderr


@pytest.mark.full
def test_judged_sets_are_tested_by_their_documents(ctx, tmp_path):
    rows = [
        f"{system}\t{i}\td{i // 2}\tsome text\t{(i * 7 + 3 * k) % 11}"
        for k, system in enumerate("ab")
        for i in range(24)
    ]
    (tmp_path / "judged.de-en.tsv").write_text("system\tseg\tdoc\tmt\tscore\n" + "\n".join(rows) + "\n")
    (tmp_path / "chrf.seg.score").write_text("".join(f"{system}\t{i % 7}\n" for system in "ab" for i in range(24)))
    done = ctx(
        "meta", tmp_path / "judged.de-en.tsv", "--scores", tmp_path / "chrf.seg.score", "--report", tmp_path / "pages"
    )
    assert done.code == 0, done.err
    assert "swaps of 12 documents" in (tmp_path / "pages" / "judged.de-en.html").read_text(encoding="utf-8")
