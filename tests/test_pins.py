"""The files of pins name everything that an install brings, and agree with each other."""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILES = ["constraints.txt", "constraints-modern.txt"]
RECIPES = ["integrations/requirements.txt", "integrations/requirements-mbrs.txt"]
OF_CUDA = re.compile(r"(cuda|nvidia)-|triton$")


def pins(file: str) -> dict[str, str]:
    """The version of each package that a file pins, by the package's canonical name."""
    lines = [line for line in (ROOT / file).read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    found = [re.fullmatch(r"([\w.-]+)==([\w.]+)(; .*)?", line) for line in lines]  # no local versions such as +cpu
    assert None not in found, lines[found.index(None)]
    versions = {canonicalize_name(each[1]): each[2] for each in found}
    assert len(versions) == len(lines), f"{file} pins a package twice"
    return versions


def installed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> Iterator[str]:
    """What is installed here of what a package needs, also of what that needs in turn."""
    if (name, extras) in seen:
        return
    seen.add((name, extras))
    try:
        package = distribution(name)
    except PackageNotFoundError:  # of an extra that this environment is without
        return
    yield canonicalize_name(name)
    for line in package.requires or ():
        needed = Requirement(line)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras or {""}):
            yield from installed(canonicalize_name(needed.name), frozenset(needed.extras), seen)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no pins for Python 3.10")
def test_everything_installed_is_pinned():
    own = distribution("ctx-metrics").metadata.get_all("Provides-Extra")
    names = {*installed("ctx-metrics", frozenset(own), set())} - {"ctx-metrics"}
    with_comet = "unbabel-comet" in names
    missing = [name for name in names - pins(FILES[not with_comet]).keys() if not OF_CUDA.match(name)]
    assert len(names) > 50 and sorted(missing) == []


@pytest.mark.parametrize("recipes, constraints", [(RECIPES[0], FILES[1]), (RECIPES[1], FILES[0])])
def test_the_recipes_change_no_pin(recipes, constraints):
    """They are installed with --no-deps, so another version would take the place of the tested one."""
    ours, theirs = pins(constraints), pins(recipes)
    assert {name: version for name, version in theirs.items() if ours.get(name, version) != version} == {}
