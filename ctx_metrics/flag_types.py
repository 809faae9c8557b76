"""Types for argparse: numbers, files and lists on a command line."""

import os
from argparse import ArgumentTypeError
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from .paths import Reads, Writes
from .settings import finite, number, whole

amount = partial(number, int, lambda value: value >= 1, "a whole number of at least 1")
positive = partial(amount, most=10**6)
few = partial(amount, most=1000)
MOST_ORDER = 100
order = partial(number, int, lambda value: value >= 0, "a whole number of at least 0", most=MOST_ORDER)
MOST_DECIMALS = 100
decimals = partial(number, int, lambda value: 0 <= value <= MOST_DECIMALS, f"a whole number from 0 to {MOST_DECIMALS}")
probability = partial(number, float, lambda value: 0 < value < 1, "a number between 0 and 1")
_whole = partial(
    number, float, lambda value: 0 <= value < 2**32 and value == int(value), "a whole number from 0 to 2^32", most=2**32
)


def seed(text: str) -> int:
    return int(_whole(text))


def output_file(text: str) -> str:
    """Return the path of a file of plain text that a flag names."""
    if text == "-":
        raise ArgumentTypeError("-: only -o can be the standard output; name a file")
    if text.endswith(os.sep):
        raise ArgumentTypeError(f"{text} is the name of a folder; name a file")
    if text.endswith((".gz", ".xz")):
        raise ArgumentTypeError(f"{text} would hold plain text; leave out {text[-3:]}")
    return os.path.expanduser(text)


def output_or_stdout(text: str) -> str | None:
    """Return the path that -o names; None for "-", the standard output.

    >>> output_or_stdout("scores.tsv"), output_or_stdout("-")
    ('scores.tsv', None)
    """
    return None if text == "-" else output_file(text)


# Types of settings: the type of the field, the function that reads it from a command line, and its name in --help.
# Inputs and outputs have types of their own: paths.check_paths compares them.
Model = Annotated[str, Reads(str), "MODEL"]
Name = Annotated[str, "NAME"]
File = Annotated[str, Reads(), "FILE"]
Files = Annotated[Sequence[str], Reads(), "FILE"]
Folder = Annotated[str, Reads(), "FOLDER"]
Directory = Annotated[str, Reads(), "DIR"]
KeptIn = Annotated[str, Writes(inside=("*.json.z",)), "DIR"]  # of scale.kept
NewFile = Annotated[str, Writes(output_file), "FILE"]
OutputFile = Annotated[str, Writes(output_or_stdout), "FILE"]
Positive = Annotated[int, positive, "N"]
Amount = Annotated[int, amount, "N"]  # of rows, tokens or memory, of which there may be millions
Few = Annotated[int, few, "N"]
Order = Annotated[int, order, "N"]  # of n-grams, and chrF's beta
Decimals = Annotated[int, decimals, "N"]
Seed = Annotated[int, seed, "N"]
Number = Annotated[float, finite, "X"]
Whole = Annotated[int, whole, "N"]
Probability = Annotated[float, probability, "P"]
