"""Scores tables of any size, block by block: one column for each metric, in parts that are complete or absent."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import CtxMetricsError, InputError
from ..notices import counted, notice
from ..progress import Progress
from . import summary
from .blocks import ROWS, blocks, one_block
from .parts import Parts, known_again
from .places import HERE, Place
from .rows import Rows, reader_of
from .scorer import ROLES, Scored, Scorer, Texts, located
from .selection import Limit, Top, best, passing
from .tables import Table


@dataclass(frozen=True)
class Annotation:
    """One run over tables.

    tables     in their order
    scorer     what scores a block
    names      of the columns that come, one a metric
    limits     that the rows keep which are written; columns by the metrics' names
    top        the best of them that are written, by the metric `by`; None: all
    lower      whether a lower score of `by` is the better one
    size       most rows of a block
    """

    tables: Sequence[Table]
    scorer: Scorer
    names: Sequence[str]
    limits: Sequence[Limit] = ()
    top: Top | None = None
    by: str = ""
    lower: bool = False
    size: int = ROWS

    @property
    def metrics(self) -> list[str]:
        """The metrics' names."""
        return [name for name, _ in self.scorer.metrics]

    def identity(self) -> dict[str, Any]:
        """What makes the run this one."""
        return {
            "tables": known_again(self.tables),
            "columns": dict(self.scorer.columns),
            "metrics": [[name, repr(sorted(settings.items()))] for name, settings in self.scorer.metrics],
            "context": repr(
                [self.scorer.context.source_lang, self.scorer.context.target_lang, self.scorer.context.engine.dtype]
            ),
            "pseudo-filter": repr(self.scorer.context.pseudo_filter),
            "names": list(self.names),
            "keep": [list(each) for each in self.limits],
            "top": [self.top, self.by] if self.top else None,
            "block": self.size,
        }


class Planned(NamedTuple):
    """A block of the input: the table, its first row (from 0) there, the rows, and whether it is the table's last."""

    table: int
    first: int
    rows: Rows
    last: bool


def annotate(run: Annotation, folder: str, place: Place = HERE, quiet: bool = False) -> dict[str, Any]:
    """Score all rows of the tables, and write those that are chosen with their scores into parts in a folder.

    Finished blocks of the same run in the folder are not scored again. Returns the summary, which is written too.

    Raises InputError for tables, texts or a folder that cannot be used, and what the metrics raise.
    """
    parts = Parts(folder, run.tables[0].ending, run.identity())
    if (known := parts.summary()) is not None:
        notice(f"{folder}: all parts already exist, so nothing was scored")
        return known
    records = parts.records()
    if records:
        there = f"{sum(record['rows'] for record in records):,} rows in {counted(len(records), 'part', 'parts')}"
        notice(f"{folder} already holds {there}; the run continues after them")
    done = sum(record["rows"] for record in records)
    with Progress("annotate", "row", None if quiet else _rows(run), done=done, quiet=quiet) as bar:
        try:
            for record in _scored(run, parts, place, records):
                records.append(record)
                bar.update(record["rows"])
        except KeyboardInterrupt as error:
            done = sum(record["rows"] for record in records)
            raise KeyboardInterrupt(
                f"{done:,} rows are kept in {folder}; run the same command again to continue"
            ) from error
    if not records:
        raise InputError(f"{', '.join(table.path for table in run.tables[:3])}: no rows to score")
    written, worst = sum(record["kept"] for record in records), None
    if run.top is not None:
        written, worst = _write_best(run, parts, records)
    sums = {
        name: [each["metrics"][name]["sums"] for each in records if each["metrics"][name]["sums"]]
        for name in run.metrics
    }
    signatures = {name: records[0]["metrics"][name]["signature"] for name in run.metrics}
    [wholes] = place.map(
        partial(run.scorer.whole, signatures=signatures), [{name: own for name, own in sums.items() if own}]
    )
    found = {
        "rows": sum(record["rows"] for record in records),
        "written": written,
        "worst_of_top": [run.by, -worst if run.lower else worst] if worst is not None and written else None,
        "tables": len(run.tables),
        "parts": len(records),
        "metrics": {name: summary.of_whole(records, name, wholes) for name in run.metrics},
    }
    parts.write_summary(found)
    return found


def _rows(run: Annotation) -> int | None:
    """How many rows the tables have; None where one is not on this machine, whose bytes would be fetched twice."""
    if any("://" in table.path for table in run.tables):
        return None
    columns = [name for names in run.scorer.columns.values() for name in names]
    return sum(reader_of(table, columns, run.names).count() for table in run.tables)


