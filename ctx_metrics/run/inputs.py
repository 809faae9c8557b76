"""Inputs: what some metrics read beside the texts of every run, and the flags that give it."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import cache
from os.path import expanduser
from typing import TYPE_CHECKING, Any, NamedTuple

from ..corpus import digest
from ..entry_points import loaded_or_named
from ..errors import InputError
from ..notices import counted, notice
from ..settings import Group
from ..wording import worded

if TYPE_CHECKING:
    from .context import Context
    from .streams import Segments

GROUP = "ctx_metrics.inputs"
Streams = Sequence[Sequence[str | None]] | None


class Keyword(NamedTuple):
    """A keyword of metrics: its type, its default, and whether it holds streams of segments."""

    annotation: Any
    default: Any = None
    streams: bool = False


class Input:
    """What a metric reads beside the fields of a Context, under keywords of its constructor.

    Metrics name the inputs that they read in their Capabilities. In Python any of them can be given; a command gives those
    that have flags: the FileInputs that entry points of the group `ctx_metrics.inputs` name.
    """

    def __init__(self, **keywords: Keyword):
        self.keywords: Mapping[str, Keyword] = keywords

    @property
    def streams(self) -> frozenset[str]:
        """Those of the keywords that hold streams of segments."""
        return frozenset(name for name, keyword in self.keywords.items() if keyword.streams)


class FileInput(Input):
    """Streams of segments that a flag reads from files, one segment a line.

    name          the keyword
    flag, help    of the command line
    words         what messages call it
    per_system    one file for each system, in the order of the systems; else any number
    required      whether metrics that read it cannot do without
    column        the role of its columns in tables; "" where tables have none
    title         of its group of flags in --help
    more          other keywords, which a subclass gives

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
        required: bool = False,
        column: str = "",
        title: str = "",
        **more: Keyword,
    ):
        annotation = Sequence[Sequence[str]] | None if per_system else Streams
        super().__init__(**{name: Keyword(annotation, streams=True)}, **more)
        self.name, self.flag, self.help, self.words = name, flag, help, words
        self.per_system, self.required = per_system, required
        self.column, self.title = column, title or words

    def add_arguments(self, group: Group) -> None:
        """Add the flag, and in subclasses those of its settings."""
        group.add_argument(self.flag, nargs="+", type=expanduser, metavar="FILE", help=self.help)

    def paths(self, args: Namespace) -> Sequence[str]:
        """The files that a command line names."""
        return getattr(args, self.flag.lstrip("-").replace("-", "_")) or ()

    def given_by(self, args: Namespace) -> str:
        """The flag by which a command line gives the input; "" where it gives none."""
        return self.flag if self.paths(args) else ""

    def settings(self, args: Namespace) -> Any:
        """What the flags say beside the files; raises InputError for flags that contradict each other."""
        return None

    def check(self, paths: Sequence[str], settings: Any, systems: int) -> None:
        """Raise InputError where the files are not what so many systems need."""
        if self.per_system and paths and len(paths) != systems:
            raise InputError(
                f"{self.flag} has {counted(len(paths), 'file', 'files')} for {counted(systems, 'system', 'systems')}; "
                "give one per system, in the order of the systems"
            )

    def values(self, streams: "Sequence[Segments] | None", settings: Any, context: "Context | None") -> dict[str, Any]:
        """The value of each keyword: of the streams, None where there are none, and of `settings`.

        context    what the run knows otherwise, for inputs that can be computed
        """
        return {self.name: streams}

    def missing(self) -> str:
        """How to give what is required and is not there."""
        return f"needs {self.words}: give {worded(f'{self.flag} FILE ...', self.name)}"

    def column_error(self, args: Namespace) -> str:
        """Why a command that reads tables cannot use what the command line gives; "" where it gives nothing."""
        if not self.paths(args):
            return ""
        return f"{self.flag}: annotate reads tables; name the column of these texts (--columns {self.column}=NAME)"


class StreamsOfSystems:
    """One stream for each system, which is found by the system's hypotheses.

    Where no systems are known, a single stream is that of whatever hypotheses are scored. Raises InputError for another
    number of streams than of systems, and for a stream that is not as long as its system.
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
                f"{metric}: {words} of {counted(len(streams), 'system', 'systems')} for {len(systems)}; give one stream "
                "per system, in the order of the systems"
            )
        for number, (system, stream) in enumerate(zip(systems, streams, strict=True), 1):
            whose = getattr(system, "name", "") or f"system {number}"
            if len(stream) != len(system):
                where, lines = getattr(stream, "name", "") or f"stream {number}", counted(len(stream), "line", "lines")
                raise InputError(
                    f"{where} has {lines}, but {whose} has {len(system)}; there must be {words} for each of its lines"
                )
            if list(self._by_system.setdefault(digest(system), stream)) != list(stream):
                notice(
                    f"{metric}: {whose} equals an earlier system, but has other {words}; those of the earlier one are used"
                )

    def of(self, hypotheses: Sequence[str]) -> Sequence[str | None]:
        """The stream of a system; raises InputError where there is none, or one of another length."""
        found = self._by_system.get(digest(hypotheses)) if self._only is None else self._only
        if found is None:
            raise InputError(
                f"{self._metric}: no {self._words} of these hypotheses are known; give the hypotheses as `systems`"
            )
        if len(found) != len(hypotheses):
            segments = counted(len(found), "segment", "segments")
            raise InputError(f"{self._metric}: {self._words} of {segments} for {len(hypotheses)} hypotheses")
        return found


@cache
def installed_inputs() -> tuple[FileInput, ...]:
    """The inputs that have flags, of all installed packages: those of each system first, then by name."""
    inputs = loaded_or_named(GROUP, FileInput)
    return tuple(sorted(inputs, key=lambda each: (not each.per_system, each.name)))
