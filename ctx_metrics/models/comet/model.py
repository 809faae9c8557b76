"""COMET models (Rei et al. 2020 and its successors) as estimators, on our own engine.

Every model pools an encoder's hidden states into vectors and gives them to a feed-forward head:
  RegressionMetric          head(h, r, h*r, |h-r|, h*s, |h-s|)    of separately encoded hypothesis, reference, source
  ReferencelessRegression   head(h, s, h*s, |h-s|)
  PolyCandMetric            the same, and for each candidate c, another translation of the source, c, c*s, |c-s|, c*h, |c-h|;
                            with a reference, then r, r*h, |r-h|, and r*c, |r-c| for each candidate   (Züfle et al. 2025)
  RankingMetric             1 / (1 + d), d the harmonic mean of the distances |h-s| and |h-r|   (no head)
  UnifiedMetric             head(first token of one sequence of hypothesis and source, reference or both); with all three,
                            the mean over (mt, src), (mt, ref) and (mt, src, ref)   (UniTE, Wan et al. 2022); the head of our
                            own models reads the mean over tokens, and how well mt's tokens match those of the other texts
  XCOMETMetric              a weighted sum of the same three, each at most 1, and of an MQM score computed from the error
                            spans that the model marks   (Guerreiro et al. 2024)
"""

import math
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from ...corpus import is_blank
from ...engine.device import PendingCopy, in_turn, send
from ...engine.encoder import TextEncoder
from ...engine.forward import ReadoutKey
from ...engine.matching import Matching
from ...engine.memory import LoadedModels
from ...engine.readout import PooledMix, TokenLabels
from ...engine.store import States, stacked
from ...engine.tokenizer import TextTokenizer, TokenIds
from ...engine_options import EngineOptions
from ...errors import InputError, ModelError
from ...notices import counted
from ...wording import worded
from ..estimator import ErrorSpan, Estimate, Estimator, Example
from .adapted import AdaptedCheckpoint, is_adapted, language_tag, plain_quotes
from .checkpoint import (
    HEAD_LAYER,
    INPUTS,
    POLYCAND,
    SEPARATORS,
    CometCheckpoint,
    Hyperparameters,
    activation,
    open_comet,
    place_of,
)

EXAMPLES_A_BLOCK, FIRST_BLOCK = 4096, 512
HEAD_BATCH = 1024
# XCOMET's weights for the regressions on (mt, src), (mt, ref), (mt, src, ref) and for the MQM score
XCOMET_WEIGHTS = (0.12, 0.33, 0.33, 0.22)
# For each example: the token sequences that the encoder reads, and their readouts.
Sequences = list[list[TokenIds]]
Read = list[list[States]]
Checkpoint = CometCheckpoint | AdaptedCheckpoint
PARTS = dict(zip(INPUTS, ("src", "ref", "unified"), strict=True))
# Without a reference, models may not know a copy of the source or a third language from a translation: such texts get the
# value of an empty one.
UNTRANSLATED = 0.0


class FeedForward:
    """A COMET head in fp32: linear layers, with an activation after each but the last. x [n, in] -> values [n]."""

    def __init__(self, tensors: dict[str, torch.Tensor], parameters: Hyperparameters, device: torch.device, file: Path):
        self.file = file
        self.numbers = sorted({int(layer[1]) for name in tensors if (layer := HEAD_LAYER.fullmatch(name))})
        try:
            self.layers = [
                tuple(tensors[f"estimator.ff.{number}.{kind}"].to(device) for kind in ("weight", "bias"))
                for number in self.numbers
            ]
        except KeyError as error:
            raise ModelError(f"{file} lacks the tensor {error}", fix="fetch it again") from error
        self.activation = activation(parameters.activations)
        self.final = activation(parameters.final_activation or "Identity")

    def check(self, width: int, most: int = 1) -> None:
        """Raise ModelError unless the layers fit one another and an input of this width, and give 1 to `most` outputs."""
        for number, (weight, bias) in zip(self.numbers, self.layers, strict=True):
            outputs = bias.numel()
            if number == self.numbers[-1] and not 1 <= outputs <= most:
                outputs = 1
            if tuple(weight.shape) != (outputs, width) or tuple(bias.shape) != (outputs,):
                name = f"estimator.ff.{number}"
                raise ModelError(
                    f"{self.file}: {name}.weight is {list(weight.shape)} and {name}.bias {list(bias.shape)}, where "
                    f"[{outputs}, {width}] and [{outputs}] are expected; is class_identifier right?"
                )
            width = outputs

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        for weight, bias in self.layers[:-1]:
            x = self.activation(F.linear(x, weight, bias))
        return self.final(F.linear(x, *self.layers[-1]))[:, 0]


