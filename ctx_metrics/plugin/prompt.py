"""The parser of the sacrebleu command with our flags, for a command line that is still being typed."""

import argparse
from collections.abc import Sequence
from typing import Any

from ..registry import metric_table
from .arguments import PluginArgumentParser
from .capture import Command
from .view import view


class _Made(Exception):
    """Raised with the parser in place of parsing."""


def sacrebleu_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser that sacrebleu would parse these arguments with."""
    import sacrebleu.sacrebleu as module

    class Unparsed(PluginArgumentParser):
        command = Command(metric_table())

        def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
            return super().parse_args(list(argv), namespace)

        def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
            raise _Made(self)

    names = vars(module)
    own = {name: names[name] for name in ("argparse", "METRICS", "parse_args")}
    names.update(argparse=view(argparse, ArgumentParser=Unparsed), METRICS=metric_table())
    try:
        module.parse_args()
    except _Made as made:
        return made.args[0]
    finally:
        names.update(own)
    raise AssertionError("sacrebleu parses without a parser")
