"""Notices about texts before scoring: HTML entities, shifted lines, faulty translations, byte-order marks. They never
affect a score."""

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..notices import counted, notice
from ..reading import BOM
from .streams import Segments, named

if TYPE_CHECKING:
    from .line_shifts import Shift

# the five entities of XML, and numeric ones; "AT&T; IBM" and "&copy;" stay as they are
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
ENTITY_SHARE = 0.005  # share of a text's lines; fewer do not change the first decimal of a score
SHOWN = 3  # texts or blocks named in one notice


def check_texts(
    systems: Sequence[Segments],
    references: Sequence[Segments],
    source: Segments | None = None,
    languages: tuple[str | None, str | None] = (None, None),
) -> None:
    """Give notice of HTML entities, of lines that fit another line of the reference better than their own, and of the
    findings of faults.check_faults: copies of the source, repetitions, and texts in the wrong language.

    All texts are compared with the first reference, or with the source if there is no reference.
    """
    _say_entities(systems, [*references, *([source] if source else [])])
    _say_shifts(systems, references, source)
    from .faults import check_faults  # needs NumPy, which runs of sacrebleu's own metrics should not wait for

    check_faults(systems, references, source, languages)


def check_byte_order_marks(streams: Sequence[Segments], stock: Sequence[str]) -> None:
    """Give notice of texts that start with a byte-order mark if sacrebleu's own metrics (`stock`) will read it as text."""
    names = [each.name for each in streams if each and (each[0] or "").startswith(BOM)]
    if names and stock:
        notice(
            f"the byte-order mark at the start of {_listed(names)} is part of the first word for "
            f"{', '.join(stock)}; save the file without it (plugin metrics and ctx-metrics score remove it)"
        )


def unescaped(line: str | None) -> str | None:
    """Return a line with its entities replaced once: "&amp;quot;" becomes "&quot;". Line-break entities become blanks.

    >>> unescaped("&quot;AT&amp;T&quot; &#8211; it&#39;s &copy;"), unescaped(None)
    ('"AT&T" – it\\'s &copy;', None)
    """
    return line and _ENTITY.sub(lambda entity: re.sub(r"[\r\n]", " ", html.unescape(entity.group())), line)


def unescape(streams: Sequence[Segments]) -> list[Segments]:
    """Return the streams with their lines unescaped; gives notice of where there were entities, or that there were none."""
    changed = [each for each in (_with_entities(stream) for stream in streams) if each.number]
    notice(f"--unescape: HTML entities {f'replaced in {_shares(changed)}' if changed else 'are in none of the texts'}")
    return [named([unescaped(line) for line in stream], stream.name) for stream in streams]


class _Entities(NamedTuple):
    """How many of a text's lines contain entities; `example` is the first entity, or "" if there is none."""

    name: str
    number: int
    lines: int
    example: str


def _with_entities(stream: Segments) -> _Entities:
    entities = [match.group() for line in stream if line is not None and (match := _ENTITY.search(line))]
    return _Entities(stream.name, len(entities), sum(line is not None for line in stream), next(iter(entities), ""))


def _say_shifts(systems: Sequence[Segments], references: Sequence[Segments], source: Segments | None) -> None:
    hub = references[0] if references else source or None
    if hub is None:
        return
    from .line_shifts import shifts  # needs NumPy, which runs of sacrebleu's own metrics should not wait for

    shifted: dict[Shift, list[str]] = {}
    for each in (*systems, *references[1:], *([source] if references and source else [])):
        for shift in shifts(each, hub, translated=source is each or source is hub):
            known = next((other for other in shifted if _alike(other, shift)), shift)
            shifted.setdefault(known, []).append(each.name)
    compared = len(systems) + len(references) - 1 + (source is not None and bool(references))
    blocks: dict[tuple[str, str], list[str]] = {}
    for (first, last, offset), names in shifted.items():
        # if most texts disagree with the one that they are compared with, that one is shifted
        culprit = f" in {hub.name}" if len(names) > max(1, compared / 2) else ""
        where = f"{first + 1}-{last + 1} fit line{offset:+d}"
        blocks.setdefault((_listed(names), culprit), []).append(where)
    for (texts, culprit), places in blocks.items():
        notice(
            f"{texts}: lines {_listed(places)} of {hub.name} better than their own; look for a missing or additional line"
            f"{culprit}"
        )


def _say_entities(systems: Sequence[Segments], test_set: Sequence[Segments]) -> None:
    of_systems, of_test_set = ([_with_entities(each) for each in streams] for streams in (systems, test_set))
    many = [each for each in (*of_systems, *of_test_set) if each.number > ENTITY_SHARE * each.lines]
    if not many:
        return
    others = of_test_set if any(each in many for each in of_systems) else of_systems
    if not of_test_set:
        also = "no reference was given to compare with"
    elif not any(each in many for each in others):
        few = sum(each.number for each in others)
        also = f"{_listed([each.name for each in others])}: {counted(few, 'line', 'lines') if few else 'none'}"
    else:
        also = "the test set is escaped too, or about HTML"
    notice(
        f"HTML entities such as {many[0].example} are in {_shares(many)}; {also}; "
        "`ctx-metrics score` and `ctx-metrics meta` replace them with --unescape"
    )


def _shares(entities: Sequence[_Entities]) -> str:
    return _listed([f"{n:,} of {lines:,} lines ({100 * n / lines:.1f} %) of {name}" for name, n, lines, _ in entities])


def _listed(words: Sequence[str]) -> str:
    more = len(words) - SHOWN
    return ", ".join(words[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _alike(one: "Shift", other: "Shift") -> bool:
    common = min(one.last, other.last) - max(one.first, other.first) + 1
    whole = max(one.last, other.last) - min(one.first, other.first) + 1
    return one.offset == other.offset and 2 * common > whole
