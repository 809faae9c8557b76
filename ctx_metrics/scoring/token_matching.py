"""Metrics over a general-purpose encoder, and those that match the tokens of two texts by its hidden states."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..corpus import Corpus
from ..engine_options import Layers
from ..errors import InputError
from ..language import guard_multilingual, primary
from ..settings import setting
from ..wording import name_the_language
from .base import ContextMetric, SystemResult, model_setting, multiref_setting
from .context import Capabilities, Stream
from .inputs import Input, Keyword
from .results import places_of_pairs, results_of_pairs

if TYPE_CHECKING:
    import torch

    from ..engine.pairs import EncodedText
    from ..models.hub import ResolvedModel


def encoder_setting(what: str) -> Any:
    return model_setting(f"embedded, multilingual, {what}", "multilingual if -l names another language, else embedded")


class EncoderMetric(ContextMetric):
    """A metric over an encoder: the embedded one, which reads English, the multilingual one, or any other."""

    takes_multilingual = True
    model: "ResolvedModel"

    def _take(self, model: "ResolvedModel") -> None:
        self.model, self.english_only = model, model.embedded
        if model.multilingual:
            guard_multilingual(self.NAME.lower(), self.named("model"), self.asked, self._context.target_lang)
        self._guard_language()


class Side(NamedTuple):
    """The tokens of one text of a pair, without the special tokens at both ends.

    cosines    float32 [tokens]: each token's largest cosine with any token of the other text
    weights    float32 [tokens]: each token's weight in the mean of the cosines; they sum to 1
    """

    cosines: np.ndarray
    weights: np.ndarray


class PairMatch(NamedTuple):
    """The value of a pair (hypothesis, reference), and its two sides; a side that does not affect the value is None."""

    value: float
    hypothesis: Side | None
    reference: Side | None


class SegmentMatch(NamedTuple):
    """How a segment's hypothesis matches the reference with the best value; `number` is that reference, from 0."""

    number: int
    pair: PairMatch


def of_segments(
    places: Sequence[tuple[int, int, int]], pairs: Sequence[PairMatch | None], shape: tuple[int, int]
) -> list[list[SegmentMatch | None]]:
    """Return the match with the best reference as [systems][segments]; None where no pair has a value.

    places    (system, segment, reference) numbers of each pair
    shape     (number of systems, number of segments)

    >>> pairs = [PairMatch(value, None, None) for value in (0.5, 0.9)]
    >>> [[match]] = of_segments([(0, 0, 0), (0, 0, 1)], pairs, (1, 1))
    >>> match.number
    1
    """
    found: list[list[SegmentMatch | None]] = [[None] * shape[1] for _ in range(shape[0])]
    for (system, i, k), pair in zip(places, pairs, strict=True):
        best = found[system][i]
        if pair is not None and (best is None or pair.value > best.pair.value):
            found[system][i] = SegmentMatch(k, pair)
    return found


# whether to keep how well each token matched
EXPLAIN = Input({"explain": Keyword(bool, False)})

# The layers with the best segment-level Pearson correlation on WMT15/16 DA; see docs/bertr.md and docs/bertscore.md.
EMBEDDED_LAYER, MULTILINGUAL_LAYER = "4", "7"
Matching = Callable[["EncodedText", "EncodedText"], PairMatch]


@dataclass(frozen=True)
class EncoderSettings:
    """The encoder and the layers whose states are compared; metrics name their "paper" model and their default layers."""

    model: str | None = None
    layers: Layers | None = None


@dataclass(frozen=True)
class TextSettings:
    """How much of the texts is read, and which reference counts."""

    max_length: int | None = setting(
        "Maximum number of tokens in each text; longer texts are truncated and counted. (Default: the model's limit)",
        metavar="N",
    )
    multiref: str = multiref_setting()


def paper_model_setting(paper: str) -> Any:
    return encoder_setting(f"paper ({paper} for the target language), a folder, or a hub name[@revision]")


def layers_setting(of_paper: str = "") -> Any:
    return setting(
        "A layer number, several to average (3,4,5), mean, or concat_last4. "
        f"(Default: {EMBEDDED_LAYER} for embedded, {MULTILINGUAL_LAYER} for multilingual{of_paper}, mean for any other)",
        metavar="LAYERS",
    )


