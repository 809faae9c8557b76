"""Checks that values given in Python have the types declared for them."""

import math
import os
from collections.abc import Collection, Mapping, Sequence, Set
from numbers import Integral, Real
from reprlib import repr as short
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from .errors import InputError

_WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a string", NoneType: "None"}


def check_type(name: str, value: Any, kind: Any) -> None:
    """Raise InputError if a value is not of a type, as get_type_hints gives it; NaN and infinity are not numbers.

    >>> check_type("window", 3, int | None)
    >>> check_type("window", 1.5, int | None)
    Traceback (most recent call last):
    ctx_metrics.errors.InputError: window=1.5 is not a whole number or None
    """
    if not _fits(value, kind):
        raise InputError(f"{name}={short(value)} is not {' or '.join(dict.fromkeys(_words(kind)))}")


def checked_settings(settings: type, given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the values of fields of a dataclass, with paths as strings; raise InputError for one of a wrong type.

    name    begins the message
    """
    kinds = get_type_hints(settings)
    values = {key: os.fspath(value) if isinstance(value, os.PathLike) else value for key, value in given.items()}
    for key, value in values.items():
        try:
            check_type(key, value, kinds[key])
        except InputError as error:
            raise InputError(error.what, about=name, fix=error.fix) from None
    return values


def _fits(value: Any, kind: Any) -> bool:
    origin = get_origin(kind)
    if kind is Any:
        return True
    if origin is Annotated:
        return _fits(value, get_args(kind)[0])
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(kind))
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in get_args(kind))
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if origin in (Sequence, Collection, list, tuple):
        if isinstance(value, (str, bytes, Mapping, Set)) or not isinstance(value, Collection):
            return False
        return getattr(value, "ndim", 1) == 1 and all(_fits(each, get_args(kind)[0]) for each in value)
    return isinstance(value, origin or kind)


def _elements(kind: Any) -> str:
    if get_origin(kind) in (Sequence, Collection, list, tuple):
        return f" of lists{_elements(get_args(kind)[0])}"
    return {str: " of strings", int: " of whole numbers"}.get(kind, "")


def _words(kind: Any) -> list[str]:
    origin = get_origin(kind)
    if origin is Annotated:
        return _words(get_args(kind)[0])
    if origin in (Union, UnionType):
        return [word for each in get_args(kind) for word in _words(each)]
    if origin is Literal:
        return [repr(each) for each in get_args(kind)]
    if origin in (Sequence, Collection, list, tuple):
        return [f"a list{_elements(get_args(kind)[0])}"]
    kind = origin or kind
    return [_WORDS.get(kind, f"of type {kind.__name__}")]
