"""Installed metrics, found by entry points of the group `sacrebleu.metrics`, in sacrebleu's METRICS table."""

import re
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from types import ModuleType
from typing import Any

from ..errors import CtxMetricsError

GROUP = "sacrebleu.metrics"
_NAME = re.compile(r"[a-z][a-z0-9]*")


class MetricTable(dict):
    """sacrebleu's METRICS with the installed metrics beside its own; an entry point is loaded when first looked up."""

    def __init__(self, built_in: dict):
        super().__init__(built_in)
        self.plugins: list[str] = []  # lower-case names

    def add(self, entry_point: metadata.EntryPoint) -> None:
        """Add an entry point unless its name is bad or taken; then say so and leave it out."""
        name, taken = entry_point.name, super().get(entry_point.name.upper())
        if not _NAME.fullmatch(name):
            _refuse(entry_point, "its name must be lower-case letters and digits, so that its flags are its own")
        elif taken is not None and getattr(taken, "value", None) != entry_point.value:
            _refuse(entry_point, "the name is taken")
        elif taken is None:
            self[name.upper()] = entry_point
            self.plugins.append(name)

    def __getitem__(self, key: str):
        value = super().__getitem__(key)
        if isinstance(value, metadata.EntryPoint):
            try:
                value, entry_point = value.load(), value
            except (
                Exception,
                SystemExit,
            ) as error:  # another package's code: whatever it raises is why it is not there
                raise CtxMetricsError(
                    f"metric {key.lower()} ({value.value}) cannot be loaded: {type(error).__name__}: {error}"
                ) from error
            from sacrebleu.metrics.base import Metric

            if not (isinstance(value, type) and issubclass(value, Metric)):
                raise CtxMetricsError(f"metric {key.lower()} ({entry_point.value}) is not a sacrebleu Metric class")
            from .finite import checked

            self[key] = value = checked(value)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401  # dict's own get would not load

    def values(self) -> list:  # type: ignore[override]  # no view of the dict's, whose metrics are not loaded
        return [self[key] for key in self]

    def items(self) -> list[tuple]:  # type: ignore[override]
        return [(key, self[key]) for key in self]


def _refuse(entry_point: metadata.EntryPoint, why: str) -> None:
    sys.stderr.write(f"ctx-metrics: metric {entry_point.name!r} of {entry_point.value} is left out: {why}\n")


def _installed() -> Iterable[metadata.EntryPoint]:
    """The group's entry points; a package whose entry points cannot be read has none, and is named on stderr."""
    try:
        return metadata.entry_points(group=GROUP)
    except Exception:  # raised for all packages, whichever has the fault; so they are read one by one
        entry_points: dict[str, Iterable[metadata.EntryPoint]] = {}
    for package in metadata.distributions():
        if package.name in entry_points:  # the first on the path is the one that is imported
            continue
        try:
            entry_points[package.name] = package.entry_points.select(group=GROUP)
        except Exception as error:
            entry_points[package.name] = ()
            if why := _fault(package, error):
                sys.stderr.write(f"ctx-metrics: the metrics of the package {package.name} are left out: {why}\n")
    return [entry_point for of_package in entry_points.values() for entry_point in of_package]


def _fault(package: metadata.Distribution, error: Exception) -> str:
    """Why a package's entry points cannot be read, naming the line; "" where none of them is of the group."""
    if isinstance(error, UnicodeError):
        return f"its entry_points.txt is not UTF-8: {error}"
    lines = [line.strip() for line in (package.read_text("entry_points.txt") or "").splitlines()]
    if f"[{GROUP}]" not in lines:
        return ""
    for number, line in enumerate(lines, 1):
        if line and line[0] not in "#[" and "=" not in line:
            return f"its entry_points.txt, line {number}: {line!r} is not NAME = MODULE:CLASS"
    return f"its entry_points.txt cannot be read: {error}"


def extend(module: ModuleType) -> None:
    """Put the table of all installed metrics in place of sacrebleu.metrics.METRICS."""
    vars(module)["METRICS"] = _with_installed(module.METRICS)


def _with_installed(built_in: Mapping) -> MetricTable:
    found = getattr(built_in, "entry_points", ())  # by a sacrebleu that reads the group itself
    table = MetricTable({name: built_in[name] for name in built_in if name not in found})
    for entry_point in sorted(_installed(), key=lambda e: (e.name, e.value)):
        table.add(entry_point)
    return table


def metric_table() -> MetricTable:
    """sacrebleu's metrics and the installed ones, also where CTX_METRICS_NO_AUTOLOAD keeps them out of sacrebleu."""
    from sacrebleu import metrics

    return metrics.METRICS if isinstance(metrics.METRICS, MetricTable) else _with_installed(metrics.METRICS)
