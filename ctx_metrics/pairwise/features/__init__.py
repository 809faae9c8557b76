"""Other metrics' scores of single outputs, as features of a pairwise metric (Guzman et al. 2015, section 3)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric, Signature

from ...corpus import Segments, named
from ...engine_options import EngineOptions
from ...errors import CtxMetricsError, InputError
from ...notices import Notice, collected, notice
from ...run.run import Run
from ...run.texts import Texts
from ...scoring.context import Context, build, capabilities
from ...scoring.scores import of_parts, reads_segments_apart, scores, select_references
from ...wording import by_flags
from .specs import BLEUComponents, Feature, metric_class
from .specs import parse_features as parse_features

# Keys of a signature that are not settings of the metric.
NO_SETTINGS = frozenset([*Signature({"num_refs": 1}).info, "ctx", "torch", "tokenizers", "nltk", "dtype"])


def feature_scores(
    features: Sequence[Feature],
    systems: Sequence[Sequence[str | None]],
    references: Sequence[Sequence[str | None]],
    sources: Sequence[str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    engine: EngineOptions = EngineOptions(),
) -> np.ndarray:
    """Return the features of each system's output for each segment: float64 [systems, segments, columns].

    A feature is a metric's score of a single segment, on the metric's scale; its sign is kept even if lower is better. NaN
    if the output or all of its references are None, or if the metric gives no score. Each distinct output (with its
    references and source) is scored once, in one pass per metric; a metric with information weights (NIST) takes them from
    `references` as given.

    >>> outputs = [["It rains.", "We left."], ["It pours.", None]]
    >>> feature_scores(parse_features(["chrf"]), outputs, [["It rains.", "We go."]]).round(1).tolist()
    [[[100.0], [15.7]], [[15.2], [nan]]]
    """
    streams = {
        **{f"system {number}": stream for number, stream in enumerate(systems, 1)},
        **{f"reference stream {number}": stream for number, stream in enumerate(references, 1)},
        **({} if sources is None else {"sources": sources}),
    }
    lengths = {name: len(stream) for name, stream in streams.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"features: the texts differ in number: {', '.join(f'{n} {k}' for n, k in lengths.items())}")
    segments = next(iter(lengths.values()), 0)
    columns = [len(feature.columns) for feature in features]
    values_of = np.full((len(systems), segments, sum(columns)), np.nan)

    rows: dict[tuple, int] = {}  # {(output, its references, its source): row}
    places = []
    for segment in range(segments):
        beside = tuple(stream[segment] for stream in references), None if sources is None else sources[segment]
        if all(text is None for text in beside[0]):
            continue
        for system, hypotheses in enumerate(systems):
            if hypotheses[segment] is not None:
                places.append((system, segment, rows.setdefault((hypotheses[segment], *beside), len(rows))))
    if not rows or not features:
        return values_of

    hypotheses = named([hypothesis for hypothesis, _, _ in rows], "the outputs")
    texts = Texts(
        names=["outputs"],
        systems=[hypotheses],
        references=[named(stream, "the references") for stream in zip(*(of_row for _, of_row, _ in rows), strict=True)],
        sources=None if sources is None else named([source for _, _, source in rows], "the sources"),
        source_lang=source_lang,
        target_lang=target_lang,
    )
    inputs = {"info_references": [list(stream) for stream in references]}
    context = Run(texts, [], {}, engine, keywords=inputs, text_checks=False).context
    with _as_features():
        # construct all metrics before the first one scores, so that shared work is done once
        metrics = [_made(feature, context) for feature in features]
        values = np.concatenate([_values(*each, hypotheses) for each in zip(features, metrics, strict=True)], axis=1)
    system, segment, row = np.array(places).T
    values_of[system, segment] = values[row]
    return values_of


class FeatureSettings(NamedTuple):
    """The settings that a feature's values depend on.

    signature      its spec, and its metric's settings without versions and number format
    reads_source   whether the values depend on the source
    """

    signature: str
    reads_source: bool


def feature_settings(
    features: Sequence[Feature],
    source_lang: str | None = None,
    target_lang: str | None = None,
    engine: EngineOptions = EngineOptions(),
) -> list[FeatureSettings]:
    """The settings of each feature. A trained model stores their signatures, to tell whether features have changed since.

    >>> feature_settings(parse_features(["chrf:beta=3"]))[0].signature
    'chrf:beta=3|case:mixed|eff:yes|nc:6|nw:0|space:no'
    """
    texts = Texts(source_lang=source_lang, target_lang=target_lang)
    context = Run(texts, [], {}, engine, text_checks=False).context
    settings_of = []
    with _as_features():
        for feature in features:
            metric = _made(feature, context)
            metric.num_refs = 1  # a signature needs it
            signature = of_parts(metric).get_signature()
            signature.info.update(dict.fromkeys(NO_SETTINGS))  # it does not show entries that are None
            settings = "|".join(filter(None, (feature.spec, signature.format())))
            settings_of.append(FeatureSettings(settings, "sources" in capabilities(metric).reads))
    return settings_of


def _made(feature: Feature, context: Context) -> Metric:
    cls = metric_class(feature.name)
    # sacrebleu's own metrics cache the n-grams of each row's references: rows with the same references can share them
    order = None
    if context.references is not None and reads_segments_apart(cls):
        of_rows = list(zip(*context.references, strict=True))
        distinct = {texts: number for number, texts in enumerate(dict.fromkeys(of_rows))}
        order = [distinct[texts] for texts in of_rows]
        context = replace(context, references=[list(stream) for stream in zip(*distinct, strict=True)])
    with _in_own_words(feature, "be made"):
        metric = build(cls, context, dict(feature.options))
    if order is not None:
        select_references(metric, order)
    return metric


def _values(feature: Feature, metric: Metric, hypotheses: Segments) -> np.ndarray:
    """Return a metric's values for each output: float64 [outputs, columns]."""
    if isinstance(metric, BLEUComponents):
        return metric.components(hypotheses)
    with _in_own_words(
        feature, "score" if feature.options else ""
    ):  # sacrebleu's chrF accepts char_order=0 and only fails here
        return np.array(scores(metric, hypotheses).segments, np.float64)[:, None]


@contextmanager
def _in_own_words(feature: Feature, failing: str) -> Iterator[None]:
    """Context in which messages name settings of the feature in place of flags.

    Other packages' metrics may raise any exception; the error then says what the metric was `failing` to do.
    """
    try:
        with by_flags(feature.name):
            yield
    except InputError as error:  # sacrebleu's metrics do not name themselves
        if not error.about and not error.what.startswith(feature.name):
            error.about = f"feature {feature.spec}"
        raise
    except CtxMetricsError:
        raise
    except Exception as error:
        if not failing:
            raise
        raise InputError(
            f"feature {feature.spec}: the metric cannot {failing} with these options: {type(error).__name__}: {error}"
        ) from error


@contextmanager
def _as_features() -> Iterator[None]:
    """Give the notices of the block at its end, as notices about features; one that several metrics give becomes one.

    Positions are left out, since they count the distinct outputs and would mislead, and so are notices about empty texts.
    """
    metrics: dict[Notice, list[str]] = {}
    try:
        with collected() as notices:
            yield
    finally:
        for each in notices:
            if each.kind not in ("empty", "blank"):
                same = replace(each, metric="", first=())
                metrics.setdefault(same, []).extend([each.metric] if each.metric else [])
        for each, names in metrics.items():
            notice(replace(each.of(", ".join(dict.fromkeys(names))), metric="features"))
