"""The choices that led to the rows of tables: those by which earlier runs of annotate wrote them."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ..interference.records import Choice, decoded
from ..notices import counted, notice
from ..opening import file_sha256
from ..scale.kept import MOST
from .parts import SUMMARY
from .tables import Table

_PART = re.compile(r"part-(\d{6,})\.")


class ChoiceRecord(msgspec.Struct, frozen=True):
    """The entries of a summary about choices.

    states    of the parts, in their order, as `Parts.write_part` returns them
    """

    chosen_by: list[Choice] = []
    states: list[str] = []


def choices_of(tables: Iterable[Table]) -> dict[str, list[Choice]]:
    """Return the choices that led to the rows of tables on this machine, by the folders in which annotate wrote them."""
    of_folders: dict[str, list[tuple[str, int]]] = {}
    for table in tables:
        folder, name = os.path.split(table.path)
        if "://" not in folder and (part := _PART.match(name)):
            of_folders.setdefault(folder, []).append((table.path, int(part[1])))
    found = {}
    for folder, parts in of_folders.items():
        summary = decoded(os.path.join(folder, SUMMARY), ChoiceRecord, MOST)
        if summary is None or not summary.chosen_by:
            continue
        states = dict(enumerate(summary.states))
        changed = [path for path, number in parts if states.get(number) != file_sha256(Path(path))]
        if changed:
            more = f" (and {counted(len(changed) - 1, 'other', 'others')})" if len(changed) > 1 else ""
            notice(
                f"{changed[0]} has changed since annotate wrote it{more}, so {SUMMARY} no longer describes how its rows "
                "were chosen"
            )
        if len(changed) < len(parts):
            found[folder] = summary.chosen_by
    return found
