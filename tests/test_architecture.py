"""The layout of the package as docs/architecture.md gives it: a core that knows no family, arrows that point down, no circle."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from layout import CORE, FAMILIES

import ctx_metrics

ROOT = Path(ctx_metrics.__file__).parent
HEIGHTS = {package: -floor for floor, packages in enumerate(CORE) for package in packages}
GROUND = -len(CORE)


@cache
def modules() -> dict[str, ast.Module]:
    """The package's modules by their names without the package's, such as engine.pairs; a package by its own name."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").rstrip("."): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in ROOT.rglob("*.py")
    }


@cache
def nodes(name: str) -> list[ast.AST]:
    """All nodes of a module."""
    return list(ast.walk(modules()[name]))


@cache
def imported(name: str) -> frozenset[str]:
    """The modules that a module imports, also inside functions; not what it imports for type checkers alone."""
    for_types = {
        id(node)
        for block in nodes(name)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    is_package = (ROOT.joinpath(*name.split(".")) / "__init__.py").exists()
    around = name.split(".") if is_package else name.split(".")[:-1]
    found = set()
    for node in nodes(name):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in for_types:
            above = around[: len(around) - node.level + 1]
            base = ".".join([*above, *([node.module] if node.module else [])]).lstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                found.add(inner if inner in modules() else base)
    return frozenset(found)


@cache
def package(name: str) -> str:
    """The package of a module within ctx_metrics; "" for one in its folder."""
    return name.partition(".")[0] if (ROOT / name.partition(".")[0]).is_dir() else ""


@cache
def crossings() -> list[tuple[str, str]]:
    """All imports of a module of another package: (module, imported module)."""
    return [
        (name, target)
        for name in modules()
        for target in sorted(imported(name))
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
    """Below the commands and the inputs a value of settings is passed on, whichever flags gave it; settings itself makes it."""
    named = {
        name
        for name in modules()
        if any("Namespace" in (getattr(node, "attr", ""), getattr(node, "id", "")) for node in nodes(name))
    }
    inputs = {name for name in named if name.endswith(".inputs")}
    of_commands = {name for name in named if package(name) == "plugin" or ".cli" in f".{name}"}
    assert named - inputs - of_commands == {"settings"}


def test_every_import_names_a_module():
    """Also those inside functions, which no other test may run; mypy passes over what it cannot find."""
    assert {(name, target) for name in modules() for target in imported(name) - modules().keys()} == set()


def test_no_import_goes_in_a_circle():
    graph = {name: imported(name) - {name} for name in modules()}
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_the_page_names_what_exists():
    page = (ROOT.parent / "docs/architecture.md").read_text(encoding="utf-8")
    for path in re.findall(r"`([a-z_]+/[a-z_/]*)`", page):
        name = path.rstrip("/")
        known = (
            [each for each in ROOT.parent.glob(name) if each.is_dir()],
            [*ROOT.rglob(name), *ROOT.rglob(f"{name}.py")],
        )
        assert any(known), path


@cache
def names(module: str) -> set[str]:
    """All names that a module binds or reads."""
    return {getattr(each, field, "") for each in nodes(module) for field in ("name", "asname", "id")}


def test_scripts_import_what_exists():
    """Benchmarks, recipes and tools do not run in the tests; a moved module would break them unnoticed."""
    for folder in ("benchmarks", "docs", "examples", "integrations", "tests/recording"):
        for path in (ROOT.parent / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("ctx_metrics."):
                    continue
                module = node.module.partition(".")[2]
                bound = names(module)
                for alias in node.names:
                    assert alias.name in bound or f"{module}.{alias.name}" in modules(), f"{path}: {alias.name}"