class CometEstimator(Estimator):
    """The base of all COMET models: one encoder per process, tokenisation one block ahead of the encoder, an fp32 head."""

    empty_value: float | None = None
    readouts: list[ReadoutKey]

    def __init__(self, checkpoint: Checkpoint, encoder: TextEncoder, dtype: str):
        self.hyperparameters: Hyperparameters = checkpoint.hyperparameters
        self.encoder, self.dtype = encoder, dtype
        self.model = checkpoint.model
        self.file = checkpoint.file
        self.english_only = checkpoint.languages == ["en"]
        self.head = FeedForward(checkpoint.head, self.hyperparameters, encoder.device, checkpoint.file)
        # as in unbabel-comet: two less than max_position_embeddings, and for the content of each text four less again
        self.positions = checkpoint.config["max_position_embeddings"] - 2
        self.max_content = self.positions - 4

    def load(self, checkpoint: Checkpoint) -> None:
        """Load the weights while the checkpoint's file is being hashed."""
        self.encoder.require(self.readouts)
        self.encoder.load()
        checkpoint.release()
        self.model = checkpoint.resolved()

    @property
    def read(self) -> str:
        """The texts of an example that are read, in the form of `inputs`."""
        return self.inputs

    @abstractmethod
    def _sequences(self, examples: Sequence[Example]) -> Sequences:
        """The token sequences that the encoder reads for each example."""

    @abstractmethod
    def _values(self, examples: Sequence[Example], sequences: Sequences, states: Read) -> list[Estimate]:
        """The estimates, from the readouts of each example's sequences; the caller sets `cut` and `empty`."""

    @abstractmethod
    def _vectors(self, batch: Read) -> list[torch.Tensor]:
        """Stack the readouts of some examples into tensors, on the CPU."""

    @abstractmethod
    def _features(self, *read: torch.Tensor) -> torch.Tensor:
        """The head's input [n, in], from the tensors of `_vectors`, on the device."""

    @abstractmethod
    def _work(self, examples: Sequence[Example]) -> int:
        """The number of sequences that must be encoded for distinct examples."""

    def estimate(self, examples: Sequence[Example], label: str, unit: str = "segment") -> list[Estimate]:
        distinct = list(dict.fromkeys(examples))
        estimates_of: dict[Example, Estimate] = {}
        with self.encoder.progress(label, self._work(distinct)):
            for block, sequences in self._blocks(distinct):
                read = iter(
                    self.encoder.encode([each for of_example in sequences for each in of_example], self.readouts)
                )
                states = [list(islice(read, len(of_example))) for of_example in sequences]
                estimates = self._values(block, sequences, states)
                blank = {text: is_blank(text) for example in block for text in example.texts(self.read)}
                for example, of_example, estimate in zip(block, sequences, estimates, strict=True):
                    cut = any(sequence.cut > 0 for sequence in of_example)
                    empty = any(blank[text] for text in example.texts(self.read))
                    if empty and self.empty_value is not None:
                        parts = dict.fromkeys(estimate.parts, self.empty_value)
                        estimate = estimate._replace(value=self.empty_value, parts=parts)
                    estimates_of[example] = estimate._replace(cut=cut, empty=empty) if cut or empty else estimate
        return [estimates_of[example] for example in examples]

    def _scored(self, *read: torch.Tensor) -> torch.Tensor:
        """The values [n], from the tensors of `_vectors`, on the device."""
        return self.head(self._features(*read))

    def _regressed(self, states: Read) -> list[float]:
        @torch.inference_mode()
        def started(begin: int) -> PendingCopy:
            read = [send(tensor, self.encoder.device) for tensor in self._vectors(states[begin : begin + HEAD_BATCH])]
            return PendingCopy([self._scored(*read)])

        batches = ((begin, started(begin)) for begin in range(0, len(states), HEAD_BATCH))
        return [value for _, [found] in in_turn(batches) for value in found.tolist()]

    def _blocks(self, examples: list[Example]) -> Iterator[tuple[list[Example], Sequences]]:
        """Blocks of examples with their token sequences; the next block is tokenised while one is being encoded."""
        # starts small, so that a GPU does not wait until many texts are tokenised
        size = EXAMPLES_A_BLOCK if self.encoder.device.type == "cpu" else FIRST_BLOCK
        blocks, begin = [], 0
        while begin < len(examples):
            blocks.append(examples[begin : begin + size])
            begin, size = begin + size, min(2 * size, EXAMPLES_A_BLOCK)
        if len(blocks) < 2:
            yield from ((block, self._sequences(block)) for block in blocks)
            return
        with ThreadPoolExecutor(1) as ahead:
            pending = ahead.submit(self._sequences, blocks[0])
            for number, block in enumerate(blocks):
                sequences = pending.result()
                if number + 1 < len(blocks):
                    pending = ahead.submit(self._sequences, blocks[number + 1])
                yield block, sequences


