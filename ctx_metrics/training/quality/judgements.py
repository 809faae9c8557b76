"""Reads human judgements as training rows."""

import math
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from ...corpus import is_blank, named
from ...errors import InputError
from ...judgements.judged import JudgedSet, is_human
from ...judgements.readers import layout_of, read_judged
from ...judgements.readers.rows import is_of, language_pair, stem
from ...judgements.readers.score_columns import terms_of
from ...judgements.readers.table import RatedSet, columns_of, holds_pairs, read_judged_rows
from ...judgements.readers.tree import human_names, tree_pairs
from ...run.texts import Texts
from ..data import check_given_once
from ..folder import name_of
from .options import ALL, MQM, TrainingOptions

K = TypeVar("K", bound=Hashable)
# texts besides the output that a model reads if a row has them
PARTNERS = {"mt+ref": ("reference",), "mt+src": ("source",), "mt+src+ref": ("source", "reference")}


class Judgement(NamedTuple):
    """One human score of one output. Scores are comparable only within a data set; higher is better.

    dataset     such as "newstest2016.cs-en"; document, reference, source and rater are None if unknown
    segment     equal for rows of a data set with the same source and reference
    output      equal for rows of a data set that judge the same output
    """

    hypothesis: str
    reference: str | None
    score: float
    dataset: str
    system: str
    document: str | None
    source: str | None = None
    segment: int = 0
    output: Hashable = None
    rater: str | None = None


class JudgementSet(NamedTuple):
    """The judgements of one data set.

    name           name of the data set; the path is appended if another path has a set of this name
    preferences    whether each segment is a pair of outputs with the scores 1 (better) and 0 (worse)
    by_system      whether an output's score is its system's score, because segments were not judged
    scores         which scores of the data they are, such as "esa" or "z(A) + z(B)"; "" where there was no choice
    """

    path: str
    name: str
    rows: list[Judgement]
    preferences: bool
    by_system: bool = False
    scores: str = ""


def judgements(judged: JudgedSet, humans: bool = False) -> list[Judgement]:
    """Return the outputs of a set, segment by segment, with the first reference.

    The score is NaN if an output was not judged. Missing outputs are left out, and those of human systems unless `humans`.

    >>> import numpy as np
    >>> scores = np.array([[0.5, np.nan], [1.0, 0.0]])
    >>> judged = JudgedSet("toy", ["A", "refB"], 2, [["a", "b"], ["c", "d"]], [["x", "y"]], segment_scores=scores)
    >>> [each[:4] for each in judgements(judged)]
    [('a', 'x', 0.5, 'toy'), ('b', 'y', nan, 'toy')]
    """
    chosen = [i for i, system in enumerate(judged.systems) if humans or not is_human(system)]
    return [
        _judgement(judged, segment, i, float(judged.human_segments[i, segment]), segment)
        for segment in range(judged.segments)
        for i in chosen
        if judged.texts[i][segment] is not None
    ]


def read_judgements(
    paths: Sequence[str],
    options: TrainingOptions = ALL,
    unscored: Sequence[str] = (),
    by_system: bool = False,
    texts_only: bool = False,
) -> list[JudgementSet]:
    """Read the judgements of files and folders, in any layout of judgements.readers except rankings.

    A row is a judgement if the file is a table with raters, and an output otherwise. Human systems, and outputs without a
    score, a reference or a text, are included. Files whose names and columns give no language pair are always read.

    unscored     paths whose scores are not read and need not be there: each is NaN
    by_system    whether outputs of a set with only system scores get their system's score
    texts_only   whether only sources and references are wanted: tables then need no outputs and no scores
    """
    check_given_once(paths)
    sets: list[JudgementSet] = []
    for path in paths:
        for each in _read(path, options, path not in unscored, by_system, texts_only):
            taken = any(each.name == other.name for other in sets)
            sets.append(each._replace(name=f"{each.name} ({path})") if taken else each)
            if options.text_checks:
                texts_of(sets[-1]).check()
    return sets


