"""The interface through which `comet`, `slide` and other metrics use a learned model of translation quality."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from .embedded import FOLDER
from .hub import ResolvedModel

if TYPE_CHECKING:
    from ..engine.encoder import TextEncoder
    from ..engine.tokenizer import TokenIds

EMBEDDED_FOLDER = FOLDER / "regressor"
EMBEDDED_UNIFIED = FOLDER / "unified"
EMBEDDED_REFERENCELESS = FOLDER / "referenceless"


class Example(NamedTuple):
    """One input that a model scores: a segment, or a window of joined segments. Unused texts are None.

    candidates    other translations of the source, for models that compare the hypothesis with them
    """

    hypothesis: str
    reference: str | None = None
    source: str | None = None
    candidates: tuple[str, ...] = ()

    def texts(self, inputs: str) -> list[str]:
        """The texts that `inputs` names, in its order; raises KeyError if one is None.

        >>> Example("mt", source="src").texts("mt+src")
        ['mt', 'src']
        """
        places = _places(inputs)
        three = self[:3]
        texts = [text for place in places if (text := three[place]) is not None]
        if len(texts) < len(places):
            raise KeyError(inputs)
        return texts


@cache
def _places(inputs: str) -> list[int]:
    """The indices, in an Example, of the texts that `inputs` names."""
    return [("mt", "ref", "src").index(name) for name in inputs.split("+")]


class ErrorSpan(NamedTuple):
    """An error that a model marks in the hypothesis, at the characters from start to end - 1.

    text          the span's tokens, decoded
    severity      minor, major or critical
    confidence    mean probability of its tokens' labels, 0-1
    """

    text: str
    severity: str
    confidence: float
    start: int
    end: int


class Estimate(NamedTuple):
    """A model's result for one example.

    value    the score on the model's own scale, mostly 0-1
    cut      whether a text was cut to the length that the model reads
    empty    whether a text has no tokens
    parts    named parts of the value, for models that have them (src, ref, unified, mqm)
    spans    errors marked in the hypothesis; None if the model marks none or was not asked to
    untranslated    whether the hypothesis cannot be a translation, and so has the fixed value of such texts
    """

    value: float
    cut: bool
    empty: bool
    parts: Mapping[str, float] = {}
    spans: list[ErrorSpan] | None = None
    untranslated: bool = False


class Estimator(ABC):
    """A learned model of translation quality.

    inputs               the texts that it reads, such as "mt+ref" or "mt+src"
    choices              the values that `inputs` can have on loading, if there is a choice
    model                where its weights come from
    encoder              turns texts into token ids and hidden states
    english_only         whether it reads only English
    empty_value          the value of an example with an empty text; None: the model's own value for it
    untranslated_value   the value of a hypothesis that cannot be a translation; None: the model's own value for it
    max_length, limit    most tokens that it reads, as a number for the signature and in words
    dtype                number format of its encoder
    candidates           how many candidates it reads besides an example's other texts
    shares_texts         whether each text is read by itself, so that systems share the readouts of a reference
    lower_is_better      whether lower values are better
    learned_from         source and target languages of the judgements that it learned from; None: unknown
    title                words that tables add to the metric's name; "" if the name says enough
    """

    inputs: str
    choices: Sequence[str] = ()
    model: ResolvedModel
    encoder: "TextEncoder"
    english_only: bool
    empty_value: float | None
    untranslated_value: float | None = None
    max_length: int
    limit: str
    dtype: str
    candidates: int = 0
    shares_texts: bool = True
    learned_from: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None)
    lower_is_better: bool = False
    title: str = ""

    @abstractmethod
    def estimate(self, examples: Sequence[Example], label: str, unit: str = "segment") -> list[Estimate]:
        """The estimate of each example; it does not depend on the order or on the other examples.

        label    the label of the progress bar
        unit     the kind of the examples: "segment" or "window"
        """

    def is_cut(self, examples: Sequence[Example]) -> list[bool]:
        """Whether a text of each example is longer than the model reads, determined without scoring it."""
        tokens = self._tokenized(examples, self.max_length)
        return [any(tokens[text].cut for text in example.texts(self.inputs)) for example in examples]

    def token_counts(self, examples: Sequence[Example]) -> list[int]:
        """The total number of tokens of each example's texts, before they are cut, without special tokens."""
        tokens = self._tokenized(examples)
        counts = {text: ids.content + ids.cut for text, ids in tokens.items()}
        return [sum(counts[text] for text in example.texts(self.inputs)) for example in examples]

    def _tokenized(self, examples: Sequence[Example], most: int | None = None) -> "dict[str, TokenIds]":
        """The token ids of the examples' texts, cut to `most` content tokens."""
        texts = list(dict.fromkeys(text for example in examples for text in example.texts(self.inputs)))
        return dict(zip(texts, self.encoder.tokenizer(texts, most), strict=True))

    @property
    def separator(self) -> str | None:
        """The token that joins sentences of context, as written into a text; None if the model reads no context."""
        return None

    @property
    @abstractmethod
    def special_tokens(self) -> int:
        """The number of tokens that are added for one example: special ones, and a tag that states the language."""

    def signature(self) -> dict:
        """The model's entries in the signature: model, rev, ckpt, inputs, dtype, maxlen."""
        from ..engine.device import number_format  # the encoder has imported torch

        of_model = self.model.signature()
        dtype = number_format(self.dtype, self.encoder.device)
        return {**of_model, "inputs": self.inputs, "dtype": dtype, "maxlen": self.max_length}
