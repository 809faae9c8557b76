"""ctx-metrics: neural and document-level machine-translation metrics for sacrebleu.

The public names below are resolved on first use, so that importing the package imports neither torch nor transformers.
"""

import sys
from importlib import import_module

import _ctx_metrics_startup

from .moved import MovedModules as _MovedModules

_NAMES = {
    "metrics.bertr": "BERTR",
    "metrics.bertscore": "BERTScore",
    "metrics.learned": "BiLSTM BiLSTMAtt ESIM",
    "metrics.comet": "COMET",
    "metrics.doccomet": "DocCOMET",
    "metrics.slide": "SLIDE",
    "metrics.roundtrip": "RTTBLEU RTTSentBLEU RTTChrF RTTSBERT RTTBERTScore",
    "metrics.pseudo_reference": "PRSentBLEU PRBLEU PRChrF",
    "metrics.pairwise": "Pairwise",
    "metrics.nist": "NIST",
    "metrics.meteor": "METEOR",
    "pseudo_references.options": "PseudoFilter",
    "corpus": "Corpus read_lines",
    "engine.loaded": "release",
    "scoring.resample": "DocumentPairedTest resample_documents",
    "errors": "CtxMetricsError InputError ModelError ResourceError",
}
_HOMES = {name: f"ctx_metrics.{module}" for module, names in _NAMES.items() for name in names.split()}
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
