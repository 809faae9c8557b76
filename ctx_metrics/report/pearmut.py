"""The items of a Pearmut campaign: all systems' outputs of a segment, by documents."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..corpus import document_ranges
from ..errors import InputError


def check_names(names: Sequence[str]) -> None:
    """Raise InputError for a system's name of digits alone, which `pearmut add` refuses."""
    if digits := [name for name in names if name.isdigit()]:
        raise InputError(
            f"system {digits[0]}: Pearmut does not accept names made of digits only",
            fix="give other names with --names",
        )


def documents_of_items(
    systems: Mapping[str, Sequence[str]],
    sources: Sequence[str] | None = None,
    doc_ids: Sequence[str] | None = None,
    references: Sequence[str | None] | None = None,
) -> list[list[dict[str, Any]]]:
    """Return the items of each document; without document ids, each segment is a document.

    Pearmut tells items apart by their item_id (without one, by their texts, so that judgements of repeated texts overwrite
    each other): document id and position in the document, else the line number.

    >>> documents_of_items({"A": ["Yes.", "Yes."]}, ["Ja.", "Ja."], ["news", "news"])[0][1]
    {'item_id': 'news#2', 'doc_id': 'news', 'src': 'Ja.', 'tgt': {'A': 'Yes.'}}
    >>> [item["item_id"] for [item] in documents_of_items({"A": ["Yes.", "Yes."]})]
    ['1', '2']
    """
    segments = len(next(iter(systems.values())))
    ranges = [(i, i + 1) for i in range(segments)] if doc_ids is None else document_ranges(doc_ids)

    def item(i: int, start: int) -> dict[str, Any]:
        place = (
            {"item_id": str(i + 1)}
            if doc_ids is None
            else {"item_id": f"{doc_ids[i]}#{i - start + 1}", "doc_id": doc_ids[i]}
        )
        texts: dict[str, Any] = {"src": "" if sources is None else sources[i]}
        if references is not None:
            texts["ref"] = references[i] or ""
        return {**place, **texts, "tgt": {name: hypotheses[i] for name, hypotheses in systems.items()}}

    return [[item(i, start) for i in range(start, end)] for start, end in ranges]
