"""Scores tables of any size, block by block: one column per metric, in parts that are written completely or not at all."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..notices import collected, counted, notice
from ..scale import faults
from ..scale.blocks import HERE, Block, BlockRun, Part, Place
from ..scale.kept import key_of
from ..scale.scorer import OfMetric, Scored, Scorer, Texts, roles
from . import summary
from .blocks import ROWS, blocks, one_block
from .parts import Parts, Record, known_again
from .rows import Rows, Value, is_number, reader_of
from .selection import Limit, Top, best, passing
from .tables import Table


@dataclass(frozen=True)
class Annotation:
    """The settings of one run over tables.

    tables     in the order in which they are read
    scorer     scores a block
    names      of the new columns: one per metric, then one for the rows' faults if `drop` is given
    limits     that rows must pass to be written; each names its metric
    drop       faults for which rows are dropped; None: do not look for faults
    top        how many of the best rows to write, ranked by the metric `by`; None: all
    lower      whether lower scores of `by` are better
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
    drop: Sequence[str] | None = None

    @property
    def metrics(self) -> list[str]:
        return [each.name for each in self.scorer.metrics]

    @property
    def columns(self) -> list[str]:
        """What `names` stand for: the metrics, then the faults column if faults are looked for."""
        return self.metrics if self.drop is None else [*self.metrics, faults.COLUMN]

    def identity(self) -> dict[str, Any]:
        return {"tables": known_again(self.tables), **self.settings()}

    def settings(self) -> dict[str, Any]:
        """Everything besides its texts and the signatures that a block's scores and its part depend on."""
        return {
            "columns": dict(self.scorer.columns),
            "metrics": [[each.name, repr(sorted(each.own.items()))] for each in self.scorer.metrics],
            "context": repr(
                [self.scorer.context.source_lang, self.scorer.context.target_lang, self.scorer.context.engine.dtype]
            ),
            "inputs": repr(sorted(self.scorer.context.inputs.items())),
            "names": list(self.names),
            "keep": [list(each) for each in self.limits],
            "drop": None if self.drop is None else list(self.drop),
            "top": [self.top, self.by] if self.top else None,
            "block": self.size,
        }


class Planned(NamedTuple):
    """A block of the input.

    number    of the block, from 0
    table     number of its table, from 0
    first     its first row in that table, from 0
    before    number of rows that precede it in all tables
    """

    number: int
    table: int
    first: int
    before: int
    rows: Rows


def annotate(run: Annotation, folder: str, place: Place = HERE, quiet: bool = False) -> dict[str, Any]:
    """Score all rows of the tables and write the selected ones, with their scores, as parts into a folder.

    Blocks that an earlier run with the same settings finished in this folder are not scored again. Returns the summary,
    which is also written to the folder.

    Raises InputError for tables, texts or a folder that cannot be used, and whatever the metrics raise.
    """
    parts = Parts(folder, run.tables[0].ending, run.identity())
    records = _finished(run, parts, place)
    if records:
        there = f"{_rows_of(records):,} rows in {counted(len(records), 'part', 'parts')}"
        notice(f"{folder} already holds {there}; the run continues after them")
    known = len(records)
    rows = None if quiet else _rows(run)
    blocks = _run(place, total=rows, kept_in=folder, quiet=quiet, done=_rows_of(records))
    blocks.complete(run.scorer, _unfinished(run, parts, records))
    if not records:
        raise InputError(f"{', '.join(table.path for table in run.tables[:3])}: no rows to score")
    if len(records) == known and parts.has_summary():
        notice(f"{folder}: all parts already exist, so nothing was scored")
    ordered = [records[number] for number in range(len(records))]
    written, worst = sum(record.kept for record in ordered), None
    if run.top is not None:
        written, worst = _write_best(run, parts, ordered)
    sums = {name: [own for record in ordered if (own := record.metrics[name].sums)] for name in run.metrics}
    signatures = {name: ordered[0].metrics[name].signature for name in run.metrics}
    [wholes] = place.map(
        partial(run.scorer.whole, signatures=signatures), [{name: own for name, own in sums.items() if own}]
    )
    befores = [0, *accumulate(record.rows for record in ordered)]
    found = {
        "rows": befores[-1],
        "written": written,
        **({} if run.drop is None else {"dropped": summary.dropped([record.dropped for record in ordered])}),
        "worst_of_top": [run.by, -worst if run.lower else worst] if worst is not None and written else None,
        "tables": len(run.tables),
        "parts": len(ordered),
        "metrics": {
            name: summary.of_whole([record.metrics[name] for record in ordered], befores, wholes.get(name))
            for name in run.metrics
        },
    }
    parts.write_summary(found)
    return found


