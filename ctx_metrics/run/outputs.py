"""Files that a run writes besides its scores, which other packages add."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..entry_points import loaded_or_named

if TYPE_CHECKING:
    from ..scoring.context import Context
    from ..scoring.testing import SystemTests
    from .run import RunScores


@dataclass(frozen=True, eq=False)
class RunOutput:
    """A file that a flag asks for. Entry points of the group `ctx_metrics.outputs` name one.

    name       of its flag, which is --NAME in `ctx-metrics score` and `compare`, and --ctx-NAME in sacrebleu's command
    metavar    the file in --help, such as FILE.html
    help       its help
    check      raises InputError before scoring if the file cannot be written, from the run's texts
    text       returns the file's content, from the scores of all systems
    tests      whether it tests the systems, so that the settings of tests concern it
    reads      the streams of the run that it reads, such as sources
    explain    whether the file explains scores, so that models must keep the data it needs
    """

    name: str
    metavar: str
    help: str
    check: "Callable[[Context, SystemTests], None]"
    text: "Callable[[RunScores, SystemTests], str]"
    tests: bool = False
    reads: frozenset[str] = frozenset()
    explain: bool = False

    def flag(self, start: str = "--") -> str:
        """Return its flag, which is --ctx-NAME in sacrebleu's command."""
        return f"{start}{self.name}"

    def dest(self, start: str = "") -> str:
        """Return the attribute of its flag in a parsed command line; `start` is that of the command's other ones."""
        return f"{start}{self.name}".replace("-", "_")


def installed_outputs() -> list[RunOutput]:
    return loaded_or_named("ctx_metrics.outputs", RunOutput)
