"""A torchmetrics Metric: texts are collected by `update`, also over several processes, and scored by `compute`.

    metric = CtxMetric("comet", languages="de-en")
    metric.update(outputs, references, sources)
    metric.compute()

torchmetrics synchronises tensors only, so the texts are kept as the bytes of their UTF-8.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.data import dim_zero_cat

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.language import named_languages
from ctx_metrics.registry import metric_table
from ctx_metrics.scoring.context import Context, build, capabilities

STREAMS = "hypotheses references sources doc_ids".split()


class CtxMetric(Metric):
    """The corpus score of one metric of ctx-metrics.

    name        such as comet
    languages   such as de-en
    engine_device    where the metric's model runs: auto, cpu, cuda, ...
    settings    the metric's own, such as {"model": "Unbabel/wmt22-comet-da"}
    options     of torchmetrics.Metric

    Give `positions`, the numbers of the segments in the data set, to every update where several processes share it: compute
    then restores its order, which documents need, and drops the segments that a DistributedSampler repeats.
    """

    is_differentiable = False
    full_state_update = False

    def __init__(
        self,
        name: str = "comet",
        languages: str = "",
        engine_device: str = "auto",
        settings: dict[str, Any] | None = None,
        **options: Any,
    ):
        super().__init__(**options)
        self.name, self.languages, self.settings = name.upper(), languages, settings or {}
        self.engine_device = engine_device
        for stream in STREAMS:
            self.add_state(f"{stream}_bytes", default=[], dist_reduce_fx="cat")
            self.add_state(f"{stream}_lengths", default=[], dist_reduce_fx="cat")
        self.add_state("positions", default=[], dist_reduce_fx="cat")

    @property
    def higher_is_better(self) -> bool:
        return capabilities(metric_table()[self.name]).higher_is_better

    def update(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
        doc_ids: Sequence[str] | None = None,
        positions: Sequence[int] | None = None,
    ) -> None:
        streams = dict(zip(STREAMS, (hypotheses, references, sources, doc_ids), strict=True))
        given = {stream: texts for stream, texts in streams.items() if texts is not None}
        for stream, values in {**given, "positions": positions}.items():
            if values is not None and len(values) != len(hypotheses):
                raise ValueError(f"{len(values)} {stream} for {len(hypotheses)} hypotheses")
        for stream, texts in given.items():
            encoded = [text.encode() for text in texts]
            getattr(self, f"{stream}_bytes").append(self._tensor(list(b"".join(encoded)), torch.uint8))
            getattr(self, f"{stream}_lengths").append(self._tensor([len(each) for each in encoded], torch.int64))
        if positions is not None:
            self.positions.append(self._tensor(list(positions), torch.int64))

    def _tensor(self, values: Sequence[int], dtype: torch.dtype) -> Tensor:
        return torch.tensor(values, dtype=dtype, device=self.device)

    def _texts(self, stream: str) -> list[str] | None:
        """A stream's texts, of all processes after a synchronisation; None where none were given."""
        state = getattr(self, f"{stream}_lengths")
        lengths = self._values(state)
        if not lengths:
            return None
        content, texts, end = bytes(self._values(getattr(self, f"{stream}_bytes"))), [], 0
        for length in lengths:
            texts.append(content[end : end + length].decode())
            end += length
        return texts

    @staticmethod
    def _values(state: Tensor | list[Tensor]) -> list[int]:
        if isinstance(state, list) and not state:
            return []
        return [int(value) for value in dim_zero_cat(state).tolist()]

    def compute(self) -> Tensor:
        streams = {stream: self._texts(stream) for stream in STREAMS}
        total, positions = len(streams["hypotheses"] or ()), self._values(self.positions)
        for what, found in {**streams, "positions": positions or None}.items():
            if found is not None and len(found) != total:
                raise ValueError(f"{len(found)} {what} for {total} hypotheses: give them to every update, or to none")
        if positions:
            first = {position: number for number, position in reversed(list(enumerate(positions)))}
            order = [first[position] for position in sorted(first)]
            streams = {stream: texts and [texts[number] for number in order] for stream, texts in streams.items()}
        source_lang, target_lang = named_languages(self.languages)
        context = Context(
            references=[] if streams["references"] is None else [streams["references"]],
            sources=streams["sources"],
            doc_ids=streams["doc_ids"],
            source_lang=source_lang,
            target_lang=target_lang,
            engine=EngineOptions(device=self.engine_device),
        )
        metric = build(metric_table()[self.name], context, self.settings)
        if capabilities(metric).higher_is_better != self.higher_is_better:
            raise ValueError(f"lower scores of this model are better, unlike those of {self.name.lower()}")
        score = metric.corpus_score(streams["hypotheses"] or [], None).score
        return torch.tensor(
            score, dtype=torch.float64 if self.device.type == "cpu" else torch.float32, device=self.device
        )
