"""What the pages show must run."""

import base64
import doctest
import gzip
import json
import re
import textwrap
from configparser import ConfigParser
from pathlib import Path

import numpy as np
import pytest
from cli_pages import DOCS, VERSIONS
from plugin_conftest import EXAMPLES, NAME_A, REF, SOURCE, A, B, C, add_package, fresh_ctx_metrics, lines_of
from plugin_conftest import fresh_sacrebleu as sacrebleu

from ctx_metrics.report.page import script


@pytest.mark.full
def test_the_package_of_adding_a_metric(tmp_path):
    page = (DOCS / "adding-a-metric.md").read_text(encoding="utf-8")
    metric, command, output = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    groups = ConfigParser()
    groups.read_string(textwrap.dedent(re.search(r"\n\n(    \[.*?)\n\n", page, re.DOTALL)[1]))
    own = {
        group.partition(".")[2]: dict(line.split(" = ") for line in lines.split("\n") if line)
        for group, lines in groups["options.entry_points"].items()
    }
    env = add_package(
        tmp_path / "package", modules={"terms.py": metric, "longest.py": command, "systems.py": output}, **own
    )
    terms = tmp_path / "terms.txt"
    terms.write_text("the, a\n" * len(lines_of(A)))
    own_flags = ["--terms", terms, "--terms-lowercase"]
    done = sacrebleu(REF, "-i", A, B, "-m", "terms", "bleu", *own_flags, "--paired-ar", "-j", "2", "-f", "text", **env)
    assert done.returncode == 0 and "Terms" in done.stdout, done.stderr
    done = sacrebleu(REF, "-i", A, "-m", "terms", *own_flags, "--ctx-list", tmp_path / "list.txt", **env)
    assert (tmp_path / "list.txt").read_text() == f"{NAME_A}\n"
    result, held = json.loads(done.stdout), [("the" in text.lower()) + ("a" in text.lower()) for text in lines_of(A)]
    assert (result["name"], result["case"]) == ("Terms", "lc")
    assert result["score"] == pytest.approx(50 * np.mean(held), abs=0.05)
    done = sacrebleu(REF, "-i", A, "-m", "terms", **env)
    assert done.returncode == 1 and "terms: needs lists of terms: give --terms FILE\n" in done.stderr
    done = sacrebleu(REF, "-i", A, "-m", "chrf", "bertr", *own_flags[:2], **env)
    assert done.returncode == 0 and "none of the chosen metrics reads --terms" in done.stderr
    done = fresh_ctx_metrics("longest", terms, **env)
    assert (done.returncode, done.stdout) == (0, "the, a\n")
    assert "print the longest line of a file" in fresh_ctx_metrics("--help", **env).stdout


PAGES = [
    *DOCS.rglob("*.md"),
    *(DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md", "integrations/README.md")),
]


def without_code(page: Path) -> str:
    """A page's text without its blocks of code."""
    return re.sub(r"(?ms)^(`{3,}).*?^\1$|^ {4}.*?$", "", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings; mkdocs.yml asks for the same on the site."""
    titles = re.findall(r"(?m)^#+ (.+)", without_code(page))
    shown = [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in shown}


def test_links_lead_somewhere():
    for page in PAGES:
        for file, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", without_code(page)):
            target = page.parent / file if file else page
            assert file.startswith("https://") or target.exists(), f"{page.name}: {file}"
            if anchor and target.suffix == ".md":
                assert anchor in anchors(target), f"{page.name}: {file}#{anchor}"


def test_no_text_reads_as_a_reference():
    """The site takes [a] [b] for a link to b, and its strict build fails where there is none."""
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"`[^`\n]*`", "", without_code(page))
        assert not re.findall(r"\[[^\]\n]+\] ?\[[^\]\n]*\]", text), page.name


@pytest.mark.full
def test_the_python_of_the_quick_start(monkeypatch, capsys):
    monkeypatch.chdir(EXAMPLES)
    text = (DOCS / "quickstart.md").read_text(encoding="utf-8").split("\n## Python\n")[1]
    code, printed = re.search(r"```python\n(.*?)```\n\n((?: {4}[^\n]*\n)+)", text, re.DOTALL).groups()
    exec(code, {})
    found, shown = (re.sub(r"\s+", "", VERSIONS.sub("", each)) for each in (capsys.readouterr().out, printed))
    assert found == shown


def test_the_readme_is_short_and_the_footguns_are_sixteen():
    assert (DOCS.parent / "README.md").read_text(encoding="utf-8").count("\n") < 120
    assert len(re.findall("^## ", (DOCS / "footguns.md").read_text(encoding="utf-8"), re.M)) == 16


@pytest.mark.parametrize(
    "page", ["round-trip-metrics.md", "pseudo-reference-metrics.md", "nist.md", "pairwise.md", "peers.md"]
)
def test_the_examples_in_python(page):
    failed, tried = doctest.testfile(str(DOCS / page), module_relative=False)
    assert tried >= 4 and failed == 0


def test_the_example_of_a_report():
    """It is of the examples, with README's scores and the script as it is; docs/report.md has the command that makes it."""
    html = (DOCS / "figures" / "report.html").read_text(encoding="utf-8")
    data = json.loads(gzip.decompress(base64.b64decode(re.search(r'class="data">(.*?)</script>', html)[1])))
    assert data["outputs"] == [lines_of(name) for name in (A, B, C)] and data["source"] == lines_of(SOURCE)
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    printed = {row[0]: row[1:] for row in re.findall(r"│ +(system_\S+)" + r" │ +([\d.]+) +" * 4, readme)}
    order = ["BERTR", "BLEU", "chrF2", "SLIDE-embedded"]
    found = {each["title"]: each["system"] for each in data["metrics"]}
    assert [[f"{found[title][s]:.1f}" for title in order] for s in range(3)] == [
        list(printed[name]) for name in (A, B, C)
    ]
    assert script() in html
