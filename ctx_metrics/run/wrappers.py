"""What changes how every metric of a run scores, sacrebleu's own included, by flags of its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from ..entry_points import loaded_or_named
from ..settings import CommandLine, from_flags
from .context import MetricSettings

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

GROUP = "ctx_metrics.wrappers"
Wrap = Callable[[type["Metric"]], type["Metric"]]


class Wrapper(ABC):
    """A wrapper, which an entry point of the group `ctx_metrics.wrappers` names.

    title       title of its group of flags
    settings    its settings class; in sacrebleu's command, its flags begin with --ctx-
    elsewhere   the settings that sacrebleu's command does not offer
    """

    title: str
    settings: type
    elsewhere: Collection[str] = ()

    @property
    def of_sacrebleu(self) -> list[str]:
        """The settings that sacrebleu's command offers."""
        return [each.name for each in fields(self.settings) if each.name not in self.elsewhere]

    @abstractmethod
    def wrap(self, settings: Any) -> Wrap | None:
        """What makes the class of each metric of a run into one that scores otherwise, and takes the same arguments; None if
        the settings do not ask for it."""


@cache
def installed_wrappers() -> tuple[Wrapper, ...]:
    return tuple(loaded_or_named(GROUP, Wrapper))  # type: ignore[type-abstract]


def wraps_of(line: CommandLine, dest: str = "") -> list[Wrap]:
    """What a command line asks for; `dest` is the start of the attributes of the wrappers' flags."""
    found = [each.wrap(from_flags(each.settings, line, dest=dest)) for each in installed_wrappers()]
    return [wrap for wrap in found if wrap is not None]


def wrapped(metrics: Sequence[MetricSettings], wraps: Sequence[Wrap]) -> list[MetricSettings]:
    found = [*metrics]
    for wrap in wraps:
        found = [each._replace(cls=wrap(each.cls)) for each in found]
    return found
