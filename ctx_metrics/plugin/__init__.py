"""All code that touches sacrebleu's internals. The start-up hook calls `extend` for the two modules that we extend.

sacrebleu's command stays as it is, and nothing is searched for or imported, until a command line needs us.
"""

import argparse
import functools
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from .. import registry
from .view import view

RECORD = ".tuned.json"  # the end of the name of a file's record of the metrics that chose its texts


def extend(module: ModuleType) -> None:
    """Add the plugin metrics to `sacrebleu.metrics`, or our flags and fixes to `sacrebleu.sacrebleu`. Idempotent."""
    if getattr(module, "_ctx_metrics_extended", False):
        return
    vars(module)["_ctx_metrics_extended"] = True
    if module.__name__ == "sacrebleu.metrics":
        registry.extend(module)
    else:
        _extend_command(module)


class NeedsUs(Exception):
    """Raised for a command line that sacrebleu alone does not understand, that asks for help, or whose run we change."""


class OwnParser(argparse.ArgumentParser):
    """sacrebleu's parser, but it raises NeedsUs instead of printing an error or the help, which also list our flags."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed arguments if sacrebleu understands the line; raise NeedsUs if we change the run.

        We fix the runs in which sacrebleu crashes (paired tests, --detail), and give notice of bleu's flags without effect
        and of systems that a metric chose.
        """
        parsed = super().parse_args(args, namespace)
        idle = "bleu" not in parsed.metrics and (parsed.bleu_tokenize or parsed.bleu_lowercase)
        chosen = any(os.path.lexists(path + RECORD) for path in parsed.input or ())
        if parsed.paired_ar or parsed.paired_bs or parsed.detail or idle or chosen:
            raise NeedsUs
        return parsed

    def error(self, message: str) -> NoReturn:
        raise NeedsUs

    def print_help(self, file: Any = None) -> None:
        raise NeedsUs


def _extend_command(module: ModuleType) -> None:
    """Let `sacrebleu.sacrebleu` run each command line by itself until one needs us; then extend it."""
    from sacrebleu.metrics import METRICS

    assert isinstance(METRICS, registry.MetricTable)  # extended before
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
    names.update(METRICS=METRICS.built_in, argparse=parsing, main=main, parse_args=parse_args)
