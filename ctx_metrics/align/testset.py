"""Test sets of WMT25 and later: JSON lines with one document each, whose segments are paragraphs."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..corpus import Segments, named
from ..errors import InputError
from ..notices import counted, notice
from ..reading import json_object, read_text, without_mark
from ..run.references import ReferenceKind
from .inputs import check_whole, differ, of_others

_BETWEEN = re.compile(r"\n[^\S\n]*\n\s*|(?<=</p>)\s*(?=<p>)")  # blank lines, or the paragraphs of WMT26's HTML
# The kind of a reference, by words of its type or name: human, postedit and pseudo at WMT26.
_KINDS: dict[str, ReferenceKind] = {
    "post": "post-edited",
    "pseudo": "synthetic",
    "synth": "synthetic",
    "human": "human",
}


class TestSet(NamedTuple):
    """Segments; `names` are those of the references, such as refA, and `kinds` how they were made, as far as known."""

    sources: Segments
    references: list[Segments]
    doc_ids: Segments
    names: list[str]
    kinds: Collection[ReferenceKind]

    @property
    def streams(self) -> dict[str, list[Segments]]:
        """By role, without an empty one."""
        found = {"src": [self.sources], "doc": [self.doc_ids]}
        return found | ({"ref": self.references} if self.references else {})


def read_test_set(path: str, encoding: str, languages: tuple[str | None, str | None]) -> TestSet:
    """Return the segments of a test set's language pair.

    Each line has doc_id, src_text, and refs, which holds the text of a reference, or {"ref": its text, "type": its kind}, by
    name. Blank lines, and paragraphs of HTML, end a segment in src_text and in each reference; a document where they do not
    agree is one segment, with a notice. Lines of other `languages` (src_lang, tgt_lang) are left out.
    """
    kinds: dict[ReferenceKind, None] = {}
    variants: dict[str, None] = {}
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
        if isinstance(row.get("tgt_lang"), str):
            variants[row["tgt_lang"]] = None
        for key in ("doc_id", "src_text"):
            if not isinstance(row.get(key), str) or not row[key].strip():
                raise InputError(f"{where}: {key} is missing", fix="each line needs doc_id and src_text, as text")
            check_whole(row[key], f"{where}: {key}")
        if row["doc_id"] in documents:
            named_twice = f"{where}: document {row['doc_id']!r} appeared before"
            raise InputError(
                f"{named_twice}, {_among(variants)}" if len(variants) > 1 else f"{named_twice}; leave one out"
            )
        references = _references(row.get("refs"), where)
        if names is not None and {*names} != references.keys():
            there, before = (", ".join(each) or "no references" for each in (references, names))
            raise InputError(f"{where} has {there}, but earlier lines have {before}")
        names = names or [*references]
        kinds |= dict.fromkeys(_kinds(row.get("refs")))
        own = [row["src_text"], *(references[name] for name in names)]
        documents[row["doc_id"]] = [_BETWEEN.split(text.strip()) for text in own]
    if not documents:
        raise InputError(f"{path} has no document of the language pair", fix="check the file and -l")
    if len(variants) > 1:
        raise InputError(f"{path} has documents {_among(variants)}")
    if foreign:
        notice(of_others(path, foreign))
    uneven = {name: None for name, texts in documents.items() if len(set(map(len, texts))) > 1}
    if uneven:
        what = counted(len(uneven), "document has", "documents have")
        apart = "different paragraphs in source and reference; each is one segment"
        notice(f"{path}: {what} {apart}: {next(iter(uneven))}")
    streams: list[list[str]] = [[] for _ in range(1 + len(names or ()))]
    doc_ids: list[str] = []
    for name, texts in documents.items():
        for stream, paragraphs in zip(streams, texts, strict=True):
            lines = [" ".join(paragraph.split()) for paragraph in paragraphs]
            stream += [" ".join(lines)] if name in uneven else lines
        doc_ids += [name] * (len(streams[0]) - len(doc_ids))
    sources, *references_of_all = (named(stream, path) for stream in streams)
    return TestSet(sources, references_of_all, named(doc_ids, path), names or [], kinds)


def _kinds(given: Any) -> Iterator[ReferenceKind]:
    for name, value in (given if isinstance(given, dict) else {}).items():
        said = str(value.get("type") or name if isinstance(value, dict) else name).lower()
        yield from [kind for word, kind in _KINDS.items() if word in said][:1]


def _references(given: Any, where: str) -> Mapping[str, str]:
    texts: dict[str, str] = {}
    if given is not None and not isinstance(given, dict):
        raise InputError(f'{where}: refs is not an object, such as {{"refA": {{"ref": "..."}}}}')
    for name, value in (given or {}).items():
        text = value.get("ref") if isinstance(value, dict) else value
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{where}: the reference {name} has no text", fix="leave it out of all lines")
        check_whole(text, f"{where}: the reference {name}")
        texts[name] = text
    return texts


def _among(variants: Collection[str]) -> str:
    return f"in {' and in '.join(variants)}; name one of them with -l"
