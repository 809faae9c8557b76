"""Judgements in one table, tab-separated or JSONL: a row a judged output, such as src, mt, ref, system, doc, seg, score,
rater."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ....errors import InputError
from ....notices import counted, notice
from ..judged import JudgedSet
from .grid import Segment, judged_set
from .rows import (
    REFERENCE,
    Row,
    is_jsonl,
    is_whole,
    language_pair,
    number,
    read_jsonl,
    read_rows,
    reference_columns,
    stem,
)

COLUMNS = {
    "src": ("src", "source"),
    "mt": ("mt", "target", "hypothesis"),
    "system": ("system",),
    "doc": ("doc",),
    "seg": ("seg", "seg_in_doc"),
    "score": ("score", "human", "mqm", "z_mean"),
    "rater": ("rater", "annotator"),
}
ONE_SYSTEM = "outputs"


class JudgedRow(NamedTuple):
    """One judgement of an output.

    texts      its doc, seg, src and ref (and further references), None where there is no such column: rows with the same
               are of the same source and reference, and their scores can be compared
    segment    tells apart what a system translated several times, where no column does
    """

    texts: tuple[str | None, ...]
    segment: Hashable
    system: str
    hypothesis: str
    score: float
    rater: str | None


def read_table(path: str, score: str | None = None, reference: str | None = None) -> JudgedSet:
    """Judged outputs from a tab-separated file with a header; the columns stand in any order, others are not read.

    mt       the output; also `target` or `hypothesis`
    score    higher is better; also `human`, `mqm` or `z_mean`. Empty, None and NA: not judged. The argument `score` names
             another column; of `hter`, which counts edits, the negative is taken
    src, ref the source and the reference; also `source`, `reference`, and `pe`, a post-edit. Of several references (ref,
             ref2, refB) the first is read, which is said; the argument `reference` names others, joined by commas
    system   without it there is one system, "outputs"
    doc      the document; its segments are brought together, in order of first appearance
    seg      the segment in its document; whole numbers sort a document's segments
    rater    who judged, also `annotator`; the judgements of one output are averaged

    Of two columns of one meaning the first of the names above is read, which is said.

    The prepared MQM tables (seg_in_doc, mqm) and those of MLQE-PE (pe, z_mean; its doc_id is not read) are of this form. A
    file named .jsonl holds the same as JSON, an object a row; mt and score must be there in each.

    A segment is one combination of doc, seg, src and ref. Without `seg`, a system's further rows of a combination are
    further segments, unless another rater judged the same output. Where raters saw different outputs of a system for one
    segment, the output of most rows counts (of as many, the first); the other rows are left out, and their number is said.

    Raises InputError naming file and line of what cannot be read, and where half of the rows or more would be left out.
    """
    name = stem(path)
    _, segments, called = _read(path, score, reference)
    return judged_set(name, segments.values(), language_pair(name), called)


def read_judged_rows(path: str, score: str | None = None, reference: str | None = None) -> list[JudgedRow]:
    """Every judgement of a table by itself, in the file's order; the columns, and what is raised, are read_table's."""
    return _read(path, score, reference)[0]


def _read(
    path: str, score: str | None, reference: str | None
) -> tuple[list[JudgedRow], dict[Hashable, Segment], str | None]:
    """The judgements, the segments, and what the references are called."""
    columns, header, rows = _columns(path, score, reference)
    references, called = reference_columns(path, header, reference)
    sign = -1.0 if columns["score"] == "hter" else 1.0
    if sign < 0:
        notice(f"{path}: hter counts edits, so the score is its negative")
    numbered = "seg" in columns and all(is_whole(cells.get(columns["seg"], "")) for _, cells in rows)
    repeats = _Repeats()
    judgements = []
    segments: dict[Hashable, Segment] = {}
    seen: set[tuple[Hashable, str]] = set()
    for where, cells in rows:
        for role in ("mt", "score"):
            if columns[role] not in cells:
                raise InputError(f"{where}: no {columns[role]}")
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
        value = sign * number(row["score"], where)
        judgements.append(JudgedRow(texts, key, system, row["mt"], value, row.get("rater")))
        seen.add((key, system))
    if not rows:
        raise InputError(f"{path}: no rows below the header")
    judgements = _of_one_output(judgements, [where for where, _ in rows])
    for each in judgements:
        segments[each.segment].judge(each.system, each.hypothesis, each.score)
    return judgements, segments, called


def _of_one_output(judgements: list[JudgedRow], wheres: Sequence[str]) -> list[JudgedRow]:
    """The judgements without those of another output of a system for a segment than most rows have, whose number is said.

    Raises InputError where that would be half of them or more.
    """
    texts: dict[tuple[Hashable, str], Counter[str]] = defaultdict(Counter)
    for each in judgements:
        texts[each.segment, each.system][each.hypothesis] += 1
    usual = {output: counts.most_common(1)[0][0] for output, counts in texts.items()}
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
            f"{counted(len(judgements), 'row', 'rows')}; give one output of a system per segment"
        )
    notice(
        f"{where}: {system} has another output for this segment in other rows; left out "
        f"{counted(len(others), 'such row', 'such rows')} of {len(judgements):,}"
    )
    return kept


def _columns(path: str, score: str | None, reference: str | None) -> tuple[dict[str, str], list[str], list[Row]]:
    """The column of each role, all columns, and the rows; raises InputError where there is none of outputs or scores."""
    if is_jsonl(path):
        names = {score, *(reference or "").split(",")}.union(*COLUMNS.values())
        header, rows = read_jsonl(path, lambda key: key in names or REFERENCE.fullmatch(key) is not None)
    else:
        header, rows = read_rows(path)
    columns = {}
    for role, ours in COLUMNS.items():
        if known := [name for name in ours if name in header]:
            columns[role] = known[0]
            if known[1:] and not (role == "score" and score):
                notice(f"{path}: column {known[0]} is read, not {', '.join(known[1:])}")
    if score is not None:
        columns["score"] = score
    for role in ("mt", "score"):
        if columns.get(role) not in header:
            naming = "its objects name" if is_jsonl(path) else "the header names"
            mend = "; --score-column names another" if role == "score" else ""
            wanted = columns.get(role) or role
            raise InputError(f"{path}, line 1: no column {wanted}; {naming} {', '.join(header) or 'nothing'}{mend}")
    return columns, header, rows


class _Repeats:
    """Which of several segments with the same texts a row belongs to, where no column tells them apart."""

    def __init__(self):
        self._of_output: dict[Hashable, list[int]] = defaultdict(list)
        self._judgements: dict[Hashable, int] = defaultdict(int)
        self._of_system: dict[Hashable, int] = defaultdict(int)

    def place(self, key: Hashable, system: str, text: str, rater: str | None) -> int:
        """A rater's nth judgement of an output belongs to the nth segment that has this output of the system."""
        segments = self._of_output[key, system, text]
        nth = self._judgements[key, system, text, rater]
        self._judgements[key, system, text, rater] += 1
        if nth == len(segments):
            segments.append(self._of_system[key, system])
            self._of_system[key, system] += 1
        return segments[nth]
