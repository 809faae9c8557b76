"""Rows from JSONL: a JSON object a line, with the names that the columns of a table have."""

import json
from collections.abc import Callable

from ...errors import InputError
from .rows import REFERENCES, Row, table_lines, unpacked


def is_jsonl(path: str) -> bool:
    """Whether a file's name ends in .jsonl, or in .jsonl.gz or .jsonl.xz."""
    return unpacked(path).endswith(".jsonl")


def read_jsonl(path: str, wanted: Callable[[str], bool]) -> tuple[list[str], list[Row]]:
    """The keys of a file's objects, in order of first appearance, and the rows, as read_rows gives them.

    wanted    whether a key is read. Of these a row has those that its object has: a string as it is, a number as Python
              writes it, null as "". Empty lines are no rows. A reference may be a list of references: "ref": ["a", "b"] is
              read as "ref": "a", "ref2": "b"

    Raises InputError naming file and line of what is no JSON object, or of a wanted value that is neither text nor number.
    """
    keys: dict[str, None] = {}
    rows = []
    for number, line in enumerate(table_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: no JSON ({error}); write one object a line") from error
        if not isinstance(value, dict):
            raise InputError(
                f"{where}: no JSON object; write one a line, such as {{'mt': ..., 'ref': ..., 'score': 1}}"
            )
        for key in [key for key in REFERENCES if isinstance(value.get(key), list)]:
            texts = value.pop(key)
            names = [key, *(f"{key}{k}" for k in range(2, len(texts) + 1))]
            if taken := [name for name in names if name in value]:
                raise InputError(f"{where}: {key} is a list of {len(texts)}, and {taken[0]} is there too")
            value.update(zip(names, texts or [None], strict=True))
        keys.update(dict.fromkeys(value))
        rows.append(Row(where, {key: _cell(key, value[key], where) for key in value if wanted(key)}))
    return list(keys), rows


def _cell(key: str, value: object, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f"{where}: {key} is neither text nor number")
    text = str(value)
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{where}: {key} holds half of a surrogate pair (\\ud800 to \\udfff), which is no text")
    return text
