"""Reads direct assessment as published by WMT: scores of segments from folders with files
DAseg.TEST.{source,mt-system,reference,human}.PAIR (2015, 2016), and scores of systems from DA-syslevel.csv, with outputs and
references next to it (2018, 2019).
"""

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...notices import counted, notice
from ...reading import read_lines
from ..judged import JudgedSet
from .rows import asked_pairs, find, halves, is_of, number, read_aligned, unpacked
from .table import ONE_SYSTEM

HUMAN = re.compile(r"DAseg\.(.+)\.human\.([^.]+)")
SCORES = "DA-syslevel.csv"
COLUMNS = ["LP", "HUMAN", "SYSTEM"]


def da_files(folder: str) -> dict[tuple[str, str], str]:
    """The files of human scores in a folder or its subfolders, by test set and language pair."""
    paths = sorted([*Path(folder).glob("DAseg.*.human.*"), *Path(folder).glob("*/DAseg.*.human.*")])
    matches = [(HUMAN.fullmatch(unpacked(path.name)), path) for path in paths]
    return {(match[1], match[2]): str(path) for match, path in matches if match}


def read_da(folder: str, pairs: Sequence[str] | None = None) -> list[JudgedSet]:
    """Read one set for each test set and language pair, such as "newstest2016.cs-en". Each line is a judged output.

    The systems are unknown, so each set has a single system, "outputs". pairs: only these language pairs.
    """
    files = da_files(folder)
    if not files:
        raise InputError(f"{folder}: holds no files DAseg.TEST.human.PAIR")
    chosen = asked_pairs(folder, pairs, sorted({pair for _, pair in files}))
    return [_read_segments(path, test, pair) for (test, pair), path in files.items() if pair in chosen]


def _read_segments(human: str, test: str, pair: str) -> JudgedSet:
    scores = [number(line, f"{human}, line {k}") for k, line in enumerate(read_lines(human), 1)]

    def file(kind: str) -> str | None:
        return find(os.path.join(os.path.dirname(human), f"DAseg.{test}.{kind}.{pair}"))

    def texts(kind: str) -> list[str]:
        if (path := file(kind)) is None:
            raise InputError(f"{human}: no file DAseg.{test}.{kind}.{pair} next to it")
        return read_aligned(path, len(scores), human)

    source_lang, target_lang = halves(pair)
    return JudgedSet(
        f"{test}.{pair}",
        [ONE_SYSTEM],
        len(scores),
        hypotheses=[texts("mt-system")],
        references=[texts("reference")],
        sources=texts("source") if file("source") else None,
        source_lang=source_lang,
        target_lang=target_lang,
        segment_scores=np.array([scores]),
    )


def read_system_da(root: str, pairs: Sequence[str] | None = None) -> list[JudgedSet]:
    """Read one set for each language pair of DA-syslevel.csv, such as "newstest2019.de-en"; only systems have human scores.

    ROOT contains DA-syslevel.csv (columns LP HUMAN SYSTEM, separated by spaces), system-outputs/PAIR/TEST.SYSTEM.PAIR,
    references/TEST-XXYY-ref.YY and source/TEST-XXYY-src.XX. pairs: only these language pairs. Pairs without a reference file
    and systems without an output are left out, with a notice.
    """
    path = find(os.path.join(root, SCORES)) or os.path.join(root, SCORES)
    lines = [line.split() for line in read_lines(path)]
    if lines[:1] != [COLUMNS]:
        header = " ".join(lines[0]) if lines else "missing"
        raise InputError(f"{path}, line 1: the columns are {header}, not {' '.join(COLUMNS)}")
    scores: dict[str, dict[str, float]] = {}
    for k, line in enumerate(lines[1:], 2):
        if len(line) != len(COLUMNS):
            raise InputError(f"{path}, line {k}: {counted(len(line), 'field', 'fields')}, not {len(COLUMNS)}")
        pair, score, system = line
        scores.setdefault(pair, {})[system] = number(score, f"{path}, line {k}")
    chosen = [pair for pair in sorted(scores) if is_of(pair, pairs)]
    sets = [judged for pair in chosen if (judged := _read_systems(root, pair, scores[pair]))]
    if not sets:
        asked = "its pairs" if pairs is None else f"the pairs {', '.join(pairs)}"
        scored = ", ".join(scores) or "nothing"
        raise InputError(f"{path}: none of {asked} has a reference file; it scores {scored}")
    return sets


def _read_systems(root: str, pair: str, scores: dict[str, float]) -> JudgedSet | None:
    source_lang, target_lang = halves(pair)
    reference = _file(root, "references", f"*-{source_lang}{target_lang}-ref.{target_lang}")
    if reference is None:
        notice(f"{root}: left out {pair}, which has no reference file")
        return None
    test = Path(reference).name.partition("-")[0]
    source = _file(root, "source", f"{test}-{source_lang}{target_lang}-src.{source_lang}")
    texts = read_lines(reference)
    lines = partial(read_aligned, length=len(texts), other=reference)
    hypotheses = {
        unpacked(path.name).removeprefix(f"{test}.").removesuffix(f".{pair}"): str(path)
        for path in sorted(Path(root, "system-outputs", pair).glob(f"{test}.*"))
    }
    if missing := sorted(set(scores) - set(hypotheses)):
        notice(f"{test}.{pair}: left out systems with scores but no output ({', '.join(missing)})")
    return JudgedSet(
        f"{test}.{pair}",
        list(hypotheses),
        len(texts),
        hypotheses=[*map(lines, hypotheses.values())],
        references=[texts],
        sources=None if source is None else lines(source),
        source_lang=source_lang,
        target_lang=target_lang,
        system_scores=np.array([scores.get(system, np.nan) for system in hypotheses]),
    )


def _file(root: str, folder: str, pattern: str) -> str | None:
    """The first file in a folder whose name, without .gz or .xz, matches a pattern; a notice says if there are several."""
    wanted = re.compile(re.escape(pattern).replace(r"\*", "[^-]+"))
    files = [path for path in sorted(Path(root, folder).glob("*")) if wanted.fullmatch(unpacked(path.name))]
    if len(names := sorted({unpacked(path.name) for path in files})) > 1:
        notice(f"{os.path.join(root, folder)}: {names[0]} is read, of {', '.join(names)}")
    return str(files[0]) if files else None
