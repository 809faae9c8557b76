"""The flags of files that other packages let `score` and `compare` write besides their scores."""

from argparse import ArgumentParser
from collections.abc import Mapping

from ...paths import Writes
from ...run.outputs import RunOutput, installed_outputs
from ...run.run import RunScores
from ...scoring.context import Context
from ...scoring.testing import SystemTests
from ...settings import CommandLine
from ...writing import check_writable, write_whole

Outputs = Mapping[RunOutput, str]  # the path of each file that a command line asks for


def add_output_flags(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("further files")
    for each in installed_outputs():
        group.add_argument(each.flag(), metavar=each.metavar, type=Writes(), help=each.help)


def given_outputs(line: CommandLine) -> Outputs:
    """Return the outputs that a command line asks for; raise InputError for a file that cannot be written."""
    paths = {each: getattr(line, each.dest()) for each in installed_outputs()}
    given = {each: path for each, path in paths.items() if path is not None}
    for path in given.values():
        check_writable(path)
    return given


def reads_of(outputs: Outputs) -> frozenset[str]:
    """The streams of the run that the outputs read; documents are read by all that test systems."""
    read = frozenset[str]().union(*(each.reads for each in outputs))
    return read | {"doc_ids"} if any(each.tests for each in outputs) else read


def check_outputs(outputs: Outputs, context: Context, testing: SystemTests) -> None:
    """Raise InputError, before anything is scored, for an output that cannot be made of the run's texts."""
    for each in outputs:
        each.check(context, testing)


def write_outputs(outputs: Outputs, scores: RunScores, testing: SystemTests) -> None:
    """Write the files whole; raise InputError for one that cannot be written."""
    for each, path in outputs.items():
        write_whole(path, each.text(scores, testing), "the scores are complete")
