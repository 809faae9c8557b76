"""Types for argparse that only commands which train models need, besides those of ctx_metrics.flag_types."""

import re
from argparse import ArgumentTypeError
from functools import partial
from os.path import expanduser, isfile
from typing import Annotated

from ..flag_types import decimals, number, positive
from ..language import primary


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


def languages(text: str) -> list[str]:
    """Return the shortest codes of the languages.

    >>> languages("eng,pt-BR")
    ['en', 'pt']
    """
    if not re.fullmatch(r"[A-Za-z]{2,3}([-_]\w+)?(,[A-Za-z]{2,3}([-_]\w+)?)*", text):
        raise ArgumentTypeError(f"{text!r} is not a list of language codes, such as en,de")
    return [primary(each) for each in text.split(",")]


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


Above0 = Annotated[float, partial(number, float, lambda value: value > 0, "a number above 0"), "X"]
AtLeast0 = Annotated[float, partial(number, float, lambda value: value >= 0, "a number of at least 0"), "X"]
Share = Annotated[float, partial(number, float, lambda value: 0 <= value < 1, "a number from 0 to below 1"), "P"]
Patience = Annotated[int | None, patience, "N"]
Rank = Annotated[int, decimals, "N"]
Layers = Annotated[list[int], layers, "K,..."]
Languages = Annotated[list[str], languages, "CODE,..."]
