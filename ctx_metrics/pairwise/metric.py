"""Pairwise evaluation: how often is a system's output the better one of two (Guzman, Joty, Marquez and Nakov 2015)?"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ..corpus import Corpus, digest
from ..engine_options import EngineOptions
from ..errors import InputError, ModelError
from ..language import guard_english, primary
from ..metrics.keywords import References, Systems
from ..notices import Notice, counted, tallied
from ..paths import Reads
from ..scoring.base import ContextMetric, SystemResult, model_setting
from ..scoring.constructor import streams
from ..scoring.context import Capabilities
from ..scoring.results import without_reference
from ..settings import setting
from ..wording import name_the_language, worded
from .features import FeatureSettings, feature_scores, feature_settings
from .features.specs import Feature, parse_features

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .model import Outputs


@dataclass(frozen=True)
class PairwiseSettings:
    """Settings of Pairwise; in Python `against` has streams of outputs in place of files."""

    model: str | None = model_setting(
        "embedded, a folder that `ctx-metrics train pairwise` wrote, or a hub name[@revision]"
    )
    against: Sequence[Sequence[str]] | None = setting(
        "Outputs that every system is compared with, instead of the other systems; needed if there is only one system.",
        nargs="+",
        type=Reads(str),
        metavar="FILE",
    )
    baseline: bool = setting("Compare every system only with the first one, instead of with all others.", False)

    def __post_init__(self):
        if self.baseline and self.against is not None and len(self.against):
            raise InputError(
                f"pairwise: the opponents are given twice, by {worded('--pairwise-against', 'against')} and "
                f"{worded('--pairwise-baseline', 'baseline')}",
                fix="leave one out",
            )


class PairwiseKeywords(TypedDict, total=False):
    """The metric's keywords, for type checkers."""

    model: str | None
    against: Systems | None
    baseline: bool
    sources: Collection[str] | None
    target_lang: str | None
    engine: EngineOptions


