"""One run: from the texts that a front end has read to the scores of its systems, in one order for all front ends."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine_options import EngineOptions
from ..errors import InputError
from ..language import say_country
from ..scoring.base import ContextMetric
from ..scoring.context import Context, MetricSettings, build_all, say_unread, with_inputs
from ..scoring.inputs import FileInput, InputFiles
from ..scoring.scores import Scores, all_scores
from ..system_names import names_fault
from ..wording import worded
from .references import ReferenceKind, kind_entry
from .texts import Texts
from .wrappers import WrapperSettings, checks_of, row_reader_of, text_reader_of, wrapped, wraps_of

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

    from ..scale.corpora import InBlocks


class RunScores(NamedTuple):
    """The scores of a run's systems, [metrics][systems], on each metric's own scale, and the metrics, by name."""

    context: Context
    metrics: "Mapping[str, Metric]"
    scores: Sequence[Sequence[Scores]]


@dataclass(frozen=True)
class Run:
    """One run: it aligns and checks the texts, builds the metrics, and scores the systems.

    metrics        as the user chose them
    wrappers       the settings of those that the user asks for
    inputs         the settings of further inputs that a command line gives
    keywords       further keywords of metrics
    text_checks    whether to give notice of odd texts
    give_references    how to give references, if not by -r or by the keyword
    """

    texts: Texts
    metrics: Sequence[MetricSettings]
    wrappers: WrapperSettings
    engine: EngineOptions = EngineOptions()
    kind_of_references: ReferenceKind | None = None
    inputs: Mapping[FileInput, InputFiles] = field(default_factory=dict)
    keywords: Mapping[str, Any] = field(default_factory=dict)
    text_checks: bool = True
    give_references: str = ""

    @cached_property
    def aligned(self) -> Texts:
        """The aligned and checked texts.

        Raises InputError for streams of different lengths, for names and document ids that cannot be used, for texts that a
        reader cannot read, and for a segment without a reference that a metric of sacrebleu would read.
        """
        texts = self.texts
        for language in filter(None, (texts.source_lang, texts.target_lang)):
            say_country(language)
        if fault := names_fault(texts.names, len(texts.systems), worded("--names", "hypotheses")):
            raise InputError(fault)
        reader = (row_reader_of if texts.rows else text_reader_of)(self.wrappers)
        if texts.read is None and reader:
            read = reader(texts, self.engine)
            texts = replace(texts, systems=read.systems, read=read)
        texts.check(self.text_checks)
        if not texts.rows:
            stock = [each.name for each in self._wrapped if not issubclass(each.cls, ContextMetric)]
            _check_references(texts.references, stock)
        return texts

    def check(self) -> Texts:
        """Align and check the texts, before anything is built."""
        return self.aligned

    @cached_property
    def context(self) -> Context:
        """The texts, and all else that metrics are built with.

        Raises InputError as aligned does, and for texts that an input cannot read.
        """
        texts = self.aligned
        context = Context(
            texts.references,
            texts.systems,
            texts.sources,
            texts.doc_ids,
            texts.source_lang,
            texts.target_lang,
            self.engine,
            self.keywords,
            read=texts.read,
            signature=kind_entry(self.kind_of_references, texts.references),
            names=texts.names,
        )
        return with_inputs(context, self._wrapped, self.inputs, lambda each, _: texts.inputs.get(each.name))

    @cached_property
    def _wrapped(self) -> list[MetricSettings]:
        return wrapped(self.metrics, wraps_of(self.wrappers))

    def build(self, in_blocks: "InBlocks | None" = None, documents: bool = True) -> "dict[str, Metric]":
        """Build all metrics, before the first one scores, so that inputs that they share are computed once.

        documents    whether to give notice where a metric reads documents, but every document has one segment
        """
        context = replace(self.context, in_blocks=in_blocks)
        metrics = build_all(self._wrapped, context, self.give_references or give_references(), documents)
        if self.texts.rows:
            return metrics
        for check in checks_of(self.wrappers, self.texts.files):
            check(metrics, context.names)
        return metrics

    def scores(
        self, in_blocks: "InBlocks | None" = None, *, documents: bool = True, used: Collection[str] = ()
    ) -> RunScores:
        """Score all systems with all metrics. Raises the errors of the metrics, which include InputError and ModelError.

        documents    whether scores of documents are wanted, if there are any
        used         keywords of inputs with another use than to be read by metrics
        """
        metrics, context = self.build(in_blocks), self.context
        say_unread(self.texts.given, metrics, used)
        doc_ids = context.doc_ids if documents else None
        return RunScores(context, metrics, all_scores(metrics.values(), context.systems, doc_ids))


def give_references() -> str:
    return worded("give -r FILE", "give references")


def _check_references(references: Sequence[Sequence[str | None]], stock: Sequence[str]) -> None:
    """Raise InputError if a segment has no reference, which sacrebleu's own metrics (`stock`) cannot read."""
    of_segments = enumerate(zip(*references, strict=True), 1)
    missing = next((i for i, texts in of_segments if all(text is None for text in texts)), None)
    if missing and stock:
        fix = "leave such segments out, or choose other metrics"
        raise InputError(f"references: segment {missing} has none, which {', '.join(stock)} cannot score", fix=fix)
