"""examples/evaluate.ipynb runs, and shows what it holds."""

import json
import re

import pytest
from cli_pages import DOCS, assert_about_as_printed
from notebook import NOTEBOOK, code_cells, shown


def text_of(outputs) -> str:
    return "".join("".join(each.get("text") or each["data"]["text/plain"]) for each in outputs)


@pytest.mark.full
def test_the_notebook_shows_what_it_holds(monkeypatch, multilingual):
    """python tests/notebook.py writes it anew."""
    pytest.importorskip("pandas")
    monkeypatch.chdir(NOTEBOOK.parent)
    cells = code_cells(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    assert len(cells) == 6
    for cell, outputs in zip(cells, shown(cells), strict=True):
        assert cell["outputs"]
        assert_about_as_printed(text_of(outputs), text_of(cell["outputs"]))
        kinds = [[*each.get("data", {"stream": ""})] for each in cell["outputs"]]
        assert [[*each.get("data", {"stream": ""})] for each in outputs] == kinds


@pytest.mark.full
@pytest.mark.parametrize("page, blocks", [("python.md", 2), ("significance.md", 1)])
def test_the_pages_show_what_their_python_prints(page, blocks, monkeypatch, capsys):
    monkeypatch.chdir(NOTEBOOK.parent)
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```\n\n((?: {4}[^\n]*\n)+)", text, re.DOTALL)
    assert len(found) == blocks
    for code, printed in found:
        exec(code, {})
        assert_about_as_printed(capsys.readouterr().out, re.sub("^ {4}", "", printed, flags=re.M))
