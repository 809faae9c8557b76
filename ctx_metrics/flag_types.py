"""Types for argparse: numbers, files and lists on a command line."""

import math
import os
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from os.path import expanduser, isfile
from typing import Annotated, Any


def _number(kind: type, good: Callable[[float], bool], wanted: str) -> Callable[[str], Any]:
    """Return an argparse type for finite numbers; `wanted` is what the error message says is expected."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is not {wanted}") from None
        if not (good(value) and value < math.inf):
            raise ArgumentTypeError(f"{text} is not {wanted}")
        return value

    return read


positive = _number(int, lambda value: value >= 1, "a whole number of at least 1")
decimals = _number(int, lambda value: value >= 0, "a whole number of at least 0")
finite = _number(float, lambda value: value > -math.inf, "a finite number")
above_0 = _number(float, lambda value: value > 0, "a number above 0")
at_least_0 = _number(float, lambda value: value >= 0, "a number of at least 0")
share = _number(float, lambda value: 0 <= value < 1, "a number from 0 to below 1")
probability = _number(float, lambda value: 0 < value < 1, "a number between 0 and 1")
_whole = _number(float, lambda value: 0 <= value < 2**32 and value == int(value), "a whole number from 0 to 2^32")


def seed(text: str) -> int:
    return int(_whole(text))


def patience(text: str) -> int | None:
    return None if text in ("0", "none") else positive(text)


def layers(text: str) -> list[int]:
    """Return a list of distinct layer numbers.

    >>> layers("1,2,6")
    [1, 2, 6]
    """
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise ArgumentTypeError(f"{text!r} is not a list of layers, such as 1,2,3")
    found = [int(number) for number in text.split(",")]
    if len(set(found)) < len(found):
        raise ArgumentTypeError(f"{text} names a layer twice")
    return found


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


def languages(text: str) -> list[str]:
    if not re.fullmatch(r"[A-Za-z]{2,3}([-_]\w+)?(,[A-Za-z]{2,3}([-_]\w+)?)*", text):
        raise ArgumentTypeError(f"{text!r} is not a list of language codes, such as en,de")
    return text.split(",")


def file_or_share(text: str) -> str | float:
    """Return a file's name, or a number between 0 and 1, both excluded.

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
        raise ArgumentTypeError(f"{text} is neither a file nor a share above 0 and below 1")
    return share


def rank(text: str) -> int:
    return 0 if text == "0" else positive(text)


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
Patience = Annotated[int | None, patience, "N"]
Rank = Annotated[int, rank, "N"]
Number = Annotated[float, "X"]
Finite = Annotated[float, finite, "X"]
Whole = Annotated[int, "N"]
Above0 = Annotated[float, above_0, "X"]
AtLeast0 = Annotated[float, at_least_0, "X"]
Share = Annotated[float, share, "P"]
Probability = Annotated[float, probability, "P"]
Layers = Annotated[list[int], layers, "K,..."]
Languages = Annotated[list[str], languages, "CODE,..."]
