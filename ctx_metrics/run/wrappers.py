"""What changes how every metric of a run scores, how the systems' texts are read, or checks both, by flags of its own."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..entry_points import loaded_or_named
from ..errors import InputError
from ..notices import Notice
from ..settings import CommandLine, from_flags
from .context import Context, MetricSettings

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

    from ..corpus import Segments

GROUP = "ctx_metrics.wrappers"
Wrap = Callable[[type["Metric"]], type["Metric"]]


class Table(NamedTuple):
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Gap(NamedTuple):
    """A segment that a system leaves out, or the text that it adds after a segment; -1 is before the first one."""

    system: int
    segment: int
    added: str | None = None


class Read(NamedTuple):
    """The systems' texts as a reader gives them, what it adds to the signature of every metric, and what a report shows.

    streams    what it read in place of flags, by role: src, ref, doc
    notices    about the rows of a table
    """

    systems: "list[Segments]"
    signature: dict[str, Any]
    tables: Sequence[Table] = ()
    gaps: Sequence[Gap] = ()
    streams: "Mapping[str, list[Segments]]" = MappingProxyType({})
    notices: Sequence[Notice] = ()


# Reads the systems' files or folders, in their encoding, beside the references, sources and document ids of a run, and
# beside those that are folders, by role.
Reader = Callable[[Sequence[str], str, Context, Mapping[str, Sequence[str]]], Read]
# Reads the outputs of a table's rows anew, which are the context's only system.
RowReader = Callable[[Context], Read]
# Looks at a run's metrics, by name, once they are built, and at the names of its systems; may give notices.
Check = Callable[[Mapping[str, "Metric"], Sequence[str]], None]


class Wrapper:
    """A wrapper, which an entry point of the group `ctx_metrics.wrappers` names.

    title       title of its group of flags
    settings    its settings class; in sacrebleu's command, its flags begin with --ctx-
    elsewhere   the settings that sacrebleu's command does not offer
    of_tables   the settings that `ctx-metrics annotate` offers
    reads       whether it reads the systems' files; commands that read other texts do not have its flags
    hint        what it does for texts of the wrong length, where {} stands for the start of its flags
    """

    title: str
    settings: type
    elsewhere: Collection[str] = ()
    of_tables: Collection[str] = ()
    reads: bool = False
    hint: str = ""

    @property
    def of_sacrebleu(self) -> list[str]:
        """The settings that sacrebleu's command offers."""
        return [each.name for each in fields(self.settings) if each.name not in self.elsewhere]

    def wrap(self, settings: Any) -> Wrap | None:
        """What makes the class of each metric of a run into one that scores otherwise, and takes the same arguments; None if
        the settings do not ask for it."""
        return None

    def reader(self, settings: Any) -> Reader | None:
        """What reads the systems' texts, whose lines need not match; None if the settings do not ask for it."""
        return None

    def row_reader(self, settings: Any) -> RowReader | None:
        return None

    def check(self, settings: Any, paths: Sequence[str]) -> Check | None:
        """What looks at the metrics that score the systems in these files (none: the standard input); None for nothing."""
        return None


@cache
def installed_wrappers() -> tuple[Wrapper, ...]:
    return tuple(loaded_or_named(GROUP, Wrapper))


def wraps_of(line: CommandLine, dest: str = "") -> list[Wrap]:
    """What a command line asks for; `dest` is the start of the attributes of the wrappers' flags."""
    found = [each.wrap(_settings(each, line, dest)) for each in installed_wrappers()]
    return [wrap for wrap in found if wrap is not None]


def _settings(of: Wrapper, line: CommandLine, dest: str) -> Any:
    """A wrapper's settings from a command line; an error names its flags as they begin there."""
    try:
        return from_flags(of.settings, line, dest=dest)
    except InputError as error:
        flags = "|".join(each.name.replace("_", "-") for each in fields(of.settings))
        prefix = f"--{dest.replace('_', '-')}"
        raise InputError(re.sub(rf"--(?=(?:{flags})(?![\w-]))", prefix, str(error))) from error


def wrapped(metrics: Sequence[MetricSettings], wraps: Sequence[Wrap]) -> list[MetricSettings]:
    found = [*metrics]
    for wrap in wraps:
        found = [each._replace(cls=wrap(each.cls)) for each in found]
    return found


def reader_of(line: CommandLine, dest: str = "") -> Reader | None:
    """The reader that a command line asks for; `dest` as in wraps_of."""
    offered = [each for each in installed_wrappers() if each.reads]
    found = [each.reader(_settings(each, line, dest)) for each in offered]
    readers = [reader for reader in found if reader is not None]
    if len(readers) > 1:
        raise InputError("two flags read the systems' texts, each in its own way; leave one out")
    return readers[0] if readers else None


def checks_of(line: CommandLine, paths: Sequence[str], dest: str = "") -> list[Check]:
    """The checks of the systems in these files; `dest` as in wraps_of."""
    offered = [each for each in installed_wrappers() if each.reads]
    found = [each.check(_settings(each, line, dest), paths) for each in offered]
    return [check for check in found if check is not None]


def reader_hint(prefix: str = "--") -> str:
    """What to say of texts of the wrong length, or of a folder of texts."""
    return next((each.hint.format(prefix) for each in installed_wrappers() if each.hint), "")


def row_reader_of(line: CommandLine) -> RowReader | None:
    found = [each.row_reader(from_flags(each.settings, line)) for each in installed_wrappers() if each.of_tables]
    return next((reader for reader in found if reader is not None), None)
