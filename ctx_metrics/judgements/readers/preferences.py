"""Reads lists of better and worse translations, one row per pair of outputs (such as the DARR pairs of WMT17 to WMT20), and
rankings of five systems in the comma-separated format of WMT13.
"""

import os
import re
from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np

from ...errors import InputError
from ...notices import counted, notice
from ...reading import read_lines
from ..judged import JudgedSet
from .grid import as_streams, whole
from .rows import find, language_pair, read_aligned, read_csv, read_rows, reference_columns, stem

RANKED = range(1, 6)
COLUMNS = ("srclang", "trglang", "segmentId", *(f"system{k}Id" for k in RANKED), *(f"system{k}rank" for k in RANKED))


def read_preferences(path: str, reference: str | None = None) -> JudgedSet:
    """Read preferences from a tab-separated file with the columns better and worse and optionally src, better_sys, worse_sys
    and references (as for reference_columns; `reference` names others). Every row is one preference; repeated and
    contradictory rows are kept.

    Each combination of src and ref is a segment. If a system has two outputs for it, the second goes into a further segment.
    Without better_sys and worse_sys, the distinct outputs of a segment are numbered "1", "2", ...; these numbers are
    unrelated across segments. Rows whose two outputs are equal are then left out, with a notice.
    """
    header, rows = read_rows(path, ["better", "worse"])
    references, called = reference_columns(path, header, reference)
    with_systems = "better_sys" in header and "worse_sys" in header
    segments: list[tuple[tuple, dict[str, str]]] = []  # the texts and the outputs of each segment
    of_texts: dict[tuple, list[int]] = {}
    systems: dict[str, int] = {}
    preferences = []
    without_contrast = 0
    for where, row in rows:
        texts = row.get("src"), *(row[column] for column in references)
        places = of_texts.setdefault(texts, [])
        if not with_systems:
            if row["better"] == row["worse"]:
                without_contrast += 1
                continue
            known = list(segments[places[0]][1].values()) if places else []
            known += [row[column] for column in ("better", "worse") if row[column] not in known]
            names = [str(known.index(row[column]) + 1) for column in ("better", "worse")]
        else:
            names = [row["better_sys"], row["worse_sys"]]
            if names[0] == names[1] or not all(names):
                raise InputError(f"{where}: better_sys and worse_sys must name two systems")
        both = {names[0]: row["better"], names[1]: row["worse"]}
        taking = (
            place for place in places if all(segments[place][1].get(name, both[name]) == both[name] for name in both)
        )
        place = next(taking, len(segments))
        if place == len(segments):
            places.append(place)
            segments.append((texts, {}))
        segments[place][1].update(both)
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
        [[hypotheses.get(system) for _, hypotheses in segments] for system in systems],
        as_streams([[text or None for text in texts[1:]] for texts, _ in segments]),
        whole([texts[0] for texts, _ in segments]),
        None,
        *language_pair(name),
        preferences=np.array(preferences, dtype=np.int64),
        reference=called,
    )


def read_rankings(csvs: Sequence[str], outputs: str, references: Sequence[str], source: str | None = None) -> JudgedSet:
    """Read all strict pairs of each ranking as preferences; ties and systems that were not judged (rank -1) yield none.

    csvs         files of one language pair; segmentId is the line in the test set, counted from 1
    outputs      folder with a file for each systemId, such as newstest2013.fr-en.online-A
    references, source    files of the test set, one line per segment

    A pair ranked by several judgements is repeated, even if they contradict each other, as in WMT's tau. Outputs that occur
    in no preference are None.
    """
    rows = [row for path in csvs for row in read_csv(path, COLUMNS)[1]]
    pairs = sorted({f"{row['srclang']}-{row['trglang']}" for _, row in rows})
    if len(pairs) != 1:
        why = "has no rankings" if not pairs else f"ranks several language pairs ({', '.join(pairs)}); keep one"
        raise InputError(f"{', '.join(csvs)}: {why}")
    length = len(read_lines(references[0]))
    lines = partial(read_aligned, length=length, other=references[0])
    preferences = []
    systems: dict[str, int] = {}
    for where, row in rows:
        segment = _whole(row["segmentId"], where) - 1
        if not 0 <= segment < length:
            raise InputError(f"{where}: segmentId {segment + 1}, and {references[0]} has {length} lines")
        ranks = [(row[f"system{k}Id"], _whole(row[f"system{k}rank"], where)) for k in RANKED]
        for (one, rank), (other, rank_of_other) in combinations([each for each in ranks if each[1] > 0], 2):
            if rank == rank_of_other:
                continue
            if one == other:
                raise InputError(f"{where}: ranks {one} twice")
            better, worse = (one, other) if rank < rank_of_other else (other, one)
            numbers = [systems.setdefault(name, len(systems)) for name in (better, worse)]
            preferences.append((segment, *numbers))
    if not preferences:
        raise InputError(f"{', '.join(csvs)}: no ranking prefers one system to another")
    preferred, named = np.array(preferences, dtype=np.int64), np.zeros((len(systems), length), dtype=bool)
    named[preferred[:, 1:], preferred[:, :1]] = True
    hypotheses = []
    for system, wanted in zip(systems, named, strict=True):
        path = find(os.path.join(outputs, system))
        if path is None:
            raise InputError(f"{outputs}: no output {system}, which the rankings name")
        hypotheses.append([text if want else None for text, want in zip(lines(path), wanted, strict=True)])
    # the file of online-A for newstest2013 is named newstest2013.fr-en.online-A
    prefixes = {match.group() for match in (re.match(r".+?\.[a-z]+-[a-z]+\.", system) for system in systems) if match}
    prefix = prefixes.pop() if len(prefixes) == 1 else ""
    name = prefix[:-1] or stem(csvs[0])
    return JudgedSet(
        name,
        [system.removeprefix(prefix) for system in systems],
        length,
        hypotheses,
        [*map(lines, references)],
        None if source is None else lines(source),
        None,
        *language_pair(name),
        preferences=preferred,
        reference=",".join(map(stem, references)),
    )


def _whole(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{where}: {text[:40]!r} is not a whole number") from None
