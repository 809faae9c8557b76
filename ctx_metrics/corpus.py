"""The corpus: hypotheses, references, sources, document ids and languages."""

import hashlib
import math
from collections.abc import Collection, Iterator, KeysView, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real
from reprlib import repr as short
from typing import Any
from unicodedata import category

from .errors import InputError
from .notices import Notice, counted, notice
from .reading import BOM

# Invisible characters that are neither white space nor in the Unicode category Cf (format): Hangul fillers, inherent
# vowels of Khmer, the combining grapheme joiner, the blank Braille pattern, variation selectors.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0") | {
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
}


def is_blank(text: str) -> bool:
    """Whether a text is empty or holds only white space and invisible characters, such as a zero-width space.

    >>> is_blank(""), is_blank(" \u200b\u2060 "), is_blank("a\u200b")
    (True, True, False)
    """
    text = text.strip()
    if text[:1].isascii():  # true of nearly every text, and settles the question quickly
        return not text
    return all(character.isspace() or category(character) == "Cf" or character in _INVISIBLE for character in text)


def without_invisible(text: str) -> str:
    """Return the text, or "" if it contains invisible characters but nothing visible; white space alone is kept.

    >>> without_invisible("\u200b"), without_invisible("a\u200b"), without_invisible(" ")
    ('', 'a\u200b', ' ')
    """
    return "" if is_blank(text) and text.strip() else text


def without_empty(references: Sequence[Sequence[str | None]]) -> tuple[Sequence[Sequence[str | None]], list[int]]:
    """Return reference streams with None for empty references of segments that have others, and these segments.

    In files with several references, an empty line marks a segment that has fewer of them.

    >>> without_empty([["a", ""], ["", " "]])
    ([['a', ''], [None, ' ']], [0])
    """
    if len(references) < 2:
        return references, []
    places = []
    streams = [list(stream) for stream in references]
    for i, texts in enumerate(zip(*references, strict=False)):
        blank = [isinstance(text, str) and is_blank(text) for text in texts]
        if any(blank) and any(text is not None and not own for text, own in zip(texts, blank, strict=True)):
            places.append(i)
            for stream, own in zip(streams, blank, strict=True):
                if own:
                    stream[i] = None
    return streams if places else references, places


@dataclass
class Corpus:
    """One system's hypotheses, and everything else that a metric may read. It is validated once, on construction.

    hypotheses    n strings; a string of invisible characters becomes "" and counts as empty everywhere
    references    streams of n strings each; None marks a missing reference, as does an empty one among several
    doc_ids       n strings, or None; a document is a run of equal ids
    source_lang, target_lang    language codes such as "de", or None if unknown
    inputs        further inputs of the metric, by keyword (see scoring.inputs): for an input with one stream per system,
                  this system's n strings; for others, all streams, or None
    """

    hypotheses: Sequence[str]
    references: Sequence[Sequence[str | None]] = ()
    sources: Sequence[str] | None = None
    doc_ids: Sequence[str] | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    left_out: Sequence[int] = field(init=False)  # segments with an empty reference among several

    def __post_init__(self):
        self.hypotheses = [without_invisible(text) for text in checked_stream("hypotheses", self.hypotheses)]
        numbers = range(1, len(self.references) + 1)
        names = [f"reference stream {k}" if len(numbers) > 1 else "references" for k in numbers]
        self.references = [checked_stream(*named, True) for named in zip(names, self.references, strict=True)]
        self.references, self.left_out = without_empty(self.references)
        if self.sources is not None:
            self.sources = checked_stream("sources", self.sources)
        if self.doc_ids is not None:
            self.doc_ids = [document_id(each) for each in list_of_strings("document ids", self.doc_ids)]
        if not self.hypotheses:
            raise InputError("no hypotheses to score")
        aligned = zip([*names, "sources", "document ids"], [*self.references, self.sources, self.doc_ids], strict=True)
        for name, stream in aligned:
            if stream is not None and len(stream) != len(self.hypotheses):
                segments = counted(len(stream), "segment", "segments")
                hypotheses = counted(len(self.hypotheses), "hypothesis", "hypotheses")
                raise InputError(f"{name}: {segments} for {hypotheses}")
        self.documents()

    def __len__(self) -> int:
        return len(self.hypotheses)

    def documents(self) -> list[tuple[int, int]]:
        """Return the documents as half-open ranges of segments, in order; without ids, all segments are one document.

        >>> Corpus(["a", "b", "c"], doc_ids=["x", "x", "y"]).documents()
        [(0, 2), (2, 3)]
        """
        return [(0, len(self))] if self.doc_ids is None else document_ranges(self.doc_ids)


class Segments(list):
    """A stream of segments.

    name       its file, or another name for messages
    indices    positions in the whole test set, if sacrebleu selected some of its segments (--origlang, --subset, --detail)
    """

    indices: list[int] | None = None
    name: str = ""


