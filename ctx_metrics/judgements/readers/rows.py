"""The rows of a file with a header, its numbers, and what its name says."""

import csv
import io
import math
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from ...corpus import BOM, read_text
from ...errors import InputError
from ...notices import notice

NO_SCORE = ("", "None", "NA", "NaN", "nan")
PACKED = (".gz", ".xz")
REFERENCES = ("ref", "reference", "pe")
FURTHER_REFERENCE = re.compile(rf"({'|'.join(REFERENCES)})[-_]?([A-Z]|\d+)")  # ref2, refB


class Row(NamedTuple):
    """One line below the header; `where` names file and line in messages."""

    where: str
    cells: dict[str, str]


def read_rows(path: str, needed: Sequence[str] = (), *, ragged: bool = False) -> tuple[list[str], list[Row]]:
    """The header and the rows of a tab-separated file (.gz and .xz too). No quotes: a cell is what stands between tabs.
    Lines end as read_table_text says.

    needed   columns that must be there
    ragged   whether rows may lack columns that are not needed, and have more than the header names

    Raises InputError naming the line whose number of cells does not fit the header.
    """
    lines = read_table_text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    rows = [line.removesuffix("\r").split("\t") for line in lines]
    header = _header(path, rows[0] if rows else [], needed)
    found = []
    for number, cells in enumerate(rows[1:], 2):
        if len(cells) != len(header) and not ragged:
            raise InputError(
                f"{path}, line {number}: {len(cells)} columns, and the header names {len(header)}; "
                "a text must not hold a tab or a line end"
            )
        row = dict(zip(header, cells, strict=not ragged))
        for column in needed:
            if column not in row:
                raise InputError(f"{path}, line {number}: column {column} is missing")
        found.append(Row(f"{path}, line {number}", row))
    return header, found


def read_csv(path: str, needed: Sequence[str]) -> tuple[list[str], list[Row]]:
    """The header and the rows of a comma-separated file, quoted as in RFC 4180; raises InputError as read_rows does."""
    reader = csv.reader(io.StringIO(read_text(path).removeprefix(BOM), newline=""))
    try:
        header = _header(path, next(reader, []), needed)
        rows = [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}") from error
    for number, cells in rows:
        if len(cells) != len(header):
            raise InputError(f"{path}, line {number}: {len(cells)} columns, and the header names {len(header)}")
    return header, [Row(f"{path}, line {number}", dict(zip(header, cells, strict=True))) for number, cells in rows]


def _header(path: str, header: list[str], needed: Sequence[str]) -> list[str]:
    if len(set(header)) < len(header):
        twice = next(name for k, name in enumerate(header) if name in header[:k])
        raise InputError(f"{path}, line 1: the header names column {twice!r} twice")
    for column in needed:
        if column not in header:
            raise InputError(f"{path}, line 1: no column {column}; the header names {', '.join(header) or 'nothing'}")
    return header


def reference_columns(path: str, header: Sequence[str], wanted: str | None) -> tuple[list[str], str | None]:
    """The columns of a table that are read as references, and what they are called together, None for the only one.

    wanted    columns by name, joined by commas. Where the table has not all of them, or for None: the first of `ref`,
              `reference`, `pe`, and these with a number or a capital letter (ref2, refB); if there are others, that is said
    """
    there = [name for name in REFERENCES if name in header]
    there += [name for name in header if FURTHER_REFERENCE.fullmatch(name)]
    chosen = wanted.split(",") if wanted else []
    if chosen and set(chosen) <= set(header):
        return chosen, wanted
    if len(there) < 2:
        return there, None
    notice(f"{path}: {there[0]} is the reference, of {', '.join(there)} (--reference)")
    return there[:1], there[0]


def number(text: str, where: str) -> float:
    """A human score: NaN for an empty cell, None, NA or NaN; raises InputError for what is no finite number.

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
        raise InputError(f"{where}: {text!r} is no score; write a number, or None where there is none")
    return value


def stem(path: str) -> str:
    """A file's name without its folder and its ending.

    >>> stem("wmt/wmt20.news.en-de.tsv.xz")
    'wmt20.news.en-de'
    """
    return os.path.splitext(unpacked(os.path.basename(path)))[0]


def unpacked(name: str) -> str:
    """A file's name without .gz or .xz."""
    return name[:-3] if name.endswith(PACKED) else name


def find(path: str) -> str | None:
    """The file of this name, or packed with .gz or .xz after it; None where there is none."""
    return next((path + ending for ending in ("", *PACKED) if os.path.isfile(path + ending)), None)


def language_pair(name: str) -> tuple[str | None, str | None]:
    """The language codes in a name, where its last part of the form xx-yy stands between dots or underscores.

    >>> language_pair("wmt20.news.en-de"), language_pair("ratings")
    (('en', 'de'), (None, None))
    """
    found = re.findall(r"(?<![^._])([a-z]{2,3})-([a-z]{2,3})(?![^._])", name)
    return found[-1] if found else (None, None)


def header_of(path: str) -> tuple[list[str], str]:
    """The columns that a file's first line names, and what parts them, a tab or a comma."""
    first = read_table_text(path).partition("\n")[0].removesuffix("\r")
    if "\t" in first:
        return first.split("\t"), "\t"
    try:
        return next(csv.reader(io.StringIO(first, newline="")), []), ","
    except csv.Error as error:
        raise InputError(f"{path}, line 1: {error}; write a header that names the columns") from error


def read_table_text(path: str) -> str:
    """All of a table's text. Lines end at a line feed; where a file has none, at a carriage return (old spreadsheets)."""
    text = read_text(path).removeprefix(BOM)
    return text if "\n" in text else text.replace("\r", "\n")
