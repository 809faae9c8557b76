"""The filters that score a pseudo-reference against a gold reference: a paraphrase classifier, or word alignment."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ..engine.loaded import LoadedModels
from ..engine.options import EngineOptions
from ..language import guard_english
from .options import PseudoFilter

Pair = tuple[str, str]


class ReferenceFilter(ABC):
    """Scores (pseudo-reference, gold reference), every distinct pair once in a process; those above `threshold` are kept.

    Minds which language its model reads: raises InputError where it is known to be another.
    """

    def __init__(self, options: PseudoFilter, target_lang: str | None, flag: str, english_only: bool):
        self.options, self.threshold = options, options.limit
        self._flag, self._english_only, self._target_lang = flag, english_only, target_lang
        if target_lang:
            self._guard_language([])
        self._known: dict[Pair, float] = {}

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The score of each pair (pseudo-reference, gold reference)."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            if not self._target_lang:
                self._guard_language([gold for _, gold in new])
            self._known.update(zip(new, self._score(new), strict=True))
        return [self._known[pair] for pair in pairs]

    def is_current(self) -> bool:
        """Whether the files that its scores come from hold what they held when this was made."""
        return True

    def signature(self) -> dict[str, Any]:
        """The signature's part on the choice: filter, threshold, guard, and what the scores come from: fmodel, frev and
        fckpt of a model, vectors and fckpt of a file."""
        return {**self.options.signature(), **self._source()}

    def _guard_language(self, texts: list[str]) -> None:
        if self._english_only:
            asked = self.options.model is not None
            guard_english("pseudo-references", self._flag, asked, self._target_lang, texts)

    @abstractmethod
    def _score(self, pairs: list[Pair]) -> list[float]: ...

    @abstractmethod
    def _source(self) -> dict[str, Any]: ...


class NoFilter(ReferenceFilter):
    """Keeps all; it has no threshold, and its scores are not asked for."""

    def __init__(self, options: PseudoFilter, engine: EngineOptions, target_lang: str | None):
        super().__init__(options, target_lang, "", False)

    def _score(self, pairs: list[Pair]) -> list[float]:
        return [1.0] * len(pairs)

    def _source(self) -> dict[str, Any]:
        return {}


class ParaphraseFilter(ReferenceFilter):
    """The probability that the gold reference paraphrases the pseudo-reference, in [0, 1] (Yoshimura et al. 2019)."""

    def __init__(self, options: PseudoFilter, engine: EngineOptions, target_lang: str | None):
        super().__init__(options, target_lang, "--pseudo-model", options.model in (None, "embedded"))
        from ..models.paraphrase.classifier import shared_classifier

        self._classifier = shared_classifier(options.model, engine)

    def is_current(self) -> bool:
        return self._classifier.is_current()

    def _source(self) -> dict[str, Any]:
        return {f"f{key}": value for key, value in self._classifier.signature().items()}

    def _score(self, pairs: list[Pair]) -> list[float]:
        return self._classifier.probabilities(pairs)


class AlignmentFilter(ReferenceFilter):
    """MAS of word vectors, in [-1, 1]; 0 where a text has no known word."""

    def __init__(self, options: PseudoFilter, engine: EngineOptions, target_lang: str | None):
        super().__init__(options, target_lang, "--pseudo-vectors", options.vectors is None)
        from .token_embeddings import TokenEmbeddings
        from .vectors import WordVectors

        self._vectors = TokenEmbeddings() if options.vectors is None else WordVectors(options.vectors, engine.quiet)

    def is_current(self) -> bool:
        return self._vectors.is_current()

    def _source(self) -> dict[str, Any]:
        return self._vectors.signature()

    def _score(self, pairs: list[Pair]) -> list[float]:
        from .alignment import mas

        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        of_text = dict(zip(texts, self._vectors(texts), strict=True))
        return [mas(of_text[pseudo], of_text[gold]) for pseudo, gold in pairs]


_KINDS: dict[str, Callable[[PseudoFilter, EngineOptions, str | None], ReferenceFilter]] = {
    "bert": ParaphraseFilter,
    "mas": AlignmentFilter,
    "none": NoFilter,
}
_filters: LoadedModels[ReferenceFilter] = LoadedModels()


def shared_filter(
    options: PseudoFilter, engine: EngineOptions = EngineOptions(), target_lang: str | None = None
) -> ReferenceFilter:
    """The process's one filter of these settings, which scores a pair once for all metrics.

    target_lang    language code of the texts, where known

    Raises InputError where the embedded models would read another language than English, or the vectors cannot be read,
    and ModelError for a classifier that cannot be used.
    """
    place = (options, engine, target_lang)
    return _filters.get(place, lambda: _KINDS[options.kind](options, engine, target_lang))
