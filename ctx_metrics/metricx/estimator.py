"""MetricX models as estimators: one prompt for each example, read by our own packed forward pass."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..corpus import is_blank
from ..engine.device import (
    PendingCopy,
    TokenBudget,
    check_arithmetic,
    in_turn,
    number_format,
    resolve_device,
    resolve_dtype,
    token_batches,
)
from ..engine.memory import LoadedModels, memory_for
from ..engine_options import EngineOptions
from ..errors import InputError, ModelError
from ..models.estimator import Estimate, Estimator, Example
from ..notices import Progress
from ..wording import setting_named
from .checkpoint import INPUTS, MOST_TOKENS, PROMPTS, MetricXCheckpoint, PromptTokenizer
from .network import LEAST, MOST, MetricXNetwork


class LoadedMetricX:
    """A checkpoint's network and tokenizer, which metrics of a process share."""

    def __init__(self, checkpoint: MetricXCheckpoint, options: EngineOptions):
        self.checkpoint = checkpoint
        self.device, self.dtype = resolve_device(options.device), resolve_dtype(options.dtype)
        check_arithmetic(self.device, self.dtype)
        self.tokenizer = PromptTokenizer(checkpoint.tokenizer_folder)
        self._network: MetricXNetwork | None = None

    def is_current(self) -> bool:
        return self.checkpoint.is_current()

    def forget_texts(self) -> None:
        """No text is kept."""

    def network(self) -> MetricXNetwork:
        if self._network is None:
            weights, device = self.checkpoint.weights(), self.device

            def take(name: str, dtype: torch.dtype = torch.float32, row: int | None = None) -> torch.Tensor:
                tensor = weights[name] if row is None else weights[name][row].clone()
                return tensor.to(device=device, dtype=dtype)

            with memory_for(f"the weights of {self.checkpoint.folder}", device):
                self._network = MetricXNetwork(self.checkpoint.shape, take, device, self.dtype)
            if not self.is_current():
                raise ModelError(
                    f"{self.checkpoint.folder} has changed since it was opened", fix="create the metric again"
                )
        return self._network


_loaded: LoadedModels[LoadedMetricX] = LoadedModels()


class MetricXEstimator(Estimator):
    """MetricX: predicted MQM errors, 0 (none) to 25; lower is better. Values are a hundredth of that, as scores are x100.

    inputs      the texts that MetricX-24 reads, mt+src+ref or mt+src; None: mt+src+ref
    optional    whether a model that was trained on other texts may read these instead
    version, tokenizer, flags    as of MetricXCheckpoint
    """

    english_only = False
    empty_value = None
    shares_texts = False
    lower_is_better = True
    title = "MetricX"

    def __init__(
        self,
        name: str,
        options: EngineOptions,
        inputs: str | None = None,
        version: str | None = None,
        tokenizer: str | None = None,
        optional: bool = False,
        flags: bool = False,
    ):
        if options.dtype == "fp16":
            fp32, bf16 = (setting_named("--ctx-dtype", "dtype", each) for each in ("fp32", "bf16"))
            raise InputError("MetricX overflows in fp16", fix=f"use {bf16} or {fp32}")
        checkpoint = MetricXCheckpoint(name, version, tokenizer, flags)
        self.version = checkpoint.version
        self.choices = INPUTS[self.version]
        self.inputs = inputs or self.choices[0]
        if optional and len(self.choices) == 1:
            self.inputs = self.choices[0]
        if self.inputs not in self.choices:
            raise ModelError(
                f"{checkpoint.model.name} is MetricX-{checkpoint.version}, which reads {' or '.join(self.choices)}, "
                f"not {self.inputs}"
            )
        if len(self.choices) == 1:
            self.choices = ()
        self.prompt, self.model, self.dtype = PROMPTS[checkpoint.version], checkpoint.model, options.dtype
        self.max_length = MOST_TOKENS[checkpoint.version]
        self.limit = f"{self.max_length} tokens in total"
        self.quiet = options.quiet
        key = (Path(os.path.realpath(checkpoint.folder)), str(checkpoint.tokenizer_folder), options)
        self.loaded = _loaded.get(key, lambda: LoadedMetricX(checkpoint, options))
        self.budget = TokenBudget(self.loaded.device, options.batch_tokens)

    @property
    def special_tokens(self) -> int:
        """The tokens of the prompt itself, and the end of the sequence."""
        [(ids, _)] = self.loaded.tokenizer([self._prompt(Example("", "", ""))], self.max_length)
        return len(ids) + 1

    def _prompt(self, example: Example) -> str:
        texts = {"mt": example.hypothesis, "src": example.source, "ref": example.reference}
        read = self.inputs.split("+")
        return "".join(f"{words}{texts[name]}" for name, words in self.prompt.items() if name in read)

    def _sequences(self, examples: Sequence[Example]) -> list[tuple[np.ndarray, int]]:
        # the end of the sequence counts, and is dropped afterwards
        return self.loaded.tokenizer([self._prompt(each) for each in examples], self.max_length - 1)

    def is_cut(self, examples: Sequence[Example]) -> list[bool]:
        return [cut > 0 for _, cut in self._sequences(examples)]

    def token_counts(self, examples: Sequence[Example]) -> list[int]:
        texts = list(dict.fromkeys(text for example in examples for text in example.texts(self.inputs)))
        counts = dict(zip(texts, (len(ids) for ids, _ in self.loaded.tokenizer(texts, 2**31)), strict=True))
        return [sum(counts[text] for text in example.texts(self.inputs)) for example in examples]

    def estimate(self, examples: Sequence[Example], label: str, unit: str = "segment") -> list[Estimate]:
        distinct = list(dict.fromkeys(examples))
        tokens = dict(zip(distinct, self._sequences(distinct), strict=True))
        sequences = {ids.tobytes(): ids for ids, _ in tokens.values()}
        values: dict[bytes, float] = {}
        with Progress(label, "text", len(sequences), quiet=self.quiet) as bar:
            for keys, [scores] in in_turn(self._started(sequences)):
                limited = scores.double().clamp(LEAST, MOST) / 100
                values.update(zip(keys, limited.tolist(), strict=True))
                bar.update(len(keys))
        blank = {each: any(map(is_blank, each.texts(self.inputs))) for each in distinct}
        return [Estimate(values[tokens[each][0].tobytes()], tokens[each][1] > 0, blank[each]) for each in examples]

    def _started(self, sequences: dict[bytes, np.ndarray]) -> Any:
        network, keys = self.loaded.network(), list(sequences)
        rows = self.loaded.checkpoint.shape.vocab_size
        if keys and (most := max(int(ids.max()) for ids in sequences.values())) >= rows:
            raise ModelError(
                f"{self.loaded.tokenizer.folder}: its tokenizer gives token {most}, but the model has {rows}: they do not "
                "belong together"
            )

        def forward(of: Sequence[bytes]) -> PendingCopy:
            return network([sequences[key] for key in of])

        smaller = f"{setting_named('--ctx-device', 'device', 'cpu')} or {setting_named('--ctx-dtype', 'dtype', 'bf16')}"
        for batch in token_batches([len(ids) for ids in sequences.values()], self.budget.tokens):
            own = [keys[k] for k in batch]
            sizes = [len(sequences[key]) for key in own]
            yield from self.budget.split(own, sizes, forward, "text of {total} tokens; try " + smaller)

    def signature(self) -> dict:
        dtype = number_format(self.dtype, self.loaded.device)
        of_model = {**self.model.signature(), "metricx": self.version, "inputs": self.inputs, "dtype": dtype}
        return {**of_model, "maxlen": self.max_length, "scale": 1}