class Pairwise(ContextMetric):
    """100 times the mean probability, over segments and opponents, that a system's output is the better one, given the
    reference: 0 to 100, and 50 against an equal system. It compares a system with its opponents and does not measure
    how good it is. The opponents are the other systems, unless the settings name others.

    P(i is better than j) is the mean over both orders in which the network can read the two outputs, so P(j is better
    than i) is exactly one minus it. With several references, it is the mean over the segment's references; the features
    see all of them. A segment without a reference is not scored. Raises InputError if a system has no opponent.
    """

    NAME = "Pairwise"
    Settings = PairwiseSettings
    capabilities = Capabilities(
        reads=frozenset({"sources", "target_lang", "engine"}),
        compares_systems=True,
        whole_corpus="its opponents are the other systems",
        line_files=("against",),
    )

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[PairwiseKeywords]): ...

    def _prepare(self) -> None:
        from ..engine.device import number_format
        from .model import PairwiseModel

        engine = self._context.engine
        against = self.settings.against
        self._against: list[Sequence[str]] = [*(() if against is None else streams("pairwise: against", against))]
        self.model = PairwiseModel(self.settings.model, engine)
        guarded = self.model.english_only and self._context.target_lang
        if guarded and not self.asked:
            self._guard(())
        self.features = self._known_features()
        settings = self._checked_settings()
        if not any(each.reads_source for each in settings):
            self.can = replace(self.can, reads=self.can.reads - {"sources"})
        if guarded and self.asked:  # after the checks that can fail, since this only prints a notice
            self._guard(())
        self.signature = {
            **self.model.signature(),
            "against": "file" if self._against else "baseline" if self.settings.baseline else "others",
            "pool": "",
            "dtype": number_format(engine.dtype, engine.device),
        }
        self.announce(self._context.systems)

    def announce(self, systems: Sequence[Sequence[str]]) -> None:
        """Set the systems to compare; each is an opponent of the others."""
        super().announce(systems)
        self._pool: list[Sequence[str]] = [list(system) for system in systems]
        self.signature["pool"] = self._pool_digest()

    def win_probabilities(self) -> np.ndarray:
        """Return P(system i's output is better than system j's) for each segment: fp64 [systems, systems, segments].

        Systems are in the order of `systems`, references those of the constructor. The diagonal is .5, [j, i] is exactly
        1 - [i, j], and segments without a reference are NaN. Raises InputError as scoring does.
        """
        corpora = self.corpora_of(self._pool, self.to_score_against(self._ref_cache))
        segments, number = len(corpora[0]), len(corpora)
        judge = _Judge(self, corpora)
        rows = [[0.0, float(scored)] for scored in ~judge.unscored]
        results = [SystemResult(rows, *judge.told(i)) for i in range(number)]
        self._announced(results, [getattr(system, "name", "") for system in self._context.systems])
        wins = np.full((number, number, segments), 0.5)
        wins[:, :, judge.unscored] = np.nan
        for i in range(number):
            for j in range(i + 1, number):
                wins[i, j] = judge.chance(i, j)
                wins[j, i] = 1 - wins[i, j]
        return wins

    def _known_features(self) -> list[Feature]:
        try:
            return parse_features(self.model.feature_specs)
        except InputError as error:
            raise ModelError(f"pairwise: the model {self.model.model.name} cannot be used here: {error}") from error

    def _checked_settings(self) -> list[FeatureSettings]:
        """Return the features' settings, after comparing them with those of the training."""
        try:
            settings = feature_settings(self.features, None, self._context.target_lang, self._context.engine)
        except InputError as error:
            fix = self._other_language()
            why = f"{error.fault}; {fix}train the model again" if fix else error
            raise ModelError(f"pairwise: the model {self.model.model.name} cannot be used here: {why}") from error
        for feature, now, was in zip(self.features, settings, self.model.feature_signatures, strict=True):
            if now.signature != was:
                raise ModelError(
                    f"pairwise: the model {self.model.model.name} was trained on {feature.spec} as {was}, but here it is "
                    f"{now.signature}; {self._other_language()}train the model again"
                )
        return settings

    def _other_language(self) -> str:
        """Return the first half of the fix if the language may be at fault; "" if it is one of the model's."""
        if not self._context.target_lang:
            return f"{name_the_language()}, or "
        code = primary(self._context.target_lang)
        if code in map(primary, languages := self.model.languages or [code]):
            return ""
        into = " or ".join(languages)
        return worded(f"name a language pair into {into} with -l, or ", f"name {into} as target_lang, or ")

    def _pool_digest(self) -> str:
        """Return 8 hex digits that identify the opponents' texts, in any order."""
        pool = self._against or (self._pool[:1] if self.settings.baseline else self._pool)
        return hashlib.sha256(" ".join(sorted(map(digest, pool))).encode()).hexdigest()[:8]

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        alone = len(self._pool) == 1 and [list(corpus.hypotheses) for corpus in corpora] == self._pool
        opponents = [self._opponents(corpus, alone) for corpus in corpora]
        others = {digest(texts): texts for of_system in opponents for texts in of_system}
        known = {digest(corpus.hypotheses): corpus for corpus in corpora}
        for key, texts in others.items():
            if key not in known:
                [known[key]] = self.corpora_of([texts], corpora[0].references)
        numbers = {key: number for number, key in enumerate(known)}
        judge = _Judge(self, list(known.values()))
        results = []
        for corpus, of_system in zip(corpora, opponents, strict=True):
            own = numbers[digest(corpus.hypotheses)]
            wins = np.mean([judge.chance(own, numbers[digest(texts)]) for texts in of_system], axis=0)
            rows = [[0.0, 0.0] if np.isnan(value) else [value, 1.0] for value in wins.tolist()]
            counts, notices = judge.told(own)
            results.append(SystemResult(rows, {"opponents": len(of_system), **counts}, notices))
        return results

    def _opponents(self, corpus: Corpus, alone: bool) -> list[Sequence[str]]:
        if self._against:
            opponents = self._against
        elif self.settings.baseline:
            opponents = [] if alone else self._pool[:1]
        else:
            opponents = list(self._pool)
            if corpus.hypotheses in opponents:
                opponents.remove(corpus.hypotheses)
        if not opponents:
            raise InputError(
                "pairwise compares systems, but there is only one; "
                + worded(
                    "name another after it with -i, or its opponent with --pairwise-against FILE",
                    "give several as systems, or its opponents as against",
                )
            )
        for texts in opponents:
            if len(texts) != len(corpus):
                name = getattr(texts, "name", "") or "an opponent"
                raise InputError(
                    f"pairwise: {name} has {counted(len(texts), 'segment', 'segments')}, but the systems have {len(corpus)}"
                )
        return opponents

    def _guard(self, texts: Sequence[str | None]) -> None:
        guard_english("pairwise", self.named("model"), self.asked, language=self._context.target_lang, texts=texts)


