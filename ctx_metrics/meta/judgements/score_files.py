"""Score files of mt-metrics-eval: METRIC-REF.seg.score and METRIC-REF.sys.score, lines `system<TAB>score`.

Beside those that are written here, METRIC-REF.signature.json says what made them: the metric's signature, the texts, and the
files themselves, by their hashes.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...corpus import read_text
from ...errors import InputError
from ...notices import counted, notice
from ...scoring.scores import score_lines
from ...writing import make_folder, write_whole
from .judged import JudgedSet, MetricScores, row_means
from .readers.rows import SEGMENTS, SYSTEMS, find, read_score_lines, unpacked
from .score_tables import is_score_table, read_score_table

NO_REFERENCE = "src"
ANY_REFERENCE = "ref"  # written where the data do not name their reference
MADE_BY = ".signature.json"


def read_score_file(path: str, judged: JudgedSet, name: str | None = None) -> MetricScores:
    """A metric's scores of a judged set from a .seg.score or .sys.score file, and from the other one beside it.

    Without a .sys.score file, a system's score is the mean of its segments' scores. Scores of systems that the set lacks
    are left out. name: the metric's; without it, what stands before the last "-" of the file's name. Signatures are known
    of files that write_score_files wrote. How many outputs have no score is said, of those that are there and, where people
    judged single outputs, judged.

    Raises InputError where a file lacks a system of the set, or has other than one score for each segment.
    """
    path = os.fspath(path)
    file = _file(path)
    segment_file, system_file = (
        path if file.level == each else find(file.start + each) for each in (SEGMENTS, SYSTEMS)
    )
    of_segments = of_systems = None
    if segment_file is not None:
        of_segments = _of_set(segment_file, judged, judged.segments)
        of_systems = row_means(of_segments)
        wanted = judged.there if judged.segment_scores is None else judged.there & ~np.isnan(judged.segment_scores)
        if unscored := int((np.isnan(of_segments) & wanted).sum()):
            notice(f"{segment_file}: {counted(unscored, 'output has', 'outputs have')} no score")
    if system_file is not None:
        of_systems = _of_set(system_file, judged, 1)[:, 0]
    made_by = _made_by(file.start)
    signatures = made_by.get("signature", ""), made_by.get("segment_signature", "")
    return MetricScores(name or file.metric, of_segments, of_systems, *signatures)


def read_score_folder(
    folder: str, judged: JudgedSet, reference: str | None = None, taken: Collection[str] = ()
) -> list[MetricScores]:
    """The scores of all metrics in a folder such as metric-scores/zh-en, by name, with one reference or without.

    reference    read the files METRIC-REFERENCE and METRIC-src; "refA,refB" stands as refA.refB in a name. Files that name
                 no more than `ref` are read in their place, which is said. None: the set's own reference; where the data
                 do not name it, `ref`, or the only reference that the names have, or refA, or the first, and that is said
    taken        names that other metrics have. A metric without reference is named METRIC-src where METRIC is taken, or
                 is there with a reference too

    Raises InputError for a folder without such files or without any of the reference, and as read_score_file does.
    """
    files: dict[tuple[str, str], str] = {}
    for path in sorted(os.listdir(folder)):
        if unpacked(path).endswith((SEGMENTS, SYSTEMS)):
            files.setdefault(_file(path)[2:], os.path.join(folder, path))
    if not files:
        raise InputError(f"{folder}: holds no files METRIC-REF{SEGMENTS} or METRIC-REF{SYSTEMS}")
    references = sorted({read for _, read in files} - {NO_REFERENCE})
    chosen = _reference(folder, references, reference or judged.reference)
    kept = {key: path for key, path in files.items() if key[1] in (chosen, NO_REFERENCE)}
    times = Counter([metric for metric, _ in kept] + list(taken))
    return [
        read_score_file(path, judged, f"{metric}-src" if times[metric] > 1 and read == NO_REFERENCE else metric)
        for (metric, read), path in kept.items()
    ]


def read_scores(
    paths: Sequence[str], judged: JudgedSet, reference: str | None = None, taken: Collection[str] = ()
) -> list[MetricScores]:
    """The scores of a judged set from score files, folders of them, and tables of `ctx-metrics score`; a folder may hold one
    for each set or language pair.

    Files of one metric with several references are named METRIC-REF. reference, taken: as in read_score_folder; a file that
    is named itself is read whatever its reference.
    """
    scores = []
    for path in paths:
        if not os.path.exists(path):
            raise InputError(f"cannot read {path}: No such file or directory")
        if os.path.isdir(path):
            names = judged.name, f"{judged.source_lang}-{judged.target_lang}"
            own = [os.path.join(path, name) for name in names if os.path.isdir(os.path.join(path, name))]
            scores += read_score_folder(own[0] if own else path, judged, reference, taken)
        elif is_score_table(path):
            scores += read_score_table(path, judged)
    # both levels of a metric are read from either file
    files = {
        file.start: (file, path)
        for path in paths
        if not os.path.isdir(path) and not is_score_table(path)
        for file in [_file(path)]
    }
    times = Counter(file.metric for file, _ in files.values())
    for file, path in files.values():
        whole = times[file.metric] > 1 or (file.metric in taken and file.reference == NO_REFERENCE)
        scores.append(read_score_file(path, judged, os.path.basename(file.start) if whole else None))
    return scores


def read_kept(
    folder: str,
    judged: JudgedSet,
    name: str,
    *,
    reference: str | None = None,
    signatures: tuple[str, str],
    settings: Mapping[str, str],
) -> MetricScores | None:
    """A metric's scores that write_score_files wrote into a folder, if they are of these texts, signatures and settings."""
    start = os.path.join(folder, _start(name, judged, reference))
    made_by = _made_by(start)
    if {**made_by, **_made_from(judged, signatures, settings)} != made_by:
        return None
    scores = read_score_file(start + next(iter(made_by["files"])), judged, name)
    return scores if SYSTEMS in made_by["files"] else replace(scores, system_scores=None)


