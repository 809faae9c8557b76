"""Reads the candidates of each source, in the formats that decoders write, and writes those that are chosen."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import InputError
from ..notices import counted, notice
from ..reading import BOM, holds_surrogate, json_object, read_lines

EXAMPLE = 'an object with candidates, such as {"src": "...", "candidates": ["...", "..."]}'
_NBEST = re.compile(r"(\d+) *\|\|\| ?(.*)")
_DIGITS = 18  # most digits of a source's number
_LAST_NUMBER = re.compile(r"(-?(?:(?<!\d)\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|-?inf|nan)\s*$")
_BEGINNING = 1000  # lines to search for the first hypothesis of fairseq's output, which a log may precede
_HYPOTHESIS = re.compile(r"[HD]-\d+\t-?(\d|inf|nan)")
_LINE = re.compile(r"([SHD])-(\d{1,18})(?:\t(.*))?")
_OTHER = re.compile(r"[A-Z]-\d+(_\d+)?(\t|$)")  # references, token scores, alignments, steps, times


class Item(NamedTuple):
    """One source and its candidates.

    candidates    at least one
    scores        the decoder's score of each candidate, such as its log-probability; None if unknown
    source        None if unknown
    references    pseudo-references, at least one; None: the candidates serve as pseudo-references
    """

    candidates: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    source: str | None = None
    references: tuple[str, ...] | None = None


def read_items(
    paths: Sequence[str],
    form: str | None = None,
    number: int | None = None,
    *,
    sources: str | None = None,
    references: str | None = None,
    encoding: str = "utf-8",
) -> list[Item]:
    """Read the candidates of each source, and pseudo-references from a file in any of the same formats.

    paths     one file in any format, or several with one candidate of each source per line
    """
    lines = None if sources is None else read_lines(sources, encoding)
    items = _read(paths, form, number, lines, encoding)
    what = ", ".join(paths)
    if lines is not None:
        check_lines(sources or "", lines, items)
        for place, (item, line) in enumerate(zip(items, lines, strict=True), 1):
            if item.source not in (None, line):
                raise InputError(f"{what}, line {place}: its src is not line {place} of {sources}", fix="leave -s out")
        items = [item._replace(source=line) for item, line in zip(items, lines, strict=True)]
    if references is not None:
        if any(item.references is not None for item in items):
            raise InputError(f"{what} has references of its own", fix="leave --references out")
        others = _read([references], None, None, items, encoding, "pseudo-references")
        if len(others) != len(items):
            found = counted(len(others), "source", "sources")
            raise InputError(f"{references} has pseudo-references of {found}, but {what} candidates of {len(items):,}")
        items = [item._replace(references=other.candidates) for item, other in zip(items, others, strict=True)]
    return items


def check_lines(path: str, lines: Sequence[str], items: Sequence[Item]) -> None:
    if len(lines) != len(items):
        found, sources = counted(len(lines), "line", "lines"), counted(len(items), "source", "sources")
        raise InputError(f"{path} has {found}, but there are candidates for {sources}", fix="give one line per source")


def _read(
    paths: Sequence[str],
    form: str | None,
    number: int | None,
    known: Sequence[Any] | None,
    encoding: str,
    holds: str = "candidates",
) -> list[Item]:
    """Read the items of files. `known` has one entry per source; `holds` names the files' content in messages."""
    if len(paths) > 1:
        return _of_files(paths, form, number, encoding)
    [path] = paths
    lines = read_lines(path, encoding)
    if not lines:
        raise InputError(f"{path} is empty", fix=f"it must hold {holds}")
    form = form or _form_of(path, lines)
    if number is not None and form != "lines":
        raise InputError(
            f"{path}: -n is for files with N lines per source, but this file is {form}", fix="leave -n out"
        )
    if form == "lines":
        return _of_lines(path, lines, number, known)
    if form == "fairseq":
        return _of_fairseq(path, lines, known)
    return {"nbest": _of_nbest, "tsv": _of_tsv, "jsonl": _of_jsonl}[form](path, lines)


