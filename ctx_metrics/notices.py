"""What a user must be told: one line each on stderr, through one logger."""

import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence

logger = logging.getLogger("ctx_metrics")
if os.environ.get("CTX_METRICS_DEBUG"):  # which linear layers and which attention run, for instance
    logger.setLevel(logging.DEBUG)


class OncePerRun(logging.Filter):
    """Lets each distinct message through once; the plugin puts one on the logger for every sacrebleu run."""

    def __init__(self):
        super().__init__()
        self.said: dict[str, None] = {}  # in order

    def filter(self, record: logging.LogRecord) -> bool:
        message, before = record.getMessage(), len(self.said)
        self.said[message] = None
        return len(self.said) > before


def notice(message: str) -> None:
    """Say something that bears on the scores (always shown, also with --quiet)."""
    logger.warning(message)


def progress(message: str, quiet: bool = False) -> None:
    """Say how far a long run is, where stderr is no terminal and so shows no progress bar; nothing if `quiet`."""
    if not quiet and not (sys.stderr and sys.stderr.isatty()):
        logger.warning(message)


def quiet_libraries() -> None:
    """Keep other libraries from writing into the user's run: sacrebleu sets the root logger to INFO."""
    names = "transformers sentence_transformers huggingface_hub httpx httpx2 httpcore httpcore2 urllib3 filelock torch"
    for name in names.split():
        other = logging.getLogger(name)
        if other.level == logging.NOTSET:
            other.setLevel(logging.ERROR)


def counted(number: int, one: str, many: str) -> str:
    """A number with the words that agree with it.

    >>> counted(1, "segment has", "segments have"), counted(3000, "segment has", "segments have")
    ('1 segment has', '3,000 segments have')
    """
    return f"{number:,} {one if number == 1 else many}"


def place(positions: Sequence[int], shown: int = 5) -> str:
    """The first few 1-based positions of a longer list, for a message.

    >>> place([0, 3, 4])
    '1, 4, 5'
    >>> place(range(9))
    '1, 2, 3, 4, 5, ...'
    """
    head = ", ".join(str(position + 1) for position in positions[:shown])
    return head + (", ..." if len(positions) > shown else "")


def told(
    kinds: Mapping[str, tuple[Sequence[int], str]], where: str = "segment", least: Mapping[str, float] = {}
) -> tuple[dict[str, int], list[str]]:
    """Counts by kind of what is odd, and a line for each kind that there is any of.

    kinds    the 0-based positions of each kind, and words with [what agrees with one of them|and with several]
    where    what the positions are of
    least    a number that a kind must exceed to be told of, where it is not 0

    >>> told({"empty": ([3], "[line is|lines are] empty"), "cut": ([], "[line is|lines are] cut")}, "line")
    ({'empty': 1, 'cut': 0}, ['1 line is empty (line 4)'])
    """
    lines = []
    for kind, (positions, words) in kinds.items():
        if len(positions) > least.get(kind, 0):
            agreeing = re.sub(r"\[(.*?)\|(.*?)\]", r"\1" if len(positions) == 1 else r"\2", words)
            lines.append(f"{len(positions):,} {agreeing} ({where} {place(positions)})")
    return {kind: len(positions) for kind, (positions, _) in kinds.items()}, lines
