"""Notices to the user: values while a run collects and merges them, and one line each on stderr at the end; and the progress
of a long run."""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import ClassVar

from .wording import printable

logger = logging.getLogger("ctx_metrics")
if os.environ.get("CTX_METRICS_DEBUG"):  # logs, for instance, which linear layers and which attention run
    logger.setLevel(logging.DEBUG)


@dataclass(frozen=True)
class Notice:
    """Something that the user should know about the scores; str() is its line.

    what      the words; if things are counted, those after the number 1
    many      the words after any other number
    number    how many things are counted; None if none are
    first     0-based positions of at most FIRST of them
    unit      the unit of the positions, such as "line"; "" shows no positions
    metric    the metric's name in lower case, if a metric gives the notice
    about     the systems, stream or file that it is about, or ""
    kind      the count's name after the score, such as "empty"

    >>> str(Notice("line is empty", "lines are empty", 2, (3, 10), "line", about="ref.txt"))
    'ref.txt: 2 lines are empty (lines 4, 11)'
    """

    FIRST: ClassVar = 5
    what: str
    many: str = ""
    number: int | None = None
    first: tuple[int, ...] = ()
    unit: str = "segment"
    metric: str = ""
    about: str = ""
    kind: str = ""

    @classmethod
    def at(cls, positions: Sequence[int], one: str, many: str, unit: str = "segment", **more: str) -> "Notice":
        """Return the notice about the segments at all of these positions.

        >>> str(Notice.at([0, 2], "segment is cut", "segments are cut"))
        '2 segments are cut (segments 1, 3)'
        """
        return cls(one, many, len(positions), tuple(positions[: cls.FIRST]), unit, **more)

    def __str__(self) -> str:
        line = self.what
        if self.number is not None:
            line = counted(self.number, self.what, self.many)
            if self.unit and self.first:
                unit = self.unit.removeprefix("from ")
                where = places(unit, self.first, self.number)
                line += (
                    f", starting at {where}"
                    if unit != self.unit
                    else f": {where}"
                    if line[-1] == ")"
                    else f" ({where})"
                )
        return ": ".join(filter(None, (self.metric, self.about, line)))

    def of(self, about: str) -> "Notice":
        return replace(self, about=": ".join(filter(None, (about, self.about))))

    def of_segments(self, positions: Sequence[int]) -> "Notice":
        """Return the notice about some segments of a corpus, which stand at these positions, as one of the corpus."""
        return replace(self, first=tuple(positions[each] for each in self.first))

    def after(self, segments: int) -> "Notice":
        """Return the notice with its positions moved by the number of segments that come before these."""
        return replace(self, first=tuple(position + segments for position in self.first))

    def of_rows(self) -> "Notice":
        return replace(self, unit={"segment": "row", "from segment": "from row"}.get(self.unit, self.unit))


def merged(parts: Iterable[tuple[int, Iterable[Notice]]]) -> list[Notice]:
    """Return one notice for all that differ only in their numbers and positions.

    parts    for each part of a corpus, the number of segments before it, and the notices about it

    >>> empty = Notice.at([3], "line is empty", "lines are empty", "line")
    >>> [str(each) for each in merged([(0, [empty]), (10, [empty, Notice("no GPU is used")])])]
    ['2 lines are empty (lines 4, 14)', 'no GPU is used']
    """
    found: dict[Notice, Notice] = {}
    for before, notices in parts:
        for each in notices:
            key, more = replace(each, number=None, first=()), each.after(before)
            if each.number is not None and (known := found.get(key)) is not None:
                first = (*known.first, *more.first)[: Notice.FIRST]
                more = replace(known, number=(known.number or 0) + each.number, first=first)
            found[key] = more
    return list(found.values())


def tallied(notices: Iterable[Notice], least: Mapping[str, float] = {}) -> tuple[dict[str, int], list[Notice]]:
    """Return the numbers of notices by their kinds, and the notices that are about anything.

    least    for a kind, the number that must be exceeded; 0 by default

    >>> counts, shown = tallied([Notice.at([3], "is empty", "are empty", kind="empty"), Notice.at([], "", "", kind="cut")])
    >>> counts, [str(each) for each in shown]
    ({'empty': 1, 'cut': 0}, ['1 is empty (segment 4)'])
    """
    numbers = [(each, each.number or 0) for each in notices]
    shown = [each for each, number in numbers if number > least.get(each.kind, 0)]
    return {each.kind: number for each, number in numbers}, shown


# The state of the process, because worker threads give notices, too. Dictionaries keep the order, and each notice once.
_collections: list[dict[Notice, None]] = []  # of the blocks that collect notices; the last one is innermost
_of_run: dict[Notice, None] | None = (
    None  # all that a command has shown; None in Python, which shows a notice each time
)
_show: Callable[[str], None] = logger.warning


def say(line: str, program: str = "ctx-metrics") -> None:
    """Print a line on stderr, if there is one that takes it: a full disk must not end a run."""
    if sys.stderr:
        with suppress(OSError):
            sys.stderr.write(f"{program}: {printable(line)}\n")
            sys.stderr.flush()


