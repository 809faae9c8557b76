"""What installed packages add, by entry points: metrics, subcommands, kinds of model folders."""

import functools
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import CtxMetricsError

if TYPE_CHECKING:
    from importlib import metadata

T = TypeVar("T")


@functools.cache
def _of_all_groups() -> "metadata.EntryPoints | metadata.SelectableGroups":
    """The entry points of all packages, whose files a process reads once; raises where one cannot be read."""
    from importlib import metadata

    return metadata.entry_points()


@functools.cache
def installed(group: str) -> "Sequence[metadata.EntryPoint]":
    """A group's entry points; a package whose entry points cannot be read has none, and is named on stderr."""
    from importlib import metadata  # not above: a run of sacrebleu's own metrics does without it

    try:
        return tuple(_of_all_groups().select(group=group))
    except Exception:  # raised for all packages, whichever has the fault; so they are read one by one
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
                sys.stderr.write(f"ctx-metrics: the {what} of the package {package.name} are left out: {why}\n")
    return tuple(entry_point for of_package in entry_points.values() for entry_point in of_package)


def loaded(entry_point: "metadata.EntryPoint", what: str) -> Any:
    """What an entry point names; raises CtxMetricsError with one line, which calls it `what`, where it cannot be loaded."""
    try:
        return entry_point.load()
    except (Exception, SystemExit) as error:  # another package's code: whatever it raises is why it is not there
        raise CtxMetricsError(
            f"{what} {entry_point.name} ({entry_point.value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def loaded_or_named(group: str, kind: type[T]) -> list[T]:
    """What a group's entry points name, in the order of their names; what cannot be loaded, or is of another kind, is left
    out, and named on stderr."""
    found = []
    for entry_point in sorted(installed(group), key=lambda each: (each.name, each.value)):
        try:
            value = entry_point.load()
            if not isinstance(value, kind):
                raise TypeError(f"{value!r} is no {kind.__name__}")
            found.append(value)
        except (Exception, SystemExit) as error:  # another package's code: whatever it raises is why it is not there
            what, why = group.rpartition(".")[2].removesuffix("s"), f"{type(error).__name__}: {error}"
            where = f"the {what} {entry_point.name} ({entry_point.value})"
            sys.stderr.write(f"ctx-metrics: {where} is left out: {why}\n")
    return found


def _fault(package: "metadata.Distribution", group: str, error: Exception) -> str:
    """Why a package's entry points cannot be read, naming the line; "" where none of them is of the group."""
    if isinstance(error, UnicodeError):
        return f"its entry_points.txt is not UTF-8: {error}"
    lines = [line.strip() for line in (package.read_text("entry_points.txt") or "").splitlines()]
    if f"[{group}]" not in lines:
        return ""
    for number, line in enumerate(lines, 1):
        if line and line[0] not in "#[" and "=" not in line:
            return f"its entry_points.txt, line {number}: {line!r} is not NAME = MODULE:CLASS"
    return f"its entry_points.txt cannot be read: {error}"
