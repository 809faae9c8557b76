"""Files that a run of the sacrebleu command writes beside its scores: entry points of the group `ctx_metrics.outputs` name a
RunOutput each, in any package."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..entry_points import installed

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
    outputs = []
    for entry_point in sorted(installed(GROUP), key=lambda each: (each.name, each.value)):
        try:
            output = entry_point.load()
            if not isinstance(output, RunOutput):
                raise TypeError(f"{output!r} is no RunOutput")
            outputs.append(output)
        except (Exception, SystemExit) as error:  # another package's code: whatever it raises is why it is not there
            why = f"{type(error).__name__}: {error}"
            sys.stderr.write(f"ctx-metrics: the output {entry_point.name} ({entry_point.value}) is left out: {why}\n")
    return outputs
