"""Flags shared by several commands: those of the metrics and of the engine."""

import argparse
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from ..errors import CtxMetricsError
from ..flag_types import File
from ..registry import MetricTable
from ..settings import setting
from .context import capabilities
from .inputs import FileInput

# Patterns for names of COMET models, and a model on the hub for each; the first pattern that matches is used.
COMET_MODELS = {
    "xcomet.*xxl": "Unbabel/XCOMET-XXL",
    "xcomet": "Unbabel/XCOMET-XL",
    "kiwi": "Unbabel/wmt22-cometkiwi-da",
    "unite": "Unbabel/wmt22-unite-da",
    "comet.*qe": "Unbabel/wmt20-comet-qe-da",
    "^(?!doc).*comet": "Unbabel/wmt22-comet-da",
}
OTHER_MODELS = "metricx|bleurt"


def wanted_metrics(names: list[str], argv: list[str]) -> list[str]:
    """Return the plugin metrics whose flags the command line may use, so that only those are imported."""
    if any(arg in ("-h", "--help") or (len(arg) > 2 and "--help".startswith(arg)) for arg in argv):
        return list(names)
    return [
        name
        for name in names
        if any(
            arg == name
            or arg.startswith(f"--{name}-")
            or (
                arg.startswith("--") and arg[2:].replace("-", "", 1).startswith(f"{name}-")
            )  # --rtt-sbert- is rttsbert's
            or (arg.startswith("-") and arg.endswith(name))
            for arg in argv
        )
    ]


@dataclass(frozen=True)
class ContextFiles:
    """The files from which a run's context is read, with one line per segment."""

    source: File | None = setting("Source segments, one per line. (Default with -t: the source of the test set)")
    docids: File | None = setting(
        "Document id of each line; consecutive equal ids form a document. (Default with -t: the ids of the test "
        "set, if it has them)"
    )


def add_metric_arguments(parser: argparse.ArgumentParser, name: str, table: MetricTable) -> list[str]:
    """Add a metric's flags in a group of their own; returns the names of their attributes."""
    if dests := checked_flags(name, table):
        metric = table[name.upper()]
        metric.add_arguments(parser.add_argument_group(f"{metric.__name__} related arguments"))
    return dests


def checked_flags(name: str, table: MetricTable) -> list[str]:
    metric = table[name.upper()]
    if not hasattr(metric, "add_arguments"):
        return []
    trial = argparse.ArgumentParser(add_help=False).add_argument_group()
    try:
        metric.add_arguments(trial)
    except (Exception, SystemExit) as error:  # another package's code may raise anything
        raise CtxMetricsError(f"metric {name}: its flags cannot be added: {type(error).__name__}: {error}") from error
    for action in trial._group_actions:
        flags = action.option_strings or [action.dest]
        if not all(flag.startswith(own_prefixes(name, metric)) for flag in flags) or not action.dest.startswith(
            f"{name}_"
        ):
            raise CtxMetricsError(
                f"metric {name}: its flag {'/'.join(flags)} must begin with --{name}- "
                f"(and its dest, if it names one, with {name}_)"
            )
    return [action.dest for action in trial._group_actions]


def may_read_inputs(metrics: Mapping[str, type], words: Iterable[str], known: Collection[str]) -> bool:
    """Whether a command line needs the installed inputs: a metric reads one, or a word may be the flag of one.

    known    all flags but those of inputs, of the engine and of the metrics themselves
    """
    if any(isinstance(each, FileInput) for metric in metrics.values() for each in capabilities(metric).inputs):
        return True
    of_others = ("--ctx-", *(prefix for each in metrics.items() for prefix in own_prefixes(*each)))
    return any(
        word.startswith("--") and not word.startswith(of_others) and word.partition("=")[0] not in known
        for word in words
    )


def own_prefixes(name: str, metric: type) -> tuple[str, ...]:
    return (f"--{name}-", *capabilities(metric).flags)


def model_hint(name: str, table: MetricTable) -> str:
    """Return advice if a model's name was given instead of a metric's; "" for a metric in the table, or any other word.

    >>> model_hint("xcomet", {})
    'xcomet is a model, not a metric: give -m comet --comet-model Unbabel/XCOMET-XL'
    """
    word = name.lower()
    if word.upper() in table:
        return ""
    if re.search(OTHER_MODELS, word):
        return (
            f"{name} is not a metric of ctx-metrics, and its models cannot be run; for COMET models, give -m comet "
            "--comet-model MODEL"
        )
    model = next((model for pattern, model in COMET_MODELS.items() if re.search(pattern, word)), "")
    given = name if "/" in name else model
    return f"{name} is a model, not a metric: give -m comet --comet-model {given}" if model else ""


def metric_name(table: MetricTable) -> Callable[[str], str]:
    def read(text: str) -> str:
        if hint := model_hint(text, table):
            raise argparse.ArgumentTypeError(hint)
        return text.lower()

    return read
