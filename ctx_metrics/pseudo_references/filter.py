"""The pseudo-reference filter: line by line, which pseudo-references join the gold references."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeGuard

from ..engine.memory import LoadedModels
from ..engine_options import EngineOptions
from ..errors import InputError
from ..language import guard_english
from ..notices import Notice, counted
from .inputs import PseudoFilter

Stream = Sequence[str | None]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Selection:
    """The filter's result for each pseudo-reference system; all lists are in the systems' order.

    streams    their lines, None where rejected
    scores     the filter's score of each line, None where the line was not scored
    """

    names: list[str]
    streams: list[list[str | None]]
    scores: list[list[float | None]]
    kept: list[int]
    dropped: list[int]
    notices: list[Notice]


def select(
    golds: Sequence[Stream],
    pseudo: Sequence[Stream],
    options: PseudoFilter = PseudoFilter(),
    engine: EngineOptions = EngineOptions(),
    target_lang: str | None = None,
) -> Selection:
    """Keep a pseudo-reference if its score with any of the line's gold references is above the threshold.

    golds     streams of gold references; None marks a missing one
    pseudo    one stream per pseudo-reference system; a stream's attribute `name`, if it has one, is used in messages

    An empty pseudo-reference is rejected by every filter. On a line whose gold references are all missing or empty, there is
    nothing to paraphrase: pseudo-references are rejected unless the filter is none.

    >>> select([["gold", "two"]], [["other", " "]], PseudoFilter("none")).streams
    [['other', None]]
    """
    names = names_of(pseudo)
    _check_lengths(golds, pseudo, names)
    of_line = [[gold for gold in line if _has_text(gold)] for line in zip(*golds, strict=True)]
    asked = shared_filter(options, engine, target_lang)
    threshold = asked.threshold  # None: all are kept
    of_pair: dict[Pair, float] = {}
    if threshold is not None:
        # all pairs at once, so that the filter can batch them and reads a file of vectors only once
        lines = [line for stream in pseudo for line in zip(stream, of_line, strict=True)]
        pairs = [(text, gold) for text, golds_of_line in lines if _has_text(text) for gold in golds_of_line]
        of_pair = dict(zip(pairs, asked.scores(pairs), strict=True))
    streams, scores = [], []
    for stream in pseudo:
        best: list[float | None] = [None] * len(stream)
        if threshold is not None:
            best = [
                max((of_pair[text, gold] for gold in line), default=None) if _has_text(text) else None
                for text, line in zip(stream, of_line, strict=True)
            ]
        passes = [threshold is None or (score is not None and score > threshold) for score in best]
        streams.append(
            [text if passed and _has_text(text) else None for text, passed in zip(stream, passes, strict=True)]
        )
        scores.append(best)
    kept = [sum(text is not None for text in stream) for stream in streams]
    dropped = [len(stream) - number for stream, number in zip(streams, kept, strict=True)]
    return Selection(names, streams, scores, kept, dropped, _notices(names, pseudo, of_line, kept, threshold))


def names_of(pseudo: Sequence[Stream]) -> list[str]:
    """Return the names of pseudo-reference systems in messages and signatures."""
    return [getattr(stream, "name", "") or f"pseudo-reference {k}" for k, stream in enumerate(pseudo, 1)]


def _has_text(text: str | None) -> TypeGuard[str]:
    return text is not None and bool(text.strip())


def _check_lengths(golds: Sequence[Stream], pseudo: Sequence[Stream], names: list[str]) -> None:
    if not golds:
        raise InputError("pseudo-references are additional references: give gold references too")
    gold_names = [f"reference stream {k}" for k in range(1, len(golds) + 1)]
    for name, stream in zip([*gold_names, *names], [*golds, *pseudo], strict=True):
        if len(stream) != len(golds[0]):
            lines = counted(len(stream), "line", "lines")
            raise InputError(f"{name} has {lines}, but reference stream 1 has {len(golds[0])}")


def _notices(
    names: list[str], pseudo: Sequence[Stream], of_line: list[list[str]], kept: list[int], threshold: float | None
) -> list[Notice]:
    notices = []
    for name, stream, number in zip(names, pseudo, kept, strict=True):
        empty = [i for i, text in enumerate(stream) if not _has_text(text)]
        one, many = "pseudo-reference is empty and left out", "pseudo-references are empty and left out"
        notices.append(Notice.at(empty, one, many, about=name))
        if stream and not number:
            notices.append(Notice(f"none of its {len(stream)} pseudo-references is kept", about=name))
    why = "no reference to filter by, so no pseudo-reference"
    bare = [i for i, line in enumerate(of_line) if threshold is not None and not line]
    notices.append(Notice.at(bare, f"segment has {why}", f"segments have {why}"))
    return [each for each in notices if each.number != 0]


class ReferenceFilter:
    """Scores pairs (pseudo-reference, gold reference), each distinct pair once per process.

    bert    the probability that the gold reference paraphrases the pseudo-reference, in [0, 1] (Yoshimura et al. 2019)
    mas     the alignment of the vectors of their words, in [-1, 1]; 0 if a text has no known word

    Pairs that score above `threshold` are kept; if it is None, all are.
    """

    def __init__(self, options: PseudoFilter, engine: EngineOptions, target_lang: str | None):
        self.options, self.threshold, self._target_lang = options, options.limit, target_lang
        if target_lang:
            self._guard_language([])
        self._known: dict[Pair, float] = {}
        self._model: Any = None
        if options.kind == "bert":
            from .paraphrase.classifier import shared_classifier

            self._model = shared_classifier(options.model, engine)
            self._score = self._model.probabilities
        elif options.kind == "mas":
            from .alignment import TokenEmbeddings, WordVectors, similarities

            vectors = options.vectors
            self._model = TokenEmbeddings() if vectors is None else WordVectors(vectors, engine.quiet)
            self._score = partial(similarities, self._model)

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the score of each pair, for any filter but `none`."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            if not self._target_lang:
                self._guard_language([gold for _, gold in new])
            self._known.update(zip(new, self._score(new), strict=True))
        return [self._known[pair] for pair in pairs]

    def is_current(self) -> bool:
        """Whether the files behind the scores are unchanged since this filter was created."""
        return self._model is None or self._model.is_current()

    def forget_texts(self) -> None:
        self._known = {}

    def signature(self) -> dict[str, Any]:
        if self.options.kind == "bert":
            of_model = {f"f{key}": value for key, value in self._model.signature().items()}
        else:
            of_model = self._model.signature() if self._model else {}
        return {**self.options.signature(), **of_model}

    def _guard_language(self, texts: list[str]) -> None:
        if flag := self.options.in_place_of_embedded:
            asked = self.options.model is not None
            guard_english("pseudo-references", flag, asked, language=self._target_lang, texts=texts)


_filters: LoadedModels[ReferenceFilter] = LoadedModels()


def shared_filter(
    options: PseudoFilter, engine: EngineOptions = EngineOptions(), target_lang: str | None = None
) -> ReferenceFilter:
    """Return the process's only filter with these settings, which scores a pair once for all metrics."""
    place = (options, engine, target_lang)
    return _filters.get(place, lambda: ReferenceFilter(*place))
