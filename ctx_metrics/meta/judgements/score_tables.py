"""Tables of scores as written by `ctx-metrics score`: one row per score, as TSV, CSV or JSON lines."""

import numpy as np

from ...errors import InputError
from ...notices import counted, notice
from .judged import JudgedSet, MetricScores, row_means
from .readers.rows import Row, is_jsonl, is_whole, number, read_csv, read_jsonl, read_rows, unpacked

COLUMNS = "level system segment metric score".split()


def is_score_table(path: str) -> bool:
    """Whether a file's name ends in .tsv, .csv or .jsonl, possibly followed by .gz or .xz."""
    return unpacked(path).endswith((".tsv", ".csv")) or is_jsonl(path)


def read_score_table(path: str, judged: JudgedSet) -> list[MetricScores]:
    """Read the scores of all metrics in a table, for the systems and segments of a judged set.

    Rows of documents, and of systems that are not in the set, are ignored. Without rows for systems, a system's score is the
    mean of its segment scores. JSON lines also contain signatures. A notice says how many outputs have no score.

    Raises InputError if a row for a segment or system is missing or occurs twice, or names no segment of the set.
    """
    wanted = {*COLUMNS, "signature"}
    if is_jsonl(path):
        header, rows = read_jsonl(path, wanted.__contains__)
    else:
        header, rows = read_csv(path, []) if unpacked(path).endswith(".csv") else read_rows(path)
    if missing := [name for name in COLUMNS if name not in header]:
        raise InputError(f"{path}: no column {missing[0]}: not a table of `ctx-metrics score`")
    systems = {name: k for k, name in enumerate(judged.systems)}
    found: dict[str, dict[str, np.ndarray]] = {}  # by metric and level
    signatures: dict[str, str] = {}
    seen: set[tuple[str, str, int, int]] = set()
    for row in rows:
        level, name, metric = (row.cells.get(column, "") for column in ("level", "system", "metric"))
        if level not in ("segment", "system") or name not in systems:
            continue
        system, i = systems[name], _segment(row, judged) if level == "segment" else 0
        if (level, metric, system, i) in seen:
            raise InputError(f"{row.where}: a second score of {_place(level, metric, name, i)}")
        seen.add((level, metric, system, i))
        shape = len(systems), judged.segments if level == "segment" else 1
        of_level = found.setdefault(metric, {}).setdefault(level, np.full(shape, np.nan))
        of_level[system, i] = number(row.cells.get("score", ""), row.where)
        signatures.setdefault(metric, "")
        signatures[metric] = row.cells.get("signature", "") or signatures[metric]
    if not found:
        raise InputError(f"{path}: no scores of {', '.join(judged.systems)}")
    for metric, of_levels in found.items():
        for level, table in of_levels.items():
            for system, i in np.ndindex(table.shape):
                if (level, metric, system, i) not in seen:
                    raise InputError(f"{path}: no score of {_place(level, metric, judged.systems[system], i)}")
    return [_scores(path, judged, metric, signatures[metric], **of_levels) for metric, of_levels in found.items()]


def _scores(
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
    return MetricScores(metric, segment, of_systems, signature)


def _segment(row: Row, judged: JudgedSet) -> int:
    """The number of a row's segment, counted from 0."""
    text = row.cells.get("segment", "")
    if not is_whole(text) or not 1 <= int(text) <= judged.segments:
        raise InputError(f"{row.where}: segment {text[:40]!r}, and {judged.name} has segments 1 to {judged.segments:,}")
    return int(text) - 1


def _place(level: str, metric: str, system: str, i: int) -> str:
    return f"{metric} for {system}" + (f", segment {i + 1}" if level == "segment" else "")
