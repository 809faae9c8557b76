"""Meta-evaluation: how well do metrics agree with people? The names below are its public ones, imported when asked for."""

from importlib import import_module

_HOMES = {
    "JudgedSet": "..judgements.judged",
    "MetricScores": "..judgements.judged",
    "is_human": "..judgements.judged",
    "read_judged": "..judgements.readers",
    "read_scores": "..judgements.score_files",
    "write_score_files": "..judgements.score_files",
    "MetricSettings": ".scoring",
    "score_set": ".scoring",
    "make_protocols": ".protocols",
    "Significance": ".evaluation",
    "evaluate": ".evaluation",
    "agreement_by_length": ".lengths",
    "render": ".output.tables",
    "Report": ".report",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'ctx_metrics.meta' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list:
    return sorted([*globals(), *__all__])
