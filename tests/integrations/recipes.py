"""What the tests of the recipes share: the recipes as modules, and the example's texts."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FOLDER = EXAMPLES.parent / "integrations"
FILES = {
    "reference": str(EXAMPLES / "ref.en.txt"),
    "source": str(EXAMPLES / "source.de.txt"),
    "docids": str(EXAMPLES / "docids.txt"),
    **{name: str(EXAMPLES / f"system_{name}.en.txt") for name in "abc"},
}
TEXTS = {name: Path(path).read_text(encoding="utf-8").splitlines() for name, path in FILES.items()}
OUTPUTS, REFERENCES, SOURCES, DOCUMENTS = (TEXTS[name] for name in ("a", "reference", "source", "docids"))


@cache
def recipe(name: str) -> ModuleType:
    """A recipe under its own name, as its tool imports it; it is read once."""
    [path] = [*FOLDER.glob(f"{name}.py"), *FOLDER.glob(f"*/{name}.py"), *FOLDER.glob(f"{name}/__init__.py")][:1]
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def near(score: float):
    """Equal to a score within what batches round."""
    return pytest.approx(score, rel=1e-5, abs=1e-4)


def scored(cls: type, references: list[str] | None = REFERENCES, **given):
    """The corpus score of system A in Python, within what batches round."""
    if references is None:
        return near(cls([], **given).corpus_score(OUTPUTS, None).score)
    return near(cls(**given).corpus_score(OUTPUTS, [references]).score)
