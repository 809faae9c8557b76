"""Scores tables of any size, block by block: one column per metric, in parts that are written completely or not at all."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ..cli.common.spans import MARKS
from ..errors import InputError
from ..interference.records import Choice
from ..interference.related import Measure, Tuned
from ..interference.said import Reasons, interference
from ..notices import collected, counted, notice
from ..run.context import score_settings
from ..run.text_checks import KINDS
from ..scale.blocks import HERE, Block, BlockRun, Part, Place
from ..scale.kept import key_of
from . import chosen, faults, summary
from .parts import Parts, Record, known_again
from .rows import Rows, Value, blocks, is_number, no_column, reader_of
from .scorer import OfMetric, Scored, Scorer, Texts, roles
from .selection import Limit, Top, best, passing
from .tables import Table

OUTPUTS = "aligned"  # the column of outputs that are read anew
FIRST = 100  # most rows of a run's first block: problems show early, and a run that stops soon has kept some results


@dataclass(frozen=True)
class Annotation:
    """The settings of one run over tables.

    names    of the new columns: one per metric, then one for the rows' faults if `drop` is given, one for the outputs if
             they are read anew, and those of error spans if they are wanted
    drop     faults for which rows are dropped, () for none; None: do not look for faults
    tuned    metrics with which the outputs' system was tuned
    top      how many of the best rows to write, ranked by the metric `by`; None: all
    """

    tables: Sequence[Table]
    scorer: Scorer
    names: Sequence[str]
    limits: Sequence[Limit]
    top: Top | None
    by: str
    size: int
    drop: Sequence[str] | None
    tuned: Sequence[Tuned] = ()

    @property
    def metrics(self) -> list[str]:
        return [each.name for each in self.scorer.metrics]

    @property
    def choosing(self) -> list[str]:
        """The metrics by whose scores rows are selected."""
        return list(dict.fromkeys([*(each.name for each in self.limits), *([self.by] if self.top else [])]))

    @property
    def columns(self) -> list[str]:
        """What `names` stand for."""
        return [
            *self.metrics,
            *[faults.COLUMN] * (self.drop is not None),
            *[OUTPUTS] * (self.scorer.reader is not None),
            *(MARKS if self.scorer.spans else ()),
        ]

    @property
    def counted(self) -> Sequence[str]:
        """The faults that are counted: those of dropped rows, or all of them if none is dropped."""
        return () if self.drop is None else self.drop or KINDS

    def identity(self) -> dict[str, Any]:
        return {"tables": known_again(self.tables), **self.settings()}

    def settings(self) -> dict[str, Any]:
        """Everything besides its texts and the signatures that a block's scores and its part depend on."""
        context = self.scorer.context
        return {
            "columns": dict(self.scorer.columns),
            "metrics": [
                [each.name, repr(sorted(score_settings(each.cls, each.own).items()))] for each in self.scorer.metrics
            ],
            "context": repr([context.source_lang, context.target_lang, context.engine.dtype]),
            "inputs": repr(sorted(context.inputs.items())),
            "names": list(self.names),
            "keep": [list(each) for each in self.limits],
            "drop": None if self.drop is None else list(self.drop),
            "top": [self.top, self.by] if self.top else None,
            "block": self.size,
        }


class Planned(NamedTuple):
    """A block of the input.

    first     its first row in its table, from 0
    before    number of rows that precede it in all tables
    """

    number: int
    table: Table
    first: int
    before: int
    rows: Rows
    texts: Texts
    key: str

    def block(self, take: Callable[[Scored], object]) -> Block:
        """The block of a BlockRun whose scores `take` gets."""
        parts = [Part(len(self.rows), take)]
        return Block(parts, lambda _: (self.texts, self.number == 0), self.before, self.table.path, self.first)