class RegressionEstimator(CometEstimator):
    """RegressionMetric and ReferencelessRegression: texts are encoded separately and pooled.

    context    whether to pool only the tokens after a text's second-to-last separator (DocCOMET, Vernikos et al. 2022)
    """

    def __init__(self, checkpoint: Checkpoint, encoder: TextEncoder, dtype: str, context: bool = False):
        super().__init__(checkpoint, encoder, dtype)
        self.inputs = "mt+src+ref" if self._reads_references else "mt+src"
        if context and self.hyperparameters.pool != "avg":
            raise ModelError(
                f"{self.model.name} pools by {self.hyperparameters.pool}", fix="document context needs average pooling"
            )
        separator = encoder.tokenizer.separator if context else None
        self.max_length, self.limit = self.max_content, f"{self.max_content} tokens per text"
        self.pooled = pooled_mix(checkpoint, encoder.tokenizer.pad, separator)
        self.readouts = [self.pooled]
        self._check_head()

    @property
    def _reads_references(self) -> bool:
        return self.hyperparameters.class_identifier != "referenceless_regression_metric"

    def _check_head(self) -> None:
        self.head.check((4 if self.inputs == "mt+src" else 6) * self.encoder.width)

    @property
    def special_tokens(self) -> int:
        return 2 * len(self.inputs.split("+"))

    @property
    def separator(self) -> str:
        return self.encoder.tokenizer.separator_token

    def _work(self, examples: Sequence[Example]) -> int:
        return len({text for example in examples for text in example.texts(self.inputs)})

    def _sequences(self, examples: Sequence[Example]) -> Sequences:
        tokens = self._tokenized(examples, self.max_content)
        return [[tokens[text] for text in example.texts(self.inputs)] for example in examples]

    def _values(self, examples: Sequence[Example], sequences: Sequences, states: Read) -> list[Estimate]:
        return [Estimate(value, False, False) for value in self._regressed(states)]

    def _vectors(self, batch: Read) -> list[torch.Tensor]:
        return [stacked([of_example[k] for of_example in batch], self.pooled) for k in range(len(batch[0]))]

    def _features(self, *read: torch.Tensor) -> torch.Tensor:
        h, s, *r = read
        if r:
            return torch.cat([h, r[0], h * r[0], (h - r[0]).abs(), h * s, (h - s).abs()], 1)
        return torch.cat([h, s, h * s, (h - s).abs()], 1)


class RankingEstimator(RegressionEstimator):
    """RankingMetric: how near a hypothesis is to both its source and its reference, among vectors of separate texts."""

    def __init__(self, checkpoint: Checkpoint, encoder: TextEncoder, dtype: str, context: bool = False):
        super().__init__(checkpoint, encoder, dtype)
        if context:
            raise ModelError(f"{self.model.name} is a ranking model", fix="document context needs a regression model")

    def _check_head(self) -> None:
        """Do nothing: it has no head."""

    def _scored(self, *read: torch.Tensor) -> torch.Tensor:
        h, s, r = read
        # pairwise_distance adds 1e-6 to each difference, so that the distances of equal texts are not 0
        to_source, to_reference = F.pairwise_distance(h, s), F.pairwise_distance(h, r)
        return 1 / (1 + 2 * to_source * to_reference / (to_source + to_reference))


