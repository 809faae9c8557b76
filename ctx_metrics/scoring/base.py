"""The base class of our metrics, with their scores, signatures and per-segment sacrebleu statistics."""

import argparse
import copy
import inspect
import json
import math
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from typing import Any, ClassVar

from sacrebleu.metrics.base import Metric, Score, Signature

from ..corpus import Corpus, digest, list_of_strings, without_empty
from ..engine.memory import check_memory
from ..errors import InputError, ModelError
from ..finite import check_finite
from ..language import guard_english
from ..notices import Notice, counted, notice
from ..paths import Reads
from ..settings import add_flags, check_values, setting
from ..types_of_values import checked_settings
from ..wording import setting_named, worded
from .constructor import (
    as_list,
    context_of,
    number_of_references,
    reference_streams,
    shown,
    signature_of,
    streams,
    unexpected,
)
from .context import Capabilities, Stream
from .inputs import FileInput, StreamsOfSystems
from .results import Row, SystemResult, with_left_out

# fields of a Context that a metric may require: their names in messages, and the flags that give them
GIVEN_BY = {
    "sources": ("the source", "--source FILE, or a test set with -t"),
    "doc_ids": ("document ids", "--docids FILE, or a test set with -t that has them"),
    "source_lang": ("the source language", "the language pair with -l"),
    "target_lang": ("the target language", "the language pair with -l"),
}


class ContextScore(Score):
    """A score on sacrebleu's scale (x100). NaN marks a sentence that no window covers: `nan` in text, null in JSON."""

    def format(self, width: int = 2, score_only: bool = False, signature: str = "", is_json: bool = False) -> str:
        if is_json and not (signature or score_only):  # sacrebleu parses the signature, and fails on an empty one
            content = json.loads(self.format(width, False, ":", True))
            del content[""]
            return json.dumps({**content, "signature": ""}, indent=1, ensure_ascii=False)
        if is_json and math.isnan(self.score) and not score_only:
            shown = copy.copy(self)
            shown.score = 0.0
            return shown.format(width, False, signature, True).replace('"score": 0.0', '"score": null', 1)
        if not self._ci >= 0 or self._mean > 0:
            return super().format(width, score_only, signature, is_json)
        # sacrebleu hides the interval unless the mean is positive
        mean, self._mean = self._mean, 1.0
        try:
            text = super().format(width, score_only, signature, is_json)
        finally:
            self._mean = mean
        return text.replace(f"μ = {1.0:.{width}f} ", f"μ = {mean:.{width}f} ").replace(
            f'"confidence_mean": {float(f"{1.0:.{width}f}")}', f'"confidence_mean": {float(f"{mean:.{width}f}")}'
        )

    def estimate_ci(self, scores: list) -> None:
        """Estimate the interval as sacrebleu does, from the resamples that have a score; none if no resample has one."""
        if scored := [score for score in scores if not math.isnan(score.score)]:
            super().estimate_ci(scored)


class ContextSignature(Signature):
    """A metric's settings and library versions; characters that would break sacrebleu's format become underscores."""

    ABBREVIATIONS: ClassVar = dict(
        each.split("=")
        for each in (
            "model=m rev=r ckpt=ck inputs=in layers=ly multiref=mr dtype=dt maxlen=ml long=lg window=w stride=st "
            "partial=p tokens=tb docs=dc context=cx scale=sc ctx=ctx torch=th tokenizers=tk case=c eff=e tok=tok "
            "smooth=s nc=nc nw=nw space=sp beta=b part=pt idf=idf pooling=pl average=av bt=bt pseudo=ps filter=f "
            "threshold=ft guard=g vectors=vec features=fe against=ag pool=po fmodel=fm frev=fr fckpt=fc info=if "
            "stem=sm nltk=nl metricx=mx peers=pe untranslated=ut tag=tg weight=wt by=by candidates=cn norm=nr punct=pn "
            "asian=as activation=act align=al refs=rf tuned=tu judge=jd prompt=pr temperature=tm samples=sa"
        ).split()
    )

    def __init__(self, args: dict):
        super().__init__(args)
        self._abbr.update(self.ABBREVIATIONS)
        entries = args["signature"]
        entries = {**entries, "scale": entries.get("scale", 100), "ctx": version("ctx-metrics")}
        if entries.keys() & {"model", "fmodel"}:
            entries |= {"torch": version("torch"), "tokenizers": version("tokenizers")}
        self.info = {
            key: re.sub(r"[:|\s]", "_", value) if isinstance(value, str) else value
            for key, value in {**self.info, **entries}.items()
        }


@dataclass(frozen=True)
class NoSettings:
    """Of a metric that has no settings."""


def model_setting(what: str, default: str = "embedded, English only") -> Any:
    return setting(f"{what}. (Default: {default})", type=Reads(str), metavar="MODEL")


