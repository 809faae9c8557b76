"""The design of significance tests in all commands: unit, test, correction, defaults, and the notes below a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sacrebleu.metrics.base import Metric

from ..checks.documents import say_single
from ..corpus import document_ranges
from ..errors import InputError
from ..flag_types import Positive, Probability, Seed
from ..notices import counted, notice
from ..settings import setting
from ..wording import setting_named, worded
from .context import capabilities

RESAMPLES, TRIALS, SEED, ALPHA = 1000, 10_000, 12345, 0.05  # sacrebleu's
BOOTSTRAP, RANDOMIZATION = TESTS = ("bootstrap", "randomization")
FEW = 10  # with fewer documents, a notice calls intervals imprecise
ALONE = "resampling documents is the same as resampling segments"


def say_few_documents(documents: int) -> None:
    if documents < FEW:
        notice(
            f"resampling by document: there are only {documents} documents, so intervals are imprecise "
            f"and few differences can be significant; use at least {FEW}, preferably many more"
        )


def has_all_swaps(units: int, trials: int) -> bool:
    """Return whether a randomization test takes each of the 2^units ways to swap outputs once, because the trials suffice.

    >>> has_all_swaps(13, 10_000), has_all_swaps(14, 10_000)
    (True, False)
    """
    return units < trials.bit_length()


def smallest_exact_p(units: int) -> float:
    """Return the smallest p-value of a test that takes each swap once: swapping no unit, and swapping all, always count."""
    return 2.0 ** (1 - units)


def resample(group: str = "") -> Any:
    return setting(
        "The unit to swap or resample, for tests and intervals. (Default: document if there are at least two, else segment)",
        group=group,
    )


@dataclass(frozen=True)
class SystemTests:
    """The settings of significance tests between systems."""

    test: str = setting(
        "randomization (sacrebleu's --paired-ar), or bootstrap (sacrebleu's --paired-bs), which reports a difference "
        "between equal systems too often.",
        RANDOMIZATION,
        group="tests",
        choices=TESTS,
    )
    resample: Literal["segment", "document"] | None = resample()
    samples: Positive | None = setting(
        f"Number of trials of the test. (Default: {TRIALS} for randomization, {RESAMPLES} for bootstrap)"
    )
    seed: Seed = setting("Seed of the trials.", SEED)
    alpha: Probability = setting("Level of significance.", ALPHA)
    no_holm: bool = setting("Do not correct p-values for the number of pairs.", False)
    flag: str = "--resample"  # which gives the unit, for messages

    @property
    def trials(self) -> int:
        return self.samples or (RESAMPLES if self.test == BOOTSTRAP else TRIALS)

    @property
    def resamples(self) -> int:
        return self.trials if self.test == BOOTSTRAP else RESAMPLES

    def is_exact(self, units: int) -> bool:
        return self.test == RANDOMIZATION and has_all_swaps(units, self.trials)

    def design(self, systems: Sequence[Sequence[Any]], doc_ids: Sequence[str] | None) -> "Design":
        """Return the design of the tests; documents are the unit if there are at least two, unless segments are wanted."""
        ranges = [] if doc_ids is None else document_ranges(doc_ids)
        if self.resample == "document" and len(ranges) < 2:
            found = counted(len(ranges), "document", "documents")
            by_documents, by_segments = (setting_named(self.flag, "resample", unit) for unit in ("document", "segment"))
            raise InputError(
                f"{by_documents} needs at least 2 documents, but the document ids name {found}",
                fix=f"use {by_segments}",
            )
        by_document = self.resample != "segment" and len(ranges) > 1
        if by_document:
            say_single(doc_ids, ALONE)
        return Design(self, len(systems), len(systems[0]), ranges if by_document else None)


USUAL = SystemTests()  # the defaults of all commands


@dataclass(frozen=True)
class Design:
    """The design of the significance tests between some systems.

    ranges    of the documents that are swapped or drawn whole; None means that segments are
    """

    testing: SystemTests
    systems: int
    segments: int
    ranges: Sequence[tuple[int, int]] | None

    @property
    def unit(self) -> str:
        return "segment" if self.ranges is None else "document"

    @property
    def units(self) -> int:
        return self.segments if self.ranges is None else len(self.ranges)

    @property
    def pairs(self) -> int:
        return self.systems * (self.systems - 1) // 2

    @property
    def is_exact(self) -> bool:
        return self.testing.is_exact(self.units)

    def facts(self) -> dict[str, Any]:
        testing = self.testing
        return {
            "test": testing.test,
            "exact": self.is_exact,
            "trials": 2**self.units if self.is_exact else testing.trials,
            "unit": self.unit,
            "units": self.units,
            "correction": "none" if testing.no_holm else "holm",
            "alpha": testing.alpha,
            "seed": testing.seed,
        }

    @property
    def test(self) -> str:
        """The meaning of a mark or a rank, and its test."""
        testing = self.testing
        name = "paired bootstrap" if testing.test == BOOTSTRAP else "approximate randomization"
        how = f"{name}, {testing.trials:,} trials, {self._units}, seed {testing.seed}"
        if self.is_exact:
            how = f"exact randomization, all {2**self.units:,} swaps of {self._units}"
        corrected = (
            "not corrected" if testing.no_holm else f"Holm's correction for {counted(self.pairs, 'pair', 'pairs')}"
        )
        return f"p < {testing.alpha:g} ({how}, {corrected})"

    def notes(self) -> list[str]:
        """Return the sentences below a table of these tests."""
        if self.units < 2:
            return []
        compared = self.pairs > 0
        return [
            *[f"* marks {self.test}."] * compared,
            f"Intervals: bootstrap, {self.testing.resamples:,} resamples of {self._units}, seed {self.testing.seed}.",
            *["Systems that share a rank form one significance cluster."] * compared,
        ]

    def say_what_is_rough(self, metrics: Mapping[str, Metric]) -> None:
        if self.ranges is not None:
            say_few_documents(self.units)
        for name, metric in metrics.items():
            if self.ranges is None and self.units > 1 and capabilities(metric).dependent_rows:
                fix = f"give {worded('--docids FILE', 'docs')}"
                if self.testing.resample == "segment":
                    fix = f"leave out {setting_named(self.testing.flag, 'resample', 'segment')}"
                notice(f"{name}: segments share scores, so p-values of single segments are too small; {fix}")
        if self.pairs:
            self._say_undecidable()
        if self.units < 2:
            notice("there is only one segment, so there are no intervals and no p-values")

    @property
    def _units(self) -> str:
        return counted(self.units, self.unit, f"{self.unit}s")

    def _say_undecidable(self) -> None:
        """Give notice if even the smallest possible p-value is not significant, because few units have few outcomes."""
        testing, pairs = self.testing, 1 if self.testing.no_holm else self.pairs
        smallest, few = 1 / (1 + testing.trials), counted(testing.trials, "trial", "trials")
        more = worded("more --samples of ctx-metrics compare", "more samples")
        if self.is_exact:
            smallest, few = smallest_exact_p(self.units), self._units
            by_segments = setting_named(testing.flag, "resample", "segment")
            more = "more segments" if self.ranges is None else f"more documents, or {by_segments}"
        if self.units > 1 and smallest * pairs >= testing.alpha:
            corrected = (
                f" ({min(smallest * pairs, 1):.2g} with Holm's correction for {pairs} pairs)" if pairs > 1 else ""
            )
            notice(
                f"with {few} no p-value can be below {smallest:.2g}{corrected}, so no difference can be significant; use "
                f"{more}"
            )
