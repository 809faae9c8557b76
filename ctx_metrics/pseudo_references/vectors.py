"""Word vectors from GloVe and word2vec text files: streamed, and only the words that are wanted are kept."""

import gzip
import os
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Optional

import numpy as np
from tqdm import tqdm

from ..errors import InputError
from ..notices import notice

_BOM = b"\xef\xbb\xbf"
_LINES_A_STEP = 5000  # of the progress bar


def read_vectors(path: str, words: Collection[str], quiet: bool = False) -> dict[str, np.ndarray]:
    """The vectors of some words in a text file (or .gz, .xz): {word: fp32 [dimensions], scaled to length 1}.

    A line holds a word and its numbers, separated by one blank each. A first line of two whole numbers is word2vec's
    header. A word may hold blanks, as some of GloVe's do; the dimensions are those of the header or the first line. Of a
    word's several lines the first counts; a vector of zeros has no direction and is taken as absent.

    Raises InputError naming file and line for a line with another number of numbers, for a wanted word's numbers that
    are none, and for a file that cannot be read, holds nothing or fewer words than its header says.
    """
    wanted = {word.encode(): word for word in words}
    found: dict[str, np.ndarray] = {}
    dimensions: Optional[int] = None
    announced, number = None, 0
    for number, line in enumerate(_lines(path, quiet), 1):
        line = line.rstrip(b" \r\n")
        if number == 1:
            line = line.removeprefix(_BOM)
            announced, dimensions = _header(line, path)
            if announced is not None:
                continue
        extra = line.count(b" ") - dimensions
        if extra > 0:
            # a word with blanks is never wanted: words are what a tokenizer gives. But a number more is a fault
            extra = -1 if _is_number(line.rsplit(b" ", dimensions + 1)[1]) else extra
        if extra < 0:
            raise InputError(
                f"{path}, line {number}: it is no word and {dimensions} numbers, which the first line tells; word vectors "
                "must be a GloVe or word2vec text file (not word2vec's binary one); fetch or convert it again"
            )
        if extra:
            continue
        text, _, values = line.partition(b" ")
        word = wanted.get(text)
        if word is None or word in found:
            continue
        try:
            vector = np.array([float(value) for value in values.split(b" ")])
        except ValueError:
            vector = np.array([np.nan])
        length = np.linalg.norm(vector)
        if not np.isfinite(length):
            raise InputError(f"{path}, line {number}: the vector of {word!r} holds what is no finite number")
        if length:
            found[word] = (vector / length).astype(np.float32)
    if number == 0:
        raise InputError(f"{path} is empty; it must hold a word and its vector a line")
    if announced is not None and number - 1 != announced:
        raise InputError(f"{path}: its first line announces {announced} words, but {number - 1} follow; fetch it again")
    return found


class WordVectors:
    """Texts as the vectors of their words, from a GloVe or word2vec text file.

    Words are the tokens of sacrebleu's 13a tokenizer, looked up as they stand, then in lower case. Words without a
    vector are skipped, and their number is said.
    """

    def __init__(self, path: str, quiet: bool = False):
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

        self.path, self._quiet, self._sha256 = path, quiet, ""
        if os.path.exists(path) and not os.path.isfile(path):
            raise InputError(
                f"cannot read {path}: word vectors are read more than once, so they must lie in a plain file"
            )
        for _ in _lines(path, True):  # a file that cannot be read is said before anything is scored
            break
        self._tokenize = Tokenizer13a()
        self._asked: set[str] = set()
        self._vectors: dict[str, np.ndarray] = {}

    def signature(self) -> dict:
        """vectors (the file's name) and fckpt (sha256 of the file, 12 hex digits)."""
        if not self._sha256:
            from pathlib import Path

            from ..models.hub import file_sha256

            self._sha256 = file_sha256(Path(self.path))[:12]
        return {"vectors": os.path.basename(self.path), "fckpt": self._sha256}

    def __call__(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Unit vectors of each text's known words: fp32 [words, dimensions], [0, 0] where none is known."""
        words = [self._tokenize(text).split() for text in texts]
        forms = {form for of_text in words for word in of_text for form in (word, word.lower())}
        if new := forms - self._asked:
            self._vectors.update(read_vectors(self.path, new, self._quiet))
            self._asked |= new
        result = [[self._vector(word) for word in of_text] for of_text in words]
        say_unknown(
            sum(vector is None for of_text in result for vector in of_text),
            sum(map(len, words)),
            f"words have no vector in {self.path}",
        )
        return [stacked(vector for vector in of_text if vector is not None) for of_text in result]

    def _vector(self, word: str) -> Optional[np.ndarray]:
        vector = self._vectors.get(word)
        return self._vectors.get(word.lower()) if vector is None else vector


def stacked(vectors: Iterable[np.ndarray]) -> np.ndarray:
    """Vectors as rows of one array; [0, 0] of none."""
    vectors = list(vectors)
    return np.stack(vectors) if vectors else np.zeros((0, 0), np.float32)


def say_unknown(unknown: int, total: int, what: str) -> None:
    """Say how many words the alignment skips, if any."""
    if unknown:
        notice(f"pseudo-references: {unknown:,} of {total:,} {what}; the alignment skips them")


def _header(line: bytes, path: str) -> tuple[Optional[int], int]:
    """The number of words, where the first line is word2vec's header, and the number of dimensions."""
    fields = line.split(b" ")
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return int(fields[0]), int(fields[1])
    dimensions = 0
    while dimensions < len(fields) - 1 and _is_number(fields[-1 - dimensions]):
        dimensions += 1
    if not dimensions:
        raise InputError(f"{path}, line 1: it is no word and its vector; --pseudo-vectors takes GloVe or word2vec text")
    return None, dimensions


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _lines(path: str, quiet: bool) -> Iterator[bytes]:
    """The lines of a file, unpacked, with a progress bar over its bytes."""
    lzma = None
    try:
        with open(path, "rb") as raw:
            if path.endswith(".xz"):
                lzma = _lzma(path)
            file = gzip.open(raw) if path.endswith(".gz") else lzma.open(raw) if lzma else raw
            size = os.fstat(raw.fileno()).st_size
            with tqdm(
                desc="word vectors",
                total=size,
                unit="B",
                unit_scale=True,
                disable=True if quiet else None,
                leave=False,
            ) as bar:
                for number, line in enumerate(file):
                    yield line
                    if number % _LINES_A_STEP == 0 and not bar.disable:
                        bar.update(raw.tell() - bar.n)
    except OSError as error:  # gzip.BadGzipFile too
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}; fetch it again") from error
    except Exception as error:
        if lzma and isinstance(error, lzma.LZMAError):
            raise InputError(f"cannot read {path}: {error}; fetch it again") from error
        raise


def _lzma(path: str):
    try:
        import lzma
    except ImportError as error:  # an optional part of Python
        raise InputError(f"cannot read {path}: this Python has no lzma module; unpack the file first") from error
    return lzma
