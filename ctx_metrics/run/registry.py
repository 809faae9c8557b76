"""Installed metrics, found by entry points of the group `sacrebleu.metrics`, in sacrebleu's METRICS table."""

import re
import sys
from importlib import metadata
from types import ModuleType, SimpleNamespace

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
            except Exception as error:  # another package's code: whatever it raises is why the metric is not there
                raise CtxMetricsError(
                    f"metric {key.lower()} ({value.value}) cannot be loaded: {type(error).__name__}: {error}"
                ) from error
            from sacrebleu.metrics.base import Metric

            if not (isinstance(value, type) and issubclass(value, Metric)):
                raise CtxMetricsError(f"metric {key.lower()} ({entry_point.value}) is no sacrebleu Metric class")
            from ..scoring.finite import with_finite_rows

            self[key] = value = with_finite_rows(value)
        return value

    def get(self, key, default=None):
        return self[key] if key in self else default

    def values(self):
        return [self[key] for key in self]

    def items(self):
        return [(key, self[key]) for key in self]


def _refuse(entry_point: metadata.EntryPoint, why: str) -> None:
    sys.stderr.write(f"ctx-metrics: metric {entry_point.name!r} of {entry_point.value} is left out: {why}\n")


def extend(module: ModuleType) -> None:
    """Put the table of all installed metrics in place of sacrebleu.metrics.METRICS."""
    if getattr(module, "ENTRY_POINT_GROUP", None) == GROUP:
        return  # a sacrebleu that reads the group itself
    table = MetricTable(module.METRICS)
    for entry_point in sorted(metadata.entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        table.add(entry_point)
    module.METRICS = table


def metric_table() -> MetricTable:
    """sacrebleu's metrics and the installed ones, also where CTX_METRICS_NO_AUTOLOAD keeps them out of sacrebleu."""
    from sacrebleu import metrics

    if isinstance(metrics.METRICS, MetricTable):
        return metrics.METRICS
    view = SimpleNamespace(METRICS=metrics.METRICS)
    extend(view)
    return view.METRICS
