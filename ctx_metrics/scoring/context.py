"""The context of a run, the capabilities that a metric declares, and the function that builds a metric from both."""

import argparse
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_type_hints

from ..checks.documents import say_single
from ..checks.references import say_empty
from ..engine_options import EngineOptions
from ..errors import CtxMetricsError, InputError, of_tokenizer, tokenizer_error
from ..flag_types import MOST_ORDER
from ..language import bleu_language
from ..notices import notice
from ..types_of_values import check_type
from .inputs import FileInput, Input, InputFiles, Keyword

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

    from ..corpus import Segments

Stream = Sequence[str | None]


@dataclass(frozen=True)
class Context:
    """Everything that a run provides besides the hypotheses being scored. Every stream has one text per segment.

    references         streams of references, in which None marks a missing one; None: they are given when scoring
    systems            the hypotheses of all systems that will be scored, so that one pass can score them all
    sources            source segments, or None
    doc_ids            document id of each segment, or None; a document is a run of equal ids
    source_lang, target_lang    language codes such as "de", or None if unknown
    engine             device, number format, batch size
    inputs             further inputs of metrics, by keyword (see scoring.inputs)
    in_blocks          scores corpora block by block (scale.corpora.InBlocks), or None
    read               the systems' texts as a reader gives them (run.wrappers.Read), or None
    signature          entries in the signature of every metric
    names              of the systems
    """

    references: Sequence[Stream] | None = None
    systems: Sequence[Sequence[str]] = ()
    sources: Sequence[str] | None = None
    doc_ids: Sequence[str] | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    engine: EngineOptions = EngineOptions()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    in_blocks: Any = None
    read: Any = None
    signature: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()

    @property
    def trg_lang(self) -> str:
        """The target language's code, under the name and in the form by which sacrebleu's BLEU chooses its tokenizer."""
        return bleu_language(self.target_lang)


_OF_RUNS = {"references", "inputs", "in_blocks", "read", "signature", "names"}
CONTEXT = frozenset(each.name for each in fields(Context)) - _OF_RUNS | {"trg_lang"}


@dataclass(frozen=True)
class Capabilities:
    """A metric's abilities and needs, as its class declares. `metric.can` holds those left by its settings and model.

    reads               the fields of Context that it reads besides the references
    inputs              the further inputs that it reads
    required            the fields in `reads` without which it cannot score
    references          whether it reads references
    estimator           whether its values come from a learned quality model, which `ctx-metrics score --model` names
    compares_systems    whether a system's score depends on the other systems' outputs
    whole_corpus        why a segment's row depends on segments of other documents, in words; "" if it does not
    dependent_rows      whether segments share scores, so that resampling segments gives intervals that are too narrow
    higher_is_better    whether higher scores are better
    line_files          settings whose flags name files with one line per segment
    work                settings that do not affect a score, such as the number of requests at a time
    flags               prefixes of its own flags, besides --NAME-
    """

    reads: frozenset[str] = frozenset()
    inputs: tuple[Input, ...] = ()
    required: frozenset[str] = frozenset()
    references: bool = True
    estimator: bool = False
    compares_systems: bool = False
    whole_corpus: str = ""
    dependent_rows: bool = False
    higher_is_better: bool = True
    line_files: tuple[str, ...] = ()
    work: frozenset[str] = frozenset()
    flags: tuple[str, ...] = ()

    @property
    def input_keywords(self) -> dict[str, Keyword]:
        """The keywords of the metric's inputs."""
        return {name: keyword for each in self.inputs for name, keyword in each.keywords.items()}

    @property
    def keywords(self) -> frozenset[str]:
        """The keywords that the constructor takes besides the settings and the references."""
        return self.reads | self.input_keywords.keys()

    @property
    def streams(self) -> frozenset[str]:
        """The keywords of the inputs that hold streams of segments."""
        return frozenset[str]().union(*(each.streams for each in self.inputs))

    @property
    def compares_two_texts(self) -> bool:
        """Whether the metric scores one output against one reference, with nothing else but the source."""
        return self.references and not (self.compares_systems or "doc_ids" in self.reads or self.streams)


def capabilities(metric: Union["Metric", type["Metric"]]) -> Capabilities:
    """Return the capabilities of a metric or a metric class.

    A class that declares none, such as sacrebleu's own, reads references and the context that its constructor names.

    >>> from sacrebleu.metrics import BLEU, TER
    >>> sorted(capabilities(BLEU).reads), capabilities(TER).higher_is_better
    (['trg_lang'], False)
    """
    for declared in (getattr(metric, "can", None), getattr(metric, "capabilities", None)):
        if isinstance(declared, Capabilities):
            return declared
    from sacrebleu.metrics.ter import TER

    cls = _class_of(metric)
    return Capabilities(reads=CONTEXT & parameters(cls).keys(), higher_is_better=not issubclass(cls, TER))


