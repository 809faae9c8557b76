"""Reads rows from files with a header, JSON lines and score files, and parses numbers and file names."""

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...errors import InputError
from ...finite import LARGEST
from ...language import is_variant
from ...language import language_pair as languages_of
from ...notices import counted, notice
from ...reading import (
    BOM,
    PACKED,
    Record,
    csv_records,
    holds_surrogate,
    json_object,
    read_lines,
    read_text,
    tsv_records,
)

SEGMENTS, SYSTEMS = ".seg.score", ".sys.score"  # file-name endings of score files
NO_SCORE = ("", "None", "NA", "NaN", "nan")
EXAMPLE = "a JSON object; write one per line, such as {'mt': ..., 'ref': ..., 'score': 1}"
DIGITS = 18  # most digits of a number that identifies rows
REFERENCES = ("ref", "reference", "pe")
REFERENCE = re.compile(rf"({'|'.join(REFERENCES)})([-_]?([A-Z]|\d+))?")  # also matches ref2 and refB


class Row(NamedTuple):
    """One line below the header; `where` names its file and line in messages."""

    where: str
    cells: dict[str, str]


def read_rows(path: str, needed: Sequence[str] = (), *, ragged: bool = False) -> tuple[list[str], list[Row]]:
    """Read the header and rows of a tab-separated file (also .gz and .xz). There are no quotes: tabs always separate cells.
    Lines end as described for table_lines.

    ragged   whether rows may lack columns that are not needed, or have more cells than the header
    """
    records = tsv_records(table_lines(path))
    return _rows(path, records, needed, ragged, "a text must not hold a tab or a line end")


def read_csv(path: str, needed: Sequence[str], delimiter: str = ",") -> tuple[list[str], list[Row]]:
    """Read the header and rows of a comma-separated file, quoted as in RFC 4180; `delimiter` may be a tab."""
    lines = io.StringIO(read_text(path).removeprefix(BOM), newline="")
    records = csv_records(lines, path, delimiter=delimiter)
    return _rows(path, (record for record in records if record[1] or record[0] == 1), needed)


def _rows(
    path: str, records: Iterator[Record], needed: Sequence[str], ragged: bool = False, fix: str = ""
) -> tuple[list[str], list[Row]]:
    """Build the header and rows from records; `fix` is that of errors about the number of cells."""
    _, _, header = next(records, (1, "", []))
    if len(set(header)) < len(header):
        twice = next(name for k, name in enumerate(header) if name in header[:k])
        raise InputError(f"{path}, line 1: the header names column {twice!r} twice")
    for column in needed:
        if column not in header:
            raise InputError(f"{path}, line 1: no column {column}; the header names {', '.join(header) or 'nothing'}")
    rows = []
    for k, _, cells in records:
        where = f"{path}, line {k}"
        if len(cells) != len(header) and not ragged:
            raise InputError(f"{where}: {len(cells)} columns, but the header names {len(header)}", fix=fix)
        row = dict(zip(header, cells, strict=not ragged))
        if len(row) < len(header) and (lacking := [column for column in needed if column not in row]):
            raise InputError(f"{where}: column {lacking[0]} is missing")
        rows.append(Row(where, row))
    return header, rows


def is_jsonl(path: str) -> bool:
    return unpacked(path).endswith(".jsonl")