def _rows_of(records: Mapping[int, Record]) -> int:
    return sum(record.rows for record in records.values())


def _rows(run: Annotation) -> int | None:
    """The number of rows in all tables; None if a table is remote, since counting would download it twice."""
    if any("://" in table.path for table in run.tables):
        return None
    columns = [name for names in run.scorer.columns.values() for name in names]
    return sum(reader_of(table, columns, run.names).count() for table in run.tables)


def columns_of(table: Table, given: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The columns for each role: those given as (role, column). Other roles use a column of the same name, if there is one.

    Raises InputError if no column holds the outputs.
    """
    columns: dict[str, list[str]] = {}
    for role, name in given:
        columns.setdefault(role, []).append(name)
    names = [] if any(is_number(name) for own in columns.values() for name in own) else reader_of(table, [], []).names()
    columns |= {role: [role] for role in roles() if role not in columns and role in names}
    if "mt" not in columns:
        there = f"; it has {', '.join(names)}" if names else ""
        raise InputError(f"{table.path} has no column mt{there}; name the column of the outputs (--columns mt=NAME)")
    return {role: columns[role] for role in roles() if role in columns}


def planned(run: Annotation) -> Iterator[Planned]:
    wanted = list(dict.fromkeys(name for names in run.scorer.columns.values() for name in names))
    [document] = run.scorer.columns.get("doc", [None])
    block = before = 0
    for table_number, table in enumerate(run.tables):
        reader = reader_of(table, wanted, list(run.names))
        found = blocks(reader.rows(), run.size, document, block)
        if document is None and (name := run.scorer.reads_documents):
            mend = "name the column of the document ids (--columns doc=NAME), or give a larger --block"
            why = f"{name} takes a table without document ids as one document, but it has more than {run.size:,} rows"
            found = one_block(reader.rows(), run.size, f"{table.path}: {why}; {mend}")
        first = 0
        for rows in found:
            yield Planned(block, table_number, first, before, rows)
            block, first, before = block + 1, first + len(rows), before + len(rows)


def _texts(run: Annotation, block: Planned) -> dict[str, list[list[str | None]]]:
    """The texts of a block, by role."""
    return {role: [_filled(run, block, role, name) for name in names] for role, names in run.scorer.columns.items()}


def _key(run: Annotation, texts: Texts) -> str:
    return key_of(run.settings(), texts)


def _finished(run: Annotation, parts: Parts, place: Place) -> dict[int, Record]:
    """The records of the blocks that an earlier run finished, by block number.

    The first block is scored again to compare the metrics' signatures with those of the earlier run. Raises InputError if
    they differ.
    """
    found: dict[int, Record] = {}
    if not parts.has_records():
        return found
    measured: list[Scored] = []
    for block in planned(run):
        texts = _texts(run, block)
        if not measured:
            with collected():  # the earlier run has printed these notices
                _run(place, quiet=True).complete(run.scorer, [_block(run, block, texts, measured.append)])
        [scored] = measured
        fits = partial(
            _fits, key=_key(run, texts), rows=len(block.rows), metrics=scored.metrics, top=run.top is not None
        )
        record = parts.record(block.number, fits)
        if record is not None and run.top is not None:
            kept = parts.scores(block.number, 1 + len(run.columns), len(block.rows))
            record = None if kept is None else record
        if record is not None:
            for name, own in record.metrics.items():
                _check_signature(name, own.signature, scored.metrics[name].signature)
            found[block.number] = record
    return found


def _run(place: Place, **more: Any) -> BlockRun:
    return BlockRun("annotate", "row", place=place, single=True, **more)


def _block(run: Annotation, block: Planned, texts: Texts, take: Callable[[Scored], object]) -> Block:
    """A block of a run, which `take` gets scored."""
    where = f"{run.tables[block.table].path}, rows from {block.first + 1:,} on"
    return Block([Part(len(block.rows), take)], lambda _: (texts, block.number == 0), where, block.before)


def _fits(record: Record, key: str, rows: int, metrics: Mapping[str, OfMetric], top: bool) -> bool:
    """Whether a record can belong to a block with this key and number of rows.

    metrics    their results for another block: the sums must contain as many numbers
    """
    return (
        (record.key, record.rows, record.part == "") == (key, rows, top)
        and 0 <= record.kept <= rows
        and all(0 <= number <= rows for number in record.dropped.values())
        and record.metrics.keys() == metrics.keys()
        and all(own.fits(rows, len(metrics[name].sums) or None) for name, own in record.metrics.items())
    )


def _unfinished(run: Annotation, parts: Parts, records: dict[int, Record]) -> Iterator[Block]:
    """The blocks without a record; each writes its part when it is scored, and then its record."""
    finished = frozenset(records)
    for block in planned(run):
        if block.number not in finished:
            texts = _texts(run, block)
            yield _block(run, block, texts, partial(_write, run, parts, records, block, _key(run, texts)))


def _write(run: Annotation, parts: Parts, records: dict[int, Record], block: Planned, key: str, scored: Scored) -> None:
    """Write the part of a block, then its record."""
    scores = {name: each.scores for name, each in scored.metrics.items()}
    kept, part = passing(run.limits, scores, len(block.rows)), ""
    dropped = {}
    if scored.faults is not None:
        scores[faults.COLUMN] = scored.faults
        kept &= ~faults.has(scored.faults, run.drop or ())
        dropped = {kind: int(faults.has(scored.faults, [kind]).sum()) for kind in run.drop or ()}
    if run.top is None:
        part = parts.write_part(block.number, _content(run, block.rows, scores, kept))
    else:
        by = np.where(kept, -scores[run.by] if run.lower else scores[run.by], math.nan)
        parts.write_scores(block.number, np.stack([by, *scores.values()]))
    metrics = {name: summary.of_block(each) for name, each in scored.metrics.items()}
    for name, own in metrics.items():
        before = next(iter(records.values())).metrics if records else metrics
        _check_signature(name, before[name].signature, own.signature)
    record = Record(key, len(block.rows), int(kept.sum()), dropped, part, metrics)
    parts.write_record(block.number, record)
    records[block.number] = record


def _check_signature(name: str, before: str, now: str) -> None:
    """Raise InputError if a metric's signature differs from that of the blocks scored before."""
    if now != before:
        raise InputError(f"{name}: its signature was {before}, and is {now} now; name a new folder")


def _filled(run: Annotation, block: Planned, role: str, name: str) -> list[str | None]:
    """The texts of a column; raises InputError if a document id is missing."""
    texts = block.rows.texts(name)
    if role == "doc" and (missing := [i for i, text in enumerate(texts) if not (text or "").strip()]):
        where = f"{run.tables[block.table].path}, row {block.first + missing[0] + 1}"
        raise InputError(f"{where}: the document id is missing (column {name})")
    return texts


def _content(run: Annotation, rows: Rows, scores: Mapping[str, np.ndarray], kept: np.ndarray) -> bytes:
    columns: dict[str, Sequence[Value]] = {}
    for name, (key, values) in zip(run.names, scores.items(), strict=True):
        if key == faults.COLUMN:
            columns[name] = faults.words_of(values)
        else:
            columns[name] = [None if math.isnan(value) else value for value in values.tolist()]
    return rows.content(columns, kept.tolist())


def _write_best(run: Annotation, parts: Parts, records: Sequence[Record]) -> tuple[int, float]:
    """Write the parts with the best rows, which requires reading the whole input again.

    Returns the number of rows written, and the worst value among them (higher is better). Raises InputError for a table that
    has changed in the meantime.
    """
    assert run.top is not None
    values = partial(_values, run, parts, records)
    choose = best(values, run.top.of(sum(record.rows for record in records)))
    written = 0
    for block in planned(run):
        if block.number >= len(records) or _key(run, _texts(run, block)) != records[block.number].key:
            changed = f"{run.tables[block.table].path} has changed since its rows were scored"
            raise InputError(f"{changed}; run the command again, with a new folder")
        by, *scores = _kept_scores(run, parts, block.number, len(block.rows))
        kept = choose(by)
        written += int(kept.sum())
        parts.write_part(block.number, _content(run, block.rows, dict(zip(run.columns, scores, strict=True)), kept))
    return written, choose.threshold


def _values(run: Annotation, parts: Parts, records: Sequence[Record]) -> Iterable[np.ndarray]:
    return (_kept_scores(run, parts, number, record.rows)[0] for number, record in enumerate(records))


def _kept_scores(run: Annotation, parts: Parts, number: int, rows: int) -> np.ndarray:
    scores = parts.scores(number, 1 + len(run.columns), rows)
    if scores is None:
        raise InputError(f"{parts.address}: the scores of part {number} have gone; run the same command again")
    return scores
