"""ctx-metrics: neural and document-level machine-translation metrics for sacrebleu.

The public names below are resolved on first use, so that importing the package imports neither torch nor transformers.
"""

import _ctx_metrics_startup
from importlib import import_module

_HOMES = {
    "BERTR": "ctx_metrics.metrics.bertr",
    "BERTScore": "ctx_metrics.metrics.bertscore",
    "BiLSTM": "ctx_metrics.metrics.bilstm",
    "BiLSTMAtt": "ctx_metrics.metrics.bilstmatt",
    "ESIM": "ctx_metrics.metrics.esim",
    "COMET": "ctx_metrics.metrics.comet",
    "DocCOMET": "ctx_metrics.metrics.doccomet",
    "SLIDE": "ctx_metrics.metrics.slide",
    "RTTBLEU": "ctx_metrics.metrics.rttbleu",
    "RTTSentBLEU": "ctx_metrics.metrics.rttsentbleu",
    "RTTChrF": "ctx_metrics.metrics.rttchrf",
    "RTTSBERT": "ctx_metrics.metrics.rttsbert",
    "RTTBERTScore": "ctx_metrics.metrics.rttbertscore",
    "PRSentBLEU": "ctx_metrics.metrics.prsentbleu",
    "PRBLEU": "ctx_metrics.metrics.prbleu",
    "PRChrF": "ctx_metrics.metrics.prchrf",
    "Pairwise": "ctx_metrics.metrics.pairwise",
    "NIST": "ctx_metrics.metrics.nist",
    "METEOR": "ctx_metrics.metrics.meteor",
    "PseudoFilter": "ctx_metrics.pseudo_references.options",
    "Corpus": "ctx_metrics.corpus",
    "read_lines": "ctx_metrics.corpus",
    "release": "ctx_metrics.engine.loaded",
    "DocumentPairedTest": "ctx_metrics.metrics.resample",
    "resample_documents": "ctx_metrics.metrics.resample",
    "CtxMetricsError": "ctx_metrics.errors",
    "InputError": "ctx_metrics.errors",
    "ModelError": "ctx_metrics.errors",
    "ResourceError": "ctx_metrics.errors",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name == "__version__":
        return import_module("importlib.metadata").version("ctx-metrics")
    if name not in _HOMES:
        raise AttributeError(f"module 'ctx_metrics' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list:
    return sorted([*globals(), *__all__])


_ctx_metrics_startup.install()
