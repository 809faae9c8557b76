"""The layout of the package as docs/architecture.md gives it: a core that knows no family, arrows that point down, no circle."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import ctx_metrics

ROOT = Path(ctx_metrics.__file__).parent
MOST_LINES = 400
# the core, from the top; packages in one line do not know each other, and the modules in the package's folder are below all
CORE = [["cli", "plugin"], ["scale", "plots"], ["metrics"], ["scoring"], ["run"], ["models"], ["engine"]]
# each family, and the others that it imports
FAMILIES: dict[str, set[str]] = {
    "annotate": set(),
    "choice": set(),
    "learned": set(),
    "meta": {"report"},
    "pairwise": {"meta", "training"},
    "pseudo_references": {"meta", "training"},
    "report": {"meta"},
    "roundtrip": set(),
    "training": {"learned", "meta"},
}
HEIGHTS = {package: -floor for floor, packages in enumerate(CORE) for package in packages}
GROUND = -len(CORE)


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


def package(name: str) -> str:
    """The package of a module within ctx_metrics; "" for one in its folder."""
    return name.partition(".")[0] if (ROOT / name.partition(".")[0]).is_dir() else ""


def crossings() -> list[tuple[str, str]]:
    """All imports of a module of another package: (module, imported module)."""
    known = modules()
    return [
        (name, target)
        for name, path in known.items()
        for target in imported(name, path, known)
        if name and package(name) != package(target)
    ]


def test_every_package_is_listed():
    assert {package(name) for name in modules()} - {""} == HEIGHTS.keys() | FAMILIES.keys()


def test_the_core_imports_no_family():
    assert [(a, b) for a, b in crossings() if package(a) not in FAMILIES and package(b) in FAMILIES] == []


def test_arrows_of_the_core_point_down():
    up = [
        (a, b)
        for a, b in crossings()
        if not {package(a), package(b)} & FAMILIES.keys()
        if HEIGHTS.get(package(a), GROUND) <= HEIGHTS.get(package(b), GROUND)
    ]
    assert up == []


def test_families_import_those_that_are_listed():
    found = {
        family: {package(b) for a, b in crossings() if package(a) == family} & FAMILIES.keys() for family in FAMILIES
    }
    assert found == FAMILIES


def test_parsed_arguments_stay_above():
    """Below the commands a value of settings is passed on, whichever flags gave it; settings itself makes it."""
    named = {
        name
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if "Namespace" in (getattr(node, "attr", ""), getattr(node, "id", ""))
    }
    assert {
        name for name in named if ".cli" not in f".{name}" and package(name) != "plugin" and name != "settings"
    } == set()


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
