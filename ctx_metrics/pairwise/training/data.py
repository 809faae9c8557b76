"""Turns human judgements in any layout into pairs of a better and a worse output, for `ctx-metrics train pairwise`."""

import os
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...corpus import is_blank
from ...errors import InputError
from ...judgements.judged import JudgedSet, is_human
from ...judgements.measures.taus import preferences_from_scores
from ...judgements.options import ALL, DataOptions
from ...judgements.readers import layout_of, read_chosen
from ...judgements.readers.table import read_judged_rows
from ...notices import counted, notice
from ...training.data import check_given_once, left_out

RAW_DA = 25.0  # the difference, in points of 100, that WMT17 to WMT20 required between two outputs


class PairSets(NamedTuple):
    """Sets with the preferences to learn from.

    counts    {path: {"rows": pairs read, "kept": pairs in `sets`, "of the same text": ..., ...}}
    """

    sets: list[JudgedSet]
    counts: dict[str, dict[str, int]]


def read_pair_sets(paths: Sequence[str], options: DataOptions = ALL, threshold: float | None = None) -> PairSets:
    """Read pairs of a better and a worse output from any layout that judgements.readers supports.

    Two outputs of a segment form a pair if their scores differ by at least `threshold` (None: see usual_threshold);
    those of human systems do not. If the systems are unknown, outputs with the same document, source and reference form
    a segment. Pairs of equal texts, and pairs with a missing or blank text, are left out.
    """
    sets: list[JudgedSet] = []
    counts: dict[str, dict[str, int]] = {}
    names: set[str] = set()
    check_given_once(paths)
    for path in paths:
        read = read_chosen(path, options)
        count = Counter(rows=0, kept=0)
        for judged in read:
            if options.text_checks and judged.hypotheses is not None:
                replace(judged, source_lang=None, target_lang=None).as_texts().check()
            judged, left = _usable(_compared(path, judged, threshold, options.score))
            kept = len(preferences_of(judged))
            count.update(rows=kept + left.total(), kept=kept, **left)
            if kept:
                taken = judged.name in names
                names.add(judged.name)
                sets.append(replace(judged, name=f"{judged.name} ({path})") if taken else judged)
            elif len(read) > 1:
                notice(f"{path}: {judged.name} has no usable pair")
        counts[path] = dict(count)
        _say(path, count, threshold)
    return PairSets(sets, counts)


