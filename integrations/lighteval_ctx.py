"""Metrics for lighteval: `ctx_metric("comet", languages="de-en")` in the list of a task's metrics.

The source of a segment is `Doc.specific["source"]`, and the id of its document `Doc.specific["document"]`, where the task's
prompt function puts them. The reference is the first gold text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lighteval.metrics.metrics_corpus import CorpusLevelComputation
from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.sample_preparator import CorpusMetricInput, Preparator
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric, Metric, SampleLevelMetric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.requests import Doc, SamplingMethod

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.language import named_languages
from ctx_metrics.registry import metric_table
from ctx_metrics.scoring.context import Context, build

# means over samples: corpus scores, but for slide's weights
OF_SEGMENTS = "BERTR BERTSCORE BILSTM BILSTMATT ESIM COMET DOCCOMET SLIDE".split()
OF_CORPORA = "NIST METEOR".split()


@dataclass
class Texts(CorpusMetricInput):
    """What a metric reads of one sample."""

    output: str
    reference: str | None
    source: str | None
    document: str | None


class TextsPreparator(Preparator):
    @staticmethod
    def prepare(doc: Doc, model_response: ModelResponse, **kwargs) -> Texts:
        golds, specific = doc.get_golds(), doc.specific or {}
        reference = golds[0] if golds else None
        return Texts(model_response.final_text[0], reference, specific.get("source"), specific.get("document"))


class CtxMetric(SampleLevelComputation, CorpusLevelComputation):
    """One metric of ctx-metrics with its settings, over all samples of a task at once."""

    def __init__(self, name: str, languages: str = "", device: str = "auto", **settings):
        self.name, self.languages, self.device, self.settings = name.upper(), languages, device, settings

    def _built(self, items: Sequence[Texts]):
        references, sources, documents = (
            [getattr(item, field) for item in items] for field in ("reference", "source", "document")
        )
        source_lang, target_lang = named_languages(self.languages)
        context = Context(
            references=[] if None in references else [references],
            sources=None if None in sources else sources,
            doc_ids=None if None in documents else documents,
            source_lang=source_lang,
            target_lang=target_lang,
            engine=EngineOptions(device=self.device),
        )
        return build(metric_table()[self.name], context, self.settings)

    def compute(self, docs: Sequence[Doc], responses: Sequence[ModelResponse], **kwargs) -> list[float]:
        """Every sample's score, of a whole task in one call."""
        items = [TextsPreparator.prepare(doc, response) for doc, response in zip(docs, responses, strict=True)]
        return [float(each.score) for each in self._built(items).segment_scores([item.output for item in items], None)]

    def compute_corpus(self, items: Sequence[Texts]) -> float:
        return float(self._built(items).corpus_score([item.output for item in items], None).score)


def ctx_metric(name: str, languages: str = "", device: str = "auto", **settings) -> Metric:
    """A metric for a task: a mean over samples where the corpus score is that, else one computed over the corpus.

    lighteval takes the standard error of a mean from the samples' scores. It recomputes other metrics 1000 times, which only
    the quick ones stand; no neural metric is among those.
    """
    computation, key = CtxMetric(name, languages, device, **settings), f"ctx_{name.lower()}"
    if name.upper() in OF_SEGMENTS:
        return SampleLevelMetric(key, True, SamplingMethod.GENERATIVE, computation, np.mean, batched_compute=True)
    if name.upper() in OF_CORPORA:
        return CorpusLevelMetric(key, True, SamplingMethod.GENERATIVE, TextsPreparator(), computation)
    raise ValueError(f"{name}: not one of {', '.join([*OF_SEGMENTS, *OF_CORPORA]).lower()}")
