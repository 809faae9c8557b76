"""Settings: frozen dataclasses whose fields declare their command-line flags, with help, default and allowed values."""

import argparse
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, replace
from difflib import get_close_matches
from functools import partial
from itertools import pairwise
from numbers import Real
from types import NoneType
from typing import Annotated, Any, Literal, NoReturn, TypeVar, cast, get_args, get_origin, get_type_hints

from .errors import InputError
from .wording import printable

S = TypeVar("S")
Group = argparse._ArgumentGroup | argparse.ArgumentParser
Adder = Callable[[Any], object]
CLOSE = 0.75  # minimum similarity of two words, from 0 to 1
Part = type | Adder | tuple[type | str, Any]
MOST = 10**9  # the largest number that a flag takes, unless its type has a smaller one


def number(kind: type, good: Callable[[float], bool], wanted: str, text: str, *, most: float = MOST) -> Any:
    """Read a finite number whose size is at most `most`; `wanted` is what the error message says is expected.

    >>> number(int, lambda value: value > 0, "a whole number of at least 1", "12")
    12
    >>> number(int, lambda value: value > 0, "a whole number of at least 1", "12", most=10)
    Traceback (most recent call last):
    argparse.ArgumentTypeError: 12 is too large; give at most 10
    """
    try:
        value = kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}") from None
    if not (good(value) and value < math.inf):
        raise argparse.ArgumentTypeError(f"{text} is not {wanted}")
    if abs(value) > most:
        end = f"large; give at most {most:,}" if value > 0 else f"small; give at least {-most:,}"
        raise argparse.ArgumentTypeError(f"{text} is too {end}")
    return value


whole = partial(number, int, lambda value: True, "a whole number", most=10**6)
finite = partial(number, float, lambda value: value > -math.inf, "a finite number")


def setting(help: str, default: Any = None, *, flag: str = "", group: str = "", **options: Any) -> Any:
    """Returns a dataclass field that declares its flag; the field's type decides how argparse reads it, see flag_types.

    help       the text in --help and on the reference page; the default is appended unless it is None, empty, a bool, or
               already mentioned
    default    the value if the flag is not given; a flag whose default is False takes no value; MISSING if it is required
    flag       the flag in full, and any further ones after blanks; by default the prefix and the field's name. A word
               without dashes follows the prefix; in a class without PREFIX it is the name of a positional argument in
               --help
    group      title of the group of flags that starts with this one
    options    of argparse's add_argument, if they differ from what the type implies: type, choices (or a function that
               returns them when the flag is added), metavar, nargs, action, required
    """
    return field(default=default, metadata={"help": help, "flag": flag, "group": group, "options": options})


def add_all(parser: argparse.ArgumentParser, parts: Sequence[Part]) -> None:
    """Adds flags to a parser, part by part.

    parts    each a settings class; (a settings class, `usual` of add_flags); a function that adds flags to the group of
             the part before; or (a title, a settings class or function whose flags form a new group with that title)
    """
    group: Group = parser
    for part in parts:
        first, more = part if isinstance(part, tuple) else (part, cast(Any, None))
        if isinstance(first, type):
            group = add_flags(parser, first, into=group, usual=more)
        elif callable(first):
            first(group)
        else:
            group = parser.add_argument_group(first)
            if isinstance(more, type):
                group = add_flags(parser, more, into=group)
            else:
                more(group)


def add_flags(
    group: Group,
    settings: type,
    *,
    prefix: str | None = None,
    dest: str | None = None,
    only: Collection[str] | None = None,
    usual: Mapping[str, object] | None = None,
    into: Group | None = None,
) -> Group:
    """Adds the flags of a settings class to an argparse parser or to one of its groups; returns the last flag's group.

    prefix    the start of the flags, such as --bertr-; None: the class's own PREFIX, or --
    dest      the start of their attributes in the parsed arguments, such as bertr_; None: derived from the prefix
    only      the fields whose flags are added; None: all that declare one
    usual     settings by name, the more special ones last. --help shows their values as defaults, each with its name except
              the first, and without those that are equal to the one before. A flag that is not given is then absent from the
              parsed arguments, and from_flags keeps the value of its own `usual`
    into      the group for flags that come before the class's first own group; None: `group`
    """
    types, target = get_type_hints(settings, include_extras=True), into or group
    for each in fields(settings):
        if "help" not in each.metadata or (only is not None and each.name not in only):
            continue
        if each.metadata["group"]:
            target = group.add_argument_group(each.metadata["group"])
        help, (flags, attribute) = each.metadata["help"], _names(settings, each, prefix, dest)
        default = _default(each)
        options = {"dest": attribute, "default": default, **each.metadata["options"]}
        options = {**_options(types[each.name], options), **options}
        if callable(options.get("choices")):
            options["choices"] = options["choices"]()
        shown = "" if default in (None, []) else "%(default)s"
        if usual is not None:
            options["default"] = argparse.SUPPRESS
            shown, *others = [str(getattr(values, each.name)) for values in usual.values()]
            pairs = zip(list(usual)[1:], pairwise([shown, *others]), strict=True)
            shown = "; ".join([shown, *(f"{name}: {other}" for name, (before, other) in pairs if other != before)])
        if shown and not isinstance(default, bool) and "(Default: " not in help:
            help = f"{help} (Default: {shown.replace('None', 'none')})".lstrip()
        if not flags[0].startswith("-"):
            options["metavar"], flags = flags[0], [options.pop("dest")]
        target.add_argument(*flags, help=help, **options)
    return target


