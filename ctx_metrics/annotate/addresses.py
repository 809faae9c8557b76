"""Tables to read and folders to write, on this machine or at an address that fsspec supports, such as s3://bucket/folder."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec

from ..errors import CtxMetricsError, InputError, ModelError
from ..opening import file_sha256
from ..scale.folders import LocalFolder, Unusable
from ..writing import os_errors


def place_of(path: str) -> tuple[Any, str]:
    """The fsspec file system of a path, and the path within it. A path without :// is local, even if it contains ::, which
    fsspec would take for a chain of addresses."""
    if "://" in path:
        return fsspec.url_to_fs(path)
    return fsspec.filesystem("file"), os.path.abspath(os.path.expanduser(path))


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
        raise InputError(
            f"{what}: the name of a column is not utf-8", fix="write the table with names in UTF-8"
        ) from error
    except ImportError as error:  # of the protocol's package
        raise InputError(f"{what}: {' '.join(str(error).split())}") from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("ctx_metrics", "builtins"):
            if isinstance(error, ValueError) and "rotocol" in str(error):  # fsspec's "Protocol not known: ..."
                raise InputError(f"{what}: {error}") from error
            raise  # a bug of ours
        why = " ".join(str(error).split()) or type(error).__name__
        broken = "; the file is damaged or incomplete" if type(error).__module__.startswith("pyarrow") else ""
        raise InputError(f"{what}: {why}{broken}") from error


def folder_at(address: str, flag: str) -> "OwnFolder | RemoteFolder":
    return RemoteFolder(address, flag) if "://" in address else OwnFolder(address, flag)


class OwnFolder(LocalFolder):
    """A folder on this machine for the parts of a table."""

    def below(self, name: str) -> LocalFolder:
        """A folder in this one, which other users must not be able to change."""
        path = os.path.join(self.path, name)
        if os.path.islink(path):
            raise InputError(f"{self._flag} {self.path}: {name} in it is a link, and nothing is written through a link")
        return LocalFolder(path, self._flag, private=True)

    def names(self) -> list[str]:
        """The names of the folder's entries; [] if the folder does not exist."""
        with os_errors(f"cannot read {self.path}"):
            return sorted(os.listdir(self.path)) if os.path.isdir(self.path) else []

    def remove(self, name: str) -> None:
        with os_errors(f"cannot remove {self.path}/{name}"):
            os.unlink(os.path.join(self.path, name))

    def state(self, name: str) -> str | None:
        """A string that changes with the file's content (its sha256); None if there is no regular file of this name."""
        try:
            path = self._at(name)
            return file_sha256(Path(path)) if stat.S_ISREG(os.lstat(path).st_mode) else None
        except (OSError, ModelError, Unusable):
            return None


class RemoteFolder:
    """A folder at an fsspec address, such as s3://bucket/folder; it has no links, and its owner sets the permissions."""

    def __init__(self, address: str, flag: str):
        self.path, self._flag = address.rstrip("/"), flag
        with readable(address):
            self._system, self._folder = place_of(self.path)

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

    def write(self, name: str, content: bytes, fix: str = "") -> None:
        """Like LocalFolder.write; object stores show a file only once it is complete. `fix` is not used."""
        with readable(self.path):
            self._system.pipe_file(f"{self._folder}/{name}", content)

    def remove(self, name: str) -> None:
        with readable(self.path):
            self._system.rm_file(f"{self._folder}/{name}")

    def state(self, name: str) -> str | None:
        """A string that changes with the file's size (content may be costly to fetch); None if the file does not exist."""
        with readable(self.path):
            path = f"{self._folder}/{name}"
            return f"size {self._size(path)}" if self._system.exists(path) else None

    def _size(self, path: str) -> Any:
        return self._system.info(path).get("size")
