#!/usr/bin/env python3
"""Writes a campaign for Pearmut, a tool for human evaluation: several systems' outputs, by documents, with their scores.

    python pearmut_export.py -s src.txt -t a.txt b.txt --docids ids.txt -r ref.txt -l de-en -m comet chrf -o campaign.json
    pearmut add campaign.json

A document of the test set is an item of the campaign, and all systems' outputs of a segment are shown together. Pearmut
keeps keys that it does not know, and its pages do not show them. The scores of segments are under the key "ctx_metrics",
and the systems' scores with signatures under the same key of the campaign.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ctx_metrics import CtxMetricsError, InputError, read_lines
from ctx_metrics.language import named_languages
from ctx_metrics.registry import metric_table
from ctx_metrics.report.pearmut import check_names, documents_of_items
from ctx_metrics.scoring.context import Context, MetricSettings, build_all
from ctx_metrics.scoring.scores import all_scores


def campaign(
    campaign_id: str,
    systems: Mapping[str, Sequence[str]],
    sources: Sequence[str],
    doc_ids: Sequence[str] | None = None,
    references: Sequence[str] | None = None,
    metrics: Mapping[str, Mapping[str, object]] | None = None,
    languages: str = "",
    info: Mapping[str, object] | None = None,
) -> dict:
    """The campaign as Pearmut reads it.

    doc_ids    a document is a run of equal ids; without them every segment is a document
    metrics    names, such as "comet", with settings for each
    info       of the campaign: assignment, protocol, users and others
    """
    check_names([*systems])
    streams = {**systems, "sources": sources, "document ids": doc_ids, "references": references}
    for name, texts in streams.items():
        if texts is not None and len(texts) != len(sources):
            raise InputError(f"{name}: {len(texts)} segments for {len(sources)} sources")
    source_lang, target_lang = named_languages(languages)
    context = Context(
        references=[] if references is None else [references],
        systems=list(systems.values()),
        sources=sources,
        doc_ids=doc_ids,
        source_lang=source_lang,
        target_lang=target_lang,
    )
    table, metrics = metric_table(), metrics or {}
    if unknown := [name for name in metrics if name.upper() not in table]:
        raise InputError(f"{unknown[0]}: there is no such metric; there are {', '.join(table).lower()}")
    built = build_all(
        [MetricSettings(name, table[name.upper()], settings) for name, settings in metrics.items()], context
    )
    found = dict(zip(metrics, all_scores(built.values(), list(systems.values())), strict=True))
    documents = documents_of_items(systems, sources, doc_ids, references)
    for number, item in enumerate(item for document in documents for item in document):
        if metrics:
            item["ctx_metrics"] = {
                metric: {name: _rounded(of.segments[number]) for name, of in zip(systems, every, strict=True)}
                for metric, every in found.items()
            }

    return {
        "campaign_id": campaign_id,
        "info": {"assignment": "single-stream", "protocol": "ESA", "users": 1, **(info or {})},
        "data": documents,
        "ctx_metrics": {
            metric: {
                "signature": str(of.get_signature()),
                "scores": {name: _rounded(each.system) for name, each in zip(systems, found[metric], strict=True)},
            }
            for metric, of in built.items()
        },
    }


def _rounded(score: float) -> float | None:
    return round(score, 4) if score == score else None  # NaN is no JSON


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write a campaign for Pearmut.")
    parser.add_argument("-s", "--source", required=True, metavar="FILE")
    parser.add_argument(
        "-t", "--translations", required=True, nargs="+", metavar="FILE", help="A file for each system."
    )
    parser.add_argument("--names", nargs="+", metavar="NAME", help="The systems' names. (Default: the files')")
    parser.add_argument("-r", "--reference", metavar="FILE", help="Shown to annotators, and read by metrics.")
    parser.add_argument("--docids", metavar="FILE", help="Document id of each line.")
    parser.add_argument("-l", "--language-pair", default="", metavar="PAIR", help="Such as de-en.")
    parser.add_argument("-m", "--metrics", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--settings", type=json.loads, default={}, help='As JSON, such as {"comet": {"model": "..."}}.')
    parser.add_argument("--campaign-id", default="ctx-metrics", metavar="ID")
    parser.add_argument("--assignment", choices=["single-stream", "dynamic"], default="single-stream")
    parser.add_argument("--protocol", choices=["DA", "ESA", "cESA", "MQM"], default="ESA")
    parser.add_argument("--users", type=int, default=1, metavar="N", help="Annotators.")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    args = parser.parse_args(arguments)
    names = args.names or [Path(path).name for path in args.translations]
    if len({*names}) != len(args.translations):
        parser.error("give each system a name of its own with --names")
    try:
        made = campaign(
            args.campaign_id,
            dict(zip(names, map(read_lines, args.translations), strict=True)),
            read_lines(args.source),
            read_lines(args.docids) if args.docids else None,
            read_lines(args.reference) if args.reference else None,
            {name: args.settings.get(name, {}) for name in args.metrics},
            args.language_pair,
            {"assignment": args.assignment, "protocol": args.protocol, "users": args.users},
        )
    except CtxMetricsError as error:
        print(f"pearmut_export.py: {error}", file=sys.stderr)
        return 1
    Path(args.output).write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
