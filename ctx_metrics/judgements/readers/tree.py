"""Reads trees of mt-metrics-eval: sources, references, system-outputs, documents and human-scores of language pairs."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from ...corpus import document_ranges
from ...errors import InputError
from ...notices import counted, notice
from ...reading import read_lines
from ..judged import JudgedSet, row_means
from .rows import SEGMENTS, SYSTEMS, find, halves, read_aligned, read_score_lines, unpacked

HUMAN = "human-scores"
ROUNDING = 1e-3  # tolerated difference of a rounded system score from its segments' mean, relative to the largest


def tree_pairs(root: str) -> list[str]:
    """The language pairs of a tree that have human scores; [] for a folder that is not a tree.

    The files of all pairs are together in ROOT/human-scores etc., or each pair has its own ROOT/PAIR/human-scores.
    """
    if os.path.isdir(os.path.join(root, HUMAN)):
        return sorted({pair for pair, _ in _scored(root)})
    return [name for name in _list(root) if name in dict(_scored(os.path.join(root, name)))]


def _scored(base: str) -> set[tuple[str, str]]:
    """The pairs and kinds of human scores in a folder, from files PAIR.KIND.seg.score and PAIR.KIND.sys.score."""
    files = [name for name in map(unpacked, _list(os.path.join(base, HUMAN))) if name.endswith((SEGMENTS, SYSTEMS))]
    parts = [name.removesuffix(SEGMENTS).removesuffix(SYSTEMS).partition(".") for name in files]
    return {(pair, kind) for pair, _, kind in parts}


def human_names(root: str, pair: str) -> list[str]:
    """The kinds of human scores that exist for a pair, such as mqm or wmt-z."""
    return sorted(kind for scored, kind in _scored(_base(root, pair)) if scored == pair)


def first_human(root: str, pair: str, names: Sequence[str]) -> str | None:
    """The first of the names that human scores of a pair have; None if they have none of them."""
    known = human_names(root, pair)
    return next((name for name in names if name in known), None)


def read_tree(root: str, pair: str, human: str = "mqm", reference: str | None = None) -> JudgedSet:
    """Read the judged set of a language pair, named after the tree's folder and the pair, such as "wmt22.zh-en".

    reference    such as "refA", or "refA,refB" for two streams; None: the only one, or refA, or the first by name

    All systems with an output are included, human translations too; scored systems without one are left out, with a notice.
    System scores come from the .sys.score file. If there is none, or it covers other segments, such as a whole test set of
    which the tree holds a part, they are the means of the segment scores.
    """
    base = _base(root, pair)
    files = {level: find(os.path.join(base, HUMAN, f"{pair}.{human}{level}")) for level in (SEGMENTS, SYSTEMS)}
    if not any(files.values()):
        known = ", ".join(human_names(root, pair)) or "none"
        raise InputError(f"{base}: no human scores named {human} for {pair}; there are {known}")
    source = _text_file(os.path.join(base, "sources"), pair)
    source_lang, target_lang = halves(pair)
    sources = read_lines(source)
    length = len(sources)
    whole = os.path.abspath(root)
    name = f"{os.path.basename(os.path.dirname(whole) if os.path.basename(whole) == pair else whole)}.{pair}"

    lines = partial(read_aligned, length=length, other=source)
    outputs = os.path.join(base, "system-outputs")
    if os.path.isdir(os.path.join(outputs, pair)):
        outputs = os.path.join(outputs, pair)
    systems = _texts(outputs)
    if not systems:
        raise InputError(f"{outputs}: no SYSTEM.txt there{_only_jsonl(outputs)}")
    chosen = _references(base, pair, name, reference)
    scores = {level: None if path is None else read_score_lines(path) for level, path in files.items()}
    scored = {system for of_level in scores.values() for system in of_level or ()}
    texts = {system: _text_file(outputs, system) for system in systems}
    of_references = os.path.join(base, "references")
    for system in scored - set(systems):  # a human translation may be there as a reference only
        if (path := find(os.path.join(of_references, f"{pair}.{system}.txt"))) is not None:
            texts[system] = path
    systems = sorted(texts)
    if without_hypothesis := sorted(scored - set(systems)):
        notice(f"{name}: left out systems with {human} scores but no output ({', '.join(without_hypothesis)})")
    of_segments = _grid(files[SEGMENTS], scores[SEGMENTS], systems, length)
    of_systems = _grid(files[SYSTEMS], scores[SYSTEMS], systems, 1)
    return JudgedSet(
        name,
        systems,
        length,
        hypotheses=[lines(texts[system]) for system in systems],
        references=[lines(_text_file(of_references, f"{pair}.{each}")) for each in chosen],
        sources=sources,
        doc_ids=_doc_ids(find(os.path.join(base, "documents", f"{pair}.docs")), lines),
        source_lang=source_lang,
        target_lang=target_lang,
        segment_scores=of_segments,
        system_scores=None if of_systems is None else _of_these_segments(of_systems[:, 0], of_segments, name, human),
        reference=",".join(chosen) or None,
        human=human,
    )


def _base(root: str, pair: str) -> str:
    base = root if os.path.isdir(os.path.join(root, HUMAN)) else os.path.join(root, pair)
    if not os.path.isdir(os.path.join(base, HUMAN)):
        raise InputError(f"{root}: no folder {HUMAN} of {pair}; there are {', '.join(tree_pairs(root)) or 'none'}")
    return base


def _list(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _texts(folder: str) -> list[str]:
    names = [unpacked(name) for name in _list(folder)]
    return [name.removesuffix(".txt") for name in names if name.endswith(".txt")]


def _only_jsonl(folder: str) -> str:
    only = any(unpacked(name).endswith(".jsonl") for name in _list(folder))
    return "; texts in .jsonl are not read: write them as .txt, one segment per line" if only else ""


def _text_file(folder: str, name: str) -> str:
    path = find(os.path.join(folder, f"{name}.txt"))
    if path is None:
        raise InputError(f"{folder}: no file {name}.txt there{_only_jsonl(folder)}")
    return path


def _references(base: str, pair: str, name: str, reference: str | None) -> list[str]:
    folder = os.path.join(base, "references")
    known = [text.removeprefix(f"{pair}.") for text in _texts(folder) if text.startswith(f"{pair}.")]
    if reference is None:
        if not known and _only_jsonl(folder):
            raise InputError(f"{folder}: no references there{_only_jsonl(folder)}")
        chosen = (["refA"] if "refA" in known else known)[:1]
        if len(known) > 1:
            notice(f"{name}: {chosen[0]} is the reference, of {', '.join(known)}")
        return chosen
    for each in reference.split(","):
        if each not in known:
            raise InputError(f"{folder}: no reference {each} for {pair}; there are {', '.join(known) or 'none'}")
    return reference.split(",")


def _doc_ids(path: str | None, lines: Callable[[str], list[str]]) -> list[str] | None:
    """The ids in a file of lines `domain<TAB>id`; prefixed with the domain if an id recurs after another document."""
    if path is None:
        return None
    cells = [line.split("\t") for line in lines(path)]
    doc_ids = [line[min(1, len(line) - 1)] for line in cells]
    runs = 1 + sum(before != after for before, after in pairwise(doc_ids))
    if runs > len(set(doc_ids)):
        doc_ids = [":".join(line[:2]) for line in cells]
    document_ranges(doc_ids, path)
    return doc_ids


def _of_these_segments(of_file: np.ndarray, of_segments: np.ndarray | None, name: str, human: str) -> np.ndarray:
    """The system scores of a file, float64 (S,), or the means of the segment scores if the file covers other segments."""
    if of_segments is None:
        return of_file
    means = row_means(of_segments)
    both = ~np.isnan(means) & ~np.isnan(of_file)
    if not both.any():
        return of_file
    difference = np.abs(means - of_file)[both].max()
    if difference <= ROUNDING * max(np.ptp(of_file[both]), np.abs(of_file[both]).max()):
        return of_file
    notice(
        f"{name}: the {human} scores of systems are not the means of those of the segments (they differ by up to "
        f"{difference:.3g}) and may be of other segments; the means are taken"
    )
    return means


def _grid(path: str | None, scores: dict[str, list[float]] | None, systems: list[str], each: int):
    """The scores of the systems, float64 (S, each); NaN for a system without any. None without scores."""
    if scores is None:
        return None
    for system in systems:
        if len(scores.get(system, range(each))) != each:
            raise InputError(f"{path}: {counted(len(scores[system]), 'score', 'scores')} of {system}, not {each}")
    return np.array([scores.get(system, [np.nan] * each) for system in systems])
