"""The data that `ctx-metrics meta` evaluates: the judged sets, and the scores of each metric on them."""

import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from ...cli.common.metrics import GRID_SETTINGS
from ...engine_options import EngineOptions
from ...errors import InputError
from ...judgements.judged import JudgedSet, MetricScores, is_human
from ...judgements.readers import read_chosen
from ...judgements.score_files import lower_is_better, read_scores
from ...notices import notice, progress
from ...scoring.base import ContextMetric
from ...scoring.context import MetricSettings
from ..scoring import built_without_systems, lacking, run_on, score_set

if TYPE_CHECKING:
    from ...scale.corpora import InBlocks
    from . import Evaluation, JudgedData

UNJUDGED = "without human judgements"


def read_sets(paths: Sequence[str], data: "JudgedData") -> list[JudgedSet]:
    """Read the judged sets of all paths, and leave out systems with a notice."""
    sets = [judged for path in paths for judged in read_chosen(path, data)]
    if data.unescape:
        sets = [judged.unescaped() for judged in sets]
    for name, times in Counter(judged.name for judged in sets).items():
        if times > 1:
            raise InputError(f"two sets are named {name}", fix="evaluate them one by one, or rename a file or folder")
    for pattern in data.drop:
        if not any(_matches(pattern, judged, system) for judged in sets for system in judged.systems):
            raise InputError(f"--drop {pattern}: no such system in {', '.join(judged.name for judged in sets)}")
    left_out: dict[str, list[str]] = {}
    kept = []
    for judged in sets:
        whys = _left_out(judged, data)
        for why in dict.fromkeys(whys.values()):
            systems = [system for system in whys if whys[system] == why]
            left_out.setdefault(why, []).append(f"{', '.join(systems)} ({judged.name})")
        if len(whys) == len(judged.systems):
            if UNJUDGED in whys.values():
                unjudged = ", ".join(system for system in whys if whys[system] == UNJUDGED)
                raise InputError(f"{judged.name}: no systems are left; nobody judged {unjudged}")
            raise InputError(
                f"{judged.name}: no systems are left", fix="drop fewer (--drop), or keep human ones (--keep-humans)"
            )
        kept.append(judged.without(list(whys)) if whys else judged)
    for why, systems in left_out.items():
        notice(f"left out {why}: {', '.join(systems)}")
    return kept


def _rising(scores: MetricScores) -> MetricScores:
    """The scores, negated if lower ones are better."""
    if not lower_is_better(scores):
        return scores
    notice(f"{scores.name}: lower is better, so the scores of its files are negated")
    segments, systems = scores.segment_scores, scores.system_scores
    return replace(
        scores,
        segment_scores=None if segments is None else -segments,
        system_scores=None if systems is None else -systems,
    )


def score_sets(
    sets: Sequence[JudgedSet],
    asked: "Evaluation",
    metrics: Sequence[MetricSettings],
    slide: MetricSettings | None,
    engine: EngineOptions,
    check_texts: bool,
    blocks: "InBlocks | None" = None,
) -> dict[str, list[MetricScores]]:
    """The scores of each set by the metrics of -m, --scores and --slide-grid; errors are found early if possible."""
    names, paths = [each.name for each in metrics], list(dict.fromkeys(asked.scores or ()))
    scores = {judged.name: [_rising(each) for each in read_scores(paths, judged, taken=names)] for judged in sets}
    for name, given in scores.items():
        times = Counter([*names, *(each.name for each in given)])
        if twice := [metric for metric in times if times[metric] > 1]:
            raise InputError(
                f"{name}: two metrics are named {twice[0]}", fix="leave one out, or rename its score files"
            )
    named = {each.name for of_set in scores.values() for each in of_set}
    _check_seen(asked.seen, list(scores), {*names, *named})
    if slide:  # the grid covers all windows
        slide = slide._replace(own={key: value for key, value in slide.own.items() if key not in GRID_SETTINGS})
    usable = _usable(sets, [*metrics, *([slide] if slide else [])], engine, any(scores.values()))
    if check_texts and usable:
        for judged in sets:
            judged.as_texts().check()
    bar = tqdm(sets, unit="set", leave=False, disable=True if engine.quiet or len(sets) == 1 else None)
    for judged in bar:
        bar.set_description(judged.name)
        wanted = [each for each in metrics if (each.name, judged.name) in usable]
        kept = asked.save_scores and os.path.join(asked.save_scores, judged.name)
        found = score_set(judged, wanted, engine, kept=kept, in_blocks=blocks)
        if slide and asked.slide_grid and (slide.name, judged.name) in usable:
            start = time.perf_counter()
            found += grid_scores(judged, slide, asked.slide_grid, engine)
            progress(f"{judged.name}: slide's grid scored in {time.perf_counter() - start:,.1f} s", engine.quiet)
        scores[judged.name] = [*found, *scores[judged.name]]
    return scores


