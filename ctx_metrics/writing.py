"""Atomic writing of files, checks that a path can be written, and the standard streams of a command, which may be closed or
full."""

import codecs
import errno
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import CtxMetricsError, InputError
from .wording import printable

if TYPE_CHECKING:
    import torch

PROBE = bytes(4096)  # enough to find a full disk
LINK = "it is a link, and nothing is written through a link; name the file itself"
# such as s3://bucket, which pathlib turns into s3:/bucket; C:/ is a drive
ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/")
STANDARD = (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))
STREAMS = ("/dev/std", "/dev/fd/", "/proc/")  # links to whatever is open, even to a regular file


def check_writable(path: str | None, folder: bool = False, flag: str = "") -> None:
    """Raise InputError if a file, or files in a folder, cannot be written; creates nothing. Call it before long work.

    path    None is the standard output; an address such as s3://bucket cannot be written
    """
    if path is None:
        check_output()
        return
    if not path:
        kind = "folder" if folder else "file"
        raise InputError(f"{flag or 'cannot write'} '': the name is empty", fix=f"give the name of a {kind}")
    if "\0" in path:
        raise InputError(f"{flag or 'cannot write'} {path!r}: no name of a file holds a null character")
    what = f"{flag} {path}" if flag else f"cannot write {'into ' * folder}{path}"
    if ADDRESS.match(path):
        raise InputError(
            f"{what}: it is an address, but only files on this machine can be written here", fix="give a path"
        )
    why = what + ": cannot write there" * bool(flag)
    with os_errors(why):
        before = _status(path)
        if before and not folder and stat.S_ISDIR(before.st_mode):
            raise InputError(f"{why}: it is a folder")
        if not folder and is_stream(path):
            if not os.access(path, os.W_OK):
                raise InputError(f"{why}: {os.strerror(errno.EACCES)}")
            return
        if not folder and os.path.islink(path):
            raise InputError(f"{what}: {LINK}")
        above = path if folder else os.path.dirname(path) or os.curdir
        while not os.path.lexists(above):
            above = os.path.dirname(above) or os.curdir
        if not os.path.isdir(above):
            kind = "a file, but a folder" if os.path.exists(above) else "not a folder, but one"  # a link to nothing
            raise InputError(f"{what}: {above} is {kind} is needed there")
        beside = os.stat(above)
        owners_alone = beside.st_mode & stat.S_ISVTX and os.geteuid() not in (0, beside.st_uid)  # as in /tmp
        if before and not folder and owners_alone and os.geteuid() != before.st_uid:
            raise InputError(f"{why}: {os.strerror(errno.EPERM)}, it is another user's file")
        with tempfile.TemporaryFile(dir=above) as probe:
            probe.write(PROBE)
            probe.flush()


def check_new_folder(folder: Path) -> None:
    """Raise InputError unless `folder` can be made, or is an empty folder that can be written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not an empty folder", fix="name a new one")
    check_writable(str(folder), folder=True)


@contextmanager
def replacing(path: str, fix: str = "") -> Iterator[str]:
    """Yield a temporary name for a file or folder, which replaces `path` if the block succeeds and is removed if it fails.

    The name is next to `path`, in a randomly named folder that only this user can enter, so nobody can predict it or
    plant a link there. Missing folders above `path` are created. A new file gets the permissions of the file it replaces,
    or else those of the umask. A device or a pipe is written directly.

    Raises InputError if `path` is a link or the operating system reports an error, such as a full disk, and passes on
    whatever else the block raises.
    """
    path = os.fspath(path)
    with os_errors(f"cannot write {path}", fix):
        if is_stream(path):
            yield path
            return
        if os.path.islink(path):
            raise InputError(f"cannot write {path}: {LINK}")
        before, (folder, name) = _status(path), os.path.split(os.path.abspath(path))
        os.makedirs(folder, exist_ok=True)
        with _folder_in_use(folder) as own:
            beside = os.path.join(own, name)
            with open(beside, "xb") as file:
                mode = os.fstat(file.fileno()).st_mode  # the umask's; some libraries give their files others
            os.unlink(beside)
            yield beside
            for entry in os.scandir(beside) if os.path.isdir(beside) else ():
                os.chmod(entry, mode & 0o777)
            if before or os.path.isfile(beside):
                os.chmod(beside, (before.st_mode if before else mode) & 0o777)
            os.replace(beside, path)


def write_whole(path: str, text: str, fix: str = "", encoding: str = "utf-8", errors: str = "surrogateescape") -> None:
    """Write a text atomically; raise InputError if that fails.

    encoding    the user's choice, by -e; a character that it does not have raises InputError
    errors      how file names that are not valid text are written: as their bytes, or, with backslashreplace, as JSON
                escapes
    """
    try:
        content = text.encode(encoding, errors)
    except UnicodeEncodeError as error:
        if codecs.lookup(encoding).name == "utf-8":  # a lone surrogate, which no reader lets through
            raise
        line, lacking = text.count("\n", 0, error.start) + 1, text[error.start]
        raise InputError(
            f"cannot write {path}: line {line}: {lacking!r} (U+{ord(lacking):04X}) is not in {encoding}",
            fix=f"save the texts as UTF-8 and leave out -e {encoding}{fix and f'; {fix}'}",
        ) from error
    write_bytes(path, content, fix)


def write_bytes(path: str, content: bytes, fix: str = "") -> None:
    with replacing(path, fix) as beside, open(beside, "wb") as file:
        file.write(content)


def write_tensors(path: str, tensors: "Mapping[str, torch.Tensor]", metadata: dict[str, str] | None = None) -> None:
    from safetensors.torch import save_file

    with replacing(path) as beside:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, beside, metadata)


def leftovers(folder: Path) -> list[Path]:
    """Return the temporary folders in a folder: those of killed processes, and any that are in use."""
    return [path for path in folder.glob(".*.tmp") if path.is_dir()]


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary folders that killed processes left in a folder; those in use by other processes stay."""
    for path in leftovers(folder):
        with _locked(str(path), wait=False) as free:
            if free:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _folder_in_use(above: str) -> Iterator[str]:
    """Yield a new temporary folder, which is removed at the end; `remove_leftovers` in other processes leaves it alone."""
    while True:
        with tempfile.TemporaryDirectory(".tmp", ".", above, ignore_cleanup_errors=True) as own, _locked(own):
            if os.path.isdir(own):  # unless another process removed it before it was locked
                yield own
                return