class PolyCandEstimator(RegressionEstimator):
    """PolyCandMetric: texts are encoded separately, and among them candidates, other translations of the source."""

    def __init__(self, checkpoint: Checkpoint, encoder: TextEncoder, dtype: str, context: bool = False):
        if context:
            raise ModelError(
                f"{checkpoint.model.name} compares a hypothesis with other translations",
                fix="document context needs a model that does not",
            )
        segments = checkpoint.hyperparameters.input_segments
        # the candidate mt2 is the first of an example
        self.places = [int(name[2:]) - 2 for name in segments if name not in ("mt", "src", "ref")]
        self.candidates = max(self.places, default=-1) + 1
        super().__init__(checkpoint, encoder, dtype)

    @property
    def _reads_references(self) -> bool:
        return "ref" in self.hyperparameters.input_segments

    def _check_head(self) -> None:
        candidates, with_reference = len(self.places), self._reads_references
        vectors = 4 + 5 * candidates + (3 + 2 * candidates) * with_reference
        # a head may also predict the scores of candidates, after that of the hypothesis
        self.head.check(vectors * self.encoder.width, 1 + self.candidates)

    def _texts(self, example: Example) -> list[str]:
        if len(example.candidates) < self.candidates:
            outputs = counted(self.candidates, "output", "outputs")
            raise InputError(
                f"{self.model.name} compares an output with {outputs} of other systems, which are not given here",
                fix="use ctx-metrics score",
            )
        return [*example.texts(self.inputs), *(example.candidates[place] for place in self.places)]

    def is_cut(self, examples: Sequence[Example]) -> list[bool]:
        return [any(tokens.cut for tokens in of_example) for of_example in self._sequences(examples)]

    def _work(self, examples: Sequence[Example]) -> int:
        return len({text for example in examples for text in self._texts(example)})

    def _sequences(self, examples: Sequence[Example]) -> Sequences:
        texts = [self._texts(example) for example in examples]
        distinct = list(dict.fromkeys(text for of_example in texts for text in of_example))
        tokens = dict(zip(distinct, self.encoder.tokenizer(distinct, self.max_content), strict=True))
        return [[tokens[text] for text in of_example] for of_example in texts]

    def _features(self, *read: torch.Tensor) -> torch.Tensor:
        number = len(read) - len(self.places)
        (h, s, *r), candidates = read[:number], read[number:]
        parts = [h, s, h * s, (h - s).abs()]
        for c in candidates:
            parts += [c, c * s, (c - s).abs(), c * h, (c - h).abs()]
        for each in r:
            parts += [each, each * h, (each - h).abs()]
            for c in candidates:
                parts += [each * c, (each - c).abs()]
        return torch.cat(parts, 1)


# the classes that read each text by itself, but for the regressions
SEPARATE = {"ranking_metric": RankingEstimator, POLYCAND: PolyCandEstimator}


