"""Draws sentences at random from docstrings, messages and pages, with their places, for a person who edits English.

python tests/sentences.py --number 40 --seed 7
"""

import argparse
import ast
import random
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "ctx_metrics"
TOLD = ("notice", "progress", "setting", "error", "add_argument", "write")  # functions that take words for people
# a full stop that ends a sentence: blanks and a capital, a quotation mark or a bracket after it
END = re.compile(r"(?<=[.!?])[)\"'`*_]*\s+(?=[\"'`*_(\[]*[A-Z0-9-])")


class Sentence(NamedTuple):
    kind: str
    path: str
    line: int
    text: str


def parts(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, with the number of line ends before each. Blank lines, list items, doctests and the columns
    of "name    what it is" part them too; indented code, tables, fences and headings are left out."""
    paragraph: list[str] = []
    begin, fenced, doctest = 0, False, False

    def flush() -> Iterator[tuple[int, str]]:
        whole, position = "\n".join(paragraph), 0
        for end in [*(found.end() for found in END.finditer(whole)), len(whole)]:
            if len(shown := " ".join(whole[position:end].split())) and shown.count(" ") > 2:
                yield begin + whole.count("\n", 0, position), shown
            position = end
        paragraph.clear()

    for number, line in enumerate(text.splitlines()):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        doctest = bool(line.strip()) and (doctest or line.lstrip().startswith(">>>"))  # with what it gives
        code = fenced or doctest or re.match(r"\s*(```|\||#|!|:::|<|\.\.\. |\$)|(?: {4}|\t)\S", line)
        item = re.match(r"\s*(?:[-*]|\d+\.) |\w[\w, ]*? {2,}\S", line)
        if code or item or not line.strip():
            yield from flush()
        if line.strip() and not code:
            if not paragraph:
                begin = number
            paragraph.append(line)
    yield from flush()


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=True)
            if text:
                for lines, sentence in parts(textwrap.dedent(text)):
                    yield node.body[0].lineno + lines, sentence


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts with at least three blanks in what raises, or in arguments of the functions in TOLD; {...} are kept as they are."""
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if not (isinstance(node, ast.Raise) or name in TOLD):
            continue
        inner = {id(part) for each in ast.walk(node) if isinstance(each, ast.JoinedStr) for part in ast.walk(each)}
        for each in ast.walk(node):
            text = ""
            if isinstance(each, ast.JoinedStr):
                text = "".join(
                    str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
                    for part in each.values
                    if isinstance(part, ast.Constant | ast.FormattedValue)
                )
            elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in inner:
                text = each.value
            if text.count(" ") > 2:
                yield each.lineno, " ".join(text.split())  # type: ignore[attr-defined]  # an expression


def sentences(root: Path) -> list[Sentence]:
    """All sentences of the tree, each text once, in the order of the files."""
    found = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        tree, shown = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(root).as_posix()
        for kind, of_kind in (("docstring", docstrings(tree)), ("message", messages(tree))):
            found += [Sentence(kind, shown, line, text) for line, text in of_kind]
    for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        shown = path.relative_to(root).as_posix()
        found += [Sentence("page", shown, 1 + line, text) for line, text in parts(path.read_text(encoding="utf-8"))]
    return list({sentence.text: sentence for sentence in reversed(found)}.values())[::-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--number", type=int, default=40, help="a third of each kind (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=39)
    args = parser.parse_args()
    drawn, found = random.Random(args.seed), sentences(args.tree)
    for number, kind in enumerate(("docstring", "message", "page")):
        of_kind = [sentence for sentence in found if sentence.kind == kind]
        wanted = (args.number + 2 - number) // 3
        print(f"\n## {kind}s: {wanted} of {len(of_kind):,}\n")
        for sentence in drawn.sample(of_kind, min(wanted, len(of_kind))):
            print(f"- {sentence.path}:{sentence.line} {sentence.text}")


if __name__ == "__main__":
    main()
