"""A pairwise network's inputs from judged sets: features and sentence vectors, kept on disk for other training runs."""

import functools
import io
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...engine.device import number_format
from ...engine_options import EngineOptions
from ...errors import InputError
from ...judgements.judged import JudgedSet
from ...models import hub
from ...notices import counted, notice
from ...training.state import digest
from ...training.token_states import OTHER_CACHE, read_cached, write_cached
from ...writing import os_errors
from ..features import feature_scores, feature_settings
from ..features.specs import Feature
from ..sentence_vectors import SentenceVectors, VectorSource
from .data import preferences_of

# Versions that cached numbers may depend on besides the settings.
VERSIONS = {name: version(name) for name in ("ctx-metrics", "sacrebleu", "nltk", "torch", "tokenizers")}


class Readings(NamedTuple):
    """The unscaled network inputs of some judged sets.

    vectors    fp32 [texts, width] for each source; features    fp64 [outputs, features]
    pairs      int64 [pairs, 5]: rows of better text, worse text, reference text, better output, worse output
    """

    vectors: list[np.ndarray]
    features: np.ndarray
    pairs: np.ndarray


class Reader:
    """Computes the features and sentence vectors of judged sets; `cache` is the folder that keeps them, if any."""

    def __init__(
        self,
        features: Sequence[Feature],
        sources: Sequence[VectorSource],
        encoder: str = hub.EMBEDDED,
        engine: EngineOptions = EngineOptions(),
        cache: Path | None = None,
    ):
        self.features, self._engine = list(features), engine
        self._dtype = number_format(engine.dtype, engine.device)
        self._vectors = SentenceVectors(list(sources), encoder, engine) if sources else None
        self._cache = FeatureCache(cache)
        self._known: dict[tuple[str, str], np.ndarray] = {}

    def read(self, sets: Sequence[JudgedSet]) -> Readings:
        """Features and vectors of the sets' outputs; pairs with an output that a feature does not score are left out."""
        texts: dict[str, int] = {}
        pairs, columns, outputs = [], [], 0
        for judged in sets:
            scored = self._of_set(judged)
            complete = ~np.isnan(scored).any(axis=2)
            preferences = preferences_of(judged)
            segment, better, worse = preferences.T
            kept = preferences[complete[better, segment] & complete[worse, segment]]
            if left := len(preferences) - len(kept):
                notice(
                    f"{judged.name}: left out {counted(left, 'pair', 'pairs')} with an output that a feature did not score"
                )
            number = outputs + np.arange(scored.shape[0] * scored.shape[1]).reshape(scored.shape[:2])
            for segment, better, worse in kept.tolist():
                reference = next(stream[segment] for stream in judged.references if stream[segment] is not None)
                row = [judged.texts[better][segment] or "", judged.texts[worse][segment] or "", reference]
                rows = [texts.setdefault(text, len(texts)) for text in row]
                pairs.append([*rows, number[better, segment], number[worse, segment]])
            columns.append(scored.reshape(number.size, scored.shape[2]))
            outputs += scored.shape[0] * scored.shape[1]
        if not pairs:
            raise InputError(f"{', '.join(judged.name for judged in sets)}: no pairs are left that all features score")
        return Readings(self._of_texts(list(texts)), np.concatenate(columns), np.array(pairs, dtype=np.int64))

    def _of_set(self, judged: JudgedSet) -> np.ndarray:
        """Return all features of a set's outputs: fp64 [systems, segments, features], NaN where missing."""
        columns = [self._column(judged, feature) for feature in self.features]
        return np.concatenate(columns, axis=2) if columns else np.zeros((len(judged.systems), judged.segments, 0))

    def _column(self, judged: JudgedSet, feature: Feature) -> np.ndarray:
        """Return the columns of one feature; for a set that was split in two they are computed only once."""
        languages = judged.source_lang, judged.target_lang
        [settings] = feature_settings([feature], *languages, self._engine)
        streams = [*judged.texts, None, *judged.references, None, judged.sources]
        key = f"{settings.signature} {self._dtype} {VERSIONS}", texts_key(streams)
        texts = judged.texts, judged.references, judged.sources
        if key not in self._known:
            compute = functools.partial(feature_scores, [feature], *texts, *languages, self._engine)
            self._known[key] = self._cache.columns(*key, compute)
        return self._known[key]

    def _of_texts(self, texts: list[str]) -> list[np.ndarray]:
        """Return the texts' sentence vectors from each source: fp32 [texts, width]."""
        if (vectors := self._vectors) is None:
            return []
        computed = functools.cache(lambda: vectors(texts, "sentence vectors"))  # for all sources, if one is not cached
        key, settings = texts_key([texts]), {**vectors.signature(), "dtype": self._dtype, **VERSIONS}
        signatures = [f"{source._replace(dimensions=None).spec} {settings}" for source in vectors.sources]
        return [
            self._cache.columns(signature, key, lambda number=number: computed()[number])  # type: ignore[misc]
            for number, signature in enumerate(signatures)
        ]


class FeatureCache:
    """Caches each array in a .npy file that is named by a digest of its inputs and ends with a checksum."""

    def __init__(self, folder: Path | None):
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            with self._os_errors():
                self.folder.mkdir(parents=True, exist_ok=True)

    def columns(self, signature: str, texts_key: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the result of `compute`, from the cache if it is there; otherwise compute and store it.

        signature    everything that the numbers depend on besides the texts: settings, versions, number format
        compute      returns an array of numbers, not of objects
        """
        if self.folder is None:
            return compute()
        path = self.folder / f"{digest([signature, texts_key, 'checksum'])}.npy"
        if path.exists():
            with self._os_errors():
                content = read_cached(path)
            with suppress(ValueError):  # not a file of this cache, or an empty one
                if content is not None:
                    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
            notice(f"{path}: the file is damaged; its content is computed again")
        values, written = compute(), io.BytesIO()
        np.save(written, values, allow_pickle=False)
        write_cached(path, written.getvalue())
        return values

    def _os_errors(self) -> AbstractContextManager[None]:
        return os_errors(f"cannot use {self.folder} as feature cache", OTHER_CACHE)


def texts_key(streams: Sequence[Sequence[str | None] | None]) -> str:
    """Return 64 hex digits that are equal only for equal streams of texts; None is a missing stream or a missing text.

    >>> texts_key([["a", "b"]]) == texts_key([["a"], ["b"]]), texts_key([[None]]) == texts_key([["None"]])
    (False, False)
    """
    return digest(digest(stream) if stream is not None else None for stream in streams)
