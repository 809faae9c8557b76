"""Sentence pairs that people labelled as paraphrases or not, or graded by how alike they are."""

import ast
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ....errors import InputError
from ....notices import counted, notice, place
from ..judged import JudgedSet
from .rows import header_of, number, read_rows, stem, table_lines

LAYOUTS = (
    "a TSV whose header names sentence1, sentence2 and label or score (such as PAWS), MRPC's (Quality, #1 String, "
    "#2 String), STS-B's without a header (score and sentences in columns 5 to 7)"
)
BYTES = re.compile(r"b(['\"]).*\1", re.DOTALL)
LABEL = re.compile(r"[01](\.0+)?")  # pandas writes 1.0
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


class UnknownLayout(InputError):
    """A file of none of the LAYOUTS."""


class _Pair(NamedTuple):
    """One line: `where` names file and line."""

    where: str
    one: str
    other: str
    label: str


@dataclass(frozen=True, eq=False)
class PairSet(JudgedSet):
    """Labelled sentence pairs as a judged set of one system, sentence1, with sentence2 as its reference.

    graded    whether the labels are degrees of similarity (higher is more alike), not 1 for a paraphrase and 0 for none
    """

    graded: bool = False

    def swapped(self) -> "PairSet":
        """The same pairs with sentence2 as hypothesis and sentence1 as reference."""
        return replace(self, systems=["sentence2"], hypotheses=[self.references[0]], references=[self.texts[0]])


def read_pair_sets(paths: Sequence[str], language: str | None = None) -> list[PairSet]:
    """Files of sentence pairs, packed or not (.gz, .xz), their layouts recognised by the first line.

    A set's name is its file's without the ending, and with the folder's before it where two files are called alike.
    `language` is the code of the sentences' language, None where it is unknown.

    Raises InputError for a file that is given twice, and as read_pairs does.
    """
    paths = [os.fspath(path) for path in paths]
    names = [stem(path) for path in paths]
    if len(set(names)) < len(names):
        folders = [os.path.basename(os.path.dirname(os.path.abspath(path))) for path in paths]
        both = zip(folders, names, strict=True)
        names = [f"{folder}/{name}" if names.count(name) > 1 else name for folder, name in both]
    for name, times in Counter(names).items():
        if times > 1:
            raise InputError(f"two sets are named {name}; leave one out, or rename a file or its folder")
    return [replace(read_pairs(path), name=name, target_lang=language) for path, name in zip(paths, names, strict=True)]


def read_pairs(path: str, alike: bool = False) -> PairSet:
    """The sentence pairs of one file; quotes in it are letters, and cells end at tabs alone. Says how many are empty.

    alike    whether the labels may all be the same, where nothing is correlated with them

    Raises UnknownLayout for another layout; InputError, naming file and line, for a label that is neither 0 nor 1 (1.0 is
    1), a score that is no number; and for a file without pairs, or whose labels are all the same.
    """
    header, parted = header_of(path)
    columns = set(header)
    if {"sentence1", "sentence2"} <= columns:
        if parted == ",":
            raise InputError(f"{path}: its columns are separated by commas; separate them by tabs")
        named = [name for name in ("label", "score") if name in columns]
        if len(named) != 1:
            raise InputError(f"{path}, line 1: the header must name one of label (0 or 1) and score (graded)")
        pairs, label = _named(path, "sentence1", "sentence2", *named), named[0]
    elif {"Quality", "#1 String", "#2 String"} <= columns:
        pairs, label = _named(path, "#1 String", "#2 String", "Quality"), "Quality"
    elif parted == "\t" and _like_sts(header):
        pairs, label = _sts(path), "score"
    else:
        seen = ", ".join(header[:8])
        raise UnknownLayout(f"{path}: its first line ({seen}) has no known layout; known are {LAYOUTS}")
    if not pairs:
        raise InputError(f"{path}: the file has no sentence pairs")
    texts, graded = _texts(path, pairs), label == "score"
    labels = np.array([[_score(pair) if graded else _label(pair, label) for pair in pairs]])
    if not alike and (labels == labels[0, 0]).all():
        what = "a correlation needs several scores" if graded else "an area under the curve needs both 0 and 1"
        raise InputError(f"{path}: every pair has the label {labels[0, 0]:g}, and {what}")
    say_empty(path, texts)
    return PairSet(
        stem(path),
        ["sentence1"],
        len(pairs),
        [[one for one, _ in texts]],
        [[other for _, other in texts]],
        segment_scores=labels,
        graded=graded,
    )


def say_empty(name: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Say how many pairs have an empty sentence, and which."""
    if empty := [i for i, pair in enumerate(pairs) if not all(text.strip() for text in pair)]:
        have = counted(len(empty), "pair has", "pairs have")
        notice(f"{name}: {have} an empty sentence (segment {place(empty)}); kept as they are")


def _named(path: str, one: str, other: str, label: str) -> list[_Pair]:
    _, rows = read_rows(path, [one, other, label])
    return [_Pair(where, cells[one], cells[other], cells[label]) for where, cells in rows]


def _like_sts(cells: Sequence[str]) -> bool:
    try:
        return len(cells) >= 7 and float(cells[4]) >= 0
    except ValueError:
        return False


def _sts(path: str) -> list[_Pair]:
    """genre, file, year, number, score, sentence1, sentence2, and in some lines where the two are from."""
    pairs = []
    for i, line in enumerate(table_lines(path), 1):
        cells = line.removesuffix("\r").split("\t")
        where = f"{path}, line {i}"
        if len(cells) < 7:
            raise InputError(f"{where}: {counted(len(cells), 'column', 'columns')}, and STS-B has at least 7")
        pairs.append(_Pair(where, cells[5], cells[6], cells[4]))
    return pairs


def _label(pair: _Pair, column: str) -> float:
    if not LABEL.fullmatch(pair.label.strip()):
        grade = column == "label" and NUMBER.fullmatch(pair.label.strip())
        mend = "write 0 or 1" + (", or name the column score if it holds grades" if grade else "")
        raise InputError(f"{pair.where}: {column} {pair.label!r} is neither 0 nor 1; {mend}")
    return float(pair.label)


def _score(pair: _Pair) -> float:
    value = number(pair.label, pair.where)
    if np.isnan(value):
        raise InputError(f"{pair.where}: the pair has no score; leave the line out")
    return value


def _texts(path: str, pairs: Sequence[_Pair]) -> list[tuple[str, str]]:
    """The sentences, out of the byte literals (b'...') that the script which makes PAWS-QQP writes under Python 3."""
    if not all(BYTES.fullmatch(text) for pair in pairs for text in (pair.one, pair.other)):
        return [(pair.one, pair.other) for pair in pairs]
    notice(f"{path}: its sentences are byte literals of Python (b'...'), which were decoded")
    texts = []
    for pair in pairs:
        try:
            one, other = (ast.literal_eval(text).decode("utf-8") for text in (pair.one, pair.other))
        except (SyntaxError, ValueError) as error:  # UnicodeDecodeError is a ValueError
            message = f"{pair.where}: not a byte literal of UTF-8 text: {error}; write the sentence plainly"
            raise InputError(message) from error
        texts.append((one, other))
    return texts