def annotate(run: Annotation, folder: str, place: Place = HERE, quiet: bool = False) -> dict[str, Any]:
    """Score all rows of the tables and write the selected ones, with their scores, as parts into a folder.

    Blocks that an earlier run with the same settings finished in this folder are not scored again. Returns the summary,
    which is also written to the folder.
    """
    parts = Parts(folder, run.tables[0].ending, run.identity())
    records = _finished(run, parts, place)
    known, done = len(records), sum(record.rows for record in records.values())
    if records:
        there = f"{done:,} rows in {counted(known, 'part', 'parts')}"
        notice(f"{folder} already holds {there}; the run continues after them")
    unfinished = (
        block.block(partial(_write, run, parts, records, block))
        for block in planned(run)
        if block.number not in records
    )
    total = None if quiet else _rows(run)
    blocks = _run(place, total=total, kept_in=folder, quiet=quiet, done=done)
    blocks.complete(run.scorer, unfinished)
    if not records:
        raise InputError(f"{', '.join(table.path for table in run.tables[:3])}: no rows to score")
    if len(records) == known and parts.has_summary():
        notice(f"{folder}: all parts already exist, so nothing was scored")
    ordered = [records[number] for number in range(len(records))]
    written, worst, states = sum(record.kept for record in ordered), None, [record.part for record in ordered]
    if run.top is not None:
        written, worst, states = _write_best(run, parts, ordered)
    befores = [0, *accumulate(record.rows for record in ordered)]
    of_blocks = {name: [record.metrics[name] for record in ordered] for name in run.metrics}
    sums = {name: rows for name, own in of_blocks.items() if (rows := [each.sums for each in own if each.sums])}
    [wholes] = place.map(run.scorer.whole, [sums])
    counts = {kind: sum(record.dropped.get(kind, 0) for record in ordered) for kind in run.counted}
    of_faults = {} if run.drop is None else {"dropped": counts} if run.drop else {"dropped": {}, "faults": counts}
    found = {
        "rows": befores[-1],
        "written": written,
        **of_faults,
        "worst_of_top": [run.by, worst if of_blocks[run.by][0].higher_is_better else -worst]
        if worst is not None and written
        else None,
        "tables": len(run.tables),
        "parts": len(ordered),
        "metrics": {name: summary.of_whole(own, befores, wholes.get(name)) for name, own in of_blocks.items()},
        **_interference(run, {name: own[0].signature for name, own in of_blocks.items()}, states),
    }
    parts.write_summary(found)
    return found


def _interference(run: Annotation, signatures: Mapping[str, str], states: Sequence[str]) -> dict[str, Any]:
    """The entries of the summary about choices: those by which rows were selected, now and earlier, with the states of the
    parts, and a notice about metrics that score what they, or related ones, chose; {} if there is none of these."""
    earlier = chosen.choices_of(run.tables)
    scored = {name: Measure.of_signature(name, signature) for name, signature in signatures.items()}
    reasons: dict[str, Reasons] = {f"the selection in {folder}": own for folder, own in earlier.items()}
    reasons[f"column {run.scorer.columns['mt'][0]}"] = run.tuned
    said = interference(reasons, scored)
    own = [Choice("annotate", name, signatures[name]) for name in run.choosing]
    every = list(dict.fromkeys([*(each for choices in earlier.values() for each in choices), *own]))
    record = {"chosen_by": [msgspec.to_builtins(each) for each in every], "states": list(states)} if every else {}
    return record | ({"notices": [said]} if said else {})


def _rows(run: Annotation) -> int | None:
    """The number of rows in all tables; None if a table is remote, since counting would download it twice."""
    if any("://" in table.path for table in run.tables):
        return None
    columns = [name for names in run.scorer.columns.values() for name in names]
    return sum(reader_of(table, columns, run.names).count() for table in run.tables)


