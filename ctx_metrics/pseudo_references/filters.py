"""The filters that score a pseudo-reference against a gold reference: a paraphrase classifier, or word alignment."""

from collections.abc import Sequence
from typing import Any

from ..engine.memory import LoadedModels
from ..engine.options import EngineOptions
from ..language import guard_english
from .options import PseudoFilter

Pair = tuple[str, str]


class Paraphrases:
    """The probability that the gold reference paraphrases the pseudo-reference, in [0, 1] (Yoshimura et al. 2019)."""

    def __init__(self, model: str | None, engine: EngineOptions):
        from .paraphrase.classifier import shared_classifier

        self._classifier = shared_classifier(model, engine)
        self.is_current, self.scores = self._classifier.is_current, self._classifier.probabilities

    def signature(self) -> dict[str, Any]:
        """Return fmodel, frev and fckpt of the classifier."""
        return {f"f{key}": value for key, value in self._classifier.signature().items()}


class Alignment:
    """MAS of word vectors, in [-1, 1]; 0 if a text has no known word."""

    def __init__(self, vectors: str | None, engine: EngineOptions):
        from .alignment import TokenEmbeddings, WordVectors

        self._vectors = TokenEmbeddings() if vectors is None else WordVectors(vectors, engine.quiet)
        self.is_current, self.signature = self._vectors.is_current, self._vectors.signature

    def scores(self, pairs: list[Pair]) -> list[float]:
        """Return the score of each pair."""
        from .alignment import mas

        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        of_text = dict(zip(texts, self._vectors(texts), strict=True))
        return [mas(of_text[pseudo], of_text[gold]) for pseudo, gold in pairs]


class ReferenceFilter:
    """Scores pairs (pseudo-reference, gold reference), each distinct pair once per process.

    Pairs that score above `threshold` are kept; if it is None, all are. Raises InputError if the texts are known to be in
    a language that the embedded model does not read.
    """

    def __init__(self, options: PseudoFilter, engine: EngineOptions, target_lang: str | None):
        self.options, self.threshold, self._target_lang = options, options.limit, target_lang
        if target_lang:
            self._guard_language([])
        self._scorer: Paraphrases | Alignment | None = None
        if options.kind == "bert":
            self._scorer = Paraphrases(options.model, engine)
        elif options.kind == "mas":
            self._scorer = Alignment(options.vectors, engine)
        self._known: dict[Pair, float] = {}

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the score of each pair (pseudo-reference, gold reference); always 1 for the filter none."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            if not self._target_lang:
                self._guard_language([gold for _, gold in new])
            scores = self._scorer.scores(new) if self._scorer else [1.0] * len(new)
            self._known.update(zip(new, scores, strict=True))
        return [self._known[pair] for pair in pairs]

    def is_current(self) -> bool:
        """Whether the files behind the scores are unchanged since this filter was created."""
        return self._scorer is None or self._scorer.is_current()

    def forget_texts(self) -> None:
        self._known = {}

    def signature(self) -> dict[str, Any]:
        """Return the filter's part of the signature: filter, threshold, guard, and the model or vectors."""
        return {**self.options.signature(), **(self._scorer.signature() if self._scorer else {})}

    def _guard_language(self, texts: list[str]) -> None:
        if flag := self.options.in_place_of_embedded:
            guard_english(
                "pseudo-references", flag, self.options.model is not None, language=self._target_lang, texts=texts
            )


_filters: LoadedModels[ReferenceFilter] = LoadedModels()


def shared_filter(
    options: PseudoFilter, engine: EngineOptions = EngineOptions(), target_lang: str | None = None
) -> ReferenceFilter:
    """Return the process's only filter with these settings, which scores a pair once for all metrics.

    target_lang    language code of the texts, if known

    Raises InputError if an embedded model would read a language other than English or if the vectors cannot be read, and
    ModelError if the classifier cannot be used.
    """
    place = (options, engine, target_lang)
    return _filters.get(place, lambda: ReferenceFilter(*place))
