"""Rows that training leaves out because a file lists their document or their source."""

from collections import Counter
from collections.abc import Sequence

from ...errors import InputError
from ...notices import notice
from ...reading import read_lines
from ..data import check_given_once
from ..folder import name_of
from .judgements import Judgement


class LeftOut:
    """Lines of files, each the name of a document or the text of a source, and which of them the rows had."""

    def __init__(self, paths: Sequence[str]):
        check_given_once(paths)
        self._lines = {path: {line.strip() for line in read_lines(path)} - {""} for path in paths}
        self._found: dict[str, set[str]] = {path: set() for path in paths}
        for path, lines in self._lines.items():
            if not lines:
                raise InputError(
                    f"{path} has no line to leave out", fix="write one document or source sentence per line"
                )

    def without(self, rows: Sequence[Judgement], references: bool = False) -> tuple[list[Judgement], Counter]:
        """Return the rows that no file lists, and the counts of others: {"listed in FILE": 3, ...}.

        A row whose document and source are in several files counts for the first of them.

        references    whether the lines are looked for among the references too
        """
        kept: list[Judgement] = []
        listed = Counter({f"listed in {name_of(path)}": 0 for path in self._lines})  # in the order of the files
        for row in rows:
            read = row.document, row.source, row.reference if references else None
            texts = {text.strip() for text in read if text is not None}
            files = []
            for path, lines in self._lines.items():
                if found := texts & lines:
                    files.append(path)
                    self._found[path] |= found
            if files:
                listed[f"listed in {name_of(files[0])}"] += 1
            else:
                kept.append(row)
        return kept, +listed

    def counts(self, of: str = "the training data") -> dict[str, dict[str, int]]:
        """Return {path: {"lines": distinct lines, "found": those that rows had}}; a notice names files without any."""
        for path, found in self._found.items():
            if not found:
                notice(f"{path}: none of its lines is a document or a source of {of}, so nothing is left out")
        return {path: {"lines": len(lines), "found": len(self._found[path])} for path, lines in self._lines.items()}