class TokenMatchingMetric(EncoderMetric):
    """A value of each pair (hypothesis, reference) from the hidden states of their tokens, each text read alone.

    Subclasses set NAME, Settings of EncoderSettings and TextSettings, and PAPER_MODELS, and write `match`.
    A segment whose hypothesis or reference has no tokens scores 0 and is counted.
    """

    capabilities = Capabilities(reads=frozenset({"target_lang", "engine"}), inputs=(EXPLAIN,))
    # by target language ("" for any other): hub name and layer
    PAPER_MODELS: ClassVar[dict[str, tuple[str, str | None]]]

    def _prepare(self) -> None:
        from ..engine.device import number_format
        from ..engine.encoder import layer_mixes, shared_encoder
        from ..models.hub import encoder_for, resolve

        name, engine = self.NAME.lower(), self._context.engine
        model, layers, max_length = self.settings.model, self.settings.layers, self.settings.max_length
        if model == "paper":
            if not self._context.target_lang:
                raise InputError(
                    f"{name}: {self.named('model', 'paper')} depends on the target language", fix=name_the_language()
                )
            model, layer = self.PAPER_MODELS.get(primary(self._context.target_lang), self.PAPER_MODELS[""])
            layers = layer if layers is None else layers
        if max_length is not None and max_length < 1:
            raise InputError(
                f"{name}: a maximum length of {max_length} tokens leaves nothing to compare", fix="give at least 1"
            )
        self._take(resolve(encoder_for(self._context.target_lang) if model is None else model))
        if layers is None:
            of_multilingual = MULTILINGUAL_LAYER if self.model.multilingual else "mean"
            layers = EMBEDDED_LAYER if self.model.embedded else of_multilingual
        self.encoder = shared_encoder(self.model.folder, engine)
        self.mixes = layer_mixes(layers, self.encoder.layers, name)
        self.encoder.require(self.mixes)
        dtype = number_format(engine.dtype, engine.device)
        if max_length is not None and max_length > self.encoder.max_content:
            self._say(f"the model reads at most {self.encoder.max_content} tokens per text, not {max_length}")
        self.max_length = min(max_length or self.encoder.max_content, self.encoder.max_content)
        self.signature = {
            **self.model.signature(),
            "inputs": "mt+ref",
            "layers": layers if layers in ("mean", "concat_last4") else ",".join(map(str, self.mixes[0])),
            "multiref": self.settings.multiref,
            "dtype": dtype,
            "maxlen": self.max_length,
            "long": "truncate",
        }

    @abstractmethod
    def match(self, hypothesis: "EncodedText", reference: "EncodedText") -> PairMatch:
        """Match an encoded hypothesis with an encoded reference."""

    def _matching(self, references: Sequence[Stream]) -> Matching:
        """Return `match`, completed with the values that the run's reference streams determine."""
        return self.match

    def weighed(self, text: "EncodedText") -> "tuple[torch.Tensor, np.ndarray]":
        """Return the states of the tokens that can be matched, fp32 [tokens, width], and their weights within their text,
        float64 [tokens]. The settings must give weights that do not depend on the whole corpus."""
        states = text.tokens[1:-1]
        return states, np.full(len(states), 1 / len(states))

    def value_of(self, precision: np.ndarray, recall: np.ndarray) -> np.ndarray:
        return recall

    def as_read(self, text: str) -> str:
        return text

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        from ..engine.pairs import PairResult, map_pairs, one_by_one

        matching, explain = self._matching(corpora[0].references), self._context.inputs["explain"]
        places = places_of_pairs([corpus.references for corpus in corpora])
        pairs = [
            (self.as_read(corpora[system].hypotheses[i]), self.as_read(corpora[system].references[k][i] or ""))
            for system, i, k in places
        ]
        kept = matching if explain else lambda *pair: matching(*pair)._replace(hypothesis=None, reference=None)
        results = map_pairs(
            self.encoder, pairs, self.mixes, one_by_one(kept), max_content=self.max_length, label=self.NAME.lower()
        )
        shape = len(corpora), len(corpora[0])
        valued = [
            PairResult(None if each.value is None else each.value.value, each.cut, each.empty) for each in results
        ]
        made = results_of_pairs(places, valued, shape, self.settings.multiref, self.max_length)
        if explain:
            of_systems = of_segments(places, [each.value for each in results], shape)
            made = [replace(each, matches=own) for each, own in zip(made, of_systems, strict=True)]
        return made

    def tokens(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return, for each text, the character range (start, end) of each token that is read, without special tokens."""
        read = [self.as_read(text) for text in texts]
        shifts = [
            len(own) - len(own.lstrip(" ")) - (len(text) - len(text.lstrip()))
            for own, text in zip(read, texts, strict=True)
        ]
        offsets = self.encoder.tokenizer.offsets(read, self.max_length)
        return [
            [(max(0, start - shift), end - shift) for start, end in of_text[1:-1]]
            for of_text, shift in zip(offsets, shifts, strict=True)
        ]
