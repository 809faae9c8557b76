"""Which parameters of a test the default run takes, and which are left to `-m full`."""

from collections.abc import Iterable

import pytest


def some(parameters: Iterable, default: Iterable) -> list:
    """All parameters of a fixture or of one argument; those that are not among `default` bear the mark `full`."""
    parameters, default = list(parameters), list(default)
    assert all(each in parameters for each in default)
    return [each if each in default else pytest.param(each, marks=pytest.mark.full) for each in parameters]


def some_rows(rows: Iterable[tuple], default: Iterable[tuple]) -> list:
    """As some(), of rows of values for several arguments."""
    rows, default = list(rows), list(default)
    assert all(each in rows for each in default)
    return [each if each in default else pytest.param(*each, marks=pytest.mark.full) for each in rows]
