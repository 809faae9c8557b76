"""The layout of the package as docs/architecture.md gives it: arrows point down only, in no circle, and files are short."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import ctx_metrics

ROOT = Path(ctx_metrics.__file__).parent
MOST_LINES = 400
# from the top; rooms in one line do not know each other, what is not named lies in the package's folder and below all
FLOORS = [
    ["cli", "plugin"],
    ["training", "report"],
    ["meta", "choice"],
    ["scale"],
    ["judgements", "metrics"],
    ["features"],
    ["scoring", "roundtrip"],
    ["run"],
    ["pseudo_references"],
    ["models"],
    ["engine"],
]
HEIGHTS = {room: -floor for floor, rooms in enumerate(FLOORS) for room in rooms}
GROUND = -len(FLOORS)


def modules() -> dict[str, Path]:
    """The package's modules by their names without the package's, such as engine.pairs; a package by its own name."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").rstrip("."): path
        for path in ROOT.rglob("*.py")
    }


def imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules that a module imports, also inside functions; not what it imports for type checkers alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in for_types:
            above = package[: len(package) - node.level + 1]
            base = ".".join([*above, *([node.module] if node.module else [])]).lstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                yield inner if inner in known else base


def room(name: str) -> str:
    return name.partition(".")[0]


def test_arrows_point_down():
    known = modules()
    assert {room(name) for name, path in known.items() if (ROOT / room(name)).is_dir() and name} == HEIGHTS.keys()
    up = [
        f"{name} -> {target}"
        for name, path in known.items()
        for target in imported(name, path, known)
        if name and room(name) != room(target) and HEIGHTS.get(room(name), GROUND) <= HEIGHTS.get(room(target), GROUND)
        if room(name) in HEIGHTS or room(target) in HEIGHTS
    ]
    assert up == []


def test_parsed_arguments_stay_above():
    """Below the commands a value of settings is passed on, whichever flags gave it; settings itself makes it."""
    named = {
        name
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if "Namespace" in (getattr(node, "attr", ""), getattr(node, "id", ""))
    }
    assert {room(name) for name in named} <= {"cli", "plugin", "settings"}


def test_every_import_names_a_module():
    """Also those inside functions, which no other test may run; mypy passes over what it cannot find."""
    known = modules()
    assert {
        f"{name} -> {target}"
        for name, path in known.items()
        for target in imported(name, path, known)
        if target not in known
    } == set()


def test_no_import_goes_in_a_circle():
    known = modules()
    graph = {name: set(imported(name, path, known)) - {name} for name, path in known.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_no_module_is_long():
    lengths = {name: path.read_text(encoding="utf-8").count("\n") for name, path in modules().items()}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}