def read_jsonl(path: str, wanted: Callable[[str], bool]) -> tuple[list[str], list[Row]]:
    """Read a file of JSON objects, one per line: their keys in order of first appearance, and rows as from read_rows.

    wanted    whether to read a key. A row has only the keys of its own object: strings are unchanged, numbers are written as
              in Python, and null becomes "". Empty lines are skipped. A list of references is split: "ref": ["a", "b"] is
              read as "ref": "a", "ref2": "b"
    """
    keys: dict[str, None] = {}
    rows = []
    for k, line in enumerate(table_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}, line {k}"
        value = json_object(line, where, EXAMPLE)
        for key in [key for key in REFERENCES if isinstance(value.get(key), list)]:
            texts = value.pop(key)
            names = [key, *(f"{key}{k}" for k in range(2, len(texts) + 1))]
            if taken := [name for name in names if name in value]:
                raise InputError(
                    f"{where}: {key} is a list of {len(texts)}, but column {taken[0]} is given too", fix="leave one out"
                )
            value.update(zip(names, texts or [None], strict=True))
        keys.update(dict.fromkeys(value))
        rows.append(Row(where, {key: _cell(key, value[key], where) for key in value if wanted(key)}))
    return list(keys), rows


def _cell(key: str, value: object, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f"{where}: {key} is neither text nor number")
    text = str(value)
    if holds_surrogate(text):
        raise InputError(f"{where}: {key} holds half of a surrogate pair (\\ud800 to \\udfff), which is not text")
    return text


def read_score_lines(path: str) -> dict[str, list[float]]:
    """Read each system's scores from lines `system<TAB>score` of mt-metrics-eval, in file order; NaN for None."""
    scores: dict[str, list[float]] = {}
    for k, line in enumerate(read_lines(path), 1):
        cells = line.rsplit(maxsplit=1)
        if len(cells) != 2:
            raise InputError(f"{path}, line {k}: expected a system, a tab and a score, got {line!r}")
        scores.setdefault(cells[0], []).append(number(cells[1], f"{path}, line {k}"))
    return scores


def reference_columns(path: str, header: Sequence[str], wanted: str | None) -> tuple[list[str], str | None]:
    """The reference columns of a table, and their joint name, or None if there is only one candidate.

    wanted    column names, joined by commas. If it is None or the table lacks one of them: the first of `ref`, `reference`,
              `pe`, and these with a number or a capital letter (ref2, refB). A notice says if there are others
    """
    if wanted and set(wanted.split(",")) <= set(header):
        return wanted.split(","), wanted
    columns = [name for name in REFERENCES if name in header]
    columns += [name for name in header if name not in REFERENCES and REFERENCE.fullmatch(name)]
    if len(columns) < 2:
        return columns, None
    notice(f"{path}: {columns[0]} is the reference, of {', '.join(columns)} (--reference)")
    return columns[:1], columns[0]


def number(text: str, where: str) -> float:
    """Parse a score: NaN for an empty cell, None, NA or NaN. Raises InputError for anything not finite, or too large.

    >>> number("-1.5", "scores.tsv, line 2"), number("None", "scores.tsv, line 3")
    (-1.5, nan)
    """
    if text.strip() in NO_SCORE:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        value = math.inf
    if not math.isfinite(value):
        raise InputError(f"{where}: {text!r} is not a score", fix="write a number, or None for a missing score")
    if abs(value) >= LARGEST:
        raise InputError(f"{where}: {text} is too large for a score", fix=f"write a number below {LARGEST:g}")
    return value


def is_whole(text: str) -> bool:
    """Whether a text consists of digits only, and is not too long for a row's number.

    >>> is_whole("12"), is_whole("-1"), is_whole("9" * 5000)
    (True, False, False)
    """
    return text.isdecimal() and len(text) <= DIGITS


def stem(path: str) -> str:
    """A file's name without its folder and its ending.

    >>> stem("wmt/wmt20.news.en-de.tsv.xz")
    'wmt20.news.en-de'
    """
    return os.path.splitext(unpacked(os.path.basename(path)))[0]


def unpacked(name: str) -> str:
    return name[:-3] if name.endswith(PACKED) else name


def find(path: str) -> str | None:
    """The path itself if the file exists, or with .gz or .xz appended; None if there is no such file."""
    return next((path + ending for ending in ("", *PACKED) if os.path.isfile(path + ending)), None)


