"""What the pages tell readers to type: the programs understand every command, and those with output print it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_pages import DOCS, VERSIONS, blocks
from comet_checkpoints import OF_POLY, RECIPES, build
from plugin_conftest import CTX_METRICS, EXAMPLES, SACREBLEU, run

from ctx_metrics.cli import parse

ROOT = DOCS.parent
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
# tests/cli, tests/test_docs.py and tests/test_bad_input.py run the commands of these
ELSEWHERE = {"adding-a-metric", "score", "meta", "training", "pairwise", "pairwise-rank", "compare", "mbr", "bad-input"}
PLACEHOLDERS = re.compile(r"\[|\.\.\.|COMMAND|METRIC|\bSIZE\b")  # the form of a command, not one to type


def typed(page: Path) -> list[str]:
    """The commands of a page that are ours, made whole where a backslash wraps them."""
    text = re.sub(r" *\\\n *", " ", page.read_text(encoding="utf-8"))
    blocks = re.findall(r"(?:^ {4}.*\n)+|^```(?:sh|bash)?\n(?:.*\n)*?```", text, re.M)
    lines = [line.strip().removeprefix("$ ") for block in blocks for line in block.split("\n")]
    parts = [part.strip() for line in lines for part in re.split(r" (?:\||&&) | +# ", line)]
    ours = [part for part in parts if re.match(r"(sacrebleu|ctx-metrics) +\S", part)]
    return [part for part in ours if not PLACEHOLDERS.search(part) and not re.match(r"\S+: ", part)]


COMMANDS = sorted({(page.stem, command) for page in PAGES for command in typed(page)})


def test_the_pages_have_commands():
    assert len(COMMANDS) > 130 and {"README", "index", "quickstart", "slide"} <= {page for page, _ in COMMANDS}


def test_the_programs_understand_every_command(monkeypatch, capsys):
    """argparse ends the program where it does not; its line is what the failure shows."""
    import sacrebleu.sacrebleu as command_line

    wrong = {}
    for page, command in COMMANDS:
        if page == "adding-a-metric":  # its metric is not installed here
            continue
        program, *arguments = shlex.split(command.partition(" > ")[0].partition(" < ")[0].replace("2>&1", ""))
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        try:
            parse(arguments) if program == "ctx-metrics" else command_line.parse_args()
        except SystemExit as stopped:
            if stopped.code != 0:
                wrong[page, command] = capsys.readouterr().err.splitlines()[-1].partition("error: ")[2]
    shown = {page.stem: re.sub(r"\s+", " ", page.read_text(encoding="utf-8")) for page in PAGES}
    assert {key: line for key, line in wrong.items() if line not in shown[key[0]]} == {}  # a page may show a refusal
    assert len(wrong) < 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The examples, with what the pages name beside them."""
    made = shutil.copytree(EXAMPLES, tmp_path_factory.mktemp("site") / "examples")
    for name in ("regression", "kiwi", "xcomet"):
        build(RECIPES[name], made / f"tiny-{name}", "encoder")
    build(OF_POLY["polycand"], made / "tiny-polycand", "encoder")
    build(RECIPES["kiwi"], made / "noenc", "microsoft/infoxlm-large")
    shutil.rmtree(made / "noenc" / "encoder")
    return made


PRINTING = {page.stem: blocks(page.read_text(encoding="utf-8")) for page in PAGES if page.stem not in ELSEWHERE}
SHOWN = {name: found for name, found in PRINTING.items() if found}
PROGRAMS = {"sacrebleu": SACREBLEU, "ctx-metrics": CTX_METRICS}


@pytest.mark.full
@pytest.mark.parametrize("name", SHOWN)
def test_the_commands_of_a_page_print_what_it_shows(folder, tmp_path, forked, name):
    """In the page's order, in one folder, by a shell where one is needed; "..." stands for anything. A page may leave the
    notices out."""
    shutil.copytree(folder, tmp_path / "examples")
    there = tmp_path / "examples" / ("senses" if name == "README" else "")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command, printed in SHOWN[name]:
        program, *words = shlex.split(command)
        if program in PROGRAMS and not {"|", ">"} & {*words}:
            done = forked(PROGRAMS[program], *words, cwd=there, env={"CUDA_VISIBLE_DEVICES": ""})
        else:
            done = run("bash", "-c", command, cwd=there, PATH=path, CUDA_VISIBLE_DEVICES="")
        stdout, stderr = done.stdout, done.stderr
        pattern = ".*".join(map(re.escape, squeezed("\n".join(printed)).split("...")))
        fits = [re.fullmatch(pattern, squeezed(each), re.DOTALL) for each in (stdout, stderr + stdout, stdout + stderr)]
        assert any(fits), f"{command}\n{stdout}{stderr}"


def squeezed(text: str) -> str:
    """Without versions, without the spaces and line ends at which a page wraps, and numbers to three decimals."""
    text = re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.3f}", VERSIONS.sub(r"\1", text))
    return re.sub(r"\s+", "", text)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The site, built strictly: a warning fails it. mkdocs --quiet would hide warnings from --strict."""
    pytest.importorskip("mkdocs", reason="the site needs the extra docs")
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.full
def test_a_page_of_the_site_asks_nobody_else(built):
    for page in built.rglob("index.html"):
        html = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|iframe)[^>]* src=\"?([^\s\">]+)", html)
        fetched += re.findall(r"<link[^>]* rel=\"?(?:stylesheet|preconnect|icon)[^>]* href=\"?([^\s\">]+)", html)
        assert fetched and not [each for each in fetched if each.startswith(("http", "//"))], page
        # material's script asks api.github.com for the parts of this name
        assert 'data-md-component="source"' not in html and "md-source__repository" in html, page


@pytest.mark.full
def test_the_copy_button_copies_commands_alone(built):
    """A prompt is marked .gp and a printed line .go, which site.css hides while a block is copied."""
    html = (built / "slide" / "index.html").read_text(encoding="utf-8")
    prompts = re.findall(r'<span class="gp">(.*?)</span>', html)
    assert len(prompts) >= 3 and set(prompts) == {"$ "} and '<span class="go">' in html
    assert not re.search(r"<code>(?:<span></span>)?\$ ", html)
    css = (built / "site" / "site.css").read_text(encoding="utf-8")
    assert "code[data-md-copying] .gp" in css and "span:has(> .go) { display: none; }" in css
