"""The section of `ctx-metrics doctor` on judges: the client, the key, and the answers that are kept."""

import os
from collections.abc import Iterator
from importlib import metadata

from ..cli.doctor import Finding
from ..notices import counted
from ..scale.kept import ENDING
from .estimator import store_folder
from .judging import KEY_ENV
from .server import EXTRA

TITLE = "Judges"


def findings() -> Iterator[Finding]:
    try:
        yield Finding("openai", metadata.version("openai"))
    except metadata.PackageNotFoundError:
        yield Finding("openai", f"not installed; optional: {EXTRA}")
    yield Finding(KEY_ENV, "is set" if os.environ.get(KEY_ENV) else "is not set")
    folder = store_folder(None)
    answers = sum(1 for _ in folder.glob(f"*/*{ENDING}"))
    yield Finding(
        "answers", f"{counted(answers, 'is kept', 'are kept')} in {folder}" if answers else f"none in {folder}"
    )
