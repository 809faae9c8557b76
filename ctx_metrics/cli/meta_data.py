"""What `ctx-metrics meta` evaluates: the judged sets, and every metric's scores of them."""

from argparse import Namespace
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Optional

import numpy as np

from ..engine.options import EngineOptions
from ..errors import InputError
from ..meta.judged import JudgedSet, MetricScores, is_human
from ..meta.readers import read_judged
from ..meta.score_files import read_scores, write_score_files
from ..meta.scoring import MetricSettings, build_metric, named_systems, score_set
from ..notices import notice


def read_sets(args: Namespace) -> list[JudgedSet]:
    """The judged sets of all paths, without the systems that are left out."""
    sets = [
        judged
        for path in args.data
        for judged in read_judged(
            path,
            pairs=args.language_pair,
            human=args.human,
            reference=args.reference,
            score=args.score_column,
            outputs=args.outputs,
        )
    ]
    dropped: set[str] = set()
    kept = [_without(judged, args, dropped) for judged in sets]
    for pattern in args.drop:
        if pattern not in dropped:
            raise InputError(f"--drop {pattern}: no such system in {', '.join(judged.name for judged in sets)}")
    return kept


def score_sets(sets: Sequence[JudgedSet], args: Namespace) -> dict[str, list[Optional[MetricScores]]]:
    """Each set's scores by the metrics of -m, --scores and --slide-grid.

    Raises InputError if two of them have one name.
    """
    engine = EngineOptions(args.ctx_device, args.ctx_dtype, args.ctx_batch_tokens, args.ctx_store_mb, args.quiet)
    settings = [_settings(name, args) for name in args.metrics]
    scores: dict[str, list[Optional[MetricScores]]] = {}
    for judged in sets:
        of_set = score_set(judged, settings, engine) if settings else []
        if args.save_scores:
            write_score_files(Path(args.save_scores) / judged.name, judged, [each for each in of_set if each])
        if args.slide_grid is not None:
            of_set += grid_scores(judged, _settings("slide", args), args.slide_grid, engine)
        of_set += read_scores(args.scores or (), judged, args.reference)
        names = [each.name for each in of_set if each]
        for name in names:
            if names.count(name) > 1:
                raise InputError(
                    f"{judged.name}: two metrics are named {name}; leave one out, or rename its score files"
                )
        scores[judged.name] = of_set
    return scores


def grid_scores(judged: JudgedSet, settings: MetricSettings, largest: int, engine: EngineOptions) -> list[MetricScores]:
    """System scores of slide for all windows w up to `largest` and strides s <= w, as metrics named slide(w,s)."""
    from ..metrics.grid import slide_grid

    if not judged.complete or judged.doc_ids is None:
        what = "document ids" if judged.doc_ids is None else "whole documents"
        notice(f"--slide-grid: left out on {judged.name}, which has no {what}")
        return []
    systems = named_systems(judged)
    metric = build_metric(judged, settings, systems, engine)
    grid = slide_grid(metric, systems, judged.references, largest)
    found = []
    for (window, stride), values in grid.items():
        metric.settings.update(window=window, stride=stride)
        signature = str(metric.get_signature().format())
        found.append(MetricScores(f"slide({window},{stride})", None, np.array(values, float), signature))
    return found


def _settings(name: str, args: Namespace) -> MetricSettings:
    own = {dest.removeprefix(f"{name}_"): getattr(args, dest) for dest in args.own.get(name, ())}
    return MetricSettings(name, args.table[name.upper()], own)


def _without(judged: JudgedSet, args: Namespace, dropped: set[str]) -> JudgedSet:
    """A set without the systems of --drop (noted in `dropped`), without human translations, and without its reference."""
    asked, humans, references = [], [], []
    for i, system in enumerate(judged.systems):
        patterns = [pattern for pattern in args.drop if _matches(pattern, judged.name, system)]
        dropped.update(patterns)
        outputs = None if judged.hypotheses is None else list(judged.hypotheses[i])
        if patterns:
            asked.append(system)
        elif is_human(system) and not args.keep_humans:
            humans.append(system)
        elif judged.segments > 1 and any(outputs == list(stream) for stream in judged.references):
            references.append(system)
    for left_out, why in ((asked, "--drop"), (humans, "human translations"), (references, "the reference itself")):
        if left_out:
            notice(
                f"{judged.name}: left out as {why}: {', '.join(left_out)}"
                if why != "--drop"
                else f"{judged.name}: left out ({why}): {', '.join(left_out)}"
            )
    left_out = [*asked, *humans, *references]
    return judged.without(left_out) if left_out else judged


def _matches(pattern: str, name: str, system: str) -> bool:
    of_set, colon, of_system = pattern.rpartition(":")
    in_set = not colon or fnmatchcase(name, of_set) or name.endswith(f".{of_set}")
    return fnmatchcase(system, pattern) or (in_set and fnmatchcase(system, of_system))
