"""The size and the shape of a source tree in figures, as a Markdown table; each function's docstring says how it counts.

python tests/figures.py TREE        # TREE has its environment in .venv, which runs the traced commands
python tests/figures.py TREE -v     # also the places behind a figure

Before the package had a core and families (commit b49e76e), a review found these figures, some by other definitions:

lines 36,129; public names 1,091; lines of tests 39,146; fields of Context 14
`sacrebleu -m bertr` 46 modules, 429 functions, depth 20 (here 45 / 428 / 20)
changes of package, bertr and slide 41 and 57 (here 41 and 58); returns in mbr 17 (here 15)
concepts on the page 20, counted by hand (here 27)
reads of args. 666; places that parse a message or filter the logger 10
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from layout import CORE

PACKAGE = "ctx_metrics"
FOLDERS_OF_CORE = {name for floor in CORE for name in floor}  # all others are families
CONTEXT, CAPABILITIES, BASE = "Context", "Capabilities", "ContextMetric"  # classes, wherever they are
SCRIPTS = "figures.py figures_trace.py mutations.py sentences.py".split()  # of tests/
WRAPPING = "scoring/scores.py"
OF_SACREBLEU = set(
    "_ref_cache _force _SIGNATURE_TYPE _cache_references _preprocess_segment _extract_reference_info "
    "_compute_segment_statistics _extract_corpus_statistics _aggregate_and_compute _compute_score_from_stats "
    "_check_sentence_score_args _check_corpus_score_args _remove_punctuation".split()
)
PAGE = "docs/adding-a-metric.md"
SYSTEMS = ["system_a.en.txt", "system_b.en.txt", "system_c.en.txt"]
COMMANDS = {
    "bertr": ["sacrebleu", "ref.en.txt", "-i", SYSTEMS[0], "-m", "bertr"],
    "slide": ["sacrebleu", "ref.en.txt", "-i", SYSTEMS[0], "-m", "slide", "--docids", "docids.txt", "-l", "de-en"],
    "mbr": ["ctx-metrics", "mbr", *SYSTEMS, "-m", "chrf", "-q", "-o", os.devnull],
}
Function = ast.FunctionDef | ast.AsyncFunctionDef
TEXT_METHODS = "partition rpartition split rsplit splitlines replace removeprefix removesuffix startswith endswith find index".split()
PATTERN_METHODS = "search match fullmatch findall finditer sub subn split".split()


@dataclass(frozen=True)
class Place:
    """A line of the source, and why it counts."""

    path: str
    line: int
    why: str
    scope: str = ""  # the function or class around it

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.why}"


@dataclass(frozen=True)
class Figure:
    """One row of the table, and the places that it counts."""

    title: str
    value: str
    places: Iterable[Place | str] = ()


class Module:
    """One file of the package."""

    def __init__(self, path: Path, root: Path):
        self.text = path.read_text(encoding="utf-8")
        self.path = path.relative_to(root).as_posix()  # such as scoring/base.py
        self.tree = ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that a node is in, from the inside."""
        while node := self.parents.get(node):  # type: ignore[assignment]  # None at the end
            yield node

    def function(self, node: ast.AST) -> Function | None:
        """The innermost function that a node is in."""
        return next((each for each in self.around(node) if isinstance(each, Function)), None)

    def place(self, node: ast.AST, why: str) -> Place:
        scopes = [each.name for each in self.around(node) if isinstance(each, Function | ast.ClassDef)]
        own = [node.name] if isinstance(node, Function | ast.ClassDef) else []
        return Place(self.path, node.lineno, " ".join(why.split()), ".".join([*reversed(scopes), *own]))  # type: ignore[attr-defined]


