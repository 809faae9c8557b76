"""A module for Hugging Face evaluate: `evaluate.load("integrations/ctx_metric", "comet-src")`.

The second argument names a metric and its inputs besides the predictions:

    comet          references
    comet-src      references and sources
    comet-noref    sources
"""

import datasets
import evaluate

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.registry import metric_table
from ctx_metrics.scoring.context import Context, build

_DESCRIPTION = "Neural and document-level metrics of translation quality, from ctx-metrics, at sacrebleu's scale."
_INPUTS = """
predictions    the translations
references     a reference for each, or a list of references, equally many for each
sources        the source segments, for METRIC-src and METRIC-noref
doc_ids        the id of each segment's document, or None
source_lang, target_lang    such as "de" and "en"
device         auto, cpu, cuda, ...
other          settings of the metric, such as model

Returns the corpus `score`, the `scores` of segments and the `signature`.
"""


class CtxMetric(evaluate.Metric):
    """One metric, named by the configuration's name."""

    def _info(self) -> evaluate.MetricInfo:
        reads = self.config_name.rpartition("-")[2]
        one, several = datasets.Value("string"), datasets.Sequence(datasets.Value("string"))
        shapes = [{"predictions": one, "sources": one}]
        if reads != "noref":
            sources = {"sources": one} if reads == "src" else {}
            shapes = [{"predictions": one, "references": each, **sources} for each in (one, several)]
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="`ctx-metrics cite METRIC` prints each metric's papers",
            inputs_description=_INPUTS,
            features=[datasets.Features(shape) for shape in shapes],
        )

    def _compute(
        self,
        predictions,
        references=None,
        sources=None,
        doc_ids=None,
        source_lang=None,
        target_lang=None,
        device="auto",
        **settings,
    ):
        name = self.config_name.removesuffix("-src").removesuffix("-noref").upper()
        if name not in (table := metric_table()):
            names = ", ".join(table).lower()
            raise ValueError(f"{self.config_name}: name a metric, as evaluate.load's second argument: {names}")
        streams = [] if references is None else list(references)
        if streams and not isinstance(streams[0], str):
            streams = [list(stream) for stream in zip(*streams, strict=True)]
        else:
            streams = [streams] if streams else []
        context = Context(
            references=streams,
            sources=None if sources is None else list(sources),
            doc_ids=doc_ids,
            source_lang=source_lang,
            target_lang=target_lang,
            engine=EngineOptions(device=device),
        )
        metric, outputs = build(table[name], context, settings), list(predictions)
        score = metric.corpus_score(outputs, None)
        segments = getattr(metric, "segment_scores", None)
        return {
            "score": float(score.score),
            "scores": [float(each.score) for each in segments(outputs, None)] if segments else None,
            "signature": str(metric.get_signature()),
        }
