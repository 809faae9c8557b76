"""Settings: frozen dataclasses whose fields declare the flags that give them, with help, default and what is allowed."""

import argparse
from collections.abc import Collection
from dataclasses import MISSING, Field, field, fields
from typing import Any, TypeVar

from .errors import InputError

S = TypeVar("S")


def setting(help: str, default: Any = None, *, flag: str = "", **options: Any) -> Any:
    """Returns a dataclass field that declares its flag.

    help       what --help and the reference page say; the default is added to it unless it is None or False, or told there
    default    the value where the flag is not given; a flag with False takes no value; MISSING where it must be given
    flag       where it is not the prefix and the field's name: what follows the prefix, or the flag in full, and others
               after blanks
    options    of argparse's add_argument: type, choices, metavar, nargs, action, required
    """
    return field(default=default, metadata={"help": help, "flag": flag, "options": options})


def add_flags(
    group: argparse._ArgumentGroup | argparse.ArgumentParser,
    settings: type,
    *,
    prefix: str | None = None,
    dest: str | None = None,
    only: Collection[str] | None = None,
) -> None:
    """Adds the flags of a settings class to a group of an argparse parser.

    prefix    what the flags begin with, such as --bertr-; default: the class's own PREFIX, or --
    dest      what their attributes of the parsed arguments begin with, such as bertr_; default: by the prefix
    only      the fields whose flags are added; None: all that declare one
    """
    for each in fields(settings):
        if "help" not in each.metadata or (only is not None and each.name not in only):
            continue
        flags, attribute = _names(settings, each, prefix, dest)
        default = None if each.default is MISSING else each.default
        options = {"dest": attribute, "default": default, **each.metadata["options"]}
        help = each.metadata["help"]
        if default is False:
            options.setdefault("action", "store_true")
        elif default is not None and "(Default: " not in help:
            help += " (Default: %(default)s)"
        group.add_argument(*flags, help=help, **options)


def from_flags(settings: type[S], args: argparse.Namespace, *, dest: str | None = None) -> S:
    """Returns the settings that a command line gives; a field whose flag it has not keeps its default.

    dest    as add_flags took it; a field that declares no flag has the attribute of its name

    Raises what the settings raise for values that contradict each other.
    """
    attributes = {
        each.name: _names(settings, each, None, dest)[1] if "help" in each.metadata else each.name
        for each in fields(settings)  # type: ignore[arg-type]  # no type says "any dataclass"
    }
    return settings(
        **{name: getattr(args, attribute) for name, attribute in attributes.items() if hasattr(args, attribute)}
    )


def _names(settings: type, each: Field, prefix: str | None, dest: str | None) -> tuple[list[str], str]:
    """A field's flags, and the attribute of the parsed arguments that they set."""
    prefix = getattr(settings, "PREFIX", "--") if prefix is None else prefix
    dest = prefix.lstrip("-").replace("-", "_") if dest is None else dest
    flag = each.metadata["flag"]
    if flag.startswith("-"):
        return flag.split(), dest + each.name
    name = flag or each.name.replace("_", "-")
    return [prefix + name], dest + name.replace("-", "_")


def check_choices(settings: object, name: str) -> None:
    """Raises InputError where a field that declares choices holds none of them; `name` begins the message."""
    for each in fields(settings):  # type: ignore[arg-type]  # no type says "any dataclass"
        choices, value = each.metadata.get("options", {}).get("choices"), getattr(settings, each.name)
        if choices and value is not None and value not in choices:
            among = f"neither {' nor '.join(choices)}" if len(choices) == 2 else f"none of {', '.join(choices)}"
            raise InputError(f"{name}: {each.name} {value!r} is {among}")
