"""Scores judged test sets with registered metrics, with all systems of a set in one pass."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sacrebleu.metrics.base import Metric

from ..corpus import Segments, named
from ..engine_options import EngineOptions
from ..judgements.judged import JudgedSet, MetricScores
from ..judgements.score_files import NO_REFERENCE, read_kept, write_score_files
from ..notices import Progress, counted, notice, progress
from ..run.run import Run
from ..scoring.base import ContextMetric
from ..scoring.context import MetricSettings, capabilities
from ..scoring.inputs import FileInput
from ..scoring.scores import of_parts, scores

if TYPE_CHECKING:
    from ..scale.corpora import InBlocks


def score_set(
    judged: JudgedSet,
    metrics: Sequence[MetricSettings],
    engine: EngineOptions = EngineOptions(),
    *,
    kept: str | None = None,
    in_blocks: "InBlocks | None" = None,
) -> list[MetricScores]:
    """Score a set, which lacks nothing that the metrics require, with each of them.

    If every system has an output for every segment, all systems are scored in one pass, with their documents. Otherwise
    (lists of better and worse outputs), the existing outputs are scored as single segments, without system scores. TER and
    any other metric whose lower scores are better are negated.

    kept    a folder of score files: scores are written there as soon as a metric has finished. Existing scores of the same
            texts with the same signature are read instead of being computed, with a notice
    in_blocks    scores metrics block by block; None: each metric scores all texts at once
    """
    run = run_on(judged, metrics, engine)
    built = run.build(in_blocks)
    found: dict[str, MetricScores] = {}
    if kept is not None:
        for each in metrics:
            metric = built[each.name]
            reference, own = _read_by(metric), _noted(each)
            read = read_kept(kept, judged, each.name, reference=reference, signatures=signatures(metric), settings=own)
            if read is not None:
                found[each.name] = read
    if found:
        notice(f"{judged.name}: read from {kept} and not scored again: {', '.join(found)}")
    for each in metrics:
        if each.name in found:
            continue
        metric = built[each.name]
        start = time.perf_counter()
        found[each.name] = scored = _scored(judged, each, metric, run.texts.systems, quiet=engine.quiet)
        progress(f"{judged.name}: {each.name} scored in {time.perf_counter() - start:,.1f} s", engine.quiet)
        if kept is not None:
            write_score_files(kept, judged, [scored], reference=_read_by(metric), settings=_noted(each))
    return [found[each.name] for each in metrics]


def lacking(judged: JudgedSet, metric: Metric | type[Metric]) -> str:
    """The inputs required by a metric or its class that the set lacks, in words; "" if it lacks none.

    >>> from ctx_metrics import BERTR, SLIDE
    >>> judged = JudgedSet("toy", ["A"], 1, [["It rains."]], [["It rains."]], segment_scores=np.array([[1.0]]))
    >>> lacking(judged, SLIDE), lacking(judged, BERTR)
    ('no document ids', '')
    """
    can = capabilities(metric)
    reads_documents, compares, no_references = "doc_ids" in can.reads, can.compares_systems, not judged.references
    lacks = {
        "no document ids": reads_documents and judged.doc_ids is None,
        "no whole documents: outputs are missing": reads_documents and not judged.complete,
        "not every system's output of each segment": compares and not judged.complete,
        "only one system": compares and len(judged.systems) < 2,
        **{f"no {each.words}": True for each in can.inputs if isinstance(each, FileInput) and each.required},
        "no references": no_references and can.references and (compares or "sources" not in can.reads),
    }
    return next((what for what, lacking in lacks.items() if lacking), "")


def run_on(judged: JudgedSet, metrics: Sequence[MetricSettings], engine: EngineOptions) -> Run:
    """The run of metrics on a set's texts. The outputs of an incomplete set form a single system, of single segments."""
    texts = judged.as_texts()
    if not judged.complete:
        places = np.argwhere(judged.there)

        def of_outputs(stream: Segments) -> Segments:
            return named([stream[segment] for _, segment in places], stream.name)

        texts = replace(
            texts,
            names=["outputs"],
            systems=[named([texts.systems[system][segment] for system, segment in places], judged.name)],
            references=[of_outputs(stream) for stream in texts.references],
            sources=None if texts.sources is None else of_outputs(texts.sources),
            doc_ids=None,
        )
    return Run(texts, metrics, {}, engine, text_checks=False)


def built_without_systems(judged: JudgedSet, settings: MetricSettings, engine: EngineOptions) -> Metric:
    """Build a metric for a set, to see its signature or that it can be built."""
    run = run_on(judged, [settings], engine)
    return replace(run, texts=replace(run.texts, names=[], systems=[])).build()[settings.name]


def _scored(
    judged: JudgedSet, settings: MetricSettings, metric: Metric, systems: Sequence[Segments], quiet: bool
) -> MetricScores:
    sign = 1.0 if capabilities(metric).higher_is_better else -1.0
    by_system = []
    # our metrics score all systems when they score the first, and show their own progress
    with Progress(settings.name, "system", len(systems), quiet=quiet or isinstance(metric, ContextMetric)) as done:
        for system in systems:
            by_system.append(scores(metric, system))
            done.update()
    system_scores = sign * np.array([each.system for each in by_system]) if judged.complete else None
    segment_scores = np.full((len(judged.systems), judged.segments), np.nan)
    segment_scores[judged.there] = sign * np.concatenate([each.segments for each in by_system])
    if unscored := int(np.isnan(segment_scores[judged.there]).sum()):
        notice(f"{settings.name}: {counted(unscored, 'output has', 'outputs have')} no score on {judged.name}")
    return MetricScores(settings.name, segment_scores, system_scores, *signatures(metric))


def _read_by(metric: Metric) -> str | None:
    """The reference part of the names of a metric's score files, if the metric reads no references; else None."""
    return None if capabilities(metric).references else NO_REFERENCE


def _noted(settings: MetricSettings) -> dict[str, str]:
    """A metric's class and settings, by which its stored scores are recognised."""
    cls = settings.cls
    return {"class": f"{cls.__module__}.{cls.__qualname__}", **{key: repr(own) for key, own in settings.own.items()}}


def signatures(metric: Metric) -> tuple[str, str]:
    """A metric's signature, and that of its segment scores if it differs, else ""."""
    of_systems, of_segments = (str(each.get_signature().format()) for each in (metric, of_parts(metric)))
    return of_systems, of_segments if of_segments != of_systems else ""