class UnifiedEstimator(CometEstimator):
    """UnifiedMetric and XCOMETMetric: texts are read in one sequence and scored at its first token.

    inputs    None: all that the model takes; or mt+src or mt+ref for models that take both
    spans     whether to mark error spans as well (word-level models; XCOMET always does)
    target_lang    language of the hypotheses, for models that read a tag with it
    """

    shares_texts = False
    tag: str | None = None  # text that precedes each hypothesis; None: the model has learned no tags
    plain_quotes = False  # whether all styles of quotation marks are read as one

    def __init__(
        self,
        checkpoint: Checkpoint,
        encoder: TextEncoder,
        dtype: str,
        inputs: str | None,
        spans: bool,
        target_lang: str | None = None,
    ):
        super().__init__(checkpoint, encoder, dtype)
        parameters = self.hyperparameters
        self.xcomet = parameters.class_identifier == "xcomet_metric"
        takes = "+".join(name for name in ("mt", "src", "ref") if name in parameters.input_segments)
        self.inputs = inputs or takes
        self.choices = tuple(PARTS) if takes == "mt+src+ref" else (takes,)
        if self.inputs not in self.choices:
            raise ModelError(wrong_inputs(self.model.name, self.choices, self.inputs))
        if spans and not parameters.word_level:
            raise ModelError(f"{self.model.name} marks no error spans: it was trained without word labels")
        self.max_length = self.positions
        self.limit = f"{self.max_content} tokens per text, {self.positions} in total"
        self.pooled = pooled_mix(checkpoint, encoder.tokenizer.pad, None)
        self.labels = None
        if spans or self.xcomet:
            weight, bias = (checkpoint.head[f"hidden2tag.{kind}"].to(encoder.device) for kind in ("weight", "bias"))
            self.labels = TokenLabels(parameters.word_layer or 0, weight, bias)
        self.features, self.matching = None, None
        shares: Sequence[float] = [1.0] * len(PARTS)
        if isinstance(checkpoint, AdaptedCheckpoint):
            self.features, shares = checkpoint.matching, checkpoint.shares
            self.learned_from = checkpoint.source_languages, checkpoint.languages
            self.tag = language_tag(target_lang) if checkpoint.tagged else None
            self.plain_quotes = checkpoint.plain_quotes
            if self.inputs == "mt+src":
                self.untranslated_value = UNTRANSLATED
            self.empty_value = 0.0  # empty outputs were never judged, and the network scores them higher than bad ones
        # each combination of inputs that counts, and its share of the score
        self.combinations = {self.inputs: 1.0}
        if self.inputs == "mt+src+ref":
            self.combinations = {way: share for way, share in zip(PARTS, shares, strict=True) if share}
        if self.features is not None:
            separators = SEPARATORS[parameters.encoder_model]
            self.matching = Matching(self.features.layers, encoder.tokenizer.separator, separators)
        self.readouts = [each for each in (self.pooled, self.matching, self.labels) if each is not None]
        self.head.check(encoder.width + (self.features.number if self.features else 0))

    @property
    def special_tokens(self) -> int:
        separators = SEPARATORS[self.hyperparameters.encoder_model] * (len(self.inputs.split("+")) - 1)
        return 2 + separators + (self.encoder.tokenizer([self.tag])[0].content if self.tag else 0)

    def signature(self) -> dict:
        of_tag = {} if self.tag is None else {"tag": self.tag.partition(":")[0] or "none"}
        return {**super().signature(), **of_tag}

    @property
    def read(self) -> str:
        names = [name for way in self.combinations for name in way.split("+")]
        return "+".join(name for name in ("mt", "src", "ref") if name in names)

    def is_cut(self, examples: Sequence[Example]) -> list[bool]:
        return [any(sequence.cut for sequence in of_example) for of_example in self._sequences(examples)]

    def _work(self, examples: Sequence[Example]) -> int:
        return len(examples) * len(self.combinations)

    def _tokenized(self, examples: Sequence[Example], most: int | None = None) -> dict[str, TokenIds]:
        if not self.plain_quotes:
            return super()._tokenized(examples, most)
        read = {text: plain_quotes(text) for example in examples for text in example.texts(self.inputs)}
        return dict(zip(read, self.encoder.tokenizer(list(read.values()), most), strict=True))

    def _sequences(self, examples: Sequence[Example]) -> Sequences:
        if self.tag:
            examples = [example._replace(hypothesis=self.tag + example.hypothesis) for example in examples]
        tokens = self._tokenized(examples, self.max_content)
        reading = self.hyperparameters.encoder_model, self.encoder.tokenizer.pad, self.positions
        return [
            [joined([tokens[text] for text in example.texts(names)], *reading) for names in self.combinations]
            for example in examples
        ]

    def _values(self, examples: Sequence[Example], sequences: Sequences, states: Read) -> list[Estimate]:
        flat, step = self._regressed(states), len(self.combinations)
        values = [flat[i : i + step] for i in range(0, len(flat), step)]
        spans: Sequence[list[ErrorSpan] | None] = [None] * len(examples)
        if self.labels is not None:
            logits = [[read[self.labels] for read in of_example] for of_example in states]
            hypotheses = [example.hypothesis for example in examples]
            labels = self.hyperparameters.error_labels
            spans = decode_spans(
                hypotheses, logits, sequences, labels, tokenizer=self.encoder.tokenizer, max_content=self.max_content
            )
        return [self._estimate(of_example, marked) for of_example, marked in zip(values, spans, strict=True)]

    def _vectors(self, batch: Read) -> list[torch.Tensor]:
        rows = stacked([read for of_example in batch for read in of_example], self.pooled)
        return [rows] if self.features is None else [rows, self._matched(batch)]

    def _features(self, *read: torch.Tensor) -> torch.Tensor:
        return torch.cat(read, 1) if len(read) > 1 else read[0]

    def _matched(self, batch: Read) -> torch.Tensor:
        """The head's features of how well tokens match, fp32 [examples * combinations, number], on the CPU."""
        assert self.matching is not None and self.features is not None
        matched = stacked([read for of_example in batch for read in of_example], self.matching)
        for number, combination in enumerate(self.combinations):
            if combination == "mt+ref":  # the only other text is the reference, which belongs in second place
                own = slice(number, None, len(self.combinations))
                matched[own] = matched[own].flip(1)
        return self.features(matched)

    def _estimate(self, values: list[float], spans: list[ErrorSpan] | None) -> Estimate:
        names = [PARTS[combination] for combination in self.combinations]
        if spans is None or not self.xcomet:
            parts = dict(zip(names, values, strict=True)) if len(values) > 1 else {}
            shares = self.combinations.values()
            total = math.fsum(share * value for share, value in zip(shares, values, strict=True))
            return Estimate(total / math.fsum(shares), False, False, parts, spans)
        mqm = mqm_score(spans)
        weights = XCOMET_WEIGHTS[:3] if len(values) > 1 else [sum(XCOMET_WEIGHTS[:3])]
        regressed = math.fsum(weight * min(value, 1.0) for weight, value in zip(weights, values, strict=True))
        value = regressed + XCOMET_WEIGHTS[3] * mqm
        if len(values) == 1:  # unbabel-comet reports a lone regression the way it enters the sum
            values = [min(values[0], 1.0)]
        return Estimate(value, False, False, {**dict(zip(names, values, strict=True)), "mqm": mqm}, spans)


