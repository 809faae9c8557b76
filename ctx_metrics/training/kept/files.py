"""Cache files of trainings: written atomically, with a checksum at the end that reveals damage."""

from pathlib import Path

from ...writing import checksum, write_bytes

SUM_BYTES = 4
MEND = "; name another --cache folder"


def write_kept(path: Path, content: bytes, of: bytes = b"") -> None:
    """Write a file; raises InputError on failure.

    of    identity of the content; with a different one, `read_kept` treats the file as damaged
    """
    write_bytes(str(path), content + checksum(of, content).to_bytes(SUM_BYTES, "little"), MEND)


def read_kept(path: Path, of: bytes = b"") -> bytes | None:
    """Return the content of a file, or None if it is damaged; raises OSError if it cannot be read."""
    content = path.read_bytes()
    is_sound = checksum(of, content[:-SUM_BYTES]) == int.from_bytes(content[-SUM_BYTES:], "little")
    return content[:-SUM_BYTES] if is_sound else None