class Tree:
    """A source tree, read once."""

    def __init__(self, root: Path):
        self.root, self.package = root, root / PACKAGE
        self.modules = [Module(path, self.package) for path in sorted(self.package.rglob("*.py"))]
        tops = {module.path.partition("/")[0] for module in self.modules if "/" in module.path}
        self.families = sorted(tops - FOLDERS_OF_CORE)

    def family(self, path: str) -> str:
        """The family whose folder a file or folder of the package is in, "" for the core."""
        top = path.partition("/")[0]
        return top if top in self.families else ""

    def classes(self, name: str) -> list[tuple[Module, ast.ClassDef]]:
        """The package's classes with a name, at any depth."""
        return [
            (module, node)
            for module in self.modules
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef) and node.name == name
        ]

    def fields(self, name: str) -> list[str]:
        """The annotated fields of the class with this name; of the one with the most where there are several."""
        of_all = [
            [
                each.target.id
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            ]
            for _, node in self.classes(name)
        ]
        return max(of_all, key=len, default=[])


def size(tree: Tree) -> list[Figure]:
    """Line ends in, and number of, all *.py files under ctx_metrics/; those of the core and of each family apart."""

    def shown(modules: Iterable[Module]) -> str:
        found = list(modules)
        return f"{sum(each.lines for each in found):,} / {len(found)}"

    of_family = {name: [m for m in tree.modules if tree.family(m.path) == name] for name in ["", *tree.families]}
    core = of_family.pop("")
    each = [f"{name}: {shown(modules)}" for name, modules in of_family.items()]
    return [
        Figure("lines / files in the package", shown(tree.modules)),
        Figure("lines / files in the core", shown(core)),
        Figure("lines / files in the families", shown(m for found in of_family.values() for m in found), each),
    ]


def imported(tree: Tree) -> Iterator[tuple[Module, ast.AST, str]]:
    """What each module imports of the package, relatively or absolutely, by the path without .py: a name that is a module
    itself counts as that module. Everywhere: under TYPE_CHECKING and inside functions too."""
    known = {module.path.removesuffix(".py").removesuffix("/__init__") for module in tree.modules}
    for module in tree.modules:
        folder = module.path.split("/")[:-1]
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                found = [alias.name.split(".")[1:] for alias in node.names if alias.name.split(".")[0] == PACKAGE]
                yield from ((module, node, "/".join(each)) for each in found)
            elif isinstance(node, ast.ImportFrom):
                named = node.module.split(".") if node.module else []
                if not node.level and named[:1] != [PACKAGE]:
                    continue
                base = [*folder[: len(folder) - node.level + 1], *named] if node.level else named[1:]
                for target in dict.fromkeys("/".join([*base, alias.name]) for alias in node.names):
                    yield module, node, target if target in known else "/".join(base)


def imports_of_families(tree: Tree) -> Figure:
    """Import statements in the core that name a module of a family, once for each such module (see imported); those of the
    package's own names, which only type checkers run, are counted apart. Names in strings (entry points, import_module) do
    not count."""
    found = {
        module.place(node, f"imports {target.replace('/', '.')} ({tree.family(f'{target}.py') or tree.family(target)})")
        for module, node, target in imported(tree)
        if not tree.family(module.path) and (tree.family(f"{target}.py") or tree.family(target))
    }
    places = sorted(found, key=lambda place: (place.path, place.line, place.why))
    named = sum(place.path == "__init__.py" for place in places)
    return Figure(
        "imports from core to families", f"{len(places) - named} (and {named} names for type checkers)", places
    )


def context_fields(tree: Tree) -> Figure:
    """Annotated fields of the class Context; properties do not count."""
    fields = tree.fields(CONTEXT)
    return Figure("Context fields", str(len(fields)), [", ".join(fields)])


def called(tree: Tree, names: Collection[str], outside: str) -> list[Place]:
    """Calls of functions or classes by these names, in modules outside a folder of the package."""
    return [
        module.place(node, ast.unparse(node.func))
        for module in tree.modules
        if not module.path.startswith(f"{outside}/")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in names
    ]


