"""Installed metrics, found through entry points of the group `sacrebleu.metrics`, in sacrebleu's METRICS table."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, KeysView
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from .entry_points import installed, loaded
from .errors import CtxMetricsError
from .notices import say

if TYPE_CHECKING:
    from importlib import metadata

GROUP = "sacrebleu.metrics"
# Patterns for names of COMET models, and a model on the hub for each; the first pattern that matches is used.
COMET_MODELS = {
    "xcomet.*lite": "myyycroft/XCOMET-lite",
    "comet.*poly": "zouharvi/COMET-poly-cand1-wmt25",
    "africomet": "masakhane/africomet-stl",
    "xcomet.*xxl": "Unbabel/XCOMET-XXL",
    "xcomet": "Unbabel/XCOMET-XL",
    "kiwi": "Unbabel/wmt22-cometkiwi-da",
    "unite": "Unbabel/wmt22-unite-da",
    "comet.*qe": "Unbabel/wmt20-comet-qe-da",
    "^(?!doc).*comet": "Unbabel/wmt22-comet-da",
}
OTHER_MODELS = "metricx|bleurt"  # each the name of a metric
_NAME = re.compile(r"[a-z][a-z0-9]*")
_installed = functools.partial(installed, GROUP)


class MetricTable(dict):
    """sacrebleu's METRICS, with the installed metrics besides its own.

    Installed metrics are searched for the first time that something other than one of sacrebleu's metrics is looked up. An
    entry point is loaded when its metric is first looked up.
    """

    def __init__(self, built_in: dict, installed: "Callable[[], Iterable[metadata.EntryPoint]]" = tuple):
        super().__init__(built_in)
        self.built_in = built_in
        self._installed = installed
        self._entry_points: dict[str, metadata.EntryPoint] = {}

    @property
    def plugins(self) -> list[str]:
        self._search()
        return [key.lower() for key in self._entry_points]

    def _search(self) -> None:
        installed, self._installed = self._installed, tuple
        for entry_point in sorted(installed(), key=lambda e: (e.name, e.value)):
            self.add(entry_point)

    def add(self, entry_point: "metadata.EntryPoint") -> None:
        """Add an entry point; one whose name is invalid or taken is left out, with a message on stderr."""
        name, key = entry_point.name, entry_point.name.upper()
        if not _NAME.fullmatch(name):
            _refuse(entry_point, "its name must be lower-case letters and digits, so that its flags are its own")
        elif not super().__contains__(key):
            self[key] = self._entry_points[key] = entry_point
        elif getattr(super().get(key), "value", None) != entry_point.value:
            _refuse(entry_point, "the name is taken")

    def __getitem__(self, key: str):
        if key not in self:
            raise KeyError(key)
        value, entry_point = super().__getitem__(key), self._entry_points.get(key)
        if entry_point is not None and value is entry_point:
            value = loaded(entry_point, "metric")
            from sacrebleu.metrics.base import Metric

            if not (isinstance(value, type) and issubclass(value, Metric)):
                raise CtxMetricsError(f"metric {key.lower()} ({entry_point.value}) is not a sacrebleu Metric class")
            from .finite import checked

            self[key] = value = checked(value)
        return value

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> KeysView[str]:  # type: ignore[override]  # dict's own view, after the search
        self._search()
        return super().keys()

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401  # dict.get would not load the metric

    def values(self) -> list:  # type: ignore[override]  # a list, because the dict's view would not load the metrics
        return [self[key] for key in self]

    def items(self) -> list[tuple]:  # type: ignore[override]
        return [(key, self[key]) for key in self]


def _refuse(entry_point: "metadata.EntryPoint", why: str) -> None:
    say(f"metric {entry_point.name!r} of {entry_point.value} is left out: {why}")


def extend(module: ModuleType) -> None:
    vars(module)["METRICS"] = MetricTable(module.METRICS, _installed)


def metric_table() -> MetricTable:
    """Return the table of sacrebleu's and the installed metrics, even if CTX_METRICS_NO_AUTOLOAD keeps them out of
    sacrebleu."""
    from sacrebleu import metrics

    if isinstance(metrics.METRICS, MetricTable):
        return metrics.METRICS
    return MetricTable(metrics.METRICS, _installed)


def asks_for_help(word: str) -> bool:
    """Whether a word of a command line is -h, --help or an abbreviation of it."""
    return word in ("-h", "--help") or (len(word) > 2 and "--help".startswith(word))


def wanted_metrics(names: list[str], argv: list[str]) -> list[str]:
    """Return the plugin metrics whose flags the command line may use, so that only those are imported."""
    if any(map(asks_for_help, argv)):
        return list(names)
    return [
        name
        for name in names
        if any(
            arg == name
            or arg.startswith(f"--{name}-")
            or (
                arg.startswith("--") and arg[2:].replace("-", "", 1).startswith(f"{name}-")
            )  # --rtt-sbert- is rttsbert's
            or (arg.startswith("-") and arg.endswith(name))
            for arg in argv
        )
    ]


class Model(NamedTuple):
    """A model, and the metric that runs it; MODEL where only the metric is known."""

    metric: str
    name: str

    @property
    def flags(self) -> str:
        """The flags of the sacrebleu command that run it."""
        return f"-m {self.metric} --{self.metric}-model {self.name}"


def model_named(name: str, table: MetricTable) -> Model | None:
    """Return the model that a word means which was given in a metric's place; None for a metric, or any other word.

    >>> model_named("xcomet", {}), model_named("google/metricx-24-hybrid-xl-v2p6", {}), model_named("rouge", {})
    (Model(metric='comet', name='Unbabel/XCOMET-XL'), Model(metric='metricx', name='google/metricx-24-hybrid-xl-v2p6'), None)
    """
    word = name.lower()
    if word.upper() in table:
        return None
    model = next((model for pattern, model in COMET_MODELS.items() if re.search(pattern, word)), "")
    other = re.search(OTHER_MODELS, word)
    if not (model or other):
        return None
    metric, given = (other[0], "MODEL") if other else ("comet", model)
    return Model(metric, name if "/" in name else given)


def model_fix(name: str, table: MetricTable) -> str:
    """Return the fix if a model's name was given instead of a metric's; "" otherwise.

    >>> model_fix("xcomet", {})
    'xcomet is a model, not a metric: give -m comet --comet-model Unbabel/XCOMET-XL'
    """
    model = model_named(name, table)
    return f"{name} is a model, not a metric: give {model.flags}" if model else ""
