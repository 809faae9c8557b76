"""Entry points through which installed packages add metrics, subcommands and kinds of model folders."""

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import CtxMetricsError
from .notices import say

if TYPE_CHECKING:
    from importlib import metadata

T = TypeVar("T")


@functools.cache
def _of_all_groups() -> "metadata.EntryPoints | metadata.SelectableGroups":
    from importlib import metadata

    return metadata.entry_points()


@functools.cache
def installed(group: str) -> "Sequence[metadata.EntryPoint]":
    """Return the entry points of a group; packages whose entry points cannot be read are left out and named on stderr."""
    from importlib import metadata  # imported here because a run of sacrebleu's own metrics does not need it

    try:
        return tuple(_of_all_groups().select(group=group))
    except Exception:  # one faulty package makes the call fail for all, so they are read one by one
        entry_points: dict[str, Iterable[metadata.EntryPoint]] = {}
    for package in metadata.distributions():
        if package.name in entry_points:  # the first on the path is the one that is imported
            continue
        try:
            entry_points[package.name] = package.entry_points.select(group=group)
        except Exception as error:
            entry_points[package.name] = ()
            if why := _fault(package, group, error):
                what = group.rpartition(".")[2]
                say(f"the {what} of the package {package.name} are left out: {why}")
    return tuple(entry_point for of_package in entry_points.values() for entry_point in of_package)


def loaded(entry_point: "metadata.EntryPoint", what: str) -> Any:
    """Return the object that an entry point names; `what` begins the message of the CtxMetricsError if that fails."""
    try:
        return entry_point.load()
    except (Exception, SystemExit) as error:  # another package's code may raise anything
        raise CtxMetricsError(
            f"{what} {entry_point.name} ({entry_point.value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def loaded_or_named(group: str, kind: type[T]) -> list[T]:
    """Return a group's objects, sorted by entry point; one that cannot be loaded or is no `kind` is only named on stderr."""
    found = []
    for entry_point in sorted(installed(group), key=lambda each: (each.name, each.value)):
        try:
            value = entry_point.load()
            if not isinstance(value, kind):
                raise TypeError(f"{value!r} is not a {kind.__name__}")
            found.append(value)
        except (Exception, SystemExit) as error:  # another package's code may raise anything
            what, why = group.rpartition(".")[2].removesuffix("s"), f"{type(error).__name__}: {error}"
            where = f"the {what} {entry_point.name} ({entry_point.value})"
            say(f"{where} is left out: {why}")
    return found


def _fault(package: "metadata.Distribution", group: str, error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return f"its entry_points.txt is not UTF-8: {error}"
    lines = [line.strip() for line in (package.read_text("entry_points.txt") or "").splitlines()]
    if f"[{group}]" not in lines:
        return ""
    for number, line in enumerate(lines, 1):
        if line and line[0] not in "#[" and "=" not in line:
            return f"its entry_points.txt, line {number}: {line!r} is not NAME = MODULE:CLASS"
    return f"its entry_points.txt cannot be read: {error}"
