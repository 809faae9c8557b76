"""The paths on a command line: which flags read and which write. No output may replace an input or another output."""

import os
import re
import stat
import unicodedata
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import escape, glob
from os.path import expanduser
from typing import Any, NamedTuple, NoReturn, TypeVar

from .errors import InputError
from .settings import CommandLine
from .writing import ADDRESS, is_stream

T = TypeVar("T", bound="Reads | Writes")
Target = tuple[str, str]  # a folder, and the pattern of a file's name in it, which may start with subfolders
Identity = tuple[int, int]  # of a file or folder, whatever its names and links are


def named(text: str) -> list[str]:
    """Return the files and folders that a word names: by its whole, without weights (PATH:WEIGHT:ROWS), or as a pattern."""
    text = expanduser(text)
    for path in (text, *(text.rsplit(":", colons)[0] for colons in (1, 2))):
        if os.path.exists(path):
            return [path]
    return glob(text, recursive=True)


def file_target(path: str) -> Target:
    """Return the target of a file whose name is known."""
    folder, name = os.path.split(path)
    return folder, escape(name)


@dataclass(frozen=True)
class Reads:
    """Type of a flag that names an input of a command; a word that names no file or folder, such as a hub name, is allowed.

    parse    returns the flag's value
    paths    returns the files and folders that a value names
    """

    parse: Callable[[str], Any] = expanduser
    paths: Callable[[str], Iterable[str]] = named

    def __call__(self, text: str) -> Any:
        return self.parse(text)


@dataclass(frozen=True)
class Writes:
    """Type of a flag that names an output of a command: a file, unless `inside` or `targets` says more.

    parse      returns the flag's value: a path, or None if nothing is written there
    inside     for a folder: the names of the files that are written in it, as patterns
    targets    returns all that is written for a value on a command line
    """

    parse: Callable[[str], str | None] = expanduser
    inside: Sequence[str] = ()
    targets: Callable[[Any, str], Iterable[Target]] | None = None

    def __call__(self, text: str) -> str | None:
        return self.parse(text)

    def of(self, line: CommandLine, value: str) -> Iterable[Target]:
        if self.targets:
            return self.targets(line, value)
        return [(value, pattern) for pattern in self.inside] or [file_target(value)]


class Output(NamedTuple):
    """A file, or a pattern of files, that a flag writes."""

    flag: str
    value: str
    folder: str
    pattern: str

    @property
    def shown(self) -> str:
        """The file, or the flag's value for a pattern."""
        name = _unescaped(self.pattern)
        return os.path.join(self.folder, name) if escape(name) == self.pattern else self.value

    @property
    def parts(self) -> list[str]:
        """The whole path as file systems compare it that ignore case and normalise names."""
        whole = os.path.join(escape(os.path.realpath(self.folder)), self.pattern)
        return unicodedata.normalize("NFC", whole).casefold().split(os.sep)

    @property
    def existing(self) -> list[str]:
        paths = glob(os.path.join(escape(self.folder), self.pattern))
        return [path for path in paths if os.path.isfile(path) and not is_stream(path)]

    @property
    def folders(self) -> Iterator[str]:
        """The existing folders in which the files are written, and all folders around them.

        A pattern may match folders besides those that are written to; only folders that hold such files already count.
        """
        below = _unescaped(os.path.dirname(self.pattern))
        known = escape(below) == os.path.dirname(self.pattern)
        inside = [os.path.join(self.folder, below)] if known else map(os.path.dirname, self.existing)
        for folder in [self.folder, *inside]:
            folder = os.path.realpath(folder)
            while folder != (above := os.path.dirname(folder)):
                if os.path.isdir(folder):
                    yield folder
                folder = above

    def meets(self, other: "Output") -> bool:
        """Whether both can write one file, or one writes a file where the other needs a folder."""
        pairs = zip(self.parts, other.parts, strict=False)
        return all(one == two or fnmatchcase(one, two) or fnmatchcase(two, one) for one, two in pairs)


