"""Reads WMT25's human evaluation: JSON lines with a source segment each, its translations, and people's scores of them."""

import math
from collections.abc import Sequence
from typing import Any

from ...errors import InputError
from ...notices import counted, notice
from ...reading import holds_surrogate, json_object
from ..judged import JudgedSet
from .grid import Segment, judged_set
from .rows import asked_pairs, halves, is_jsonl, is_of, is_whole, number, stem, table_lines

BETWEEN = "_#_"  # the parts of a doc_id
REFERENCE = "refA"
ROUNDS = ("score", "human", "human1", "human2")  # the keys of scores, in the versions of the file


def is_annotated(path: str) -> bool:
    """Whether a file's first line is an object with translations and scores by system."""
    if not is_jsonl(path):
        return False
    line = next(filter(str.strip, table_lines(path)), "")
    return line.lstrip().startswith("{") and {"tgt_text", "scores"} <= json_object(line, path, "an object").keys()


def read_annotated(path: str, pairs: Sequence[str] | None = None, reference: str | None = None) -> list[JudgedSet]:
    """Read the judged set of each language pair, named after the file and the pair.

    pairs        only these language pairs
    reference    the translation that serves as reference; None for refA, if there is one. It remains a system

    A line has src_text, tgt_text {system: text}, scores {system: judgements} and doc_id, which ends with the segment's
    number: en-cs_CZ_#_news_#_DOCUMENT_#_0. Judgements are a list with a `score` each, or an object with `human`, or with
    `human1` and `human2`; an output's score is their mean. Documents of which no segment was judged are left out.
    """
    of_pair: dict[str, list[Segment]] = {}
    for k, line in enumerate(table_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}, line {k}"
        row = json_object(line, where, "an object with doc_id, src_text, tgt_text and scores")
        document, _, last = str(row.get("doc_id", "")).rpartition(BETWEEN)
        pair, parted, _ = document.partition(BETWEEN)
        if not (parted and "-" in pair and is_whole(last)):
            wanted = BETWEEN.join(("PAIR", "DOMAIN", "DOCUMENT", "NUMBER"))
            raise InputError(f"{where}: doc_id {str(row.get('doc_id'))[:60]!r} is not of the form {wanted}")
        if not is_of(pair, pairs):
            of_pair.setdefault(pair, [])
            continue
        hypotheses, scores = (_object(row, key, where) for key in ("tgt_text", "scores"))
        texts = {name: _text(text, f"{where}: tgt_text of {name}") for name, text in hypotheses.items()}
        chosen = [texts.get(reference or REFERENCE) or None]
        segment = Segment(document, int(last), _text(row.get("src_text"), f"{where}: src_text"), chosen)
        for system, text in texts.items():
            for score in _scores(scores.get(system), f"{where}, {system}"):
                segment.judge(system, text, score)
        of_pair.setdefault(pair, []).append(segment)
    if not of_pair:
        raise InputError(f"{path} is empty")
    asked = [pair for pair, segments in of_pair.items() if segments] or asked_pairs(path, pairs, [*of_pair])
    return [_set(f"{stem(path)}.{pair}", pair, of_pair[pair], reference) for pair in asked]


def _set(name: str, pair: str, segments: list[Segment], reference: str | None) -> JudgedSet:
    judged = {
        each.document
        for each in segments
        if any(not math.isnan(score) for _, scores in each.hypotheses.values() for score in scores)
    }
    if left := {each.document for each in segments} - judged:
        notice(f"{name}: left out {counted(len(left), 'document', 'documents')} that nobody judged")
    known = [each for each in segments if each.document in judged]
    named = (reference or REFERENCE) if any(text for each in known for text in each.references) else None
    if reference and not named:
        raise InputError(f"{name}: no translation is named {reference}", fix="name another with --reference")
    return judged_set(name, known, halves(pair), named)


def _object(row: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    if not isinstance(value := row.get(key), dict):
        raise InputError(f"{where}: {key} is not an object with the systems' names")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} is not text")
    if holds_surrogate(value):
        raise InputError(f"{what} holds half of a surrogate pair (\\ud800 to \\udfff), which is not text")
    return value


def _scores(judgements: Any, where: str) -> list[float]:
    """The scores of an output; [NaN] if nobody judged it."""
    given = judgements if isinstance(judgements, list) else [judgements or {}]
    if not all(isinstance(each, dict) for each in given):
        raise InputError(f"{where}: its scores are neither objects nor a list of them")
    values = [each[key] for each in given for key in ROUNDS if each.get(key) is not None]
    return [number(str(value), where) for value in values] or [math.nan]