def one_path(tree: Tree) -> list[Figure]:
    """Where a run is put together: calls of Context, and calls of the checks of texts (check_texts, check_faults and
    check_plain_text) outside the folder that defines them, each with the number of files."""
    defining = "checks" if any(module.path.startswith("checks/") for module in tree.modules) else "run"
    contexts = called(tree, [CONTEXT], "-")
    checks = called(tree, ["check_texts", "check_faults", "check_plain_text"], defining)
    checks += called(tree, ["say_faults"], "-")

    def shown(places: list[Place]) -> str:
        return f"{len(places)} / {len({place.path for place in places})}"

    return [
        Figure("places / files that construct a Context", shown(contexts), contexts),
        Figure("places / files that check texts", shown(checks), checks),
    ]


def complexity(tree: Tree) -> Figure:
    """Functions with a cyclomatic complexity above 20, as ruff's rule C901 counts it."""
    rule = ["--select", "C901", "--config", "lint.mccabe.max-complexity=20", "--output-format", "concise"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", *rule, tree.package], capture_output=True, text=True
    )
    found = [line for line in done.stdout.splitlines() if " C901 " in line]
    return Figure("functions of complexity above 20", str(len(found)), found)


def uses_of_hooks(tree: Tree) -> Figure:
    """Private names read from anything but self, cls, type(self), super() and BASE itself, with the number of modules:

    - those of sacrebleu's metrics (OF_SACREBLEU), outside the one module that wraps them, WRAPPING
    - the others that our base class defines, outside the folder scoring
    """
    of_base = {name for name in bindings(tree.classes(BASE)[0][1]) if re.match("_(?!_)", name)} - OF_SACREBLEU
    found = [
        module.place(node, ast.unparse(node))
        for module in tree.modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and (
            (node.attr in OF_SACREBLEU and module.path != WRAPPING)
            or (node.attr in of_base and not module.path.startswith("scoring/"))
        )
        and ast.unparse(node.value) not in ("self", "cls", "type(self)", "super()", BASE)
    ]
    modules = len({place.path for place in found})
    return Figure("private hooks of metrics used from elsewhere / modules", f"{len(found)} / {modules}", found)


Call = tuple[str, int, str, bool, int, bool]


def traced(tree: Tree, command: str) -> list[Call]:
    """The calls of the package's functions in one of COMMANDS, run in examples/ by the tree's own environment: see
    figures_trace.py."""
    script, *arguments = COMMANDS[command]
    own, tracer = tree.root / ".venv/bin", Path(__file__).with_name("figures_trace.py")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "calls.json")
        subprocess.run(
            [str(own / "python"), str(tracer), str(tree.package), str(output), str(own / script), *arguments],
            cwd=tree.root / "examples",
            check=True,
            capture_output=True,
        )
        return [tuple(call) for call in json.loads(output.read_text(encoding="utf-8"))]


def walk(calls: Iterable[Call]) -> list[str]:
    """The path through the package's top folders: of each function with a name (no lambda, no comprehension) where it is
    called first, without calls while a module is imported, and without modules that lie in the package's folder itself;
    a folder that comes several times in a row counts once."""
    first = {
        (path, line, name): path
        for path, line, name, in_import, *_ in calls
        if not in_import and not name.endswith(">")  # such as <lambda>
    }
    folders = [path.partition("/")[0] for path in first.values() if "/" in path]
    return [folder for before, folder in pairwise(["", *folders]) if folder != before]


