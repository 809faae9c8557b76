"""The flags --pseudo-* and what they come to."""

import argparse

import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.pseudo_references.inputs import PseudoFilter
from ctx_metrics.settings import add_flags, from_flags
from ctx_metrics.wording import by_flags


def parsed(*argv: str) -> PseudoFilter:
    parser = argparse.ArgumentParser()
    add_flags(parser.add_argument_group(), PseudoFilter)
    return from_flags(PseudoFilter, parser.parse_args(argv))


def test_defaults():
    assert parsed() == PseudoFilter("bert", None, None, None, 0.4)
    assert PseudoFilter().limit == 0.5
    assert PseudoFilter("mas").limit == 0.74 and PseudoFilter("mas", vectors="glove.txt").limit == 0.8
    assert PseudoFilter("none").limit is None


def test_flags_reach_the_filter():
    assert parsed("--pseudo-filter", "mas", "--pseudo-threshold", "-0.5", "--pseudo-vectors", "v.txt") == PseudoFilter(
        "mas", -0.5, None, "v.txt"
    )
    assert parsed("--pseudo-model", "embedded", "--pseudo-guard", "0.25") == PseudoFilter(model="embedded", guard=0.25)
    assert parsed("--pseudo-guard", "off").guard is None
    assert PseudoFilter("mas", -0.5).limit == -0.5


def test_signature():
    assert PseudoFilter().signature() == {"filter": "bert", "threshold": 0.5, "guard": 0.4}
    assert PseudoFilter("none", guard=None).signature() == {"filter": "none", "threshold": None, "guard": "off"}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--pseudo-vectors", "v.txt"], "--pseudo-vectors are for --pseudo-filter mas, and the filter is bert"),
        (["--pseudo-filter", "mas", "--pseudo-model", "m"], "--pseudo-model is the classifier of --pseudo-filter bert"),
        (["--pseudo-filter", "none", "--pseudo-threshold", "0.5"], "none keeps all and has no threshold"),
        (["--pseudo-threshold", "1"], "--pseudo-threshold 1: scores of bert lie between 0 and 1"),
        (["--pseudo-threshold", "-0.1"], "a threshold must be from 0 to below 1"),
        (["--pseudo-filter", "mas", "--pseudo-threshold", "-1.1"], "a threshold must be from -1 to below 1"),
    ],
)
def test_contradictions(argv, words):
    with by_flags(), pytest.raises(InputError) as error:
        parsed(*argv)
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("share", ["1", "-0.1", "nan", "half"])
def test_a_guard_is_a_share(share, capsys):
    """Read so also where no metric needs it."""
    with pytest.raises(SystemExit):
        parsed("--pseudo-guard", share)
    assert "is not a share from 0 to below 1, or off" in capsys.readouterr().err


def test_in_python_messages_name_keywords():
    with pytest.raises(InputError, match=r"^PseudoFilter\(model=\.\.\.\) is the classifier of "):
        PseudoFilter("mas", model="m")
    with pytest.raises(InputError, match="'glove' is not one of bert, mas, none"):
        PseudoFilter("glove")
    with pytest.raises(InputError, match=r"^PseudoFilter\(guard=1\) is neither a share from 0 to below 1 nor None$"):
        PseudoFilter(guard=1)
