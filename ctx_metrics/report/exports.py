"""Exports of a report for other programs: a table of texts and scores, and items for Pearmut and subset2evaluate."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from ..cli.common.output import as_json, plain
from ..notices import notice
from ..separated import separated
from .content import Content, all_marked
from .pearmut import documents_of_items

SEVERITIES = {"critical": "major"}  # in Pearmut, which knows only minor and major


def texts_table(content: Content, form: str = "tsv") -> str:
    """A table with a header, as tsv or csv: one row per output, with its texts and its scores in full precision."""
    context, documents = content.context, _documents_of(content)
    references = context.references or []
    header = ["system", "document", "segment", *(each.title for each in content.columns), "source"]
    header += ["reference" if k == 0 else f"reference {k + 1}" for k in range(len(references))] + ["hypothesis"]
    rows = [header]
    for s, name in enumerate(content.names):
        for i, hypothesis in enumerate(context.systems[s]):
            scores = [
                "" if math.isnan(score := each.scores[s].segments[i]) else repr(score) for each in content.columns
            ]
            texts = [
                "" if context.sources is None else context.sources[i],
                *(each[i] or "" for each in references),
                hypothesis,
            ]
            rows.append([name, documents[i], str(i + 1), *scores, *texts])
    return separated(form, rows)


def pearmut(content: Content, campaign: str) -> str:
    """A Pearmut campaign: one task with all documents. Its items hold the outputs of all systems and the error spans that a
    metric marked. In Pearmut, the end of a span is inclusive."""
    context, spans = content.context, _spans(content)
    documents = documents_of_items(
        dict(zip(content.names, context.systems, strict=True)),
        context.sources,
        context.doc_ids,
        context.references[0] if context.references else None,
    )
    for i, item in enumerate(item for document in documents for item in document):
        if spans:
            item["error_spans"] = {name: spans.get((s, i), []) for s, name in enumerate(content.names)}
    if context.sources is None:
        notice("--pearmut: people need the source to judge a translation: give -s FILE")
    name = re.sub(r"\W+", "-", campaign).strip("-")
    info = {"assignment": "task-based", "protocol": "ESA"}
    whole = {"info": info, "campaign_id": name, "data": [documents]}
    return json.dumps(plain(whole, None), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def subset2evaluate(content: Content) -> str:
    """The items for subset2evaluate as JSON lines: texts, and each system's segment scores by metric."""
    context, documents = content.context, _documents_of(content)
    items = [
        {
            "i": i,
            "doc": documents[i],
            "src": "" if context.sources is None else context.sources[i],
            "ref": (context.references[0][i] or "") if context.references else "",
            "tgt": {name: context.systems[s][i] for s, name in enumerate(content.names)},
            "scores": {
                name: {each.title: each.sign * each.scores[s].segments[i] for each in content.columns}
                for s, name in enumerate(content.names)
            },
        }
        for i in range(len(context.systems[0]))
    ]
    return as_json(items, "jsonl", None)


def _documents_of(content: Content) -> Sequence[str]:
    ids = content.context.doc_ids
    return [""] * len(content.context.systems[0]) if ids is None else ids


def _spans(content: Content) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """The error spans by (system, segment), from the first metric that marks any."""
    return {
        place: [
            {
                "start_i": span.start,
                "end_i": span.end - 1,
                "severity": SEVERITIES.get(span.severity, span.severity),
                "category": None,
            }
            for span in spans
            if span.start is not None and span.end is not None
        ]
        for each in all_marked(content)[:1]
        for place, spans in each.spans.items()
    }