def scores_of(sets: Sequence[JudgementSet]) -> dict[str, str]:
    """Return the scores read from each path, where there was a choice; of a tree, all names that its pairs have."""
    names: dict[str, dict[str, None]] = {}
    for each in sets:
        if each.scores:
            names.setdefault(each.path, {})[each.scores] = None
    return {path: ", ".join(of_path) for path, of_path in names.items()}


def check_columns(paths: Sequence[str], formulas: Sequence[Sequence[str]]) -> None:
    """Raise InputError if there are formulas, but no table among the paths has the columns of any."""
    tables = [path for path in paths if os.path.isfile(path) and layout_of(path) == "table"] if formulas else []
    if formulas and not any(terms_of(formulas, columns_of(path), path) for path in tables):
        named = ", or ".join(" ".join(formula) for formula in formulas)
        where = f"in {', '.join(map(name_of, tables))}" if tables else "without a table"
        raise InputError(
            f"--score-column {named}: no such column {where}", fix="name one of the columns in a table's header"
        )


def usable(
    rows: Sequence[Judgement], inputs: str, scored: bool = True, humans: bool = False
) -> tuple[list[Judgement], Counter]:
    """Return the usable rows, and the counts of others: {"of human systems": 3, "without a score": 5, ...}.

    A usable row is from a machine system and has an output, a partner (reference or source; either one if both are read),
    and, if `scored`, a score. Each other row counts once, for its first defect.

    humans    whether rows of human systems are usable too; the reference itself is, if the source can be read in its place
    """
    partners = PARTNERS[inputs]
    kept: list[Judgement] = []
    left: Counter[str] = Counter()
    human = {system for system in {row.system for row in rows} if is_human(system)}
    for row in rows:
        if row.system in human and not (humans and (not _is_reference(row) or read_of(row, inputs)[1])):
            left["of human systems"] += 1
        elif scored and math.isnan(row.score):
            left["without a score"] += 1
        elif not any((getattr(row, partner) or "").strip() for partner in partners):
            left[f"without a {' or '.join(partners)}"] += 1
        elif is_blank(row.hypothesis):
            left["without an output"] += 1
        else:
            kept.append(row)
    return kept, left


def read_of(row: Judgement, inputs: str) -> tuple[str | None, str | None]:
    """Return a row's reference and source, each None if it is blank or not part of the inputs.

    A human translation is not compared with itself: if it is the reference, only its source is read.
    """
    reference, source = (getattr(row, name) if name in PARTNERS[inputs] else None for name in ("reference", "source"))
    if is_human(row.system) and _is_reference(row):
        reference = None
    return reference if (reference or "").strip() else None, source if (source or "").strip() else None


def _is_reference(row: Judgement) -> bool:
    return row.hypothesis.strip() == (row.reference or "").strip()


def partners_of(references: Sequence[str | None], sources: Sequence[str | None]) -> list[str]:
    """Return the reference of each row, or its source if it has none."""
    return [(source if text is None else text) or "" for text, source in zip(references, sources, strict=True)]


def check_inputs(of_set: JudgementSet, inputs: str) -> None:
    partners = PARTNERS[inputs]
    if not any(getattr(row, partner) for row in of_set.rows for partner in partners):
        if len(partners) > 1:
            raise InputError(f"{of_set.name}: has neither sources nor references, which the inputs {inputs} read")
        fix = "mt+ref reads references instead"
        if inputs == "mt+ref":
            fix = "mt+src reads sources instead, and of MQM errors --reference names the system that is the reference"
        raise InputError(f"{of_set.name}: has no {partners[0]}s, which the inputs {inputs} read", fix=fix)


def averaged(rows: Sequence[Judgement], values: np.ndarray) -> tuple[list[Judgement], np.ndarray]:
    """Return the first row of each of m outputs, and the mean value of all its rows, float64 (m,).

    >>> rows = [Judgement(text, "r", 0.0, "toy", "A", None, output=text) for text in "aba"]
    >>> firsts, means = averaged(rows, np.array([1.0, 5, 2]))
    >>> [row.hypothesis for row in firsts], means.tolist()
    (['a', 'b'], [1.5, 5.0])
    """
    of_output = rows_by(row.output for row in rows).values()
    return [rows[ks[0]] for ks in of_output], np.array([values[ks].mean() for ks in of_output])


