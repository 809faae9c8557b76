"""What tells a command from another that is written alike: the contents of the files that it names, or its folder."""

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

PORTION = 1 << 20  # bytes
OPERATOR = frozenset("();<>|&")


def named_by(command: str) -> dict[str, str]:
    """What a command names, as it is now: its words, and what counts of each.

    Words are those of the shell, also those behind "=" and within quotes. Of a file the content counts, of a program on the
    PATH where it is and its content, of a folder where it is. Files that the command writes, after ">" and tee, do not
    count. Where no file of text is named, such as a script, the working folder counts too, as "": what
    `python -m translate` runs depends on it.
    """
    named, scripts = {}, 0
    words = list(_words(command))
    written = {word for word, is_written in words if is_written}
    for word in dict.fromkeys(word for word, _ in words if word not in written):
        path = os.path.expanduser(os.path.expandvars(word))
        program = None if "/" in word else shutil.which(word)
        if os.path.isfile(path):
            named[word], is_text = _content(path)
            scripts += is_text
        elif os.path.isdir(path):
            named[word] = os.path.realpath(path)
        elif program:
            named[word] = f"{program}={_content(program)[0]}"
    if not scripts:
        named[""] = os.getcwd()
    return named


def command_digest(command: str, named: Mapping[str, str]) -> str:
    """12 hex digits of the sha256 of a command's text and of what it names."""
    parts = [command, *(f"{word}={what}" for word, what in named.items())]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def program(command: str) -> str:
    """The program that a command starts first, without what stands before it and after it.

    >>> program("KEY=secret ./translate.sh --key secret | tail"), program("(curl -H secret url)")
    ('./translate.sh', 'curl')
    """
    words = (token for token in _tokens(command) if not set(token) <= OPERATOR and not re.match(r"\w+=", token))
    return next(words, "the command")


def _tokens(command: str) -> list[str]:
    """The words and the operators of a command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="".join(OPERATOR))
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:  # quotes that the shell alone understands
        return command.split()


def _words(command: str) -> Iterator[tuple[str, bool]]:
    """A command's words, and whether it writes to what they name."""
    before, tee = "", False
    for token in _tokens(command):
        if set(token) <= OPERATOR:
            tee = tee and bool(set(token) & set("<>"))
        else:
            yield token, tee or (set(before) <= OPERATOR and ">" in before)
            if "=" in token:
                yield token.partition("=")[2], False
            if token != command and (set(token) & OPERATOR or len(token.split()) > 1):  # a command within quotes
                yield from _words(token)
            tee = tee or token == "tee"
        before = token


def _content(path: str) -> tuple[str, bool]:
    """A file's sha256, and whether it is text; its size and time where it may be run but not read."""
    digest, is_text = hashlib.sha256(), True
    try:
        with open(path, "rb") as file:
            while portion := file.read(PORTION):
                digest.update(portion)
                is_text = is_text and b"\0" not in portion
    except OSError:
        status = Path(path).stat()
        return f"{os.path.realpath(path)}={status.st_size}={status.st_mtime_ns}", False
    return digest.hexdigest(), is_text
