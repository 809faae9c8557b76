"""Seeded mutations of the package: each is made in a copy of the tree, and the tests must notice it.

    python tests/mutations.py --list                          # shows the mutations, runs nothing
    python tests/mutations.py --results mutations.jsonl       # runs what the file has no outcome for, and prints the table

First all mutations meet the tests that are near: files that import the mutated module or bear its name, and its doctests.
Those that survive then meet the whole default suite. A test that fails kills a mutation only if it passes without it; tests
that also fail without are left out from then on.
"""

import argparse
import ast
import copy
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

PACKAGE = "ctx_metrics"
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "build", "dist", "*.log")
FLIPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
TIMEOUT = " (timeout)"
TOLD = ("notice", "progress", "debug", "warning", "error")  # functions whose arguments are messages


@dataclass(frozen=True)
class Mutation:
    """A change of one place of the source.

    path        of the module, from the tree's root
    start, end  the place: offsets into the module's UTF-8
    old, new    what stands there, and what replaces it
    """

    path: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.old} -> {self.new}"

    def apply(self, root: Path) -> Callable[[], object]:
        """Writes the mutated module; returns what restores it."""
        module = root / self.path
        text = module.read_bytes()
        assert text[self.start : self.end] == self.old.encode()

        def write(content: bytes) -> None:
            # Python takes a compiled file for current if time in seconds and size agree
            for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc"):
                compiled.unlink()
            module.write_bytes(content)

        write(text[: self.start] + self.new.encode() + text[self.end :])
        return lambda: write(text)


def variants(node: ast.AST) -> Iterator[ast.AST | None]:
    """The mutated forms of one node; None removes it."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in FLIPPED:
        yield changed(node, ops=[FLIPPED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in FLIPPED:
        if not (isinstance(node, ast.BinOp) and (is_text(node.left) or is_text(node.right))):
            yield changed(node, op=FLIPPED[type(node.op)]())
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)  # type: ignore[operator]  # a number
    elif isinstance(node, ast.Slice):
        for end in ("lower", "upper"):
            bound = getattr(node, end)
            if bound is not None and not isinstance(bound, ast.Constant):  # a constant is mutated by itself
                yield changed(node, **{end: ast.BinOp(bound, ast.Add(), ast.Constant(1))})
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield ast.UnaryOp(ast.Not(), node.test)
    elif is_removable(node):
        yield None


def is_removable(node: ast.AST) -> bool:
    """Whether a node is a statement without which its function still has all its names, and no docstring."""
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets)
    return isinstance(node, ast.Raise | ast.AugAssign) or (isinstance(node, ast.Expr) and not is_text(node.value))


def changed(node: ast.AST, **fields: object) -> ast.AST:
    """A copy of a node with other fields."""
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_message(node: ast.AST) -> bool:
    """Whether a node holds words for people: an f-string, or the arguments of what prints or raises."""
    if isinstance(node, ast.JoinedStr | ast.Raise):
        return True
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in TOLD


def own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body; not of functions and classes inside it, of annotations, nor of messages."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        yield node
        if not is_message(node):
            left_out = getattr(node, "annotation", None)
            waiting += [each for each in ast.iter_child_nodes(node) if each is not left_out]


def is_wording(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function only makes words: __repr__, or nothing but `return` of one text after the docstring."""
    body = [each for each in function.body if not (isinstance(each, ast.Expr) and is_text(each.value))]
    returned = len(body) == 1 and isinstance(body[0], ast.Return) and is_text(body[0].value)
    return function.name == "__repr__" or not body or returned


def mutations_of(function: ast.FunctionDef | ast.AsyncFunctionDef, path: str, text: bytes) -> list[Mutation]:
    """All mutations of one function, in the order of the source."""
    begins = [0, *(found.end() for found in re.finditer(rb"\n", text))]
    found = []
    for node in own_nodes(function):
        place = node.test if isinstance(node, ast.If | ast.While | ast.IfExp) else node
        for variant in variants(node):
            start = begins[place.lineno - 1] + place.col_offset  # type: ignore[attr-defined]  # all have places
            end = begins[place.end_lineno - 1] + place.end_col_offset  # type: ignore[attr-defined]
            new = "pass" if variant is None else ast.unparse(ast.fix_missing_locations(variant))
            if isinstance(variant, ast.expr) and not isinstance(variant, ast.Constant | ast.Slice):
                new = f"({new})"
            old = text[start:end].decode()
            found.append(Mutation(path, place.lineno, start, end, old, new))  # type: ignore[attr-defined]
    return sorted(found, key=lambda each: (each.start, each.end, each.new))