def split_by_segment(sets: Sequence[JudgedSet], share: float, seed: int) -> tuple[list[JudgedSet], list[JudgedSet]]:
    """Split the sets into a part for training and a part for development, `share` of the segments drawn by the seed.

    Segments with the same source or the same reference, even in different sets, go to the same part; segments without a
    pair do not count. A set without a pair in a part is omitted from it.
    """
    keys: dict[Hashable, int] = {}
    places: list[tuple[int, int]] = []
    links: list[tuple[int, int]] = []
    for number, judged in enumerate(sets):
        for segment in np.unique(preferences_of(judged)[:, 0]).tolist():
            texts = {("reference", _reference(judged, segment)), ("source", _source(judged, segment))}
            links += [(len(places), keys.setdefault(text, len(keys))) for text in texts if (text[1] or "").strip()]
            places.append((number, segment))
    rows, columns = np.array(links, dtype=np.int64).reshape(-1, 2).T
    size = len(places) + len(keys)  # a graph whose nodes are segments and texts
    graph = coo_array((np.ones(len(rows)), (rows, columns + len(places))), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    groups = list(dict.fromkeys(label[: len(places)].tolist()))
    drawn = round(len(groups) * share)
    if not 0 < drawn < len(groups):
        raise InputError(
            f"--dev {share:g} of {counted(len(groups), 'source sentence', 'source sentences')} leaves one part empty",
            fix="give more data or another share",
        )
    order = np.random.default_rng(seed).permutation(len(groups))
    held_out = {groups[k] for k in order[:drawn]}
    held = {place for place, of_place in zip(places, label[: len(places)], strict=True) if of_place in held_out}
    left: list[JudgedSet] = []
    drawn_sets: list[JudgedSet] = []
    for number, judged in enumerate(sets):
        preferences = preferences_of(judged)
        out = np.array([(number, segment) in held for segment in preferences[:, 0].tolist()], dtype=bool)
        for part, chosen in ((left, ~out), (drawn_sets, out)):
            if chosen.any():
                part.append(replace(judged, preferences=preferences[chosen]))
    return left, drawn_sets


def say_shared(training: Sequence[JudgedSet], development: Sequence[JudgedSet]) -> None:
    seen, own = (
        {_reference(judged, segment) for judged in sets for segment in np.unique(preferences_of(judged)[:, 0]).tolist()}
        for sets in (training, development)
    )
    if shared := len(seen & own):
        notice(
            f"{shared:,} of {counted(len(own), 'development reference', 'development references')} "
            f"{'is' if shared == 1 else 'are'} in the training data too, so their tau is too optimistic"
        )


def count_pairs(sets: Sequence[JudgedSet]) -> tuple[int, int]:
    """Return the number of pairs in the sets, and the number of segments with a pair."""
    preferences = [preferences_of(judged) for judged in sets]
    return sum(map(len, preferences)), sum(len(np.unique(each[:, 0])) for each in preferences)


def preferences_of(judged: JudgedSet) -> np.ndarray:
    if judged.preferences is None:
        raise ValueError(f"{judged.name} has no preferences")
    return judged.preferences


def usual_threshold(scores: np.ndarray) -> float:
    """Return the default threshold: 25 for scores from 0 to 100 that exceed 10 somewhere, else 0 (any difference).

    NaN stands for a missing score.

    >>> usual_threshold(np.array([0.0, 71.5])), usual_threshold(np.array([-25.0, 0.0])), usual_threshold(np.array([6.0]))
    (25.0, 0.0, 0.0)
    """
    given = scores[~np.isnan(scores)]
    return RAW_DA if given.size and given.min() >= 0 and 10 < given.max() <= 100 else 0.0


def _compared(path: str, judged: JudgedSet, threshold: float | None, score: str | None) -> JudgedSet:
    """Return the set with preferences in place of scores: its own, or those that follow from its scores."""
    if judged.hypotheses is None or (judged.segment_scores is None and judged.preferences is None):
        raise InputError(f"{judged.name}: has only system scores", fix="training needs segment scores, or preferences")
    # a blank reference counts as missing
    references = [[text if (text or "").strip() else None for text in stream] for stream in judged.references]
    if not any(text for stream in references for text in stream):
        raise InputError(
            f"{judged.name}: has no references, which pairwise compares outputs with; add a column ref; for MQM errors, "
            "name the reference system with --reference"
        )
    judged = replace(judged, references=references)
    if judged.preferences is not None:
        return replace(judged, segment_scores=None, system_scores=None)
    again = _judged_again(path, judged.name, score, judged.reference)
    if humans := [system for system in judged.systems if is_human(system)]:
        notice(f"{judged.name}: left out human translations ({', '.join(humans)})")
        judged = judged.without(humans)
    if len(judged.systems) == 1:
        judged, merged = _joined(judged)
        again += merged
    if again:
        scores = counted(again, "score is of an output that has", "scores are of outputs that have")
        notice(f"{judged.name}: {scores} another; an output's scores are averaged")
    least = usual_threshold(judged.human_segments) if threshold is None else threshold
    if threshold is None and least:
        notice(
            f"{judged.name}: scores of 0 to 100, so outputs {least:g} points apart or more form a pair (--threshold)"
        )
    preferences = preferences_from_scores(judged.human_segments, least)
    return replace(judged, segment_scores=None, system_scores=None, preferences=preferences)


def _judged_again(path: str, name: str, score: str | None, reference: str | None) -> int:
    """Return how many scores of a table's set are for an output already scored in a row above; the reader averages them."""
    if os.path.isdir(path) or layout_of(path) != "table":
        return 0
    [rows] = [each.rows for each in read_judged_rows(path, score, reference) if each.name == name]
    hypotheses = [(row.segment, row.system) for row in rows if not np.isnan(row.score)]
    return len(hypotheses) - len(set(hypotheses))


def _joined(judged: JudgedSet) -> tuple[JudgedSet, int]:
    """Regroup a set of unknown systems, all under one name, into a segment for each document, source and reference.

    The distinct outputs of a segment become the systems "1", "2", ...; equal numbers in different segments are unrelated.
    Outputs with neither source nor reference are not compared. Also returns how many scores were merged by averaging.
    """
    segments: dict[Hashable, dict[str, list[float]]] = {}
    first: list[int] = []
    number = 0
    for segment, (text, score) in enumerate(zip(judged.texts[0], judged.human_segments[0].tolist(), strict=True)):
        if text is None or np.isnan(score):
            continue
        source, reference = _source(judged, segment), _reference(judged, segment)
        key = (judged.doc_ids and judged.doc_ids[segment], source, reference) if source or reference else segment
        if key not in segments:
            segments[key] = {}
            first.append(segment)
        segments[key].setdefault(text, []).append(score)
        number += 1
    width = max(map(len, segments.values()), default=0)
    hypotheses: list[list[str | None]] = [[None] * len(first) for _ in range(width)]
    scores = np.full((width, len(first)), np.nan)
    for place, ratings in enumerate(segments.values()):
        for system, (text, given) in enumerate(ratings.items()):
            hypotheses[system][place] = text
            scores[system, place] = np.mean(given)
    joined = replace(
        judged,
        systems=[str(system + 1) for system in range(width)],
        segments=len(first),
        hypotheses=hypotheses,
        references=[[stream[segment] for segment in first] for stream in judged.references],
        sources=judged.sources and [judged.sources[segment] for segment in first],
        doc_ids=None,  # the segments of a document may no longer be adjacent, and pairs do not need them
        segment_scores=scores,
        system_scores=None,
    )
    return joined, number - sum(map(len, segments.values()))


def _usable(judged: JudgedSet) -> tuple[JudgedSet, Counter]:
    """Return the set with its usable preferences and their outputs, and the number of other preferences by reason."""
    preferences, texts = preferences_of(judged), judged.texts
    kept = np.ones(len(preferences), dtype=bool)
    left: Counter = Counter()
    for row, (segment, better, worse) in enumerate(preferences.tolist()):
        pair = texts[better][segment], texts[worse][segment]
        if any(is_blank(text or "") for text in pair):
            why = "without an output"
        elif _reference(judged, segment) is None:
            why = "without a reference"
        elif pair[0] == pair[1]:
            why = "of the same text"
        else:
            continue
        kept[row] = False
        left[why] += 1
    preferences = preferences[kept]
    named = np.zeros((len(judged.systems), judged.segments), dtype=bool)
    for system in preferences.T[1:]:
        named[system, preferences[:, 0]] = True
    hypotheses = [
        [text if wanted else None for text, wanted in zip(of_system, wants, strict=True)]
        for of_system, wants in zip(texts, named, strict=True)
    ]
    return replace(judged, hypotheses=hypotheses, preferences=preferences), left


def _reference(judged: JudgedSet, segment: int) -> str | None:
    return next((stream[segment] for stream in judged.references if stream[segment] is not None), None)


def _source(judged: JudgedSet, segment: int) -> str | None:
    return judged.sources[segment] if judged.sources else None


def _say(path: str, count: Counter, threshold: float | None) -> None:
    left = left_out(count, "pair", "pairs")
    if not count["rows"]:
        apart = f"by {threshold:g} or more" if threshold else "enough"
        raise InputError(f"{path}: no pairs to learn from: no two outputs of a segment differ {apart} in score")
    if not count["kept"]:
        raise InputError(f"{path}: no pairs are left to learn from; {left}")
    if left:
        notice(f"{path}: {counted(count['kept'], 'pair', 'pairs')} used; {left}")