def grid_scores(judged: JudgedSet, settings: MetricSettings, largest: int, engine: EngineOptions) -> list[MetricScores]:
    """System scores of slide for all windows w up to `largest` and strides s <= w, as metrics named slide(w,s)."""
    from ...metrics.slide import SLIDE, slide_grid

    run = run_on(judged, [settings], engine)
    metric = run.build()[settings.name]
    if not isinstance(metric, SLIDE):
        raise InputError("--slide-grid is for the slide of ctx-metrics")
    grid = slide_grid(metric, run.texts.systems, judged.references, largest)
    metric.signature.update(window=f"1-{largest}", stride=f"1-{largest}")
    signature = str(metric.get_signature().format())
    return [
        MetricScores(f"slide({window},{stride})", None, np.array(values, float), signature)
        for (window, stride), values in grid.items()
    ]


def _usable(
    sets: Sequence[JudgedSet], settings: Sequence[MetricSettings], engine: EngineOptions, given: bool
) -> set[tuple[str, str]]:
    """The pairs (metric, set) for which the set has everything that the metric reads. A notice names the others."""
    lacks: dict[tuple[str, str], list[str]] = {}
    made: dict[tuple[str, str | None], ContextMetric] = {}
    usable = set()
    for judged in sets:
        if settings and judged.hypotheses is None:
            raise InputError(
                f"{judged.name}: there are no texts to score", fix="give the metrics' scores as files (--scores)"
            )
        for each in settings:
            what, key = lacking(judged, each.cls), (each.name, judged.target_lang)
            if not what and issubclass(each.cls, ContextMetric):
                if key not in made:
                    try:
                        built = built_without_systems(judged, each, engine)
                    except InputError as error:
                        raise InputError(f"{judged.name}: {error}" if len(sets) > 1 else str(error)) from error
                    assert isinstance(built, ContextMetric)
                    made[key] = built
                if made[key].can.compares_systems:  # a model may do so where its class does not
                    what = lacking(judged, made[key])
            if what:
                lacks.setdefault((each.name, what), []).append(judged.name)
            else:
                usable.add((each.name, judged.name))
    said = []
    for (metric, what), names in lacks.items():
        on = list(dict.fromkeys(names))  # slide may occur twice: from -m, and as the grid
        where = "every set" if len(on) == len(sets) > 1 else ", ".join(on)
        said.append(f"{metric}: left out on {where}: {what}")
    if not (usable or given):
        raise InputError("; ".join(["nothing is left to evaluate", *said]))
    for line in said:
        notice(line)
    return usable


def _check_seen(seen: Sequence[tuple[str, str]], sets: Sequence[str], metrics: set[str]) -> None:
    for metric, pattern in seen:
        if metric not in metrics:
            raise InputError(
                f"--seen {metric}:{pattern}: no metric of this name; there are {', '.join(sorted(metrics))}"
            )
        if not any(fnmatchcase(name, pattern) for name in sets):
            raise InputError(f"--seen {metric}:{pattern}: no set of this name; there are {', '.join(sets)}")


def _left_out(judged: JudgedSet, data: "JudgedData") -> dict[str, str]:
    """The systems to leave out, and why: by --drop, as human, as the reference itself, or because nobody judged them."""
    whys = {}
    with_judgements = judged.judged
    for i, system in enumerate(judged.systems):
        outputs = None if judged.hypotheses is None else list(judged.hypotheses[i])
        if any(_matches(pattern, judged, system) for pattern in data.drop):
            whys[system] = "by --drop"
        elif is_human(system) and not data.keep_humans:
            whys[system] = "as human translations"
        elif judged.segments > 1 and any(outputs == list(stream) for stream in judged.references):
            whys[system] = "as the reference itself"
        elif not with_judgements[i]:
            whys[system] = UNJUDGED
    return whys


def _matches(pattern: str, judged: JudgedSet, system: str) -> bool:
    """Whether [SET:]SYSTEM matches a system. SET is the set's name, its language pair, or a pattern for either."""

    def like(name: str, wanted: str) -> bool:
        return name == wanted or fnmatchcase(name, wanted)

    of_set, colon, of_system = pattern.partition(":")
    in_set = bool(colon) and (like(judged.name, of_set) or like(judged.pair, of_set))
    return like(system, pattern) or (in_set and like(system, of_system))