def own_prefixes(name: str, metric: type["Metric"]) -> tuple[str, ...]:
    """Return how the flags of a metric may begin."""
    return (f"--{name}-", *capabilities(metric).flags)


def checked_flags(name: str, metric: type["Metric"]) -> list[str]:
    """Return the names of the attributes of a metric's flags; raise CtxMetricsError if they cannot be added."""
    if not hasattr(metric, "add_arguments"):
        return []
    prefixes, trial = own_prefixes(name, metric), argparse.ArgumentParser(add_help=False).add_argument_group()
    try:
        metric.add_arguments(trial)
    except (Exception, SystemExit) as error:  # another package's code may raise anything
        raise CtxMetricsError(f"metric {name}: its flags cannot be added: {type(error).__name__}: {error}") from error
    for action in trial._group_actions:
        flags = action.option_strings or [action.dest]
        if not all(flag.startswith(prefixes) for flag in flags) or not action.dest.startswith(f"{name}_"):
            raise CtxMetricsError(
                f"metric {name}: its flag {'/'.join(flags)} must begin with --{name}- "
                f"(and its dest, if it names one, with {name}_)"
            )
    return [action.dest for action in trial._group_actions]


class MetricSettings(NamedTuple):
    """A metric that a run names, with arguments of its constructor.

    name    as it was named, such as slide:window=3
    """

    name: str
    cls: type["Metric"]
    own: Mapping[str, Any] = {}


