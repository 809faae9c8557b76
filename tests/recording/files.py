"""What a command wrote, in words: without what differs between two runs of the same command, such as paths and times."""

import gzip
import hashlib
import json
import lzma
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import gettempdir

LONGEST = 20_000  # characters of a text that is kept as it is
VARYING = [
    (re.compile(r"\b(in|after|took) [\d.,]+ (s|min|seconds)\b"), r"\1 TIME"),
    (re.compile(r"/\S+/site-packages"), "SITE"),
    (re.compile(rf"{re.escape(gettempdir())}/tmp\w+"), "TEMPORARY"),
    (re.compile(r"(Traceback \(most recent call last\):\n)(?: .*\n)+"), r"\1"),  # modules may move
]


class Words:
    """Replaces what depends on where and when a command ran by fixed words."""

    def __init__(self, places: dict[str, Path]):
        self.places = sorted(((str(path), word) for word, path in places.items()), key=lambda place: -len(place[0]))

    def __call__(self, text: str) -> str:
        for path, word in self.places:
            text = text.replace(path, word)
        for pattern, word in VARYING:
            text = pattern.sub(word, text)
        return text


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def arrays(named: dict) -> str:
    """A hash of arrays by their names."""
    total = hashlib.sha256()
    for name, array in sorted(named.items()):
        total.update(f"{name} {array.dtype} {array.shape}\n".encode() + array.tobytes())
    return f"arrays:{total.hexdigest()}"


def read_npz(path: Path) -> str:
    import numpy

    with numpy.load(path, allow_pickle=False) as stored:
        return arrays(dict(stored.items()))


def read_safetensors(path: Path) -> str:
    from safetensors import safe_open

    with safe_open(path, "np") as stored:
        return arrays({name: stored.get_tensor(name) for name in stored.keys()}) + f" {stored.metadata()}"  # noqa: SIM118


def read_parquet(path: Path) -> str:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return json.dumps({"schema": str(table.schema), "rows": table.to_pydict()})


def read_sqlite(path: Path) -> str:
    """All rows of all tables, without columns of times."""
    with closing(sqlite3.connect(path)) as connection:
        found = {}
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        ).fetchall():
            rows = connection.execute(f'SELECT * FROM "{table}"')
            kept = [k for k, column in enumerate(rows.description) if not re.search("time|date|_at$", column[0])]
            found[table] = sorted(repr([row[k] for k in kept]) for row in rows)
    return json.dumps(found)


READERS = {".npz": read_npz, ".safetensors": read_safetensors, ".parquet": read_parquet, ".sqlite3": read_sqlite}
PACKED = {".gz": gzip.decompress, ".xz": lzma.decompress}


def described(path: Path, words: Words) -> str:
    """A file's text, or a hash of what it holds."""
    content = path.read_bytes()
    try:
        text = (
            READERS[path.suffix](path) if path.suffix in READERS else PACKED.get(path.suffix, bytes)(content).decode()
        )
    except Exception:  # binary, or broken
        return sha256(content)
    text = words(text)
    return text if len(text) <= LONGEST else sha256(text.encode())
