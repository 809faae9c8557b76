"""Score files of mt-metrics-eval: METRIC-REF.seg.score and METRIC-REF.sys.score, lines `system<TAB>score`."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Optional

import numpy as np

from ..errors import InputError
from ..notices import counted, notice
from ..scoring.scores import score_lines
from ..writing import make_folder, write_whole
from .judged import JudgedSet, MetricScores, row_means
from .readers.rows import find, unpacked
from .readers.scores import SEGMENTS, SYSTEMS, read_score_lines

NO_REFERENCE = "src"


def read_score_file(path: str, judged: JudgedSet, name: Optional[str] = None) -> MetricScores:
    """A metric's scores of a judged set from a .seg.score or .sys.score file, and from the other one beside it.

    Without a .sys.score file, a system's score is the mean of its segments' scores. Scores of systems that the set lacks
    are left out. name: the metric's; without it, what stands before the last "-" of the file's name.

    Raises InputError where a file lacks a system of the set, or has other than one score for each segment.
    """
    path = os.fspath(path)
    start, level = _split(path)
    segment_file, system_file = (
        path if level == wanted else find(os.path.join(os.path.dirname(path), start + wanted))
        for wanted in (SEGMENTS, SYSTEMS)
    )
    of_segments = None if segment_file is None else _of_set(segment_file, judged, judged.segments)
    if of_segments is not None and (unscored := int(np.isnan(of_segments).sum())):
        notice(f"{segment_file}: {counted(unscored, 'output has', 'outputs have')} no score")
    if system_file is not None:
        of_systems = _of_set(system_file, judged, 1)[:, 0]
    else:
        of_systems = row_means(of_segments)
    return MetricScores(name or _metric(path), of_segments, of_systems)


def read_score_folder(folder: str, judged: JudgedSet, reference: Optional[str] = None) -> list[MetricScores]:
    """The scores of all metrics in a folder such as metric-scores/zh-en, by name, with one reference or without.

    reference    read the files METRIC-REFERENCE and METRIC-src; "refA,refB" stands as refA.refB in a name, and files that
                 name no more than `ref` are read with any. None: the only reference that the names have, or refA, or the
                 first, and that is said. A metric that has both is read twice, as METRIC and METRIC-src

    Raises InputError for a folder without such files, and as read_score_file does.
    """
    files: dict[tuple[str, str], str] = {}
    for file in sorted(os.listdir(folder)):
        if unpacked(file).endswith((SEGMENTS, SYSTEMS)):
            metric, _, read = _split(file)[0].rpartition("-")
            files.setdefault((metric or read, read if metric else NO_REFERENCE), os.path.join(folder, file))
    if not files:
        raise InputError(f"{folder}: holds no files METRIC-REF{SEGMENTS} or METRIC-REF{SYSTEMS}")
    there = sorted({read for _, read in files} - {NO_REFERENCE})
    chosen = _reference(folder, there, reference)
    kept = {key: path for key, path in files.items() if key[1] in (chosen, NO_REFERENCE)}
    times = Counter(metric for metric, _ in kept)
    return [
        read_score_file(path, judged, f"{metric}-src" if times[metric] > 1 and read == NO_REFERENCE else metric)
        for (metric, read), path in kept.items()
    ]


def read_scores(paths: Sequence[str], judged: JudgedSet, reference: Optional[str] = None) -> list[MetricScores]:
    """The scores of a judged set from score files and folders; a folder may hold one for each set or language pair.

    Files of one metric with several references are named METRIC-REF. reference: which files of the folders to read.
    """
    found = []
    for path in paths:
        if not os.path.exists(path):
            raise InputError(f"cannot read {path}: No such file or directory")
        if os.path.isdir(path):
            names = judged.name, f"{judged.source_lang}-{judged.target_lang}"
            own = [os.path.join(path, name) for name in names if os.path.isdir(os.path.join(path, name))]
            found += read_score_folder(own[0] if own else path, judged, reference)
    # both levels of a metric are read from either file
    files = {os.path.join(os.path.dirname(path), _split(path)[0]): path for path in paths if not os.path.isdir(path)}
    times = Counter(_metric(path) for path in files.values())
    for path in files.values():
        found.append(read_score_file(path, judged, _split(path)[0] if times[_metric(path)] > 1 else None))
    return found


def write_score_files(
    folder: str, judged: JudgedSet, scores: Sequence[MetricScores], reference: str = "ref"
) -> list[str]:
    """Write METRIC-REFERENCE.seg.score and .sys.score for each metric, whole or not at all; returns their paths.

    Scores are in full precision, None for NaN. Blanks and slashes in a metric's name become "_", and so do blanks, slashes
    and "-" in the reference's, as the last "-" of a file's name parts the two. Raises InputError where that fails.
    """
    paths = []
    make_folder(folder)
    for each in scores:
        name, read = re.sub(r"[\s/]", "_", each.name), re.sub(r"[-\s/]", "_", reference)
        levels = {SEGMENTS: each.segment_scores, SYSTEMS: each.system_scores}
        for level, values in levels.items():
            if values is not None:
                of_systems = values.reshape(len(judged.systems), -1).tolist()
                paths.append(os.path.join(folder, f"{name}-{read}{level}"))
                write_whole(paths[-1], score_lines(judged.systems, of_systems))
    return paths


def _split(path: str) -> tuple[str, str]:
    """The start of a score file's name and its level."""
    name = unpacked(os.path.basename(path))
    for level in (SEGMENTS, SYSTEMS):
        if name.endswith(level):
            return name.removesuffix(level), level
    raise InputError(f"{path}: the name of a score file ends in {SEGMENTS} or {SYSTEMS}")


def _metric(path: str) -> str:
    """The metric's part of a score file's name."""
    start, _ = _split(path)
    return start.rpartition("-")[0] or start


def _reference(folder: str, there: list[str], wanted: Optional[str]) -> Optional[str]:
    if wanted is None:
        chosen = "refA" if "refA" in there else next(iter(there), None)
        if len(there) > 1:
            notice(f"{folder}: read the scores with {chosen} and without a reference, of {', '.join(there)}")
        return chosen
    for name in (wanted.replace(",", "."), "ref"):
        if name in there:
            return name
    if there:
        raise InputError(f"{folder}: no scores with reference {wanted}; there are {', '.join(there)}")
    return None


def _of_set(path: str, judged: JudgedSet, each: int) -> np.ndarray:
    scores = read_score_lines(path)
    if missing := [system for system in judged.systems if system not in scores]:
        raise InputError(f"{path}: no scores of {', '.join(missing)}; leave these systems out of {judged.name}")
    for system in judged.systems:
        if len(scores[system]) != each:
            raise InputError(
                f"{path}: {counted(len(scores[system]), 'score', 'scores')} of {system}, and {judged.name} wants {each}; "
                "write a line for each, with None where there is no score"
            )
    return np.array([scores[system] for system in judged.systems])
