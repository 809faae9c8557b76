"""Reads judgements from one table, tab-separated or JSON lines: one row per judged output, with columns such as src, mt,
ref, system, doc, seg, score, rater and lp."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...notices import counted, notice
from ..judged import JudgedSet
from .grid import Segment, judged_set
from .rows import (
    REFERENCE,
    Row,
    halves,
    header_of,
    is_jsonl,
    is_pair,
    is_whole,
    language_pair,
    number,
    read_jsonl,
    read_rows,
    reference_columns,
    stem,
)
from .score_columns import Term, combined, in_words, names_of, terms_of

COLUMNS = {
    "src": ("src", "source"),
    "mt": ("mt", "target", "hypothesis"),
    "system": ("system",),
    "doc": ("doc",),
    "seg": ("seg", "seg_in_doc"),
    "score": ("score", "human", "mqm", "z_mean"),
    "rater": ("rater", "annotator"),
    "lp": ("lp", "language_pair"),
}
ONE_SYSTEM = "outputs"


class JudgedRow(NamedTuple):
    """One judgement of an output.

    texts      its doc, seg, src and ref (and further references), None for a missing column. Rows with equal texts have the
               same source and reference, so their scores are comparable
    segment    identifies the segment; it also separates repeated translations by one system if no column does
    """

    texts: tuple[str | None, ...]
    segment: Hashable
    system: str
    hypothesis: str
    score: float
    rater: str | None


class RatedSet(NamedTuple):
    """The judgements of a table, or those of one of its language pairs, in file order.

    pair      as in the table's column `lp`; None without this column
    scores    the columns of the scores in words, such as "z(A) - 2 z(B)"; "" if no formula was given
    """

    name: str
    pair: str | None
    rows: list[JudgedRow]
    scores: str


class _Part(NamedTuple):
    rated: RatedSet
    segments: dict[Hashable, Segment]
    references: str | None  # their name


def read_table(path: str, score: str | None = None, reference: str | None = None) -> list[JudgedSet]:
    """Read judged outputs from a table with a header. Columns may be in any order, under any of the names in COLUMNS; of
    several for one role, the first is read, with a notice. Unknown columns are ignored.

    score        another column for the scores. Higher is better, except for `hter`, which counts edits and is negated;
                 empty, None and NA mean: not judged
    reference    other columns for the references, joined by commas

    Without `system` there is one system, "outputs". Documents are in order of first appearance. If all `seg` of a document
    are whole numbers, they determine the order of its segments.

    With `lp`, each language pair is a set of its own, named after the file and the pair.

    Each combination of doc, seg, src and ref is a segment. Without `seg`, further rows of a system for one combination count
    as further segments, unless another rater judged the same output. If raters saw different outputs of a system for one
    segment, only the most frequent one is kept, with a notice.
    """
    sets = []
    for (name, pair, _, _), segments, called in _read(path, score, reference):
        languages = language_pair(name)
        if pair is not None:
            languages = halves(pair)
        sets.append(judged_set(name, segments.values(), languages, called))
    return sets


def read_judged_rows(
    path: str,
    score: str | None = None,
    reference: str | None = None,
    formulas: Sequence[Sequence[str]] = (),
    unneeded: Sequence[str] = (),
) -> list[RatedSet]:
    """Read each judgement of a table separately; columns, sets and errors are those of read_table.

    formulas    the terms of the scores; see score_columns.terms_of
    unneeded    roles that need no column: "score", whose column is then not read, or "mt" and "score"
    """
    return [part.rated for part in _read(path, score, reference, formulas, unneeded)]


def columns_of(path: str) -> list[str]:
    """Return the names of a table's columns."""
    return read_jsonl(path, lambda _: False)[0] if is_jsonl(path) else header_of(path)[0]


def holds_pairs(path: str) -> bool:
    """Return whether a table has columns for sources and references."""
    columns = columns_of(path)
    return not {*columns}.isdisjoint(COLUMNS["src"]) and any(REFERENCE.fullmatch(name) for name in columns)


def _read(
    path: str,
    score: str | None,
    reference: str | None,
    formulas: Sequence[Sequence[str]] = (),
    unneeded: Sequence[str] = (),
) -> list[_Part]:
    columns, terms, header, rows = _columns(path, score, reference, formulas, unneeded)
    references, called = reference_columns(path, header, reference)
    if not rows:
        raise InputError(f"{path}: no rows below the header")
    said = in_words(terms) if terms else f"{columns['score']} (its usual column)" if formulas else ""
    terms = terms or [Term(columns["score"])]
    if any(term.column == "hter" for term in terms):
        notice(f"{path}: hter counts edits, so the score is its negative")
    parts = []
    for name, pair, own in _by_pair(path, columns.get("lp"), rows):
        judgements, segments = _judgements(name, columns, terms, references, own)
        parts.append(_Part(RatedSet(name, pair, judgements, said), segments, called))
    return parts


def _by_pair(path: str, column: str | None, rows: list[Row]) -> list[tuple[str, str | None, list[Row]]]:
    """The name, language pair and rows of each set in a table."""
    name = stem(path)
    if column is None:
        return [(name, None, rows)]
    of_pair: dict[str, list[Row]] = {}
    for row in rows:
        pair = row.cells.get(column, "").strip()
        if not is_pair(pair):
            fault = f"{pair!r} in column {column} is not a language pair" if pair else f"column {column} is empty"
            raise InputError(f"{row.where}: {fault}", fix="write one such as en-de or en-zh_TW")
        of_pair.setdefault(pair, []).append(row)
    if len(of_pair) == 1 and language_pair(name) == language_pair(*of_pair):
        return [(name, *of_pair.popitem())]
    return [(f"{name}.{pair}", pair, own) for pair, own in of_pair.items()]


