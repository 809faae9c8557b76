"""The outputs of a run's other systems as candidates, for models that compare a hypothesis with other translations."""

from collections.abc import Sequence
from functools import cached_property

from ..corpus import Corpus, digest
from ..errors import InputError
from ..models.estimator import Estimator, Example
from ..notices import collected, counted
from ..system_names import system_names
from ..windows import Window
from ..wording import worded

WHY = "its candidates are the other systems' outputs"


class Candidates:
    """The candidates of every hypothesis of a run.

    As in the models' training, these are the other systems' outputs that differ from the hypothesis, as many as the model
    reads, in the order of the systems; empty texts stand for those that lack. So equal outputs have equal scores.
    """

    def __init__(self, metric: str, estimator: Estimator, systems: Sequence[Sequence[str]]):
        self.metric, self.model, self.number = metric, estimator.model.name, estimator.candidates
        self.systems = systems
        self._lines: dict[tuple[int, int], list[str]] = {}

    def signature(self) -> dict[str, str | None]:
        """The systems that are candidates where no outputs are equal, and a hash of all systems' texts, in their order;
        without systems, the number of candidates alone."""
        if not self.systems:
            return {"candidates": str(self.number), "pool": None}
        named = [str(getattr(system, "name", "") or f"system{k}") for k, system in enumerate(self.systems, 1)]
        pool = digest([digest(system) for system in self.systems])[:12]
        return {"candidates": "+".join(system_names(named)[: self.number + 1]), "pool": pool}

    def beside(self, example: Example, window: Window) -> Example:
        """The example of a window with its candidates."""
        return with_candidates(example, self._of(window), self.number)

    def lack(self, corpus: Corpus, window: Window) -> bool:
        """Whether empty texts stand for some candidates of a system's window."""
        own = _joined(corpus, window)
        return sum(text != own for text in self._of(window)) < self.number

    def check(self, hypotheses: Sequence[str]) -> None:
        """Raise InputError if there are too few other systems, or if their segments are not the same."""
        there = len(self.systems) - any(corpus.hypotheses == hypotheses for corpus in self._corpora)
        if there < self.number:
            others = counted(self.number, "other system", "other systems")
            fix = worded(f"score at least {self.number + 1} systems in one run", "give all of them as systems")
            raise InputError(
                f"{self.metric}: {self.model} compares outputs with those of {others}, but there "
                f"{'is' if there == 1 else 'are'} {there or 'none'}: {fix}, or name another model"
            )
        for number, corpus in enumerate(self._corpora, 1):
            if len(corpus) != len(hypotheses):
                lines = counted(len(corpus), "segment", "segments")
                raise InputError(
                    f"{self.metric}: system {number} has {lines}, but the one that is scored has {len(hypotheses)}; "
                    "candidates are translations of the same segments"
                )

    def _of(self, window: Window) -> list[str]:
        """The systems' texts in a window."""
        place = window.start, window.end
        if place not in self._lines:
            self._lines[place] = [_joined(corpus, window) for corpus in self._corpora]
        return self._lines[place]

    @cached_property
    def _corpora(self) -> list[Corpus]:
        with collected():  # a notice of odd texts of a system is given where it is scored
            return [Corpus(system) for system in self.systems]


def with_candidates(example: Example, hypotheses: Sequence[str], number: int) -> Example:
    """The example with the first hypotheses that differ from its hypothesis, and empty texts in place of those that lack.

    >>> with_candidates(Example("a"), ["b", "a", "c"], 3).candidates
    ('b', 'c', '')
    """
    others = [text for text in hypotheses if text != example.hypothesis][:number]
    return example._replace(candidates=(*others, *[""] * (number - len(others))))


def _joined(corpus: Corpus, window: Window) -> str:
    return " ".join(corpus.hypotheses[window.start : window.end])