def columns_of(table: Table, given: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The columns for each role: those given as (role, column), else a column of the same name, if there is one."""
    columns: dict[str, list[str]] = {}
    for role, name in given:
        columns.setdefault(role, []).append(name)
    names = [] if any(is_number(name) for own in columns.values() for name in own) else reader_of(table, [], []).names()
    columns |= {role: [role] for role in roles() if role not in columns and role in names}
    if "mt" not in columns:
        raise no_column(table.path, names, "mt", "; name the column of the outputs (--columns mt=NAME)")
    return {role: columns[role] for role in roles() if role in columns}


def planned(run: Annotation) -> Iterator[Planned]:
    wanted = list(dict.fromkeys(name for names in run.scorer.columns.values() for name in names))
    [document] = run.scorer.columns.get("doc", [None])
    number = before = 0
    for table in run.tables:
        reader = reader_of(table, wanted, list(run.names), run.scorer.columns.get("doc", ()))
        found: Iterable[Rows] = blocks(reader.rows(), run.size, document, FIRST << min(number, 32))
        if document is None and (name := run.scorer.reads_documents):
            found = list(islice(blocks(reader.rows(), run.size, None, first=run.size), 2))
            if len(found) > 1:
                raise InputError(
                    f"{table.path}: {name} takes a table without document ids as one document, but it has more than "
                    f"{run.size:,} rows; name the column of the document ids (--columns doc=NAME), or give a larger --block"
                )
        first = 0
        for rows in found:
            texts = {role: [rows.texts(name) for name in names] for role, names in run.scorer.columns.items()}
            if document is not None:
                _check_documents(texts["doc"][0], table, first, document)
            yield Planned(number, table, first, before, rows, texts, key_of(run.settings(), texts))
            number, first, before = number + 1, first + len(rows), before + len(rows)


def _check_documents(ids: Sequence[str | None], table: Table, first: int, column: str) -> None:
    if missing := [i for i, text in enumerate(ids, first + 1) if not (text or "").strip()]:
        raise InputError(f"{table.path}, row {missing[0]}: the document id is missing (column {column})")


def _run(place: Place, **more: Any) -> BlockRun:
    return BlockRun("annotate", "row", place=place, single=True, **more)


def _finished(run: Annotation, parts: Parts, place: Place) -> dict[int, Record]:
    """The records of the blocks that an earlier run finished, by block number.

    The first block is scored again, to compare the metrics' signatures with those of the earlier run.
    """
    found: dict[int, Record] = {}
    measured: list[Scored] = []
    for block in planned(run) if parts.has_records() else ():
        rows, top = len(block.rows), run.top is not None
        if not measured:
            with collected():  # the earlier run has printed these notices
                _run(place, quiet=True).complete(run.scorer, [block.block(measured.append)])
        [scored] = measured
        record = parts.record(block.number, partial(_fits, key=block.key, rows=rows, metrics=scored.metrics, top=top))
        if record is None or (top and parts.scores(block.number, 1 + len(run.columns), rows) is None):
            continue
        for name, own in record.metrics.items():
            _check_signature(name, own.signature, scored.metrics[name].signature)
        found[block.number] = record
    return found


def _fits(record: Record, key: str, rows: int, metrics: Mapping[str, OfMetric], top: bool) -> bool:
    """Whether a record can belong to a block with this key and rows; `metrics` are the results for another block."""
    return (
        (record.key, record.rows, record.part == "") == (key, rows, top)
        and 0 <= record.kept <= rows
        and all(0 <= number <= rows for number in record.dropped.values())
        and record.metrics.keys() == metrics.keys()
        and all(own.fits(rows, len(metrics[name].sums) or None) for name, own in record.metrics.items())
    )


def _write(run: Annotation, parts: Parts, records: dict[int, Record], block: Planned, scored: Scored) -> None:
    scores = {name: each.scores for name, each in scored.metrics.items()}
    kept, part = passing(run.limits, scores, len(block.rows)), ""
    counts = {}
    if scored.faults is not None:
        scores[faults.COLUMN] = scored.faults
        kept &= ~faults.has(scored.faults, run.drop or ())
        counts = {kind: int(faults.has(scored.faults, [kind]).sum()) for kind in run.counted}
    if run.top is None:
        outputs = {} if scored.outputs is None else {OUTPUTS: scored.outputs}
        part = parts.write_part(block.number, _content(run, block.rows, scores | outputs | dict(scored.spans), kept))
    else:
        by = np.where(kept, scored.metrics[run.by].oriented, math.nan)
        parts.write_scores(block.number, np.stack([by, *scores.values()]))
    metrics = {name: summary.of_block(each) for name, each in scored.metrics.items()}
    for name, own in metrics.items():
        before = next(iter(records.values())).metrics if records else metrics
        _check_signature(name, before[name].signature, own.signature)
    record = Record(block.key, len(block.rows), int(kept.sum()), counts, part, metrics)
    parts.write_record(block.number, record)
    records[block.number] = record


def _check_signature(name: str, before: str, now: str) -> None:
    if now != before:
        raise InputError(f"{name}: its signature was {before}, and is {now} now; name a new folder")


def _content(run: Annotation, rows: Rows, scores: Mapping[str, Any], kept: np.ndarray) -> bytes:
    columns: dict[str, Sequence[Value]] = {}
    for name, (key, values) in zip(run.names, scores.items(), strict=True):
        if key == faults.COLUMN:
            columns[name] = faults.words_of(values)
        elif key in (OUTPUTS, *MARKS):
            columns[name] = values
        else:
            columns[name] = [None if math.isnan(value) else value for value in values.tolist()]
    return rows.content(columns, kept.tolist())


def _write_best(run: Annotation, parts: Parts, records: Sequence[Record]) -> tuple[int, float, list[str]]:
    """Write the parts with the best rows, which requires reading the whole input again.

    Returns the number of rows written, the worst value among them (higher is better), and the states of the parts.
    """

    def scores(number: int) -> np.ndarray:
        found = parts.scores(number, 1 + len(run.columns), records[number].rows)
        if found is None:
            raise InputError(f"{parts.address}: the scores of part {number} have gone; run the same command again")
        return found

    assert run.top is not None
    rows = sum(record.rows for record in records)
    choose = best(lambda: (scores(number)[0] for number in range(len(records))), run.top.of(rows))
    written, states = 0, []
    for block in planned(run):
        if block.number >= len(records) or block.key != records[block.number].key:
            raise InputError(
                f"{block.table.path} has changed since its rows were scored; run the command again, with a new folder"
            )
        by, *columns = scores(block.number)
        kept = choose(by)
        written += int(kept.sum())
        content = _content(run, block.rows, dict(zip(run.columns, columns, strict=True)), kept)
        states.append(parts.write_part(block.number, content))
    return written, choose.threshold, states