def walks(tree: Tree) -> list[Figure]:
    """Of `sacrebleu -m bertr` on system A of examples/, in the main thread:

    modules      of the package in which a function, lambda or comprehension ran, also while modules were imported
    functions    distinct ones among them (by file, first line and name)
    depth        the most functions of the package that were on the stack at once; those of sacrebleu do not count
    changes      of the top folder along the walk (see walk), also for slide with --docids and -l

    Returns: steps of the walk of `ctx-metrics mbr -m chrf` on the three systems into a folder that it has left before, from
    where the command line has been parsed.
    """
    bertr = traced(tree, "bertr")
    modules, functions = {call[0] for call in bertr}, {call[:3] for call in bertr}
    of_bertr, of_slide = walk(bertr), walk(traced(tree, "slide"))
    of_mbr = walk(call for call in traced(tree, "mbr") if call[5])
    returns = len(of_mbr) - len(set(of_mbr))
    numbers = f"{len(modules)} / {len(functions)} / {max(call[4] for call in bertr)}"
    families = sorted(path for path in modules if tree.family(path))
    return [
        Figure(
            "`sacrebleu -m bertr`: modules / functions / depth",
            numbers,
            [*sorted(modules), f"of families: {', '.join(families) or 'none'}"],
        ),
        Figure("modules of families that it runs", str(len(families)), families),
        Figure(
            "changes of package, bertr / slide",
            f"{len(of_bertr) - 1} / {len(of_slide) - 1}",
            [" ".join(of_bertr), " ".join(of_slide)],
        ),
        Figure("returns to an earlier package in mbr", str(returns), [" ".join(of_mbr)]),
    ]


def bindings(node: ast.ClassDef) -> set[str]:
    """The names that a class's body defines: methods and attributes, also those that are only annotated."""
    found = set()
    for each in node.body:
        if isinstance(each, Function):
            found.add(each.name)
        elif isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def hooks(tree: Tree) -> set[str]:
    """What ContextMetric defines and the body of a class derived from it, at any distance, defines again."""
    classes = {node.name: node for m in tree.modules for node in ast.walk(m.tree) if isinstance(node, ast.ClassDef)}
    derived = {BASE}
    while more := {
        name
        for name, node in classes.items()
        if name not in derived and any(ast.unparse(base).split("[")[0].split(".")[-1] in derived for base in node.bases)
    }:
        derived |= more
    below = set().union(*(bindings(classes[name]) for name in derived - {BASE}))
    return (bindings(classes[BASE]) & below) - {"__init__", "__signature__"} if BASE in classes else set()


def concepts(tree: Tree) -> list[Figure]:
    """What the author of a metric has to know. In the code: the fields of Capabilities, the fields of Context, the hooks (see
    hooks), and rows, notices and laws where the page has these words. On the page: those among them that it names in code (a
    block, or between backticks). The lines of docs/adding-a-metric.md are all of the file."""
    page = (tree.root / PAGE).read_text(encoding="utf-8")
    kinds = {"capability fields": set(tree.fields(CAPABILITIES)), "context fields": set(tree.fields(CONTEXT))}
    kinds["hooks"] = hooks(tree)
    names = set().union(*kinds.values())

    def words(text: str) -> list[str]:
        return [word for word in ("rows", "notices", "laws") if re.search(rf"\b{word}?\b", text)]

    def named(text: str) -> list[str]:
        code = "\n".join(re.findall(r"^```.*?^```|^ {4,}.*?$|`[^`\n]+`", text, re.MULTILINE | re.DOTALL))
        return [*(name for name in sorted(names) if re.search(rf"(?<![\w-]){re.escape(name)}\b", code)), *words(text)]

    listed = [f"{kind}: {', '.join(sorted(found))}" for kind, found in kinds.items()]
    numbers = ", ".join(f"{len(found)} {kind}" for kind, found in kinds.items())
    found = named(page)
    return [
        Figure("concepts needed to add a metric, in the code", f"{len(names) + len(words(page))} ({numbers})", listed),
        Figure(f"those that {PAGE} names", str(len(found)), [", ".join(found)]),
        Figure(f"lines of {PAGE}", str(page.count("\n"))),
    ]


def is_namespace(node: ast.AST, function: Function | None) -> bool:
    """Whether an expression is `args`, an attribute .args, or a parameter of the function with the type Namespace."""
    if isinstance(node, ast.Attribute):
        return node.attr == "args"
    if not isinstance(node, ast.Name):
        return False
    parameters = function.args.args if function else []
    typed = [each.arg for each in parameters if each.annotation and "Namespace" in ast.unparse(each.annotation)]
    return node.id in ("args", *typed)


