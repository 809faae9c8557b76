"""Scores tables of any size, block by block: one column per metric, in parts that are written completely or not at all."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, islice
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ..checks.languages import described
from ..checks.texts import KINDS
from ..cli.common.spans import MARKS
from ..errors import InputError
from ..interference.records import Choice
from ..interference.related import Measure, Tuning
from ..interference.said import Reasons, interference
from ..notices import counted, notice
from ..run.rows import Streams, roles
from ..scale.blocks import LOCAL, Block, BlockRun, Executor, Part
from ..scale.kept import key_of
from ..scoring.context import capabilities, score_settings
from . import chosen, faults, summary
from .parts import KeptScores, Parts, Record, known_again
from .rows import Rows, Value, blocks, is_number, no_column, reader_of
from .scorer import BlockScores, Scorer
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
    titles   names of the metrics in the summary
    tuned    metrics with which the outputs' system was tuned
    top      how many of the best or worst rows to write, ranked by the metric `by`; None: all

    All rows' scores are kept. `names`, `limits`, `top`, `by` and the kinds in `drop` only limit the output.
    """

    tables: Sequence[Table]
    scorer: Scorer
    names: Sequence[str]
    limits: Sequence[Limit]
    top: Top | None
    by: str
    size: int
    drop: Sequence[str] | None
    tuned: Sequence[Tuning] = ()
    titles: Sequence[str] = ()

    @property
    def metrics(self) -> list[str]:
        return [each.name for each in self.scorer.rows.run.metrics]

    @property
    def choosing(self) -> list[str]:
        """The metrics by whose scores rows are selected."""
        return list(dict.fromkeys([*(each.name for each in self.limits), *([self.by] if self.top else [])]))

    @property
    def numbers(self) -> list[str]:
        """The new columns that are kept as numbers; `names` are those of all new columns."""
        return [*self.metrics, *[faults.COLUMN] * (self.drop is not None)]

    @property
    def texts(self) -> list[str]:
        """The new columns of texts, which follow the numbers."""
        return [*[OUTPUTS] * (self.scorer.rows.reads_anew), *(MARKS if self.scorer.rows.spans else ())]

    @property
    def counted(self) -> Sequence[str]:
        """The faults that are counted: those of dropped rows, or all of them if none is dropped."""
        return () if self.drop is None else self.drop or KINDS

    def identity(self) -> dict[str, Any]:
        return {"tables": known_again(self.tables), **self.settings()}

    def settings(self) -> dict[str, Any]:
        """Everything besides its texts and the signatures that a block's scores depend on."""
        run = self.scorer.rows.run
        languages = run.texts.source_lang or "", run.texts.target_lang or ""
        return {
            "columns": dict(self.scorer.rows.columns),
            "metrics": [[each.name, repr(sorted(score_settings(each.cls, each.own).items()))] for each in run.metrics],
            "context": repr([*map(described, languages), run.engine.dtype]),
            "inputs": repr(sorted(run.keywords.items())),
            "added": [*self.numbers, *self.texts][len(self.metrics) :],
            "block": self.size,
        }


class TableBlock(NamedTuple):
    """A block of the input.

    first     its first row in its table, from 0
    before    number of rows that precede it in all tables
    """

    number: int
    table: Table
    first: int
    before: int
    rows: Rows
    texts: Streams
    key: str

    def block(self, take: Callable[[BlockScores], object]) -> Block:
        """The block of a BlockRun whose scores `take` gets."""
        parts = [Part(len(self.rows), take)]
        return Block(parts, lambda _: (self.texts, self.number == 0), self.before, self.table.path, self.first)


class PartState(NamedTuple):
    """A part that is written: its number of rows, and the state by which later changes to it are detected."""

    rows: int
    state: str