def chosen(root: Path, seed: int, number: int) -> list[Mutation]:
    """Mutations of different functions: a function is drawn by the number of its lines with code, then one of its places."""
    pools, weights = [], []
    for module in sorted((root / PACKAGE).rglob("*.py")):
        text = module.read_bytes()
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_wording(node):
                continue
            if found := mutations_of(node, module.relative_to(root).as_posix(), text):
                pools.append(found)
                weights.append(len({each.lineno for each in own_nodes(node) if hasattr(each, "lineno")}))
    drawn = random.Random(seed)
    order: list[Mutation] = []
    while pools and len(order) < number:
        [k] = drawn.choices(range(len(pools)), weights)
        order.append(drawn.choice(pools.pop(k)))
        weights.pop(k)
    return order


def near_tests(root: Path, path: str) -> list[str]:
    """The module itself, for its doctests, and the test files that bear its name or import it: the former first."""
    module = Path(path).with_suffix("")
    parts = module.parts[:-1] if module.name == "__init__" else module.parts
    parent, name = ".".join(parts[:-1]), parts[-1]
    imports = re.compile(
        rf"{re.escape('.'.join(parts))}\b|from {re.escape(parent)} import [^\n]*\b{name}\b"
        if parent
        else rf"import {name}\b"
    )
    bearing, importing = [], []
    for test in sorted((root / "tests").rglob("test_*.py")):
        relative = test.relative_to(root).as_posix()
        if name in test.stem:
            bearing.append(relative)
        elif imports.search(test.read_text(encoding="utf-8")):
            importing.append(relative)
    return [path, *bearing, *importing]


def make_copy(root: Path, python: str, folder: Path) -> Path:
    """A copy of the tree with an environment of its own, which has the packages of the given Python, and the copy before
    them; returns its Python."""
    shutil.copytree(root, folder, ignore=NOT_COPIED, symlinks=True)
    subprocess.run([python, "-m", "venv", "--without-pip", "--symlinks", folder / ".venv"], check=True)
    ask = [python, "-c", "import json, sys; print(json.dumps([sys.executable, *filter(None, sys.path)]))"]
    executable, *paths = json.loads(subprocess.run(ask, check=True, capture_output=True, text=True).stdout)
    own = folder / ".venv/bin/python"
    where = [str(own), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip())
    foreign = [each for each in paths if Path(each).resolve() != root and "site-packages" in each]
    (site / "copy.pth").write_text("\n".join([str(folder), *foreign]) + "\n", encoding="utf-8")
    shutil.copy(root / f"{PACKAGE}.pth", site)
    for script in Path(executable).parent.iterdir():
        with suppress(UnicodeDecodeError, IsADirectoryError):
            text = script.read_text(encoding="utf-8")
            if (
                text.startswith("#!")
                and "python" in text.partition("\n")[0]
                and not (own.parent / script.name).exists()
            ):
                (own.parent / script.name).write_text(f"#!{own}\n{text.partition(chr(10))[2]}", encoding="utf-8")
                (own.parent / script.name).chmod(0o755)
    shown = subprocess.run(
        [str(own), "-c", f"import {PACKAGE}; print({PACKAGE}.__file__)"], capture_output=True, text=True, cwd="/"
    )
    assert shown.stdout.startswith(str(folder)), shown
    return own


def failing(python: Path, root: Path, options: Sequence[str], silence: float) -> tuple[list[str], int, str]:
    """The tests that pytest says fail, its exit code, and its last line; a test in which nothing is printed for so many
    seconds fails too, and ends the run."""
    command = [str(python), "-m", "pytest", "-v", "--tb=no", "--no-header", "-p", "no:cacheprovider", "-rfE", *options]
    environment = {**os.environ, "TMPDIR": str(root.parent)}
    running = subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    assert running.stdout is not None
    said = b""
    try:
        while True:
            if not select.select([running.stdout], [], [], silence)[0]:
                test = said.rpartition(b"\n")[2].decode(errors="replace").strip()
                return [test + TIMEOUT], -1, "timeout"
            part = os.read(running.stdout.fileno(), 1 << 16)
            if not part:
                break
            said += part
    finally:
        if running.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                running.wait(5)  # it has closed its output
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    text = said.decode(errors="replace")
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.MULTILINE)
    return failed, running.wait(), text.strip().rpartition("\n")[2]


