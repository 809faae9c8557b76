"""Support for a sacrebleu that finds installed metrics, adds their flags, passes them context, and prints results in the
order of -m.

The proposal is in upstream/. Such a sacrebleu defines the group of entry points that it reads.
"""

from types import ModuleType
from typing import Any

from ..run.registry import GROUP, MetricTable


def is_native(module: ModuleType) -> bool:
    """Whether this `sacrebleu.metrics` belongs to such a sacrebleu."""
    return getattr(module, "ENTRY_POINT_GROUP", None) == GROUP


def table_of(found: Any) -> MetricTable:
    """Returns our table of the metrics that sacrebleu has found.

    The table reports in one line any metric that cannot be loaded, lists the installed metrics, and checks their rows.
    """
    built_in = {name: found[name] for name in found if name not in found.entry_points}
    return MetricTable(built_in, found.entry_points.values)
