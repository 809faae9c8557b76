"""Back-translation by a user's command that reads lines on standard input and writes lines to standard output."""

import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from ..errors import InputError
from ..notices import counted, notice
from ..reading import split_lines
from .back_translation import BATCH_LINES, LINE_SECONDS, START_SECONDS, BackTranslation, BackTranslator, Translation

SHOWN = 60  # number of characters of a line shown in messages
SHOWN_ERROR = 200
PORTION = 1 << 20  # bytes of a file read at a time
OPERATOR = frozenset("();<>|&")
LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # treated as line ends by many programs, and by Python's splitlines


class CommandTranslator(BackTranslator):
    """Runs a command through the shell, once for each portion of lines, in UTF-8; lines end only at "\\n".

    Messages name its program but never its other words, which may contain keys.
    """

    def __init__(self, options: BackTranslation):
        self.command = options.translator
        self._named: dict[str, str] | None = named_by(self.command)
        self.name = f"cmd-{command_digest(self.command, self._named)}" + (f"-{options.label}" if options.label else "")
        self.batch_lines = options.batch_lines or BATCH_LINES
        self.timeout = options.timeout
        self._shown = repr(program(self.command))

    def chunks(self, lines: Sequence[str]) -> list[list[str]]:
        return [list(lines[k : k + self.batch_lines]) for k in range(0, len(lines), self.batch_lines)]

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        # a file rather than a pipe: a command that stops reading would kill this process unless SIGPIPE is ignored
        with tempfile.TemporaryFile() as given:
            given.write("".join(line + "\n" for line in lines).encode())
            given.seek(0)
            code, output, errors = self._run(given, len(lines))
        if code:
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
            raise InputError(f"cmd: {self._shown} {how}{_end_of(errors)}")
        translations = split_lines(self._decoded(output))
        if len(translations) != len(lines):
            raise InputError(
                f"cmd: line-count drift: {self._shown} was given {counted(len(lines), 'line', 'lines')} from "
                f"{_short(lines[0])!r} on and wrote {counted(len(translations), 'line', 'lines')}",
                fix=f"it must write one for each, in their order{_suspect(lines)}{_end_of(errors)}",
            )
        self._say_what_changed()
        return [Translation(text) for text in translations]

    def _run(self, given: IO[bytes], lines: int) -> tuple[int, bytes, bytes]:
        """Return the command's exit code, output and error output; on any interruption, kill all its processes."""
        limit = self.timeout or max(START_SECONDS, LINE_SECONDS * lines)
        with subprocess.Popen(
            self.command,
            shell=True,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a process group of its own, so that the shell's children can be killed with it
        ) as running:
            try:
                output, errors = running.communicate(timeout=limit)
            except BaseException as error:
                _kill(running)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise InputError(
                    f"cmd: {self._shown} was given {counted(lines, 'line', 'lines')} and did not finish within "
                    f"{counted(limit, 'second', 'seconds')}",
                    fix="give it more time with --rtt-timeout, or fewer lines with "
                    f"--rtt-batch-lines{_end_of(error.stderr or b'')}",
                ) from error
        return running.returncode, output, errors

    def _say_what_changed(self) -> None:
        """Print a notice if files that the command names have changed since the start.

        This happens after the first portion, so that little is lost: a later run with the changed files does not find the
        translations cached now.
        """
        before, self._named = self._named, None
        if before is None:
            return
        now = named_by(self.command)
        words = [word for word in dict.fromkeys([*before, *now]) if word and before.get(word) != now.get(word)]
        if words:
            notice(
                f"cmd: {', '.join(words)} changed while {self._shown} ran, which names it: the next run will "
                "translate again; name files that the command writes inside a script, or after >"
            )

    def _decoded(self, output: bytes) -> str:
        try:
            return output.decode()
        except UnicodeDecodeError as error:
            line = output.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"cmd: line {line} of the output of {self._shown}: byte 0x{output[error.start]:02x} is not UTF-8",
                fix="the command must write UTF-8: set its encoding, or end it with '| iconv -f ITS_ENCODING -t UTF-8'",
            ) from error


def _kill(running: subprocess.Popen) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    running.kill()


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _end_of(stderr: bytes) -> str:
    text = " ".join(stderr.decode("utf-8", "replace").split())
    return f"; its error output: {text if len(text) <= SHOWN_ERROR else '...' + text[-SHOWN_ERROR:]}" if text else ""


def _suspect(lines: Sequence[str]) -> str:
    """Return a note on the first line with a character that the command may have treated as a line end."""
    for line in lines:
        for character in line:
            if character in LINE_ENDS:
                return (
                    f"; U+{ord(character):04X} in {_short(line)!r} is not a line end, but many programs treat it as one"
                )
    return ""


def named_by(command: str) -> dict[str, str]:
    """Return the current identity of everything that a command names: {word: identity}.

    Words are those of the shell, including those after "=" and within quotes. A file is identified by its content, a program
    on the PATH by its path and content, a folder by its path. Files that the command writes, after ">" or tee, are ignored.
    If the command names no text file, such as a script, the working folder counts too, as "": it determines what
    `python -m translate` runs.
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
    """Return 12 hex digits of the sha256 of a command's text and of the identities from named_by."""
    parts = [command, *(f"{word}={what}" for word, what in named.items())]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def program(command: str) -> str:
    """Return the program that a command starts first, without its arguments and any assignments before it.

    >>> program("KEY=secret ./translate.sh --key secret | tail"), program("(curl -H secret url)")
    ('./translate.sh', 'curl')
    """
    words = (token for token in _tokens(command) if not set(token) <= OPERATOR and not re.match(r"\w+=", token))
    return next(words, "the command")


def _tokens(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars="".join(OPERATOR))
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return list(lexer)
    except ValueError:  # quoting that only the shell understands
        return command.split()


def _words(command: str) -> Iterator[tuple[str, bool]]:
    """Yield a command's words, and whether the command writes to the file that each names."""
    before, tee = "", False
    for token in _tokens(command):
        if set(token) <= OPERATOR:
            tee = tee and bool(set(token) & set("<>"))
        else:
            yield token, tee or (set(before) <= OPERATOR and ">" in before)
            if "=" in token:
                yield token.partition("=")[2], False
            if token != command and (set(token) & OPERATOR or len(token.split()) > 1):  # a quoted command
                yield from _words(token)
            tee = tee or token == "tee"
        before = token


def _content(path: str) -> tuple[str, bool]:
    """Return a file's sha256, and whether it is text; for a file that is executable but unreadable, its size and time."""
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
