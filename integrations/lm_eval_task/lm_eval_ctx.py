"""Metrics for lm-evaluation-harness: `ctx_bertr`, `ctx_comet`, ... in a task's YAML.

Any `!function lm_eval_ctx.NAME` in the YAML imports this file, which registers the metrics. Two ways:

- `process_results: !function lm_eval_ctx.comet_slide` hands over the fields `source`, `reference` and `document` of the
  dataset, those that there are, for ctx_comet and ctx_slide; name the metrics that the task lists, with _ between them.
  A task whose fields have other names renames them with `process_docs`.
- Without it, the harness itself hands over the target and the output, and nothing reads sources or documents.

The environment sets languages, device and settings for all tasks: CTX_LANGUAGES=de-en, CTX_DEVICE=cpu,
CTX_SETTINGS='{"comet": {"model": "Unbabel/wmt22-comet-da"}}'.
"""

import json
import os
from collections.abc import Callable, Sequence
from functools import partial

import lm_eval.api.metrics  # noqa: F401  # the harness loads its own metrics only while none is registered
from lm_eval.api.registry import AGGREGATION_REGISTRY, register_aggregation, register_metric

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.language import named_languages
from ctx_metrics.registry import metric_table
from ctx_metrics.scoring.context import Context, build, capabilities

METRICS = "BERTR BERTSCORE BILSTM BILSTMATT ESIM COMET DOCCOMET SLIDE NIST METEOR".split()


def texts(doc: dict, results: Sequence[str], keys: Sequence[str]) -> dict[str, tuple]:
    """What the metrics read of one example, under each metric's key."""
    item = tuple(doc.get(field) for field in ("source", "reference", "document"))
    return dict.fromkeys(keys, (*item, results[0]))


def __getattr__(name: str) -> Callable[[dict, Sequence[str]], dict[str, tuple]]:
    """`comet_slide` and the like, for `process_results`."""
    names = name.upper().split("_")
    if not {*names} <= {*METRICS}:
        raise AttributeError(name)
    return partial(texts, keys=[f"ctx_{each.lower()}" for each in names])


def corpus_score(items: Sequence[Sequence[str | None]], name: str) -> float:
    """The corpus score of items (reference, output), or (source, reference, document, output) as `texts` makes them."""
    rows = [item if len(item) == 4 else (None, item[0], None, item[1]) for item in items]
    sources, references, documents, outputs = (list(column) for column in zip(*rows, strict=True))
    source_lang, target_lang = named_languages(os.environ.get("CTX_LANGUAGES", ""))
    context = Context(
        references=[] if None in references else [references],
        sources=None if None in sources else sources,
        doc_ids=None if None in documents else documents,
        source_lang=source_lang,
        target_lang=target_lang,
        engine=EngineOptions(device=os.environ.get("CTX_DEVICE", "auto")),
    )
    settings = json.loads(os.environ.get("CTX_SETTINGS", "{}")).get(name.lower(), {})
    metric = build(metric_table()[name], context, settings)
    if not capabilities(metric).higher_is_better:
        raise ValueError(f"lower scores of {name.lower()} with this model are better, which no column of lm-eval says")
    return float(metric.corpus_score(outputs, None).score)


def _as_it_is(items: Sequence[str]) -> Sequence[str]:
    return items


for _name in METRICS:
    _key = f"ctx_{_name.lower()}"
    if _key not in AGGREGATION_REGISTRY:  # a copy of this file in another task's folder may have been first
        register_aggregation(_key)(partial(corpus_score, name=_name))
        register_metric(metric=_key, higher_is_better=True, output_type="generate_until", aggregation=_key)(_as_it_is)
