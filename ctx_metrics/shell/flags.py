"""Explain the flags of metrics in the sacrebleu command; without a name, those that all metrics share.

ctx-metrics score, compare and others have the metrics' flags too.
"""

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass

from ..plugin.arguments import add_run_arguments, add_shared_arguments, installed_outputs
from ..registry import metric_table, model_named
from ..scoring.context import capabilities, checked_flags
from ..scoring.inputs import FileInput, installed_inputs
from ..settings import CommandLine, closest, setting

SUMMARY = "explain the flags of a metric"


def metric(text: str) -> str:
    table, name = metric_table(), text.lower()
    if name.upper() not in table:
        known = [each.lower() for each in table]
        if model := model_named(text, table):
            fix = f"; give {model.flags}"
        else:
            fix = closest(name, known) or f"; there are {', '.join(known)}"
        raise ArgumentTypeError(f"there is no metric {text!r}{fix}")
    return name


@dataclass(frozen=True)
class MetricNames:
    metrics: Sequence[str] = setting("name of a metric", (), flag="METRIC", nargs="*", type=metric)


FLAGS = [MetricNames]


def run(line: CommandLine) -> int:
    names = line[MetricNames].metrics
    print("\n".join(explained(name) for name in names) if names else shared(), end="")
    return 0


def explained(name: str) -> str:
    """Return the help on a metric's flags, and on those of the inputs that only such metrics read."""
    table = metric_table()
    if name not in table.plugins:
        return f"The flags of {name} are sacrebleu's own: sacrebleu --help\n"
    cls, parser = table[name.upper()], _parser()
    if checked_flags(name, cls):
        cls.add_arguments(parser.add_argument_group(f"{name} ({cls.__name__})"))
    for each in capabilities(cls).inputs:
        if isinstance(each, FileInput):
            each.add_arguments(parser.add_argument_group(each.title))
    own = parser.format_help() or f"{name} has no flags of its own.\n"
    return f"{own}\n`ctx-metrics flags` explains the flags that all metrics share.\n"


def shared() -> str:
    parser = _parser()
    add_shared_arguments(parser, installed_inputs())
    add_run_arguments(parser, ["slide"], installed_outputs())
    names = ", ".join(metric_table().plugins)
    return f"{parser.format_help()}\n`ctx-metrics flags METRIC` explains the flags of one of {names}.\n"


def _parser() -> ArgumentParser:
    return ArgumentParser(prog="sacrebleu", usage=SUPPRESS, add_help=False)