def _judgements(
    name: str, columns: dict[str, str], terms: Sequence[Term], references: Sequence[str], rows: Sequence[Row]
) -> tuple[list[JudgedRow], dict[Hashable, Segment]]:
    numbered = "seg" in columns and all(is_whole(cells.get(columns["seg"], "")) for _, cells in rows)
    repeats = _Repeats()
    judgements: list[JudgedRow] = []
    values: list[list[float]] = []
    segments: dict[Hashable, Segment] = {}
    seen: set[tuple[Hashable, str]] = set()
    for where, cells in rows:
        for column in (columns["mt"], *(term.column for term in terms)):
            if column not in cells:
                raise InputError(f"{where}: no {column}")
        row = {role: cells.get(column, "") for role, column in columns.items()}
        for role in ("system", "doc", "seg"):
            if not row.get(role, "given").strip():
                raise InputError(f"{where}: column {columns[role]} is empty")
        system = row.get("system", ONE_SYSTEM)
        of_references = [cells.get(column, "") for column in references]
        texts = tuple(row.get(role) for role in ("doc", "seg", "src")) + tuple(of_references or [None])
        key: Hashable = texts
        if "seg" not in columns:
            key = key, repeats.place(key, system, row["mt"], row.get("rater"))
        elif "rater" not in columns and (key, system) in seen:
            raise InputError(f"{where}: {system} has this segment twice; a column rater distinguishes its judgements")
        if key not in segments:
            position = int(row["seg"]) if numbered else None
            segments[key] = Segment(row.get("doc"), position, row.get("src"), [text or None for text in of_references])
        values.append([term.sign * number(cells[term.column], where) for term in terms])
        judgements.append(JudgedRow(texts, key, system, row["mt"], np.nan, row.get("rater")))
        seen.add((key, system))
    scores = combined(name, terms, np.array(values)).tolist()
    judgements = [each._replace(score=score) for each, score in zip(judgements, scores, strict=True)]
    judgements = _of_one_hypothesis(judgements, [where for where, _ in rows])
    for each in judgements:
        segments[each.segment].judge(each.system, each.hypothesis, each.score)
    return judgements, segments


def _of_one_hypothesis(judgements: list[JudgedRow], wheres: Sequence[str]) -> list[JudgedRow]:
    """Keep only judgements of each system's most frequent output for a segment; a notice says how many others there were."""
    texts: dict[tuple[Hashable, str], Counter[str]] = defaultdict(Counter)
    for each in judgements:
        texts[each.segment, each.system][each.hypothesis] += 1
    usual = {hypothesis: counts.most_common(1)[0][0] for hypothesis, counts in texts.items()}
    kept = [each for each in judgements if each.hypothesis == usual[each.segment, each.system]]
    others = [
        (where, each.system)
        for where, each in zip(wheres, judgements, strict=True)
        if each.hypothesis != usual[each.segment, each.system]
    ]
    if not others:
        return kept
    where, system = others[0]
    if len(kept) <= len(others):
        raise InputError(
            f"{where}: {system} has different outputs for this segment, and so in {len(others):,} of "
            f"{counted(len(judgements), 'row', 'rows')}",
            fix="give one output of a system per segment",
        )
    notice(
        f"{where}: {system} has another output for this segment in other rows; left out "
        f"{counted(len(others), 'such row', 'such rows')} of {len(judgements):,}"
    )
    return kept


def _columns(
    path: str, score: str | None, reference: str | None, formulas: Sequence[Sequence[str]], unneeded: Sequence[str]
) -> tuple[dict[str, str], list[Term], list[str], list[Row]]:
    """The column for each role, the terms of a formula ([]: the score has its own column), all columns, and the rows."""
    if is_jsonl(path):
        names = {score, *(reference or "").split(","), *names_of(formulas)}.union(*COLUMNS.values())
        header, rows = read_jsonl(path, lambda key: key in names or REFERENCE.fullmatch(key) is not None)
    else:
        header, rows = read_rows(path)
    if unneeded:
        header = [*header, *(role for role in unneeded if role not in header)]
        rows = [Row(where, {**dict.fromkeys(unneeded, ""), **cells, "score": ""}) for where, cells in rows]
    terms = terms_of(formulas, header, path)
    columns = {}
    for role, ours in COLUMNS.items():
        if known := [name for name in ours if name in header]:
            columns[role] = known[0]
            if known[1:] and not (role == "score" and (score or terms or unneeded)):
                notice(f"{path}: column {known[0]} is read, not {', '.join(known[1:])}")
    if score is not None:
        columns["score"] = score
    for role in ("mt", "score"):
        if columns.get(role) not in header and not (role == "score" and terms):
            naming = "its objects name" if is_jsonl(path) else "the header names"
            fix = "--score-column names another" if role == "score" else ""
            wanted = columns.get(role) or role
            raise InputError(f"{path}, line 1: no column {wanted}; {naming} {', '.join(header) or 'nothing'}", fix=fix)
    return columns, terms, header, rows


class _Repeats:
    """Assigns rows to segments that have the same texts, if no column distinguishes them."""

    def __init__(self):
        self._of_hypothesis: dict[Hashable, list[int]] = defaultdict(list)
        self._judgements: dict[Hashable, int] = defaultdict(int)
        self._of_system: dict[Hashable, int] = defaultdict(int)

    def place(self, key: Hashable, system: str, text: str, rater: str | None) -> int:
        """A row's segment: a rater's nth judgement of an output is for the nth segment with this output of the system."""
        segments = self._of_hypothesis[key, system, text]
        nth = self._judgements[key, system, text, rater]
        self._judgements[key, system, text, rater] += 1
        if nth == len(segments):
            segments.append(self._of_system[key, system])
            self._of_system[key, system] += 1
        return segments[nth]