def _form_of(path: str, lines: Sequence[str]) -> str:
    ending = re.sub(r"\.(gz|xz)$", "", path).rpartition(".")[2].lower()
    if ending in ("tsv", "jsonl"):
        return ending
    if is_fairseq(lines):
        return "fairseq"
    return "nbest" if _NBEST.fullmatch(lines[0]) else "lines"


def _of_files(paths: Sequence[str], form: str | None, number: int | None, encoding: str) -> list[Item]:
    """Read files with one candidate of each source per line."""
    if form not in (None, "lines") or number is not None:
        flag = "-n" if number is not None else f"--input-format {form}"
        raise InputError(
            f"{flag} is for one file of candidates", fix=f"several files have one candidate per line: leave {flag} out"
        )
    if twice := [path for k, path in enumerate(paths) if path in paths[:k]]:
        raise InputError(f"{twice[0]} is given twice", fix="name each file once")
    streams = [read_lines(path, encoding) for path in paths]
    for path, stream in zip(paths, streams, strict=True):
        if not stream:
            raise InputError(f"{path} is empty", fix="it must hold candidates")
        if form is None and (own := _form_of(path, stream)) != "lines":
            raise InputError(
                f"{path} is a file of the format {own}, but several files have one candidate per line",
                fix="give one file, or --input-format lines",
            )
        if len(stream) != len(streams[0]):
            found = counted(len(stream), "line", "lines")
            raise InputError(f"{path} has {found}, but {paths[0]} has {len(streams[0])}")
    return [Item(candidates) for candidates in zip(*streams, strict=True)]


