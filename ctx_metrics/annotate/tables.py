"""Finds the files of tables of any size, recognises their format and compression, and opens them."""

import gzip
import lzma
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from ..errors import InputError
from ..reading import Packing, packing_of, unpacked
from ..writing import is_stream
from .addresses import place_of, readable

FORMS = ("tsv", "csv", "jsonl", "parquet")
PACKED = ("gz", "xz", "zst")
EXTRA = "pip install 'ctx-metrics[tables]'"
_ENDING = re.compile(rf"\.({'|'.join(FORMS)})(?:\.({'|'.join(PACKED)}))?", re.IGNORECASE)


class Table(NamedTuple):
    """One file of rows; `packed` is one of PACKED, or "" if the file is not compressed."""

    path: str
    form: str
    packed: str

    @property
    def ending(self) -> str:
        """The file-name ending of tables of this kind, such as .tsv.gz."""
        return f".{self.form}{'.' * bool(self.packed)}{self.packed}"


def find_tables(paths: Sequence[str]) -> list[Table]:
    """The tables that files, patterns and folders name, in the given order; those of a pattern or folder are sorted by name.

    A path is local or an address that fsspec supports, such as s3://bucket/folder. Files in a folder are skipped if their
    names begin with . or _, or if they are not tables.
    """
    found: list[Table] = []
    for path in paths:
        if path == "-" or ("://" not in path and is_stream(path)):
            raise InputError(
                f"{path}: annotate reads a table more than once, so it needs a file",
                fix="save the piped data to a file (cat > table.tsv) and name it",
            )
        with readable(path):
            system, inside = place_of(path)
            if system.isdir(inside):
                names = [name for name in sorted(system.find(inside)) if _is_seen(name[len(inside) :])]
                found += [table for name in names if (table := _table(_address(system, path, name)))]
                if not any(_table(name) for name in names):
                    raise InputError(f"{path}: no table in this folder", fix=_kinds())
            elif any(mark in inside for mark in "*?[") and not system.exists(inside):
                names = sorted(system.glob(inside))
                if not names:
                    raise InputError(f"{path}: no file matches this pattern")
                found += [_known(_address(system, path, name)) for name in names if not system.isdir(name)]
            else:
                if not system.exists(inside):
                    raise InputError(f"cannot read {path}: no such file or folder")
                found.append(_known(path))
    if twice := [table.path for table in found if found.count(table) > 1]:
        raise InputError(f"{twice[0]} is given twice", fix="name each table once")
    if len({(table.form, table.packed) for table in found}) > 1:
        one, other = found[0], next(table for table in found if table.ending != found[0].ending)
        raise InputError(
            f"{other.path} has another format than {one.path}", fix="annotate tables of one format at a time"
        )
    return found


def _is_seen(name: str) -> bool:
    return not any(part.startswith((".", "_")) for part in name.split("/"))


def _address(system: Any, given: str, name: str) -> str:
    """A file's address as the user would write it, with the protocol that was given."""
    return str(system.unstrip_protocol(name)) if "://" in given else name


def _table(path: str) -> Table | None:
    ending = _ENDING.search(path.lower())
    if ending is None or ending.end() != len(path):
        return None
    form, packed = ending.groups()
    return None if form == "parquet" and packed else Table(path, form, packed or "")


def _known(path: str) -> Table:
    table = _table(path)
    if table is None:
        raise InputError(f"{path}: its name does not show its format", fix=_kinds())
    return table


def _kinds() -> str:
    return "tables end with .tsv, .csv, .jsonl (and .gz, .xz or .zst after it) or .parquet"


@contextmanager
def opened(table: Table) -> Iterator[IO[bytes]]:
    """Open a table and yield a stream of its decompressed bytes."""
    system, inside = place_of(table.path)
    with system.open(inside, "rb") as file:
        yield unpacked(file, _packing_of(table), table.path)


def _packing_of(table: Table) -> Packing | None:
    if table.packed != "zst":
        return packing_of(table.path.lower())
    package = _zstandard(table.path)
    return Packing("zstd", package.ZstdDecompressor().decompressobj, package.ZstdError)


def _zstandard(path: str) -> Any:
    try:
        import zstandard as package
    except ImportError as error:
        raise InputError(
            f"cannot read {path}: .zst needs the package zstandard", fix=f"install it with: {EXTRA}"
        ) from error
    return package


def packed(content: bytes, kind: str) -> bytes:
    """Compress the content as tables of a kind are compressed; equal content gives equal bytes."""
    if kind == "gz":
        return gzip.compress(content, 6, mtime=0)
    if kind == "xz":
        return lzma.compress(content)
    if kind == "zst":
        return bytes(_zstandard("the parts").ZstdCompressor().compress(content))
    return content
