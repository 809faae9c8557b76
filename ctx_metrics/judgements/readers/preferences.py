"""Lists of better and worse translations (such as the DARR pairs of WMT17 to WMT20): a row a pair of outputs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...errors import InputError
from ...notices import counted, notice
from ..judged import JudgedSet
from .grid import as_streams, whole
from .rows import language_pair, read_rows, reference_columns, stem


@dataclass
class _Segment:
    source: str | None
    references: Sequence[str | None]
    outputs: dict[str, str] = field(default_factory=dict)

    def takes(self, outputs: dict[str, str]) -> bool:
        return all(self.outputs.get(system, text) == text for system, text in outputs.items())


def read_preferences(path: str, reference: str | None = None) -> JudgedSet:
    """Preferences from a tab-separated file with the columns better and worse, and if there are, src, better_sys,
    worse_sys and references (as reference_columns says; `reference` names others). Every row is one preference; repeated
    and contradicting rows stay.

    A segment is one combination of src and ref. Where a system has two outputs for one, a further segment holds the
    second. Without better_sys and worse_sys a segment's distinct outputs are numbered, "1", "2", ...: the numbers of
    different segments have nothing in common. Rows with the same output twice tell nothing then; they are left out, and
    that is said.

    Raises InputError naming file and line of what cannot be read, or of a system that is better than itself.
    """
    header, rows = read_rows(path, ["better", "worse"])
    references, called = reference_columns(path, header, reference)
    with_systems = "better_sys" in header and "worse_sys" in header
    segments: list[_Segment] = []
    of_texts: dict[tuple, list[int]] = {}
    systems: dict[str, int] = {}
    preferences = []
    without_contrast = 0
    for where, row in rows:
        texts = [row[column] for column in references]
        key = row.get("src"), *texts
        places = of_texts.setdefault(key, [])
        if not with_systems:
            if row["better"] == row["worse"]:
                without_contrast += 1
                continue
            known = list(segments[places[0]].outputs.values()) if places else []
            known += [row[column] for column in ("better", "worse") if row[column] not in known]
            names = [str(known.index(row[column]) + 1) for column in ("better", "worse")]
        else:
            names = [row["better_sys"], row["worse_sys"]]
            if names[0] == names[1] or not all(names):
                raise InputError(f"{where}: better_sys and worse_sys must name two systems")
        outputs = {names[0]: row["better"], names[1]: row["worse"]}
        place = next((place for place in places if segments[place].takes(outputs)), None)
        if place is None:
            place = len(segments)
            places.append(place)
            segments.append(_Segment(row.get("src"), [text or None for text in texts]))
        segments[place].outputs.update(outputs)
        better, worse = (systems.setdefault(name, len(systems)) for name in names)
        preferences.append((place, better, worse))
    if without_contrast:
        notice(f"{path}: left out {counted(without_contrast, 'row', 'rows')} where better and worse are the same text")
    if not preferences:
        raise InputError(f"{path}: no preferences below the header")
    name = stem(path)
    return JudgedSet(
        name,
        list(systems),
        len(segments),
        [[each.outputs.get(system) for each in segments] for system in systems],
        as_streams([each.references for each in segments]),
        whole([each.source for each in segments]),
        None,
        *language_pair(name),
        preferences=np.array(preferences, dtype=np.int64),
        reference=called,
    )
