"""Align one document: which words of its hypothesis belong to which segment of its references or sources."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
import torch

from ..engine.encoder import TextEncoder, shared_encoder
from ..engine_options import EngineOptions
from ..language import primary
from ..models.hub import MULTILINGUAL, ResolvedModel, encoder_for, multilingual_folder, resolve
from .first_attention import FirstAttention
from .marks import Mark, gains_of, marks_of, unmarked_share
from .path import NOWHERE, Additions, Path, Prices, Span, best_path
from .sentence_begins import sentence_begins
from .stream import Places, Stream, behind_bullets, joined, places, repetitions, with_invisible
from .values import Matching, Side, window_values
from .vectors import Tokens, token_vectors
from .windows import CELLS, MARGINS, between_words, nearby, rough_windows, touched, whole

VERSION = 1  # of the method: another one gives other alignments
# The lowest layers whose tokens match well enough; higher ones take longer and gain little. The English one
# is that of FirstAttention.
ENGLISH_LAYER, MULTILINGUAL_LAYER = 1, 5
ENGLISH_MATCHING, MULTILINGUAL_MATCHING = Matching(0.03, 0.7), Matching(0.01, 1.2)
# Weights of values against references and against sources: a reference is another translation, often a freer one.
SIDE_WEIGHTS = (1.0, 1.5)
CHARACTERS_AT_ONCE = 400_000  # of hypotheses and segments that are encoded together
# Prices, in units of a token's value.
OMISSION, OMITTED_TOKEN = 26.0, 0.1  # of a segment without words, less for each of its tokens
# OMISSION is the price where 5 % of the text is missing. It is lower where more is; shares count only within SHARES.
MISSING, USUALLY_MISSING, SHARES = 9.3, 0.05, (0.03, 0.35)
LENGTH = 3.5  # of each token more or less than a segment should have, divided by the square root of that number
# of an addition, and of each of its ends at a line break inside a sentence: in any text, and if lines are trusted
ADDITION, UNFINISHED, UNFINISHED_LINE = 5.0, 30.0, 8.0
AFTER_UNFINISHED = 8.0  # of its beginning inside a sentence, if the segment before it is not a sentence
# of each of its ends without a mark, divided by the share of boundaries without an end of a sentence: where a sentence
# surely begins, and besides for each unit of minus the logarithm of the chance that one does
SURE, UNSURE = 0.2, 0.5
UNKNOWN = 1e-9  # that chance, without a network
PROBABLE = 0.5  # a sentence counts as begun above this chance
# An added token is worth this share of the way from a token in another segment to one in its own.
ADDED_SHARE = 0.42
# Where this many additions have more than this share of the text, there are more: added tokens are worth a larger share, and
# an addition costs less, for each unit of the logarithm of the one share over the other.
SEVERAL, SEVERAL_FROM, SEVERAL_SHARE, SEVERAL_PRICE = 2, 0.05, 0.094, 2.16
DOUBTFUL_COST = 0.75  # of a segment above which references in English leave the alignment in doubt
LONGEST_WORD = 200  # tokens that count of text without a place where a segment may begin, such as a long address
# The number of segments, as long as their translations in tokens, that count as seen before.
AS_LONG = 3


@dataclass(frozen=True)
class Link:
    """A segment and its part of the hypothesis.

    segment    number of the segment in its document, from 0
    begin, end    characters of the joined hypothesis
    text       the part itself, without blanks around it
    lines      numbers of the hypothesis's lines, from 0, that the part comes from; empty lines have none
    cost       1 less the mean cosine of each token with its best match on the other side
    merged     whether one of these lines also has text of another segment, or added text
    split      whether the part comes from several lines
    inside     whether the part begins or ends inside a sentence, as far as marks or the network show
    """

    segment: int
    begin: int
    end: int
    text: str
    lines: tuple[int, ...]
    cost: float
    merged: bool
    split: bool
    inside: bool


@dataclass(frozen=True)
class Addition:
    """Text that belongs to no segment; `after` is the number of the last segment before it, -1 if there is none."""

    after: int
    begin: int
    end: int
    text: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Alignment:
    """lines        the text of each segment; "" where it is omitted
    links        the link of each other segment
    omissions    numbers of segments that the hypothesis leaves out
    additions    text that is in no line
    """

    lines: list[str]
    links: list[Link]
    omissions: list[int]
    additions: list[Addition]

    @property
    def is_doubtful(self) -> bool:
        """Whether a segment is omitted or matches badly."""
        return bool(self.omissions) or any(link.cost > DOUBTFUL_COST for link in self.links)


@dataclass(frozen=True)
class Document:
    """A hypothesis, with line breaks at any places, and the segments that it translates or should equal.

    sources    the same segments in another language, which are compared too, or None
    """

    hypothesis: str
    segments: Sequence[str]
    sources: Sequence[str] | None = None

    @property
    def filled(self) -> list[int]:
        """The segments that have text, in themselves or in their sources. The others get nothing, and additions may
        be next to them."""
        given = [side for side in (self.segments, self.sources) if side is not None]
        return [number for number, texts in enumerate(zip(*given, strict=True)) if any(map(str.strip, texts))]

    @property
    def lacks_segments(self) -> bool:
        """Whether a segment without text has a source with text."""
        pairs = zip(self.segments, self.sources or (), strict=False)
        return any(source.strip() and not segment.strip() for segment, source in pairs)

    @property
    def sides(self) -> list[tuple[str, ...]]:
        """The filled segments, and then their sources."""
        filled = self.filled
        return [tuple(side[number] for number in filled) for side in (self.segments, self.sources) if side is not None]

    @property
    def stream(self) -> Stream:
        """The hypothesis, joined. Where no segment has a fence of Markdown, fences are not part of the text."""
        return joined(self.hypothesis, fences=any("```" in text for side in self.sides for text in side))


class EncodedDocument(NamedTuple):
    """A document, and the data that its alignment is computed from.

    stream    the hypothesis, joined, and its tokens
    sides     the vectors that they are compared with
    """

    document: Document
    stream: Stream
    tokens: Tokens
    sides: Sequence[Side]


class Evidence(NamedTuple):
    """The data that the best path depends on besides the values of tokens.

    sizes      how many tokens each segment has, [segments]
    at         where the hypothesis's tokens begin, [tokens]
    facts, marks    of its text
    chances    that a sentence begins with each token, float64 [tokens]
    """

    sizes: np.ndarray
    at: np.ndarray
    facts: Places
    marks: Sequence[Mark]
    chances: np.ndarray

    @property
    def is_open(self) -> np.ndarray:
        """For each token, whether a segment may begin with it, bool [tokens]."""
        return self.facts.open[self.at] & (np.diff(self.at, prepend=-1) > 0)

    @property
    def omission(self) -> np.ndarray:
        """The price of each segment's omission, where the usual share of the text is missing; far below 0 without tokens."""
        return np.where(self.sizes > 0, OMISSION - OMITTED_TOKEN * self.sizes, NOWHERE / 1e3)

    def gains(self, boundaries: Sequence[tuple[int, int]]) -> list[np.ndarray]:
        """The gain of a span by the marks where it begins, as `gains_of` gives it.

        boundaries    segments, and where their spans begin, as far as known
        """
        return gains_of(self.marks, self.chances, self.is_open, boundaries)


