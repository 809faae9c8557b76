"""The section of `ctx-metrics doctor` on cached round trips."""

import os
from collections.abc import Iterator

from ..cli.doctor import Finding
from ..notices import counted
from .back_translation import BackTranslation

TITLE = "Kept round trips"


def findings() -> Iterator[Finding]:
    """Check the folder that caches back-translations, without creating it; metrics run without it (--rtt-cache none)."""
    folder = str(BackTranslation("cmd:cat").cache_folder)
    yield Finding("folder", folder)
    there = folder
    while not os.path.lexists(there):  # find the nearest existing ancestor
        there = os.path.dirname(there)
    usable = os.path.isdir(there) and os.access(there, os.R_OK | os.W_OK | os.X_OK)
    what = (
        "can be written" if usable else f"cannot be written (look at {there}); name another with --rtt-cache, or none"
    )
    if there != folder:
        yield Finding("translations", f"none; the folder does not exist yet, and {what}")
        return
    try:
        files = [name for name in os.listdir(folder) if name.endswith(".sqlite3")]
    except OSError as error:
        yield Finding("translations", f"cannot be read: {error.strerror}; {what}")
        return
    yield Finding("translations", f"{counted(len(files), 'file', 'files')}; the folder {what}")
