"""Files that a run of the sacrebleu command writes besides its scores. Each entry point of the group `ctx_metrics.outputs`,
in any package, names a RunOutput."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..entry_points import loaded_or_named

if TYPE_CHECKING:
    from .capture import Run

GROUP = "ctx_metrics.outputs"


@dataclass(frozen=True)
class RunOutput:
    """A file that a flag asks for.

    flag, metavar, help    arguments for argparse
    check      raises CtxMetricsError, before anything is scored, if the file cannot be made from the run
    text       returns the content of the file for a scored run
    tests      whether the file contains significance tests, to which --ctx-resample applies
    reads      the streams of the run that it reads, such as sources
    explain    whether the file explains scores, so that models must keep what it needs
    """

    flag: str
    metavar: str
    help: str
    check: "Callable[[Run], None]"
    text: "Callable[[Run], str]"
    tests: bool = False
    reads: frozenset[str] = frozenset()
    explain: bool = False

    @property
    def dest(self) -> str:
        """The attribute of the parsed arguments that holds the file's name."""
        return self.flag.lstrip("-").replace("-", "_")


def installed_outputs() -> list[RunOutput]:
    """Return all installed outputs, sorted by entry point; one that cannot be loaded is left out and named on stderr."""
    return loaded_or_named(GROUP, RunOutput)
