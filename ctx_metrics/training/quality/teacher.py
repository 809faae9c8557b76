"""Training targets from another metric's scores in place of human ones."""

import io
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ...engine_options import EngineOptions
from ...errors import InputError
from ...judgements.judged import JudgedSet
from ...meta.scoring import MetricSettings, built_without_systems, lacking, score_set
from ...notices import counted, notice
from ...scoring.context import capabilities
from ...writing import write_bytes
from ..data import Languages
from ..state import digest
from .examples import TrainingSet, standardised

DECIMALS = 4  # on a scale of 0-100; further ones may depend on a GPU's order of summation


def taught(
    training: TrainingSet,
    teacher: MetricSettings,
    *,
    languages: Languages,
    of_each_set: bool = False,
    engine: EngineOptions = EngineOptions(),
    kept: Path | None = None,
) -> tuple[TrainingSet, str]:
    """Return the rows with a metric's segment scores, as z-scores, as targets where these are NaN; and its signature.

    The teacher reads all texts that the rows have: references, sources, or both.

    of_each_set    whether z-scores are computed within each data set, as for human scores, or over all rows
    kept           file of the scores: read if it exists, else written, so that several networks can learn from one scoring
    """
    own = np.flatnonzero(np.isnan(training.targets)).tolist()
    if not own:
        raise InputError(f"teacher {teacher.name}: none of the rows drawn is one to teach", fix="raise --rows")
    if capabilities(teacher.cls).compares_systems:
        raise InputError(
            f"teacher {teacher.name}: compares the outputs of systems, and a training row has one output",
            fix="choose another teacher",
        )
    parts = [(_judged(training, rows, languages), rows) for rows in _parts(training, own)]
    for judged, rows in parts:
        if what := lacking(judged, teacher.cls):
            of_rows = f"{counted(len(rows), 'training row', 'training rows')} of {judged.name}"
            fix = "choose another teacher, data or --inputs"
            raise InputError(f"teacher {teacher.name}: cannot score {of_rows}: {what}", fix=fix)
    signature = _signature([judged for judged, _ in parts], teacher, engine)
    columns = training.hypotheses, training.references, training.sources
    texts = [text for column in columns for row in own if (text := column[row]) is not None]
    key = digest(texts, before=signature.encode())
    scores = None if kept is None or not kept.exists() else _read(kept, key)
    if scores is None:
        of_row = dict[int, float]()
        for judged, rows in parts:
            [score] = score_set(judged, [teacher], engine)
            of_row.update(zip(rows, score.of_segments[0].tolist(), strict=True))
        scores = np.round([of_row[row] for row in own], DECIMALS)
        if kept is not None:
            _write(kept, key, scores)
    if unscored := int((~np.isfinite(scores)).sum()):
        raise InputError(f"teacher {teacher.name}: {counted(unscored, 'row', 'rows')} got no score")
    datasets = training.datasets
    z, flat = standardised(scores, [datasets[row] if of_each_set else None for row in own])
    if flat == len(own):
        raise InputError(
            f"teacher {teacher.name}: gives all rows the same score, from which nothing can be learned",
            fix="choose another teacher",
        )
    if flat:
        notice(
            f"teacher {teacher.name}: {counted(flat, 'score', 'scores')} without any spread within data set count as 0"
        )
    if len(own) < len(training):
        learning = f"{len(own):,} of {counted(len(training), 'row', 'rows')}"
        notice(f"teacher {teacher.name}: {learning} learn its scores, the others human scores")
    targets = training.targets.copy()
    targets[own] = z
    return replace(training, targets=targets), signature


def _parts(training: TrainingSet, own: Sequence[int]) -> list[list[int]]:
    """Split row numbers by data set, and by which texts a row has; equal partners are adjacent, to be encoded once."""
    datasets = training.datasets
    parts: dict[tuple[str, bool, bool], list[int]] = {}
    for row in sorted(own, key=training.partners.__getitem__):
        has = training.references[row] is not None, training.sources[row] is not None
        parts.setdefault((datasets[row], *has), []).append(row)
    return list(parts.values())


def _judged(training: TrainingSet, rows: Sequence[int], languages: Languages) -> JudgedSet:
    """Return rows of a data set that have the same kinds of texts, as outputs of one system."""
    name = training.datasets[rows[0]]
    source_lang, target_lang = languages[name]
    references, sources = (
        [text for row in rows if (text := column[row]) is not None]
        for column in (training.references, training.sources)
    )
    return JudgedSet(
        name,
        ["outputs"],
        len(rows),
        [[training.hypotheses[row] for row in rows]],
        [references] if references else [],
        sources or None,
        source_lang=source_lang,
        target_lang=target_lang,
        segment_scores=training.targets[None, rows],
    )


def _signature(sets: Sequence[JudgedSet], teacher: MetricSettings, engine: EngineOptions) -> str:
    """Return the metric's signature; if it depends on the languages or on which texts there are, all its signatures."""
    metrics = [built_without_systems(judged, teacher, engine) for judged in sets]
    signatures = list(dict.fromkeys(str(metric.get_signature().format()) for metric in metrics))
    if len(signatures) > 1:
        notice(f"teacher {teacher.name}: not all data sets are scored alike, but as {' and as '.join(signatures)}")
    return ", ".join(signatures)


def _read(path: Path, key: str) -> np.ndarray:
    try:
        with np.load(path, allow_pickle=False) as file:
            written, scores = str(file["key"]), file["scores"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(
            f"{path} does not hold scores of a teacher", fix="name another file with --teacher-scores"
        ) from error
    if written != key:
        raise InputError(
            f"{path} holds the scores of other texts, or of another teacher",
            fix="name another file with --teacher-scores",
        )
    notice(f"the teacher's scores are read from {path}")
    return scores


def _write(path: Path, key: str, scores: np.ndarray) -> None:
    content = io.BytesIO()  # numpy's zip file does not survive a failed write
    np.savez(content, key=np.array(key), scores=scores)
    write_bytes(os.fspath(path), content.getvalue())
