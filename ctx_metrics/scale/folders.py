"""Folders that we write to. Nothing is read or written through a link."""

import os
import stat
from pathlib import Path
from typing import Protocol

from ..errors import InputError
from ..writing import check_writable, is_stream, os_errors, write_bytes


def user_cache() -> Path:
    """Return the folder ctx-metrics in $XDG_CACHE_HOME, or in ~/.cache if that is not set to an absolute path."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "ctx-metrics"


class Unusable(Exception):
    """Says why a file in a folder is not used. Its content is then made again, so users see at most a notice.

    why    the reason, of which the file is the subject if a path is given
    """

    def __init__(self, why: str, path: str = ""):
        super().__init__(f"{path} {why}" if path else why)
        self.why = why


class Folder(Protocol):
    """A folder of files on this machine or elsewhere; names are relative to it."""

    path: str

    def read(self, name: str, most: int) -> bytes | None:
        """The content of a file; None if it does not exist. Raises Unusable for one of more than `most` bytes."""

    def write(self, name: str, content: bytes, fix: str = "") -> None: ...


class LocalFolder:
    """A folder on this machine. File names are relative to it and may start with a subfolder and a slash.

    private    whether its content is trusted: other users must then not be able to write there
    """

    def __init__(self, path: str, flag: str, private: bool = False):
        check_writable(path, folder=True, flag=flag)
        self.path, self._flag, self._private = path, flag, private
        self._check_private(path)

    def _check_private(self, path: str) -> None:
        if not self._private or os.name != "posix" or not os.path.isdir(path):
            return
        status = os.stat(path)
        if status.st_uid not in (0, os.geteuid()):
            why = "it belongs to another user, who could change what is kept there; name a folder of your own"
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            why = f"other users may write there, and could change what is kept; run: chmod -R go-w {self.path}"
        else:
            return
        raise InputError(f"{self._flag} {path}: {why}")

    def _at(self, name: str) -> str:
        if inside := name.rpartition("/")[0]:
            above = os.path.join(self.path, inside)
            if os.path.islink(above):
                raise Unusable(f"{above} is a link")
            self._check_private(above)
        return os.path.join(self.path, name)

    def read(self, name: str, most: int) -> bytes | None:
        """As read_file; raises Unusable also for another user's file in a private folder."""
        return read_file(self._at(name), most, self._private)

    def write(self, name: str, content: bytes, fix: str = "") -> None:
        path = os.path.join(self.path, name)
        if self._private and not os.path.isdir(self.path):
            with os_errors(f"cannot write into {self.path}"):
                os.makedirs(self.path, mode=0o700, exist_ok=True)
            self._check_private(self.path)
        above = os.path.dirname(path)
        with os_errors(f"cannot write {path}"):
            for ours in (above, path) if "/" in name else (path,):
                if os.path.islink(ours) or is_stream(ours):  # planted by someone
                    os.unlink(ours)
        with os_errors(f"cannot write into {above}"):
            os.makedirs(above, mode=0o700 if self._private else 0o777, exist_ok=True)
        write_bytes(path, content, fix)


def read_file(path: str, most: int, private: bool = False) -> bytes | None:
    """The content of a file; None if it does not exist. Raises Unusable for a link, for anything but a regular file, for one
    of more than `most` bytes, and if it is `private`, for another user's."""
    try:
        before = os.lstat(path)
        if not stat.S_ISREG(before.st_mode):
            raise Unusable("is a link" if stat.S_ISLNK(before.st_mode) else "is not a file", path)
        if private and os.name == "posix" and before.st_uid not in (0, os.geteuid()):
            raise Unusable("belongs to another user", path)
        if before.st_size > most:
            raise Unusable("is too large", path)
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with open(number, "rb") as file:
            return file.read(most + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror or error}") from error
