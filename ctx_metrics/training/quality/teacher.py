"""Training targets from another metric's scores in place of human ones."""

import io
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ...engine_options import EngineOptions
from ...errors import InputError
from ...meta.judgements.judged import JudgedSet
from ...meta.scoring import MetricSettings, build_metric, lacking, score_set
from ...notices import counted, notice
from ...writing import write_bytes
from ..state import digest
from .examples import TrainingSet, standardised

DECIMALS = 4  # on a scale of 0-100; further ones may depend on a GPU's order of summation


def taught(
    training: TrainingSet,
    teacher: MetricSettings,
    *,
    languages: Mapping[str, tuple[str | None, str | None]],
    inputs: str = "mt+ref",
    engine: EngineOptions = EngineOptions(),
    kept: Path | None = None,
) -> tuple[TrainingSet, str]:
    """Return the rows with a metric's segment scores, as z-scores over all rows, as targets; and the metric's signature.

    The teacher reads what the rows contain: outputs and references (inputs mt+ref), or outputs and sources (mt+src).

    languages    source and target language of each data set, None if unknown
    kept         file of the scores: read if it exists, else written, so that several networks can learn from one scoring
    """
    sets = [_judged(name, training, rows, languages[name], inputs) for name, rows in _rows(training).items()]
    if what := next((what for judged in sets if (what := lacking(judged, teacher.cls))), ""):
        raise InputError(f"teacher {teacher.name}: cannot score training rows, which have {what}")
    signature = str(build_metric(sets[0], teacher, [], engine).get_signature().format())
    key = digest([*training.hypotheses, *training.partners], before=signature.encode())
    scores = None if kept is None or not kept.exists() else _read(kept, key)
    if scores is None:
        scores = np.zeros(len(training))
        for judged, rows in zip(sets, _rows(training).values(), strict=True):
            [score] = score_set(judged, [teacher], engine)
            scores[rows] = score.of_segments[0]
        scores = np.round(scores, DECIMALS)
        if kept is not None:
            _write(kept, key, scores)
    if unscored := int((~np.isfinite(scores)).sum()):
        raise InputError(f"teacher {teacher.name}: {counted(unscored, 'row', 'rows')} got no score")
    targets, flat = standardised(scores, [None] * len(scores))
    if flat:
        raise InputError(
            f"teacher {teacher.name}: gives all rows the same score, from which nothing can be "
            "learned; choose another teacher"
        )
    return replace(training, targets=targets, rooted=[], by_system=[]), signature


def _rows(training: TrainingSet) -> dict[str, list[int]]:
    """Return the row numbers of each data set; rows with the same partner are adjacent, so that it is encoded once."""
    rows: dict[str, list[int]] = {}
    for row in sorted(range(len(training)), key=training.partners.__getitem__):
        rows.setdefault(training.datasets[row], []).append(row)
    return rows


def _judged(
    name: str, training: TrainingSet, rows: list[int], languages: tuple[str | None, str | None], inputs: str
) -> JudgedSet:
    hypotheses, partners = ([texts[row] for row in rows] for texts in (training.hypotheses, training.partners))
    references, sources = ([partners], None) if inputs == "mt+ref" else ([], partners)
    scores = training.targets[None, rows]
    judged = JudgedSet(name, ["outputs"], len(rows), [hypotheses], references, sources, segment_scores=scores)
    return replace(judged, source_lang=languages[0], target_lang=languages[1])


def _read(path: Path, key: str) -> np.ndarray:
    try:
        with np.load(path, allow_pickle=False) as file:
            written, scores = str(file["key"]), file["scores"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(
            f"{path} does not hold scores of a teacher; name another file with --teacher-scores"
        ) from error
    if written != key:
        raise InputError(
            f"{path} holds the scores of other texts, or of another teacher; name another file with --teacher-scores"
        )
    notice(f"the teacher's scores are read from {path}")
    return scores


def _write(path: Path, key: str, scores: np.ndarray) -> None:
    content = io.BytesIO()  # numpy's zip file does not survive a failed write
    np.savez(content, key=np.array(key), scores=scores)
    write_bytes(os.fspath(path), content.getvalue())
