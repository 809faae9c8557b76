"""Meta-evaluation: how well do metrics agree with human judgements? The public names below are imported on first use."""

from importlib import import_module

_NAMES = {
    "..judgements.judged": "JudgedSet MetricScores is_human",
    "..judgements.readers": "read_judged",
    "..judgements.score_files": "read_scores write_score_files",
    ".scoring": "MetricSettings score_set",
    ".protocols": "make_protocols",
    ".evaluation": "Significance evaluate",
    ".lengths": "agreement_by_length",
    ".output": "render",
    ".report": "Report",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'ctx_metrics.meta' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list:
    return sorted([*globals(), *__all__])