def parses(function: Function | None) -> bool:
    """Whether a function is one that parses: it calls parse_args, parse_known_args or parse, or all that it does is to return
    one call, which turns the arguments into something else."""
    if function is None:
        return False
    body = [each for each in function.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    if len(body) == 1 and isinstance(body[0], ast.Return) and isinstance(body[0].value, ast.Call):
        return True
    called = {
        getattr(each.func, "attr", getattr(each.func, "id", ""))
        for each in ast.walk(function)
        if isinstance(each, ast.Call)
    }
    return bool(called & {"parse_args", "parse_known_args", "parse"})


def reads_of_arguments(tree: Tree) -> Figure:
    """Attributes that are loaded from parsed arguments (see is_namespace), and getattr, hasattr and vars of these, outside
    functions that parse (see parses). A function given to set_defaults(run=...) does not parse."""
    found = []
    for module in tree.modules:
        for node in ast.walk(module.tree):
            of = None
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                of = node.value
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr", "vars"):
                of = next(iter(node.args), None)
            if of is None:
                continue
            function = module.function(node)
            if is_namespace(of, function) and not parses(function):
                found.append(module.place(node, ast.unparse(node)))
    return Figure("reads of `args.` outside parsing functions", str(len(found)), found)


class Texts:
    """Which expressions of one function hold the text of an error, a log record or a signature."""

    def __init__(self, module: Module, function: ast.AST, own_errors: set[str]):
        self.kinds: dict[str, str] = {}  # of local names
        for node in ast.walk(function):
            if isinstance(node, ast.ExceptHandler) and node.name:
                caught = {each.id for each in ast.walk(node.type) if isinstance(each, ast.Name)} if node.type else set()
                kind = "own error" if caught & own_errors else "foreign error"
                self.kinds[node.name] = max(kind, self.kinds.get(node.name, ""))  # one name may have both; ours counts
        if isinstance(function, Function):
            for argument in function.args.args:
                if argument.arg in ("error", "exc", "exception"):
                    self.kinds.setdefault(argument.arg, "foreign error")
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and (kind := self.kind(node.value)):
                self.kinds |= {target.id: kind for target in node.targets if isinstance(target, ast.Name)}

    def kind(self, node: ast.AST) -> str:
        """What text an expression holds: "own error", "foreign error", "log record", "signature" or ""."""
        if isinstance(node, ast.Name):
            return self.kinds.get(node.id, "signature" if node.id == "signature" else "")
        if isinstance(node, ast.Subscript):
            return self.kind(node.value)
        if isinstance(node, ast.Attribute):
            return self.kind(node.value) if node.attr == "args" else "log record" if node.attr == "msg" else ""
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name == "getMessage":
                return "log record"
            if name == "get_signature":
                return "signature"
            if name in ("str", "repr") and node.args:
                return self.kind(node.args[0])
            if isinstance(node.func, ast.Attribute) and name in ("format", "lower", "strip", *TEXT_METHODS):
                return self.kind(node.func.value)
        return ""

    def parsed(self, node: ast.AST) -> str:
        """The kind of text that a node takes apart or looks into: by a method of strings, a regular expression or `in`."""
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            left_is_text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
            return self.kind(node.comparators[0]) if left_is_text else ""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return ""
        if node.func.attr in TEXT_METHODS and (kind := self.kind(node.func.value)):
            return "" if node.func.attr in ("split", "splitlines") and not node.args and "foreign" in kind else kind
        if node.func.attr in PATTERN_METHODS:
            kinds = [self.kind(each) for each in node.args]
            return next(filter(None, kinds), "")
        return ""


FLAG_OR_PLACE = re.compile(r"(?<!\w)--[a-z]|\bsegments?\b|\blines?\b|\bneeds a\b")


def takes_words(node: ast.AST) -> bool:
    """Whether a node replaces or finds a flag or "segment" or "line" in a text, which only messages have."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    if node.func.attr not in {*TEXT_METHODS, *PATTERN_METHODS} - {
        "split",
        "splitlines",
        "index",
        "removeprefix",
        "startswith",
    }:
        return False
    first = node.args[0] if node.args else None
    return isinstance(first, ast.Constant) and isinstance(first.value, str) and bool(FLAG_OR_PLACE.search(first.value))


def touches_logger(node: ast.AST) -> bool:
    """Whether a node defines a filter or handler of logging, or adds, removes or replaces one."""
    if isinstance(node, ast.ClassDef):
        bases = {ast.unparse(base).split(".")[-1] for base in node.bases}
        return bool(bases & {"Filter", "Handler", "StreamHandler"})
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("addFilter", "removeFilter", "addHandler", "removeHandler")
    return isinstance(node, ast.Attribute) and node.attr in ("filters", "handlers") and "log" in ast.unparse(node.value)


def parsed_messages(tree: Tree) -> list[Figure]:
    """Functions and classes that read words, a heuristic for a person to judge:

    - that take apart (partition, split, replace, regular expressions, "..." in) the text of an error of ours that they
      caught, of a log record or of a signature, held in a local name or not
    - that find or replace a flag, or "segment" or "line", in any text
    - that define, add, remove or replace filters and handlers of a logger

    Errors of other packages (caught by other names than ours, or given as a parameter called error) are counted apart: such
    code has nothing but their text. The outermost function or class counts once, however much it does.
    """
    own_errors = {"CtxMetricsError"}
    for _ in range(3):
        own_errors |= {
            node.name
            for module in tree.modules
            for node in ast.walk(module.tree)
            if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") in own_errors for base in node.bases)
        }
    own: list[Place] = []
    foreign: list[Place] = []
    for module in tree.modules:
        texts: dict[ast.AST, Texts] = {}
        for node in ast.walk(module.tree):
            function = module.function(node) or module.tree
            if function not in texts:
                texts[function] = Texts(module, function, own_errors)
            kind = texts[function].parsed(node)
            if not kind:
                kind = "logger" if touches_logger(node) else "words of a message" if takes_words(node) else ""
            if kind:
                shown = f"class {node.name}" if isinstance(node, ast.ClassDef) else ast.unparse(node)
                (foreign if kind == "foreign error" else own).append(module.place(node, f"{kind}: {shown:.100}"))
    return [
        Figure(title, str(len({(place.path, place.scope.partition(".")[0]) for place in places})), places)
        for title, places in (
            ("places that parse a message or filter the logger", own),
            ("places that parse another package's error", foreign),
        )
    ]


def public_names(tree: Tree) -> Figure:
    """Functions and classes without a leading underscore that stand in a module's own body, not under if or try."""
    found = [
        node.name
        for module in tree.modules
        for node in module.tree.body
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_")
    ]
    return Figure("public names at module level", f"{len(found):,}")


def lines_of_tests(tree: Tree) -> Figure:
    """Line ends in all *.py files under tests/, without the scripts that only measure (SCRIPTS)."""
    files = [path for path in sorted((tree.root / "tests").rglob("*.py")) if path.name not in SCRIPTS]
    return Figure("lines / files of tests", f"{sum(path.read_bytes().count(10) for path in files):,} / {len(files)}")


COUNTS: list[Callable[[Tree], Figure | list[Figure]]] = [
    size, imports_of_families, context_fields, one_path, complexity, uses_of_hooks, walks, concepts, reads_of_arguments, parsed_messages, public_names,
    lines_of_tests,
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=lambda path: Path(path).resolve(), metavar="TREE")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the places")
    args = parser.parse_args()
    tree = Tree(args.tree)
    found = [count(tree) for count in COUNTS]
    figures = [figure for each in found for figure in (each if isinstance(each, list) else [each])]
    print("| | |\n|---|---|")
    for figure in figures:
        print(f"| {figure.title} | {figure.value} |")
    for figure in figures if args.verbose else []:
        print(f"\n## {figure.title}: {figure.value}\n", *(f"- {place}" for place in figure.places), sep="\n")


if __name__ == "__main__":
    main()
