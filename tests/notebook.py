"""Runs a notebook's cells in this process and gives what they show. `python tests/notebook.py` writes that into the example's."""

import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "evaluate.ipynb"


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(cells: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The outputs of each cell: what it prints, and the value of its last line if that is an expression."""
    names: dict[str, Any] = {}
    outputs = []
    for number, cell in enumerate(cells, 1):
        body = ast.parse("".join(cell["source"])).body
        last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(ast.Module(body, []), f"cell {number}", "exec"), names)
            value = None if last is None else eval(compile(last, f"cell {number}", "eval"), names)
        of_cell: list[dict[str, Any]] = []
        if printed.getvalue():
            text = printed.getvalue().splitlines(keepends=True)
            of_cell.append({"name": "stdout", "output_type": "stream", "text": text})
        if value is not None:
            data = {"text/plain": repr(value).splitlines(keepends=True)}
            if hasattr(value, "_repr_html_"):
                data["text/html"] = value._repr_html_().splitlines(keepends=True)
            of_cell.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
        outputs.append(of_cell)
    return outputs


if __name__ == "__main__":
    import os

    os.chdir(NOTEBOOK.parent)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = code_cells(notebook)
    for number, (cell, outputs) in enumerate(zip(cells, shown(cells), strict=True), 1):
        cell |= {"execution_count": number, "outputs": outputs}
    NOTEBOOK.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
