"""Settings that declare their flags: what argparse is told of them, and what comes back."""

from argparse import ArgumentError, ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.flag_types import Files, Positive, Probability
from ctx_metrics.settings import add_all, add_flags, check_values, from_flags, setting


@dataclass(frozen=True)
class Baking:
    """How bread is baked."""

    loaves: Files = setting("What is baked.", flag="LOAF", group="bread")
    flour: Literal["rye", "wheat"] = setting("Of the dough.", "rye", flag="-f --flour")
    minutes: Positive = setting("In the oven.", 40, group="oven")
    salt: Probability | None = setting("Of the dough. (Default: to taste)")
    names: Sequence[str] = setting("Of the bakers.", ())
    steam: bool = setting("Wet the oven.", False)
    hidden: int = 7


def parsed(argv, parts=(Baking,)):
    parser = ArgumentParser()
    add_all(parser, parts)
    return parser.parse_args(argv), parser


def test_types_tell_how_flags_are_read():
    args, parser = parsed(["a", "b", "-f", "wheat", "--minutes", "50", "--names", "x", "--names", "y", "z", "--steam"])
    assert from_flags(Baking, args) == Baking(["a", "b"], "wheat", 50, None, ["x", "y", "z"], True)
    text = " ".join(parser.format_help().split())
    assert "bread: LOAF What is baked. -f {rye,wheat}, --flour {rye,wheat} Of the dough. (Default: rye)" in text
    assert "oven: --minutes N In the oven. (Default: 40)" in text
    assert "--salt P Of the dough. (Default: to taste)" in text


@pytest.mark.parametrize(
    "argv", [[], ["a", "--flour", "oat"], ["a", "--minutes", "0"], ["a", "--salt", "1"], ["a", "--steam", "1", "-x"]]
)
def test_what_no_setting_takes_ends_with_2(argv):
    with pytest.raises(SystemExit) as stopped:
        parsed(argv)
    assert stopped.value.code == 2


def test_two_usual_settings_are_shown_and_what_is_given_goes_over_either():
    plain = Baking(("loaf",))
    usual = {"": plain, "big": replace(plain, minutes=60)}
    args, parser = parsed(["a", "--salt", "0.5"], [(Baking, usual)])
    assert "(Default: 40; big: 60)" in parser.format_help() and "minutes" not in args
    assert from_flags(Baking, args, usual=usual["big"]) == Baking(["a"], minutes=60, salt=0.5)


def test_flags_of_a_prefix_and_of_some_fields():
    parser = ArgumentParser()
    add_flags(parser, Baking, prefix="--my-", dest="my_", only=["minutes", "steam"])
    args = parser.parse_args(["--my-minutes", "3"])
    assert vars(args) == {"my_minutes": 3, "my_steam": False}
    assert from_flags(Baking, args, dest="my_").minutes == 3


def test_every_number_has_bounds():
    """Whatever the type of the field: in the flag, and in Python."""

    @dataclass(frozen=True)
    class Numbers:
        whole: int = setting("", 3)
        part: float | None = setting("")

    parser = ArgumentParser(exit_on_error=False)
    add_flags(parser, Numbers)
    for flag, text in (("--whole", "1000001"), ("--whole", "-1000001"), ("--part", "1e10"), ("--part", "nan")):
        with pytest.raises(ArgumentError):
            parser.parse_args([flag, text])
    check_values(Numbers(10**6, -1e9))
    for given, says in ((Numbers(10**20), "whole=1.* give at most 1,000,000"), (Numbers(3, -1e10), "at least -1,000")):
        with pytest.raises(InputError, match=says):
            check_values(given)


def test_choices_are_checked_in_python_too():
    @dataclass(frozen=True)
    class Colour:
        name: str = setting("", "red", choices=["red", "blue"])

    check_values(Colour())
    with pytest.raises(InputError, match=r"^paint: name 'green' is neither red nor blue$"):
        check_values(Colour("green"), "paint")
