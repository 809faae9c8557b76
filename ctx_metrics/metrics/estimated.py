"""The base class of `comet`, `slide` and the learned metrics, which score with a quality estimator: `slide` scores windows
of several segments, the others windows of one segment."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress, islice

from ..checks.untranslated import untranslated
from ..corpus import Corpus
from ..errors import CtxMetricsError, InputError
from ..models.estimator import Estimate, Estimator, Example
from ..models.hub import EMBEDDED, MULTILINGUAL
from ..notices import Notice, counted, tallied
from ..scoring.base import ContextMetric, SystemResult, multiref_setting
from ..scoring.constructor import number_of_references
from ..scoring.context import Capabilities, Stream
from ..scoring.results import ScoredWindow, best_reference
from ..settings import setting
from ..windows import Window, credit
from ..wording import any_of, worded
from .candidates import WHY, Candidates

TEXTS = {"mt": "hypothesis", "src": "source", "ref": "reference"}
READ_TOGETHER = 4096  # with more windows that share no texts, systems are read one after another


def window_examples(corpus: Corpus, window: Window, inputs: str) -> list[Example]:
    """Return one example for each reference that has all lines of the window, or one if the model reads no reference.

    In each text, the window's sentences are joined by one space, whatever the language (paper, section 3).
    """

    def joined(stream: Stream) -> str:
        return " ".join(line for line in stream[window.start : window.end] if line is not None)

    source = joined(corpus.sources) if corpus.sources is not None and "src" in inputs else None
    hypothesis = joined(corpus.hypotheses)
    if "ref" not in inputs:
        return [Example(hypothesis, None, source)]
    return [
        Example(hypothesis, joined(stream), source)
        for stream in corpus.references
        if None not in stream[window.start : window.end]
    ]


ExamplesOf = Callable[[Corpus, Window, str], list[Example]]


@dataclass(frozen=True)
class EstimatorSettings:
    """The model that scores, and how it reads the texts."""

    model: str | None = None
    on_long: str = setting(
        "How to treat texts longer than the model reads: truncate cuts and counts them; error stops.",
        "truncate",
        choices=["truncate", "error"],
    )
    multiref: str = multiref_setting()


class EstimatorMetric(ContextMetric):
    """The mean of a quality model's estimates over segments. Subclasses set Settings and load the model."""

    Settings: type = EstimatorSettings
    capabilities = Capabilities(reads=frozenset({"sources", "source_lang", "target_lang", "engine"}), estimator=True)
    _candidates: Candidates | None = None
    example = EMBEDDED  # a model's name for messages: a checkpoint's if the package contains no model of the metric

    def _check_model(self) -> None:
        """Raise InputError if the model's name is missing, or that of a model of the package which the metric cannot run."""
        metric, name = self.NAME.lower(), self.settings.model
        if not name and self.example != EMBEDDED:
            raise InputError(f"{metric}: name a checkpoint with {self.named('model', self.example)}")
        of_package = {EMBEDDED: self.example == EMBEDDED, MULTILINGUAL: self.takes_multilingual}
        if not of_package.get(str(name), True):
            another = self.named("model", self.example)
            raise InputError(f"{metric}: there is no {name} model of {metric}", fix=f"name another, such as {another}")

    def _prepare(self) -> None:
        self._check_model()
        self._chosen: tuple[str | None, str | None] | None = None
        self._adapt(self._ref_cache is None or self._are_references(self._ref_cache))
        if not self.can.references:
            self.num_refs = 0

    def _are_references(self, streams: Sequence[Stream]) -> bool:
        """Whether any stream holds references, not the sources, which users may pass where sacrebleu demands a reference."""
        return any(stream != self._context.sources for stream in streams)

    def _adapt(self, has_references: bool) -> None:
        self._has_references = has_references
        if (chosen := self._choice()) == self._chosen:
            return
        self._chosen = chosen
        try:
            self._take_model()
        except CtxMetricsError:
            self._chosen = None  # the next call must not treat the model as loaded
            raise

    def _choice(self) -> tuple[str | None, str | None]:
        """Return the model's name and the texts that it should read; None means the model's default."""
        return self.settings.model, None

    def _take_model(self) -> None:
        self._estimator: Estimator | None = None
        self.english_only = self.estimator.english_only
        self.signature = {**self.estimator.signature(), "long": self.settings.on_long}
        self._check_sources()
        declared, unread = type(self).capabilities, set() if "src" in self.estimator.inputs else {"sources"}
        self.can = replace(
            declared,
            reads=declared.reads - unread,
            references="ref" in self.estimator.inputs,
            higher_is_better=not self.estimator.lower_is_better,
        )
        self._take_candidates()
        if self.estimator.title not in ("", self.NAME):
            self.title = f"{self.NAME}-{self.estimator.title}"
        # the best of several references has the highest score, unless lower is better
        lowest = self.settings.multiref == "max" and self.estimator.lower_is_better
        self.multiref = "min" if lowest else self.settings.multiref
        if self.can.references:
            self.signature["multiref"] = self.multiref
        if (value := self.estimator.untranslated_value) is not None:
            self.signature["untranslated"] = f"{100 * value:.4g}"
        self._guard_language()

    def announce(self, systems: Sequence[Sequence[str]]) -> None:
        super().announce(systems)
        if self._candidates is not None:
            self._take_candidates()

    def _take_candidates(self) -> None:
        """Take the outputs of the run's other systems, for a model that compares them with those it scores."""
        self._candidates = None
        if self.estimator.candidates:
            self._candidates = Candidates(self.NAME.lower(), self.estimator, self._context.systems)
            self.signature |= self._candidates.signature()
            self.can = replace(self.can, compares_systems=True, whole_corpus=WHY)

    @property
    def written_name(self) -> str:
        title = self.estimator.title
        return self.NAME.lower() if title in ("", self.NAME) else f"{self.NAME}-{title}".lower()

    def to_score_against(self, streams: list[Stream] | None) -> list[Stream]:
        streams = streams or []
        self._adapt(self._are_references(streams))
        self.num_refs = number_of_references(streams) if self.can.references else 0
        return streams

    @abstractmethod
    def _load_estimator(self) -> Estimator:
        """Load the estimator that the settings name, on the run's engine."""

    def say_one_document(self) -> None:
        ids = worded("--docids FILE", "doc_ids")
        self._say(f"no document ids ({ids}), so all segments form one document")

    @property
    def estimator(self) -> Estimator:
        """The model. Pickling drops it; the unpickled metric loads it again when needed."""
        if self._estimator is None:
            self._estimator = self._load_estimator()
        return self._estimator

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_estimator": None}

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        windows = [[Window(i, i + 1, 1.0) for i in range(len(corpora[0]))]] * len(corpora)
        return self._results_of_windows(corpora, windows)

    def _results_of_windows(self, corpora: list[Corpus], windows: Sequence[Sequence[Window]]) -> list[SystemResult]:
        of_systems = zip(corpora, windows, self.estimates_of(corpora, windows), strict=True)
        return [self._result(*of_system) for of_system in of_systems]

    def estimates_of(
        self, corpora: Sequence[Corpus], windows: Sequence[Sequence[Window]]
    ) -> list[list[Sequence[Estimate]]]:
        """Return the estimates of all windows of all systems, as [systems][windows][examples].

        A window has one example for each reference without gaps, or one in all if the model reads no reference. All windows
        go through the estimator in one pass, unless there are more than READ_TOGETHER and they share no texts.
        """
        estimator = self.estimator
        if "ref" in estimator.inputs and not corpora[0].references:
            raise InputError(self._needs("ref", "a reference"))

        if self._candidates:
            for corpus in corpora:
                self._candidates.check(corpus.hypotheses)

        def examples(systems: Sequence[int]) -> Iterator[tuple[int, int, list[Example]]]:
            for k in range(max(map(len, windows))):
                for system in systems:
                    if k < len(windows[system]):
                        window = windows[system][k]
                        own = self._examples(corpora[system], window, estimator.inputs)
                        if self._candidates:
                            own = [self._candidates.beside(each, window) for each in own]
                        yield system, k, own

        systems = range(len(corpora))
        if self.settings.on_long == "error":
            places = [(system, k) for system, k, own in examples(systems) for _ in own]
            cut = estimator.is_cut([example for _, _, own in examples(systems) for example in own])
            self._refuse_long(windows, list(compress(places, cut)))
        unit = unit_of(windows)
        apart = not estimator.shares_texts and sum(map(len, windows)) > READ_TOGETHER
        estimates_of: list[list[Sequence[Estimate]]] = [[] for _ in windows]
        for together in [[system] for system in systems] if apart else [list(systems)]:
            owners, sizes, flat = [], [], []
            for system, _, own in examples(together):
                owners.append(system)
                sizes.append(len(own))
                flat += own
            estimates = iter(self.estimated(flat, unit))
            for system, size in zip(owners, sizes, strict=True):
                estimates_of[system].append(tuple(islice(estimates, size)))
        return estimates_of

    def estimated(self, examples: Sequence[Example], unit: str = "segment") -> list[Estimate]:
        """Return the estimator's estimates. The value of a text that cannot be a translation is fixed for some models."""
        estimates = self.estimator.estimate(examples, self.NAME.lower(), unit)
        if (value := self.estimator.untranslated_value) is None:
            return estimates
        languages = self._context.source_lang, self._context.target_lang
        whole = {example for example, estimate in zip(examples, estimates, strict=True) if not estimate.empty}
        fixed = {each for each in whole if untranslated(each.hypothesis, each.source or "", *languages)}
        return [
            estimate._replace(value=value, untranslated=True) if example in fixed else estimate
            for example, estimate in zip(examples, estimates, strict=True)
        ]

    def _result(
        self, corpus: Corpus, windows: Sequence[Window], estimates_of: Sequence[Sequence[Estimate]]
    ) -> SystemResult:
        """Return one system's result from the estimates of its windows, given as [windows][references]."""
        empty = [bool(estimates) and all(each.empty for each in estimates) for estimates in estimates_of]
        partly = [not whole and any(each.empty for each in own) for own, whole in zip(estimates_of, empty, strict=True)]
        # as in sacrebleu, an empty reference is none if there are others
        estimates_of = [
            [each for each in own if each.empty == whole] for own, whole in zip(estimates_of, empty, strict=True)
        ]
        values = [
            best_reference([estimate.value for estimate in estimates], self.multiref) for estimates in estimates_of
        ]
        rated = [(window, value) for window, value in zip(windows, values, strict=True) if value is not None]
        credited = [value for _, value in rated]
        rows = credit([window for window, _ in rated], credited, len(corpus))
        unit = unit_of([windows])
        scores, score = "is scored as it is", "are scored as they are"
        if (value := self.estimator.empty_value) is not None:
            scores, score = f"scores {100 * value:.4g}", f"score {100 * value:.4g}"
        starts = [window.start for window in windows]
        cut = [any(each.cut for each in estimates) for estimates in estimates_of]
        bare = [not estimates for estimates in estimates_of]
        not_translated = [any(each.untranslated for each in estimates) for estimates in estimates_of]
        texts = read_texts(self.estimator.inputs)

        def about(which: Sequence[bool], one: str, many: str, kind: str) -> Notice:
            places = "segment" if unit == "segment" else "from segment"
            return Notice.at(list(compress(starts, which)), f"{unit} {one}", f"{unit}s {many}", places, kind=kind)

        why = "(a copy of the source, another language, or no words)"
        fixed = f"{100 * (self.estimator.untranslated_value or 0):.4g}"
        without, ignored = "no whole reference and", "an empty reference among several, which is left out"
        of_translations = [
            about(
                not_translated,
                f"is not a translation {why} and scores {fixed}",
                f"are not translations {why} and score {fixed}",
                "untranslated",
            )
        ]
        of_candidates = []
        if self._candidates:
            lacking = [self._candidates.lack(corpus, window) for window in windows]
            number = self.estimator.candidates
            few = (
                f"candidates: fewer than {number} other outputs differ"
                if number > 1
                else "a candidate: no other output differs"
            )
            one, many = (f"{few} from {which}, so empty texts are used instead" for which in ("it", "them"))
            of_candidates = [about(lacking, f"lacks {one}", f"lack {many}", "lacking")]
        truncated = f"truncated ({self.estimator.limit})"
        counts, notices = tallied(
            [
                about(cut, f"was {truncated}", f"were {truncated}", "truncated"),
                about(empty, f"has an empty {texts} and {scores}", f"have an empty {texts} and {score}", "empty"),
                about(partly, f"has {ignored}", f"have {ignored}", "ignored"),
                about(bare, f"has {without} is left out", f"have {without} are left out", "unreferenced"),
                *(of_translations if self.estimator.untranslated_value is not None else ()),
                *of_candidates,
            ]
        )
        pick = max if self.can.higher_is_better else min
        best = [pick(estimates, key=lambda e: e.value, default=None) for estimates in estimates_of]
        seen = [ScoredWindow(*each) for each in zip(windows, values, best, strict=True)]
        return SystemResult(rows, counts, notices, seen)

    def _refuse_long(self, windows: Sequence[Sequence[Window]], long: list[tuple[int, int]]) -> None:
        if not long:
            return
        system, k = long[0]
        start, end, _ = windows[system][k]
        window, unit = (
            (f"a window of {end - start} segments is ", "from segment") if end - start > 1 else ("", "segment")
        )
        more = f", as {counted(len(long) - 1, 'other is', 'others are')}" if len(long) > 1 else ""
        metric = self.NAME.lower()
        raise InputError(
            f"{window}longer than the model reads ({self.estimator.limit}){more}",
            about=f"{metric}: system {system + 1}" if len(windows) > 1 else metric,
            segment=start,
            unit=unit,
            fix=f"shorten it, or allow cutting with {self.named('on_long', 'truncate')}",
        )

    def _check_sources(self) -> None:
        estimator, references, metric = self.estimator, self._has_references, self.NAME.lower()
        if "src" not in estimator.inputs or self._context.sources is not None:
            return
        if "ref" in estimator.inputs and not references:
            both = f"the model reads {estimator.inputs}, and neither sources nor references are given"
            needed = worded("--source FILE and a reference (-r FILE)", "sources, and references when you score")
            raise InputError(f"{metric}: {both}: give {needed}")
        if estimator.choices and not references:
            needed = worded("--source FILE, or a reference (-r FILE)", "sources, or references when you score")
            reads = f"without references the model reads {estimator.inputs} and needs the sources"
            raise InputError(f"{metric}: {reads}: give {needed}")
        raise InputError(self._needs("src", worded("--source FILE", "sources")))

    def _needs(self, name: str, flag: str) -> str:
        inputs = self.estimator.inputs
        others = [choice for choice in self.estimator.choices if name not in choice.split("+")]
        without = f", or score without it with {self.named('inputs', others[0])}" if others else ""
        return f"{self.NAME.lower()}: the model reads {inputs} and needs the {TEXTS[name]}s: give {flag}{without}"

    # makes the model's inputs for a window: one example for each reference without gaps
    _examples: ExamplesOf = staticmethod(window_examples)


def unit_of(windows: Sequence[Sequence[Window]]) -> str:
    return "segment" if all(end - start == 1 for of_system in windows for start, end, _ in of_system) else "window"


def read_texts(inputs: str) -> str:
    """Return the names of the texts that a model reads.

    >>> read_texts("mt+src+ref")
    'hypothesis, source or reference'
    """
    return any_of([TEXTS[name] for name in inputs.split("+")])
