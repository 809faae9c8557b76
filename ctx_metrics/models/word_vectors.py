"""Word vectors from GloVe and word2vec text files, which are streamed; only the wanted words are kept."""

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ..errors import InputError
from ..opening import file_sha256, same_hashes
from ..reading import byte_lines
from ..writing import os_errors

_BOM = b"\xef\xbb\xbf"
_DIGITS = 18  # most digits of a number in word2vec's header
_LINES_A_STEP = 5000  # between two updates of the progress bar


def read_vectors(path: str, words: Collection[str], quiet: bool = False, unit: bool = True) -> dict[str, np.ndarray]:
    """The vectors of `words` in a text file (or .gz, .xz): {word: fp32 [dimensions]}.

    unit    whether to scale vectors to length 1. A vector of zeros has no direction and then counts as missing;
            without scaling it is kept

    A line holds a word and its numbers, separated by single blanks. A first line of two whole numbers is word2vec's header.
    A word may contain blanks, as some in GloVe do; the header or the first line determines the number of dimensions. If a
    word has several lines, the first one counts.
    """
    wanted = {word.encode(): word for word in words}
    vectors: dict[str, np.ndarray] = {}
    announced: int | None = None
    dimensions = number = 0
    for number, line in enumerate(_lines(path, quiet), 1):
        line = _stripped(line, number)
        if number == 1:
            announced, dimensions = _header(line, path)
            if announced is not None:
                continue
        extra = line.count(b" ") - dimensions
        if extra > 0:
            # a word with blanks is never wanted, since words come from a tokenizer. But an extra number is an error
            extra = -1 if _is_number(line.rsplit(b" ", dimensions + 1)[1]) else extra
        if extra < 0:
            raise InputError(
                f"{path}, line {number}: it is not a word and {dimensions} numbers, as in the first line; word vectors "
                "must be a GloVe or word2vec text file (not word2vec's binary one); fetch or convert it again"
            )
        if extra:
            continue
        text, _, values = line.partition(b" ")
        word = wanted.get(text)
        if word is None or word in vectors:
            continue
        vector = _numbers(values, unit)
        if not np.isfinite(vector).all():
            raise InputError(f"{path}, line {number}: the vector of {word!r} holds a number that is not finite")
        if vector.any() or not unit:
            vectors[word] = vector
    if number == 0:
        raise _empty(path)
    if announced is not None and number - 1 != announced:
        raise InputError(
            f"{path}: its first line announces {announced} words, but {number - 1} follow", fix="fetch it again"
        )
    return vectors


class VectorFile:
    """A GloVe or word2vec text file that looks up the words of texts.

    dimensions    length of a vector, from the file's first line
    """

    def __init__(self, path: str, quiet: bool = False, unit: bool = True):
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

        self.path, self._quiet, self._unit = path, quiet, unit
        if os.path.exists(path) and not os.path.isfile(path):
            raise InputError(
                f"cannot read {path}: word vectors are read more than once, so they must be in a plain file"
            )
        # errors at the start of the file are reported before anything is scored
        first = next(_lines(path, True), None)
        if first is None:
            raise _empty(path)
        _, self.dimensions = _header(_stripped(first, 1), path)
        self._hashes = self._hashed()
        self._tokenize = Tokenizer13a()
        self._asked: set[str] = set()
        self._vectors: dict[str, np.ndarray] = {}

    def __getstate__(self) -> dict:
        # a pickle for another process leaves out the vectors: they are read again there if needed
        return {**self.__dict__, "_asked": set(), "_vectors": {}}

    def is_current(self) -> bool:
        return same_hashes(self._hashes, self._hashed)

    def _hashed(self) -> dict[str, str]:
        return {"fckpt": file_sha256(Path(self.path))[:12]}

    def signature(self) -> dict:
        return {"vectors": os.path.basename(self.path), **self._hashes}

    def __call__(self, texts: Sequence[str]) -> Iterator[list[np.ndarray | None]]:
        """For each text, the vectors of its words, fp32 [dimensions] each; None for words that the file does not have.

        Words are the tokens of sacrebleu's 13a tokenizer, looked up as they are, then in lower case. The file is read
        once for all words that no earlier call asked for.
        """
        words = [[sys.intern(word) for word in self._tokenize(text).split()] for text in texts]
        forms = {form for of_text in words for word in of_text for form in (word, word.lower())}
        if new := forms - self._asked:
            self._vectors.update(read_vectors(self.path, new, self._quiet, self._unit))
            self._asked |= new
            if not self.is_current():
                raise InputError(f"{self.path} has changed since it was opened", fix="start again")
        return ([self._vector(word) for word in of_text] for of_text in words)

    def _vector(self, word: str) -> np.ndarray | None:
        vector = self._vectors.get(word)
        return self._vectors.get(word.lower()) if vector is None else vector


def _stripped(line: bytes, number: int) -> bytes:
    line = line.rstrip(b" \r\n")
    return line.removeprefix(_BOM) if number == 1 else line


def _numbers(values: bytes, unit: bool) -> np.ndarray:
    """A word's vector, fp32, scaled to length 1 if `unit`; not finite if it contains anything but numbers within fp32."""
    try:
        vector = np.array([float(value) for value in values.split(b" ")])
    except ValueError:
        return np.array([np.nan])
    with np.errstate(over="ignore"):
        length = np.linalg.norm(vector)
        if not np.isfinite(length):
            return np.array([np.nan])
        return (vector / length if unit and length else vector).astype(np.float32)


def _empty(path: str) -> InputError:
    return InputError(f"{path} is empty", fix="it must hold one word and its vector per line")


def _header(line: bytes, path: str) -> tuple[int | None, int]:
    """The number of words, if the first line is word2vec's header, else None; and the number of dimensions."""
    fields = line.split(b" ")
    if len(fields) == 2 and all(field.isdigit() and len(field) <= _DIGITS for field in fields):
        return int(fields[0]), int(fields[1])
    dimensions = 0
    while dimensions < len(fields) - 1 and _is_number(fields[-1 - dimensions]):
        dimensions += 1
    if not dimensions:
        raise InputError(
            f"{path}, line 1: it is not a word and its vector", fix="word vectors must be GloVe or word2vec text"
        )
    return None, dimensions


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _lines(path: str, quiet: bool) -> Iterator[bytes]:
    with os_errors(f"cannot read {path}"), open(path, "rb") as raw:
        size = os.fstat(raw.fileno()).st_size
        look = {"desc": "word vectors", "unit": "B", "unit_scale": True, "leave": False}
        with tqdm(total=size, disable=quiet or None, **look) as bar:
            for number, line in enumerate(byte_lines(raw, path)):
                yield line
                if number % _LINES_A_STEP == 0 and not bar.disable:
                    bar.update(raw.tell() - bar.n)
