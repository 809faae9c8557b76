"""System-level direct assessment of WMT18 and WMT19, beside outputs and references: DA-syslevel.csv."""

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ...corpus import read_lines
from ...errors import InputError
from ...notices import counted, notice
from ..judged import JudgedSet
from .rows import find, number, read_aligned, unpacked

SCORES = "DA-syslevel.csv"
OUTPUTS = "system-outputs"
COLUMNS = ["LP", "HUMAN", "SYSTEM"]


def read_system_da(root: str, pairs: Sequence[str] | None = None) -> list[JudgedSet]:
    """A set for each language pair of DA-syslevel.csv, such as "newstest2019.de-en", with human scores of systems alone.

    ROOT holds DA-syslevel.csv (columns LP HUMAN SYSTEM, blanks between), system-outputs/PAIR/TEST.SYSTEM.PAIR,
    references/TEST-XXYY-ref.YY and source/TEST-XXYY-src.XX. pairs: only these language pairs. A pair without its
    reference file is left out, and so is a system without an output; both are said.

    Raises InputError for a line that is not as above, for no pair at all, and for files of different lengths.
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
    chosen = [pair for pair in sorted(scores) if pairs is None or pair in pairs]
    sets = [judged for pair in chosen if (judged := _read_pair(root, pair, scores[pair]))]
    if not sets:
        asked = "its pairs" if pairs is None else f"the pairs {', '.join(pairs)}"
        raise InputError(
            f"{path}: none of {asked} is there with a reference file; it scores {', '.join(scores) or 'nothing'}"
        )
    return sets


def _read_pair(root: str, pair: str, scores: dict[str, float]) -> JudgedSet | None:
    source_lang, _, target_lang = pair.partition("-")
    reference = _file(root, "references", f"*-{source_lang}{target_lang}-ref.{target_lang}")
    if reference is None:
        notice(f"{root}: left out {pair}, which has no reference file")
        return None
    test = Path(reference).name.partition("-")[0]
    source = _file(root, "source", f"{test}-{source_lang}{target_lang}-src.{source_lang}")
    texts = read_lines(reference)
    lines = partial(read_aligned, length=len(texts), other=reference)
    outputs = {
        unpacked(path.name).removeprefix(f"{test}.").removesuffix(f".{pair}"): str(path)
        for path in sorted(Path(root, OUTPUTS, pair).glob(f"{test}.*"))
    }
    if missing := sorted(set(scores) - set(outputs)):
        notice(f"{test}.{pair}: left out systems with scores and no output ({', '.join(missing)})")
    return JudgedSet(
        f"{test}.{pair}",
        list(outputs),
        len(texts),
        hypotheses=[*map(lines, outputs.values())],
        references=[texts],
        sources=None if source is None else lines(source),
        source_lang=source_lang,
        target_lang=target_lang,
        system_scores=np.array([scores.get(system, np.nan) for system in outputs]),
    )


def _file(root: str, folder: str, pattern: str) -> str | None:
    """The first file of a folder whose name, without .gz or .xz, is of a pattern; where there are several, that is said."""
    wanted = re.compile(re.escape(pattern).replace(r"\*", "[^-]+"))
    files = [path for path in sorted(Path(root, folder).glob("*")) if wanted.fullmatch(unpacked(path.name))]
    if len(names := sorted({unpacked(path.name) for path in files})) > 1:
        notice(f"{os.path.join(root, folder)}: {names[0]} is read, of {', '.join(names)}")
    return str(files[0]) if files else None
