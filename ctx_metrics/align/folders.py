"""Folders with one file per document: hypotheses, and the sources and references that they are aligned with."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..corpus import Segments, document_ranges, named
from ..errors import InputError
from ..language import primary
from ..notices import counted, notice
from ..reading import BOM, PACKED, read_text, split_lines
from ..run.streams import file_segments
from ..run.texts import Texts
from ..subtitles import without_times

ENDINGS = (".txt", ".text", ".md", ".out", ".hyp", ".srt", ".vtt")  # of a document's file, which are not part of its id
# a language with its region or script, and one without
_CODES = re.compile(r"[._-]([^\W\d_]+[_-][^\W\d_]+)$"), re.compile(r"[._-]([^\W_]+)$")
SHOWN = 5  # names in a message
Languages = tuple[str | None, str | None]


def names(file: str, languages: Languages) -> list[str]:
    """The ids that a file's name may stand for, the longest first.

    >>> names("news/a.b.txt.gz", (None, None)), names("a-1.de_DE.txt", ("en", "de"))
    (['news/a.b.txt.gz', 'news/a.b.txt', 'news/a.b'], ['a-1.de_DE.txt', 'a-1.de_DE', 'a-1'])
    >>> names("talk-de-01.txt", ("en", "de"))
    ['talk-de-01.txt', 'talk-de-01']
    """
    found = [file]
    for endings in (PACKED, ENDINGS):
        found += [found[-1].removesuffix(ending) for ending in endings if found[-1].endswith(ending)]
    codes = {primary(language) for language in languages if language}
    for match in (code.search(found[-1]) for code in _CODES):
        if match and match.start() and primary(match[1]) in codes:
            return [*found, found[-1][: match.start()]]
    return found


def find_documents(
    path: str, wanted: Sequence[str] | None, languages: Languages, missing: str, first: str | None = None
) -> dict[str, str]:
    """The file of each document in a folder, by id; gives notice of others.

    wanted     the ids; None for those that the files' names give, in alphabetical order
    missing    what to do about a document without a file
    first      the folder that gave the ids, which then must have all documents that this one has
    """
    by_name = {each.replace("/", "_"): each for each in wanted or ()} | {each: each for each in wanted or ()}
    for each in wanted or ():
        by_name.setdefault(names(each, languages)[-1], each)
    found: dict[str, str] = {}
    unknown = []
    for file in sorted(each for each in Path(path).rglob("*") if each.is_file()):
        inside = file.relative_to(path)
        if any(word.startswith(".") for word in inside.parts):
            continue
        known = names(inside.as_posix(), languages)
        document = known[-1] if wanted is None else next((by_name[name] for name in known if name in by_name), None)
        if document is None:
            unknown.append(inside.as_posix())
        elif document in found:
            other = Path(found[document]).name
            raise InputError(f"{path}: {other} and {file.name} are both document {document!r}", fix="leave one out")
        else:
            found[document] = str(file)
    if wanted is None:
        return dict(sorted(found.items()))
    if unknown and first is not None:
        raise InputError(
            f"{first} has no file of the same document as {os.path.join(path, unknown[0])} (if the names end in languages, "
            f"-l must give these); {missing}"
        )
    check_all(path, "file", found, wanted, unknown, missing)
    return {document: found[document] for document in wanted}


def read_texts(path: str, files: Sequence[str], encoding: str) -> list[str]:
    """The texts of files in a folder, without byte-order marks, and without the numbers and times of subtitles."""
    texts = [read_text(file, encoding) for file in files]
    if marked := sum(text.startswith(BOM) for text in texts):
        notice(f"{path}: dropped the byte-order mark at the start of {counted(marked, 'file', 'files')}")
    return [without_times(text.removeprefix(BOM), file) for file, text in zip(files, texts, strict=True)]


def check_all(
    path: str, unit: str, found: Mapping[str, object], wanted: Sequence[str], unknown: Sequence[str], missing: str
) -> None:
    """Raise InputError if a document is missing; give notice of files or lines (`unit`) of no document."""
    if absent := [document for document in wanted if document not in found]:
        others = f"; it has {_listed(unknown)}" if unknown else ""
        many = f" (and of {len(absent) - 1:,} more)" if len(absent) > 1 else ""
        raise InputError(f"{path} has no {unit} of document {absent[0]!r}{many}{others}; {missing}")
    if unknown:
        what = counted(len(unknown), f"{unit} matches", f"{unit}s match")
        notice(f"{path}: {what} none of the document ids; left out: {_listed(unknown)}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*sorted(names)[:SHOWN], *["..."] * (len(names) > SHOWN)])


def read_streams(paths: Mapping[str, Sequence[str]], encoding: str, beside: Texts) -> dict[str, list[Segments]]:
    """The sources ("src") and references ("ref") of a run, and its document ids ("doc") if the paths name a folder.

    paths     by role: files with one segment per line, and folders with such a file per document, whose empty lines are
              passed over
    beside    has the documents and their order, if these are given; otherwise they are those of the first folder. It may
              have further streams, from files
    """
    languages, doc_ids = (beside.source_lang, beside.target_lang), beside.doc_ids
    alone = [path for of_role in paths.values() for path in of_role if not os.path.isdir(path)]
    alone += [each.name for each in (*(beside.references or ()), beside.sources) if isinstance(each, Segments)]
    folders = [path for of_role in paths.values() for path in of_role if os.path.isdir(path)]
    documents: dict[str, list[list[str]]] = {}
    first = None
    for path in folders:
        wanted = None if doc_ids is None else list(dict.fromkeys(doc_ids))
        needed = "sources and references need all documents"
        files = find_documents(path, wanted, languages, needed, first)
        documents[path] = list(map(_segments, files.values(), read_texts(path, [*files.values()], encoding)))
        if doc_ids is None:
            ids = [document for document, own in zip(files, documents[path], strict=True) for _ in own]
            doc_ids, first = named(ids, path), path
            order = f"in the order of the files of {path} ({_listed([*files])})"
            for file in alone:
                notice(f"{file}: read {order}; if its order is different, give --docids")
        name = getattr(doc_ids, "name", "") or "the document ids"
        for own, (start, end) in zip(documents[path], document_ranges(doc_ids, name), strict=True):
            if len(own) != end - start:
                raise InputError(
                    f"{path}: document {doc_ids[start]!r} has {counted(len(own), 'line', 'lines')} with text, but "
                    f"{end - start:,} in {name}",
                    fix="give the same segments, one per line, or leave one of the two out",
                )
    streams: dict[str, list[Segments]] = {
        role: [
            named([line for own in documents[path] for line in own], path)
            if path in documents
            else file_segments(path, encoding, subtitles=True)
            for path in of_role
        ]
        for role, of_role in paths.items()
        if of_role
    }
    if documents and doc_ids is not None:
        streams["doc"] = [named(doc_ids, getattr(doc_ids, "name", ""))]
    return streams


def with_streams(texts: Texts, streams: Mapping[str, list[Segments]]) -> Texts:
    [sources], [doc_ids] = (streams.get(role, [own]) for role, own in (("src", texts.sources), ("doc", texts.doc_ids)))
    return replace(texts, references=streams.get("ref", texts.references), sources=sources, doc_ids=doc_ids)


def _segments(file: str, text: str) -> list[str]:
    lines = [line for line in split_lines(text, file) if line]
    if not lines:
        raise InputError(f"{file} is empty", fix="it must hold one segment per line")
    return lines
