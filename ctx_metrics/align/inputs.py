"""Reads hypotheses whose lines do not match: folders, JSON lines, and files with blank lines between documents."""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..corpus import document_ranges
from ..errors import InputError
from ..language import is_variant
from ..notices import counted, notice
from ..reading import PACKED, holds_surrogate, json_object, read_text, split_lines, without_mark
from ..subtitles import without_times
from .folders import Languages, check_all, find_documents, read_texts

NO_OUTPUT = "where the system has no output"
# the beginning of JSON objects, one per line or in an array
_OBJECTS = re.compile(r"\s*\[?\s*\{.*\"hypothesis\"", re.DOTALL)


class Part(NamedTuple):
    """A document among a run's segments: its id, its first segment, and the end of its segments (exclusive)."""

    name: str
    start: int
    end: int


def parts_of(doc_ids: Sequence[str] | None, segments: int) -> list[Part]:
    """The documents of a run; without ids, all segments are one document, without a name."""
    if doc_ids is None:
        return [Part("", 0, segments)]
    name = getattr(doc_ids, "name", "") or "document ids"
    return [Part(doc_ids[start], start, end) for start, end in document_ranges(doc_ids, name)]


def read_documents(
    path: str, encoding: str, parts: Sequence[Part], languages: Languages = (None, None)
) -> tuple[Sequence[Part], list[str]]:
    """Return the hypothesis of each document, with its line breaks, from one of:

    - a folder with one file per document, whose name is the document's id, with _ for /, with or without an ending and one
      of the `languages`
    - JSON lines (.jsonl) with doc_id and hypothesis; lines of other `languages` (src_lang, tgt_lang) are left out
    - a text file with blank lines between documents, or with as many lines as there are segments. One without blank lines
      is a single text for all segments, as subtitles are

    Raises InputError for a document that is missing or given twice.
    """
    if os.path.isdir(path):
        return parts, _of_folder(path, encoding, parts, languages)
    bare = path
    for ending in PACKED:
        bare = bare.removesuffix(ending)
    if bare.endswith(".jsonl"):
        return parts, _of_objects(path, encoding, parts, languages)
    return _of_lines(path, encoding, parts)


def _of_folder(path: str, encoding: str, parts: Sequence[Part], languages: Languages) -> list[str]:
    _need_names(path, "a folder has one file per document", parts)
    missing = f"name each file after its document, and write an empty one {NO_OUTPUT}"
    files = find_documents(path, [part.name for part in parts], languages, missing)
    return read_texts(path, [*files.values()], encoding)


def _of_objects(path: str, encoding: str, parts: Sequence[Part], languages: Languages) -> list[str]:
    _need_names(path, "its documents have ids", parts)
    found: dict[str, str] = {}
    at: dict[str, int] = {}
    known, unknown, foreign = {part.name for part in parts}, [], 0
    for number, line in enumerate(without_mark(read_text(path, encoding), path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = json_object(line, where, "an object with doc_id and hypothesis")
        if absent := [key for key in ("doc_id", "hypothesis") if key not in row]:
            raise InputError(f"{where}: {absent[0]} is missing", fix="each line needs doc_id and hypothesis")
        name, text = str(row["doc_id"]), "" if row["hypothesis"] is None else row["hypothesis"]
        if not isinstance(text, str):
            raise InputError(
                f"{where}: hypothesis is not text, but {type(text).__name__}", fix="give the whole document's text"
            )
        check_whole(name, f"{where}: doc_id")
        check_whole(text, f"{where}: hypothesis")
        if any(differ(row.get(key), own) for key, own in zip(("src_lang", "tgt_lang"), languages, strict=True)):
            foreign += 1
        elif name not in known:
            unknown.append(name)
        elif name in found:
            raise InputError(f"{where}: document {name!r} is in line {at[name]} already", fix="leave one out")
        else:
            found[name], at[name] = text, number
    if foreign:
        notice(of_others(path, foreign))
    missing = f'write a line with "hypothesis": "" {NO_OUTPUT}'
    check_all(path, "line", found, [part.name for part in parts], unknown, missing)
    return [found[part.name] for part in parts]


def check_whole(text: str, what: str) -> None:
    """Raise InputError if a text of JSON has half of a surrogate pair."""
    if holds_surrogate(text):
        raise InputError(f"{what} holds half of a surrogate pair (\\ud800 to \\udfff), which is not text")


def of_others(path: str, lines: int) -> str:
    """The notice of lines that `differ` in language."""
    return f"{path}: {counted(lines, 'line is', 'lines are')} in a language pair other than -l; left out"


def differ(given: object, wanted: str | None) -> bool:
    """Whether a row is of another language, or of another script or region, than the wanted one, as far as both say so.

    >>> differ("de_DE", "de"), differ("de_DE", "cs"), differ(None, "cs"), differ("sr_Cyrl_RS", "sr-Latn")
    (False, True, False, True)
    """
    if not wanted or not isinstance(given, str) or not given:
        return False
    return not is_variant(given, wanted)


def _of_lines(path: str, encoding: str, parts: Sequence[Part]) -> tuple[Sequence[Part], list[str]]:
    text = without_times(without_mark(read_text(path, encoding), path), path)
    if _OBJECTS.match(text):
        raise InputError(
            f"{path} holds JSON objects",
            fix="write one per line, with doc_id and hypothesis, to a file whose name ends in .jsonl",
        )
    lines = split_lines(text, path)
    if not any(map(str.strip, lines)):
        raise InputError(f"{path} is empty", fix="it must hold the hypotheses")
    if len(parts) == 1:
        return parts, ["\n".join(lines)]
    documents: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            documents[-1].append(line)
        elif documents[-1]:
            documents.append([])
    documents = [document for document in documents if document]
    if len(documents) == len(parts):
        if len(lines) == parts[-1].end:
            notice(
                f"{path} has one line per segment, but also as many blocks between blank lines as documents; "
                "the blocks are used. If blank lines are empty outputs, give JSON lines, or a folder of files"
            )
        return parts, ["\n".join(document) for document in documents]
    blocks = "\n".join(lines).split("\n\n")
    if len(blocks) == len(parts):  # an empty document between two blank lines
        return parts, blocks
    if len(lines) == parts[-1].end:
        if empty := lines.count(""):
            outputs = counted(empty, "empty line is an empty output", "empty lines are empty outputs")
            notice(f"{path} has one line per segment, so the ids divide it into documents; {outputs}")
        return parts, ["\n".join(lines[part.start : part.end]) for part in parts]
    if len(documents) == 1:
        notice(
            f"{path}: there are no blank lines between its {len(parts):,} documents, so it is aligned as one text; blank "
            "lines between documents make the alignment better and faster"
        )
        return [Part("", 0, parts[-1].end)], ["\n".join(lines)]
    there = counted(len(documents), "document", "documents")
    raise InputError(
        f"{path} has {there} between blank lines, but the ids name {len(parts):,}",
        fix="put a blank line between documents "
        "and none inside them, or give a folder with a file for each, or JSON lines with doc_id and hypothesis",
    )


def _need_names(path: str, why: str, parts: Sequence[Part]) -> None:
    if not parts[0].name:
        raise InputError(
            f"{path}: {why}, so each segment needs a document id: give --docids FILE (or, in ctx-metrics, "
            "the source or the reference as a folder with one file per document)"
        )
