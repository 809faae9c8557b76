"""Files that appear whole or not at all, and whether they can be written."""

import codecs
import errno
import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import CtxMetricsError, InputError
from .standard_streams import check_output

if TYPE_CHECKING:
    import torch

PROBE = bytes(4096)  # enough to find a full disk
LINK = "it is a link, and nothing is written through a link; name the file itself"
# such as s3://bucket, which pathlib makes s3:/bucket; C:/ is a drive
ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/")
STREAMS = ("/dev/std", "/dev/fd/", "/proc/")  # links to what is open, also where that is a file


def check_writable(path: str | None, folder: bool = False, flag: str = "") -> None:
    """Raise InputError where a file, or files in a folder, cannot be written, as at an address; makes nothing. For before
    long work.

    path    None is the standard output
    flag    what names the path on the command line, for the message
    """
    if path is None:
        check_output()
        return
    if not path:
        kind = "folder" if folder else "file"
        raise InputError(f"{flag or 'cannot write'} '': the name is empty; give the name of a {kind}")
    what = f"{flag} {path}" if flag else f"cannot write {'into ' * folder}{path}"
    if ADDRESS.match(path):
        raise InputError(f"{what}: it is an address, but only files of this machine are written here; give a path")
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


def check_not_input(path: str | None, given: Mapping[str, object], flag: str) -> None:
    """Raise InputError where the file that a flag names is also among the files of a command line, which would be lost.

    given    the command line's values by attribute; lists of paths too
    """
    if path is None or not os.path.isfile(path):
        return
    for value in given.values():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(each, str) and os.path.isfile(each) and os.path.samefile(path, each):
                raise InputError(f"{flag} {path}: it is an input file and would be overwritten; name another file")


@contextmanager
def replacing(path: str, mend: str = "") -> Iterator[str]:
    """The name of a file or folder to make, which takes the place of `path` when the block ends well, and goes if it fails.

    It lies beside `path` in a folder of a random name, which only this user can enter, so nobody can foresee the name or
    plant a link there. The folders above `path` are made. A file that is replaced hands on its permissions, a new one has
    those of the umask. A device or a pipe is written as it is.

    mend    the end of the message

    Raises InputError where the operating system refuses, as for a full disk, or where `path` is a link, and what else the
    block raises.
    """
    path = os.fspath(path)
    with os_errors(f"cannot write {path}", mend):
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


def write_whole(
    path: str, text: str, comfort: str = "", encoding: str = "utf-8", errors: str = "surrogateescape"
) -> None:
    """Write a text; raises InputError where that fails, with `comfort` at the end of its message.

    encoding    the user's choice, by -e; where it is not UTF-8 and lacks a character, that is an InputError too
    errors      what becomes of names that are no text: their bytes, or with backslashreplace JSON's escapes
    """
    try:
        content = text.encode(encoding, errors)
    except UnicodeEncodeError as error:
        if codecs.lookup(encoding).name == "utf-8":  # half of a surrogate pair, which no reader lets through
            raise
        line, lacking = text.count("\n", 0, error.start) + 1, text[error.start]
        raise InputError(
            f"cannot write {path}: line {line}: {lacking!r} (U+{ord(lacking):04X}) is not in {encoding}; save the texts as "
            f"UTF-8 and leave out -e {encoding}{comfort}"
        ) from error
    write_bytes(path, content, comfort)


def write_bytes(path: str, content: bytes, mend: str = "") -> None:
    """Write a file; raises InputError where that fails, with `mend` at the end of its message."""
    with replacing(path, mend) as beside, open(beside, "wb") as file:
        file.write(content)


def write_tensors(path: str, tensors: "Mapping[str, torch.Tensor]", metadata: dict[str, str] | None = None) -> None:
    """Write tensors as a safetensors file; raises InputError where that fails."""
    from safetensors.torch import save_file

    with replacing(path) as beside:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, beside, metadata)


def leftovers(folder: Path) -> list[Path]:
    """What processes that were killed while they wrote have left in a folder."""
    return [path for path in folder.glob(".*.tmp") if path.is_dir()]


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes have left in a folder; what other processes are writing there stays."""
    for path in leftovers(folder):
        with _locked(str(path), wait=False) as free:
            if free:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _folder_in_use(above: str) -> Iterator[str]:
    """A new folder for what is being written, which `remove_leftovers` of other processes leaves alone."""
    while True:
        with tempfile.TemporaryDirectory(".tmp", ".", above, ignore_cleanup_errors=True) as own, _locked(own):
            if os.path.isdir(own):  # or another process removed it before it was locked
                yield own
                return


@contextmanager
def _locked(folder: str, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a folder, which goes with the process; whether it is held. Some file systems have no locks: there
    every process holds it."""
    try:
        import fcntl
    except ImportError:  # Windows, which removes no file that is open
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
    """Make a folder and those above it; raises InputError where that fails."""
    with os_errors(f"cannot write into {path}"):
        os.makedirs(path, exist_ok=True)


def is_stream(path: str) -> bool:
    """Whether a path names a device, a pipe or what is open already, which no file may replace."""
    status = _status(path)
    kinds = (stat.S_IFREG, stat.S_IFDIR)
    return path.startswith(STREAMS) or bool(status and stat.S_IFMT(status.st_mode) not in kinds)


def checksum(*parts: bytes) -> int:
    """CRC-32 of some bytes, or arrays, one after another: it tells when a disk gives back others than were written."""
    return reduce(lambda crc, part: zlib.crc32(part, crc), parts, 0)


@contextmanager
def os_errors(what: str, mend: str = "") -> Iterator[None]:
    """Inside, what the operating system refuses becomes the InputError `what: why` with `mend` at its end."""
    try:
        yield
    except CtxMetricsError:
        raise
    except FileExistsError as error:
        raise InputError(f"{what}: {error.filename} is a file, but a folder is needed there{mend}") from error
    except OSError as error:
        raise InputError(f"{what}: {error.strerror or error}{mend}") from error
    except Exception as error:
        number = re.search(r"\(os error (\d+)\)", str(error))  # so say safetensors and tokenizers, written in Rust
        if number is None:
            raise
        raise InputError(f"{what}: {os.strerror(int(number[1]))}{mend}") from error


def _status(path: str) -> os.stat_result | None:
    """What is at a path, or None; raises OSError for a name that cannot be."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
