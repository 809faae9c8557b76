"""Segment direct assessment as WMT15 and WMT16 publish it: folders of DAseg.TEST.{source,mt-system,reference,human}.PAIR."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...corpus import read_lines
from ...errors import InputError
from ..judged import JudgedSet
from .rows import asked_pairs, find, number, read_aligned, unpacked
from .table import ONE_SYSTEM

HUMAN = re.compile(r"DAseg\.(.+)\.human\.([^.]+)")


def da_files(folder: str) -> dict[tuple[str, str], str]:
    """The files of human scores in a folder, or in the folders in it, by test set and language pair."""
    paths = sorted([*Path(folder).glob("DAseg.*.human.*"), *Path(folder).glob("*/DAseg.*.human.*")])
    matches = [(HUMAN.fullmatch(unpacked(path.name)), path) for path in paths]
    return {(match[1], match[2]): str(path) for match, path in matches if match}


def read_da(folder: str, pairs: Sequence[str] | None = None) -> list[JudgedSet]:
    """A set for each test set and language pair, such as "newstest2016.cs-en"; a line a judged output.

    The outputs' systems are not known: there is one, "outputs". pairs: only these language pairs.

    Raises InputError for a folder without such files, for files of different lengths, and naming the line of a score that
    is no number.
    """
    files = da_files(folder)
    if not files:
        raise InputError(f"{folder}: holds no files DAseg.TEST.human.PAIR")
    chosen = asked_pairs(folder, pairs, sorted({pair for _, pair in files}))
    return [_read_pair(path, test, pair) for (test, pair), path in files.items() if pair in chosen]


def _read_pair(human: str, test: str, pair: str) -> JudgedSet:
    scores = [number(line, f"{human}, line {k}") for k, line in enumerate(read_lines(human), 1)]

    def file(kind: str) -> str | None:
        return find(os.path.join(os.path.dirname(human), f"DAseg.{test}.{kind}.{pair}"))

    def texts(kind: str) -> list[str]:
        if (path := file(kind)) is None:
            raise InputError(f"{human}: no file DAseg.{test}.{kind}.{pair} beside it")
        return read_aligned(path, len(scores), human)

    source_lang, _, target_lang = pair.partition("-")
    return JudgedSet(
        f"{test}.{pair}",
        [ONE_SYSTEM],
        len(scores),
        hypotheses=[texts("mt-system")],
        references=[texts("reference")],
        sources=texts("source") if file("source") else None,
        source_lang=source_lang,
        target_lang=target_lang or None,
        segment_scores=np.array([scores]),
    )
