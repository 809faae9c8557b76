"""`evaluate`: one run over lists of texts, as `ctx-metrics score` runs over files."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ..engine_options import EngineOptions
from ..errors import InputError
from ..registry import metric_table, model_named
from ..run.context import MetricSettings, build_all, capabilities, say_unread
from ..scoring.scores import all_scores
from ..settings import closest
from .one_run import one_run
from .result import Evaluation
from .texts import References, Texts, context_of, with_given_inputs

Metrics = str | Collection[str] | Mapping[str, Mapping[str, Any]]


def evaluate(
    hypotheses: Texts | Mapping[str, Texts],
    references: References | None = None,
    *,
    sources: Texts | None = None,
    docs: Collection[Any] | None = None,
    metrics: Metrics | None = None,
    model: str | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    inputs: Mapping[str, Any] = {},
    engine: EngineOptions = EngineOptions(),
    explain: bool = False,
    text_checks: bool = True,
) -> Evaluation:
    """Score one system or several by any metrics, with the figures that the commands print.

    All texts are lists, arrays of NumPy or columns of pandas, with one text for each segment.

    hypotheses     a system's outputs, or those of several by name: {"A": [...], "B": [...]}
    references     one reference for each segment; several as a list of lists, each with one for every segment. None marks a
                   missing one
    docs           the document id of each segment; equal ids in a row are a document
    metrics        names, as after -m; {"slide": {"window": 3}} gives settings, and {"comet:a": {...}, "comet:b": {...}} is
                   one metric twice. By default bleu, chrf and comet, or comet alone without references
    model          the model of comet, slide and doccomet, unless their own settings name one
    inputs         what some metrics read besides, such as roundtrips and pseudo_references
    explain        keep what a report shows of token matches, which takes memory
    text_checks    check the texts for HTML entities, shifted lines, copies of the source, other languages and repetitions

    >>> result = evaluate(["It rains today.", "We went home."], ["It rains today.", "We left."], metrics=["chrf", "ter"])
    >>> round(result.system["ter"], 1), [round(score, 1) for score in result.segments["ter"]]
    (40.0, [0.0, 100.0])
    """
    with one_run() as notices:
        languages = source_lang, target_lang
        names, context = context_of(hypotheses, references, sources, docs, languages, engine, text_checks)
        chosen = _chosen(metrics, model, references is not None)
        context = with_given_inputs(context, names, chosen, inputs)
        context = replace(context, inputs={**context.inputs, "explain": explain})
        built = build_all(chosen, context, reference="give references")
        say_unread({} if sources is None else {"sources": "the sources"}, built)
        scores = all_scores(built.values(), context.systems, context.doc_ids)
    return Evaluation(names, context, built, scores, notices)


def _chosen(metrics: Metrics | None, model: str | None, with_references: bool) -> list[MetricSettings]:
    if metrics is None:
        metrics = ["bleu", "chrf", "comet"] if with_references else ["comet"]
    if isinstance(metrics, str):
        metrics = [metrics]
    given: Mapping[str, Mapping[str, Any]] = metrics if isinstance(metrics, Mapping) else {name: {} for name in metrics}
    if not given:
        raise InputError("metrics: none is named")
    chosen = [MetricSettings(name, _class(name), own) for name, own in given.items()]
    if model is None:
        return chosen
    if not any(capabilities(each.cls).estimator for each in chosen):
        raise InputError(f"model is given, but none of the metrics has a quality model ({', '.join(given)})")
    return [
        each._replace(own={"model": model, **each.own}) if capabilities(each.cls).estimator else each for each in chosen
    ]


def _class(metric: str) -> Any:
    table, name = metric_table(), metric.partition(":")[0]
    if model := model_named(name, table):
        given = {model.metric: {"model": model.name}}
        raise InputError(f"metrics: {name} is a model, not a metric: give metrics={given}")
    if name.upper() not in table:
        names = [each.lower() for each in table]
        known = f"; there are {', '.join(names)}"
        raise InputError(f"metrics: there is no {name!r}{closest(name, names) or known}")
    return table[name.upper()]