def notice(what: Notice | str, metric: str = "", about: str = "") -> None:
    """Tell the user something that affects the scores; always shown, even with --quiet, but only once in a command."""
    given = what if isinstance(what, Notice) else Notice(what, metric=metric, about=about)
    if _collections:
        _collections[-1][given] = None
    elif _of_run is None or given not in _of_run:
        _show(printable(str(given)))
        if _of_run is not None:
            _of_run[given] = None


@contextmanager
def collected() -> Iterator[list[Notice]]:
    """Collect the notices of the block, each once, instead of showing them; the list is filled at its end."""
    notices: list[Notice] = []
    collection: dict[Notice, None] = {}
    _collections.append(collection)
    try:
        yield notices
    finally:
        _collections[:] = [each for each in _collections if each is not collection]
        notices += collection


def begin_run(show: Callable[[str], None] = logger.warning) -> None:
    """Begin the run of a command, which shows each notice once, by calling `show` with its line."""
    global _of_run, _show
    _of_run, _show = {}, show


def end_run() -> None:
    global _of_run, _show
    _of_run, _show = None, logger.warning


def shown_notices() -> list[Notice]:
    return list(_of_run or ())


def shows_bars() -> bool:
    return bool(sys.stderr and sys.stderr.isatty())


def progress(message: str, quiet: bool = False) -> None:
    """Report the progress of a long run if stderr is not a terminal, and so shows no progress bar; nothing if `quiet`."""
    if not quiet and not shows_bars():
        _show(printable(message))


EVERY = 60.0  # seconds between two lines


class Progress:
    """Shows the progress of a long run: a bar if stderr is a terminal, else a line about once a minute; nothing if `quiet`.

    unit     the thing counted, in the singular, such as "text"
    total    how many there are; None if unknown
    done     how many of them an earlier run has finished

    A run of less than a minute prints no line. If the total is known, each line gives the time left.

    >>> with Progress("comet", "text", 3, quiet=True) as shown:
    ...     shown.update(2)
    ...     shown.update(1)
    """

    def __init__(self, label: str, unit: str, total: int | None = None, *, done: int = 0, quiet: bool = False):
        self.label, self.unit, self.total, self.done = label, unit, total, done
        self._lines, self._before = not (quiet or shows_bars()), done
        self._start = self._last = monotonic()
        from tqdm import tqdm

        shown, hidden = printable(label), quiet or self._lines
        self._bar = tqdm(total=total, initial=done, desc=shown, unit=unit, leave=False, disable=hidden)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def update(self, n: int = 1) -> None:
        self.done += n
        self._bar.update(n)
        if self._lines and (now := monotonic()) - self._last >= EVERY and self.done != self.total:
            self._last = now
            progress(self._line(now - self._start))

    def _line(self, taken: float) -> str:
        new = self.done - self._before
        if self.total is None:
            return f"{self.label}: {counted(self.done, self.unit, f'{self.unit}s')} in {duration(taken)}"
        so_far = f"{self.label}: {self.done:,} of {self.total:,} {self.unit}s in {duration(taken)}"
        return f"{so_far}; about {duration(taken * (self.total - self.done) / new)} left" if new else so_far


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(7.2), duration(100), duration(7500)
    ('7 s', '2 min', '2 h 5 min')
    """
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


_TALKATIVE = (
    "transformers sentence_transformers huggingface_hub httpx httpx2 httpcore httpcore2 openai urllib3 filelock torch"
).split()


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silence other libraries' log messages below ERROR in the block, because sacrebleu sets the root logger to INFO.

    For commands alone: in a user's own program, the user sets these levels.
    """
    own = [each for each in map(logging.getLogger, _TALKATIVE) if each.level == logging.NOTSET]
    for each in own:
        each.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for each in own:
            if each.level == logging.ERROR:  # else the library has set it
                each.setLevel(logging.NOTSET)


def counted(number: int, one: str, many: str) -> str:
    """Return a number followed by its singular or plural words.

    >>> counted(1, "segment has", "segments have"), counted(3000, "segment has", "segments have")
    ('1 segment has', '3,000 segments have')
    """
    return f"{number:,} {one if number == 1 else many}"


def places(unit: str, positions: Sequence[int], number: int | None = None) -> str:
    """Return the first few positions of a list with their unit, counted from 1, for a message.

    positions    0-based
    number       the number of all positions, if not all are given

    >>> places("segment", [3]), places("segment", [0, 3, 4])
    ('segment 4', 'segments 1, 4, 5')
    >>> places("line", range(9))
    'lines 1, 2, 3, 4, 5, ...'
    """
    number, shown = len(positions) if number is None else number, positions[: Notice.FIRST]
    units = unit if number == 1 else f"{unit}s"
    return f"{units} {', '.join(str(position + 1) for position in shown)}{', ...' if number > len(shown) else ''}"
