"""Which parameters of a test the default run takes, and which are left to `-m full`."""

from collections.abc import Iterable

import pytest


def some(parameters: Iterable, default: Iterable) -> list:
    """All parameters of a fixture or of one argument; those that are not among `default` bear the mark `full`."""
    parameters, default = list(parameters), list(default)
    assert all(each in parameters for each in default)
    return [each if each in default else pytest.param(each, marks=pytest.mark.full) for each in parameters]