@contextmanager
def _locked(folder: str, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a folder, and yield whether it is held; the lock ends with the process.

    On file systems without locks, every process counts as holding it.
    """
    try:
        import fcntl
    except ImportError:  # Windows, which does not remove open files
        yield True
        return
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # it is gone
        yield False
        return
    try:
        held = True
        try:
            fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            held = False
        except OSError:
            pass  # a file system without locks
        yield held
    finally:
        os.close(number)


def make_folder(path: str) -> None:
    with os_errors(f"cannot write into {path}"):
        os.makedirs(path, exist_ok=True)


def is_stream(path: str) -> bool:
    """Whether a path names a device, a pipe or an open file descriptor, none of which may be replaced by a file."""
    status = _status(path)
    kinds = (stat.S_IFREG, stat.S_IFDIR)
    return path.startswith(STREAMS) or bool(status and stat.S_IFMT(status.st_mode) not in kinds)


def checksum(*parts: bytes) -> int:
    """Return the CRC-32 of bytes or arrays, taken one after another; it detects when a disk returns wrong bytes."""
    return reduce(lambda crc, part: zlib.crc32(part, crc), parts, 0)


@contextmanager
def os_errors(what: str, fix: str = "") -> Iterator[None]:
    """Context that turns an error of the operating system into the InputError `what: why`."""
    try:
        yield
    except CtxMetricsError:
        raise
    except FileExistsError as error:
        raise InputError(f"{what}: {error.filename} is a file, but a folder is needed there", fix=fix) from error
    except OSError as error:
        raise InputError(f"{what}: {error.strerror or error}", fix=fix) from error
    except Exception as error:
        number = re.search(r"\(os error (\d+)\)", str(error))  # how safetensors and tokenizers, in Rust, report it
        if number is None:
            raise
        raise InputError(f"{what}: {os.strerror(int(number[1]))}", fix=fix) from error


def _status(path: str) -> os.stat_result | None:
    """Return the status of a file or folder, or None if the path does not exist; raise OSError for an impossible name."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def open_closed() -> None:
    """Open the standard streams that were closed when the command started, so that no other file gets their numbers.

    The input is then empty, stderr accepts and drops everything, and stdout refuses any output, as a closed one does.
    """
    for name, mode, access in STANDARD:
        if getattr(sys, name) is None:
            number = os.open(os.devnull, access)  # sacrebleu opens the stream again and drops this file object
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="surrogateescape", closefd=False))  # noqa: SIM115


def check_output() -> None:
    """Raise InputError if the standard output is closed. Call it before long work."""
    if os.name != "posix":
        return
    import fcntl

    try:
        number = sys.stdout.fileno()
    except OSError:  # not a file, as in a notebook
        return
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise InputError("the standard output is closed", fix="leave out `>&-`, or send it to a file")


@contextmanager
def printing() -> Iterator[None]:
    """Context for a block that only prints: raises InputError if the standard output cannot be written."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        raise lost(error, sys.stdout.fileno()) from error


@contextmanager
def utf8_output(escapes: bool = False) -> Iterator[None]:
    """Context in which the standard output is UTF-8 and also accepts file names that are not valid text.

    escapes    whether control characters are escaped where the output is a terminal; files and pipes get the text as it is
    """
    before = sys.stdout
    if not isinstance(before, io.TextIOWrapper):
        yield
        return
    before.flush()
    own = _Output(
        before.buffer,
        "utf-8",
        "surrogateescape",
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )
    own.escapes = escapes and own.isatty()
    sys.stdout = own
    try:
        yield
    finally:
        sys.stdout = before
        try:
            own.flush()
        finally:
            own.detach()  # so that the file stays open


class _Output(io.TextIOWrapper):
    """The standard output as text. An error while it is written becomes an InputError."""

    escapes = False

    def write(self, text: str) -> int:
        try:
            return super().write(printable(text) if self.escapes else text)
        except OSError as error:
            raise lost(error, self.fileno()) from error

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise lost(error, self.fileno()) from error


def lost(error: OSError, number: int) -> InputError:
    """Return the InputError for an output that can no longer be written, and send the rest of it to os.devnull.

    Otherwise Python would try to write the rest again at exit, and complain.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return InputError(f"cannot write to the standard output: {error.strerror}")