def names_in_files(run: Annotation, executor: Executor = LOCAL) -> Sequence[str]:
    """The names of the metrics' scores in files, found with the texts of the first block."""
    if not any(capabilities(each.cls).estimator for each in run.scorer.rows.run.metrics):
        return run.metrics
    for block in planned(replace(run, names=[])):
        [names] = executor.map(run.scorer.rows.names_in_files, [block.texts])
        return names
    return run.metrics


def annotate(run: Annotation, folder: str, executor: Executor = LOCAL, quiet: bool = False) -> dict[str, Any]:
    """Score all rows of the tables and write the selected ones, with their scores, as parts into a folder.

    Blocks that an earlier run scored in this folder are not scored again, whichever rows it selected. Returns the summary,
    which is also written to the folder.
    """
    parts = Parts(folder, run.tables[0].ending, run.identity())
    written: dict[int, PartState] = {}
    records, planned_blocks = _finished(run, parts, executor, written)
    whole, done = 0 < len(records) == planned_blocks, sum(record.rows for record in records.values())
    if records and not whole:
        there = f"{done:,} rows in {counted(len(records), 'part', 'parts')}"
        notice(f"{folder} already holds {there}; the run continues after them")
    unfinished = (
        block.block(partial(_take, run, parts, records, written, block))
        for block in planned(run)
        if block.number not in records
    )
    total = None if quiet else _rows(run)
    blocks = _run(executor, total=total, kept_in=folder, quiet=quiet, done=done)
    blocks.complete(run.scorer, unfinished)
    if not records:
        raise InputError(f"{', '.join(table.path for table in run.tables[:3])}: no rows to score")
    ordered, last = [records[number] for number in range(len(records))], None
    if run.top is not None:
        last = _write_ranked(run, parts, ordered, written)
    if whole and not parts.changed:
        notice(f"{folder}: all parts already exist, so nothing was scored")
    elif whole:
        notice(f"{folder}: all rows were scored already, so only {counted(parts.changed, 'part', 'parts')} changed")
    befores = [0, *accumulate(record.rows for record in ordered)]
    of_blocks = {name: [record.metrics[name] for record in ordered] for name in run.metrics}
    sums = {name: rows for name, own in of_blocks.items() if (rows := [each.sums for each in own if each.sums])}
    [wholes] = executor.map(run.scorer.rows.whole, [sums])
    counts = {kind: sum(record.faults.get(kind, 0) for record in ordered) for kind in run.counted}
    of_faults = {} if run.drop is None else {"dropped": counts} if run.drop else {"dropped": {}, "faults": counts}
    found = {
        "rows": befores[-1],
        "written": sum(each.rows for each in written.values()),
        **of_faults,
        "worst_of_top": last if run.top and not run.top.worst else None,
        "best_of_bottom": last if run.top and run.top.worst else None,
        "tables": len(run.tables),
        "parts": len(ordered),
        "metrics": {
            title: summary.of_whole(own, befores, wholes.get(name))
            for title, (name, own) in zip(run.titles, of_blocks.items(), strict=True)
        },
        **_interference(
            run,
            {name: own[0].signature for name, own in of_blocks.items()},
            [written[number].state for number in range(len(records))],
        ),
    }
    parts.write_summary(found)
    return found


def _interference(run: Annotation, signatures: Mapping[str, str], states: Sequence[str]) -> dict[str, Any]:
    """The entries of the summary about choices: those by which rows were selected, now and earlier, with the states of the
    parts, and a notice about metrics that score what they, or related ones, chose; {} if there is none of these."""
    earlier = chosen.choices_of(run.tables)
    scored = {name: Measure.of_signature(name, signature) for name, signature in signatures.items()}
    reasons: dict[str, Reasons] = {f"the selection in {folder}": own for folder, own in earlier.items()}
    reasons[f"column {run.scorer.rows.columns['mt'][0]}"] = run.tuned
    said = interference(reasons, scored)
    own = [Choice("annotate", name, signatures[name]) for name in run.choosing]
    every = list(dict.fromkeys([*(each for choices in earlier.values() for each in choices), *own]))
    record = {"chosen_by": [msgspec.to_builtins(each) for each in every], "states": list(states)} if every else {}
    return record | ({"notices": [said]} if said else {})