def rows_by(keys: Iterable[K]) -> dict[K, list[int]]:
    """Return the row numbers of each key.

    >>> rows_by("aba")
    {'a': [0, 2], 'b': [1]}
    """
    rows: dict[K, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return rows


class Share(NamedTuple):
    """A path of training data, the weight of its rows in the loss, and the maximum rows per data set (None: all)."""

    path: str
    weight: float = 1.0
    most: int | None = None


def share(path: str) -> Share:
    """Parse PATH, PATH:WEIGHT or PATH:WEIGHT:ROWS; if the whole text is an existing path, it is PATH.

    >>> share("no/such/da.tsv:0.25"), share("no/such/da.tsv:1:500").most
    (Share(path='no/such/da.tsv', weight=0.25, most=None), 500)
    """
    if os.path.exists(path):
        return Share(path)
    numbers = re.fullmatch(r"(.+?)((?::[0-9.eE+-]+){1,2})", path)
    name, tails = (numbers[1], numbers[2][1:].split(":")) if numbers else (path, [])
    for parts in (1, 2):
        base, *rest = path.rsplit(":", parts)
        if len(rest) == parts and os.path.exists(base):
            name, tails = base, rest
    if not tails:
        return Share(path)
    weight = _positive(tails[0])
    if weight is None:
        raise InputError(
            f"{path}: weight {tails[0]!r} is not a positive number", fix=f"write PATH:WEIGHT, such as {name}:0.5"
        )
    if len(tails) == 1:
        return Share(name, weight)
    most = _positive(tails[1])
    if most is None or most != int(most):
        raise InputError(
            f"{path}: {tails[1]!r} is not a number of rows", fix=f"write PATH:WEIGHT:ROWS, such as {name}:1:1000"
        )
    return Share(name, weight, int(most))


def whole_parts(rows: Sequence[Judgement], most: int, seed: int) -> list[int]:
    """Draw at most `most` rows in whole documents, or segments if the document is unknown; return ascending row numbers.

    A document or segment that no longer fits is skipped.
    """
    parts = rows_by(row.segment if row.document is None else row.document for row in rows)
    in_order, taken = list(parts.values()), list[int]()
    for k in np.random.default_rng(seed).permutation(len(in_order)):
        if len(taken) + len(in_order[k]) <= most:
            taken += in_order[k]
    return sorted(taken)


def beyond(most: int) -> str:
    """The notice about rows that whole_parts leaves out."""
    return f"beyond {most:,} a data set"


def _positive(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < math.inf else None


def _read(path: str, options: TrainingOptions, scored: bool, by_system: bool, texts_only: bool) -> list[JudgementSet]:
    path = os.fspath(path)
    pairs = texts_only and os.path.isfile(path) and holds_pairs(path)
    layout = "table" if pairs else layout_of(path) if os.path.isfile(path) else "folder"
    if layout == "rankings":
        raise InputError(
            f"{path}: rankings hold no scores to learn",
            fix="use `ctx-metrics train pairwise` with --outputs and --reference",
        )
    if layout in ("folder", "annotations"):
        human = options.human or MQM
        if not scored:
            human = [*human, *sorted({name for pair in tree_pairs(path) for name in human_names(path, pair)})]
        sets = read_judged(path, pairs=options.pairs, human=human, reference=options.reference)
        of_sets = [_of_judged(path, judged, scored, by_system) for judged in sets]
        if len(human) == 1 or not scored:
            return of_sets
        return [each._replace(scores=judged.human or "") for each, judged in zip(of_sets, sets, strict=True)]
    if layout == "table":
        unneeded = ("mt", "score") if texts_only else () if scored else ("score",)
        rated = read_judged_rows(path, None, options.reference, options.score or () if scored else (), unneeded)
        if rated[0].pair is None:
            _check_pair(path, language_pair(stem(path)), options.pairs)
            return [_of_table(path, *rated)]
        if chosen := [each for each in rated if is_of(each.pair or "", options.pairs)]:
            return [_of_table(path, each) for each in chosen]
        there = ", ".join(each.pair or "" for each in rated)
        raise InputError(f"{path}: none of the pairs {', '.join(options.pairs or ())}; there are {there}")
    [judged] = read_judged(path, reference=options.reference)
    _check_pair(path, (judged.source_lang, judged.target_lang), options.pairs)
    return [_of_judged(path, judged, scored, by_system)]


def texts_of(of_set: JudgementSet) -> Texts:
    """The texts of a set, segment by segment, to check them; without systems that have outputs for less than 5 % of them."""
    length = 1 + max((row.segment for row in of_set.rows), default=0)
    outputs: dict[str, dict[int, str]] = {}
    partners: dict[str, list[str | None]] = {name: [None] * length for name in ("reference", "source")}
    for row in of_set.rows:
        outputs.setdefault(row.system, {})[row.segment] = row.hypothesis
        for name, texts in partners.items():
            texts[row.segment] = getattr(row, name)
    systems = [
        named([texts.get(segment) for segment in range(length)], f"{of_set.name}/{system}")
        for system, texts in outputs.items()
        if 20 * len(texts) >= length
    ]
    references, sources = ([named(t, f"{of_set.name}/{name}")] if any(t) else [] for name, t in partners.items())
    return Texts(systems=systems, references=references, sources=sources[0] if sources else None)


def _check_pair(path: str, languages: tuple[str | None, str | None], pairs: Sequence[str] | None) -> None:
    source, target = languages
    if source is not None and target is not None and not is_of(f"{source}-{target}", pairs):
        raise InputError(f"{path}: its language pair is {source}-{target}, not {' or '.join(pairs or ())}")


def _of_table(path: str, rated: RatedSet) -> JudgementSet:
    name, _, judged, scores = rated
    if (references := len(judged[0].texts) - 3) > 1:
        raise InputError(f"{name}: has {references} references", fix="name one of them with --reference")
    numbers: dict[Hashable, int] = {}
    rows = []
    for row in judged:
        (document, _, source, text), system = row.texts, row.system
        segment, output = numbers.setdefault(row.texts, len(numbers)), (row.segment, system)
        known = row.hypothesis, text, row.score, name, system
        rows.append(Judgement(*known, document, source, segment, output, row.rater))
    return JudgementSet(path, name, rows, False, scores=scores)


def _of_judged(path: str, judged: JudgedSet, scored: bool, by_system: bool) -> JudgementSet:
    alone = judged.segment_scores is None and judged.preferences is None
    if alone and (not scored or (by_system and judged.system_scores is not None)):
        each = judged.system_scores if scored else np.full(len(judged.systems), np.nan)
        judged = replace(judged, segment_scores=np.repeat(np.asarray(each)[:, None], judged.segments, axis=1))
    scores, preferences = judged.segment_scores, judged.preferences
    if judged.hypotheses is None or (scores is None and preferences is None):
        raise InputError(f"{judged.name}: has only system scores", fix="training needs segment scores")
    if len(judged.references) > 1:
        raise InputError(
            f"{judged.name}: has {len(judged.references)} references", fix="name one of them with --reference"
        )
    if scores is not None or preferences is None:
        return JudgementSet(path, judged.name, judgements(judged, humans=True), False, alone and scored)
    rows = [
        _judgement(judged, segment, system, value, pair)
        for pair, (segment, better, worse) in enumerate(preferences.tolist())
        for system, value in ((better, 1.0), (worse, 0.0))
    ]
    return JudgementSet(path, judged.name, rows, True)


def _judgement(judged: JudgedSet, segment: int, system: int, score: float, number: int) -> Judgement:
    hypothesis = judged.texts[system][segment] or ""
    reference = judged.references[0][segment] if judged.references else None
    document = judged.doc_ids[segment] if judged.doc_ids else None
    source = judged.sources[segment] if judged.sources else None
    names = judged.name, judged.systems[system]
    return Judgement(hypothesis, reference, score, *names, document, source, number, (number, system))