class Results:
    """What is known of each mutation, by its words; a file of one JSON object a line, to which every outcome is added."""

    def __init__(self, path: Path | None):
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        self.of: dict[str, dict] = {}
        self.failing: list[str] = []  # tests that fail without a mutation
        for line in lines:
            self._take(json.loads(line))

    def _take(self, row: dict) -> None:
        if "mutation" in row:
            self.of[row["mutation"]] = row
        else:
            self.failing.append(row["failing"])

    def add(self, row: dict) -> None:
        self._take(row)
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def run(order: Sequence[Mutation], args: argparse.Namespace, results: Results) -> None:
    """Gives each mutation an outcome: those near first, then the whole suite."""
    with tempfile.TemporaryDirectory(prefix="mutations-") as place:
        copies: Queue[tuple[Path, Path]] = Queue()
        for job in range(args.jobs):
            folder = Path(place, str(job), "tree")
            folder.parent.mkdir()
            copies.put((folder, make_copy(args.tree, args.python, folder)))
        whole = ["-n", str(args.workers), "--dist", "worksteal"] if args.workers else []
        left_out = list(results.failing)

        def killer(mutation: Mutation, folder: Path, python: Path, tests: list[str]) -> tuple[str, str]:
            """The first test that fails with the mutation and passes without it, or "", and pytest's last line."""
            while True:
                restore = mutation.apply(folder)
                try:
                    options = ["-x", *(f"--deselect={test}" for test in left_out), *tests]
                    failed, code, last = failing(python, folder, options, args.timeout)
                finally:
                    restore()
                if not failed:  # 5: no test was selected; else pytest could not even start
                    return ("" if code in (0, 5) else last), last
                alone = failed[0].removesuffix(TIMEOUT)
                if "::" not in alone and failed[0].endswith(TIMEOUT):  # no single test hangs
                    return failed[0].strip(), last
                if failing(python, folder, [alone], args.timeout)[1] == 0:
                    return failed[0], last
                left_out.append(alone)
                results.add({"failing": alone})

        def one(mutation: Mutation, stage: str) -> None:
            known = results.of.get(str(mutation), {})
            if known.get("killed_by") or known.get("stage") in (stage, "whole"):
                return
            folder, python = copies.get()
            try:
                tests = near_tests(folder, mutation.path) if stage == "near" else whole
                killed, last = killer(mutation, folder, python, tests)
            finally:
                copies.put((folder, python))
            results.add({"mutation": str(mutation), "stage": stage, "killed_by": killed, "last": last})

        with ThreadPoolExecutor(args.jobs) as pool:
            for stage in ("near", "whole"):
                list(pool.map(lambda mutation: one(mutation, stage), order))


def table(order: Sequence[Mutation], results: Results, equivalent: dict[int, str]) -> str:
    """The mutations and their outcomes, as Markdown."""
    rows = ["| | place | old | new | killed by |", "|---|---|---|---|---|"]
    for number, mutation in enumerate(order, 1):
        known = results.of.get(str(mutation), {})
        outcome = {"": "not run", "near": "survives the near tests", "whole": "SURVIVED"}[known.get("stage", "")]
        outcome = known.get("killed_by") or (f"equivalent: {equivalent[number]}" if number in equivalent else outcome)
        old, new, outcome = (
            " ".join(each.split()).replace("|", "\\|") for each in (mutation.old, mutation.new, outcome)
        )
        rows.append(f"| {number} | {mutation.path}:{mutation.line} | `{old:.80}` | `{new:.80}` | {outcome:.160} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=lambda path: Path(path).resolve(), default=Path(__file__).resolve().parents[1])
    parser.add_argument("--python", help="interpreter with the packages (default: .venv of the tree, else this one)")
    parser.add_argument("--seed", type=int, default=39)
    parser.add_argument("--number", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1, help="mutations at a time")
    parser.add_argument("--workers", type=int, default=0, help="of pytest-xdist, for the whole suite")
    parser.add_argument(
        "--timeout", type=float, default=300, help="seconds without output, after which a test has failed"
    )
    parser.add_argument("--results", type=Path, help="file of outcomes (JSON lines), which a later run continues")
    parser.add_argument("--equivalent", nargs="+", default=[], metavar="NUMBER=REASON", help="they change no behaviour")
    parser.add_argument("--list", action="store_true", help="run nothing")
    args = parser.parse_args()
    own = args.tree / ".venv/bin/python"
    args.python = args.python or (str(own) if own.exists() else sys.executable)
    equivalent = {int(number): reason for number, _, reason in (each.partition("=") for each in args.equivalent)}
    order, results = chosen(args.tree, args.seed, args.number), Results(args.results)
    if not args.list:
        run([each for number, each in enumerate(order, 1) if number not in equivalent], args, results)
    print(table(order, results, equivalent))


if __name__ == "__main__":
    main()
