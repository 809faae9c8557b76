"""BERTScore: precision, recall and F1 over contextual embeddings (Zhang et al. 2020), equal to the bert-score package."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..engine_options import Layers
from ..scoring.context import Stream
from ..scoring.token_matching import (
    EncoderSettings,
    Matching,
    PairMatch,
    Side,
    TextSettings,
    TokenMatchingMetric,
    layers_setting,
    paper_model_setting,
)
from ..settings import setting

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

    from ..engine.pairs import EncodedText
    from .keywords import BERTScoreKeywords, References, Systems

SCORES = ("p", "r", "f1")


def idf_setting(default: str) -> Any:
    return setting(
        "Weights of tokens: none (all equal), plus-one (bert-score's log((L+1)/(c+1))), or paper (log(L/c)), where "
        "c of the L reference texts contain the token.",
        default,
        choices=("none", "plus-one", "paper"),
    )


@dataclass(frozen=True)
class WeightSettings(EncoderSettings):
    """The hidden states compared, and the weights of tokens. To `idf`, each reference of each segment is one text;
    with "paper", a token that is in no text has the weight log L."""

    model: str | None = paper_model_setting("bert-score's default of April 2020")
    layers: Layers | None = layers_setting(", bert-score's for paper")
    idf: str = idf_setting("none")


@dataclass(frozen=True)
class PartSettings(WeightSettings):
    """The same, and which of the three scores counts."""

    score: str = setting("Precision, recall, or their harmonic mean.", "f1", choices=SCORES)


@dataclass(frozen=True)
class BERTScoreSettings(TextSettings, PartSettings):
    """Settings of BERTScore."""


class BERTScore(TokenMatchingMetric):
    """Precision, recall or F1 of tokens matched greedily by cosine; averaged over segments, x100.

    Scores are in [-100, 100], and identical texts score 100. Special tokens have no weight, but tokens of the other text can
    match them, as in bert-score. A segment whose hypothesis or reference has no tokens scores 0 and is counted.

    >>> round(BERTScore(target_lang="en").corpus_score(["The cat sat."], [["The cat sat."]]).score, 3)
    100.0
    """

    NAME = "BERTScore"
    Settings = BERTScoreSettings
    # bert-score's encoder and layer for each target language in April 2020
    PAPER_MODELS: ClassVar = {
        "en": ("FacebookAI/roberta-large", "17"),
        "zh": ("google-bert/bert-base-chinese", "8"),
        "": ("google-bert/bert-base-multilingual-cased", "9"),
    }

    if TYPE_CHECKING:

        def __init__(
            self, references: References = None, systems: Systems = (), **given: Unpack[BERTScoreKeywords]
        ) -> None: ...

    def _prepare(self) -> None:
        super()._prepare()
        self.signature |= {
            "part": self.settings.score,
            "idf": self.settings.idf,
        }  # sacrebleu's JSON already has a "score"
        if self.settings.idf != "none":
            why = "inverse document frequencies are counted over all references"
            self.can = replace(self.can, whole_corpus=why)

    def as_read(self, text: str) -> str:
        # as in bert-score: no white space around a text, but one space before it if a word's tokens depend on that
        text = text.strip()
        return f" {text}" if text and self.encoder.tokenizer.joins_spaces else text

    def weighed(self, text: "EncodedText") -> "tuple[torch.Tensor, np.ndarray]":
        return text.tokens, text_weights(text.ids, np.ones(self.encoder.config["vocab_size"]))

    def value_of(self, precision: np.ndarray, recall: np.ndarray) -> np.ndarray:
        if self.settings.score != "f1":
            return precision if self.settings.score == "p" else recall
        product = precision * recall
        return np.divide(2 * product, precision + recall, out=np.zeros(product.shape), where=~(product <= 0))

    def _matching(self, references: Sequence[Stream]) -> Matching:
        return partial(self.match, weights=self._token_weights(references))

    def match(
        self, hypothesis: "EncodedText", reference: "EncodedText", weights: np.ndarray | None = None
    ) -> PairMatch:
        if weights is None:
            weights = np.ones(self.encoder.config["vocab_size"])
        cosines = largest_cosines(hypothesis.tokens, reference.tokens)
        of_tokens = [text_weights(text.ids, weights) for text in (hypothesis, reference)]
        sides = [
            Side(own[1:-1], weight[1:-1].astype(np.float32)) if self.settings.score in (part, "f1") else None
            for own, weight, part in zip(cosines, of_tokens, SCORES[:2], strict=True)
        ]
        return PairMatch(greedy_match(*cosines, *of_tokens)[SCORES.index(self.settings.score)], *sides)

    def _token_weights(self, references: Sequence[Stream]) -> np.ndarray:
        words = self.encoder.config["vocab_size"]
        documents = [text for stream in references for text in stream if text is not None]
        if self.settings.idf == "none" or not documents:
            return np.ones(words)
        if len(documents) == 1:
            self._say("idf has little effect with one reference text: all its tokens are equally rare")
        ids = [text.ids for text in self.encoder.tokenizer(list(map(self.as_read, documents)), self.max_length)]
        return inverse_document_frequencies(ids, words, self.settings.idf)


def inverse_document_frequencies(documents: Sequence[np.ndarray], words: int, kind: str) -> np.ndarray:
    """Return the inverse document frequency of each token id, float64 [at least `words`], at least 0.

    The kind "plus-one" is bert-score's log((L + 1) / (c + 1)). "paper" is -log(c / L) (Moon, Cho and Park 2020; Zhang et
    al. 2020), which is undefined for tokens in no document; they get log L.

    documents    token ids of each of the L documents, at least one; c of them contain the token
    words        size of the vocabulary

    >>> inverse_document_frequencies([np.array([0, 2, 2]), np.array([0])], 4, "paper").round(3).tolist()
    [0.0, 0.693, 0.693, 0.693]
    >>> inverse_document_frequencies([np.array([0, 2, 2]), np.array([0])], 4, "plus-one").round(3).tolist()
    [0.0, 1.099, 0.405, 1.099]
    """
    count = np.bincount(np.concatenate([np.unique(ids) for ids in documents]), minlength=words)
    if kind == "plus-one":
        return np.log((len(documents) + 1) / (count + 1))
    return np.log(len(documents) / np.maximum(count, 1))


def text_weights(ids: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weights of a text's tokens, float64 [tokens], which sum to 1; the special tokens at both ends have 0.

    If all weights are 0, as for tokens that occur in all documents, all tokens but those at the ends get equal weights.

    ids        token ids, of which the first and last are special; these ids have weight 0 inside the text too
    weights    weight of each id, at least 0

    >>> text_weights(np.array([0, 2, 3, 1]), np.array([5., 5., 1., 3.])).tolist()
    [0.0, 0.25, 0.75, 0.0]
    >>> text_weights(np.array([0, 2, 3, 1]), np.zeros(4)).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    of_tokens = np.where((ids == ids[0]) | (ids == ids[-1]), 0.0, weights[ids])
    if not of_tokens.any():
        of_tokens[1:-1] = 1.0
    return of_tokens / of_tokens.sum()


def largest_cosines(hypothesis: "torch.Tensor", reference: "torch.Tensor") -> tuple[np.ndarray, np.ndarray]:
    """Return each hypothesis token's largest cosine with any reference token, and vice versa: two float32 [tokens].

    hypothesis, reference    fp32 tensors [tokens, width]; every token can be matched

    >>> import torch
    >>> hypothesis, reference = torch.tensor([[1., 0.]]), torch.tensor([[2., 0.], [3., 4.]])
    >>> [each.tolist() for each in largest_cosines(hypothesis, reference)]
    [[1.0], [1.0, 0.6000000238418579]]
    """
    import torch.nn.functional as F

    cosines = (F.normalize(hypothesis, dim=1) @ F.normalize(reference, dim=1).T).numpy()
    return cosines.max(axis=1), cosines.max(axis=0)


def greedy_match(
    hypothesis: np.ndarray, reference: np.ndarray, hypothesis_weights: np.ndarray, reference_weights: np.ndarray
) -> tuple[float, float, float]:
    """Return precision, recall and F1 of greedy matching (Zhang et al. 2020, section 3).

        P = sum_j w_j max_i cos(r_i, h_j)    R = sum_i w_i max_j cos(r_i, h_j)    F1 = 2 P R / (P + R)

    F1 is 0 unless P and R are both above 0 or both below 0, because there is no harmonic mean otherwise.

    hypothesis, reference    the largest cosines of their tokens, from largest_cosines
    ..._weights              float64 arrays [tokens] that sum to 1

    >>> [round(value, 4) for value in greedy_match(np.ones(1), np.array([1, .6]), np.ones(1), np.array([.5, .5]))]
    [1.0, 0.8, 0.8889]
    """
    precision = float(hypothesis_weights @ hypothesis)
    recall = float(reference_weights @ reference)
    product = precision * recall
    return precision, recall, 0.0 if product <= 0 else 2 * product / (precision + recall)  # NaN stays NaN
