"""The files that a run writes besides printing: --ctx-seg-scores DIR, --slide-output FILE, and the installed outputs."""

import json
import math
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sacrebleu.metrics.base import Metric

from ..corpus import document_ranges
from ..errors import InputError
from ..run.run import RunScores
from ..scoring.context import capabilities
from ..scoring.names import name_in_files
from ..scoring.scores import aggregate, all_scores, score_lines, scores, shown
from ..system_names import reference_name
from ..writing import check_writable, write_whole

if TYPE_CHECKING:
    from ..scoring.results import ScoredWindow, SystemResult
    from .capture import CommandRun

SLIDE_HEADER = ("level", "system", "document", "first", "last", "weight", "score", "truncated")


def check(run: "CommandRun") -> None:
    """Raise InputError if a file of the run cannot be written; creates nothing."""
    for flag, path in run.asked.targets.items():
        is_folder = flag == "--ctx-seg-scores"
        if not is_folder and (not path or (os.path.exists(path) and not os.path.isfile(path))):
            raise InputError(f"{flag} {path}: cannot write there: it is not a file name")
        check_writable(path, is_folder, flag)
    if run.asked.outputs:
        context = run.of_outputs()
        for output in run.asked.outputs:
            output.check(context, run.testing)


def write(run: "CommandRun") -> None:
    asked, systems, doc_ids = run.asked, run.names(), run.document_ids()
    texts: dict[str, str] = {}
    folder = asked.settings.ctx_seg_scores
    for name, metric in run.metrics.items() if folder else ():
        references = reference_name(asked.flags.refs) if capabilities(metric).references else "src"
        written = name_in_files(name, metric, str(metric.get_signature().format()))
        start = os.path.join(folder or "", f"{written}-{references}")
        of_systems = [scores(metric, system, doc_ids) for system in run.systems]
        texts[f"{start}.seg.score"] = score_lines(systems, [each.segments for each in of_systems])
        texts[f"{start}.sys.score"] = score_lines(systems, [[each.system] for each in of_systems])
        if doc_ids is not None:
            texts[f"{start}.doc.score"] = score_lines(systems, [each.documents for each in of_systems])
        if details := detail_lines(metric, systems):
            texts[f"{start}.seg.jsonl"] = details
    if path := asked.settings.slide_output:
        texts[path] = slide_table(run.metrics["slide"], systems, doc_ids)
    if asked.outputs:
        context = run.of_outputs()
        of_metrics = all_scores(run.metrics.values(), context.systems, context.doc_ids)
        scored = RunScores(context, run.metrics, of_metrics)
        texts |= {path: output.text(scored, run.testing) for output, path in asked.outputs.items()}
    for path, text in texts.items():
        write_whole(path, text, "the scores above are complete")


def detail_lines(metric: Metric, systems: Sequence[str]) -> str:
    """Return a learned model's results besides scores, one JSON object per input and line; "" if there are none."""
    results = zip(systems, _results(metric), strict=False)  # only our metrics have any
    windows = [(name, scored) for name, result in results for scored in result.windows]
    if not any(each.estimate and (each.estimate.parts or each.estimate.spans is not None) for _, each in windows):
        return ""
    single = all(each.window.end - each.window.start == 1 for _, each in windows)
    return "".join(json.dumps(_detail(*each, single), ensure_ascii=False) + "\n" for each in windows)


def _results(metric: Metric) -> Sequence["SystemResult"]:
    return metric.system_results() if hasattr(metric, "system_results") else ()


def _detail(system: str, scored: "ScoredWindow", single: bool) -> dict[str, object]:
    first, last = scored.window.start + 1, scored.window.end
    estimate = scored.estimate
    detail: dict[str, object] = {
        "system": system,
        **({"segment": first} if single else {"segments": [first, last]}),
        "score": None if scored.value is None else 100 * scored.value,
        "parts": {name: 100 * value for name, value in estimate.parts.items()} if estimate else {},
    }
    if estimate and estimate.spans is not None:
        detail["error_spans"] = [span._asdict() for span in estimate.spans]
    return detail


def slide_table(metric: Metric, systems: Sequence[str], doc_ids: Sequence[str] | None) -> str:
    """Return the table of --slide-output, with tabs: for each system, rows for its windows, sentences, documents and total.

    The columns first and last are segments, from 1. The column truncated counts the windows with cut text in that range.
    """
    lines = [
        (level, system, *rest)
        for system, result in zip(systems, _results(metric), strict=True)
        for level, *rest in _slide_rows(metric, result, doc_ids)
    ]
    return "".join("\t".join(map(str, line)) + "\n" for line in [SLIDE_HEADER, *lines])


def _slide_rows(metric: Metric, result: "SystemResult", doc_ids: Sequence[str] | None) -> Iterator[tuple]:
    rows, length = result.rows, len(result.rows)
    names = ["all"] * length if doc_ids is None else ["_".join(name.split()) for name in doc_ids]
    cut = [scored.window for scored in result.windows if scored.estimate and scored.estimate.cut]

    def whole(start: int, end: int) -> tuple:
        weight = math.fsum(row[1] for row in rows[start:end])
        touched = sum(window.start < end and start < window.end for window in cut)
        return start + 1, end, weight, shown(aggregate(metric, rows[start:end]).score), touched

    for scored in result.windows:
        start, end, weight = scored.window
        score = shown(None if scored.value is None else 100 * scored.value)
        yield "window", names[start], start + 1, end, weight, score, int(scored.window in cut)
    for i in range(length):
        yield "sentence", names[i], *whole(i, i + 1)
    for start, end in [(0, length)] if doc_ids is None else document_ranges(doc_ids):
        yield "document", names[start], *whole(start, end)
    yield "system", "", *whole(0, length)
