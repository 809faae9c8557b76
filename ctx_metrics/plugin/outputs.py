"""Files that a run of the sacrebleu command writes beside its scores: entry points of the group `ctx_metrics.outputs` name a
RunOutput each, in any package."""

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

    flag, metavar, help    as argparse takes them
    check      raises CtxMetricsError, before anything is scored, where the file could not be made of this run
    text       what the file holds, of a run that has its scores
    tests      whether it tests the systems, so that --ctx-resample concerns it too
    reads      the streams of the run that it reads, such as sources
    explain    whether it shows what explains scores, which models then keep
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
    """All that are installed, by the names of their entry points; one that cannot be loaded is named on stderr."""
    return loaded_or_named(GROUP, RunOutput)
