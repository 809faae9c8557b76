"""Inputs that some metrics read besides the texts of every run, and the flags that give them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..corpus import digest
from ..entry_points import loaded_or_named
from ..errors import InputError
from ..notices import counted, notice
from ..paths import Reads
from ..settings import CommandLine, Group, add_flags
from ..wording import worded

if TYPE_CHECKING:
    from ..corpus import Segments
    from .context import Context

GROUP = "ctx_metrics.inputs"
Streams = Sequence[Sequence[str | None]] | None


class Keyword(NamedTuple):
    """A keyword of metrics: its type, its default, and whether it holds streams of segments."""

    annotation: Any
    default: Any = None
    streams: bool = False


@dataclass(eq=False)
class Input:
    """An input that a metric reads besides the fields of a Context, as keywords of its constructor.

    Metrics list the inputs that they read in their Capabilities. In Python, any of them can be given. A command gives those
    that have flags: the FileInputs named by entry points of the group `ctx_metrics.inputs`.
    """

    keywords: Mapping[str, Keyword]

    @property
    def streams(self) -> frozenset[str]:
        """The keywords that hold streams of segments."""
        return frozenset(name for name, keyword in self.keywords.items() if keyword.streams)


class InputFiles(NamedTuple):
    """An input from the command line: its files, and an object of its settings class, if it has one."""

    paths: Sequence[str] = ()
    settings: Any = None


class FileInput(Input):
    """Streams of segments that a flag reads from files, with one segment per line.

    name          the keyword in Python
    flag, help    the flag on the command line, and its help
    words         the name of the input in messages
    per_system    whether there is one file per system, in the order of the systems; `inputs[name]` of a corpus is then its
                  system's own stream, else a list of streams
    single        whether there is one file; if neither, any number
    required      whether metrics that read the input need it
    column        the role of its columns in tables; "" if tables have none
    title         title of its group of flags in --help
    settings      a settings class, whose flags are added after that of the files
    more          further keywords of a subclass

    >>> keywords = FileInput("keywords", "--keywords", "Terms that each segment must hold.", "keywords")
    >>> keywords.values([["Haus"]], None, None)
    {'keywords': [['Haus']]}
    """

    def __init__(
        self,
        name: str,
        flag: str,
        help: str,
        words: str,
        *,
        per_system: bool = False,
        single: bool = False,
        required: bool = False,
        column: str = "",
        title: str = "",
        settings: type | None = None,
        **more: Keyword,
    ):
        annotation = Sequence[Sequence[str]] | None if per_system else Streams
        super().__init__({name: Keyword(annotation, streams=True), **more})
        self.name, self.flag, self.help, self.words = name, flag, help, words
        self.per_system, self.single, self.required = per_system, single, required
        self.column, self.title, self.settings = column, title or words, settings

    def add_arguments(self, group: Group) -> None:
        """Add the input's flags."""
        group.add_argument(self.flag, nargs=1 if self.single else "+", type=Reads(), metavar="FILE", help=self.help)
        if self.settings:
            add_flags(group, self.settings)

    def _paths(self, line: CommandLine) -> Sequence[str]:
        return getattr(line, self.flag.lstrip("-").replace("-", "_")) or ()

    def given_by(self, line: CommandLine) -> str:
        """Return the flag by which the command line gives the input; "" if it does not give it."""
        return self.flag if self._paths(line) else ""

    def read(self, line: CommandLine) -> InputFiles:
        """Return the settings of the command line; raise any error of the settings class."""
        return InputFiles(self._paths(line), line[self.settings] if self.settings else None)

    def check(self, given: InputFiles, systems: int) -> None:
        """Raise InputError if the number of files does not fit the number of systems."""
        if self.per_system and given.paths and len(given.paths) != systems:
            raise InputError(
                f"{self.flag} has {counted(len(given.paths), 'file', 'files')} for "
                f"{counted(systems, 'system', 'systems')}",
                fix="give one per system, in the order of the systems",
            )

    def values(self, streams: "Sequence[Segments] | None", settings: Any, context: "Context | None") -> dict[str, Any]:
        """Return the value of each keyword, from the streams and the settings.

        streams    None if there are none
        context    the rest of the run's context, for inputs that can be computed
        """
        return {self.name: streams}

    def missing(self) -> str:
        """Say how to give a required input that is missing."""
        files = "FILE" if self.single else "FILE ..." + ", one file for each system" * self.per_system
        return f"needs {self.words}: give {worded(f'{self.flag} {files}', self.name)}"

    def column_error(self, given: InputFiles) -> str:
        """Say why a command that reads tables cannot use the given files; "" if none are given."""
        if not given.paths:
            return ""
        return f"{self.flag}: annotate reads tables; name the column of these texts (--columns {self.column}=NAME)"


class StreamsOfSystems:
    """One stream per system, looked up by the system's hypotheses.

    If no systems are known, a single stream belongs to any hypotheses that are scored.

    Raises InputError if there are not as many streams as systems, or if a stream and its system differ in length.
    """

    def __init__(
        self, metric: str, words: str, systems: Sequence[Sequence[str]], streams: Sequence[Sequence[str | None]]
    ):
        self._metric, self._words = metric, words
        self._only = streams[0] if len(streams) == 1 and not systems else None
        self._by_system: dict[str, Sequence[str | None]] = {}
        if not systems:
            return
        if len(systems) != len(streams):
            raise InputError(
                f"{metric}: {words} of {counted(len(streams), 'system', 'systems')} for {len(systems)}",
                fix="give one stream per system, in the order of the systems",
            )
        for number, (system, stream) in enumerate(zip(systems, streams, strict=True), 1):
            whose = getattr(system, "name", "") or f"system {number}"
            if len(stream) != len(system):
                where, lines = getattr(stream, "name", "") or f"stream {number}", counted(len(stream), "line", "lines")
                raise InputError(
                    f"{where} has {lines}, but {whose} has {len(system)}",
                    fix=f"there must be {words} for each of its lines",
                )
            if list(self._by_system.setdefault(digest(system), stream)) != list(stream):
                equals = (
                    f"{whose} is identical to an earlier system but has different {words}; the earlier ones are used"
                )
                notice(equals, metric=metric)

    def of(self, hypotheses: Sequence[str]) -> Sequence[str | None]:
        """Return the stream of a system; raise InputError if there is none or its length differs."""
        found = self._by_system.get(digest(hypotheses)) if self._only is None else self._only
        if found is None:
            raise InputError(
                f"{self._metric}: no {self._words} of these hypotheses are known",
                fix="give the hypotheses as `systems`",
            )
        if len(found) != len(hypotheses):
            segments = counted(len(found), "segment", "segments")
            raise InputError(f"{self._metric}: {self._words} of {segments} for {len(hypotheses)} hypotheses")
        return found


@cache
def installed_inputs() -> tuple[FileInput, ...]:
    """Return the inputs with flags of all installed packages, sorted by name, but inputs with a file per system first."""
    inputs = loaded_or_named(GROUP, FileInput)
    return tuple(sorted(inputs, key=lambda each: (not each.per_system, each.name)))