def _rows(run: Annotation) -> int | None:
    """The number of rows in all tables; None if a table is remote, since counting would download it twice."""
    if any("://" in table.path for table in run.tables):
        return None
    columns = [name for names in run.scorer.rows.columns.values() for name in names]
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


def planned(run: Annotation) -> Iterator[TableBlock]:
    wanted = list(dict.fromkeys(name for names in run.scorer.rows.columns.values() for name in names))
    [document] = run.scorer.rows.columns.get("doc", [None])
    number = before = 0
    for table in run.tables:
        reader = reader_of(table, wanted, list(run.names), run.scorer.rows.columns.get("doc", ()))
        found: Iterable[Rows] = blocks(reader.rows(), run.size, document, FIRST << min(number, 32))
        if document is None and (name := run.scorer.rows.reads_documents):
            found = list(islice(blocks(reader.rows(), run.size, None, first=run.size), 2))
            if len(found) > 1:
                raise InputError(
                    f"{table.path}: {name} treats a table without document ids as one document, but it has more than "
                    f"{run.size:,} rows",
                    fix="name the column of the document ids (--columns doc=NAME), or give a larger --block",
                )
        first = 0
        for rows in found:
            texts = {role: [rows.texts(name) for name in names] for role, names in run.scorer.rows.columns.items()}
            if document is not None:
                _check_documents(texts["doc"][0], table, first, document)
            yield TableBlock(number, table, first, before, rows, texts, key_of(run.settings(), texts))
            number, first, before = number + 1, first + len(rows), before + len(rows)


def _check_documents(ids: Sequence[str | None], table: Table, first: int, column: str) -> None:
    if missing := [i for i, text in enumerate(ids, first + 1) if not (text or "").strip()]:
        raise InputError(f"{table.path}, row {missing[0]}: the document id is missing (column {column})")


def _run(executor: Executor, **more: Any) -> BlockRun:
    return BlockRun("annotate", "row", executor=executor, single=True, **more)


def _finished(
    run: Annotation, parts: Parts, executor: Executor, written: dict[int, PartState]
) -> tuple[dict[int, Record], int]:
    """The records of the blocks that an earlier run scored, by block number, and the number of all blocks (0 if there was no
    earlier run). The parts of these blocks are written anew if they differ.

    The metrics are built with the texts of the first block, to compare their signatures with those of the earlier run.
    """
    found: dict[int, Record] = {}
    signatures: dict[str, str] = {}
    planned_blocks = 0
    for block in planned(run) if parts.has_records() else ():
        planned_blocks += 1
        record = parts.record(block.number, partial(_fits, key=block.key, rows=len(block.rows), run=run))
        kept = parts.scores(block.number, len(run.numbers), len(run.texts), len(block.rows))
        if record is None or kept is None:
            continue
        if not signatures:
            [signatures] = executor.map(run.scorer.rows.signatures, [block.texts])
        for name, own in record.metrics.items():
            _check_signature(name, own.signature, signatures[name])
        found[block.number] = record
        if run.top is None:
            written[block.number] = _write(run, parts, block, kept, _passing(run, kept))
    for name in run.metrics:
        widths = Counter(width for record in found.values() if (width := len(record.metrics[name].sums)))
        for number, record in [*found.items()] if len(widths) > 1 else ():
            if len(record.metrics[name].sums) not in (0, widths.most_common(1)[0][0]):
                parts.ignore(number)
                del found[number]
    return found, planned_blocks


def _fits(record: Record, key: str, rows: int, run: Annotation) -> bool:
    """Whether a record can belong to a block with this key and rows."""
    return (
        (record.key, record.rows) == (key, rows)
        and all(0 <= number <= rows for number in record.faults.values())
        and list(record.metrics) == run.metrics
        and all(own.fits(rows) for own in record.metrics.values())
    )