class Aligner:
    """Aligns documents of one language with references in it, with sources in another language, or with both.

    language    the hypotheses' language
    across      whether the segments are sources
    beside      whether documents may have sources besides references in English too. A faster encoder reads these, so only
                documents that it leaves in doubt, or with empty references, are aligned with both. In other languages
                sources always count
    """

    def __init__(
        self, language: str | None, *, across: bool, beside: bool = False, engine: EngineOptions = EngineOptions()
    ):
        self.model = resolve(MULTILINGUAL if across else encoder_for(language))
        english = self.model.embedded
        folder = self.model.folder
        self.encoder = TextEncoder(FirstAttention(folder), engine) if english else shared_encoder(folder, engine)
        self.layer = ENGLISH_LAYER if english else MULTILINGUAL_LAYER
        self.matching = ENGLISH_MATCHING if english else MULTILINGUAL_MATCHING
        self.looks_twice = not english
        reads = not english or primary(language) in ("", "en")
        self.begins = sentence_begins("english" if english else "multilingual") if reads else None
        self.of_doubtful = None
        if beside and english and multilingual_folder():
            self.of_doubtful = Aligner(language, across=True, engine=engine)

    @property
    def models(self) -> list[ResolvedModel]:
        return [self.model, *(self.of_doubtful.models if self.of_doubtful else ())]

    def align(self, documents: Iterable[Document]) -> Iterator[Alignment]:
        """The alignment of each document, in order."""
        if self.of_doubtful is None:
            yield from self._in_order(documents)
            return
        documents = [*documents]
        alone = self._in_order(replace(each, sources=None) for each in documents)
        for document, alignment in zip(documents, alone, strict=True):
            doubtful = document.lacks_segments or alignment.is_doubtful
            yield from self.of_doubtful.align([document]) if document.sources and doubtful else [alignment]

    def _in_order(self, documents: Iterable[Document]) -> Iterator[Alignment]:
        """The same, with one encoder. While some documents are aligned, the next ones are encoded."""
        with ThreadPoolExecutor(1) as beside:
            encoded: list[EncodedDocument] = []
            pending = beside.submit(self._aligned, encoded)
            for some in _groups(documents):
                encoded = self._encoded(some, encoded)
                done, pending = pending.result(), beside.submit(self._aligned, encoded)
                yield from done
            encoded = []  # the last documents' vectors are free while their alignments are used
            yield from pending.result()

    def _encoded(self, documents: Sequence[Document], before: Sequence[EncodedDocument]) -> list[EncodedDocument]:
        """The documents with their tokens. Documents with the same segments, such as several systems' outputs, share the
        segments' tokens, also with the group before."""
        streams = [document.stream for document in documents]
        known = {side: own.tokens for each in before for side, own in zip(each.document.sides, each.sides, strict=True)}
        wanted = dict.fromkeys(side for each in documents for side in each.sides)
        new = [side for side in wanted if side not in known]
        read = iter(token_vectors(self.encoder, self.layer, [*new, *([stream.text] for stream in streams)]))
        known |= zip(new, islice(read, len(new)), strict=True)
        return [
            EncodedDocument(
                document,
                stream,
                next(read),
                [
                    Side(known[side], self.matching, weight)
                    for side, weight in zip(document.sides, SIDE_WEIGHTS, strict=False)
                ],
            )
            for document, stream in zip(documents, streams, strict=True)
        ]

    def _aligned(self, documents: Sequence[EncodedDocument]) -> list[Alignment]:
        return [aligned(each, self._chances(each.tokens), self.looks_twice) for each in documents]

    def _chances(self, tokens: Tokens) -> np.ndarray:
        """The chance that a sentence begins with each token; the same everywhere if no network tells it."""
        if self.begins is None or not len(tokens.vectors):
            return np.full(len(tokens.vectors), UNKNOWN)
        return self.begins.chances(tokens.vectors)


