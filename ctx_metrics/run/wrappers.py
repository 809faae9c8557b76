"""Changes or checks, with settings of their own, how every metric of a run scores and how the systems' texts are read:
the flags of a command, or keywords in Python."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..engine_options import EngineOptions
from ..entry_points import loaded_or_named
from ..errors import InputError
from ..notices import Notice
from ..scoring.context import MetricSettings
from ..settings import CommandLine, check_values, closest, from_flags, gives
from ..types_of_values import checked_settings
from ..wording import worded

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

    from ..corpus import Segments
    from .texts import Texts

GROUP = "ctx_metrics.wrappers"
Wrap = Callable[[type["Metric"]], type["Metric"]]
R = TypeVar("R")


class Table(NamedTuple):
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Gap(NamedTuple):
    """A segment that a system leaves out, or the text that it adds after a segment; -1 is before the first one."""

    system: int
    segment: int
    added: str | None = None


class ReadTexts(NamedTuple):
    """The systems' texts as a reader gives them, its entries for every metric's signature, and facts for a report.

    streams    the texts it read in place of flags, by role: src, ref, doc
    notices    about the rows of a table
    """

    systems: "list[Segments]"
    signature: dict[str, Any]
    tables: Sequence[Table] = ()
    gaps: Sequence[Gap] = ()
    streams: "Mapping[str, list[Segments]]" = MappingProxyType({})
    notices: Sequence[Notice] = ()


# Reads the systems' files or folders, in their encoding, given the other texts of a run, those of them that are folders, by
# role, and the engine.
Reader = Callable[[Sequence[str], str, "Texts", Mapping[str, Sequence[str]], EngineOptions], ReadTexts]
# Reads the texts of the systems anew; those of a table's rows are its only system.
TextReader = Callable[["Texts", EngineOptions], ReadTexts]
# Looks at a run's metrics, by name, once they are built, and at the names of its systems; may give notices.
Check = Callable[[Mapping[str, "Metric"], Sequence[str]], None]


class Wrapper:
    """A wrapper, which an entry point of the group `ctx_metrics.wrappers` names.

    title       title of its group of flags
    settings    its settings class, for flags (in sacrebleu's command, they begin with --ctx-) and keywords of `evaluate`
    elsewhere   the settings that only the commands of `ctx-metrics` offer
    of_tables   the settings that `ctx-metrics annotate` offers
    reads       whether it reads the systems' files; commands that read other texts do not have its flags
    record      the end of the name of a file beside a system's file that asks for it as its flags do

    A wrapper is called only if a flag, a keyword or a file's record asks for it.
    """

    title: str
    settings: type
    elsewhere: Collection[str] = ()
    of_tables: Collection[str] = ()
    reads: bool = False
    record: str = ""

    @property
    def offered(self) -> list[str]:
        """The settings that sacrebleu's command and `evaluate` offer."""
        return [each.name for each in fields(self.settings) if each.name not in self.elsewhere]

    def from_keywords(self, given: Mapping[str, Any]) -> Any:
        """The settings that keywords give; raises InputError for a wrong value."""
        settings = self.settings(**checked_settings(self.settings, given, ""))
        check_values(settings)
        return settings

    def wrap(self, settings: Any) -> Wrap | None:
        """The function that turns each metric's class into one that scores otherwise, and takes the same arguments; None if
        the settings do not ask for it."""
        return None

    def reader(self, settings: Any) -> Reader | None:
        """The reader of the systems' texts, whose lines need not match; None if the settings do not ask for it."""
        return None

    def text_reader(self, settings: Any) -> TextReader | None:
        """The function that changes texts after reading, from files with one segment per line or from Python's lists."""
        return None

    def row_reader(self, settings: Any) -> TextReader | None:
        """The same of the outputs in a table's rows."""
        return None

    def column_error(self, settings: Any, roles: Collection[str]) -> str:
        """Say why it cannot read a table with columns of these roles (src, mt, ref, doc, those of inputs); "" if it can."""
        return ""

    def check(self, settings: Any, paths: Sequence[str]) -> Check | None:
        """A check of the metrics that score the systems in these files (none: other texts); None for nothing."""
        return None

    def fix(self, prefix: str) -> str:
        """How it reads texts of the wrong length; `prefix` is the start of its flags."""
        return ""


@cache
def installed_wrappers() -> tuple[Wrapper, ...]:
    return tuple(loaded_or_named(GROUP, Wrapper))


WrapperSettings = Mapping[Wrapper, Any]  # the settings of each wrapper that a user asks for


def asked_by_line(line: CommandLine, dest: str = "") -> WrapperSettings:
    """The request of a command line; `dest` is the start of the attributes of the wrappers' flags."""
    asked = [each for each in installed_wrappers() if gives(each.settings, line, dest)]
    return {each: _from_line(each, line, dest) for each in asked}


def asked_by_keywords(function: str, given: Mapping[str, Any]) -> WrapperSettings:
    """The request of a function's keywords; raises TypeError for one that no wrapper has."""
    known = [name for each in installed_wrappers() for name in each.offered]
    if unknown := [name for name in given if name not in known]:
        meant = closest(unknown[0], known)
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown[0]!r}{meant}")
    of_each = {each: {name: given[name] for name in each.offered if name in given} for each in installed_wrappers()}
    return {each: each.from_keywords(own) for each, own in of_each.items() if own}