def _of_lines(path: str, lines: list[str], number: int | None, known: Sequence[Any] | None) -> list[Item]:
    if number is None:
        if known is None:
            raise InputError(
                f"{path}: the number of lines per source is not known", fix="give -n N, or the sources with -s FILE"
            )
        if not known or len(lines) % len(known):
            found = counted(len(lines), "line", "lines")
            raise InputError(
                f"{path} has {found}, which is not a multiple of {len(known):,} sources",
                fix="give every source the same number",
            )
        number = len(lines) // len(known)
    if len(lines) % number:
        found, whole = counted(len(lines), "line", "lines"), counted(len(lines) // number, "source", "sources")
        raise InputError(
            f"{path} has {found}: {number} for each of {whole}, and {len(lines) % number} more",
            fix="give every source the same number",
        )
    return [Item(tuple(lines[begin : begin + number])) for begin in range(0, len(lines), number)]


def _of_nbest(path: str, lines: list[str]) -> list[Item]:
    """Read lines `source ||| text ||| features ||| score`; sources count from 0 or 1, and features may be missing."""
    texts: dict[int, list[str]] = {}
    scores: dict[int, list[float]] = {}
    for place, line in enumerate(lines, 1):
        found = _NBEST.fullmatch(line)
        if found is None:
            raise InputError(f"{path}, line {place}: not a line of an n-best list, such as 0 ||| text ||| -1.5")
        if len(found[1]) > _DIGITS:
            raise InputError(f"{path}, line {place}: its source has a number of {len(found[1]):,} digits")
        source, (text, *more) = int(found[1]), re.split(r" ?\|\|\| ?", found[2])
        last = max(texts, default=source)
        if source not in (last, last + 1) and texts:
            if source in texts:
                raise InputError(
                    f"{path}, line {place}: source {source} returns after source {last}", fix="sort the lines"
                )
            raise InputError(
                f"{path}, line {place}: source {source} follows source {last}", fix="every source needs candidates"
            )
        if not texts and source > 1:
            raise InputError(f"{path}, line {place}: the first source is {source}; sources count from 0")
        texts.setdefault(source, []).append(text)
        number = _LAST_NUMBER.search(more[-1]) if more else None
        if number is not None:
            scores.setdefault(source, []).append(float(number[1]))
    return [Item(tuple(own), _whole(scores.get(source), len(own))) for source, own in texts.items()]


def _whole(scores: list[float] | None, candidates: int) -> tuple[float, ...] | None:
    return tuple(scores) if scores is not None and len(scores) == candidates else None


def _of_tsv(path: str, lines: list[str]) -> list[Item]:
    """Read one row per source; empty columns at its end are ignored, so the number of candidates may vary."""
    items = []
    for place, line in enumerate(lines, 1):
        if not line.strip("\t "):
            raise InputError(f"{path}, line {place}: no candidates", fix="every source needs one")
        items.append(Item(tuple(cell.strip() for cell in line.rstrip("\t").split("\t"))))
    return items


def _of_jsonl(path: str, lines: list[str]) -> list[Item]:
    items = []
    for place, line in enumerate(lines, 1):
        where = f"{path}, line {place}"
        given = json_object(line, where, EXAMPLE)
        if "candidates" not in given:
            raise InputError(f"{where}: not {EXAMPLE}")
        candidates = _texts(where, "candidates", given["candidates"])
        scores = given.get("scores")
        if scores is not None:
            if not isinstance(scores, list) or not all(
                each is None or isinstance(each, int | float) for each in scores
            ):
                raise InputError(f"{where}: scores is not a list of numbers")
            if len(scores) != len(candidates):
                found = counted(len(scores), "score", "scores")
                raise InputError(f"{where}: {found} for {counted(len(candidates), 'candidate', 'candidates')}")
        source = given.get("src")
        if source is not None and not isinstance(source, str):
            raise InputError(f"{where}: src is not text")
        try:
            known = None if scores is None or None in scores else tuple(map(float, scores))
        except OverflowError as error:  # an integer of more than 308 digits
            raise InputError(
                f"{where}: scores holds a number that is too large", fix="it must be below 1e308"
            ) from error
        references = given.get("references")
        items.append(
            Item(candidates, known, source, None if references is None else _texts(where, "references", references))
        )
    with_source = sum(item.source is not None for item in items)
    if 0 < with_source < len(items):
        lacking = next(k for k, item in enumerate(items, 1) if item.source is None)
        raise InputError(
            f"{path}, line {lacking}: no src, but other lines have one", fix="give it on every line, or on none"
        )
    return items


def _texts(where: str, name: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise InputError(f"{where}: {name} is not a list of texts")
    if not given:
        raise InputError(f"{where}: no {name}", fix="every source needs one")
    for each in given:
        if holds_surrogate(each):
            raise InputError(f"{where}: {name} hold a lone surrogate, which is not text", fix="write the file as UTF-8")
    return tuple(each.removeprefix(BOM) for each in given)


def is_fairseq(lines: Sequence[str]) -> bool:
    """Whether these lines are fairseq's output.

    >>> is_fairseq(["S-0\\tein Haus", "H-0\\t-0.3\\ta house"]), is_fairseq(["a house", "the house"])
    (True, False)
    """
    return any(map(_HYPOTHESIS.match, lines[:_BEGINNING]))


def _of_fairseq(path: str, lines: Sequence[str], known: Sequence[Any] | None) -> list[Item]:
    """Read the output of fairseq-generate or fairseq-interactive: each line has a kind and the number of its source.

    Detokenized hypotheses (D-) are preferred; without any, the H- lines are read. Other lines, such as a log, are skipped
    with a notice.
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
                    f"{path}, line {place}: the text of source {number} differs from an earlier one",
                    fix="give the output of one test set",
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
        raise InputError(f"{path}: no lines are hypotheses of fairseq's output (H- or D-)")
    for number in range(max([*own, *sources, *found["H"]]) + 1):
        detokenized, all_ = len(own.get(number, [])), len(found["H"].get(number, []))
        if not detokenized:
            raise InputError(
                f"{path}: source {number} has no {own_kind}- lines", fix="every source from 0 on needs candidates"
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
    if known is not None:  # fairseq prints sources tokenized; prefer those of a file
        sources = {}
    return [
        Item(tuple(text for text, _ in each), tuple(score for _, score in each), sources.get(number))
        for number, each in sorted(own.items())
    ]


def say_duplicates(items: Sequence[Item]) -> None:
    """Say how many candidates repeat another one of their source, since each distinct text is scored only once."""
    candidates = sum(len(item.candidates) for item in items)
    repeated = candidates - sum(len({*item.candidates}) for item in items)
    if repeated:
        notice(
            f"{repeated:,} of {candidates:,} candidates repeat another candidate of the same source; each text is "
            f"scored once"
        )
    alone = sum(len(item.candidates) == 1 for item in items)
    if alone:
        notice(f"{counted(alone, 'source has only', 'sources have only')} one candidate, which is chosen")


def order(scores: Sequence[float]) -> list[int]:
    """The numbers of the candidates, best first; equal ones keep their order. Those without a score are left out, unless
    none has one.

    >>> order([0.1, float("nan"), 0.3, 0.3])
    [2, 3, 0]
    """
    known = [k for k, score in enumerate(scores) if not math.isnan(score)]
    return sorted(known, key=lambda k: -scores[k]) or list(range(len(scores)))


def render(
    items: Sequence[Item],
    scores: Sequence[Sequence[float]],
    form: str,
    top: int | None = None,
    approximate: Sequence[str] = (),
) -> str:
    """Render the choices in one of the formats: text, nbest or jsonl.

    top     how many distinct candidates of each source to write; None: one for text, all for the other formats
    approximate    for each source, the method if its scores only approximate the exact ones, else ""; written to JSON lines
    """
    if form == "jsonl":
        return "".join(
            json.dumps(_object(item, own, top, method), ensure_ascii=False, allow_nan=False) + "\n"
            for item, own, method in zip(items, scores, approximate or [""] * len(items), strict=True)
        )
    lines, broken = [], 0
    for number, (item, own) in enumerate(zip(items, scores, strict=True)):
        places = _first(item, order(own))
        for k in places[: 1 if form == "text" else top]:
            text = item.candidates[k]
            if "\n" in text or "\r" in text:
                broken, text = broken + 1, " ".join(text.split())
            lines.append(text if form == "text" else f"{number} ||| {text} ||| {own[k]:.6f}")
    if broken:
        notice(f"{counted(broken, 'candidate holds', 'candidates hold')} line ends, which were replaced by spaces")
    return "".join(f"{line}\n" for line in lines)


def check_form(items: Sequence[Item], form: str) -> None:
    if form == "nbest":
        for number, item in enumerate(items, 1):
            if any("|||" in text for text in item.candidates):
                raise InputError(
                    f"source {number}, counted from 1: a candidate holds |||, which separates the columns of n-best lists",
                    fix="write --format jsonl",
                )


def _first(item: Item, places: Sequence[int]) -> list[int]:
    """Drop places whose candidates repeat an earlier text."""
    first: dict[str, int] = {}
    for k in places:
        first.setdefault(item.candidates[k], k)
    return list(first.values())


def _object(item: Item, scores: Sequence[float], top: int | None, approximate: str) -> dict:
    """A JSON object that read_items can read: candidates in their order, or with `top` only the best, best first."""
    best = order(scores)
    places = range(len(scores)) if top is None else _first(item, best)[:top]
    return {
        **({} if item.source is None else {"src": item.source}),
        "best": item.candidates[best[0]],
        "candidates": [item.candidates[k] for k in places],
        "scores": [None if math.isnan(scores[k]) else scores[k] for k in places],
        **({"approximate": approximate} if approximate else {}),
    }
