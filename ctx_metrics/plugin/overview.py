"""Our part of `sacrebleu --help`: a line for each metric, and the flags that all of them share. It fits on one screen."""

import argparse
import textwrap
from collections.abc import Iterable, Mapping, Sequence

WIDTH = 80
HEAD = """\
Metrics of ctx-metrics for -m, besides bleu, chrf and ter, with their main flags
(`ctx-metrics flags NAME` explains all of them, as does --help after -m NAME):"""
SHARED = "Shared flags (`ctx-metrics flags` explains them):"


def overview(metrics: Mapping[str, Sequence[str]], shared: Iterable[argparse.Action]) -> str:
    """metrics    the main flags of each metric, as main_flags gives them"""
    width = max(map(len, metrics), default=0)
    lines = [f"  {name:<{width}}  {', '.join(flags)}".rstrip() for name, flags in metrics.items()]
    flags = ", ".join(each.option_strings[0] for each in shared)
    wrapped = textwrap.fill(flags, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join([HEAD, *lines, "", SHARED, wrapped])


def main_flags(metric: type, name: str, actions: Sequence[argparse.Action]) -> list[str]:
    """Return two flags of a metric with their metavars: the first one, and the first other one that its class of settings
    declares itself, or else the second one."""
    own = [f"{name}_{each}" for each in getattr(getattr(metric, "Settings", None), "__annotations__", {})]
    others = sorted(actions[1:], key=lambda each: own.index(each.dest) if each.dest in own else len(own))
    return [_shown(each) for each in [*actions[:1], *others[:1]]]


def _shown(action: argparse.Action) -> str:
    flag, metavar = action.option_strings[0], action.metavar
    return f"{flag} {metavar}" if isinstance(metavar, str) and action.nargs != 0 else flag
