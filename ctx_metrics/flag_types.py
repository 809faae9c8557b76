"""Types for argparse: numbers, files and lists on a command line."""

import math
import os
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from functools import partial
from os.path import expanduser
from typing import Annotated, Any


def number(kind: type, good: Callable[[float], bool], wanted: str, text: str) -> Any:
    """Read a finite number; `wanted` is what the error message says is expected."""
    try:
        value = kind(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not {wanted}") from None
    if not (good(value) and value < math.inf):
        raise ArgumentTypeError(f"{text} is not {wanted}")
    return value


positive = partial(number, int, lambda value: value >= 1, "a whole number of at least 1")
decimals = partial(number, int, lambda value: value >= 0, "a whole number of at least 0")
probability = partial(number, float, lambda value: 0 < value < 1, "a number between 0 and 1")
_whole = partial(
    number, float, lambda value: 0 <= value < 2**32 and value == int(value), "a whole number from 0 to 2^32"
)


def seed(text: str) -> int:
    return int(_whole(text))


def output_file(text: str) -> str | None:
    """Return the path that -o names; None for "-", the standard output.

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


# Types of settings: the type of the field, the function that reads it from a command line, and its name in --help.
Model = Annotated[str, "MODEL"]
Name = Annotated[str, "NAME"]
File = Annotated[str, expanduser, "FILE"]
Files = Annotated[Sequence[str], expanduser, "FILE"]
Folder = Annotated[str, expanduser, "FOLDER"]
Directory = Annotated[str, expanduser, "DIR"]
Positive = Annotated[int, positive, "N"]
Decimals = Annotated[int, decimals, "N"]
Seed = Annotated[int, seed, "N"]
Number = Annotated[float, "X"]
Whole = Annotated[int, "N"]
Probability = Annotated[float, probability, "P"]
