"""A corpus of segments: hypotheses with references, sources, document ids and languages, and the one text reader."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from unicodedata import category

from .errors import InputError
from .notices import counted, notice, place
from .unpacking import lines_of, unpacked
from .wording import worded

BOM = "\ufeff"
# Characters that show nothing but are neither white space nor of the category for format: Hangul's and Khmer's
# fillers, joiners of graphemes, the empty Braille pattern, variation selectors.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0") | {
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
}


def read_lines(path: str, encoding: str | None = None) -> list[str]:
    """The lines of a text file (or .gz, .xz), counted as sacrebleu counts them.

    Lines end at "\\n" only: a lone carriage return, U+2028, U+0085 and form feed stay inside their line.
    Trailing white space is removed, as in sacrebleu. A byte-order mark at the start is removed, with a notice.

    Raises InputError for a file that cannot be read, and for text that is not in `encoding`, with the file, line and byte.
    """
    text = read_text(path, encoding)
    if text.startswith(BOM):
        text = text[1:]
        notice(f"{path}: dropped the byte-order mark at its start")
    return split_lines(text, path)


def read_text(path: str, encoding: str | None = None) -> str:
    """All of a text file (or .gz, .xz), as it is; raises InputError as read_lines does.

    What is compressed can hold far more than its size: its lines may have unpacking.LONGEST bytes.
    """
    kind = path[-2:] if path.endswith((".gz", ".xz")) else ""
    try:
        with open(path, "rb") as file:
            content = b"".join(lines_of(unpacked(file, kind, path), path)) if kind else file.read()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    return decode(content, path, encoding)


def decode(content: bytes, name: str, encoding: str | None = None) -> str:
    """The text of some bytes; raises InputError naming the line and byte, in what `name` says, that are not text.

    encoding    None where the user cannot choose one: UTF-8
    """
    name_it = worded("-e", "encoding")
    mend = "save it as UTF-8" + (f" or name its encoding with {name_it}" if encoding else "")
    encoding = encoding or "utf-8"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column, byte = error.start - content.rfind(b"\n", 0, error.start), content[error.start]
        raise InputError(f"{name}, line {line}: byte {column} (0x{byte:02x}) is not {encoding}; {mend}") from error
    except UnicodeError as error:  # of encodings such as punycode, which do not say where
        raise InputError(f"{name} is not {encoding}; {mend}") from error
    except LookupError as error:
        raise InputError(
            f"cannot read {name}: unknown encoding {encoding!r}; {name_it} takes one such as utf-8"
        ) from error


def split_lines(text: str, name: str = "") -> list[str]:
    """The lines of a text, which end at "\\n" only, without the white space at their ends.

    Says of a text with a name, such as a file's, if it is one line with carriage returns inside.

    >>> split_lines("one \\ntwo\\r\\n")
    ['one', 'two']
    """
    lines = [line.rstrip() for line in text.removesuffix("\n").split("\n")] if text else []
    if name and len(lines) == 1 and (returns := lines[0].count("\r")):
        inside = counted(returns, "carriage return", "carriage returns")
        notice(f"{name}: one line with {inside} inside; only a line feed ends a line: save the file with line feeds")
    return lines


def json_of(line: str, where: str) -> Any:
    """What a line of JSON lines holds; raises InputError, with the file and line of `where`, for one that is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{where}: not JSON ({why}); write one object per line") from error


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: it is empty, or holds only white space and invisible characters, such as a zero-width
    space.

    >>> is_blank(""), is_blank(" \u200b\u2060 "), is_blank("a\u200b")
    (True, True, False)
    """
    text = text.strip()
    if text[:1].isascii():  # as nearly every text begins, so that no more is looked at
        return not text
    return all(character.isspace() or category(character) == "Cf" or character in _INVISIBLE for character in text)


def without_invisible(text: str) -> str:
    """The text, but "" for one of invisible characters only; white space alone stays as it is.

    >>> without_invisible("\u200b"), without_invisible("a\u200b"), without_invisible(" ")
    ('', 'a\u200b', ' ')
    """
    return "" if is_blank(text) and text.strip() else text


@dataclass
class Corpus:
    """One system's hypotheses with all that a metric may read beside them. Checks itself once, when made.

    hypotheses    n strings; one of invisible characters only becomes "", and counts as empty everywhere
    references    streams of n strings each; None marks a missing reference, "" an empty one
    sources       n strings, or None
    doc_ids       n strings, or None; a document is a run of equal ids
    source_lang, target_lang    language codes such as "de", or None where unknown
    inputs        what else the metric reads, by keyword (see run.inputs): of an input with one stream for each system the
                  n strings of this one, of others all streams, or None

    Raises InputError, naming the stream and the counts or the 1-based segment, when lengths differ, a string is missing,
    holds a lone surrogate, or a document id returns after its document has ended.
    """

    hypotheses: Sequence[str]
    references: Sequence[Sequence[str | None]] = ()
    sources: Sequence[str] | None = None
    doc_ids: Sequence[str] | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        self.hypotheses = [without_invisible(text) for text in _checked("hypotheses", self.hypotheses)]
        numbers = range(1, len(self.references) + 1)
        names = [f"reference stream {k}" if len(numbers) > 1 else "references" for k in numbers]
        self.references = [_checked(*named, True) for named in zip(names, self.references, strict=True)]
        if self.sources is not None:
            self.sources = _checked("sources", self.sources)
        if self.doc_ids is not None:
            self.doc_ids = list_of_strings("document ids", self.doc_ids)
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
        """The documents as half-open ranges of segments, in order; all segments are one document where ids are absent.

        >>> Corpus(["a", "b", "c"], doc_ids=["x", "x", "y"]).documents()
        [(0, 2), (2, 3)]
        """
        return [(0, len(self))] if self.doc_ids is None else document_ranges(self.doc_ids)


def document_ranges(doc_ids: Sequence[str], name: str = "document ids") -> list[tuple[int, int]]:
    """The runs of equal ids as half-open ranges; raises InputError, saying where, if an id returns or is missing.

    >>> document_ranges(["x", "x", "y"])
    [(0, 2), (2, 3)]
    """
    for i, doc_id in enumerate(doc_ids):
        if not isinstance(doc_id, str) or not doc_id.strip():
            raise InputError(f"{name}, line {i + 1}: the document id is missing; every line needs one")
    starts = [i for i, doc_id in enumerate(doc_ids) if i == 0 or doc_id != doc_ids[i - 1]]
    seen: dict[str, int] = {}
    for start in starts:
        doc_id = doc_ids[start]
        if doc_id in seen:
            raise InputError(
                f"{name}, line {start + 1}: {doc_id!r} returns after its document (from line "
                f"{seen[doc_id] + 1}) had ended; a document's lines must be together"
            )
        seen[doc_id] = start
    return list(pairwise([*starts, len(doc_ids)]))


def digest(texts: Sequence[str]) -> str:
    """A hash of a list of texts: equal for equal lists alone."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else repr(text).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def list_of_strings(name: str, stream: Collection) -> list:
    """A list of what a collection holds; raises InputError for one string, which would be taken for its letters."""
    if isinstance(stream, str) or not isinstance(stream, Collection):
        given = "one string" if isinstance(stream, str) else type(stream).__name__
        raise InputError(f"{name}: expected a list of strings, got {given}")
    return list(stream)


def _checked(name: str, stream: Sequence[str | None], none_allowed: bool = False) -> list:
    """A list of clean strings: checks types and surrogates, drops a byte-order mark, and says what looks odd."""
    stream = list_of_strings(name, stream)
    with_nul = []
    for i, text in enumerate(stream):
        if text is None and none_allowed:
            continue
        if not isinstance(text, str):
            what = "nan, a missing value" if text != text else type(text).__name__
            raise InputError(f"{name}, segment {i + 1}: expected a string, got {what}")
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise InputError(
                    f"{name}, segment {i + 1}: lone surrogate U+{ord(text[error.start]):04X} at character "
                    f"{error.start + 1} is not text; decode the input as UTF-8"
                ) from error
        if "\0" in text:
            with_nul.append(i)
    if with_nul:
        hold = counted(len(with_nul), "segment holds", "segments hold")
        notice(f"{name}: {hold} NUL characters (segment {place(with_nul)}); kept as they are")
    if stream and stream[0] and stream[0].startswith(BOM):
        stream[0] = stream[0][1:]
        notice(f"{name}, segment 1: dropped the byte-order mark at its start")
    return stream