def pooled_mix(checkpoint: Checkpoint, pad: int | None, separator: int | None) -> PooledMix:
    parameters, tensors = checkpoint.hyperparameters, checkpoint.head
    layers = checkpoint.config["num_hidden_layers"] + 1
    if parameters.pool == "default":  # the encoder's own sentence vector: the first token of the last layer
        return PooledMix(tuple(float(k == layers - 1) for k in range(layers)), "cls")
    if parameters.layer != "mix":
        weights = tuple(float(k == parameters.layer) for k in range(layers))
        return PooledMix(weights, parameters.pool, False, pad, separator)
    scalars = torch.cat([tensors[f"layerwise_attention.scalar_parameters.{k}"] for k in range(layers)])
    transformed = sparsemax(scalars) if parameters.layer_transformation == "sparsemax" else scalars.softmax(0)
    weights = tuple((transformed * tensors["layerwise_attention.gamma"]).tolist())
    return PooledMix(weights, parameters.pool, parameters.layer_norm, pad, separator)


def sparsemax(scores: torch.Tensor) -> torch.Tensor:
    """The point of the probability simplex closest to scores, fp32 [n]; many of its entries are exactly 0 (Martins 2016).

    >>> sparsemax(torch.tensor([1.0, 0.8, -1.0]))
    tensor([0.6000, 0.4000, 0.0000])
    """
    ordered = scores.sort(descending=True).values
    sums = ordered.cumsum(0) - 1
    counts = torch.arange(1, len(scores) + 1, dtype=scores.dtype)
    support = int((counts * ordered > sums).sum())
    return (scores - sums[support - 1] / support).clamp(min=0)


class CometEncoder(TextEncoder):
    """The encoder of a COMET checkpoint; it keeps the checkpoint, because estimators need more of it."""

    checkpoint: Checkpoint


_encoders: LoadedModels[CometEncoder] = LoadedModels()


def load_comet(
    name: str,
    options: EngineOptions,
    inputs: str | None = None,
    spans: bool = False,
    context: bool = False,
    target_lang: str | None = None,
) -> CometEstimator:
    """The estimator of a COMET checkpoint; metrics of one process share its weights and readouts.

    `name` is as for open_comet; for inputs, spans and target_lang see UnifiedEstimator, for context RegressionEstimator.
    """
    place, folder = place_of(name), Path(os.path.expanduser(name))

    def opened() -> CometEncoder:
        checkpoint: Checkpoint = AdaptedCheckpoint(folder) if is_adapted(folder) else open_comet(name)
        return CometEncoder(checkpoint, options)

    encoder = _encoders.get((place, options), opened)
    checkpoint = encoder.checkpoint
    if checkpoint.hyperparameters.unified:
        if context:
            raise ModelError(
                f"{name} reads all texts in one sequence", fix="document context needs a model with average pooling"
            )
        estimator: CometEstimator = UnifiedEstimator(checkpoint, encoder, options.dtype, inputs, spans, target_lang)
    else:
        separate = SEPARATE.get(checkpoint.hyperparameters.class_identifier, RegressionEstimator)
        estimator = separate(checkpoint, encoder, options.dtype, context)
        if inputs is not None and inputs != estimator.inputs:
            raise ModelError(wrong_inputs(checkpoint.model.name, [estimator.inputs], inputs))
        if spans:
            raise ModelError(
                f"{checkpoint.model.name} marks no error spans", fix="use an XCOMET or a word-level unified model"
            )
    estimator.load(checkpoint)
    return estimator


