"""Scores one block of rows, and finds their faults and error spans."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..cli.common.spans import MARKS, marks, unmarked
from ..notices import counted, notice
from ..run.rows import OfMetric, RowScorer, Streams
from .faults import faults_of_rows

_is_number = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)*\s*").fullmatch


class BlockScores(NamedTuple):
    """All metrics' results for a block, by name, the faults of each row if they were looked for (see faults_of_rows), the
    hypotheses if they were read anew, and the columns of error spans if those are wanted."""

    metrics: dict[str, OfMetric]
    faults: np.ndarray | None = None
    hypotheses: Sequence[str] | None = None
    spans: Mapping[str, Sequence[str]] = {}


@dataclass(frozen=True)
class Scorer:
    """Scores blocks in any process.

    faults    whether to return the faults of each row
    """

    rows: RowScorer
    faults: bool = False

    def __call__(self, streams: Streams, first: bool) -> BlockScores:
        """The scores of a block; in the first one, the texts are checked."""
        run = self.rows.run
        if first and run.text_checks:
            self._say_numbers(streams)
        found, hypotheses = self.rows(streams, first)
        if hypotheses is not None:
            streams = {**streams, "mt": [[*hypotheses]]}
        spans = _columns_of_spans(found, len(streams["mt"][0]), first) if self.rows.spans else {}
        languages = run.texts.source_lang, run.texts.target_lang
        return BlockScores(found, faults_of_rows(streams, languages) if self.faults else None, hypotheses, spans)

    def _say_numbers(self, streams: Streams) -> None:
        """Give notice of columns that hold only numbers."""
        for role in ("mt", "ref", "src"):
            for name, column in zip(self.rows.columns.get(role, ()), streams.get(role, ()), strict=True):
                given = [text for text in column if text]
                if len(given) > 2 and all(map(_is_number, given)):
                    where = f"column {name} (the first {counted(len(column), 'row', 'rows')})"
                    notice(f"{where}: holds only numbers; choose the columns with --columns")


def _columns_of_spans(found: Mapping[str, OfMetric], rows: int, first: bool) -> dict[str, list[str]]:
    """Return the columns of the spans of the first metric that marks any; a row in which none were looked for is empty."""
    marked = next((each.spans for each in found.values() if each.spans), {})
    if first and not marked:
        raise unmarked([*found])
    cells = [marks(marked[i]) if i in marked else dict.fromkeys(MARKS, "") for i in range(rows)]
    return {name: [own[name] for own in cells] for name in MARKS}
