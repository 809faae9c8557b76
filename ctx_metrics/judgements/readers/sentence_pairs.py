"""Sentence pairs with human labels: paraphrase or not, or graded by similarity."""

import ast
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...notices import counted, notice, places
from ..judged import JudgedSet
from .rows import header_of, number, read_rows, stem, table_lines

LAYOUTS = (
    "a TSV whose header names sentence1, sentence2 and label or score (such as PAWS), MRPC's (Quality, #1 String, "
    "#2 String), STS-B's without a header (score and sentences in columns 5 to 7)"
)
BYTES = re.compile(r"b(['\"]).*\1", re.DOTALL)
LABEL = re.compile(r"[01](\.0+)?")  # also 1.0, as pandas writes it
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


class UnknownLayout(InputError):
    """A file in none of the LAYOUTS."""


class _Pair(NamedTuple):
    where: str
    one: str
    other: str
    label: str


@dataclass(frozen=True, eq=False)
class PairSet(JudgedSet):
    """Labelled sentence pairs as a judged set with one system, sentence1, and with sentence2 as its reference.

    graded    whether labels are degrees of similarity (higher is more alike) rather than 1 for paraphrases and 0 for others
    """

    graded: bool = False

    def swapped(self) -> "PairSet":
        """The same pairs with sentence2 as hypothesis and sentence1 as reference."""
        return replace(self, systems=["sentence2"], hypotheses=[self.references[0]], references=[self.texts[0]])


def read_pair_sets(paths: Sequence[str], language: str | None = None) -> list[PairSet]:
    """Read files of sentence pairs, possibly compressed (.gz, .xz); their format is recognised from the first line.

    Each set is named after its file, without the ending; if two files have the same name, the folder is prepended.
    `language` is the language code of the sentences, None if unknown.
    """
    paths = [os.fspath(path) for path in paths]
    names = [stem(path) for path in paths]
    if len(set(names)) < len(names):
        folders = [os.path.basename(os.path.dirname(os.path.abspath(path))) for path in paths]
        both = zip(folders, names, strict=True)
        names = [f"{folder}/{name}" if names.count(name) > 1 else name for folder, name in both]
    for name, times in Counter(names).items():
        if times > 1:
            raise InputError(f"two sets are named {name}", fix="leave one out, or rename a file or its folder")
    return [replace(read_pairs(path), name=name, target_lang=language) for path, name in zip(paths, names, strict=True)]


def read_pairs(path: str, alike: bool = False) -> PairSet:
    """Read the sentence pairs of one file, and say how many are empty. Quotes have no special meaning; only tabs end cells.

    alike    whether all labels may be equal, which is acceptable if no correlation is computed

    Raises UnknownLayout for an unknown format.
    """
    header, parted = header_of(path)
    columns = set(header)
    if {"sentence1", "sentence2"} <= columns:
        if parted == ",":
            raise InputError(f"{path}: its columns are separated by commas", fix="separate them by tabs")
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
        raise UnknownLayout(f"{path}: its first line ({seen}) has no known layout; the known ones are {LAYOUTS}")
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
    if empty := [i for i, pair in enumerate(pairs) if not all(text.strip() for text in pair)]:
        have = counted(len(empty), "pair has", "pairs have")
        notice(f"{name}: {have} an empty sentence ({places('segment', empty)}); kept as they are")


def _named(path: str, one: str, other: str, label: str) -> list[_Pair]:
    _, rows = read_rows(path, [one, other, label])
    return [_Pair(where, cells[one], cells[other], cells[label]) for where, cells in rows]


def _like_sts(cells: Sequence[str]) -> bool:
    try:
        return len(cells) >= 7 and float(cells[4]) >= 0
    except ValueError:
        return False


def _sts(path: str) -> list[_Pair]:
    """Read lines with genre, file, year, number, score, sentence1, sentence2, and optionally the sentences' sources."""
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
        fix = "write 0 or 1" + (", or name the column score if it holds grades" if grade else "")
        raise InputError(f"{pair.where}: {column} {pair.label!r} is neither 0 nor 1", fix=fix)
    return float(pair.label)


def _score(pair: _Pair) -> float:
    value = number(pair.label, pair.where)
    if np.isnan(value):
        raise InputError(f"{pair.where}: the pair has no score", fix="leave the line out")
    return value


def _texts(path: str, pairs: Sequence[_Pair]) -> list[tuple[str, str]]:
    """The sentences. Decodes byte literals (b'...'), which the script that creates PAWS-QQP writes under Python 3."""
    if not all(BYTES.fullmatch(text) for pair in pairs for text in (pair.one, pair.other)):
        return [(pair.one, pair.other) for pair in pairs]
    notice(f"{path}: its sentences are byte literals of Python (b'...'), which were decoded")
    texts = []
    for pair in pairs:
        try:
            one, other = (ast.literal_eval(text).decode("utf-8") for text in (pair.one, pair.other))
        except (SyntaxError, ValueError) as error:  # includes UnicodeDecodeError, a ValueError
            message = f"{pair.where}: not a byte literal of UTF-8 text: {error}; write the sentence plainly"
            raise InputError(message) from error
        texts.append((one, other))
    return texts
