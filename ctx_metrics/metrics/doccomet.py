"""DocCOMET: a COMET model that sees the sentences before each one (Vernikos, Thompson, Mathur and Federico 2022)."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..corpus import Corpus
from ..errors import InputError
from ..models.estimator import Example
from ..notices import notice
from ..run.context import Stream
from ..scoring.base import ContextScore, ContextSignature, SystemResult
from ..scoring.windowed import score_windows
from ..windows import Window
from .comet import COMET, add_model_arguments

CONTEXT = 2


class DocCOMETScore(ContextScore):
    """100 times the mean of the model's segment values."""


class DocCOMETSignature(ContextSignature):
    """As COMET's, with docs (ids, or none given) and context (sentences before each one)."""


class DocCOMET(COMET):
    """Mean over segments of a COMET model's value, where each text is read after the sentences before it.

    Takes what COMET takes but `inputs` and `spans`, `doc_ids` of run.context.Context (None: all segments are one document,
    with a notice), and
    context    most sentences of the same document that are put before each one (2)

    The sentences are joined by the model's separator token. What goes before the source are source sentences, before the
    reference reference sentences, and before the hypothesis the reference's where the model reads one, the hypothesis's own
    where it does not. All tokens are encoded, and only the first one and the sentence's own are averaged: the model must
    be a RegressionMetric or ReferencelessRegression checkpoint with average pooling. Texts beyond the model's length lose
    their end, which is the sentence itself; that is counted (or refused, on_long="error").

    Raises InputError for settings or texts that cannot be scored, ModelError for a model that cannot be used so.
    """

    NAME = "DocCOMET"
    _SIGNATURE_TYPE = DocCOMETSignature
    _SCORE_TYPE = DocCOMETScore
    capabilities = replace(COMET.capabilities, reads=COMET.capabilities.reads | {"doc_ids"})

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        model: str | None = None,
        context: int = CONTEXT,
        on_long: str = "truncate",
        multiref: str = "max",
        **of_run: Any,
    ):
        if model in (None, "embedded"):
            raise InputError(
                "doccomet: the embedded model cannot read document context; name a COMET checkpoint with average pooling, "
                "such as --doccomet-model Unbabel/wmt22-comet-da"
            )
        if context < 0:
            raise InputError(f"doccomet: context {context}: the number of sentences before each one must be at least 0")
        super().__init__(references, systems, model=model, on_long=on_long, multiref=multiref, **of_run)
        self.context = context
        self.settings.update(docs="none" if self._context.doc_ids is None else "ids", context=context)

    @staticmethod
    def _reading() -> dict:
        return {"context": True}

    @classmethod
    def add_arguments(cls, group: argparse._ArgumentGroup) -> None:
        """The flags --doccomet-* of the sacrebleu command."""
        add_model_arguments(group, "doccomet", choices=False)
        group.add_argument(
            "--doccomet-context",
            type=int,
            default=CONTEXT,
            metavar="N",
            help="Most sentences of the document put before each one. (Default: %(default)s)",
        )

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        if corpora[0].doc_ids is None:
            notice("doccomet: no document ids (--docids FILE), so all segments are taken as one document")
        starts = {i: start for start, end in corpora[0].documents() for i in range(start, end)}
        separator = f" {self.estimator.separator} "

        def examples_of(corpus: Corpus, window: Window, inputs: str) -> list[Example]:
            return context_examples(corpus, window.start, starts[window.start], self.context, separator, inputs)

        segments = [Window(i, i + 1, 1.0) for i in range(len(corpora[0]))]
        windows = [segments] * len(corpora)
        return score_windows("doccomet", self.estimator, corpora, windows, self.multiref, self.on_long, examples_of)


def context_examples(
    corpus: Corpus, segment: int, document_start: int, context: int, separator: str, inputs: str
) -> list[Example]:
    """The example of one segment for each reference that it has, with up to `context` sentences before every text.

    >>> corpus = Corpus(["h1", "h2"], [["r1", "r2"]], ["s1", "s2"])
    >>> context_examples(corpus, 1, 0, 2, " </s> ", "mt+src+ref")
    [Example(hypothesis='r1 </s> h2', reference='r1 </s> r2', source='s1 </s> s2')]
    """
    before = range(max(document_start, segment - context), segment)

    def joined(previous: Stream, text: str) -> str:
        # a reference can lack a line; its context is then what is there
        return separator.join([*(line for i in before if (line := previous[i]) is not None), text])

    source = None if corpus.sources is None else joined(corpus.sources, corpus.sources[segment])
    hypothesis = corpus.hypotheses[segment]
    if "ref" not in inputs:
        return [Example(joined(corpus.hypotheses, hypothesis), None, source)]
    return [
        Example(joined(stream, hypothesis), joined(stream, reference), source)
        for stream in corpus.references
        if (reference := stream[segment]) is not None
    ]
