"""Training sets: pairs of texts with standardised human scores, and with windows of consecutive sentences."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ...notices import counted, notice
from ..data import left_out
from .judgements import (
    averaged,
    beyond,
    check_inputs,
    partners_of,
    read_judgements,
    read_of,
    rows_by,
    scores_of,
    share,
    usable,
    whole_parts,
)
from .leave_out import LeftOut
from .options import ALL, TrainingOptions

FLAT = "standardised to 0"


class Origin(NamedTuple):
    """The origin of a row. Segments are numbered in order; document is None if unknown."""

    dataset: str
    system: str
    document: str | None
    segment: int


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """n training rows, as columns of length n.

    references, sources    None in each row if they are not read
    targets       float64 (n,), standardised; higher is better. NaN in rows that a teacher is still to score
    weights       float64 (n,), positive: a row's weight in the loss
    groups        equal for outputs of the same source and reference, whose targets can be compared in pairs
    centred       bool (n,): whether a row's target counts only in its differences to those of its group
    counts        {path: {"rows": rows read, "kept": rows used, "of human systems": ..., ...}}
    rooted        data sets whose targets come from the square roots of penalties
    by_system     data sets in which an output's target is its system's score
    scores        {path: which scores of the data were learned}, where there was a choice
    left_out      {file of --leave-out: {"lines": its lines, "found": those that are documents or sources of rows}}
    """

    hypotheses: list[str]
    references: list[str | None]
    sources: list[str | None]
    targets: np.ndarray
    weights: np.ndarray
    centred: np.ndarray
    groups: list[str]
    origins: list[Origin]
    counts: dict[str, dict[str, int]]
    rooted: list[str]
    by_system: list[str] = field(default_factory=list)
    scores: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.hypotheses)

    @property
    def datasets(self) -> list[str]:
        return [origin.dataset for origin in self.origins]

    def read_as(self, inputs: str) -> "TrainingSet":
        """Return the rows as a network with these inputs reads them, without the texts that only a teacher reads."""
        return self if "ref" in inputs else replace(self, references=[None] * len(self))

    @property
    def partners(self) -> list[str]:
        """The reference of each row, or its source if it has none."""
        return partners_of(self.references, self.sources)


def read_training_set(
    paths: Sequence[str],
    inputs: str = "mt+ref",
    normalise: str = "annotator",
    average: bool = False,
    mqm_root: bool = True,
    options: TrainingOptions = ALL,
    taught: Sequence[str] = (),
    seed: int = 1,
    humans: bool = False,
    leave_out: Sequence[str] = (),
    centred: Sequence[str] = (),
) -> TrainingSet:
    """Read the training rows of files and folders; a notice for each path counts the rows left out.

    paths       in the syntax of judgements.share
    mqm_root    whether penalties (sets whose scores are all 0 or less) are replaced by minus the square root of the
                penalty, since they are skewed
    taught      paths whose targets a teacher fills in: their rows need no score, and they keep the references that a
                teacher can read, though the inputs are mt+src
    leave_out   files of documents and sources whose rows are not used
    centred     paths of which only differences between the outputs of a segment are learned; an output that is alone in its
                segment is left out

    Single judgements are separate rows unless `average`, since many of them teach more than a few averaged ones (Mathur et
    al. 2019). If only systems were judged, the target of each output is its system's score.

    Each preference (better and worse) gives two rows in a group of their own with targets 1 and 0, which are neither
    standardised nor averaged: they are meant for a loss on pairs.
    """
    shares = {each.path: each for each in map(share, paths)}
    counts: dict[str, Counter] = {path: Counter(rows=0, kept=0) for path in shares}
    rooted: list[str] = []
    by_system: list[str] = []
    for flag, named in (("--centred", centred), ("--taught", taught)):
        if unknown := [path for path in named if path not in shares]:
            raise InputError(
                f"{flag} {unknown[0]}: is not a path of --train", fix="name it there too, or leave it out here"
            )
    columns: list[tuple[str, str | None, str | None, float, float, bool, str, Origin]] = []
    unwanted = LeftOut(leave_out)
    sets = read_judgements([share(path).path for path in paths], options, taught, by_system=True)
    for of_set in sets:
        check_inputs(of_set, inputs)
        scored = of_set.path not in taught
        rows, listed = unwanted.without(of_set.rows)
        rows, left = usable(rows, inputs, scored, humans)
        targets = np.array([row.score if scored else np.nan for row in rows])
        flat = 0
        if rows and scored and not of_set.preferences:
            if mqm_root and targets.max() <= 0 and targets.min() < 0:
                rooted.append(of_set.name)
                targets = -np.sqrt(-targets)
            if normalise != "none":
                targets, flat = standardised(targets, [row.rater if normalise == "annotator" else None for row in rows])
        if average and not of_set.preferences:
            rows, targets = averaged(rows, targets)
        _, weight, most = shares[of_set.path]
        if most is not None and most < len(rows):
            taken = whole_parts(rows, most, seed)
            left[beyond(most)] = len(rows) - len(taken)
            rows, targets = [rows[row] for row in taken], targets[taken]
        if of_set.path in centred:
            others = Counter(row.segment for row in rows)
            taken = [row for row, each in enumerate(rows) if others[each.segment] > 1]
            left["alone in their segment"] = len(rows) - len(taken)
            rows, targets = [rows[row] for row in taken], targets[taken]
        count = counts[of_set.path]
        count.update({"rows": len(of_set.rows), "kept": len(rows), **listed, **left, **({FLAT: flat} if flat else {})})
        name = of_set.name
        by_system += [name] * of_set.by_system
        for row, target in zip(rows, targets.tolist(), strict=True):
            read_texts = row.hypothesis, *read_of(row, inputs if scored or inputs == "mt+ref" else "mt+src+ref")
            origin = Origin(name, row.system, row.document, row.segment)
            compared = of_set.path in centred
            columns.append((*read_texts, target, weight, compared, f"{name}:{row.segment}", origin))
    scores = scores_of(sets)
    for path, count in counts.items():
        _say(path, count, scores.get(path, ""), shares[path].most)
    of_files = unwanted.counts()
    if not columns:
        raise InputError("no files to learn from")
    if not any(target for *_, target, _, _, _, _ in columns):
        raise InputError(
            "every target is 0, as no rater (or data set) has given two different scores: nothing can be learned",
            fix="standardise whole files with --normalise file, or leave out a column rater that is new in every row",
        )
    if rooted:
        notice(f"learned as minus the root of their penalties: {', '.join(rooted)}")
    if by_system:
        notice(f"only systems were judged, so each output gets its system's score: {', '.join(by_system)}")
    hypotheses, references, sources, values, weights, flags, groups, origins = map(list, zip(*columns, strict=True))
    numbers = np.array(values), np.array(weights), np.array(flags)
    read = {path: dict(count) for path, count in counts.items()}
    texts = hypotheses, references, sources
    return TrainingSet(*texts, *numbers, groups, origins, read, rooted, by_system, scores, of_files)


def standardised(scores: np.ndarray, raters: Sequence[Hashable]) -> tuple[np.ndarray, int]:
    """Return the z-scores of each rater's scores, float64 (n,), and how many belong to a rater without any spread.

    z = (x - mean) / sd, where sd is the population standard deviation (ddof 0). Scores of a rater with one score, or only
    equal scores, become 0.

    >>> z, flat = standardised(np.array([1.0, 5, 3, 5]), ["a", "b", "a", "b"])
    >>> z.tolist(), flat
    ([-1.0, 0.0, 1.0, 0.0], 2)
    """
    z, flat = np.zeros(len(scores)), 0
    for rows in rows_by(raters).values():
        own = scores[rows]
        spread = own.std() if own.min() < own.max() else 0.0  # through rounding, even equal scores may have a deviation
        if spread > 0:
            z[rows] = (own - own.mean()) / spread
        else:
            flat += len(rows)
    return z, flat


def _say(path: str, count: Counter, scores: str, most: int | None) -> None:
    flat = count[FLAT]
    left = left_out({why: n for why, n in count.items() if why != FLAT}, "row", "rows")
    if not count["kept"]:
        fix = ""
        if most is not None and count[beyond(most)]:
            fix = "documents are taken whole, and none is that small: allow more rows (PATH:WEIGHT:ROWS)"
        raise InputError(f"{path}: no rows are left to learn from; {left}", fix=fix)
    messages = [f"{counted(count['kept'], 'row', 'rows')} to learn from"]
    if scores:
        messages.append(f"scored by {scores}")
    if left:
        messages.append(left)
    if flat:
        messages.append(f"{counted(flat, 'score', 'scores')} without any spread within rater or data set count as 0")
    if len(messages) > 1:
        notice(f"{path}: {'; '.join(messages)}")


def some_rows(training: TrainingSet, rows: int, seed: int) -> TrainingSet:
    """Return a random sample of the rows; a larger one with the same seed contains it.

    If the rows are too few, return all of them, with a notice.
    """
    if rows >= len(training):
        notice(f"--rows {rows}: there are {len(training)} rows to learn from, and all are used")
        return training
    chosen = np.sort(np.random.default_rng(seed).permutation(len(training))[:rows])
    names = ("hypotheses", "references", "sources", "groups", "origins")
    lists: dict[str, Any] = {name: [getattr(training, name)[row] for row in chosen] for name in names}
    numbers = {name: getattr(training, name)[chosen] for name in ("targets", "weights", "centred")}
    return replace(training, **numbers, **lists)


def with_windows(training: TrainingSet, longest: int, seed: int) -> TrainingSet:
    """Return the training set with rows for windows of 2 to `longest` sentences appended.

    Each document is split once into consecutive windows of random lengths, the same for all systems, so that outputs of a
    window can be compared. A window has the joined texts, the mean target and the mean weight of its rows. It is left out
    for a system that lacks one of its sentences, or one of their references (or sources). Rows without a document are not
    used.
    """
    segments: dict[tuple[str, str], set[int]] = {}
    rows: dict[Origin, list[int]] = {}
    for row, origin in enumerate(training.origins):
        if origin.document is not None:
            segments.setdefault((origin.dataset, origin.document), set()).add(origin.segment)
            rows.setdefault(origin, []).append(row)
    systems = {(origin.dataset, origin.document): dict[str, None]() for origin in rows}
    for origin in rows:
        systems[origin.dataset, origin.document][origin.system] = None
    columns: list[tuple] = []
    for number, ((dataset, document), numbers) in enumerate(segments.items()):
        draw = np.random.default_rng([seed, number])
        for run in runs(sorted(numbers)):
            for begin, end in drawn(len(run), longest, draw):
                for system in systems[dataset, document]:
                    origins = [Origin(dataset, system, document, segment) for segment in run[begin:end]]
                    if all(origin in rows for origin in origins):
                        of_window = [rows[origin] for origin in origins]
                        columns += _window(training, of_window, f"{dataset}:{run[begin]}-{run[end - 1]}", origins[0])
    if not columns:
        raise InputError("--window: no document has two outputs of one system in a row", fix="leave it out")
    hypotheses, references, sources, targets, weights, centred, groups, starts = map(list, zip(*columns, strict=True))
    return replace(
        training,
        hypotheses=[*training.hypotheses, *hypotheses],
        references=[*training.references, *references],
        sources=[*training.sources, *sources],
        targets=np.concatenate([training.targets, targets]),
        weights=np.concatenate([training.weights, weights]),
        centred=np.concatenate([training.centred, centred]),
        groups=[*training.groups, *groups],
        origins=[*training.origins, *starts],
    )


def _window(training: TrainingSet, rows: Sequence[Sequence[int]], group: str, start: Origin) -> list[tuple]:
    """Return the row of a window, given the rows of each sentence, or an empty list if a text is missing."""
    firsts = [of_sentence[0] for of_sentence in rows]
    columns = training.hypotheses, training.references, training.sources
    hypothesis, reference, source = (_joined(column, firsts) for column in columns)
    if reference is None and source is None:
        return []
    target, weight = (np.mean([column[own].mean() for own in rows]) for column in (training.targets, training.weights))
    centred = bool(training.centred[firsts[0]])
    return [(hypothesis, reference, source, target, weight, centred, group, start)]


def runs(numbers: Sequence[int]) -> list[list[int]]:
    """Split ascending numbers into runs without gaps.

    >>> runs([3, 4, 7])
    [[3, 4], [7]]
    """
    pairs = enumerate(numbers)
    return [[number for _, number in group] for _, group in groupby(pairs, key=lambda pair: pair[1] - pair[0])]


def drawn(length: int, longest: int, draw: np.random.Generator) -> list[tuple[int, int]]:
    """Draw consecutive windows (start, end) of 2 to `longest` sentences from a run; a last single sentence is left out.

    >>> drawn(7, 2, np.random.default_rng(1))
    [(0, 2), (2, 4), (4, 6)]
    """
    windows, begin = [], 0
    while length - begin >= 2:
        end = min(length, begin + int(draw.integers(2, longest + 1)))
        windows.append((begin, end))
        begin = end
    return windows


def _joined(texts: Sequence[str | None], rows: Sequence[int]) -> str | None:
    """Join the texts of some rows by spaces; None if one is missing."""
    own = [texts[row] for row in rows]
    return None if None in own else " ".join(text for text in own if text is not None)
