"""Reads the output of fairseq-generate and fairseq-interactive: each line has a kind and the number of its source."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import InputError
from ..notices import counted, notice

_BEGINNING = 1000  # lines to search for the first hypothesis, which a log may precede
_HYPOTHESIS = re.compile(r"[HD]-\d+\t-?(\d|inf|nan)")
_LINE = re.compile(r"([SHD])-(\d{1,18})(?:\t(.*))?")
_OTHER = re.compile(r"[A-Z]-\d+(_\d+)?(\t|$)")  # references, token scores, alignments, steps, times


class Hypotheses(NamedTuple):
    """The hypotheses of one source and the decoder's scores; the source is None if the output does not contain it."""

    source: str | None
    texts: list[str]
    scores: list[float]


def is_fairseq(lines: Sequence[str]) -> bool:
    """Whether these lines are fairseq's output.

    >>> is_fairseq(["S-0\\tein Haus", "H-0\\t-0.3\\ta house"]), is_fairseq(["a house", "the house"])
    (True, False)
    """
    return any(map(_HYPOTHESIS.match, lines[:_BEGINNING]))


def read_fairseq(path: str, lines: Sequence[str]) -> list[Hypotheses]:
    """Read the hypotheses of each source, in the order of the sources' numbers.

    Detokenized hypotheses (D-) are preferred; without any, the H- lines are read. Other lines, such as a log, are skipped
    with a notice.

    Raises InputError, naming `path`, for a source without hypotheses, and for missing or unreadable lines.
    """
    sources: dict[int, str] = {}
    found: dict[str, dict[int, list[tuple[str, float]]]] = {"H": {}, "D": {}}
    others = []
    for place, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            if line and not _OTHER.match(line):
                others.append(place)
            continue
        kind, number, content = match[1], int(match[2]), match[3] or ""
        if kind == "S":
            if sources.setdefault(number, content) != content:
                raise InputError(
                    f"{path}, line {place}: source {number} is another text than before; give the output of one test set"
                )
            continue
        score, _, text = content.partition("\t")
        try:
            found[kind].setdefault(number, []).append((text, float(score)))
        except ValueError as error:
            raise InputError(
                f"{path}, line {place}: {score[:40]!r} is not a score; fairseq writes {kind}-NUMBER, a score and a text, "
                "with tabs between"
            ) from error
    own_kind = "D" if found["D"] else "H"
    own = found[own_kind]
    if not own:
        raise InputError(f"{path}: no line is a hypothesis of fairseq's output (H- or D-)")
    for number in range(max([*own, *sources, *found["H"]]) + 1):
        detokenized, all_ = len(own.get(number, [])), len(found["H"].get(number, []))
        if not detokenized:
            raise InputError(
                f"{path}: source {number} has no {own_kind}- lines; every source from 0 on needs candidates"
            )
        if all_ not in (0, detokenized):
            raise InputError(
                f"{path}: source {number} has {counted(all_, 'H- line', 'H- lines')}, but {detokenized} D-; "
                "the file is cut short or mixed"
            )
        if sources and number not in sources:
            raise InputError(f"{path}: source {number} has no S- line, but others have one")
    if not found["D"]:
        notice(f"{path}: it has no D- lines, so the hypotheses are those of H-, which are tokenized")
    if others:
        notice(f"{path}: skipped {counted(len(others), 'line', 'lines')} of fairseq's log")
    return [Hypotheses(sources.get(number), *map(list, zip(*own[number], strict=True))) for number in sorted(own)]
