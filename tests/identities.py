"""What a model is known by, from the contents of its files: the hash of what sha256sum prints of them, sorted."""

import hashlib
from collections.abc import Mapping
from pathlib import Path


def identity_of(files: Mapping[str, bytes]) -> str:
    """12 hex digits, from the contents by their names."""
    lines = sorted(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def identity_of_folder(folder: Path, *names: str) -> str:
    """The same of files of a folder."""
    return identity_of({name: (folder / name).read_bytes() for name in names})