def named(lines: Sequence[str | None], name: str, indices: list[int] | None = None) -> Segments:
    segments = Segments(lines)
    segments.name, segments.indices = name, indices
    return segments


def document_ranges(doc_ids: Sequence[str], name: str = "document ids") -> list[tuple[int, int]]:
    """Return the runs of equal ids as half-open ranges; raise InputError, naming the line, if an id returns or is missing.

    >>> document_ranges(["x", "x", "y"])
    [(0, 2), (2, 3)]
    """
    for i, doc_id in enumerate(doc_ids):
        if is_missing(doc_id) or (isinstance(doc_id, str) and not doc_id.strip()):
            missing = "the document id is missing"
            raise InputError(missing, about=name, segment=i, unit="line", fix="every line needs one")
        if not isinstance(doc_id, str):
            wrong = f"the document id {short(doc_id)} is neither a string nor a whole number"
            raise InputError(wrong, about=name, segment=i, unit="line")
    starts = [i for i, doc_id in enumerate(doc_ids) if i == 0 or doc_id != doc_ids[i - 1]]
    seen: dict[str, int] = {}
    for start in starts:
        doc_id = doc_ids[start]
        if doc_id in seen:
            began = f"it began {start - seen[doc_id]} lines before"
            apart = f"{doc_id!r} returns after its document had ended ({began})"
            raise InputError(apart, about=name, segment=start, unit="line", fix="a document's lines must be together")
        seen[doc_id] = start
    return list(pairwise([*starts, len(doc_ids)]))


def digest(texts: Sequence[str]) -> str:
    """Return the SHA-256 of a list of texts as hex digits; the lengths are hashed too, so ["ab"] and ["a", "b"] differ."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else repr(text).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def list_of_strings(name: str, stream: Collection) -> list:
    """Return a collection as a list; raise InputError for one without an order, and for a single string or a table, which
    would be split into its letters or the names of its columns."""
    if hasattr(stream, "columns"):
        raise InputError(
            f"{name}: this is a table", fix="give one of its columns, or dict(table[['a', 'b']]) for systems"
        )
    if isinstance(stream, Mapping):
        raise InputError(
            f"{name}: this is a dict", fix="give a list of its texts, in the order of the segments or documents"
        )
    if isinstance(stream, Set) and not isinstance(stream, KeysView):
        raise InputError(
            f"{name}: a {type(stream).__name__} has no order and drops texts that are equal", fix="give a list"
        )
    if isinstance(stream, (str, bytes)) or not isinstance(stream, Collection) or getattr(stream, "ndim", 1) == 0:
        given = "one string" if isinstance(stream, str) else f"{type(stream).__name__}"
        given += " without dimensions" if getattr(stream, "ndim", 1) == 0 else ""
        fix = "give list(...) of it" if isinstance(stream, Iterator) else ""
        raise InputError(f"{name}: expected a list of strings, got {given}", fix=fix)
    return list(stream)


def is_missing(value: Any) -> bool:
    """Whether a value is one that tables have in place of a missing one: None, NaN, NaT or pandas.NA.

    >>> is_missing(float("nan")), is_missing("nan"), is_missing(0)
    (True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # arrays, which have no truth
        return False


def document_id(doc: Any) -> Any:
    """Return a document id as text: tables often number their documents, and have 1.0 for 1 where one has no number.

    >>> document_id(7), document_id(7.0), document_id("a"), document_id(None)
    ('7', '7', 'a', None)
    """
    if isinstance(doc, bool) or not isinstance(doc, Real) or doc != doc:
        return doc
    return str(int(doc)) if math.isfinite(doc) and doc == int(doc) else doc


def check_text(name: str, segment: int, text: Any) -> None:
    """Raise InputError unless a segment of a stream is a string."""
    if not isinstance(text, str):
        what = f"{text}, a missing value" if text is not None and is_missing(text) else type(text).__name__
        raise InputError(f"expected a string, got {what}", about=name, segment=segment)


def checked_stream(name: str, stream: Collection[str | None], none_allowed: bool = False) -> list:
    """Return a stream as a list without its byte-order mark; gives notice of that mark and of NUL characters."""
    stream = list_of_strings(name, stream)
    with_nul = []
    for i, text in enumerate(stream):
        if text is None and none_allowed:
            continue
        check_text(name, i, text)
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                surrogate = f"lone surrogate U+{ord(text[error.start]):04X} at character {error.start + 1} is not text"
                raise InputError(surrogate, about=name, segment=i, fix="decode the input as UTF-8") from error
        if "\0" in text:
            with_nul.append(i)
    if with_nul:
        kept = "NUL characters, which are kept"
        notice(Notice.at(with_nul, f"segment holds {kept}", f"segments hold {kept}", about=name))
    if stream and stream[0] and stream[0].startswith(BOM):
        stream[0] = stream[0][1:]
        notice(Notice.at([0], "segment starts with a byte-order mark, which is dropped", "", about=name))
    return stream
