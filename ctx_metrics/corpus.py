"""A corpus of segments: hypotheses with references, sources, document ids and languages, and the one text reader."""

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from .errors import InputError
from .notices import notice, place

BOM = "\ufeff"


def read_lines(path: str, encoding: str = "utf-8") -> list[str]:
    """The lines of a text file (or .gz), as sacrebleu would count them.

    Lines end at "\\n" only: a lone carriage return, U+2028, U+0085 and form feed stay inside their line.
    Trailing white space goes, as in sacrebleu. A byte-order mark at the start is dropped, and said.

    Raises InputError for a file that cannot be read, or naming file, line and byte of text that is not in `encoding`.
    """
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            content = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{path}, line {line}: byte {column} (0x{content[error.start]:02x}) is not {encoding}; "
            "save the file as UTF-8 or name its encoding with -e"
        ) from error
    except LookupError as error:
        raise InputError(f"cannot read {path}: unknown encoding {encoding!r}") from error
    if text.startswith(BOM):
        text = text[1:]
        notice(f"{path}: dropped the byte-order mark at its start")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.rstrip() for line in lines]


@dataclass
class Corpus:
    """One system's hypotheses with all that a metric may read beside them. Checks itself once, when made.

    hypotheses    n strings
    references    streams of n strings each; None marks a missing reference, "" an empty one
    sources       n strings, or None
    doc_ids       n strings, or None; a document is a run of equal ids
    source_lang, target_lang    language codes such as "de", or None where unknown

    Raises InputError, naming the stream and the counts or the 1-based segment, when lengths differ, a string is missing,
    holds a lone surrogate, or a document id returns after its document has ended.
    """

    hypotheses: Sequence[str]
    references: Sequence[Sequence[Optional[str]]] = ()
    sources: Optional[Sequence[str]] = None
    doc_ids: Optional[Sequence[str]] = None
    source_lang: Optional[str] = None
    target_lang: Optional[str] = None

    def __post_init__(self):
        self.hypotheses = _checked("hypotheses", self.hypotheses)
        self.references = [
            _checked(f"reference stream {k}" if len(self.references) > 1 else "references", stream, True)
            for k, stream in enumerate(self.references, 1)
        ]
        if self.sources is not None:
            self.sources = _checked("sources", self.sources)
        if self.doc_ids is not None:
            self.doc_ids = list(_no_string("document ids", self.doc_ids))
        if not self.hypotheses:
            raise InputError("no hypotheses to score")
        for name, stream in self._streams():
            if len(stream) != len(self.hypotheses):
                raise InputError(f"{name}: {len(stream)} segments for {len(self.hypotheses)} hypotheses")
        self.documents()

    def _streams(self):
        for k, stream in enumerate(self.references, 1):
            yield (f"reference stream {k}" if len(self.references) > 1 else "references"), stream
        if self.sources is not None:
            yield "sources", self.sources
        if self.doc_ids is not None:
            yield "document ids", self.doc_ids

    def __len__(self) -> int:
        return len(self.hypotheses)

    def documents(self) -> list[tuple[int, int]]:
        """The documents as half-open ranges of segments, in order; all segments are one document where ids are absent.

        >>> Corpus(["a", "b", "c"], doc_ids=["x", "x", "y"]).documents()
        [(0, 2), (2, 3)]
        """
        if self.doc_ids is None:
            return [(0, len(self))]
        starts = [i for i, doc_id in enumerate(self.doc_ids) if i == 0 or doc_id != self.doc_ids[i - 1]]
        seen: dict[str, int] = {}
        for start in starts:
            doc_id = self.doc_ids[start]
            if doc_id in seen:
                raise InputError(
                    f"document ids, line {start + 1}: {doc_id!r} returns after its document (from line "
                    f"{seen[doc_id] + 1}) had ended; a document's lines must be together"
                )
            seen[doc_id] = start
        return list(zip(starts, [*starts[1:], len(self)]))


def _no_string(name: str, stream: Sequence) -> Sequence:
    if isinstance(stream, str):
        raise InputError(f"{name}: expected a list of strings, got one string")
    return stream


def _checked(name: str, stream: Sequence[Optional[str]], none_allowed: bool = False) -> list:
    """A list of clean strings: checks types and surrogates, drops a byte-order mark, and says what looks odd."""
    stream = list(_no_string(name, stream))
    with_nul = []
    for i, text in enumerate(stream):
        if text is None and none_allowed:
            continue
        if not isinstance(text, str):
            raise InputError(f"{name}, segment {i + 1}: expected a string, got {type(text).__name__}")
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
        notice(f"{name}: {len(with_nul)} segments hold NUL characters (segment {place(with_nul)}); kept as they are")
    if stream and stream[0] and stream[0].startswith(BOM):
        stream[0] = stream[0][1:]
        notice(f"{name}, segment 1: dropped the byte-order mark at its start")
    return stream
