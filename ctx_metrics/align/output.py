"""The files of aligned systems: their lines, and the links as JSON lines."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ..run.wrappers import Gap, Table
from ..writing import write_whole
from .alignment import Addition, Link
from .systems import AlignedSystem
from .testset import TestSet

LINES, LINKS = ".txt", ".jsonl"
TREE = "sources/*", "documents/*", "references/*", "system-outputs/*/*"  # all files of a test set, as patterns
COUNTS = {
    "lines": "Lines",
    "segments": "Segments",
    "merged": "Merged",
    "split": "Split",
    "inside": "Ends inside a sentence",
    "omissions": "Omissions",
    "additions": "Additions",
    "added_characters": "Characters added",
}


def links_beside(path: str) -> str:
    """The file of the links, next to the file of the lines.

    >>> links_beside("out/aligned.txt"), links_beside("out/aligned")
    ('out/aligned.jsonl', 'out/aligned.jsonl')
    """
    return path.removesuffix(LINES) + LINKS


def files(folder: str, names: Sequence[str]) -> list[str]:
    """The file of each system's lines in a folder."""
    return [os.path.join(folder, name.replace("/", "_") + LINES) for name in names]


def both(lines: Sequence[str]) -> list[str]:
    """The files of lines, each with that of its links."""
    return [each for path in lines for each in (path, links_beside(path))]


def tree(folder: str, pair: str, test_set: TestSet) -> tuple[dict[str, Sequence[str]], str]:
    """The lines of each file of a tree in mt-metrics-eval's layout, and the folder of the systems' lines."""
    own = {
        os.path.join("sources", f"{pair}{LINES}"): test_set.sources,
        os.path.join("documents", f"{pair}.docs"): [f"all\t{name}" for name in test_set.doc_ids],
        **{
            os.path.join("references", f"{pair}.{name}{LINES}"): stream
            for name, stream in zip(test_set.names, test_set.references, strict=True)
        },
    }
    return {os.path.join(folder, name): lines for name, lines in own.items()}, os.path.join(
        folder, "system-outputs", pair
    )


def write(path: str, system: AlignedSystem, doc_ids: Sequence[str] | None, encoding: str = "utf-8") -> None:
    """Write a system's lines, and its links next to them."""
    links = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows(system, doc_ids))
    lines = "".join(line + "\n" for line in system.lines)
    write_whole(links_beside(path), links)
    write_whole(path, lines, encoding=encoding)


def rows(system: AlignedSystem, doc_ids: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """The counts, then each segment's link or omission in order, or that it is empty, with the additions between them.

    Segments and lines are counted from 1: the segments of the run, and the lines of the document that hold text.
    """
    yield {"kind": "system", "hypothesis": system.name, "align": system.signature, **system.counts}
    for part, alignment in zip(system.parts, system.alignments, strict=True):
        places: dict[int, Link | None] = {link.segment: link for link in alignment.links}
        omitted, added = {*alignment.omissions}, dict[int, list[Addition]]()
        for addition in alignment.additions:
            added.setdefault(addition.after, []).append(addition)
        for number in range(-1, part.end - part.start):
            name = None if doc_ids is None else doc_ids[part.start + max(number, 0)]
            if number >= 0:
                kind = "omission" if number in omitted else "empty"
                yield {"kind": kind, "document": name, "segment": part.start + number + 1} | _shown(
                    places.get(number), part.start, "link"
                )
            for addition in added.get(number, ()):
                after = {"kind": "addition", "document": name, "after": part.start + number + 1}
                yield after | _shown(addition, part.start, "addition")


def _shown(each: Link | Addition | None, start: int, kind: str) -> dict[str, Any]:
    if each is None:
        return {}
    found = asdict(each)
    own = {key: found[key] for key in found if key not in ("segment", "after")}
    return {"kind": kind, **own, "lines": [line + 1 for line in each.lines]}


def counts_table(systems: Sequence[AlignedSystem], names: Sequence[str]) -> Table:
    counts = [
        [name, *(f"{system.counts[key]:,}" for key in COUNTS)] for name, system in zip(names, systems, strict=True)
    ]
    return Table("Alignment", ["System", *COUNTS.values()], counts)


def gaps(systems: Sequence[AlignedSystem]) -> list[Gap]:
    """The omissions and additions of each system, in the order of the text."""
    return [
        Gap(s, row["segment"] - 1) if row["kind"] == "omission" else Gap(s, row["after"] - 1, row["text"])
        for s, system in enumerate(systems)
        for row in rows(system, None)
        if row["kind"] in ("omission", "addition")
    ]
