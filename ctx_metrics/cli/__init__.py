"""The `ctx-metrics` command. Importing it imports neither torch nor sacrebleu."""

import argparse
import logging
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version

from ..environment import OF_COMMANDS, environment
from ..errors import as_line
from ..notices import begin_run, end_run, logger, quiet_libraries, say
from ..paths import check_paths
from ..settings import CommandLine, SuggestingParser, closest
from ..wording import by_flags
from ..writing import open_closed, utf8_output
from .commands import add_commands


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 0, 1 (with a line on stderr) or 130 (stopped). Wrong usage exits with 2."""
    argv = sys.argv[1:] if argv is None else list(argv)
    # so that `| head` ends the command, as it ends sacrebleu; only the main thread can set signal handlers
    if hasattr(signal, "SIGPIPE") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    open_closed()
    begin_run(say)
    if logger.level == logging.DEBUG:
        logging.basicConfig(format="ctx-metrics: %(message)s")
    with by_flags(), environment(OF_COMMANDS), quiet_libraries():
        try:
            with utf8_output():
                args = checked(argv)
            with utf8_output(escapes=True):
                return int(args.run(args))
        except KeyboardInterrupt as stopped:
            say(f"stopped{f'; {stopped}' if str(stopped) else ''}")
            return 130
        except Exception as error:
            line = as_line(error)
            if line is None:
                raise
            say(f"error: {line}")
            return 1
        finally:
            end_run()


def checked(argv: Sequence[str]) -> CommandLine:
    """Parse a command line; raise InputError if an output would replace an input or another output."""
    args = parse(argv)
    check_paths(args.parser, args.lines(args) if args.lines else [args])
    return args


def parse(argv: Sequence[str]) -> CommandLine:
    parser = command_parser(argv)
    if not argv:
        parser.print_help(sys.stderr)
        parser.exit(2)
    if argv[0].startswith("-") and not any(flag.startswith(argv[0]) for flag in ("-h", "--help", "-V", "--version")):
        parser.error(f"no subcommand given; did you mean: ctx-metrics score {shlex.join(argv)}")
    args, unknown = parser.parse_known_args(argv, CommandLine())
    if unknown:
        fix = args.fix_of_unknown(unknown) if args.fix_of_unknown else ""
        flag = next((word.partition("=")[0] for word in unknown if word.startswith("--")), "")
        meant = "" if fix or not flag else closest(flag, args.parser._option_string_actions, abbreviated=True)
        args.outer.error(f"unrecognized arguments: {' '.join(unknown)}{fix or meant}")
    args.argv = list(argv[1:])
    return args


def command_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser for a command line; only the subcommand that it names is loaded and adds its flags."""
    parser = SuggestingParser(
        prog="ctx-metrics",
        description="Neural and document-level machine-translation metrics. After installation they are also "
        "metrics of the sacrebleu command; these subcommands work without sacrebleu's limits.",
        epilog="`ctx-metrics score --help` shows how to score; every subcommand has its own --help.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"ctx-metrics {version('ctx-metrics')}")
    add_commands(parser, argv)
    return parser
