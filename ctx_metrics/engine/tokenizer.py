"""Turn texts into token ids, in batches, with a checkpoint's own tokenizer."""

import base64
import json
import math
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ModelError
from ..opening import opening
from .checkpoint import is_quantised, silent
from .quantised import read_quantised

if TYPE_CHECKING:
    from tokenizers import Tokenizer


# The largest factor by which each kind of normalizer lengthens a text: NFKC writes U+FDFA as 18 letters.
_GROWTH = {"NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "Lowercase": 3, "BertNormalizer": 12, "ByteLevel": 4}
MOST_GROWTH = 4096
_MAY_BE_EMPTY = re.compile(r"^$|[*?|^$]|\{[0,]|\\[bBAzZGK]")  # finds a regex that may match between any two letters
TEXTS_AT_ONCE = 1024  # the library's encodings of more texts take much memory
MANY = 100_000  # texts from which on the library's tokenizer, which runs on all cores, is worth its memory
VOCABULARIES = ("vocab.txt", "vocab.json", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model")


class TokenIds(NamedTuple):
    """Token ids of one text, or of several in one sequence, with the special tokens around them.

    cut       number of content tokens that were cut off at the end
    second    index from which tokens are of type 1, as BERT marks the second text; None if all are of type 0
    """

    ids: np.ndarray
    cut: int
    second: int | None = None

    @property
    def key(self) -> bytes:
        """All that the encoder sees of the text: equal keys have equal hidden states."""
        return self.ids.tobytes() + (b"" if self.second is None else b"|%d" % self.second)

    @property
    def content(self) -> int:
        """Number of tokens without the two special ones; 0 for an empty text."""
        return len(self.ids) - 2


class TextTokenizer:
    """The fast tokenizer of a checkpoint folder, which puts two special tokens around each text.

    most         most content tokens of a text that the model can read; None: no limit
    separator    id of the token that ends a text
    """

    def __init__(self, folder: Path, most: int | None = None):
        self._most, self._folder = most, folder
        self.pad: int | None
        self._unigram = read_quantised(folder).unigram() if is_quantised(folder) else None
        if self._unigram is not None:
            self._first, self.pad, self.separator = self._unigram(["<s><pad></s>"])[0]
            return
        specials = self.backend.encode("").ids
        if len(specials) != 2:
            raise ModelError(f"{folder}: its tokenizer puts {len(specials)} special tokens around a text, not 2")
        self._first, self.separator = specials
        self.pad = next((i for t in ("<pad>", "[PAD]") if (i := self.backend.token_to_id(t)) is not None), None)

    @cached_property
    def backend(self) -> "Tokenizer":
        """The tokenizer of the library tokenizers. The multilingual encoder's takes 260 MB; token ids do not need it."""
        from tokenizers import Tokenizer

        folder = self._folder
        path = folder / "tokenizer.json"
        if not is_quantised(folder) and not any(
            (folder / name).exists() for name in (path.name, *VOCABULARIES)
        ):  # transformers would make one up
            raise ModelError(f"{folder}: its tokenizer is missing: none of tokenizer.json, {', '.join(VOCABULARIES)}")
        fix = "" if path.exists() else "; to read older formats: pip install 'sentencepiece>=0.2' protobuf"
        with opening(folder, f": its tokenizer cannot be loaded: {{why}}{fix}"):
            if is_quantised(folder):
                backend = read_quantised(folder).tokenizer()
            elif path.exists():
                backend = Tokenizer.from_file(str(path))
            else:  # older checkpoints hold only a vocabulary or a sentencepiece model, which transformers converts
                from transformers import AutoTokenizer

                with silent():
                    fast = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, use_fast=True)
                backend = fast.backend_tokenizer
            backend.no_truncation()
            backend.no_padding()
            check_growth(backend)
            backend.encode("")  # raises if the tokenizer cannot run
        return backend

    @property
    def joins_spaces(self) -> bool:
        """Whether a word's tokens depend on the space before it, as byte-level tokens do."""
        from tokenizers.pre_tokenizers import ByteLevel

        return self._unigram is None and isinstance(self.backend.pre_tokenizer, ByteLevel)

    @property
    def separator_token(self) -> str:
        """The separator as a string; the tokenizer reads it as that token wherever it occurs in a text."""
        if self._unigram is not None:
            return next(name for name, number in self._unigram.specials.items() if number == self.separator)
        return self.backend.id_to_token(self.separator)

    def __call__(self, texts: Sequence[str], max_content: int | None = None) -> list[TokenIds]:
        """Return the token ids of each text, cut off after `max_content` content tokens or the most that the model reads."""
        kept = min((limit for limit in (max_content, self._most) if limit), default=None)
        content = self._content if self._unigram is None or len(texts) >= MANY else self._unigram
        result = []
        for begin in range(0, len(texts), TEXTS_AT_ONCE):
            result += [self._framed(whole, kept) for whole in content(texts[begin : begin + TEXTS_AT_ONCE])]
        return result

    def _framed(self, whole: Sequence[int], kept: int | None) -> TokenIds:
        content = whole[:kept]
        ids = np.array([self._first, *content, self.separator], dtype=np.int32)
        return TokenIds(ids, len(whole) - len(content))

    def _content(self, texts: Sequence[str]) -> Iterable[list[int]]:
        encode = getattr(self.backend, "encode_batch_fast", self.backend.encode_batch)
        return (encoding.ids for encoding in encode(list(texts), add_special_tokens=False))

    def offsets(self, texts: Sequence[str], max_content: int) -> list[list[tuple[int, int]]]:
        """Character offsets (start, end) of each text's first `max_content` tokens; the two special tokens have (0, 0)."""
        return [
            [(0, 0), *encoding.offsets[:max_content], (0, 0)]
            for encoding in self.backend.encode_batch(list(texts), add_special_tokens=False)
        ]

    def located(self, texts: Sequence[str]) -> tuple[list[TokenIds], list[np.ndarray]]:
        """The token ids of each text, as a call returns them, and the characters that its content tokens begin with, int64
        [content tokens], from one pass."""
        ids: list[TokenIds] = []
        begins: list[np.ndarray] = []
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            some = list(texts[first : first + TEXTS_AT_ONCE])
            for encoding in self.backend.encode_batch(some, add_special_tokens=False):
                ids.append(self._framed(encoding.ids, self._most))
                begins.append(np.array(encoding.offsets[: self._most], np.int64).reshape(-1, 2)[:, 0])
        return ids, begins

    def decode(self, ids: Sequence[int]) -> str:
        return self.backend.decode(list(ids), skip_special_tokens=False)


def check_growth(backend: "Tokenizer") -> None:
    """Raise ValueError if a tokenizer lengthens texts too much: if memory runs out, Rust ends the process."""
    parts = [json.loads(part.__getstate__()) for part in (backend.normalizer, backend.decoder) if part is not None]
    growth = max(map(_growth, parts), default=1)
    if growth > MOST_GROWTH or len(backend.encode("a", add_special_tokens=False).ids) > MOST_GROWTH:
        raise ValueError("it multiplies the length of a text, which no tokenizer does; fetch the model again")


def _growth(part: dict) -> float:
    """The largest factor by which a normalizer or decoder lengthens a text."""
    kind = part.get("type", "")
    if kind == "Sequence":
        return math.prod(map(_growth, part.get("normalizers") or part.get("decoders") or []))
    if kind == "Precompiled":  # sentencepiece's table: size of a tree, the tree, replacements, each ended by a 0
        table = base64.b64decode(part["precompiled_charsmap"])
        return max(map(len, table[4 + int.from_bytes(table[:4], "little") :].split(b"\0")), default=1) or 1
    if kind == "Prepend":
        return 1 + len(part["prepend"])
    if kind == "Replace":
        regex, written = part["pattern"].get("Regex"), len(part["content"])
        if regex is None:
            return max(1, written / max(1, len(part["pattern"]["String"])))
        return written + 1 if _MAY_BE_EMPTY.search(regex) else max(1, written)
    return _GROWTH.get(kind, 1)
