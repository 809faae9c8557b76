"""Error spans of a run, as WMT25's predictions.tsv: a table with tabs and quotes, as pandas reads and writes it."""

import csv
import io
from collections.abc import Sequence

from ...errors import InputError
from ...models.estimator import ErrorSpan
from ...notices import Notice, notice
from ...run.run import RunScores
from ...scoring.results import error_spans

KEYS = ("source_lang", "target_lang", "set_id", "system_id", "doc_id", "segment_id")
MARKS = ("start_indices", "end_indices", "error_types")
COLUMNS = (
    *("doc_id", "segment_id", "source_lang", "target_lang", "set_id", "system_id", "source_segment"),
    *("hypothesis_segment", "reference_segment", "domain_name", "method", *MARKS),
)
OFFICIAL = "official"  # the set_id of the rows that WMT scores
NO_ERROR = "no-error"


def predictions(run: RunScores) -> str:
    """Return the spans of the first metric that marks any, with a row for each system's segment.

    A segment's number, from 1, is its segment_id; set_id is "official". Raises InputError if no metric marks spans.
    """
    context = run.context
    marked = next(
        (found for of_metric in run.scores if any(found := [error_spans(each.result) for each in of_metric])), None
    )
    if marked is None:
        raise unmarked([of_metric[0].title for of_metric in run.scores])
    text = io.StringIO()
    table = csv.writer(text, delimiter="\t", lineterminator="\n")
    table.writerow(COLUMNS)
    unread = []
    for name, texts, of_segments in zip(context.names, context.systems, marked, strict=True):
        unread += [i for i in range(len(texts)) if i not in of_segments]
        for i, hypothesis in enumerate(texts):
            own = {
                "doc_id": "" if context.doc_ids is None else context.doc_ids[i],
                "segment_id": i + 1,
                "source_lang": context.source_lang or "",
                "target_lang": context.target_lang or "",
                "set_id": OFFICIAL,
                "system_id": name,
                "source_segment": "" if context.sources is None else context.sources[i],
                "hypothesis_segment": hypothesis,
                "reference_segment": (context.references[0][i] or "") if context.references else "",
                **marks(of_segments.get(i, [])),
            }
            table.writerow([own.get(column, "") for column in COLUMNS])
    if unread:
        one, many = "segment that the model did not read alone has", "segments that the model did not read alone have"
        notice(Notice.at(sorted(unread), f"{one} no spans", f"{many} no spans", about="--spans"))
    return text.getvalue()


def marks(spans: Sequence[ErrorSpan]) -> dict[str, str]:
    """Return the three cells of a row's spans; an end is the number of the character after the last.

    >>> marks([ErrorSpan("dog", "major", 0.9, 4, 7), ErrorSpan("it", "minor", 0.8, 9, 11)])
    {'start_indices': '4 9', 'end_indices': '7 11', 'error_types': 'major minor'}
    >>> marks([])
    {'start_indices': '-1', 'end_indices': '-1', 'error_types': 'no-error'}
    """
    cells = [(str(each.start), str(each.end), each.severity) for each in spans] or [("-1", "-1", NO_ERROR)]
    return dict(zip(MARKS, map(" ".join, zip(*cells, strict=True)), strict=True))


def unmarked(metrics: Sequence[str]) -> InputError:
    return InputError(
        f"--spans: {', '.join(metrics)} marks no error spans",
        fix="use comet with an XCOMET model, or --comet-spans with a model trained with word labels",
    )
