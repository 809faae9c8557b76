"""Clean translations, and the rows of synthetic errors that each epoch makes of them."""

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ....errors import InputError
from ....language import primary
from ....notices import counted, notice
from ...data import known_languages, left_out
from ...state import digest
from ..examples import Origin, TrainingSet
from ..judgements import Judgement, beyond, read_judgements, share, texts_of, whole_parts
from ..leave_out import LeftOut
from ..options import ALL, TrainingOptions
from .corruptions import is_same, names
from .kinds import ERRORS, FULL, HARMLESS, Clean, SyntheticText, errors, harmless_change
from .parts import is_empty

ERRORS_A_PAIR = 3
ROWS_A_PAIR = 2 + ERRORS_A_PAIR  # the clean translation, errors, a harmless change
# The share of texts with an error that have a harmless change too: that of the texts without one. If only texts without an
# error had such changes, a model would learn that a lower-case first letter or a missing full stop is a sign of quality.
ALSO_HARMLESS = 0.5
NEARBY = 20  # lines before and after a translation that stand for its document if that is unknown
FEW_NAMES = 8  # a document with fewer names lends those of its data set
FOREIGN = 2_000  # texts of a language at most, from which one in another language than the translation's is drawn


class Pair(NamedTuple):
    """A source and its clean translation. Languages and document are None if unknown."""

    source: str
    text: str
    dataset: str
    document: str | None
    segment: int
    weight: float
    source_lang: str | None
    target_lang: str | None


