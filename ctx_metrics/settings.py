"""Settings: frozen dataclasses whose fields declare the flags that give them, with help, default and what is allowed."""

import argparse
from collections.abc import Collection
from dataclasses import MISSING, field, fields
from typing import Any, TypeVar

from .errors import InputError

S = TypeVar("S")


def setting(help: str, default: Any = None, *, flag: str = "", **options: Any) -> Any:
    """Returns a dataclass field that declares its flag.

    help       what --help and the reference page say; the default is added to it unless it is None or False, or told there
    default    the value where the flag is not given; a flag with False takes no value
    flag       the flag in full, and others after blanks, where it is not the prefix and the field's name
    options    of argparse's add_argument: type, choices, metavar, nargs, action, required
    """
    return field(default=default, metadata={"help": help, "flag": flag, "options": options})


def add_flags(
    group: argparse._ArgumentGroup | argparse.ArgumentParser,
    settings: type,
    *,
    prefix: str = "--",
    dest: str = "",
    only: Collection[str] | None = None,
) -> None:
    """Adds the flags of a settings class to a group of an argparse parser.

    prefix    what the flags begin with, such as --bertr-
    dest      what their attributes of the parsed arguments begin with, such as bertr_
    only      the fields whose flags are added; None: all that declare one
    """
    for each in fields(settings):
        if "help" not in each.metadata or (only is not None and each.name not in only):
            continue
        flags = each.metadata["flag"].split() or [prefix + each.name.replace("_", "-")]
        options = {"dest": dest + each.name, "default": each.default, **each.metadata["options"]}
        help = each.metadata["help"]
        if each.default is False:
            options.setdefault("action", "store_true")
        elif each.default is not None and each.default is not MISSING and "(Default: " not in help:
            help += " (Default: %(default)s)"
        group.add_argument(*flags, help=help, **options)


def from_flags(settings: type[S], args: argparse.Namespace, *, dest: str = "") -> S:
    """Returns the settings that a command line gives; a field whose flag it has not keeps its default.

    dest    as add_flags took it

    Raises what the settings raise for values that contradict each other.
    """
    names = [each.name for each in fields(settings)]  # type: ignore[arg-type]  # no type says "any dataclass"
    return settings(**{name: getattr(args, dest + name) for name in names if hasattr(args, dest + name)})


def check_choices(settings: object, name: str) -> None:
    """Raises InputError where a field that declares choices holds none of them; `name` begins the message."""
    for each in fields(settings):  # type: ignore[arg-type]  # no type says "any dataclass"
        choices, value = each.metadata.get("options", {}).get("choices"), getattr(settings, each.name)
        if choices and value is not None and value not in choices:
            raise InputError(f"{name}: {each.name} {value!r} is none of {', '.join(choices)}")