def columns_of(table: Table, given: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The columns of each role: those given as (role, column), and for other roles columns of their names, if there are.

    Raises InputError where no column has the outputs.
    """
    columns: dict[str, list[str]] = {}
    for role, name in given:
        columns.setdefault(role, []).append(name)
    names = [] if any(name.isdigit() for own in columns.values() for name in own) else reader_of(table, [], []).names()
    columns |= {role: [role] for role in ROLES if role not in columns and role in names}
    if "mt" not in columns:
        there = f"; it has {', '.join(names)}" if names else ""
        raise InputError(f"{table.path} has no column mt{there}; name the column of the outputs (--columns mt=NAME)")
    return {role: columns[role] for role in ROLES if role in columns}


def planned(run: Annotation, records: Sequence[Mapping[str, Any]] = ()) -> Iterator[Planned]:
    """The blocks of all tables, without those of these records, which must be the first ones."""
    wanted = list(dict.fromkeys(name for names in run.scorer.columns.values() for name in names))
    [document] = run.scorer.columns.get("doc", [None])
    before = len(records)
    for number, table in enumerate(run.tables):
        own = [record for record in records if record["table"] == number]
        if own and own[-1]["last"]:
            continue
        done = sum(record["rows"] for record in own)
        reader = reader_of(table, wanted, list(run.names))
        found = blocks(reader.rows(done), run.size, document, before)
        if document is None and (name := run.scorer.reads_documents):
            mend = "name the column of the document ids (--columns doc=NAME), or give a larger --block"
            why = f"{name} takes a table without document ids as one document, but it has more than {run.size:,} rows"
            found = one_block(reader.rows(done), run.size, f"{table.path}: {why}; {mend}")
        for rows, last in found:
            yield Planned(number, done, rows, last)
            done += len(rows)
            before += 1


def _scored(
    run: Annotation, parts: Parts, place: Place, records: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Score the blocks that are not finished, write their parts, and give their records."""
    pending: list[Planned] = []  # handed out, in order

    def texts() -> Iterator[tuple[Texts, bool]]:
        for number, block in enumerate(planned(run, records)):
            pending.append(block)
            columns = {
                role: [_filled(run, block, role, name) for name in names] for role, names in run.scorer.columns.items()
            }
            yield columns, number == 0 and not records

    before = sum(record["rows"] for record in records)
    number = len(records)
    for scored in place.map(partial(_scored_or_not, run.scorer), texts()):
        block = pending.pop(0)
        if isinstance(scored, CtxMetricsError):
            where = f"{run.tables[block.table].path}, rows from {block.first + 1:,} on"
            raise type(scored)(located(str(scored), where)) from scored
        for line in scored.said:
            notice(located(line, f"rows from {before + 1:,} on"))
        scores = {name: each.scores for name, each in scored.metrics.items()}
        kept = passing(run.limits, scores, len(block.rows))
        if run.top is None:
            parts.write_part(number, _content(run, block.rows, scores, kept))
        else:
            by = np.where(kept, -scores[run.by] if run.lower else scores[run.by], math.nan)
            parts.write_scores(number, np.stack([by, *scores.values()]))
        record = {
            "table": block.table,
            "first": block.first,
            "before": before,
            "rows": len(block.rows),
            "kept": int(kept.sum()),
            "last": block.last,
            "metrics": {name: summary.of_block(each) for name, each in scored.metrics.items()},
        }
        if records:
            _check_signatures(records[0], record)
        parts.write_record(number, record)
        yield record
        before += len(block.rows)
        number += 1


def _scored_or_not(scorer: Scorer, block: tuple[Texts, bool]) -> Scored | CtxMetricsError:
    """A block's scores, or why there are none, from whatever process."""
    try:
        return scorer(block)
    except CtxMetricsError as error:
        return error


def _check_signatures(before: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Raise InputError where a metric is no longer what it was when the first blocks were scored."""
    for name, own in record["metrics"].items():
        old = before["metrics"][name]["signature"]
        if own["signature"] != old:
            raise InputError(f"{name}: its signature was {old}, and is {own['signature']} now; name a new folder")


def _filled(run: Annotation, block: Planned, role: str, name: str) -> list[str | None]:
    """A column's texts; raises InputError for a document id that is missing."""
    texts = block.rows.texts(name)
    if role == "doc" and (missing := [i for i, text in enumerate(texts) if not (text or "").strip()]):
        where = f"{run.tables[block.table].path}, row {block.first + missing[0] + 1}"
        raise InputError(f"{where}: the document id is missing (column {name})")
    return texts


def _content(run: Annotation, rows: Rows, scores: Mapping[str, np.ndarray], kept: np.ndarray) -> bytes:
    columns = {
        name: [None if math.isnan(value) else value for value in values.tolist()]
        for name, values in zip(run.names, scores.values(), strict=True)
    }
    return rows.content(columns, kept.tolist())


def _write_best(run: Annotation, parts: Parts, records: Sequence[Mapping[str, Any]]) -> tuple[int, float]:
    """Write the parts of the best rows, of which the whole input is read again.

    Returns the number of rows written, and the value of the worst of them, higher being better.
    """
    assert run.top is not None
    values = partial(_values, parts, len(records))
    choose = best(values, run.top.of(sum(record["rows"] for record in records)))
    written = 0
    for number, block in enumerate(planned(run)):
        by, *scores = parts.scores(number)
        kept = choose(by)
        written += int(kept.sum())
        if not parts.has_part(number):
            parts.write_part(number, _content(run, block.rows, dict(zip(run.metrics, scores, strict=True)), kept))
    return written, choose.threshold


def _values(parts: Parts, number: int) -> Iterable[np.ndarray]:
    return (parts.scores(each)[0] for each in range(number))