@dataclass(eq=False)
class CleanPairs:
    """Clean translations from which an epoch's rows are made.

    counts    {path: {"rows": its distinct pairs of a source and a reference, "kept": ..., "without a source": ..., ...}}
    """

    pairs: list[Pair]
    counts: dict[str, dict[str, int]]

    def __post_init__(self):
        self._surroundings = Surroundings(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def rows_an_epoch(self) -> int:
        return ROWS_A_PAIR * len(self.pairs)

    def made(self, number: int, seed: int, epoch: int) -> list[SyntheticText]:
        """Return the texts that an epoch makes from a pair, in the order clean, errors, harmless."""
        clean, draw = self._surroundings.clean(number), np.random.default_rng([seed, epoch, number, 5])
        wrong = errors(clean, ERRORS_A_PAIR, draw)
        wrong = [
            each._replace(text=harmless_change(clean._replace(text=each.text), draw).text)
            if draw.random() < ALSO_HARMLESS
            else each
            for each in wrong
        ]
        # the number of rows is fixed; a very short text to which few kinds apply gets one of them twice
        wrong += [wrong[k % len(wrong)] for k in range(ERRORS_A_PAIR - len(wrong))]
        return [SyntheticText("clean", clean.text, 0.0), *wrong, harmless_change(clean, draw)]

    def as_json(self) -> dict[str, Any]:
        """Return the record for config.json: the number of rows in an epoch, and their kinds."""
        return {
            "pairs": len(self),
            "rows_an_epoch": self.rows_an_epoch,
            "rows_of_a_pair": {"clean": 1, "with an error": ERRORS_A_PAIR, "with a harmless change": 1},
            "kinds": {
                name: {
                    "frequency": kind.often,
                    "target": kind.worst if kind.extent is None else [kind.mildest, kind.worst],
                }
                for name, kind in ERRORS.items()
            },
            "harmless": {name: {"frequency": often, "target": 0.0} for name, (_, often) in HARMLESS.items()},
            "share_of_errors_with_a_harmless_change": ALSO_HARMLESS,
            "worst_target_from_share": FULL,
        }

    def in_words(self) -> str:
        pairs = counted(len(self), "clean translation", "clean translations")
        return (
            f"Each epoch also had {self.rows_an_epoch:,} rows of {pairs}: as they are, with {ERRORS_A_PAIR} errors, and "
            "with a harmless change"
        )

    def digest(self) -> str:
        """Return a digest of all that an epoch's rows depend on besides the seed."""
        texts = [text for pair in self.pairs for text in pair if isinstance(text, str) or text is None]
        return digest(texts, after=repr([(pair.segment, pair.weight) for pair in self.pairs]).encode())

    def rows(self, seed: int, epoch: int) -> TrainingSet:
        """Return an epoch's rows, the same for a seed and an epoch, a group for each pair. The system names the kind."""
        made = [(number, each) for number in range(len(self)) for each in self.made(number, seed, epoch)]
        of_rows = [self.pairs[number] for number, _ in made]
        return TrainingSet(
            hypotheses=[each.text for _, each in made],
            references=[None] * len(made),
            sources=[pair.source for pair in of_rows],
            targets=np.array([each.target for _, each in made]),
            weights=np.array([pair.weight for pair in of_rows]),
            centred=np.ones(len(made), bool),
            groups=[f"synthetic {number}" for number, _ in made],
            origins=[
                Origin(pair.dataset, each.kind, pair.document, pair.segment)
                for pair, (_, each) in zip(of_rows, made, strict=True)
            ],
            counts={},
            rooted=[],
        )


def read_clean_pairs(
    paths: Sequence[str],
    options: TrainingOptions = ALL,
    seed: int = 1,
    leave_out: Sequence[str] = (),
    held_out: Sequence[str | None] = (),
) -> CleanPairs:
    """Read the distinct pairs of source and reference of files and folders; a notice counts those left out.

    paths       in the syntax of judgements.share; its number of rows is of pairs, for each data set
    leave_out   files of documents and texts, as for LeftOut; no source and no reference of a pair may be in them
    held_out    texts, such as the sources of the development data, that no pair may have on either side
    """
    shares = {each.path: each for each in map(share, paths)}
    counts: dict[str, Counter] = {path: Counter(rows=0, kept=0) for path in shares}
    kept: list[tuple[str, Judgement, float]] = []
    seen: set[tuple[str | None, str | None]] = set()
    others = {text.strip() for text in held_out if text}
    unwanted = LeftOut(leave_out)
    sets = read_judgements(list(shares), replace(options, text_checks=False), list(shares), texts_only=True)
    known = known_languages([of_set.name for of_set in sets], options.pairs)
    for of_set in sets:
        if options.text_checks:
            source_lang, target_lang = known[of_set.name]
            texts = replace(texts_of(of_set), source_lang=source_lang, target_lang=target_lang)
            replace(texts, systems=texts.references, references=[]).check()
        _, weight, most = shares[of_set.path]
        rows, left = _usable(of_set.rows, seen, others, unwanted)
        if most is not None and most < len(rows):
            taken = whole_parts(rows, most, seed)
            left[beyond(most)] = len(rows) - len(taken)
            rows = [rows[row] for row in taken]
        counts[of_set.path].update({"rows": len(rows) + sum(left.values()), "kept": len(rows), **left})
        kept += [(of_set.name, row, weight) for row in rows]
    for path, count in counts.items():
        _say(path, count)
    unwanted.counts("the clean translations")
    pairs = [
        Pair(row.source or "", row.reference or "", name, row.document, row.segment, weight, *known[name])
        for name, row, weight in kept
    ]
    return CleanPairs(pairs, {path: dict(count) for path, count in counts.items()})


def _usable(
    rows: Sequence[Judgement], seen: set[tuple[str | None, str | None]], held_out: set[str], unwanted: LeftOut
) -> tuple[list[Judgement], Counter]:
    """Return a row for each new pair, and the counts of other pairs, each for its first defect."""
    distinct: dict[tuple[str | None, str | None], Judgement] = {}
    for row in rows:
        distinct.setdefault((row.source, row.reference), row)
    rows, left = unwanted.without(list(distinct.values()), references=True)
    kept: list[Judgement] = []
    for row in rows:
        texts = row.source, row.reference
        if is_empty(row.source or ""):
            left["without a source"] += 1
        elif is_empty(row.reference or ""):
            left["without a reference"] += 1
        elif is_same(row.source or "", row.reference or ""):
            left["whose reference is the source"] += 1
        elif held_out & {text.strip() for text in texts if text}:
            left["with a source of --dev"] += 1
        elif texts in seen:
            left["that another data set has"] += 1
        else:
            seen.add(texts)
            kept.append(row)
    return kept, left


def _say(path: str, count: Counter) -> None:
    left = left_out(count, "pair", "pairs")
    if not count["kept"]:
        raise InputError(f"--synthetic {path}: no clean translations are left to put errors into; {left}")
    kept = counted(count["kept"], "clean translation", "clean translations")
    notice(f"--synthetic {path}: {kept}{f'; {left}' if left else ''}")


class Surroundings:
    """The material for errors in each of some pairs: texts of its document, names, and texts in other languages."""

    def __init__(self, pairs: Sequence[Pair]):
        self._pairs = pairs
        self._texts: dict[tuple[str, str | None], list[str]] = {}
        found: dict[tuple[str, str | None], dict[str, None]] = {}
        self._places: list[int] = []
        self._translations: dict[str, dict[str, list[str]]] = {}
        for pair in pairs:
            self._places.append(len(self._texts.get((pair.dataset, None), ())))
            for document in {pair.document, None}:
                self._texts.setdefault((pair.dataset, document), []).append(pair.text)
                found.setdefault((pair.dataset, document), {}).update(dict.fromkeys(names(pair.text)))
            if pair.target_lang is not None:
                self._translations.setdefault(pair.source, {}).setdefault(primary(pair.target_lang), []).append(
                    pair.text
                )
        self._names = {document: list(of_document) for document, of_document in found.items()}
        self._foreign = functools.cache(self._in_other_languages)

    def clean(self, number: int) -> Clean:
        pair, place = self._pairs[number], self._places[number]
        nearby = self._texts[pair.dataset, pair.document] if pair.document is not None else []
        if len(nearby) < 2:
            of_set = self._texts[pair.dataset, None]
            nearby = of_set[max(0, place - NEARBY) : place + NEARBY + 1]
        own = self._names[pair.dataset, pair.document]
        own = own if len(own) >= FEW_NAMES else self._names[pair.dataset, None]
        foreign: Sequence[str] = []
        if pair.target_lang is not None:
            languages = frozenset({primary(pair.target_lang), primary(pair.source_lang)})
            of_source = self._translations.get(pair.source, {})
            foreign = [text for language, texts in of_source.items() if language not in languages for text in texts]
            foreign = foreign or self._foreign(languages)
        return Clean(pair.text, pair.source, pair.target_lang, nearby, own, foreign)

    def _in_other_languages(self, languages: frozenset[str]) -> list[str]:
        """Return texts in other languages than these, at most FOREIGN of each language, from evenly spaced places."""
        return [
            text
            for language, texts in self._of_languages.items()
            if language not in languages
            for text in texts[:: -(-len(texts) // FOREIGN)]
        ]

    @functools.cached_property
    def _of_languages(self) -> dict[str, list[str]]:
        texts: dict[str, dict[str, None]] = {}
        for pair in self._pairs:
            for text, language in ((pair.text, pair.target_lang), (pair.source, pair.source_lang)):
                if language is not None:
                    texts.setdefault(primary(language), {})[text] = None
        return {language: list(of_language) for language, of_language in texts.items()}
