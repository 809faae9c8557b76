"""A sacrebleu that finds installed metrics, adds their flags, gives them context, and prints results as -m names them.

upstream/ holds the proposal. Such a sacrebleu names the group of entry points that it reads.
"""

from types import ModuleType
from typing import Any

from ..run.registry import GROUP, MetricTable


def is_native(module: ModuleType) -> bool:
    """Whether this `sacrebleu.metrics` is of such a sacrebleu."""
    return getattr(module, "ENTRY_POINT_GROUP", None) == GROUP


def table_of(found: Any) -> MetricTable:
    """Returns our table of the metrics that sacrebleu has found.

    The table reports in one line what cannot be loaded, lists the names of installed metrics, and checks each row.
    """
    built_in = {name: found[name] for name in found if name not in found.entry_points}
    return MetricTable(built_in, found.entry_points.values)
