"""ctx-metrics: neural and document-level machine-translation metrics for sacrebleu.

The public names below are resolved on first use, so that importing the package imports neither torch nor transformers.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

import _ctx_metrics_startup

if TYPE_CHECKING:  # the same names; tests/test_typing.py compares them with the table
    from .bleurt.metric import BLEURT as BLEURT
    from .corpus import Corpus as Corpus
    from .engine.memory import release as release
    from .engine_options import EngineOptions as EngineOptions
    from .errors import CtxMetricsError as CtxMetricsError
    from .errors import InputError as InputError
    from .errors import ModelError as ModelError
    from .errors import ResourceError as ResourceError
    from .evaluation.prediction import Prediction as Prediction
    from .evaluation.prediction import predict as predict
    from .evaluation.result import Evaluation as Evaluation
    from .evaluation.run import evaluate as evaluate
    from .judge.metric import Judge as Judge
    from .learned.metrics import ESIM as ESIM
    from .learned.metrics import BiLSTM as BiLSTM
    from .learned.metrics import BiLSTMAtt as BiLSTMAtt
    from .metrics.bertr import BERTR as BERTR
    from .metrics.bertscore import BERTScore as BERTScore
    from .metrics.comet import COMET as COMET
    from .metrics.doccomet import DocCOMET as DocCOMET
    from .metrics.meteor import METEOR as METEOR
    from .metrics.nist import NIST as NIST
    from .metrics.slide import SLIDE as SLIDE
    from .metricx.metric import MetricX as MetricX
    from .pairwise.metric import Pairwise as Pairwise
    from .pseudo_references.inputs import PseudoFilter as PseudoFilter
    from .pseudo_references.metrics import PRBLEU as PRBLEU
    from .pseudo_references.metrics import PRChrF as PRChrF
    from .pseudo_references.metrics import PRSentBLEU as PRSentBLEU
    from .reading import read_lines as read_lines
    from .roundtrip.metrics import RTTBLEU as RTTBLEU
    from .roundtrip.metrics import RTTSBERT as RTTSBERT
    from .roundtrip.metrics import RTTBERTScore as RTTBERTScore
    from .roundtrip.metrics import RTTChrF as RTTChrF
    from .roundtrip.metrics import RTTSentBLEU as RTTSentBLEU
    from .scoring.resample import DocumentPairedTest as DocumentPairedTest
    from .scoring.resample import resample_documents as resample_documents

    __version__: str

_NAMES = {
    "metrics.bertr": "BERTR",
    "metrics.bertscore": "BERTScore",
    "learned.metrics": "BiLSTM BiLSTMAtt ESIM",
    "metrics.comet": "COMET",
    "metrics.doccomet": "DocCOMET",
    "metrics.slide": "SLIDE",
    "roundtrip.metrics": "RTTBLEU RTTSentBLEU RTTChrF RTTSBERT RTTBERTScore",
    "pseudo_references.metrics": "PRSentBLEU PRBLEU PRChrF",
    "pairwise.metric": "Pairwise",
    "metricx.metric": "MetricX",
    "bleurt.metric": "BLEURT",
    "judge.metric": "Judge",
    "metrics.nist": "NIST",
    "metrics.meteor": "METEOR",
    "pseudo_references.inputs": "PseudoFilter",
    "corpus": "Corpus",
    "reading": "read_lines",
    "engine.memory": "release",
    "engine_options": "EngineOptions",
    "scoring.resample": "DocumentPairedTest resample_documents",
    "evaluation.prediction": "Prediction predict",
    "evaluation.result": "Evaluation",
    "evaluation.run": "evaluate",
    "errors": "CtxMetricsError InputError ModelError ResourceError",
}
_HOMES = {name: f"ctx_metrics.{module}" for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)

if not TYPE_CHECKING:  # type checkers would accept any name of the package because of __getattr__

    def __getattr__(name: str):
        if name == "__version__":
            return _import_module("importlib.metadata").version("ctx-metrics")
        if name not in _HOMES:
            raise AttributeError(f"module 'ctx_metrics' has no attribute {name!r}")
        return getattr(_import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__])


_ctx_metrics_startup.install()
