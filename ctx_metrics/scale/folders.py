"""Folders that we write to, on this machine or at an fsspec address. Nothing is read or written through a link."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import fsspec

from ..errors import CtxMetricsError, InputError
from ..writing import check_writable, is_stream, os_errors, write_bytes


class Unusable(Exception):
    """Says why a file in a folder is not used. Its content is then made again, so users see at most a notice."""


def folder_at(address: str, flag: str) -> "LocalFolder | RemoteFolder":
    return RemoteFolder(address, flag) if "://" in address else LocalFolder(address, flag)


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

    def below(self, name: str) -> "LocalFolder":
        path = os.path.join(self.path, name)
        if os.path.islink(path):
            raise InputError(f"{self._flag} {self.path}: {name} in it is a link, and nothing is written through a link")
        return LocalFolder(path, self._flag, private=True)

    def names(self) -> list[str]:
        """The names of the folder's entries; [] if the folder does not exist."""
        with os_errors(f"cannot read {self.path}"):
            return sorted(os.listdir(self.path)) if os.path.isdir(self.path) else []

    def read(self, name: str, most: int) -> bytes | None:
        """The content of a file; None if it does not exist. Raises Unusable for a link, for anything but a regular file, for
        another user's file in a private folder, and for one of more than `most` bytes."""
        path = self._at(name)
        try:
            before = os.lstat(path)
            if not stat.S_ISREG(before.st_mode):
                raise Unusable(f"{path} is a link" if stat.S_ISLNK(before.st_mode) else f"{path} is no file")
            if self._private and os.name == "posix" and before.st_uid not in (0, os.geteuid()):
                raise Unusable(f"{path} belongs to another user")
            if before.st_size > most:
                raise Unusable(f"{path} is too large")
            number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
            with open(number, "rb") as file:
                return file.read(most + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Unusable(f"cannot read {path}: {error.strerror or error}") from error

    def write(self, name: str, content: bytes, mend: str = "") -> None:
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
        write_bytes(path, content, mend)

    def state(self, name: str) -> str | None:
        """A string that changes with the file's content (its sha256); None if there is no regular file of this name."""
        try:
            path = self._at(name)
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return None
            return sha256_of(path)
        except (OSError, Unusable):
            return None


def sha256_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Turn errors of reading from an address, in the block, into a one-line InputError."""
    what = f"cannot read {path}"
    try:
        yield
    except CtxMetricsError:
        raise
    except OSError as error:
        raise InputError(f"{what}: {error.strerror or ' '.join(str(error).split()) or type(error).__name__}") from error
    except UnicodeDecodeError as error:  # from Parquet; lines are decoded elsewhere
        raise InputError(f"{what}: the name of a column is not utf-8; write the table with names in UTF-8") from error
    except ImportError as error:  # of the protocol's package
        raise InputError(f"{what}: {' '.join(str(error).split())}") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("ctx_metrics", "builtins"):
            if isinstance(error, ValueError) and "rotocol" in str(error):  # fsspec's "Protocol not known: ..."
                raise InputError(f"{what}: {error}") from error
            raise  # a bug of ours
        why = " ".join(str(error).split()) or type(error).__name__
        broken = "; the file is broken or not whole" if type(error).__module__.startswith("pyarrow") else ""
        raise InputError(f"{what}: {why}{broken}") from error


class RemoteFolder:
    """A folder at an fsspec address, such as s3://bucket/folder; it has no links, and its owner sets the permissions."""

    def __init__(self, address: str, flag: str):
        self.path, self._flag = address.rstrip("/"), flag
        with readable(address):
            self._system, self._folder = fsspec.url_to_fs(self.path)

    def below(self, name: str) -> "RemoteFolder":
        return RemoteFolder(f"{self.path}/{name}", self._flag)

    def names(self) -> list[str]:
        with readable(self.path):
            if not self._system.isdir(self._folder):
                return []
            return sorted(name.rstrip("/").rpartition("/")[2] for name in self._system.ls(self._folder, detail=False))

    def read(self, name: str, most: int) -> bytes | None:
        with readable(self.path):
            path = f"{self._folder}/{name}"
            if not self._system.exists(path):
                return None
            if (self._size(path) or 0) > most:
                raise Unusable(f"{self.path}/{name} is too large")
            return bytes(self._system.cat_file(path))

    def write(self, name: str, content: bytes, mend: str = "") -> None:
        """Like LocalFolder.write; object stores show a file only once it is complete. `mend` is not used."""
        with readable(self.path):
            self._system.pipe_file(f"{self._folder}/{name}", content)

    def state(self, name: str) -> str | None:
        """A string that changes with the file's size (content may be costly to fetch); None if the file does not exist."""
        with readable(self.path):
            path = f"{self._folder}/{name}"
            return f"size {self._size(path)}" if self._system.exists(path) else None

    def _size(self, path: str) -> Any:
        return self._system.info(path).get("size")
