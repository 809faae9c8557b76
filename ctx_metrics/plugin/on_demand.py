"""sacrebleu's command until a command line needs us: until then it runs as it is, and we search for and import nothing."""

import argparse
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from sacrebleu import metrics

from ..run.registry import MetricTable
from .view import view


class NeedsUs(Exception):
    """A command line that sacrebleu alone does not understand, that asks for help, or whose run we change."""


class OwnParser(argparse.ArgumentParser):
    """sacrebleu's parser. It raises NeedsUs where it would print an error or the help, which name our flags too."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The values of a line that sacrebleu understands; raises NeedsUs where we change its run."""
        parsed = super().parse_args(args, namespace)
        if changes(parsed):
            raise NeedsUs
        return parsed

    def error(self, message: str) -> NoReturn:
        raise NeedsUs

    def print_help(self, file: Any = None) -> None:
        """Raises NeedsUs: the help names our flags too."""
        raise NeedsUs


def changes(args: argparse.Namespace) -> bool:
    """Whether we change a run that has only sacrebleu's own flags and metrics.

    We mend the runs in which sacrebleu crashes (paired tests, --detail), and say so where a flag of bleu has no effect.
    """
    idle = "bleu" not in args.metrics and (args.bleu_tokenize or args.bleu_lowercase)
    return bool(args.paired_ar or args.paired_bs or args.detail or idle)


def extend(module: ModuleType) -> None:
    """Let `sacrebleu.sacrebleu` try each command line with its own metrics alone; the first that needs us extends it."""
    if not isinstance(metrics.METRICS, MetricTable):
        return  # a sacrebleu with plugins of its own
    names = vars(module)
    own = {name: names[name] for name in ("METRICS", "argparse", "main", "parse_args")}

    def first_alone(name: str) -> Callable[[], Any]:
        @functools.wraps(own[name])
        def wrapper():
            if names[name] is wrapper:  # no command line has needed us
                names["parse_args"] = own["parse_args"]  # main() calls it, and must itself begin anew where it needs us
                try:
                    return own[name]()
                except NeedsUs:
                    from . import command

                    names.update(own)
                    command.extend(module)
                finally:
                    if names["main"] is main:
                        names["parse_args"] = parse_args
            return names[name]()

        return wrapper

    main, parse_args = first_alone("main"), first_alone("parse_args")
    parsing = view(argparse, ArgumentParser=OwnParser)
    names.update(METRICS=metrics.METRICS.built_in, argparse=parsing, main=main, parse_args=parse_args)
