"""setuptools' build backend, with ctx_metrics.pth put at the root of every wheel, the editable one too.

setuptools cannot place a file at the wheel's root by configuration, and that is where site.py reads .pth files.
"""

import base64
import hashlib
import tempfile
import zipfile
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  every other PEP 517/660 hook is setuptools' own

PTH = Path(__file__).resolve().parent.parent / "ctx_metrics.pth"


def _add_pth(wheel: Path) -> None:
    """Append the .pth and its RECORD line to a built wheel, in place."""
    content = PTH.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    with zipfile.ZipFile(wheel) as archive:
        members = [(member, archive.read(member)) for member in archive.infolist()]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(PTH.name, content)
        for member, data in members:
            if member.filename.endswith(".dist-info/RECORD"):
                data = data.rstrip(b"\n") + f"\n{PTH.name},sha256={digest},{len(content)}\n".encode()
            archive.writestr(member, data)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as base:  # a build/ in a checkout would put its old modules into the next wheel
        settings = {**(config_settings or {}), "--global-option": ["build", f"--build-base={base}"]}
        name = build_meta.build_wheel(wheel_directory, settings, metadata_directory)
    _add_pth(Path(wheel_directory) / name)
    return name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    _add_pth(Path(wheel_directory) / name)
    return name
