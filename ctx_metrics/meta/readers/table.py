"""Judgements in one tab-separated table: a row a judged output, such as src, mt, ref, system, doc, seg, score, rater."""

from collections import defaultdict
from collections.abc import Hashable
from typing import Optional

from ...errors import InputError
from ...notices import notice
from ..judged import JudgedSet
from .grid import Segment, judged_set, say_missing
from .rows import language_pair, number, read_rows, stem

COLUMNS = {
    "src": ("src", "source"),
    "mt": ("mt", "target", "hypothesis"),
    "ref": ("ref", "reference", "pe"),
    "system": ("system",),
    "doc": ("doc",),
    "seg": ("seg", "seg_in_doc"),
    "score": ("score", "human", "mqm", "z_mean"),
    "rater": ("rater",),
}
ONE_SYSTEM = "outputs"


def read_table(path: str, score: Optional[str] = None) -> JudgedSet:
    """Judged outputs from a tab-separated file with a header; the columns stand in any order, others are not read.

    mt       the output; also `target` or `hypothesis`
    score    higher is better; also `human`, `mqm` or `z_mean`. Empty, None and NA: not judged. The argument `score` names
             another column; of `hter`, which counts edits, the negative is taken
    src, ref the source and the reference; also `source`, `reference`, and `pe`, a post-edit
    system   without it there is one system, "outputs"
    doc      the document; its segments are brought together, in order of first appearance
    seg      the segment in its document; whole numbers sort a document's segments
    rater    who judged; the judgements of one output are averaged

    The prepared MQM tables (seg_in_doc, mqm) and the MLQE-PE tables (pe, z_mean) are of this form. MLQE-PE's doc_id is not
    read: its segments are drawn one by one.

    A segment is one combination of doc, seg, src and ref. Without `seg`, a system's further rows of a combination are
    further segments, unless another rater judged the same output.

    Raises InputError naming file and line of what cannot be read, or of a second output of a system for one segment.
    """
    header, rows = read_rows(path)
    columns = {}
    for role, names in COLUMNS.items():
        if there := [name for name in names if name in header]:
            columns[role] = there[0]
    if score is not None:
        columns["score"] = score
    for role in ("mt", "score"):
        if columns.get(role) not in header:
            wanted = columns.get(role) or role
            mend = "; --score-column names another" if role == "score" else ""
            raise InputError(f"{path}, line 1: no column {wanted}; the header names {', '.join(header)}{mend}")
    sign = -1.0 if columns["score"] == "hter" else 1.0
    if sign < 0:
        notice(f"{path}: hter counts edits, so its negative is the score")
    numbered = "seg" in columns and all(cells[columns["seg"]].isdecimal() for _, cells in rows)
    repeats = _Repeats()
    segments: dict[Hashable, Segment] = {}
    for where, cells in rows:
        row = {role: cells[column] for role, column in columns.items()}
        for role in ("system", "doc", "seg"):
            if not row.get(role, "given").strip():
                raise InputError(f"{where}: column {columns[role]} is empty")
        system = row.get("system", ONE_SYSTEM)
        key: Hashable = tuple(row.get(role) for role in ("doc", "seg", "src", "ref"))
        if "seg" not in columns:
            key = key, repeats.place(key, system, row["mt"], row.get("rater"))
        elif "rater" not in columns and key in segments and system in segments[key].outputs:
            raise InputError(f"{where}: {system} has this segment above; a column rater tells its judgements apart")
        if key not in segments:
            position = int(row["seg"]) if numbered else None
            segments[key] = Segment(row.get("doc"), position, row.get("src"), row.get("ref") or None)
        segments[key].judge(system, row["mt"], sign * number(row["score"], where), where)
    if not rows:
        raise InputError(f"{path}: no rows below the header")
    name = stem(path)
    judged = judged_set(name, segments, language_pair(name))
    say_missing(judged)
    return judged


class _Repeats:
    """Which of several segments with the same texts a row belongs to, where no column tells them apart."""

    def __init__(self):
        self._of_output: dict[Hashable, list[int]] = defaultdict(list)
        self._judgements: dict[Hashable, int] = defaultdict(int)
        self._of_system: dict[Hashable, int] = defaultdict(int)

    def place(self, key: Hashable, system: str, text: str, rater: Optional[str]) -> int:
        """A rater's nth judgement of an output belongs to the nth segment that has this output of the system."""
        segments = self._of_output[key, system, text]
        nth = self._judgements[key, system, text, rater]
        self._judgements[key, system, text, rater] += 1
        if nth == len(segments):
            segments.append(self._of_system[key, system])
            self._of_system[key, system] += 1
        return segments[nth]