def _take(
    run: Annotation,
    parts: Parts,
    records: dict[int, Record],
    written: dict[int, PartState],
    block: TableBlock,
    scored: BlockScores,
) -> None:
    """Keep a block's scores, and write its part unless rows are ranked, which needs the scores of all blocks."""
    numbers = [each.scores for each in scored.metrics.values()]
    counts = {}
    if scored.faults is not None:
        numbers.append(scored.faults)
        counts = {kind: int(faults.has(scored.faults, [kind]).sum()) for kind in KINDS}
    texts = [*([] if scored.hypotheses is None else [scored.hypotheses]), *scored.spans.values()]
    metrics = {name: summary.of_block(each) for name, each in scored.metrics.items()}
    for name, own in metrics.items():
        before = next(iter(records.values())).metrics if records else metrics
        _check_signature(name, before[name].signature, own.signature)
    kept = KeptScores.of(numbers, texts)
    parts.write_scores(block.number, kept)
    record = Record(block.key, len(block.rows), counts, metrics)
    if not any(each.failed for each in scored.metrics.values()):
        parts.write_record(block.number, record)
    if run.top is None:
        written[block.number] = _write(run, parts, block, kept, _passing(run, kept))
    records[block.number] = record


def _check_signature(name: str, before: str, now: str) -> None:
    if now != before:
        raise InputError(f"{name}: its signature changed from {before} to {now}", fix="name a new folder")


def _passing(run: Annotation, kept: KeptScores) -> np.ndarray:
    """Which rows pass the limits and have none of the faults for which rows are dropped, bool [rows]."""
    numbers = dict(zip(run.numbers, kept.array(), strict=True))
    passed = passing(run.limits, numbers, len(kept.numbers[0]))
    return passed & ~faults.has(numbers[faults.COLUMN], run.drop) if run.drop else passed


def _write(run: Annotation, parts: Parts, block: TableBlock, kept: KeptScores, chosen: np.ndarray) -> PartState:
    columns: dict[str, Sequence[Value]] = {}
    for name, column, values in zip(run.names, run.numbers, kept.numbers, strict=False):
        columns[name] = faults.words_of(np.array(values, np.float64)) if column == faults.COLUMN else values
    columns |= dict(zip(run.names[len(run.numbers) :], kept.texts, strict=True))
    state = parts.write_part(block.number, block.rows.content(columns, chosen.tolist()))
    return PartState(int(chosen.sum()), state)


def _write_ranked(
    run: Annotation, parts: Parts, records: Sequence[Record], written: dict[int, PartState]
) -> list[Any] | None:
    """Write the parts with the best or worst rows, which requires reading the whole input again.

    Returns the metric and the score of the last row that was selected; None if none was.
    """
    assert run.top is not None
    higher = records[0].metrics[run.by].higher_is_better
    sign = 1 if higher != run.top.worst else -1

    def kept(number: int) -> KeptScores:
        found = parts.scores(number, len(run.numbers), len(run.texts), records[number].rows)
        if found is None:
            raise InputError(
                f"{parts.address}: the scores of part {number} are missing", fix="run the same command again"
            )
        return found

    def ranked(own: KeptScores) -> np.ndarray:
        return np.where(_passing(run, own), sign * own.array()[run.numbers.index(run.by)], math.nan)

    rows = sum(record.rows for record in records)
    choose = best(lambda: (ranked(kept(number)) for number in range(len(records))), run.top.of(rows))
    for block in planned(run):
        if block.number >= len(records) or block.key != records[block.number].key:
            raise InputError(
                f"{block.table.path} has changed since its rows were scored",
                fix="run the command again, with a new folder",
            )
        own = kept(block.number)
        written[block.number] = _write(run, parts, block, own, choose(ranked(own)))
    title = run.titles[run.metrics.index(run.by)]
    return [title, sign * choose.threshold] if any(each.rows for each in written.values()) else None
