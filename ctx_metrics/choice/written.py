"""What was chosen, as text: the best line of each source, n-best lists, JSON lines."""

import json
import math
from collections.abc import Sequence

from ..errors import InputError
from ..notices import counted, notice
from .candidates import Item

FORMS = ("text", "nbest", "jsonl")


def order(scores: Sequence[float]) -> list[int]:
    """The numbers of candidates from the best; equal ones stay in their order, those without a score are left out, unless
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
    """The text of a choice.

    form    text (a line a source), nbest (`0 ||| text ||| score`, from the best) or jsonl (candidates with their scores)
    top     how many distinct candidates of each source are written; None: one as text, all in the other formats
    approximate    of each source the method whose scores are only close to the exact ones, or ""; JSON lines name it
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
    """Raise InputError for candidates that the format cannot hold."""
    if form == "nbest":
        for number, item in enumerate(items, 1):
            if any("|||" in text for text in item.candidates):
                raise InputError(
                    f"source {number}, counted from 1: a candidate holds |||, which separates the columns of n-best lists; "
                    f"write --format jsonl"
                )


def _first(item: Item, places: Sequence[int]) -> list[int]:
    """These places without candidates whose text came before."""
    first: dict[str, int] = {}
    for k in places:
        first.setdefault(item.candidates[k], k)
    return list(first.values())


def _object(item: Item, scores: Sequence[float], top: int | None, approximate: str) -> dict:
    """As read_items reads it: candidates in their order, or the best ones from the best."""
    best = order(scores)
    places = range(len(scores)) if top is None else _first(item, best)[:top]
    return {
        **({} if item.source is None else {"src": item.source}),
        "best": item.candidates[best[0]],
        "candidates": [item.candidates[k] for k in places],
        "scores": [None if math.isnan(scores[k]) else scores[k] for k in places],
        **({"approximate": approximate} if approximate else {}),
    }
