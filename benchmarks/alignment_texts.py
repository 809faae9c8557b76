"""Documents of test sets whose true lines are known, and the same with their lines lost.

DATA holds wmt22_general, wmt22_mqm and wmt24_esa, each as a packed tree, and wmt25_teacher.
"""

import csv
import lzma
import random
import re
import tarfile
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

from ctx_metrics.align.alignment import Alignment
from ctx_metrics.align.stream import joined

Item = TypeVar("Item")
PAIRS = ["en-zh", "ja-en", "uk-en", "ru-en", "en-de", "zh-en", "en-cs", "en-ja"]
UNSPACED = ("zh", "ja")
KEPT_BREAK, BREAK = 0.5, 1 / 25  # chances that a line break stays, and that one comes between two words
SENTENCE_LETTERS = 12  # fewest of an added sentence
UNSPACED_BREAK = 1 / 50  # between two words or characters of a language without spaces
_LOOP = re.compile(r"(.{4,}?)\1{3,}")
_WORDS = re.compile(r"\s*(?:[!-~]+|\S)")  # of such a language: those in ASCII, and other characters


class Document(NamedTuple):
    """One system's output for a document, line by line beside the sources and references."""

    pair: str
    number: int  # of the document in its test set
    name: str
    system: str
    sources: list[str]
    references: list[str]
    hypotheses: list[str]

    @property
    def languages(self) -> list[str]:
        return self.pair.split("-")

    @property
    def unspaced(self) -> bool:
        return self.languages[1] in UNSPACED

    def on_one_line(self, parts: Sequence[str]) -> str:
        """Words or lines, one after the other; in a language without spaces, blanks come only between ASCII characters."""
        text = ""
        for part in parts:
            if text and not part[:1].isspace() and (not self.unspaced or (text[-1] + part[:1]).isascii()):
                text += " "
            text += part
        return text.strip()

    def chance(self, what: str) -> random.Random:
        """Random numbers that depend on the document, the system and what they are for."""
        return random.Random(f"{self.pair} {self.name} {self.system} {what}")


def read_pair(data: Path, pair: str, systems: int) -> list[Document]:
    """Documents of at least two lines, none empty, of some systems, evenly spaced by name."""
    if pair in ("en-cs", "en-ja"):
        read = _tree(data / "wmt24_esa/wmt24_esa.tar.xz", "wmt24_esa", pair, systems)
    elif pair in ("en-de", "zh-en"):
        read = _tree(data / "wmt22_mqm/wmt22_mqm.tar.xz", f"wmt22_mqm/{pair}", pair, systems)
    else:
        read = _xml(data / "wmt22_general/wmt22_general.tar.xz", pair, systems)
    return [
        each
        for each in read
        if len(each.references) > 1
        and all(text.strip() for text in (*each.sources, *each.references, *each.hypotheses))
    ]


def translated_whole(data: Path, documents: int) -> dict[str, list[Document]]:
    """Documents of WMT25 that systems, mostly language models, translated as a whole, paragraph by paragraph beside the
    sources: some of each language pair, evenly spaced, of at least three paragraphs, from which no network of align learned.
    They have no references."""
    of_pairs: dict[str, list[Document]] = {}
    for each in read_whole(data, held_out=True):
        if len(each.sources) > 2 and all((*each.sources, *each.hypotheses)):
            of_pairs.setdefault(each.pair, []).append(each)
    return {pair: spaced(every, documents) for pair, every in of_pairs.items()}


