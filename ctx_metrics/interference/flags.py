"""The flag that names the metrics that systems were tuned with: --tuned-with, or --ctx-tuned-with in sacrebleu's command."""

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..corpus import checked_stream
from ..errors import InputError
from ..plugin import RECORD
from ..registry import metric_table, model_named
from ..run.wrappers import Check, Wrapper
from ..settings import closest, setting
from ..types_of_values import check_type
from .related import Measure, Tuning


def tuned(text: str) -> Tuning:
    """Parse [SYSTEM=]METRIC[:MODEL], for argparse.

    >>> tuned("best=comet:Unbabel/wmt22-comet-da").measure.model
    'Unbabel/wmt22-comet-da'
    """
    system, _, given = text.rpartition("=")
    metric, _, model = given.partition(":")
    table = metric_table()
    if named := model_named(metric, table):
        raise ArgumentTypeError(f"{metric} is a model, not a metric: give {named.metric}:{named.name}")
    if metric.upper() not in table:
        names = [each.lower() for each in table]
        known = closest(metric, names) or f"; there are {', '.join(names)}"
        raise ArgumentTypeError(f"{text!r} is not [SYSTEM=]METRIC[:MODEL]: there is no metric {metric!r}{known}")
    return Tuning(system, Measure(metric.lower(), model))


@dataclass(frozen=True)
class TunedSettings:
    tuned_with: Sequence[Tuning] = setting(
        "Metrics used to tune or decode the systems, or to filter their training data: METRIC or METRIC:MODEL, with SYSTEM= "
        "before it for one system. A notice names these systems if the run scores with such a metric or a related one. "
        "(Default: from the records next to the files)",
        (),
        type=tuned,
        nargs="+",
        action="extend",
        metavar="METRIC",
    )


class Interference(Wrapper):
    title = "metrics that chose the texts"
    settings = TunedSettings
    of_tables = ("tuned_with",)
    reads = True
    record = RECORD

    def from_keywords(self, given: Mapping[str, Any]) -> TunedSettings:
        return TunedSettings(**{name: _from_keyword(value) for name, value in given.items()})

    def check(self, settings: TunedSettings, paths: Sequence[str]) -> Check | None:
        from .said import check_systems

        return partial(check_systems, settings.tuned_with, paths)


def _from_keyword(given: Any) -> list[Tuning]:
    """Parse names of metrics: one, several, or those of some systems."""
    of_systems = given if isinstance(given, Mapping) else {"": given}
    found = []
    for system, metrics in of_systems.items():
        check_type("tuned_with", system, str)
        for text in [metrics] if isinstance(metrics, str) else checked_stream("tuned_with", metrics):
            try:
                each = tuned(text)
            except ArgumentTypeError as error:
                raise InputError(f"tuned_with: {error}") from None
            found.append(each._replace(system=system) if system else each)
    return found


INTERFERENCE = Interference()