def multiref_setting() -> Any:
    return setting("How to combine the scores of several references.", "max", choices=["max", "mean"])


class ContextMetric(Metric):
    """A sacrebleu metric whose corpus score is 100 * sum(weight * value) / sum(weight) over segments.

    Subclasses set NAME and, if they have settings, Settings. They implement _prepare and _score. All systems of a run are
    scored in one pass, at the first request for a score. sacrebleu's statistics then work on the rows.

    references    streams of references, kept for corpus_score(..., references=None), or None; None in a stream marks a
                  missing reference
    systems       the hypotheses of all systems that will be scored against those references
    given         the settings, named as the fields of Settings, and the other fields of scoring.context.Context that the
                  class reads

    Lists of strings may be arrays of NumPy or columns of pandas, too.

    Raises TypeError for an unknown keyword. All metrics raise InputError for settings or texts that cannot be scored.
    Metrics with a model raise ModelError for a model that cannot be used, and ResourceError for a device that is
    missing or too small.
    """

    _SIGNATURE_TYPE = ContextSignature
    NAME: str
    Settings: type = NoSettings
    settings: Any  # a value of Settings
    title: str  # the name under which the metric's scores are shown
    signature: dict[str, Any]  # entries of the signature besides sacrebleu's
    capabilities = Capabilities()
    can: Capabilities  # those left with these settings and this model
    english_only = False  # whether the metric's model, if any, reads only English
    takes_multilingual = False  # whether --...-model accepts the multilingual encoder
    in_blocks: Any = None  # a scale.corpora.InBlocks, if the run scores in blocks
    flag: str  # the start of the metric's flags, such as --bertr
    __signature__: inspect.Signature | None

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if "flag" not in vars(cls):
            cls.flag = next(iter(cls.capabilities.flags), f"--{getattr(cls, 'NAME', '').lower()}-").rstrip("-")
        own = cls.__init__ is not ContextMetric.__init__  # a constructor of its own shows its own signature
        cls.__signature__ = None if own else signature_of(cls.__init__, cls.Settings, cls.capabilities)
        if "Settings" in vars(cls):  # so that help() shows the settings
            told = [f"    {each.name:<13} {each.metadata['help']}\n" for each in fields(cls.Settings) if each.metadata]
            cls.__doc__ = f"{(cls.__doc__ or '').rstrip()}\n\n{''.join(told)}    "

    def __init__(self, references: Sequence[Stream] | None = None, systems: Sequence[Sequence[str]] = (), **given: Any):
        super().__init__()
        self.can = self.capabilities
        name, own = self.NAME.lower(), {each.name for each in fields(self.Settings)}
        if unread := sorted(given.keys() - own - self.can.keywords):
            raise unexpected(type(self), unread[0], own | self.can.keywords | {"references", "systems"})
        self.given, self.title = given, self.NAME
        beside = {key: value for key, value in given.items() if key not in own}
        self._context = context_of(name, {"systems": systems, **beside}, self.can)
        self._results: dict[str, SystemResult] = {}
        if references is not None:
            self._ref_cache = self._cache_references(references)
        self._check_required()
        self._own_streams = self._streams_by_system(self._context.systems)
        self.signature = {}
        chosen = {key: value for key, value in given.items() if key in own}
        self.settings = self.Settings(**checked_settings(self.Settings, chosen, name))
        check_values(self.settings, name)
        try:
            self._prepare()
        except RuntimeError as error:
            check_memory(error, name, self._context.engine.device)
            raise

    def _prepare(self) -> None:
        """Set up scoring and `self.signature`; called at the end of the constructor."""

    @classmethod
    def add_arguments(cls, group: argparse._ArgumentGroup) -> None:
        add_flags(group, cls.Settings, prefix=f"{cls.flag}-", dest=f"{cls.NAME.lower()}_")

    def named(self, name: str, value: str = "") -> str:
        """Return a setting's name in messages (--comet-model in a command, model in Python), with its value if given."""
        return setting_named(f"{self.flag}-{name.replace('_', '-')}", name, value)

    def __repr__(self) -> str:
        return shown(self, self._ref_cache, self.settings, self._context, self.can)

    @property
    def written_name(self) -> str:
        """The metric's name in files of scores, which are read again without knowing its model."""
        return self.NAME.lower()

    @property
    def asked(self) -> bool:
        return getattr(self.settings, "model", None) is not None

    def _guard_language(self, read: Callable[[], Sequence[str | None]] = list) -> None:
        """Run guard_english if the model reads only English.

        With no texts, it checks the run's target language. With texts, it checks them, but only if that language is not
        known.
        """
        texts = read()
        if self.english_only and bool(texts) != bool(self._context.target_lang):
            guard_english(
                self.NAME.lower(),
                self.named("model"),
                self.asked,
                language=self._context.target_lang,
                texts=texts,
                multilingual=self.takes_multilingual,
            )

    def announce(self, systems: Sequence[Sequence[str]]) -> None:
        """Set the hypotheses of all systems, to be scored against the constructor's references in one pass."""
        self._context = replace(self._context, systems=streams(f"{self.NAME.lower()}: systems", systems))
        self._own_streams = self._streams_by_system(self._context.systems)

    def _check_required(self) -> None:
        name = self.NAME.lower()
        for field_name, (what, flag) in GIVEN_BY.items():
            if field_name in self.can.required and getattr(self._context, field_name) is None:
                raise InputError(f"{name}: needs {what}: give {worded(flag, field_name)}")
        for each in self.can.inputs:
            if isinstance(each, FileInput) and each.required and not self._context.inputs[each.name]:
                raise InputError(f"{name}: {each.missing()}")

    def _streams_by_system(self, systems: Sequence[Sequence[str]]) -> dict[str, StreamsOfSystems]:
        return {
            each.name: StreamsOfSystems(self.NAME.lower(), each.words, systems, self._context.inputs[each.name])
            for each in self.can.inputs
            if isinstance(each, FileInput) and each.per_system and self._context.inputs[each.name]
        }

    def _inputs_of(self, hypotheses: Sequence[str]) -> dict[str, Any]:
        own = {name: streams.of(hypotheses) for name, streams in self._own_streams.items()}
        return {**self._context.inputs, **own}

    @abstractmethod
    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        """Score all corpora in one pass: one per system, all with the same references, sources and document ids."""

    def corpus_score(
        self,
        hypotheses: Collection[str],
        references: Collection[Collection[str | None]] | None = None,
        n_bootstrap: int = 1,
    ) -> Score:
        """Return Metric.corpus_score, with the counts of truncated, dropped and empty texts after the score.

        references    streams of references; None for those of the constructor, or for a model that reads none
        """
        texts = as_list("hypotheses", hypotheses)
        score = super().corpus_score(texts, references, n_bootstrap)  # type: ignore[arg-type]  # None is a gap there too
        shown = [f"{name} = {count}" for name, count in self.last_result.counts.items() if count]
        own = [score._verbose] if score._verbose else []
        score._verbose = " ".join([*own, f"({' '.join(shown)})"] if shown else own)
        return score

    def sentence_score(self, hypothesis: str, references: Collection[str | None] | None = None) -> Score:
        """Return the score of a single segment.

        references    its references; None or empty for a model that reads none
        """
        given = [] if references is None else list_of_strings("references", references)
        return self._aggregate_and_compute(self._extract_corpus_statistics([hypothesis], [[text] for text in given]))

    def _cache_references(self, references: Collection[Collection[str | None]]) -> list:
        """Return the checked reference streams and set num_refs; unlike sacrebleu, never cut them to the shortest."""
        kept = reference_streams(self.NAME.lower(), references)
        self.num_refs = number_of_references(without_empty(kept)[0])
        return kept

    def _extract_corpus_statistics(
        self, hypotheses: Collection[str], references: Collection[Collection[str | None]] | None
    ) -> list[Row]:
        system = as_list("hypotheses", hypotheses)
        against = self.to_score_against(self._ref_cache if references is None else self._cache_references(references))
        if references is not None:
            [self.last_result] = results = self.score_corpora(self.corpora_of([system], against))
            self._announced(results, [""])
            return self.last_result.rows
        key = digest(system)
        if key not in self._results:
            pending: dict[str, Sequence[str]] = {key: system}
            for each in self._context.systems:
                if (other := digest(each)) not in self._results:
                    pending.setdefault(other, each)
            results = self._results_of(self.corpora_of(list(pending.values()), against))
            names = {digest(system): getattr(system, "name", "") for system in self._context.systems}
            self._announced(results, [names.get(each, "") for each in pending])
            self._results.update(zip(pending, results, strict=True))
        self.last_result = self._results[key]
        return self.last_result.rows

    _extract_corpus_statistics.__dict__["checks_finite"] = True  # _announced does

    def _results_of(self, corpora: list[Corpus]) -> list[SystemResult]:
        """Return the corpora's results; they are scored in blocks if the run asks for that and the metric allows it."""
        in_blocks = self.in_blocks is not None and self.in_blocks.can(self)
        return self.in_blocks(self, corpora) if in_blocks else self.score_corpora(corpora)

    def score_corpora(self, corpora: list[Corpus]) -> list[SystemResult]:
        try:
            results = self._score(corpora)
        except RuntimeError as error:
            check_memory(error, self.NAME.lower(), self._context.engine.device)
            raise
        for corpus, result in zip(corpora, results, strict=True):
            if len(result.rows) != len(corpus):
                rows = counted(len(result.rows), "row", "rows")
                raise ModelError(
                    f"{self.NAME.lower()}: the metric gives {rows} for {len(corpus)} segments", fix="report it"
                )
        return [with_left_out(result, corpus.left_out) for result, corpus in zip(results, corpora, strict=True)]

    def part_results(self, guard: bool = True) -> list[SystemResult]:
        """Return the results of all `systems` for one part of a corpus; prints no notices of them and stores nothing.

        guard    whether to check the language of the texts, as for the first part
        """
        results = self.score_corpora(
            self.corpora_of(self._context.systems, self.to_score_against(self._ref_cache), guard)
        )
        for result in results:
            check_finite(self.NAME.lower(), result.rows, dtype=self._context.engine.dtype)
        return results

    def to_score_against(self, streams: list[Stream] | None) -> list[Stream]:
        """Return the references to score against; subclasses that also score without references choose their model here."""
        if streams is None and self.can.references:
            raise InputError(f"{self.NAME.lower()}: no references are given")
        return streams or []

    def corpora_of(
        self, systems: Sequence[Sequence[str]], references: Sequence[Stream], guard: bool = True
    ) -> list[Corpus]:
        context = self._context
        beside = context.sources, context.doc_ids, context.source_lang, context.target_lang
        corpora = [Corpus(hypotheses, references, *beside, self._inputs_of(hypotheses)) for hypotheses in systems]
        if guard:
            self._guard_language(lambda: [*(corpora[0].references or [()])[0], *corpora[0].hypotheses])
        return corpora

    def _say(self, what: str) -> None:
        notice(what, metric=self.NAME.lower())

    def _announced(self, results: list[SystemResult], names: list[str]) -> None:
        """Print the notices of the results; systems with the same notice share a line.

        Prints nothing and raises InputError if a system has no scored row, or ModelError if it has one that is not finite.
        """
        metric, several = self.NAME.lower(), len(results) > 1
        names = [name or f"system {number}" for number, name in enumerate(names, 1)]
        given: dict[Notice, list[str]] = {}
        for name, result in zip(names, results, strict=True):
            check_finite(metric, result.rows, name if several else "", self._context.engine.dtype)
            if not any(row[-1] for row in result.rows):
                where = f"{name}: " if several else ""
                raise InputError(f"{metric}: {where}{self._why_nothing(result)}")
            for each in (*(replace(own, metric=metric) for own in result.notices), *result.of_texts):
                given.setdefault(each, []).append(name)
        for each, of in given.items():
            systems = "every system" if len(of) == len(results) else ", ".join(of)
            notice(each.of(systems) if several else each)

    def _why_nothing(self, result: SystemResult) -> str:
        return "; ".join(["no segment can be scored", *map(str, result.notices)])

    def segment_scores(
        self, hypotheses: Collection[str], references: Collection[Collection[str | None]] | None = None
    ) -> list[Score]:
        """Return the score of each segment within its corpus, as sacrebleu --sentence-level prints it.

        Takes the arguments of corpus_score. A segment that was not scored has NaN.
        """
        return [self._compute_score_from_stats(row) for row in self._extract_corpus_statistics(hypotheses, references)]

    def system_results(self) -> list[SystemResult]:
        """Return the results of all `systems`, in their order, against the constructor's references."""
        for system in self._context.systems:
            self._extract_corpus_statistics(system, None)
        return [self._results[digest(system)] for system in self._context.systems]

    def __getstate__(self) -> dict:
        inputs = {name: None if name in self.can.streams else value for name, value in self._context.inputs.items()}
        travelling = replace(self._context, systems=(), inputs=inputs)
        return {**self.__dict__, "_context": travelling, "given": {}, "in_blocks": None}

    def _aggregate_and_compute(self, stats: Sequence[Row]) -> Score:
        return self._compute_score_from_stats([math.fsum(column) for column in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats: Row) -> Score:
        total, weight = float(stats[0]), float(stats[1])
        return ContextScore(self.title, 100 * total / weight if weight > 0 else math.nan)

    @property
    def is_mean(self) -> bool:
        """Whether scores are the weighted means of the rows."""
        return type(self)._compute_score_from_stats is ContextMetric._compute_score_from_stats

    # sacrebleu checks only the first segment, and raises TypeError; Corpus checks all of them and names the segment.
    def _check_corpus_score_args(self, hyps: Sequence[str], refs: Sequence | None) -> None:
        if not hyps:
            raise InputError(f"{self.NAME.lower()}: no hypotheses to score")

    # sacrebleu's hooks for one segment at a time, which metrics over a whole corpus do not use.
    def _preprocess_segment(self, sent: str) -> str:
        return sent

    def _extract_reference_info(self, refs: Sequence[str]) -> dict:
        return {"refs": list(refs)}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict) -> Row:
        return self._extract_corpus_statistics([hypothesis], [[text] for text in ref_kwargs["refs"]])[0]