class _Judge:
    """Compares any two systems; reads each system's outputs once."""

    def __init__(self, metric: Pairwise, corpora: list[Corpus]):
        self._model, first = metric.model, corpora[0]
        if self._model.english_only and not first.target_lang:
            metric._guard([*(first.references or [()])[0], *first.hypotheses])
        features = feature_scores(
            metric.features,
            [corpus.hypotheses for corpus in corpora],
            references=first.references,
            sources=first.sources,
            target_lang=first.target_lang,
            engine=metric._context.engine,
        )
        of_segments = list(zip(*first.references, strict=True)) or [()] * len(first)
        self._unreferenced = np.array([all(text is None for text in texts) for texts in of_segments])
        self._blank = np.array([not any((text or "").strip() for text in texts) for texts in of_segments])
        self._blank &= ~self._unreferenced
        self.unscored = self._unreferenced | np.isnan(features).any(axis=(0, 2))
        self._streams = [[text or "" for text in stream] for stream in first.references]
        self._there = np.array([[text is not None for text in stream] for stream in first.references])
        texts = [text for corpus in corpora for text in corpus.hypotheses]
        width = features.shape[2]
        everything = self._model.outputs(
            [*texts, *(text for stream in self._streams for text in stream)],
            np.concatenate([features.reshape(len(texts), width), np.zeros((self._there.size, width))]),
            "pairwise",
        )
        parts = np.split(np.arange(len(everything.terms)), len(corpora) + len(self._streams))
        self._outputs: list[Outputs] = [everything.rows(part) for part in parts[: len(corpora)]]
        self._references = [everything.terms[part] for part in parts[len(corpora) :]]
        self._corpora = corpora
        vectors = self._model.sentence_vectors
        self._odd = {} if vectors is None else dict(vectors.counts)
        self._found: dict[tuple[int, int], np.ndarray] = {}

    def chance(self, i: int, j: int) -> np.ndarray:
        """Return P(i's output is better than j's) for each segment, the mean over its references: fp64 [segments]."""
        if j < i:
            return 1 - self.chance(j, i)
        if (i, j) not in self._found:
            if i == j:
                chances = np.full(len(self.unscored), 0.5)
            else:
                of_streams = [
                    self._model.probabilities(self._outputs[i], self._outputs[j], reference)
                    for reference in self._references
                ]
                references = self._there.sum(axis=0)
                chances = (np.array(of_streams) * self._there).sum(axis=0) / np.maximum(references, 1)
            self._found[i, j] = np.where(self.unscored, np.nan, chances)
        return self._found[i, j]

    def told(self, system: int) -> tuple[dict[str, int], list[Notice]]:
        """Return counts of a system's unusual segments for the score, and the notices about them."""
        empty = [i for i, text in enumerate(self._corpora[system].hypotheses) if not text.strip()]
        unscored = self.unscored & ~self._unreferenced
        counts, notices = tallied(
            [
                Notice.at(
                    empty,
                    "segment has an empty hypothesis, compared as any other",
                    "segments have empty hypotheses, compared as any other",
                    kind="empty",
                ),
                Notice.at(
                    np.flatnonzero(self._blank).tolist(),
                    "segment has an empty reference",
                    "segments have empty references",
                    kind="blank",
                ),
                without_reference(np.flatnonzero(self._unreferenced).tolist()),
                Notice.at(
                    np.flatnonzero(unscored).tolist(),
                    "segment got no score of a feature and is left out",
                    "segments got no score of a feature and are left out",
                    kind="unscored",
                ),
            ]
        )
        del counts["blank"]
        if "truncated" in self._odd:
            counts["truncated"] = self._odd["truncated"]
        everywhere = "of all systems and references"
        if cut := self._odd.get("truncated", 0):
            texts = counted(cut, "text was cut", "texts were cut")
            notices.append(Notice(f"{texts} to what the encoder reads, {everywhere}"))
        if unknown := self._odd.get("unknown_words", 0):
            notices.append(Notice(f"{unknown:,} of {self._odd['words']:,} words have no vector, {everywhere}"))
        return counts, notices
