"""What the round-trip metrics share (Moon, Cho and Park 2020): the source against what comes back when an output is
translated into the source language again."""

from collections.abc import Sequence
from typing import Any, Optional

from sacrebleu.metrics.base import Metric

from ..corpus import Corpus, list_of_strings
from ..errors import InputError
from ..notices import counted, notice
from ..run.context import Capabilities, Stream
from .base import digest
from .derived import DerivedMetric, Texts


class RoundTripMetric(DerivedMetric):
    """An inner metric with the round trip as hypothesis and the source as reference. References are not read.

    inner            the metric that compares round trip and source
    references       not read; may be None
    context          systems, sources, roundtrips, backtranslator, source_lang and, where the inner metric runs a model,
                     engine, as run.context.Context describes them; without `systems` the one stream of round trips is of
                     whatever hypotheses are scored

    Raises InputError where sources or round trips are missing, or their numbers differ.
    """

    capabilities = Capabilities(
        reads=frozenset({"systems", "sources", "source_lang", "roundtrips", "backtranslator"}), references=False
    )

    def __init__(self, inner: Metric, references: Optional[Sequence[Stream]], **context: Any):
        super().__init__(inner, references, **context)
        name = self.NAME.lower()
        roundtrips, backtranslator = self._context.roundtrips, self._context.backtranslator
        if self._context.sources is None:
            raise InputError(f"{name}: needs the source: give --source FILE (sources), or a test set with -t")
        if not roundtrips:
            raise InputError(
                f"{name}: needs each system's round trip: give --roundtrip FILE ... (roundtrips), a file a system in the "
                "order of the systems, or --rtt-bt to have it made"
            )
        self._ref_cache, self.num_refs = self._ref_cache or [], 0
        for stream in roundtrips:
            list_of_strings(f"{name}: roundtrips", stream)
        self._roundtrips = {"": list(roundtrips[0])} if len(roundtrips) == 1 else {}  # until systems are announced
        self.settings = {**self.settings, "inputs": "src+rtt", "bt": backtranslator or "file"}
        self.settings.pop("multiref", None)  # there is one source
        if self._context.systems:
            self.announce(self._context.systems)

    def announce(self, systems: Sequence[Sequence[str]]) -> None:
        """Take all systems, each with its round trip; raises InputError where their numbers or lengths differ."""
        super().announce(systems)
        self._roundtrips = self._by_system(systems, self._context.roundtrips)
        self._warn_of_same_engine(systems, self._context.backtranslator)
        self._warn_of_other_languages(systems, self._context.sources, self._context.roundtrips)

    def _cache_references(self, references: Sequence[Sequence[Optional[str]]]) -> list:
        self.num_refs = 0
        return []

    def _by_system(self, systems, roundtrips) -> dict[str, list[str]]:
        """Each system's round trip, by the digest of its output; the one there is under "" where no system is known."""
        name = self.NAME.lower()
        if not systems and len(roundtrips) == 1:
            return {"": list(roundtrips[0])}
        if len(systems) != len(roundtrips):
            found = counted(len(roundtrips), "round trip", "round trips")
            raise InputError(
                f"{name}: {found} for {counted(len(systems), 'system', 'systems')}; give one a system, in order"
            )
        of_system: dict[str, list[str]] = {}
        for number, (system, stream) in enumerate(zip(systems, roundtrips), 1):
            if len(stream) != len(system):
                where = getattr(stream, "name", "") or f"round trip {number}"
                whose = getattr(system, "name", "") or f"system {number}"
                lines = counted(len(stream), "line", "lines")
                raise InputError(
                    f"{where} has {lines}, but {whose} has {len(system)}; a round trip has a line for each"
                )
            key = digest(system)
            if of_system.setdefault(key, list(stream)) != list(stream):
                whose = getattr(system, "name", "") or f"system {number}"
                notice(
                    f"{name}: {whose} equals an earlier system, and its round trip does not; the earlier one is scored"
                )
        return of_system

    def _warn_of_same_engine(self, systems, backtranslator: Optional[str]) -> None:
        from ..roundtrip.guards import same_engine

        for whose in same_engine(backtranslator or "", [getattr(system, "name", "") for system in systems]):
            notice(
                f"the back-translator {backtranslator} seems to be the system under test, {whose}: its round trips come "
                "back too well; take another one"
            )

    def _warn_of_other_languages(self, systems, sources, roundtrips) -> None:
        from ..roundtrip.guards import other_languages

        names = [getattr(system, "name", "") or f"system {number}" for number, system in enumerate(systems, 1)]
        for line in other_languages(names, sources, systems, roundtrips):
            notice(line)

    def _texts(self, corpus: Corpus) -> Texts:
        from ..roundtrip.guards import guards

        key = "" if "" in self._roundtrips else digest(corpus.hypotheses)
        if key not in self._roundtrips:
            raise InputError(f"{self.NAME.lower()}: no round trip is known of these hypotheses; give them as `systems`")
        roundtrip = self._roundtrips[key]
        if len(roundtrip) != len(corpus):
            raise InputError(
                f"{self.NAME.lower()}: the round trip has {len(roundtrip)} segments, the system {len(corpus)}"
            )
        return Texts(roundtrip, [corpus.sources], *guards(corpus.sources, corpus.hypotheses, roundtrip))
