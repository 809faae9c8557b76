"""`evaluate`: one run over lists of texts, as `ctx-metrics score` runs over files."""

import os
from collections.abc import Collection, Mapping
from reprlib import repr as short
from typing import TYPE_CHECKING, Any

from ..cli.common.work import Kept, Work, in_blocks
from ..corpus import list_of_strings
from ..engine_options import EngineOptions
from ..errors import InputError
from ..language import LANGUAGES, check_language
from ..registry import metric_table, model_named
from ..run.references import ReferenceKind
from ..run.run import Run
from ..run.wrappers import asked_by_keywords, text_reader_of
from ..scoring.context import MetricSettings, capabilities
from ..settings import closest
from ..types_of_values import check_type
from .one_run import one_run
from .result import Evaluation
from .texts import Hypotheses, References, input_values, texts_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .keywords import WrapperKeywords

Metrics = str | Collection[str] | Mapping[str, Mapping[str, Any]]


def evaluate(
    hypotheses: Hypotheses | Mapping[str, Hypotheses],
    references: References | None = None,
    *,
    kind_of_references: ReferenceKind | None = None,
    sources: Hypotheses | None = None,
    docs: Collection[Any] | None = None,
    metrics: Metrics | None = None,
    model: str | os.PathLike[str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    inputs: Mapping[str, Any] = {},
    cache: str | os.PathLike[str] | None = None,
    engine: EngineOptions = EngineOptions(),
    explain: bool = False,
    text_checks: bool = True,
    **settings: "Unpack[WrapperKeywords]",
) -> Evaluation:
    """Score one system or several by any metrics, with the figures that the commands print.

    All texts are lists, NumPy arrays or pandas columns, with one text for each segment.

    hypotheses     a system's outputs, or those of several by name: {"A": [...], "B": [...]}
    references     one reference for each segment; several as a list of lists, each with one for every segment. None marks a
                   missing one
    kind_of_references    how they were made, for the signatures: human, post-edited or synthetic
    docs           the document id of each segment; equal ids in a row are a document
    metrics        names, as after -m; {"slide": {"window": 3}} gives settings, and {"comet:a": {...}, "comet:b": {...}} is
                   one metric twice. By default bleu, chrf and comet, or comet alone without references
    model          the model of comet, slide and doccomet, unless their own settings name one
    inputs         further inputs of some metrics, such as roundtrips and pseudo_references
    cache          a folder that keeps results, so that the next run scores only new texts
    explain        keep the token matches for a report, which takes memory
    text_checks    check the texts for HTML entities, shifted lines, copies of the source, other languages and repetitions
    settings       flags of `ctx-metrics score` that change how every metric scores: those of WrapperKeywords,
                   such as align and peers, and those that other packages add

    >>> result = evaluate(["It rains today.", "We went home."], ["It rains today.", "We left."], metrics=["chrf", "ter"])
    >>> round(result.system["ter"], 1), [round(score, 1) for score in result.segments["ter"]]
    (40.0, [0.0, 100.0])
    """
    _check_types(locals())
    wrappers = asked_by_keywords("evaluate", settings)
    kept = Kept(None if cache is None else os.fspath(cache))
    with one_run() as notices, in_blocks(Work(), kept) as blocks:
        aligned = text_reader_of(wrappers) is not None
        texts = texts_of(hypotheses, references, sources, docs, (source_lang, target_lang), aligned, text_checks)
        chosen = _chosen(metrics, model, references is not None)
        keywords = {**input_values(texts.names, chosen, inputs), "explain": explain}
        for name, language in zip(LANGUAGES, (source_lang, target_lang), strict=True):
            if language is not None:
                check_language(name, language)
        run = Run(texts, chosen, wrappers, engine, kind_of_references, keywords=keywords, text_checks=text_checks)
        scores = run.scores(blocks)
    return Evaluation(scores, notices)


# of the parameters that are not texts
_TYPES = {
    "model": str | os.PathLike | None,
    "source_lang": str | None,
    "target_lang": str | None,
    "inputs": Mapping,
    "kind_of_references": ReferenceKind | None,
    "cache": str | os.PathLike | None,
    "engine": EngineOptions,
    **dict.fromkeys(("explain", "text_checks"), bool),
}


def _check_types(given: Mapping[str, Any]) -> None:
    for name, kind in _TYPES.items():
        check_type(name, given[name], kind)


def _chosen(
    metrics: Metrics | None, model: str | os.PathLike[str] | None, with_references: bool
) -> list[MetricSettings]:
    if metrics is None:
        metrics = ["bleu", "chrf", "comet"] if with_references else ["comet"]
    if isinstance(metrics, str):
        metrics = [metrics]
    named = metrics if isinstance(metrics, Mapping) else {name: {} for name in _names(metrics)}
    given: Mapping[str, Mapping[str, Any]] = named
    for name, own in given.items():
        if not isinstance(name, str) or not isinstance(own, Mapping) or not all(isinstance(key, str) for key in own):
            example = "{'slide': {'window': 3}}"
            raise InputError(f"metrics: {short(name)}: {short(own)} are not a name and its settings, as in {example}")
    if not given:
        raise InputError("metrics: no metric given")
    chosen = [MetricSettings(name, _class(name), own) for name, own in given.items()]
    if model is None:
        return chosen
    if not any(capabilities(each.cls).estimator for each in chosen):
        raise InputError(f"model is given, but none of the metrics has a quality model ({', '.join(given)})")
    return [
        each._replace(own={"model": os.fspath(model), **each.own}) if capabilities(each.cls).estimator else each
        for each in chosen
    ]


def _names(metrics: Collection[str]) -> list[str]:
    names = list_of_strings("metrics", metrics)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"metrics: {short(name)} is not the name of a metric")
    return names


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
