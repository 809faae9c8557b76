"""Rankings of five systems a judgement, in the comma-separated form of WMT13."""

import os
import re
from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np

from ...corpus import read_lines
from ...errors import InputError
from ..judged import JudgedSet
from .rows import find, language_pair, read_aligned, read_csv, stem

RANKED = range(1, 6)
COLUMNS = ("srclang", "trglang", "segmentId", *(f"system{k}Id" for k in RANKED), *(f"system{k}rank" for k in RANKED))


def read_rankings(csvs: Sequence[str], outputs: str, references: Sequence[str], source: str | None = None) -> JudgedSet:
    """All strict pairs of each ranking as preferences; ties and systems that were not judged (rank -1) give none.

    csvs         files of one language pair; segmentId is the line of the test set, from 1
    outputs      folder with a file for each systemId, such as newstest2013.fr-en.online-A
    references, source    files of the test set, a line a segment

    A pair that several judgements rank is there as often, also where they contradict each other, as in WMT's tau. Outputs
    that no preference names are None.

    Raises InputError naming file and line of a ranking that cannot be read, and for files that are missing or of
    different lengths.
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
        raise InputError(f"{', '.join(csvs)}: no ranking tells two systems apart")
    named = np.zeros((len(systems), length), dtype=bool)
    for segment, *both in preferences:
        named[both, segment] = True
    hypotheses = []
    for system, wanted in zip(systems, named, strict=True):
        path = find(os.path.join(outputs, system))
        if path is None:
            raise InputError(f"{outputs}: no output {system}, which the rankings name")
        hypotheses.append([text if want else None for text, want in zip(lines(path), wanted, strict=True)])
    # newstest2013.fr-en.online-A is the output of online-A for newstest2013.fr-en
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
        preferences=np.array(preferences, dtype=np.int64),
        reference=",".join(map(stem, references)),
    )


def _whole(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{where}: {text!r} is no whole number") from None