def check_paths(parser: ArgumentParser, lines: Sequence[CommandLine]) -> None:
    """Raise InputError if an output is an input, lies in a folder of inputs, or is also another output.

    Links, other spellings and hard links of a file are that file. Call it before any work.

    lines    the parsed command line; or several that differ only in their inputs
    """
    outputs = [each for k, line in enumerate(lines) for each in _outputs(parser, line, only_own=k > 0)]
    for k, output in enumerate(outputs):
        for before in outputs[:k]:
            if before.meets(output):
                _refuse(before, output)
    if not outputs:
        return
    inputs = dict.fromkeys(path for line in lines for path in _inputs(parser, line))
    folders = {_identity(path): path for path in inputs if os.path.isdir(path)}
    for output in outputs if folders else ():
        for folder in output.folders:
            if own := folders.get(_identity(folder)):
                raise InputError(f"{output.flag} {output.shown}: {own} is a folder of inputs", fix="name another one")
    existing = [(output.flag, path) for output in outputs for path in output.existing]
    if existing:
        stdin = _of_stdin()
        for flag, path in existing:
            if _identity(path) == stdin:
                raise InputError(
                    f"{flag} {path}: it is the standard input and would be overwritten", fix="name another file"
                )
        files = {_identity(path) for path in inputs if os.path.isfile(path)}
        files |= {_identity(path) for folder in folders.values() for path in _files_in(folder)}
        for flag, path in existing:
            if _identity(path) in files:
                raise InputError(
                    f"{flag} {path}: it is an input file and would be overwritten", fix="name another file"
                )


def _refuse(one: Output, two: Output) -> NoReturn:
    if len(one.parts) != len(two.parts):
        file, below = sorted((one, two), key=lambda each: len(each.parts))
        raise InputError(
            f"{file.flag} {file.shown} would be a file, and {below.flag} {below.shown} lies in a folder of that name",
            fix="rename one",
        )
    if one.flag == two.flag:
        raise InputError(f"{one.flag}: two files would be written to {two.shown}", fix="rename one of the inputs")
    if one.shown == two.shown:
        raise InputError(f"{one.flag} and {two.flag} name one file, {one.shown}", fix="name another one")
    raise InputError(f"{one.flag} {one.shown} and {two.flag} {two.shown} can be one file", fix="name another one")


def _outputs(parser: ArgumentParser, line: CommandLine, only_own: bool = False) -> Iterator[Output]:
    """Yield the outputs of a command line; `only_own` leaves out those that do not depend on its inputs."""
    for flag, kind, value in _values(parser, line, Writes):
        if (kind.targets or not only_own) and value and not ADDRESS.match(value) and not is_stream(value):
            for folder, pattern in kind.of(line, value):
                yield Output(flag, value, folder, pattern)


def _inputs(parser: ArgumentParser, line: CommandLine) -> Iterator[str]:
    for _, kind, value in _values(parser, line, Reads):
        yield from (path for path in kind.paths(value) if not is_stream(path))


def _values(parser: ArgumentParser, line: CommandLine, kind: type[T]) -> Iterator[tuple[str, T, str]]:
    """Yield each value of the flags of a type, after its flag and the type; a value that two flags can give, once."""
    found: dict[str, tuple[str, T]] = {}
    for action in parser._actions:
        if isinstance(action.type, kind):
            found.setdefault(action.dest, (next(iter(action.option_strings), action.dest), action.type))
    for dest, (flag, of) in found.items():
        value = getattr(line, dest, None)
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(each, str):
                yield flag, of, each


def _of_stdin() -> Identity | None:
    """The identity of the file that is the standard input; None if it is no file, or closed."""
    try:
        status = os.fstat(0)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _files_in(folder: str) -> Iterator[str]:
    for above, _, names in os.walk(folder, followlinks=False):
        yield from (path for path in (os.path.join(above, name) for name in names) if os.path.isfile(path))


def _identity(path: str) -> Identity:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _unescaped(pattern: str) -> str:
    """
    >>> _unescaped(escape("a[1]*?"))
    'a[1]*?'
    """
    return re.sub(r"\[([*?[])\]", r"\1", pattern)
