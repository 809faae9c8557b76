"""Writes choices as text: the best line of each source, n-best lists, or JSON lines."""

import json
import math
from collections.abc import Sequence

from ..errors import InputError
from ..notices import counted, notice
from .candidates import Item

FORMS = ("text", "nbest", "jsonl")


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
                    f"source {number}, counted from 1: a candidate holds |||, which separates the columns of n-best lists; "
                    f"write --format jsonl"
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
