"""DocCOMET: a COMET model that also reads the preceding sentences (Vernikos, Thompson, Mathur and Federico 2022)."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..corpus import Corpus
from ..errors import InputError
from ..flag_types import Whole
from ..models.estimator import Example
from ..models.hub import EMBEDDED
from ..paths import Reads
from ..scoring.base import SystemResult
from ..scoring.context import Stream
from ..settings import setting
from ..windows import Window
from ..wording import setting_named
from .comet import CHECKPOINT, COMET, EMBEDDED_NAMES
from .estimated import EstimatorSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..models.estimator import Estimator
    from .keywords import DocCOMETKeywords, References, Systems


@dataclass(frozen=True)
class DocCOMETSettings(EstimatorSettings):
    model: str | None = setting(f"{CHECKPOINT}. (It must use average pooling)", type=Reads(str), metavar="MODEL")
    context: Whole = setting("Maximum number of preceding sentences to put before each sentence.", 2)

    def __post_init__(self):
        if self.model in EMBEDDED_NAMES:
            raise InputError(
                f"doccomet: the {self.model or EMBEDDED} model cannot read document context",
                fix="name a COMET checkpoint with "
                f"average pooling, such as {setting_named('--doccomet-model', 'model', 'Unbabel/wmt22-comet-da')}",
            )
        if self.context < 0:
            raise InputError(
                f"doccomet: context {self.context}: the number of sentences before each one must be at least 0"
            )


class DocCOMET(COMET):
    """COMET of sentences, with the sentences before them in the document as context; averaged over segments, x100.

    The model's separator token joins the sentences. The context of a source is sources, and that of a reference
    references. The context of a hypothesis is references if the model reads them, otherwise the system's own sentences.
    The model encodes all tokens, but averages only the first one and those of the sentence itself. It must therefore be
    a RegressionMetric or ReferencelessRegression checkpoint with average pooling. Texts that are too long are cut at the
    end, where the sentence itself is, and counted; with on_long="error" they are refused.

    Without document ids, all segments are one document, and a notice says so.
    """

    NAME = "DocCOMET"
    Settings = DocCOMETSettings
    capabilities = replace(COMET.capabilities, reads=COMET.capabilities.reads | {"doc_ids"})

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[DocCOMETKeywords]): ...

    def _choice(self) -> tuple[str | None, str | None]:
        return self.settings.model, None

    def _take_model(self) -> None:
        super()._take_model()
        self.signature.update(docs="none" if self._context.doc_ids is None else "ids", context=self.settings.context)

    def _load_estimator(self) -> "Estimator":
        from ..models.load import load_estimator

        return load_estimator(name=self.settings.model, options=self._context.engine, context=True)

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        if corpora[0].doc_ids is None:
            self.say_one_document()
        self._starts = {i: start for start, end in corpora[0].documents() for i in range(start, end)}
        return super()._score(corpora)

    def _examples(self, corpus: Corpus, window: Window, inputs: str) -> list[Example]:
        start, separator = self._starts[window.start], f" {self.estimator.separator} "
        return context_examples(
            corpus,
            window.start,
            document_start=start,
            context=self.settings.context,
            separator=separator,
            inputs=inputs,
        )


def context_examples(
    corpus: Corpus, segment: int, *, document_start: int, context: int, separator: str, inputs: str
) -> list[Example]:
    """Return one example for each reference of a segment, or one if the model reads none.

    Every text is preceded by up to `context` sentences of its document.

    >>> corpus = Corpus(["h1", "h2"], [["r1", "r2"]], ["s1", "s2"])
    >>> context_examples(corpus, 1, document_start=0, context=2, separator=" </s> ", inputs="mt+src+ref")
    [Example(hypothesis='r1 </s> h2', reference='r1 </s> r2', source='s1 </s> s2', candidates=())]
    """
    before = range(max(document_start, segment - context), segment)

    def joined(previous: Stream, text: str) -> str:
        # lines that a reference lacks are left out of the context
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
