"""Metrics' scores of a judged set: files of mt-metrics-eval, and tables of `ctx-metrics score`.

The files are METRIC-REF.seg.score and METRIC-REF.sys.score, with lines `system<TAB>score`. Beside those written here,
METRIC-REF.signature.json records their origin: the metric's signature, and hashes of the texts and of the files.
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

from ..errors import InputError
from ..notices import counted, notice
from ..reading import read_text
from ..scoring.names import written_name
from ..scoring.scores import score_lines
from ..writing import make_folder, write_whole
from .judged import JudgedSet, MetricScores, row_means
from .readers.rows import (
    SEGMENTS,
    SYSTEMS,
    Row,
    find,
    is_jsonl,
    is_whole,
    number,
    read_csv,
    read_jsonl,
    read_rows,
    read_score_lines,
    unpacked,
)

NO_REFERENCE = "src"
ANY_REFERENCE = "ref"  # used in file names if the data do not name their reference
MADE_BY = ".signature.json"
ABSENT = np.inf  # of a table without a row for a score; no score is infinite
LOWER = ("ter", "metricx", "slide-metricx")  # names of metrics whose lower scores are better, if positive
TABLE_COLUMNS = "level system segment metric score".split()  # of `ctx-metrics score`


def read_score_file(path: str, judged: JudgedSet, name: str | None = None) -> MetricScores:
    """Read a metric's scores of a judged set from a .seg.score or .sys.score file, and from the other one next to it.

    Without a .sys.score file, a system's score is the mean of its segment scores. Scores of systems that are not in the set
    are ignored. name: the metric's; by default, the part of the file name before the last "-". Signatures are only known for
    files from write_score_files.
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
    return MetricScores(name or written_name(file.metric, signatures[0]), of_segments, of_systems, *signatures)


def read_score_folder(folder: str, judged: JudgedSet, taken: Collection[str] = ()) -> list[MetricScores]:
    """Read the scores of all metrics in a folder such as metric-scores/zh-en: those with one reference, and those without.

    The files are METRIC-src, and METRIC-REFERENCE with the set's reference; "refA,refB" becomes refA.refB in file names. If
    the data do not name it, the reference is `ref`, else refA, else the first, with a notice.

    taken    names of other metrics. A metric without reference is named METRIC-src if METRIC is taken, or also exists with a
             reference
    """
    files: dict[tuple[str, str], str] = {}
    for path in sorted(os.listdir(folder)):
        if unpacked(path).endswith((SEGMENTS, SYSTEMS)):
            files.setdefault(_file(path)[2:], os.path.join(folder, path))
    if not files:
        raise InputError(f"{folder}: holds no files METRIC-REF{SEGMENTS} or METRIC-REF{SYSTEMS}")
    references = sorted({read for _, read in files} - {NO_REFERENCE})
    chosen = _reference(folder, references, judged.reference)
    kept = {key: path for key, path in files.items() if key[1] in (chosen, NO_REFERENCE)}
    times = Counter([metric for metric, _ in kept] + list(taken))
    return [
        read_score_file(path, judged, f"{metric}-src" if times[metric] > 1 and read == NO_REFERENCE else metric)
        for (metric, read), path in kept.items()
    ]


def lower_is_better(scores: MetricScores) -> bool:
    """Whether lower scores are better: only the name tells. If one is below 0, they are negated already."""
    given = [each for each in (scores.segment_scores, scores.system_scores) if each is not None]
    return scores.name.lower().removesuffix("-peers") in LOWER and all(
        (each[~np.isnan(each)] >= 0).all() for each in given
    )


