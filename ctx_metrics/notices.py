"""Notices to the user: one line each on stderr, all through one logger."""

import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence

logger = logging.getLogger("ctx_metrics")
progress_logger = logger.getChild("progress")  # inherits the parent's handlers, but not its filters
if os.environ.get("CTX_METRICS_DEBUG"):  # logs, for instance, which linear layers and which attention run
    logger.setLevel(logging.DEBUG)


class OncePerRun(logging.Filter):
    """Logging filter that passes each distinct message once; the plugin adds a new one to the logger for every run."""

    def __init__(self):
        super().__init__()
        self.said: dict[str, None] = {}  # in order

    def filter(self, record: logging.LogRecord) -> bool:
        message, before = record.getMessage(), len(self.said)
        self.said[message] = None
        return len(self.said) > before


def notice(message: str) -> None:
    """Tell the user something that affects the scores; always shown, even with --quiet."""
    logger.warning(message)


def shows_bars() -> bool:
    """Whether progress bars are shown: only if stderr is a terminal."""
    return bool(sys.stderr and sys.stderr.isatty())


def progress(message: str, quiet: bool = False) -> None:
    """Report the progress of a long run if stderr is not a terminal, and so shows no progress bar; nothing if `quiet`.

    The line is not a notice: filters and collectors of notices do not see it.
    """
    if not quiet and not shows_bars():
        progress_logger.warning(message)


def quiet_libraries() -> None:
    """Silence the log messages of other libraries below ERROR, because sacrebleu sets the root logger to INFO."""
    names = "transformers sentence_transformers huggingface_hub httpx httpx2 httpcore httpcore2 urllib3 filelock torch"
    for name in names.split():
        other = logging.getLogger(name)
        if other.level == logging.NOTSET:
            other.setLevel(logging.ERROR)


def counted(number: int, one: str, many: str) -> str:
    """Return a number followed by its singular or plural words.

    >>> counted(1, "segment has", "segments have"), counted(3000, "segment has", "segments have")
    ('1 segment has', '3,000 segments have')
    """
    return f"{number:,} {one if number == 1 else many}"


def place(positions: Sequence[int], shown: int = 5, number: int | None = None) -> str:
    """Return the first few positions of a list, counted from 1, for a message.

    positions    0-based
    shown        the most that are shown
    number       how many there are in all, if not all are given

    >>> place([0, 3, 4])
    '1, 4, 5'
    >>> place(range(9))
    '1, 2, 3, 4, 5, ...'
    """
    head = ", ".join(str(position + 1) for position in positions[:shown])
    return head + (", ..." if (len(positions) if number is None else number) > shown else "")


class Odd(str):
    """A line about odd segments. It stores their number and first positions, so that lines on parts of a corpus add up.

    words     what is odd, with [singular words|plural words] in brackets
    number    how many segments;  first    0-based positions of at most FIRST of them
    where     what the positions count, such as "line"; "" shows no positions

    >>> Odd("[line is|lines are] empty", 1, [3], "line").with_more(Odd("[line is|lines are] empty", 2, [10, 12], "line"))
    '3 lines are empty (line 4, 11, 13)'
    """

    FIRST = 5
    words: str
    number: int
    first: tuple[int, ...]
    where: str

    def __new__(cls, words: str, number: int, first: Sequence[int], where: str = "segment") -> "Odd":
        agreeing = re.sub(r"\[(.*?)\|(.*?)\]", r"\1" if number == 1 else r"\2", words)
        places = f" ({where} {place(first, cls.FIRST, number)})" if where else ""
        line = super().__new__(cls, f"{number:,} {agreeing}{places}")
        line.words, line.number, line.first, line.where = words, number, tuple(first[: cls.FIRST]), where
        return line

    def __getnewargs__(self) -> tuple:
        return self.words, self.number, self.first, self.where

    def after(self, segments: int) -> "Odd":
        """Return the line with its positions moved by the number of segments that come before these."""
        return Odd(self.words, self.number, [position + segments for position in self.first], self.where)

    def with_more(self, other: "Odd") -> "Odd":
        """Return one line for these segments and later ones that are odd in the same way."""
        return Odd(self.words, self.number + other.number, [*self.first, *other.first][: self.FIRST], self.where)


def told(
    kinds: Mapping[str, tuple[Sequence[int], str]], where: str = "segment", least: Mapping[str, float] = {}
) -> tuple[dict[str, int], list[str]]:
    """Return how many segments are odd in each way, and a line for each way that occurs.

    kinds    for each kind, the 0-based positions, and words with [singular words|plural words] in brackets
    where    what the positions count
    least    for a kind, the count that it must exceed to get a line; 0 by default

    >>> told({"empty": ([3], "[line is|lines are] empty"), "cut": ([], "[line is|lines are] cut")}, "line")
    ({'empty': 1, 'cut': 0}, ['1 line is empty (line 4)'])
    """
    lines: list[str] = [
        Odd(words, len(positions), positions[: Odd.FIRST], where)
        for kind, (positions, words) in kinds.items()
        if len(positions) > least.get(kind, 0)
    ]
    return {kind: len(positions) for kind, (positions, _) in kinds.items()}, lines
