"""Subcommands of `ctx-metrics`: the modules that entry points of the group `ctx_metrics.commands` name, in any package.

A module describes its subcommand: SUMMARY (a line for `ctx-metrics --help`), its docstring, `run`, which gets the
settings.CommandLine and returns the exit code, and if need be USAGE, EPILOG, FLAGS (as settings.add_all takes them),
`add_arguments` (adds flags that depend on the command line), `fix_of_unknown` (the end of the error on words that the
parser does not know) and `lines` (the command lines of which one consists, if its flags can be given again for further
inputs).

An entry point named `train.pairwise` is what `ctx-metrics train pairwise` runs, in place of `train`. Where the module of the
outer name has no `run`, its subcommand only groups others: `pairwise.rank`.
"""

import argparse
from collections.abc import Sequence
from importlib.metadata import EntryPoint

from ..entry_points import installed, loaded
from ..errors import CtxMetricsError
from ..settings import add_all

GROUP = "ctx_metrics.commands"
WHAT = "the subcommand"
RESERVED = ("argv", "fix_of_unknown", "lines", "outer", "parser", "run")  # attributes that are no settings


def add_commands(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Add all installed subcommands; only the one that the command line names is loaded and adds its flags."""
    _add_level(parser, {each.name: each for each in installed(GROUP)}, "", argv)


def _add_level(
    parser: argparse.ArgumentParser, commands: dict[str, EntryPoint], prefix: str, argv: Sequence[str]
) -> None:
    subparsers = parser.add_subparsers(title="subcommands", metavar="SUBCOMMAND", required=True)
    names = [name.removeprefix(prefix) for name in sorted(commands) if name.startswith(prefix)]
    names = [name for name in names if "." not in name]
    for name in names:
        whole = prefix + name
        if argv[:1] != [name]:  # summaries are needed only for --help, which names no subcommand
            summary = None if argv[:1] and argv[0] in names else _summary(commands[whole])
            subparsers.add_parser(name, help=summary)
            continue
        module = loaded(commands[whole], WHAT)
        groups = not hasattr(module, "run")
        if not groups and argv[1:2] and f"{whole}.{argv[1]}" in commands:
            module = loaded(commands[f"{whole}.{argv[1]}"], WHAT)
        subparser = subparsers.add_parser(
            name,
            help=getattr(module, "SUMMARY", ""),
            description=module.__doc__,
            usage=getattr(module, "USAGE", None),
            epilog=getattr(module, "EPILOG", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        subparser.set_defaults(parser=subparser, run=getattr(module, "run", None), lines=getattr(module, "lines", None))
        if not prefix:
            subparser.set_defaults(outer=subparser, fix_of_unknown=getattr(module, "fix_of_unknown", None))
        if groups:
            _add_level(subparser, commands, f"{whole}.", argv[1:])
        add_all(subparser, getattr(module, "FLAGS", ()))
        if hasattr(module, "add_arguments"):
            module.add_arguments(subparser, argv[1:])
        if taken := [action.dest for action in subparser._actions if action.dest in RESERVED]:
            raise CtxMetricsError(
                f"{WHAT} {whole}: a field of its settings cannot be named {taken[0]}", fix="rename it"
            )


def _summary(command: EntryPoint) -> str:
    try:
        return getattr(loaded(command, WHAT), "SUMMARY", "")
    except CtxMetricsError as error:
        return str(error)