def read_whole(data: Path, held_out: bool) -> Iterator[Document]:
    """Outputs of WMT25, paragraph by paragraph beside the sources; they have no references.

    held_out    those of every third document, for the tables, or else all others, for the networks to learn from
    """
    with lzma.open(data / "wmt25_teacher/wmt25_teacher.tsv.xz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    held = {*sorted({row["doc"] for row in rows})[::3]}
    paragraphs: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in rows:
        if (row["doc"] in held) == held_out:
            paragraphs.setdefault((row["lp"], row["doc"], row["system"]), []).append(row)
    for number, ((languages, name, system), own) in enumerate(sorted(paragraphs.items())):
        own.sort(key=lambda row: int(row["seg"]))
        sources, hypotheses = ([" ".join(row[column].split()) for row in own] for column in ("src", "mt"))
        # without countries and scripts; Serbian has two
        yield Document(languages.split("_")[0], number, name, system, sources, [], hypotheses)


def spaced(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count` items, evenly spaced.

    >>> spaced("abcdef", 3)
    ['a', 'c', 'e']
    """
    count = min(count, len(items))
    return [items[i * len(items) // count] for i in range(count)]


def _chosen(names: Sequence[str], count: int) -> list[str]:
    """Evenly spaced names in alphabetic order, without references and reranked outputs."""
    kept = sorted(name for name in names if not name.startswith("ref") and "mbr" not in name.lower())
    count = min(count, len(kept))
    return [kept[round(i * (len(kept) - 1) / max(1, count - 1))] for i in range(count)]


def _xml(archive: Path, pair: str, systems: int) -> Iterator[Document]:
    with tarfile.open(archive) as packed:
        [name] = [name for name in packed.getnames() if name.endswith(f".{pair}.all.xml.xz")]
        file = packed.extractfile(name)
        assert file is not None
        root = ElementTree.fromstring(lzma.decompress(file.read()))
    documents = list(root.iter("doc"))
    chosen = _chosen([each.get("system", "") for each in documents[0].iter("hyp")], systems)
    for number, each in enumerate(documents):
        sources, references, *_ = ([_text(seg) for seg in part.iter("seg")] for part in each if part.tag != "hyp")
        outputs = {hyp.get("system"): [_text(seg) for seg in hyp.iter("seg")] for hyp in each.iter("hyp")}
        for system in chosen:
            yield Document(pair, number, each.get("id", ""), system, sources, references, outputs[system])


def _text(seg: ElementTree.Element) -> str:
    return " ".join((seg.text or "").split())


def _tree(archive: Path, root: str, pair: str, systems: int) -> Iterator[Document]:
    """Documents of a tree in mt-metrics-eval's layout."""
    with tarfile.open(archive) as packed:
        names = [name.removeprefix("./") for name in packed.getnames()]

        def lines(name: str) -> list[str]:
            [member] = [each for each in packed.getmembers() if each.name.removeprefix("./") == name]
            file = packed.extractfile(member)
            assert file is not None
            return [" ".join(line.split()) for line in file.read().decode().removesuffix("\n").split("\n")]

        folders = (f"{root}/system-outputs/{pair}", f"{root}/system-outputs")
        outputs = {Path(name).stem: name for name in names if name.rpartition("/")[0] in folders and ".txt" in name}
        ids = [line.split()[1] for line in lines(f"{root}/documents/{pair}.docs")]
        sources, references = lines(f"{root}/sources/{pair}.txt"), lines(f"{root}/references/{pair}.refA.txt")
        texts = {name: lines(outputs[name]) for name in _chosen(list(outputs), systems)}
    for number, (name, places) in enumerate(groupby(range(len(ids)), ids.__getitem__)):
        own = list(places)
        parts = sources, references, *texts.values()
        read = [[part[i] for i in own] for part in parts]
        for system, hypotheses in zip(texts, read[2:], strict=True):
            yield Document(pair, number, name, system, read[0], read[1], hypotheses)


def letters(text: str) -> str:
    """A text without blanks, by which boundaries are compared."""
    return "".join(text.split())


def without_punctuation(document: Document) -> Document:
    """The same output, each mark a blank."""
    bare = ["".join(" " if is_mark(c) else c for c in text) for text in document.hypotheses]
    return document._replace(hypotheses=[document.on_one_line(text.split()) or "x" for text in bare])


def loops(document: Document) -> bool:
    """Whether a system says something four times in a row; signs too, which the text checks pass over ("| | | |")."""
    return any(_LOOP.search(text) for text in document.hypotheses)


def is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


def broken(document: Document, what: str, inside: bool = True) -> str:
    """The output with some of its own line breaks and, if `inside`, others between words."""
    chance = document.chance(what)
    rate = (UNSPACED_BREAK if document.unspaced else BREAK) if inside else 0
    lines: list[list[str]] = [[]]
    for number, line in enumerate(document.hypotheses):
        if number and chance.random() < KEPT_BREAK:
            lines.append([])
        for place, word in enumerate(_WORDS.findall(line) if document.unspaced else line.split()):
            if place and chance.random() < rate:
                lines.append([])
            lines[-1].append(word)
    return "\n".join(map(document.on_one_line, lines))


def boundaries(lines: Sequence[str]) -> list[int]:
    """How many letters come before each line but the first."""
    ends, total = [], 0
    for line in lines[:-1]:
        total += len(letters(line))
        ends.append(total)
    return ends


def found_boundaries(alignment: Alignment, text: str) -> list[int]:
    """The same as an alignment of the text gives it, so that what it takes for added counts too; -1 for a boundary with such
    text between its segments."""
    before = [0]
    for character in joined(text).text:
        before.append(before[-1] + (not character.isspace()))
    spans = {link.segment: (before[link.begin], before[link.end]) for link in alignment.links}
    found, last = [], 0
    ends = [last := spans[number][1] if number in spans else last for number in range(len(alignment.lines))]
    begin = before[-1]
    for number in reversed(range(1, len(ends))):
        begin = spans[number][0] if number in spans else begin
        found.append(begin if begin == ends[number - 1] else -1)
    return found[::-1]


def with_omissions(document: Document, share: float) -> tuple[Document, set[int]]:
    """The output without some of its lines, at least one of which stays, and the numbers of those that are left out."""
    chance = document.chance(f"omit {share}")
    numbers = range(len(document.hypotheses))
    out = {number for number in numbers if chance.random() < share}
    if len(out) == len(numbers):
        out.discard(chance.choice(numbers))
    kept = [line for number, line in enumerate(document.hypotheses) if number not in out]
    return document._replace(hypotheses=kept), out


def with_additions(document: Document, share: float, others: Sequence[Document]) -> tuple[Document, set[int]]:
    """The output with sentences of the same system's outputs for other documents among its lines, and their numbers.

    others    documents of the same pair
    """
    chance = document.chance(f"add {share}")
    pool = [
        line
        for other in others
        if (other.system, other.name != document.name) == (document.system, True)
        for line in other.hypotheses
        if len(letters(line)) >= SENTENCE_LETTERS and line.endswith(tuple(".!?。！？"))
    ]
    lines, added = [], set()
    for line in document.hypotheses:
        if chance.random() < share:
            added.add(len(lines))
            lines.append(chance.choice(pool))
        lines.append(line)
    return document._replace(hypotheses=lines), added