def _groups(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents that are encoded together."""
    group: list[Document] = []
    length = 0
    for document in documents:
        group.append(document)
        length += len(document.hypothesis) + sum(len(text) for side in document.sides for text in side)
        if length > CHARACTERS_AT_ONCE:
            yield group
            group, length = [], 0
    if group:
        yield group


def aligned(encoded: EncodedDocument, chances: np.ndarray, twice: bool) -> Alignment:
    """The alignment of a document.

    chances    that a sentence begins with each of its hypothesis's tokens, float64 [tokens]
    twice      whether to look again among neighbouring segments, which finds nothing more by the English encoder's tokens
    """
    document, stream, tokens, sides = encoded
    sides = [side for side in sides if len(side.tokens.vectors)]
    segments, at, facts = document.sides[0], with_invisible(stream.text, tokens.begins), places(stream)
    facts.open[behind_bullets(stream)] = False
    number, length = len(segments), len(at)
    if not length or not sides:
        nothing = Path([None] * number, [(0, length)] if length else [])
        return _described(encoded, at, np.zeros(length, bool), nothing)
    if not (short := _within_words(facts.open[at])).all():
        tokens, at, chances = tokens.only(short), at[short], chances[short]
        encoded, length = encoded._replace(tokens=tokens), len(at)
    marks = marks_of(stream.text, facts, at, segments)
    evidence = Evidence(_sizes(sides, number), at, facts, marks, chances)
    if length * max(len(side.tokens.vectors) for side in sides) <= CELLS:
        path = _path(tokens, sides, evidence, whole(length, number), twice)
    else:
        for margin in MARGINS:
            windows = between_words(rough_windows(tokens, sides[0], margin), evidence.is_open)
            path = _path(tokens, sides, evidence, windows, twice)
            if not touched(windows, path.spans, length):
                break
    begin_sentences = facts.end[at] | (chances > PROBABLE)
    path = _on_their_lines(path, np.append(np.flatnonzero(facts.line[at]), length), begin_sentences)
    return _described(encoded, at, begin_sentences, path)


def _within_words(is_open: np.ndarray) -> np.ndarray:
    """Whether each token is among the first LONGEST_WORD of a run in which no segment may begin, bool [tokens].
    The rest of it, as of a line of dashes, goes where these go."""
    numbers = np.arange(len(is_open))
    return numbers - np.maximum.accumulate(np.where(is_open, numbers, 0)) < LONGEST_WORD


def _on_their_lines(path: Path, lines: np.ndarray, begin_sentences: np.ndarray) -> Path:
    """The path with boundaries at line breaks, where there are as many lines as segments, and more than half of the line on
    each side belongs to its own segment. Such lines fit already: words that suit both segments are no reason to move one. A
    boundary between sentences does not become one inside a sentence.

    lines    the tokens with which lines begin, and the number of tokens
    begin_sentences    whether sentences probably begin with each token, bool [tokens]
    """
    spans = [*path.spans]
    if len(lines) != len(spans) + 1:
        return path

    def fits(number: int) -> bool:
        (begin, end), (first, last) = path.spans[number] or (0, 0), lines[number : number + 2]
        return 2 * (min(end, last) - max(begin, first)) > max(end - begin, last - first)

    fitting = [fits(number) for number in range(len(spans))]
    for number, (before, after) in enumerate(pairwise(path.spans)):
        if before and after and before[1] == after[0] and fitting[number] and fitting[number + 1]:
            at = int(lines[number + 1])
            if begin_sentences[before[1]] and not begin_sentences[at]:
                continue
            spans[number], spans[number + 1] = ((spans[number] or before)[0], at), (at, after[1])
    return Path(spans, path.additions)


def _path(tokens: Tokens, sides: Sequence[Side], evidence: Evidence, windows: Sequence[Span], twice: bool) -> Path:
    """The best path within windows.

    To look twice: a first path shows about where each segment is. A token is then worth the mean of two values, among all
    segments and among those around it alone, where a word counts too that the rest of the document has as well. A path
    that reaches a border there is given up for one among all segments.
    """
    values = window_values(tokens, sides, windows)
    if not twice:
        return _settled_path(values, windows, evidence)
    near = nearby(_first_path(values, windows, evidence).spans, windows)
    among = zip(values, windows, window_values(tokens, sides, near), near, strict=True)
    closer = [(every[begin - low : end - low] + own) / 2 for every, (low, _), own, (begin, end) in among]
    path = _settled_path(closer, near, evidence)
    return _settled_path(values, windows, evidence) if touched(near, path.spans, len(evidence.at)) else path


def _first_path(values: Sequence[np.ndarray], windows: Sequence[Span], evidence: Evidence) -> Path:
    """The best path without additions, as long as nothing is known of the document."""
    return best_path(values, windows, evidence.gains([]), Prices(evidence.omission))


def _settled_path(values: Sequence[np.ndarray], windows: Sequence[Span], evidence: Evidence) -> Path:
    """The best path with these values, which it changes. A first pass, without additions, shows what a token in its segment
    is worth, how long segments become, and what marks their beginnings. If the second finds additions, a third does not
    count their words when it asks how much of the text is missing, and if there are several, it looks for more.
    """
    sizes, at, facts, marks, chances = evidence
    is_open = evidence.is_open
    first = _first_path(values, windows, evidence)
    spans = [(number, span) for number, span in enumerate(first.spans) if span]
    parts = [(values[i], values[i][begin - windows[i][0] : end - windows[i][0]]) for i, (begin, end) in spans]
    own = np.median([part.mean() for _, part in parts])
    # in another segment: without the segment's own tokens, since a window has few others
    elsewhere = sum(len(every) - len(part) for every, part in parts)
    if not elsewhere:  # all is in one segment, and nothing shows what words of another text would be worth
        return first
    outside = sum(every.sum(dtype=np.float64) - part.sum(dtype=np.float64) for every, part in parts)
    other = outside / elsewhere
    added = other + ADDED_SHARE * (own - other)
    begun, lines = {begin for _, (begin, _) in spans} - {0}, set(np.flatnonzero(facts.line[at]).tolist()) - {0}
    trust = max(0.0, 2 * len(begun & lines) / max(1, len(lines)) - 1)
    boundaries = [(number, begin) for number, (begin, _) in spans]
    gains = evidence.gains(boundaries)
    at_line = UNFINISHED + trust * (UNFINISHED_LINE - UNFINISHED)
    price = np.where(facts.end[at], 0, np.where(facts.line[at], at_line, np.inf))
    unsure = SURE - UNSURE * np.log(np.maximum(chances, UNKNOWN))
    until = -np.append(np.minimum(price, unsure / unmarked_share(marks, is_open, boundaries)), 0)
    until[0] = 0
    anywhere = np.maximum(until, -AFTER_UNFINISHED)  # one array, since that of each segment would take much memory
    apart = [until if finished else anywhere for finished in marks[0].kinds]
    ratio = np.median([*((end - begin) / max(1, sizes[i]) for i, (begin, end) in spans), *[1] * AS_LONG])
    lengths = np.maximum(1, np.rint(ratio * sizes))

    def further(spans: Sequence[Span | None], addition: float = ADDITION) -> Path:
        # spans: what each segment has, as far as is known; too much in one does not make up for what another lacks
        tokens = [span[1] - span[0] if span else 0 for span in spans]
        missing = np.clip(np.maximum(0, lengths - tokens).sum() / lengths.sum(), *SHARES)
        of_missing = MISSING * np.log(missing / USUALLY_MISSING)
        prices = Prices(evidence.omission - of_missing, (lengths, LENGTH / np.sqrt(lengths)))
        return best_path(values, windows, gains, prices, Additions(addition, apart, until))

    for each in values:
        each -= added
    path = further(first.spans)
    surplus = sum(end - begin for begin, end in path.additions)
    share = surplus / len(at)
    if not surplus:
        return path
    if len(path.additions) < SEVERAL or share <= SEVERAL_FROM:
        return further(path.spans)
    more = np.log(min(share, SHARES[1]) / SEVERAL_FROM)
    for each in values:
        each -= SEVERAL_SHARE * more * (own - other)
    return further(path.spans, ADDITION - SEVERAL_PRICE * more)


def _described(encoded: EncodedDocument, begins: np.ndarray, begin_sentences: np.ndarray, path: Path) -> Alignment:
    """The alignment of a path through the filled segments.

    begins    where tokens begin; begin_sentences    whether sentences probably begin there; [tokens]
    """
    document, stream, tokens, sides = encoded
    text, at = stream.text, np.append(begins, len(stream.text))
    at[:1] = 0 if len(begins) else len(text)
    finished = np.array([True, *begin_sentences[1:], True])  # before each token, and at the end
    path = _keeping_repetitions(path, text, at)

    def lines_of(begin: int, end: int) -> tuple[int, ...]:
        first, last = (bisect_right(stream.begins, place) for place in (begin, end - 1))
        return tuple(line for line in range(first - 1, last) if line not in stream.fences)

    spans = sorted([*(span for span in path.spans if span), *path.additions])
    parts = {span: (int(at[span[0]]), int(at[span[1]])) for span in spans}
    on_line: dict[int, int] = {}
    for part in parts.values():
        for line in lines_of(*part):
            on_line[line] = on_line.get(line, 0) + 1
    links, omissions, additions, sizes = [], [], [], _sizes(sides, len(path.spans))
    for number, (segment, span) in enumerate(zip(document.filled, path.spans, strict=True)):
        if span is None:
            if sizes[number]:
                omissions.append(segment)
            continue
        begin, end = parts[span]
        lines = lines_of(begin, end)
        links.append(
            Link(
                segment,
                begin,
                end,
                text[begin:end].strip(),
                lines,
                _cost(tokens.vectors[slice(*span)], sides, number),
                any(on_line[line] > 1 for line in lines),
                len(lines) > 1,
                not bool(finished[[*span]].all()),
            )
        )

    def add(begin: int, end: int, added: str, lines: tuple[int, ...]) -> None:
        after = max((link.segment for link in links if link.begin < begin), default=-1)
        additions.append(Addition(after, begin, end, added, lines))

    for begin, end in (parts[span] for span in path.additions):
        add(begin, end, text[begin:end].strip(), lines_of(begin, end))
    for line, fence in stream.fences.items():
        add(stream.begins[line], stream.begins[line], fence, (line,))
    additions.sort(key=lambda each: (each.begin, each.end))
    of_links = {link.segment: link.text for link in links}
    own = [of_links.get(number, "") for number in range(len(document.segments))]
    return Alignment(own, links, omissions, additions)


def _keeping_repetitions(path: Path, text: str, at: np.ndarray) -> Path:
    """The path with no additions that mostly repeat something: these join the span next to them that has more of it, or the
    one before, so that scores show what they would show if the lines were not lost.

    at    where the text's tokens begin, and where it ends
    """
    spans, additions = [*path.spans], []
    ends = {span[1]: number for number, span in enumerate(spans) if span}
    begins = {span[0]: number for number, span in enumerate(spans) if span}
    for begin, end in path.additions:
        before, after = ends.get(begin), begins.get(end)
        first, _ = (None if before is None else spans[before]) or (begin, end)
        _, last = (None if after is None else spans[after]) or (begin, end)
        repeated = np.zeros(len(text), bool)
        for low, high in repetitions(text[at[first] : at[last]]):
            repeated[at[first] + low : at[first] + high] = True
        own, of_before, of_after = (repeated[at[a] : at[b]] for a, b in ((begin, end), (first, begin), (end, last)))
        beside = after if before is None or of_after.sum() > of_before.sum() else before
        if beside is None or 2 * own.sum() <= len(own):
            additions.append((begin, end))
        else:
            spans[beside] = (first, end) if beside == before else (begin, last)
    return Path(spans, additions)


def _sizes(sides: Sequence[Side], segments: int) -> np.ndarray:
    """The number of tokens of each segment on the first side that has any, [segments]."""
    sizes = np.zeros(segments, np.int64)
    for side in reversed(sides):
        own = np.diff(side.tokens.ends, prepend=0)
        sizes = np.where(own > 0, own, sizes)
    return sizes


def _cost(part: torch.Tensor, sides: Sequence[Side], number: int) -> float:
    """1 less the mean cosine of a part with its segment, on the first side that has tokens of it.

    part    the vectors of its tokens, [tokens, width]
    """
    for segments, *_ in sides:
        own = segments.vectors[segments.ends[number - 1] if number else 0 : segments.ends[number]]
        if len(own):
            cosines = part.float() @ own.float().T
            return round(1 - float(torch.cat([cosines.amax(0), cosines.amax(1)]).mean()), 4)
    return 1.0
