"""What one run knows, what a metric declares, and the one way to make a metric of both."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Union

from ..engine.options import EngineOptions
from .inputs import Input, Keyword

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

Stream = Sequence[str | None]


@dataclass(frozen=True)
class Context:
    """What one run knows beside the hypotheses that are scored. Every stream has one text a segment.

    references         streams of references, in which None marks a missing one; None: they are given when scoring
    systems            the hypotheses of all systems that will be scored, so that one pass serves all
    sources            source segments, or None
    doc_ids            document id of each segment, or None; a document is a run of equal ids
    source_lang, target_lang    language codes such as "de", or None where unknown
    engine             device, number format, batch size
    inputs             what else metrics read, by keyword (see run.inputs)
    in_blocks          what scores corpora block by block (scale.corpora.InBlocks), or None
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

    @property
    def trg_lang(self) -> str:
        """The target language as sacrebleu's BLEU takes it: by its own name, "" where unknown."""
        return self.target_lang or ""


CONTEXT = frozenset(each.name for each in fields(Context)) - {"references", "inputs", "in_blocks"} | {"trg_lang"}


@dataclass(frozen=True)
class Capabilities:
    """What a metric can do and what it needs: one value a class, and one a metric whose settings or model narrow it.

    reads               the fields of Context that it reads beside the references
    inputs              what else it reads
    required            those of `reads` that it cannot do without
    references          whether it reads references
    estimator           whether a learned model of quality gives its values, which --model of `ctx-metrics score` names
    compares_systems    whether a system's score depends on the other systems' outputs
    whole_corpus        whether a segment's row depends on segments of other documents, in words why; "" where it does not
    dependent_rows      whether segments share scores, so that resampled segments give intervals that are too small
    higher_is_better    whether a larger score is the better one
    line_files          settings whose flags name files with one line a segment
    flags               what flags of its own begin with, beside --NAME-
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
    flags: tuple[str, ...] = ()

    @property
    def input_keywords(self) -> dict[str, Keyword]:
        """The keywords of its inputs."""
        return {name: keyword for each in self.inputs for name, keyword in each.keywords.items()}

    @property
    def keywords(self) -> frozenset[str]:
        """All that its constructor takes beside its settings and the references."""
        return self.reads | self.input_keywords.keys()

    @property
    def streams(self) -> frozenset[str]:
        """Those of its inputs' keywords that hold streams of segments."""
        return frozenset[str]().union(*(each.streams for each in self.inputs))


def capabilities(metric: Union["Metric", type["Metric"]]) -> Capabilities:
    """The capabilities of a metric or of its class.

    A class that declares none, such as sacrebleu's own, reads what its constructor names, and references.

    >>> from sacrebleu.metrics import BLEU, TER
    >>> sorted(capabilities(BLEU).reads), capabilities(TER).higher_is_better
    (['trg_lang'], False)
    """
    declared = getattr(metric, "capabilities", None)
    if isinstance(declared, Capabilities):
        return declared
    from sacrebleu.metrics.ter import TER

    cls = metric if isinstance(metric, type) else type(metric)
    return Capabilities(reads=CONTEXT & parameters(cls).keys(), higher_is_better=not issubclass(cls, TER))


def build(cls: type["Metric"], context: Context, settings: Mapping[str, Any] = {}) -> "Metric":
    """Make a metric from its settings and from what it reads of a context; a setting goes before the context's value.

    Raises what the metric raises.
    """
    [metric] = build_all([(cls, settings)], context)
    return metric


def build_all(chosen: Iterable[tuple[type["Metric"], Mapping[str, Any]]], context: Context) -> list["Metric"]:
    """Make the metrics of (class, settings), as build makes one.

    The systems are announced, when all are made, to the metrics that take them so; these are made without them.
    """
    metrics = []
    for cls, settings in chosen:
        can = capabilities(cls)
        reads = can.reads - ({"systems"} if hasattr(cls, "announce") else set())
        given = {key: getattr(context, key) for key in reads}
        given |= {key: context.inputs[key] for key in can.input_keywords if key in context.inputs}
        with _building(cls):
            metrics.append(cls(**{"references": context.references, **given, **settings}))
    for metric in metrics:
        if hasattr(metric, "in_blocks"):
            metric.in_blocks = context.in_blocks
        if hasattr(metric, "announce"):
            metric.announce(context.systems)
    return metrics


def _building(cls: type["Metric"]) -> AbstractContextManager:
    """Within it, whatever another package's constructor raises is a ModelError of one line."""
    if cls.__module__.partition(".")[0] in ("sacrebleu", "ctx_metrics"):
        return nullcontext()
    from .finite import of_package  # needs NumPy

    return of_package(cls.__name__.lower())


def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Returns what a class's constructor takes by name, also of the bases' when it passes **keywords on to them."""
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
