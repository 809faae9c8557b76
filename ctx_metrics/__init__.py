"""ctx-metrics: neural and document-level machine-translation metrics for sacrebleu.

The public names below are resolved on first use, so that importing the package imports neither torch nor transformers.
"""

import sys
from importlib import import_module

import _ctx_metrics_startup

from .moved import MovedModules as _MovedModules

_HOMES = {
    "BERTR": "ctx_metrics.metrics.bertr",
    "BERTScore": "ctx_metrics.metrics.bertscore",
    "BiLSTM": "ctx_metrics.metrics.learned",
    "BiLSTMAtt": "ctx_metrics.metrics.learned",
    "ESIM": "ctx_metrics.metrics.learned",
    "COMET": "ctx_metrics.metrics.comet",
    "DocCOMET": "ctx_metrics.metrics.doccomet",
    "SLIDE": "ctx_metrics.metrics.slide",
    "RTTBLEU": "ctx_metrics.metrics.roundtrip",
    "RTTSentBLEU": "ctx_metrics.metrics.roundtrip",
    "RTTChrF": "ctx_metrics.metrics.roundtrip",
    "RTTSBERT": "ctx_metrics.metrics.roundtrip",
    "RTTBERTScore": "ctx_metrics.metrics.roundtrip",
    "PRSentBLEU": "ctx_metrics.metrics.pseudo_reference",
    "PRBLEU": "ctx_metrics.metrics.pseudo_reference",
    "PRChrF": "ctx_metrics.metrics.pseudo_reference",
    "Pairwise": "ctx_metrics.metrics.pairwise",
    "NIST": "ctx_metrics.metrics.nist",
    "METEOR": "ctx_metrics.metrics.meteor",
    "PseudoFilter": "ctx_metrics.pseudo_references.options",
    "Corpus": "ctx_metrics.corpus",
    "read_lines": "ctx_metrics.corpus",
    "release": "ctx_metrics.engine.loaded",
    "DocumentPairedTest": "ctx_metrics.scoring.resample",
    "resample_documents": "ctx_metrics.scoring.resample",
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


sys.meta_path.append(_MovedModules())
_ctx_metrics_startup.install()