def score_settings(cls: type["Metric"], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of a metric's constructor that can affect a score: those given, and the defaults of all others.

    >>> from sacrebleu.metrics import CHRF
    >>> score_settings(CHRF, {"beta": 3})["beta"], score_settings(CHRF, {})["word_order"]
    (3, 0)
    """
    usual = {name: each.default for name, each in parameters(cls).items() if each.default is not each.empty}
    return {name: value for name, value in {**usual, **given}.items() if name not in capabilities(cls).work}


def build(cls: type["Metric"], context: Context, settings: Mapping[str, Any] = {}) -> "Metric":
    """Build a metric from its settings and the context that it reads; settings override the context.

    Raises the errors of the metric.
    """
    return build_all([MetricSettings("", cls, settings)], context)[""]


def build_all(
    chosen: Iterable[MetricSettings], context: Context, reference: str = "", documents: bool = True
) -> dict[str, "Metric"]:
    """Build metrics, as build does, by name.

    Metrics with an `announce` method are built without the systems, and get them when all metrics are built.

    reference    how to give a reference, to say so if there is none and a metric needs one; "" for no such check
    documents    whether to give notice where every document has one segment, if a metric reads documents
    """
    metrics, chosen = {}, list(chosen)
    lacking = bool(reference) and not context.references
    if lacking:
        check_references(chosen, reference)
    for name, cls, settings in chosen:
        can = capabilities(cls)
        given = {key: value for key, value in context.inputs.items() if key in can.keywords}
        given |= {key: getattr(context, key) for key in can.reads}
        if is_stock(cls):
            _check_settings(cls, name, settings)
        with building(cls, name):
            metrics[name] = cls(**{"references": context.references, **given, **settings})
        can = capabilities(metrics[name])
        if lacking and can.references and not can.estimator:  # estimators raise their own error
            raise InputError(f"{name}: needs a reference: {reference}")
    stock = [name for name, cls, _ in chosen if is_stock(cls)]
    say_empty(context.references or (), stock)
    if documents and any("doc_ids" in capabilities(metric).reads for metric in metrics.values()):
        say_single(context.doc_ids, "no window holds two sentences, so each segment is scored without context")
    for metric in metrics.values():
        if hasattr(metric, "in_blocks"):
            metric.in_blocks = context.in_blocks
        if hasattr(metric, "announce"):
            metric.announce(context.systems)
        if entries := {**(context.read.signature if context.read else {}), **context.signature}:
            signed(metric, entries)
    return metrics


def is_stock(cls: type["Metric"]) -> bool:
    """Return whether a metric is sacrebleu's own."""
    return cls.__module__.startswith("sacrebleu.")


def _check_settings(cls: type["Metric"], name: str, settings: Mapping[str, Any]) -> None:
    """Raise InputError for a wrong setting of a metric of sacrebleu, whose constructor does not check them."""
    from sacrebleu.metrics import BLEU

    kinds = get_type_hints(cls.__init__)
    choices = {"tokenize": BLEU.TOKENIZERS, "smooth_method": BLEU.SMOOTH_DEFAULTS}
    least = {"max_ngram_order": 1, "char_order": 1, "word_order": 0, "beta": 0}  # and at most MOST_ORDER
    for key, value in settings.items():
        if key not in kinds:
            raise TypeError(f"{name}: unexpected setting {key!r}; it takes {', '.join(kinds)}")
        try:
            check_type(key, value, kinds[key])
        except InputError as error:
            raise InputError(error.what, about=name, fix=error.fix) from None
        if key in choices and value is not None and value not in choices[key]:
            raise InputError(f"{key} {value!r} is not one of {', '.join(choices[key])}", about=name)
        if key in least and value < least[key]:
            raise InputError(f"{key}={value} is not a whole number of at least {least[key]}", about=name)
        if key in least and value > MOST_ORDER:
            raise InputError(f"{key}={value} is too large", about=name, fix=f"give at most {MOST_ORDER:,}")


def check_references(chosen: Iterable[MetricSettings], reference: str) -> None:
    """Raise InputError for the first metric whose class needs a reference, in a run without any.

    reference    how to give a reference
    """
    for name, cls, _ in chosen:
        can = capabilities(cls)
        if can.references and not can.estimator and "sources" not in can.reads:
            raise InputError(f"{name}: needs a reference: {reference}")


def signed(metric: "Metric", entries: Mapping[str, Any]) -> None:
    """Add entries of the run to a metric's signature."""
    before = vars(metric).get("get_signature")
    known = before.entries if isinstance(before, _Signed) else {}
    vars(metric)["get_signature"] = _Signed(metric, {**known, **entries})


@dataclass(frozen=True)
class _Signed:
    """A metric's get_signature with more entries; it can be pickled with the metric."""

    metric: "Metric"
    entries: Mapping[str, Any]

    def __call__(self) -> Any:
        signature = type(self.metric).get_signature(self.metric)
        for key, value in self.entries.items():
            signature._abbr.setdefault(key, key[:2])
            signature.update(key, value)
        return signature


def with_lines(metric: MetricSettings, read: Callable[[str, str], Stream]) -> MetricSettings:
    """Return the metric with lines in place of the files that its flags name.

    read    returns a file's lines; it gets the flag and the path
    """
    files = {key: metric.own.get(key) for key in capabilities(metric.cls).line_files}
    lines = {
        key: [read(f"--{metric.name}-{key.replace('_', '-')}", path) for path in paths]
        for key, paths in files.items()
        if paths
    }
    return metric._replace(own={**metric.own, **lines}) if lines else metric


def with_inputs(
    context: Context,
    metrics: Iterable[MetricSettings],
    given: Mapping[FileInput, InputFiles],
    streams: "Callable[[FileInput, InputFiles], Sequence[Segments] | None]",
) -> Context:
    """Return the context with the inputs that the metrics read, computed once for all of them, such as round trips.

    streams    returns the lines of an input's files, or None if there are none
    """
    read = frozenset[str]().union(*(capabilities(each.cls).input_keywords for each in metrics))
    for each, of_input in given.items():
        if each.keywords.keys() & read:
            values = each.values(streams(each, of_input), of_input.settings, context)
            context = replace(context, inputs={**context.inputs, **values})
    return context


def say_unread(given: Mapping[str, str], metrics: Mapping[str, "Metric"], used: Collection[str] = ()) -> None:
    """Give notice of inputs that are given but read by no metric.

    given    the given inputs, in words, by the keyword that reads them
    used     keywords of inputs with another use
    """
    read = frozenset(used).union(*(capabilities(metric).keywords for metric in metrics.values()))
    for keyword, what in given.items():
        if keyword not in read:
            models: dict[str, list[str]] = {}
            for name, metric in metrics.items():
                if keyword in capabilities(_class_of(metric)).keywords:
                    models.setdefault(_shown_model(metric), []).append(name)
            why = [f"the model of {' and '.join(names)}{model} ignores it" for model, names in models.items()]
            notice("; ".join([f"none of the chosen metrics reads {what} ({', '.join(metrics)})", *why]))


def _class_of(metric: Union["Metric", type["Metric"]]) -> type["Metric"]:
    return metric if isinstance(metric, type) else type(metric)


def _shown_model(metric: "Metric") -> str:
    model = getattr(getattr(metric, "estimator", None), "model", None)
    if model is None:
        return ""
    return f" ({model.name}, English only)" if getattr(metric, "english_only", False) else f" ({model.name})"


@contextmanager
def building(cls: type["Metric"], name: str = "") -> Iterator[None]:
    """Construct a metric in the block: an exception of another package's constructor becomes a ModelError of one line, and
    that of a tokenizer of sacrebleu an InputError."""
    if cls.__module__.partition(".")[0] not in ("sacrebleu", "ctx_metrics"):
        from ..finite import of_package  # needs NumPy

        with of_package(cls.__name__.lower()):
            yield
        return
    try:
        yield
    except Exception as error:
        if isinstance(error, CtxMetricsError) or not of_tokenizer(error):
            raise
        raise tokenizer_error(error, name or cls.__name__.lower()) from error


def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Return a constructor's named parameters, including those of base classes to which it passes **keywords."""
    if declared := getattr(cls, "__signature__", None):
        return dict(declared.parameters)
    taken: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base) or base is object:
            continue
        own = inspect.signature(vars(base)["__init__"]).parameters
        for name, parameter in own.items():
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                taken.setdefault(name, parameter)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in own.values()):
            break
    return taken
