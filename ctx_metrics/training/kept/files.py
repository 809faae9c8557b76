"""Files that trainings keep: each whole or not at all, with a checksum at its end that tells when a disk has changed it."""

from pathlib import Path

from ...writing import checksum, write_bytes

SUM_BYTES = 4
MEND = "; name another --cache folder"


def write_kept(path: Path, content: bytes, of: bytes = b"") -> None:
    """Write a file; raises InputError where that fails.

    of    what the content is of: for something else, `read_kept` takes it as damaged
    """
    write_bytes(str(path), content + checksum(of, content).to_bytes(SUM_BYTES, "little"), MEND)


def read_kept(path: Path, of: bytes = b"") -> bytes | None:
    """The content of a file, None where it is damaged; raises OSError where there is none."""
    content = path.read_bytes()
    is_sound = checksum(of, content[:-SUM_BYTES]) == int.from_bytes(content[-SUM_BYTES:], "little")
    return content[:-SUM_BYTES] if is_sound else None