def read_scores(paths: Sequence[str], judged: JudgedSet, taken: Collection[str] = ()) -> list[MetricScores]:
    """Read the scores of a judged set from score files, folders of them, and tables of `ctx-metrics score`. A folder may
    contain a subfolder for each set or language pair.

    If there are files of a metric with several references, its scores are named METRIC-REF. taken: as for
    read_score_folder. A file that is given by its own path is read whatever its reference.
    """
    scores = []
    for path in paths:
        if not os.path.exists(path):
            raise InputError(f"cannot read {path}: No such file or directory")
        if os.path.isdir(path):
            names = judged.name, judged.pair
            own = [os.path.join(path, name) for name in names if os.path.isdir(os.path.join(path, name))]
            scores += read_score_folder(own[0] if own else path, judged, taken)
        elif is_score_table(path):
            scores += read_score_table(path, judged)
    # the scores of both levels are read, whichever file is given
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
    """A metric's scores from a folder of write_score_files, if they belong to these texts, signatures and settings."""
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
    """Write METRIC-REFERENCE.seg.score and .sys.score for each metric, completely or not at all; return their paths.

    Scores have full precision, and NaN is written as None. reference: `src` for a metric without references; None: the set's
    own, or `ref` if the data do not name it. Spaces and slashes in a metric's name become "_"; so do spaces, slashes and "-"
    in the reference's, since the last "-" of a file name separates the two. For a metric with a signature,
    METRIC-REFERENCE.signature.json is also written, with the `settings`: sacrebleu's signature of chrF omits beta.
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
    read = _reference_part(reference or judged.reference or ANY_REFERENCE)
    return "-".join([re.sub(r"[\s/]", "_", metric), read])


def _reference_part(reference: str) -> str:
    return re.sub(r"[-\s/]", "_", reference.replace(",", "."))


def _made_from(judged: JudgedSet, signatures: tuple[str, str], settings: Mapping[str, str]) -> dict[str, Any]:
    """Everything that the scores depend on; the texts and all else that metrics read from a set are hashed."""
    texts = judged.systems, judged.hypotheses, judged.references, judged.sources, judged.doc_ids
    read = _hash(json.dumps([*texts, judged.source_lang, judged.target_lang], default=list))
    named = zip(("signature", "segment_signature"), signatures, strict=True)
    return {**dict(named), "settings": dict(settings), "texts": read}


def _made_by(start: str) -> dict[str, Any]:
    """The record of the origin of the score files with this start; {} if there is none, or the files have changed."""
    if not os.path.isfile(start + MADE_BY):
        return {}
    try:
        made_by = json.loads(read_text(start + MADE_BY))
        files = made_by["files"]
    except (ValueError, TypeError, KeyError, RecursionError):  # ignore a damaged record
        return {}
    levels = [level for level in (SEGMENTS, SYSTEMS) if os.path.isfile(start + level)]
    return made_by if files == {level: _hash(read_text(start + level)) for level in levels} else {}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _File(NamedTuple):
    """The components of a score file's path, START.LEVEL, where START is FOLDER/METRIC-REFERENCE."""

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
    """The reference whose scores to read, among those that the file names in a folder contain."""
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
    scores = read_score_lines(path)
    if missing := [system for system in judged.systems if system not in scores]:
        raise InputError(
            f"{path}: no scores of {', '.join(missing)}, but of {', '.join(scores) or 'no system'}",
            fix=f"use the same names of systems, or leave these systems out of {judged.name}",
        )
    for system in judged.systems:
        if len(scores[system]) != each:
            raise InputError(
                f"{path}: {counted(len(scores[system]), 'score', 'scores')} of {system}, and {judged.name} needs "
                f"{each}",
                fix="write one line for each, with None for a missing score",
            )
    return np.array([scores[system] for system in judged.systems])


def is_score_table(path: str) -> bool:
    return unpacked(path).endswith((".tsv", ".csv")) or is_jsonl(path)


def read_score_table(path: str, judged: JudgedSet) -> list[MetricScores]:
    """Read the scores of all metrics in a table, for the systems and segments of a judged set.

    Rows of documents, and of systems that are not in the set, are ignored. Without rows for systems, a system's score is the
    mean of its segment scores. JSON lines also contain signatures. A notice says how many outputs have no score.
    """
    wanted = {*TABLE_COLUMNS, "signature"}
    if is_jsonl(path):
        header, rows = read_jsonl(path, wanted.__contains__)
    else:
        header, rows = read_csv(path, []) if unpacked(path).endswith(".csv") else read_rows(path)
    if missing := [name for name in TABLE_COLUMNS if name not in header]:
        raise InputError(f"{path}: no column {missing[0]}: not a table of `ctx-metrics score`")
    systems = {name: k for k, name in enumerate(judged.systems)}
    found: dict[str, dict[str, np.ndarray]] = {}  # by metric and level
    signatures: dict[str, str] = {}
    for row in rows:
        level, name, metric = (row.cells.get(column, "") for column in ("level", "system", "metric"))
        if level not in ("segment", "system") or name not in systems:
            continue
        system, i = systems[name], _segment(row, judged) if level == "segment" else 0
        shape = len(systems), judged.segments if level == "segment" else 1
        of_level = found.setdefault(metric, {}).setdefault(level, np.full(shape, ABSENT))
        if of_level[system, i] != ABSENT:
            raise InputError(f"{row.where}: a second score of {_place(level, metric, name, i)}")
        of_level[system, i] = number(row.cells.get("score", ""), row.where)
        signatures.setdefault(metric, "")
        signatures[metric] = row.cells.get("signature", "") or signatures[metric]
    if not found:
        raise InputError(f"{path}: no scores of {', '.join(judged.systems)}")
    for metric, of_levels in found.items():
        for level, table in of_levels.items():
            for system, i in np.argwhere(table == ABSENT).tolist():
                raise InputError(f"{path}: no score of {_place(level, metric, judged.systems[system], i)}")
    return [_of_table(path, judged, metric, signatures[metric], **of_levels) for metric, of_levels in found.items()]


def _of_table(
    path: str,
    judged: JudgedSet,
    metric: str,
    signature: str,
    *,
    segment: np.ndarray | None = None,
    system: np.ndarray | None = None,
) -> MetricScores:
    if segment is not None and (unscored := int((np.isnan(segment) & judged.there).sum())):
        notice(f"{path}: {counted(unscored, 'output has', 'outputs have')} no score of {metric}")
    of_systems = system[:, 0] if system is not None else None if segment is None else row_means(segment)
    return MetricScores(written_name(metric, signature), segment, of_systems, signature)


def _segment(row: Row, judged: JudgedSet) -> int:
    text = row.cells.get("segment", "")
    if not is_whole(text) or not 1 <= int(text) <= judged.segments:
        raise InputError(f"{row.where}: segment {text[:40]!r}, and {judged.name} has segments 1 to {judged.segments:,}")
    return int(text) - 1


def _place(level: str, metric: str, system: str, i: int) -> str:
    return f"{metric} for {system}" + (f", segment {i + 1}" if level == "segment" else "")
