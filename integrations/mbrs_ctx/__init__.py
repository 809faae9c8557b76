"""Metrics for mbrs: `ctx` as a utility, and `ctx-noref` for reranking, in mbrs-decode.

mbrs reads this folder as a plug-in:

    mbrs-decode hypotheses.txt -n 8 --plugin_dir integrations/mbrs_ctx --metric ctx --metric.name bertr
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mbrs import timer
from mbrs.metrics import Metric, MetricReferenceless, register
from torch import Tensor

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.language import named_languages
from ctx_metrics.registry import metric_table
from ctx_metrics.scoring.context import Context, build, capabilities


@dataclass
class CtxConfig(Metric.Config):
    """Which metric scores.

    - name (str): A metric of ctx-metrics, such as bertr or comet, or one of sacrebleu's.
    - languages (str): Such as de-en.
    - model (str): The metric's model; its default if none is given.
    - device (str): auto, cpu, cuda, ...
    """

    name: str = "comet"
    languages: str = ""
    model: str = ""
    device: str = "auto"


def segment_scores(
    cfg: CtxConfig, hypotheses: Sequence[str], references: Sequence[str] | None, sources: Sequence[str] | None
) -> list[float]:
    """The scores of pairs in one call, higher being better; each distinct text is encoded once."""
    cls = metric_table()[cfg.name.upper()]
    source_lang, target_lang = named_languages(cfg.languages)
    context = Context(
        references=[] if references is None else [references],
        sources=sources,
        source_lang=source_lang,
        target_lang=target_lang,
        engine=EngineOptions(device=cfg.device),
    )
    metric = build(cls, context, {"model": cfg.model} if cfg.model else {})
    sign = 1 if capabilities(metric).higher_is_better else -1
    if hasattr(metric, "segment_scores"):
        return [sign * float(each.score) for each in metric.segment_scores(hypotheses, None)]
    pairs = zip(hypotheses, references or (), strict=True)
    return [sign * float(metric.sentence_score(hypothesis, [reference]).score) for hypothesis, reference in pairs]


@register("ctx")
class MetricCtx(Metric):
    """A metric of ctx-metrics as a utility."""

    Config = CtxConfig
    cfg: CtxConfig

    def score(self, hypothesis: str, reference: str, source: str | None = None) -> float:
        return segment_scores(self.cfg, [hypothesis], [reference], None if source is None else [source])[0]

    def scores(self, hypotheses: list[str], references: list[str], sources: list[str] | None = None) -> Tensor:
        with timer.measure("score") as measured:
            measured.set_delta_ncalls(len(hypotheses))
            return Tensor(segment_scores(self.cfg, hypotheses, references, sources))

    def pairwise_scores(self, hypotheses: list[str], references: list[str], source: str | None = None) -> Tensor:
        columns = len(references)
        every = [hypothesis for hypothesis in hypotheses for _ in references]
        sources = None if source is None else [source] * len(every)
        return self.scores(every, references * len(hypotheses), sources).view(len(hypotheses), columns)


@register("ctx-noref")
class MetricCtxNoRef(MetricReferenceless):
    """A metric of ctx-metrics that reads the source alone, to rerank by: `--decoder rerank`."""

    Config = CtxConfig
    cfg: CtxConfig

    def score(self, hypothesis: str, source: str) -> float:
        return segment_scores(self.cfg, [hypothesis], None, [source])[0]

    def scores(self, hypotheses: list[str], sources: list[str]) -> Tensor:
        return Tensor(segment_scores(self.cfg, hypotheses, None, sources))
