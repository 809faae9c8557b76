"""Scorers for eole: `valid_metrics: [CTX-COMET]`, also as a criterion of early stopping.

In eole's training configuration, with this folder in PYTHONPATH:

    scorer_modules: [eole_ctx]
    valid_metrics: [BLEU, CTX-COMET, CTX-SLIDE]
    scorer_configs:
      CTX-COMET: {languages: de-en, model: Unbabel/wmt22-comet-da}
      CTX-SLIDE: {languages: de-en, docids: dev.docids}

Keys of a scorer's configuration: `languages`, `docids` (a file with one document id for each line of the dev set), `device`
(auto if none is given) and the metric's own settings.
"""

from collections.abc import Sequence

from eole.scorers import register_scorer
from eole.scorers.scorer import Scorer

from ctx_metrics import read_lines
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.language import named_languages
from ctx_metrics.registry import metric_table
from ctx_metrics.scoring.context import Context, build, capabilities

METRICS = "BERTR BERTSCORE BILSTM BILSTMATT ESIM COMET DOCCOMET SLIDE NIST METEOR".split()


class CtxScorer(Scorer):
    """The corpus score of one metric, for eole's validation."""

    metric = ""
    higher_is_better = True

    def __init__(self, config):
        super().__init__(config)
        configured = getattr(config, "scorer_configs", None) or {}
        self.settings = dict(configured.get(f"CTX-{self.metric}") or {})
        source, target = named_languages(self.settings.pop("languages", ""))
        self.languages = {"source_lang": source, "target_lang": target}
        docids = self.settings.pop("docids", None)
        self.doc_ids = read_lines(docids) if docids else None
        self.device = self.settings.pop("device", "auto")
        self.uses_gpu = self.device != "cpu"  # eole then moves the model in training off the GPU meanwhile

    def compute_score(
        self, preds: Sequence[str], texts_refs: Sequence[str] | None, texts_srcs: Sequence[str] | None = None
    ) -> float:
        if not preds:
            return 0.0
        context = Context(
            references=[] if texts_refs is None else [texts_refs],
            sources=texts_srcs,
            doc_ids=self.doc_ids,
            engine=EngineOptions(device=self.device),
            **self.languages,
        )
        metric = build(metric_table()[self.metric], context, self.settings)
        if not capabilities(metric).higher_is_better:
            raise ValueError(f"lower scores of {metric.NAME} with this model are better, but eole keeps the highest")
        return float(metric.corpus_score(preds, None).score)


for _name in METRICS:
    register_scorer(metric=f"CTX-{_name}")(type(f"Ctx{_name.title()}Scorer", (CtxScorer,), {"metric": _name}))