def _default(each: Field) -> Any:
    """The value that argparse has for a flag that is not given."""
    if each.default is MISSING:
        return None
    return list(each.default) if isinstance(each.default, tuple) else each.default


def _names(settings: type, each: Field, prefix: str | None, dest: str | None) -> tuple[list[str], str]:
    own = getattr(settings, "PREFIX", "")
    prefix = own or "--" if prefix is None else prefix
    dest = prefix.lstrip("-").replace("-", "_") if dest is None else dest
    flag = each.metadata["flag"]
    if flag.startswith("-") or (flag and not own):
        return flag.split(), dest + each.name
    name = flag or each.name.replace("_", "-")
    return [prefix + name], dest + name.replace("-", "_")


def _options(kind: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of add_argument for a type: a Literal gives choices, Annotated a type and a metavar, a Sequence
    takes several values, and a bool takes none."""
    options: dict[str, Any] = {}
    if NoneType in get_args(kind) and get_origin(kind) is not Literal:
        [kind, *others] = [each for each in get_args(kind) if each is not NoneType]
        if others:  # a union of several types is read as text, unless the options say more
            return options
    if get_origin(kind) is Annotated:
        kind, *more = get_args(kind)
        options |= {"metavar" if isinstance(each, str) else "type": each for each in more}
    if kind in (int, float):
        options.setdefault("type", whole if kind is int else finite)
    if get_origin(kind) is Literal:
        options["choices"] = list(get_args(kind))
    if get_origin(kind) is Sequence and "type" not in given:
        options |= {"nargs": "+", "action": "extend"}
    if kind is bool and "choices" not in given:
        options["action"] = "store_true"
    return options


def from_flags(settings: type[S], args: argparse.Namespace, *, dest: str | None = None, usual: S | None = None) -> S:
    """Returns the settings that a command line gives; a field whose flag was not given keeps its default.

    dest     as passed to add_flags; a field that declares no flag is read from the attribute of the same name
    usual    settings whose values replace the defaults
    """
    attributes = {
        each.name: _names(settings, each, None, dest)[1] if "help" in each.metadata else each.name
        for each in fields(settings)  # type: ignore[arg-type]  # no type says "any dataclass"
    }
    given = {name: getattr(args, attribute) for name, attribute in attributes.items() if hasattr(args, attribute)}
    return settings(**given) if usual is None else replace(usual, **given)  # type: ignore[type-var]


def gives(settings: type, args: argparse.Namespace, dest: str | None = None) -> bool:
    """Whether a command line gives any of the settings a value other than its default; constructs none."""
    usual = {_names(settings, each, None, dest)[1]: _default(each) for each in fields(settings)}
    return any(getattr(args, attribute, default) != default for attribute, default in usual.items())


class CommandLine(argparse.Namespace):
    """A parsed command line: line[Settings] is an object of a settings class whose flags the command has."""

    parser: argparse.ArgumentParser
    argv: Sequence[str]

    def __getitem__(self, settings: type[S]) -> S:
        return from_flags(settings, self)

    def error(self, message: str) -> NoReturn:
        """Exits with 2, as argparse does for wrong usage."""
        self.parser.error(message)


def check_values(settings: object, name: str = "") -> None:
    """Raises InputError if a field's value is not among its declared choices, or is a number that its flag does not take;
    `name`, if any, begins the message."""
    types = get_type_hints(type(settings), include_extras=True)
    for each in fields(settings):  # type: ignore[arg-type]  # no type says "any dataclass"
        options, value = each.metadata.get("options", {}), getattr(settings, each.name)
        choices = options.get("choices")
        read = {**_options(types[each.name], options), **options}.get("type")
        if "help" in each.metadata and read and isinstance(value, Real) and not isinstance(value, bool):
            try:
                read(str(value))
            except argparse.ArgumentTypeError as error:
                raise InputError(f"{each.name}={error}", about=name) from None
        if choices and value is not None and value not in choices:
            among = f"neither {' nor '.join(choices)}" if len(choices) == 2 else f"not one of {', '.join(choices)}"
            raise InputError(f"{name}{': ' * bool(name)}{each.name} {value!r} is {among}")


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

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            meant = closest(str(value), map(str, action.choices or ()))
            error.message = error.message.replace(" (choose from", f"{meant} (choose from", 1)  # before a long list
            raise
