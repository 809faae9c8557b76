"""A notice where every document of a run has one segment, so that nothing reads more than one."""

import re
from collections.abc import Sequence

from ..corpus import document_ranges
from ..notices import Notice, notice

LEAST = 5  # segments of a run without which there is no notice
_NUMBERED = re.compile(r"(.*?)([\s_#.:/-]+)\d+\s*$", re.DOTALL)


def say_single(doc_ids: Sequence[str] | None, effect: str) -> None:
    """Give notice if every document has one segment, with the likely cause.

    effect    the effect on the scores or on the tests
    """
    if doc_ids is None or len(doc_ids) < LEAST or len(document_ranges(doc_ids)) < len(doc_ids):
        return
    number, name = len(doc_ids), getattr(doc_ids, "name", "") or "document ids"
    why = f"{effect}; {_cause(doc_ids)}"
    notice(
        Notice(f"document for 1 segment, so {why}", f"documents for {number:,} segments, so {why}", number, about=name)
    )


def _cause(doc_ids: Sequence[str]) -> str:
    """Say why ids may differ in every line.

    >>> _cause(["talk\\t1", "talk\\t2", "news\\t3", "news\\t4"])
    'a tab and a number end the ids: give the first column (`cut -f1`)'
    >>> _cause(["talk_#_0", "talk_#_1", "news_#_0", "news_#_1"])
    'the ids seem to be those of paragraphs: cut off the number at the end (_#_0)'
    >>> _cause(["a", "b", "c"])
    'each line needs the id of its whole document, not of its segment'
    """
    found = [match for match in map(_NUMBERED.match, doc_ids) if match]
    if len(found) == len(doc_ids) and 2 * len({match[1] for match in found}) <= len(found):
        if all("\t" in match[2] for match in found):
            return "a tab and a number end the ids: give the first column (`cut -f1`)"
        end = doc_ids[0][len(found[0][1]) :]
        return f"the ids seem to be those of paragraphs: cut off the number at the end ({end})"
    return "each line needs the id of its whole document, not of its segment"