def _from_line(of: Wrapper, line: CommandLine, dest: str) -> Any:
    """A wrapper's settings from a command line; an error names its flags as they begin there."""
    try:
        return from_flags(of.settings, line, dest=dest)
    except InputError as error:
        flags = "|".join(each.name.replace("_", "-") for each in fields(of.settings))
        prefix = f"--{dest.replace('_', '-')}"
        raise InputError(re.sub(rf"--(?=(?:{flags})(?![\w-]))", prefix, str(error))) from error


def wraps_of(asked: WrapperSettings) -> list[Wrap]:
    found = [each.wrap(settings) for each, settings in asked.items()]
    return [wrap for wrap in found if wrap is not None]


def wrapped(metrics: Sequence[MetricSettings], wraps: Sequence[Wrap]) -> list[MetricSettings]:
    found = [*metrics]
    for wrap in wraps:
        found = [each._replace(cls=wrap(each.cls)) for each in found]
    return found


def reader_of(asked: WrapperSettings) -> Reader | None:
    return _only(each.reader(settings) for each, settings in asked.items() if each.reads)


def text_reader_of(asked: WrapperSettings) -> TextReader | None:
    return _only(each.text_reader(settings) for each, settings in asked.items() if each.reads)


def row_reader_of(asked: WrapperSettings) -> TextReader | None:
    return _only(each.row_reader(settings) for each, settings in asked.items() if each.of_tables)


def _only(offered: Iterable[R | None]) -> R | None:
    readers = [reader for reader in offered if reader is not None]
    if len(readers) > 1:
        given = worded("flags", "keywords")
        raise InputError(f"two {given} read the systems' texts, each in its own way", fix="leave one out")
    return readers[0] if readers else None


def checks_of(asked: WrapperSettings, paths: Sequence[str]) -> list[Check]:
    """The checks of the systems in these files; none: other texts."""
    by_records = {
        each: each.settings()
        for each in installed_wrappers()
        if each.record and any(os.path.lexists(path + each.record) for path in paths)
    }
    found = [each.check(settings, paths) for each, settings in {**by_records, **asked}.items() if each.reads]
    return [check for check in found if check is not None]


def reader_fix(prefix: str = "--") -> str:
    """The advice for texts of the wrong length, or for a folder of texts."""
    return next(filter(None, (each.fix(prefix) for each in installed_wrappers())), "")