def language_pair(name: str) -> tuple[str | None, str | None]:
    """The language codes in a name: its last part of the form xx-yy that is delimited by dots or underscores; each code may
    have a script and a region.

    >>> language_pair("wmt20.news.en-de"), language_pair("wmt26_eng_Latn-zho_Hans"), language_pair("ratings")
    (('en', 'de'), ('eng_Latn', 'zho_Hans'), (None, None))
    """
    tag = r"([a-z]{2,3}(?:[_-][A-Z][a-z]{3})?(?:[_-](?:[A-Z]{2}|\d{3}))?)"
    pairs = re.findall(rf"(?<![^._]){tag}-{tag}(?![^._])", name)
    return pairs[-1] if pairs else (None, None)


def header_of(path: str) -> tuple[list[str], str]:
    """The column names in a file's first line, and the separator, a tab or a comma."""
    first = table_lines(path)[0].removesuffix("\r")
    parted = "\t" if "\t" in first else ","
    try:
        header = first.split("\t") if parted == "\t" else next(csv.reader(io.StringIO(first, newline="")), [])
    except csv.Error as error:
        raise InputError(f"{path}, line 1: {error}", fix="write a header that names the columns") from error
    if not any(header):
        raise InputError(f"{path}: the file is empty, or its first line is")
    return header, parted


def table_lines(path: str) -> list[str]:
    """The lines of a table, which end at a line feed; in a file without any, at a carriage return (old spreadsheets)."""
    text = read_text(path).removeprefix(BOM)
    return (text if "\n" in text else text.replace("\r", "\n")).removesuffix("\n").split("\n")


def read_aligned(path: str, length: int, other: str) -> list[str]:
    """Read the lines of a file; raise InputError unless there are `length`, as many as in the `other` file."""
    lines = read_lines(path)
    if len(lines) != length:
        raise InputError(f"{path}: {counted(len(lines), 'line', 'lines')} for the {length} of {other}")
    return lines


def asked_pairs(path: str, pairs: Sequence[str] | None, there: Sequence[str]) -> list[str]:
    """The requested language pairs among those available; all if `pairs` is None."""
    chosen = [pair for pair in there if is_of(pair, pairs)]
    if not chosen:
        raise InputError(f"{path}: none of the pairs {', '.join(pairs or ())}; there are {', '.join(there)}")
    return chosen


def is_of(pair: str, pairs: Sequence[str] | None) -> bool:
    """Whether a language pair is one of those asked for, by any codes of its languages; None asks for all.

    >>> is_of("en-zh_TW", ["en-zh"]), is_of("en-zh_TW", ["en-zh_TW", "de-en"]), is_of("en-zh_TW", ["en-zh_CN"])
    (True, True, False)
    >>> is_of("eng_Latn-zho_Hans", ["en-zh"]), is_of("en-de", ["eng-deu"])
    (True, True)
    """
    own = _halves(pair)
    return (
        pairs is None or pair in pairs or any(own and (asked := _halves(each)) and _fits(own, asked) for each in pairs)
    )


def halves(pair: str) -> tuple[str, str | None]:
    """The languages of a pair as files name it; the parts before and after the first hyphen if these are not known.

    >>> halves("zh-Hans-en"), halves("eng_Latn-zho_Hans"), halves("x1-x2"), halves("all")
    (('zh-Hans', 'en'), ('eng_Latn', 'zho_Hans'), ('x1', 'x2'), ('all', None))
    """
    source, _, target = pair.partition("-")
    return _halves(pair) or (source, target or None)


def is_pair(pair: str) -> bool:
    """Whether a text is a language pair such as en-de or eng_Latn-zho_Hans."""
    return _halves(pair) is not None


def _halves(pair: str) -> tuple[str, str] | None:
    try:
        return languages_of(pair)
    except InputError:
        return None  # a name that is not a language pair, which only an equal name asks for


def _fits(own: tuple[str, str], asked: tuple[str, str]) -> bool:
    return all(map(is_variant, own, asked))
