"""Suggestions for misspelled words on a command line."""

import argparse
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

CLOSE = 0.75  # minimum similarity of two words, from 0 to 1


def closest(word: str, names: Iterable[str], abbreviated: bool = False) -> str:
    """Return "; did you mean NAME?" with the name most similar to a word; "" if none is similar.

    abbreviated    whether the word may be an abbreviated name

    >>> closest("scoer", ["score", "compare"]), closest("--rf", ["--references"], abbreviated=True), closest("x", ["score"])
    ('; did you mean score?', '; did you mean --references?', '')
    """
    known = {name: name for name in names}
    if abbreviated:
        known = {name[: len(word) + more]: name for more in (0, 1) for name in known} | known
    found = get_close_matches(word, known, 1, CLOSE)
    return f"; did you mean {known[found[0]]}?" if found else ""


class SuggestingParser(argparse.ArgumentParser):
    """An ArgumentParser whose error for an invalid choice suggests the one that was probably meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += closest(str(value), map(str, action.choices or ()))
            raise
