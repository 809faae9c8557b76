"""Leaves sacrebleu's command as it is, without searching for or importing anything, until a command line needs us."""

import argparse
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from sacrebleu import metrics

from ..registry import MetricTable
from .view import view


class NeedsUs(Exception):
    """Raised for a command line that sacrebleu alone does not understand, that asks for help, or whose run we change."""


class OwnParser(argparse.ArgumentParser):
    """sacrebleu's parser, but it raises NeedsUs instead of printing an error or the help, which also list our flags."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed arguments if sacrebleu understands the line; raises NeedsUs if we change the run.

        We fix the runs in which sacrebleu crashes (paired tests, --detail), and give notice of bleu's flags without effect.
        """
        parsed = super().parse_args(args, namespace)
        idle = "bleu" not in parsed.metrics and (parsed.bleu_tokenize or parsed.bleu_lowercase)
        if parsed.paired_ar or parsed.paired_bs or parsed.detail or idle:
            raise NeedsUs
        return parsed

    def error(self, message: str) -> NoReturn:
        raise NeedsUs

    def print_help(self, file: Any = None) -> None:
        raise NeedsUs


def extend(module: ModuleType) -> None:
    """Let `sacrebleu.sacrebleu` run each command line by itself until one needs us; then extend it."""
    assert isinstance(metrics.METRICS, MetricTable)  # see extend of the package
    names = vars(module)
    own = {name: names[name] for name in ("METRICS", "argparse", "main", "parse_args")}

    def first_alone(name: str) -> Callable[[], Any]:
        @functools.wraps(own[name])
        def wrapper():
            if names[name] is wrapper:  # no command line has needed us so far
                names["parse_args"] = own["parse_args"]  # main() calls it; on NeedsUs, main() must start over
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
