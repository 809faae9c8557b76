"""Test sets of WMT25 and later: JSON lines with one document each, whose segments are paragraphs."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..corpus import Segments, named
from ..errors import InputError
from ..notices import counted, notice
from ..reading import json_object, read_text, without_mark
from .inputs import differ

_BETWEEN = re.compile(r"\n[^\S\n]*\n\s*")  # a blank line, or several


class TestSet(NamedTuple):
    """Segments; `names` are those of the references, such as refA."""

    sources: Segments
    references: list[Segments]
    doc_ids: Segments
    names: list[str]

    @property
    def streams(self) -> dict[str, list[Segments]]:
        """By role, without an empty one."""
        found = {"src": [self.sources], "doc": [self.doc_ids]}
        return found | ({"ref": self.references} if self.references else {})


def read_test_set(path: str, encoding: str, languages: tuple[str | None, str | None]) -> TestSet:
    """Return the segments of a test set's language pair.

    Each line has doc_id, src_text, and refs, which holds the text of a reference, or {"ref": its text}, by name. The blank
    lines in src_text and in each reference end a segment; a document where they do not agree is one segment, with a notice.
    Lines of other `languages` (src_lang, tgt_lang) are left out.
    """
    documents: dict[str, list[list[str]]] = {}
    names: list[str] | None = None
    foreign = 0
    for number, line in enumerate(without_mark(read_text(path, encoding), path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = json_object(line, where, "an object with doc_id and src_text")
        if any(differ(row.get(key), own) for key, own in zip(("src_lang", "tgt_lang"), languages, strict=True)):
            foreign += 1
            continue
        for key in ("doc_id", "src_text"):
            if not isinstance(row.get(key), str) or not row[key].strip():
                raise InputError(f"{where}: there is no {key}; each line needs doc_id and src_text")
        if row["doc_id"] in documents:
            raise InputError(f"{where}: document {row['doc_id']!r} is there already; leave one out")
        references = _references(row.get("refs"), where)
        if names is not None and names != [*references]:
            there = ", ".join(references) or "none"
            raise InputError(
                f"{where}: its references are {there}, but {', '.join(names) or 'none'} in the lines before"
            )
        names = [*references]
        documents[row["doc_id"]] = [_BETWEEN.split(text.strip()) for text in (row["src_text"], *references.values())]
    if not documents:
        raise InputError(f"{path} has no document of the language pair; check the file and -l")
    if foreign:
        notice(f"{path}: {counted(foreign, 'line is', 'lines are')} of another language pair than -l and left out")
    uneven = {name: None for name, texts in documents.items() if len(set(map(len, texts))) > 1}
    if uneven:
        what = counted(len(uneven), "document has", "documents have")
        notice(
            f"{path}: {what} other paragraphs in references than in the source, and is one segment: {next(iter(uneven))}"
        )
    streams: list[list[str]] = [[] for _ in range(1 + len(names or ()))]
    doc_ids: list[str] = []
    for name, texts in documents.items():
        for stream, paragraphs in zip(streams, texts, strict=True):
            lines = [" ".join(paragraph.split()) for paragraph in paragraphs]
            stream += [" ".join(lines)] if name in uneven else lines
        doc_ids += [name] * (len(streams[0]) - len(doc_ids))
    sources, *references_of_all = (named(stream, path) for stream in streams)
    return TestSet(sources, references_of_all, named(doc_ids, path), names or [])


def _references(given: Any, where: str) -> Mapping[str, str]:
    texts: dict[str, str] = {}
    for name, value in (given if isinstance(given, dict) else {}).items():
        text = value.get("ref") if isinstance(value, dict) else value
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{where}: the reference {name} has no text; leave it out of all lines")
        texts[name] = text
    return texts
