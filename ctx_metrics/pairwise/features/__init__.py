"""Other metrics' scores of single outputs, as features of a pairwise metric (Guzman et al. 2015, section 3)."""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric, Signature

from ...engine.options import EngineOptions
from ...errors import CtxMetricsError, InputError
from ...notices import logger, notice
from ...run.context import Context, build, capabilities
from ...run.streams import Segments
from ...scoring.scores import of_parts, scores
from ...wording import by_flags
from .bleu_components import BLEUComponents
from .specs import Feature, metric_class
from .specs import parse_features as parse_features

# Of a signature: what does not belong to a metric's settings.
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
    """The features of each system's output for each segment, as the metrics give them: float64 [systems, segments, columns].

    A score is that of a single segment, on its metric's scale; nothing changes its sign where less is better. NaN where
    the output or every one of its references is None, or the metric has no score. All distinct outputs (with their
    references and source) are scored once, in one pass of each metric, with the information weights of a metric that
    has such (NIST) from `references` as they stand. Notices of the metrics then count distinct outputs; the same notice
    of several metrics is printed once, and notices about empty texts are not printed.

    systems       each system's N outputs
    references    streams of N references
    sources       N sources, for metrics that read them

    Raises InputError for streams of different lengths, and what a metric raises that cannot score these texts.

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

    rows: dict[tuple, int] = {}  # of (output, its references, its source)
    places = []
    for segment in range(segments):
        beside = tuple(stream[segment] for stream in references), None if sources is None else sources[segment]
        if all(text is None for text in beside[0]):
            continue
        for system, outputs in enumerate(systems):
            if outputs[segment] is not None:
                places.append((system, segment, rows.setdefault((outputs[segment], *beside), len(rows))))
    if not rows or not features:
        return values_of

    outputs = Segments(output for output, _, _ in rows)
    context = Context(
        references=[list(stream) for stream in zip(*(of_row for _, of_row, _ in rows), strict=True)],
        inputs={"info_references": [list(stream) for stream in references]},
        sources=None if sources is None else [source for _, _, source in rows],
        systems=[outputs],
        source_lang=source_lang,
        target_lang=target_lang,
        engine=engine,
    )
    with _as_features():
        # all are made before the first one scores, so that what they share is computed once
        metrics = [_made(feature, context) for feature in features]
        values = np.concatenate([_values(*each, outputs) for each in zip(features, metrics, strict=True)], axis=1)
    system, segment, row = np.array(places).T
    values_of[system, segment] = values[row]
    return values_of


class FeatureSettings(NamedTuple):
    """What a feature's values depend on.

    signature      its spec, and its metric's settings without versions and number format
    reads_source   whether they depend on the source
    """

    signature: str
    reads_source: bool


def feature_settings(
    features: Sequence[Feature],
    source_lang: str | None = None,
    target_lang: str | None = None,
    engine: EngineOptions = EngineOptions(),
) -> list[FeatureSettings]:
    """What each feature's values depend on; raises what a metric raises that cannot be made.

    A trained model keeps the signatures, and can tell by them whether it would be given other numbers than in training.

    >>> feature_settings(parse_features(["chrf:beta=3"]))[0].signature
    'chrf:beta=3|case:mixed|eff:yes|nc:6|nw:0|space:no'
    """
    context = Context(source_lang=source_lang, target_lang=target_lang, engine=engine)
    settings_of = []
    with _as_features():
        for feature in features:
            metric = _made(feature, context)
            metric.num_refs = 1  # without which there is no signature
            settings = str(of_parts(metric).get_signature().format()).split("|")
            kept = [setting for setting in settings if setting.partition(":")[0] not in NO_SETTINGS]
            settings_of.append(
                FeatureSettings("|".join([feature.spec, *kept]), "sources" in capabilities(metric).reads)
            )
    return settings_of


def _made(feature: Feature, context: Context) -> Metric:
    """A feature's metric with its options and with what it reads of the context."""
    cls = metric_class(feature.name)
    # sacrebleu's own metrics keep the n-grams of each row's references: of rows with the same ones they can be shared
    order = None
    if context.references is not None and cls._cache_references is Metric._cache_references:
        of_rows = list(zip(*context.references, strict=True))
        distinct = {texts: number for number, texts in enumerate(dict.fromkeys(of_rows))}
        order = [distinct[texts] for texts in of_rows]
        context = replace(context, references=[list(stream) for stream in zip(*distinct, strict=True)])
    with _in_own_words(feature, "be made"):
        metric = build(cls, context, dict(feature.options))
    if order is not None and metric._ref_cache is not None:
        metric._ref_cache = [metric._ref_cache[number] for number in order]
    return metric


def _values(feature: Feature, metric: Metric, outputs: Segments) -> np.ndarray:
    """A metric's numbers of each output, float64 [outputs, columns]."""
    if isinstance(metric, BLEUComponents):
        return metric.components(outputs)
    with _in_own_words(
        feature, "score" if feature.options else ""
    ):  # sacrebleu's chrF takes char_order=0, and fails here
        return np.array(scores(metric, outputs).segments, np.float64)[:, None]


@contextmanager
def _in_own_words(feature: Feature, failing: str) -> Iterator[None]:
    """Within it, a metric's errors have its own flags as settings of the feature, and say what it was `failing` to do where
    another package's code, which checks its options as it likes, raises what it likes."""
    try:
        with by_flags():
            yield
    except CtxMetricsError as error:
        flags = rf"--{feature.name}-([a-z-]+)"
        raise type(error)(re.sub(flags, rf"--features {feature.name}:\1=...", str(error))) from error
    except Exception as error:
        if not failing:
            raise
        raise InputError(
            f"feature {feature.spec}: the metric cannot {failing} with these options: {type(error).__name__}: {error}"
        ) from error


class _OfFeatures(logging.Filter):
    """Holds metrics' notices back and gathers which metrics say the same.

    Places are taken out of them: they are among the distinct outputs, and would mislead. Those of empty texts are left out.
    """

    def __init__(self):
        super().__init__()
        self._said: dict[str, list[str]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        message = re.sub(r" \(segment [\d, .]+\)", "", record.getMessage())
        if not re.search(r"\bempty (hypothes|reference)", message):
            name, colon, text = message.partition(": ")
            names = self._said.setdefault(text if colon else name, [])
            names += [name] * (bool(colon) and name not in names)
        return False

    def lines(self) -> list[str]:
        return [
            ": ".join(["features", *([", ".join(names)] if names else []), text]) for text, names in self._said.items()
        ]


@contextmanager
def _as_features() -> Iterator[None]:
    """Holds notices back, and prints them at the end as notices of features."""
    own = _OfFeatures()
    logger.filters.insert(0, own)  # before the one that lets each distinct message through once
    try:
        yield
    finally:
        logger.removeFilter(own)
        for line in own.lines():
            notice(line)
