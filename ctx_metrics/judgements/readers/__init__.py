"""Readers of human judgements, one module per kind of format; `read_judged` finds the right one for a path."""

import os
from collections.abc import Sequence
from dataclasses import replace

from ...errors import InputError
from ...language import language_pair
from ...notices import notice
from ..judged import JudgedSet
from ..options import DataOptions
from .annotated import is_annotated, read_annotated
from .da import SCORES, da_files, read_da, read_system_da
from .mqm import read_mqm
from .preferences import read_preferences, read_rankings
from .rows import asked_pairs, find, header_of, is_jsonl, is_of
from .table import COLUMNS as TABLE_COLUMNS
from .table import read_table
from .tree import first_human, read_tree, tree_pairs

LAYOUTS = (
    "an mt-metrics-eval tree (a folder with human-scores), a folder of DAseg files, a folder with DA-syslevel.csv, MQM "
    "errors (a TSV with target, category and severity), preferences (a TSV with better and worse), rankings (a CSV with "
    "system1rank, ...), judged outputs (a TSV or .jsonl with mt and score), WMT25's human evaluation (a .jsonl with "
    "tgt_text and scores)"
)


def read_judged(
    path: str,
    *,
    pairs: Sequence[str] | None = None,
    human: str | Sequence[str] = "mqm",
    reference: str | None = None,
    score: str | None = None,
    outputs: str | None = None,
) -> list[JudgedSet]:
    """Read the judged sets of a file or folder. The format is detected: from the files in a folder, or the header of a file.
    Files may be compressed (.gz, .xz).

    pairs        only these language pairs, such as ["zh-en"]
    human        in a tree: which human scores, such as mqm or wmt-z; of several, each pair is read by the first that it
                 has. Pairs without any are left out, with a notice
    reference    in a tree: which reference, such as "refA", or "refA,refB"; in a table with several: which column, such as
                 "ref2", or "ref,ref2"; with MQM errors or WMT25's human evaluation: the system that serves as
                 reference; with rankings: the reference file
    score        in a table: the column of the scores
    outputs      with rankings: the folder of the systems' outputs
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise InputError(f"cannot read {path}: No such file or directory")
    if os.path.isdir(path):
        return _read_folder(path, pairs, [human] if isinstance(human, str) else human, reference)
    if is_annotated(path):
        return read_annotated(path, pairs, reference)
    sets = _read_file(path, reference, score, outputs)
    if chosen := [judged for judged in sets if is_of(judged.pair, pairs)]:
        return chosen
    there = ", ".join(judged.pair if judged.source_lang else judged.name for judged in sets)
    raise InputError(f"{path}: none of the pairs {', '.join(pairs or ())}; there are {there}")


def read_chosen(path: str, options: DataOptions) -> list[JudgedSet]:
    """Read the judged sets that a command line chooses. A file whose name contains no language pair gets the one from -l."""
    given = {name: getattr(options, name) for name in ("human", "reference", "score", "outputs")}
    if os.path.isdir(path) or not (pairs := options.pairs) or is_annotated(path):
        return read_judged(path, pairs=options.pairs, **given)
    sets = read_judged(path, **given)
    if any(judged.source_lang is None for judged in sets):
        if len(pairs) > 1:
            raise InputError(f"{path}: its name contains no language pair", fix=f"name one with -l, not {len(pairs)}")
        try:
            source, target = language_pair(pairs[0])
        except InputError as error:
            raise InputError(f"-l {error}") from error
        sets = [replace(judged, source_lang=source, target_lang=target) for judged in sets]
    if chosen := [judged for judged in sets if is_of(judged.pair, pairs)]:
        return chosen
    there = ", ".join(judged.pair for judged in sets)
    its = "its language pair is" if len(sets) == 1 else "its language pairs are"
    raise InputError(f"{path}: {its} {there}, not {' or '.join(pairs)} (-l)")


def _read_folder(
    path: str, pairs: Sequence[str] | None, human: Sequence[str], reference: str | None
) -> list[JudgedSet]:
    if of_tree := tree_pairs(path):
        chosen = asked_pairs(path, pairs, of_tree)
        wanted = " or ".join(human)
        scored = {pair: name for pair in chosen if (name := first_human(path, pair, human))}
        if scored and len(scored) < len(chosen):
            left = ", ".join(pair for pair in chosen if pair not in scored)
            notice(f"{path}: left out pairs without human scores named {wanted} ({left})")
        return [read_tree(path, pair, scored.get(pair, wanted), reference) for pair in scored or chosen]
    if da_files(path):
        return read_da(path, pairs)
    if find(os.path.join(path, SCORES)):
        return read_system_da(path, pairs)
    raise InputError(f"{path}: the folder has no known layout; the known ones are {LAYOUTS}")


def layout_of(path: str) -> str:
    """The format of a file: "errors" (MQM), "annotations" (WMT25's), "preferences", "rankings" or "table"."""
    if is_jsonl(path):
        return "annotations" if is_annotated(path) else "table"
    header, parted = header_of(path)
    columns = set(header)
    if {"target", "category", "severity"} <= columns:
        return "errors"
    if {"better", "worse"} <= columns:
        return "preferences"
    if "system1rank" in columns:
        return "rankings"
    if not columns & set(TABLE_COLUMNS["mt"]):
        seen = ", ".join(header[:8])
        raise InputError(
            f"{path}: its first line ({seen}) is not the header of a known layout; the known ones are {LAYOUTS}"
        )
    if parted == "," and len(header) > 1:
        raise InputError(f"{path}: its columns are separated by commas", fix="separate them by tabs")
    return "table"


def _read_file(path: str, reference: str | None, score: str | None, outputs: str | None) -> list[JudgedSet]:
    layout = layout_of(path)
    if layout == "errors":
        return [read_mqm(path, reference)]
    if layout == "preferences":
        return [read_preferences(path, reference)]
    if layout == "rankings":
        if outputs is None or reference is None:
            wanted = "the folder of the systems' outputs (--outputs) and the reference file (--reference)"
            raise InputError(f"{path}: rankings need {wanted}")
        return [read_rankings([path], outputs, [reference])]
    return read_table(path, score, reference)