def write_score_files(
    folder: str,
    judged: JudgedSet,
    scores: Sequence[MetricScores],
    *,
    reference: str | None = None,
    settings: Mapping[str, str] = {},
) -> list[str]:
    """Write METRIC-REFERENCE.seg.score and .sys.score for each metric, whole or not at all; returns their paths.

    Scores are in full precision, None for NaN. reference: `src` of a metric that reads none; None: the set's own, or `ref`
    where the data do not name it. Blanks and slashes in a metric's name become "_", and so do blanks, slashes and "-" in the
    reference's, as the last "-" of a file's name parts the two. METRIC-REFERENCE.signature.json is written too where a
    metric has a signature, with its `settings`, of which a signature may not have all (sacrebleu's chrF has no beta in it).

    Raises InputError where that fails.
    """
    paths = []
    make_folder(folder)
    for each in scores:
        start = os.path.join(folder, _start(each.name, judged, reference))
        files = {}
        for level, values in {SEGMENTS: each.segment_scores, SYSTEMS: each.system_scores}.items():
            if values is not None:
                paths.append(start + level)
                text = score_lines(judged.systems, values.reshape(len(judged.systems), -1).tolist())
                write_whole(paths[-1], text)
                files[level] = _hash(text)
        if each.signature:
            made_from = _made_from(judged, (each.signature, each.segment_signature), settings)
            write_whole(start + MADE_BY, json.dumps({**made_from, "files": files}, indent=1) + "\n")
    return paths


def _start(metric: str, judged: JudgedSet, reference: str | None = None) -> str:
    """The start METRIC-REF of a metric's files."""
    read = _reference_part(reference or judged.reference or ANY_REFERENCE)
    return "-".join([re.sub(r"[\s/]", "_", metric), read])


def _reference_part(reference: str) -> str:
    return re.sub(r"[-\s/]", "_", reference.replace(",", "."))


def _made_from(judged: JudgedSet, signatures: tuple[str, str], settings: Mapping[str, str]) -> dict[str, Any]:
    """All that scores hang on, the texts and what else metrics read of a set by a hash."""
    texts = judged.systems, judged.hypotheses, judged.references, judged.sources, judged.doc_ids
    read = _hash(json.dumps([*texts, judged.source_lang, judged.target_lang], default=list))
    named = zip(("signature", "segment_signature"), signatures, strict=True)
    return {**dict(named), "settings": dict(settings), "texts": read}


def _made_by(start: str) -> dict[str, Any]:
    """What made the score files whose names start so; {} where nobody noted it, or the files are others now."""
    if not os.path.isfile(start + MADE_BY):
        return {}
    try:
        made_by = json.loads(read_text(start + MADE_BY))
        files = made_by["files"]
    except (ValueError, TypeError, KeyError, RecursionError):  # a note that is damaged says nothing
        return {}
    levels = [level for level in (SEGMENTS, SYSTEMS) if os.path.isfile(start + level)]
    return made_by if files == {level: _hash(read_text(start + level)) for level in levels} else {}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _File(NamedTuple):
    """What a score file's path says: it is START.LEVEL, and START is FOLDER/METRIC-REFERENCE."""

    start: str
    level: str
    metric: str
    reference: str


def _file(path: str) -> _File:
    for level in (SEGMENTS, SYSTEMS):
        if (start := unpacked(path)).endswith(level):
            start = start.removesuffix(level)
            metric, _, reference = os.path.basename(start).rpartition("-")
            return _File(start, level, *((metric, reference) if metric else (reference, NO_REFERENCE)))
    raise InputError(
        f"{path}: the name of a score file ends in {SEGMENTS} or {SYSTEMS}, of a table of scores in .tsv, .csv or .jsonl"
    )


def _reference(folder: str, references: list[str], wanted: str | None) -> str | None:
    """The reference, of those that the files in a folder name, whose scores are read."""
    if wanted is None:
        chosen = next((name for name in (ANY_REFERENCE, "refA", *references) if name in references), None)
        if len(references) > 1:
            notice(f"{folder}: read the scores with {chosen} and without a reference, of {', '.join(references)}")
        return chosen
    if (name := _reference_part(wanted)) in references:
        return name
    if ANY_REFERENCE in references:
        notice(f"{folder}: the names of its files do not name the reference; read as scores with {wanted}")
        return ANY_REFERENCE
    if references:
        raise InputError(
            f"{folder}: no scores with reference {wanted}; there are {', '.join(references)} (a file that --scores names "
            "itself is read whatever its reference)"
        )
    return None


def _of_set(path: str, judged: JudgedSet, each: int) -> np.ndarray:
    """The scores of a file, float64 (S, each)."""
    scores = read_score_lines(path)
    if missing := [system for system in judged.systems if system not in scores]:
        raise InputError(
            f"{path}: no scores of {', '.join(missing)}, but of {', '.join(scores) or 'no system'}; use the same "
            f"names of systems, or leave these systems out of {judged.name}"
        )
    for system in judged.systems:
        if len(scores[system]) != each:
            raise InputError(
                f"{path}: {counted(len(scores[system]), 'score', 'scores')} of {system}, and {judged.name} needs "
                f"{each}; write one line for each, with None for a missing score"
            )
    return np.array([scores[system] for system in judged.systems])