# weights of the sequences (mt, src), (mt, ref) and (mt, src, ref) in a token's label probabilities
LABEL_WEIGHTS = (0.1667, 0.3333, 0.5)
PENALTIES = {"minor": 1, "major": 5, "critical": 10}
WORST = 25


def decode_spans(
    hypotheses: Sequence[str],
    logits: Sequence[Sequence[torch.Tensor]],
    sequences: Sequence[Sequence[TokenIds]],
    labels: Sequence[str],
    *,
    tokenizer: TextTokenizer,
    max_content: int,
) -> list[list[ErrorSpan]]:
    """The error spans of each hypothesis.

    logits       for each of an example's sequences, fp32 [tokens, 1 + labels]; label 0 means no error
    sequences    the token sequences, which begin with the hypothesis
    labels       severities, in the order of the logits from 1 on

    A span is a run of tokens whose most likely label is an error. Its severity is that of its first token; its confidence is
    the mean probability of its tokens' most likely labels. As in unbabel-comet, a span that is still open at the
    hypothesis's last token is dropped.
    """
    of_hypotheses = []
    for offsets, of_example, tokens in zip(tokenizer.offsets(hypotheses, max_content), logits, sequences, strict=True):
        ids, length = tokens[0].ids, min(len(offsets), *map(len, of_example))
        each = [of_sequence[:length].softmax(1) for of_sequence in of_example]
        if len(each) > 1:
            each = [weight * probabilities for weight, probabilities in zip(LABEL_WEIGHTS, each, strict=True)]
        confidence, label = torch.stack(each).sum(0).max(1)
        spans, begin = [], 0
        for is_error, run in groupby(label.tolist(), bool):
            end = begin + len(list(run))
            if is_error and end < length:
                text, severity = tokenizer.decode(ids[begin:end].tolist()), labels[int(label[begin]) - 1]
                certain = confidence[begin:end].mean().item()
                spans.append(ErrorSpan(text, severity, certain, offsets[begin][0], offsets[end - 1][1]))
            begin = end
        of_hypotheses.append(spans)
    return of_hypotheses


def mqm_score(spans: Sequence[ErrorSpan]) -> float:
    """1 minus the sum of the spans' penalties (minor 1, major 5, critical 10) divided by 25, at least 0.

    >>> mqm_score([ErrorSpan("a", "minor", 0.9, 0, 1), ErrorSpan("b", "major", 0.8, 2, 3)])
    0.76
    """
    return (WORST - min(WORST, sum(PENALTIES[span.severity] for span in spans))) / WORST


def joined(texts: Sequence[TokenIds], encoder_model: str, pad: int | None, most: int) -> TokenIds:
    """Join texts as <s> mt </s></s> src </s></s> ref </s>, cut off after `most` tokens; BERT has one separator, and types.

    As in unbabel-comet, padding tokens that a text contains literally are left out.
    """
    first, last = texts[0].ids[0], texts[0].ids[-1]
    contents = [text.ids[1:-1][text.ids[1:-1] != pad] for text in texts]
    parts = [[first], contents[0]]
    for content in contents[1:]:
        parts += [[last] * SEPARATORS[encoder_model], content]
    ids = np.concatenate([*parts, [last]]).astype(np.int32)
    cut = sum(text.cut for text in texts) + max(0, len(ids) - most)
    second = len(contents[0]) + 2 if encoder_model == "BERT" else None
    return TokenIds(ids[:most], cut, second)


def wrong_inputs(name: str, choices: Sequence[str], asked: str) -> str:
    setting = worded("--comet-inputs, --slide-inputs", "inputs")
    return f"{name} reads the inputs {' or '.join(choices)}, not {asked} ({setting})"
