"""The lines `system<TAB>score` of mt-metrics-eval's files, of people's scores and of metrics'."""

from ...corpus import read_lines
from ...errors import InputError
from .rows import number

SEGMENTS, SYSTEMS = ".seg.score", ".sys.score"


def read_score_lines(path: str) -> dict[str, list[float]]:
    """Each system's scores in the order of the file, NaN for None; raises InputError naming the line of no score."""
    scores: dict[str, list[float]] = {}
    for k, line in enumerate(read_lines(path), 1):
        cells = line.rsplit(maxsplit=1)
        if len(cells) != 2:
            raise InputError(f"{path}, line {k}: expected a system, a tab and a score, got {line!r}")
        scores.setdefault(cells[0], []).append(number(cells[1], f"{path}, line {k}"))
    return scores
