"""Old import paths that entry points or the documentation named: for one release, each gives its new module's names."""

import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    **dict.fromkeys(("metrics.bilstm", "metrics.bilstmatt", "metrics.esim"), "metrics.learned"),
    **dict.fromkeys(
        ("metrics.rttbleu", "metrics.rttsentbleu", "metrics.rttchrf", "metrics.rttsbert", "metrics.rttbertscore"),
        "metrics.roundtrip",
    ),
    **dict.fromkeys(("metrics.prbleu", "metrics.prsentbleu", "metrics.prchrf"), "metrics.pseudo_reference"),
    "metrics.base": "scoring.base",
    "metrics.grid": "metrics.slide_grid",
    "metrics.resample": "scoring.resample",
    "metrics.segment_mean": "scoring.segment_mean",
    "metrics.sentence_cosine": "scoring.sentence_cosine",
    "meta.bradley_terry": "meta.measures.bradley_terry",
    "meta.correlation": "meta.measures.correlation",
    "meta.readers": "judgements.readers",
    "meta.readers.sentence_pairs": "judgements.readers.sentence_pairs",
}


class MovedModules(MetaPathFinder, Loader):
    """Finds the old paths, after all other finders; what they import warns and gives the new module's names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of an old path; None for any other module."""
        package, _, name = fullname.partition(".")
        return ModuleSpec(fullname, self, is_package=True) if package == __package__ and name in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Warn, and give the new module's names under the old one."""
        old = module.__name__
        new = f"{__package__}.{MOVED[old.partition('.')[2]]}"
        warnings.warn(
            f"{old} is now {new}; the old path will be removed in the next release", DeprecationWarning, stacklevel=2
        )
        module.__getattr__ = lambda name: getattr(import_module(new), name)  # type: ignore[method-assign]
