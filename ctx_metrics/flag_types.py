"""Numbers and lists on the command line of `ctx-metrics train`, and flags that several subcommands share."""

import math
import os
import re
from argparse import ArgumentTypeError, _ArgumentGroup
from collections.abc import Callable
from os.path import expanduser, isfile


def positive(text: str) -> int:
    """An integer of at least 1, for argparse."""
    value = int(text)
    if value < 1:
        raise ArgumentTypeError(f"{text} is not at least 1")
    return value


def _number(text: str, good: Callable[[float], bool], what: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and good(value)):
        raise ArgumentTypeError(f"{text} is not {what}")
    return value


def above_0(text: str) -> float:
    """A number above 0."""
    return _number(text, lambda value: value > 0, "above 0")


def at_least_0(text: str) -> float:
    """A number of at least 0."""
    return _number(text, lambda value: value >= 0, "at least 0")


def share(text: str) -> float:
    """A number from 0 to below 1."""
    return _number(text, lambda value: 0 <= value < 1, "from 0 to below 1")


def seed(text: str) -> int:
    """A seed."""
    return int(_number(text, lambda value: value == int(value) and 0 <= value < 2**32, "a whole number from 0 to 2^32"))


def patience(text: str) -> int:
    """A number of checks; 0 for none."""
    return 0 if text in ("0", "none") else positive(text)


def layers(text: str) -> list[int]:
    """Numbers of layers.

    >>> layers("1,2,6")
    [1, 2, 6]
    """
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise ArgumentTypeError(f"{text!r} is no list of layers, such as 1,2,3")
    found = [int(number) for number in text.split(",")]
    if len(set(found)) < len(found):
        raise ArgumentTypeError(f"{text} names a layer twice")
    return found


def add_text_arguments(group: _ArgumentGroup, unescape: bool = False) -> None:
    """The flag --no-text-checks, and --unescape where texts are scored with any metric."""
    group.add_argument(
        "--no-text-checks",
        action="store_true",
        help="Do not look for HTML entities and shifted lines in the texts.",
    )
    if unescape:
        group.add_argument(
            "--unescape",
            action="store_true",
            help="Replace HTML entities in all texts before scoring: &amp; &lt; &gt; &quot; &apos; and numbers (&#39;).",
        )


def output_file(text: str) -> str | None:
    """The path that -o names; None for -, the standard output.

    >>> output_file("scores.tsv"), output_file("-")
    ('scores.tsv', None)
    """
    if text == "-":
        return None
    if text.endswith(os.sep):
        raise ArgumentTypeError(f"{text} is the name of a folder; name a file")
    if text.endswith((".gz", ".xz")):
        raise ArgumentTypeError(f"{text} would hold plain text; leave out {text[-3:]}")
    return os.path.expanduser(text)


def languages(text: str) -> list[str]:
    """Language codes."""
    if not re.fullmatch(r"[A-Za-z]{2,3}([-_]\w+)?(,[A-Za-z]{2,3}([-_]\w+)?)*", text):
        raise ArgumentTypeError(f"{text!r} is no list of language codes, such as en,de")
    return text.split(",")


def probability(text: str) -> float:
    """A number between 0 and 1, for argparse."""
    return _number(text, lambda value: 0 < value < 1, "between 0 and 1")


def decimals(text: str) -> int:
    """A number of decimals, for argparse."""
    value = int(text)
    if value < 0:
        raise ArgumentTypeError(f"{text} is less than 0")
    return value


def file_or_share(text: str) -> str | float:
    """A file's name, or a number above 0 and below 1.

    >>> file_or_share("0.1"), file_or_share("dev.tsv")
    (0.1, 'dev.tsv')
    """
    path = expanduser(text)
    if isfile(path):
        return path
    try:
        share = float(text)
    except ValueError:
        return path
    if not 0 < share < 1:
        raise ArgumentTypeError(f"{text} is no file, and no share above 0 and below 1")
    return share


def rank(text: str) -> int:
    """0, or a number above it."""
    return 0 if text == "0" else positive(text)
