"""The round-trip metrics (Moon, Cho and Park 2020): the source against what comes back when an output is translated into the
source language again."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric

from ..corpus import Corpus, list_of_strings
from ..engine.options import EngineOptions
from ..errors import InputError
from ..notices import counted, notice
from ..run.context import Capabilities, Stream
from ..scoring.base import digest
from ..scoring.derived import DerivedMetric, Texts
from ..scoring.segment_mean import SegmentMean
from ..scoring.sentence_bleu import SentenceBLEU
from ..scoring.sentence_cosine import SentenceCosine
from ..scoring.tokenization import add_chrf_arguments, add_tokenization_arguments, tokenizer_for
from .bertscore import BERTScore, Layers, add_model_arguments


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

    def __init__(self, inner: Metric, references: Sequence[Stream] | None, **context: Any):
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
        sources, roundtrips = self._context.sources, self._context.roundtrips
        assert sources is not None and roundtrips is not None  # the constructor refuses to be without
        self._roundtrips = self._by_system(systems, roundtrips)
        self._warn_of_same_engine(systems, self._context.backtranslator)
        self._warn_of_other_languages(systems, sources, roundtrips)

    def _cache_references(self, references: Sequence[Sequence[str | None]]) -> list:
        self.num_refs = 0
        return []

    def _by_system(self, systems: Sequence[Sequence[str]], roundtrips: Sequence[Sequence[str]]) -> dict[str, list[str]]:
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
        for number, (system, stream) in enumerate(zip(systems, roundtrips, strict=True), 1):
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

    def _warn_of_same_engine(self, systems: Sequence[Sequence[str]], backtranslator: str | None) -> None:
        from ..roundtrip.guards import same_engine

        for whose in same_engine(backtranslator or "", [getattr(system, "name", "") for system in systems]):
            notice(
                f"the back-translator {backtranslator} seems to be the system under test, {whose}: its round trips come "
                "back too well; take another one"
            )

    def _warn_of_other_languages(
        self, systems: Sequence[Sequence[str]], sources: Sequence[str], roundtrips: Sequence[Sequence[str]]
    ) -> None:
        from ..roundtrip.guards import other_languages

        names = [getattr(system, "name", "") or f"system {number}" for number, system in enumerate(systems, 1)]
        for line in other_languages(names, sources, systems, roundtrips):
            notice(line)

    def _texts(self, corpus: Corpus) -> Texts:
        from ..roundtrip.guards import guards

        assert corpus.sources is not None  # the constructor refuses to be without
        key = "" if "" in self._roundtrips else digest(corpus.hypotheses)
        if key not in self._roundtrips:
            raise InputError(f"{self.NAME.lower()}: no round trip is known of these hypotheses; give them as `systems`")
        roundtrip = self._roundtrips[key]
        if len(roundtrip) != len(corpus):
            raise InputError(
                f"{self.NAME.lower()}: the round trip has {len(roundtrip)} segments, the system {len(corpus)}"
            )
        return Texts(roundtrip, [corpus.sources], *guards(corpus.sources, corpus.hypotheses, roundtrip))


class RTTBLEU(RoundTripMetric):
    """sacrebleu's corpus BLEU with the round trip as hypothesis and the source as reference, in [0, 100].

    tokenize         one of BLEU's tokenizers; default by the source's language, 13a
    lowercase        whether case is ignored
    context          as RoundTripMetric takes it

    Raises InputError where sources or round trips are missing, or their numbers differ.
    """

    NAME = "RTTBLEU"
    _INNER: type[BLEU | SentenceBLEU] = BLEU

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        tokenize: str | None = None,
        lowercase: bool = False,
        **context: Any,
    ):
        inner = self._INNER(lowercase=lowercase, tokenize=tokenizer_for(tokenize, context.get("source_lang")))
        super().__init__(inner, references, systems=systems, **context)

    @classmethod
    def add_arguments(cls, group: argparse._ArgumentGroup) -> None:
        """The flags --NAME-* of the sacrebleu command."""
        add_tokenization_arguments(group, cls.NAME.lower(), "the source's language")


class RTTSentBLEU(RTTBLEU):
    """100 times the mean of Moses' sentence BLEU with the round trip as hypothesis and the source as reference.

    Takes what RTTBLEU takes. The paper names smoothed sentence BLEU and not which smoothing; this is the one of WMT's
    SentBLEU baseline.
    """

    NAME = "RTTSentBLEU"
    _INNER = SentenceBLEU


class RTTChrF(RoundTripMetric):
    """chrF with the round trip as hypothesis and the source as reference, in [0, 100].

    average          the mean of the segments' chrF in place of sacrebleu's corpus statistics
    char_order, word_order, beta    chrF's; word_order 2 is chrF++, beta 3 is WMT19's
    context          as RoundTripMetric takes it

    Raises InputError where sources or round trips are missing, or their numbers differ.
    """

    NAME = "RTTChrF"

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        average: bool = False,
        char_order: int = 6,
        word_order: int = 0,
        beta: int = 2,
        **context: Any,
    ):
        chrf = CHRF(char_order=char_order, word_order=word_order, beta=beta)
        inner = SegmentMean(chrf) if average else chrf
        super().__init__(inner, references, systems=systems, **context)
        self.settings |= {"beta": beta, "average": "segments" if average else "corpus"}

    @classmethod
    def add_arguments(cls, group: argparse._ArgumentGroup) -> None:
        """The flags --rttchrf-* of the sacrebleu command."""
        group.add_argument(
            "--rttchrf-average",
            action="store_true",
            help="The mean of the segments' chrF, as the paper has it, in place of sacrebleu's corpus statistics.",
        )
        add_chrf_arguments(group, "rttchrf")


class RTTSBERT(RoundTripMetric):
    """100 times the mean cosine of the sentence embeddings of round trip and source, in [-100, 100].

    model            "embedded" (the default, English), a folder or a hub name[@revision] of sentence-transformers
    context          as RoundTripMetric takes it, and engine

    Raises InputError where sources or round trips are missing or their numbers differ, ModelError for a model that cannot be
    used, ResourceError for a device that is missing or too small.
    """

    NAME = "RTTSBERT"
    capabilities = replace(
        RoundTripMetric.capabilities,
        reads=RoundTripMetric.capabilities.reads | {"engine"},
        flags=("--rtt-sbert-",),
    )

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        model: str | None = None,
        **context: Any,
    ):
        inner = SentenceCosine(
            target_lang=context.get("source_lang"),
            model=model,
            engine=context.get("engine", EngineOptions()),
            flag="--rtt-sbert",
        )
        super().__init__(inner, references, systems=systems, **context)

    @classmethod
    def add_arguments(cls, group: argparse._ArgumentGroup) -> None:
        """The flag --rtt-sbert-model of the sacrebleu command."""
        group.add_argument(
            "--rtt-sbert-model",
            dest="rttsbert_model",
            default=None,
            metavar="MODEL",
            help="A sentence-transformers folder or hub name[@revision]. (Default: embedded, English only)",
        )


class _OfRoundTrip(BERTScore):
    NAME = "RTTBERTScore"  # for messages


class RTTBERTScore(RoundTripMetric):
    """100 times the mean BERTScore F1 with the round trip as hypothesis and the source as reference, in [-100, 100].

    model            "embedded" (the default, English), paper, a folder or a hub name[@revision]
    layers           as BERTScore takes them
    idf              weights from the source segments: plus-one (bert_score's, the default), paper, or none
    context          as RoundTripMetric takes it, and engine

    Raises InputError where sources or round trips are missing or their numbers differ, ModelError for a model that cannot be
    used, ResourceError for a device that is missing or too small.
    """

    NAME = "RTTBERTScore"
    capabilities = replace(
        RoundTripMetric.capabilities,
        reads=RoundTripMetric.capabilities.reads | {"engine"},
        flags=("--rtt-bertscore-",),
    )

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        model: str | None = None,
        layers: Layers | None = None,
        idf: str = "plus-one",
        **context: Any,
    ):
        inner = _OfRoundTrip(
            target_lang=context.get("source_lang"),
            engine=context.get("engine", EngineOptions()),
            model=model,
            layers=layers,
            idf=idf,
            flag="--rtt-bertscore",
        )
        super().__init__(inner, references, systems=systems, **context)

    @classmethod
    def add_arguments(cls, group: argparse._ArgumentGroup) -> None:
        """The flags --rtt-bertscore-* of the sacrebleu command."""
        add_model_arguments(group, "rttbertscore", "--rtt-bertscore", idf="plus-one")
