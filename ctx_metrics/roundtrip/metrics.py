"""The round-trip metrics (Moon, Cho and Park 2020): they compare the source with the back-translation of an output."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric

from ..corpus import Corpus, list_of_strings
from ..errors import InputError
from ..metrics.bertscore import BERTScore, WeightSettings, idf_setting
from ..notices import counted, notice
from ..run.context import Capabilities
from ..scoring.base import ContextMetric, digest
from ..scoring.derived import DerivedMetric, Texts
from ..scoring.encoders import encoder_setting
from ..scoring.segment_mean import SegmentMean
from ..scoring.sentence_bleu import SentenceBLEU
from ..scoring.sentence_cosine import SentenceCosine
from ..scoring.tokenization import ChrFSettings, WordSettings, tokenizer_for, tokenizer_setting
from ..settings import setting
from ..wording import worded
from .inputs import ROUND_TRIPS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..metrics.keywords import References, Systems
    from .keywords import RTTBERTScoreKeywords, RTTBLEUKeywords, RTTChrFKeywords, RTTSBERTKeywords


class RoundTripMetric(DerivedMetric):
    """An inner metric with the round trip as hypothesis and the source as reference. References are not read.

    Without `systems` the one stream of round trips is of whatever hypotheses are scored.
    Raises InputError where sources or round trips are missing, or their numbers differ.
    """

    capabilities = Capabilities(
        reads=frozenset({"systems", "sources", "source_lang"}), inputs=(ROUND_TRIPS,), references=False
    )

    def _prepare(self) -> None:
        super()._prepare()
        name = self.NAME.lower()
        roundtrips, backtranslator = self._context.inputs["roundtrips"], self._context.inputs["backtranslator"]
        if self._context.sources is None:
            raise InputError(
                f"{name}: needs the source: give {worded('--source FILE, or a test set with -t', 'sources')}"
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
        """Set all systems, each with its round trip; raises InputError if their numbers or lengths differ."""
        from .guards import other_languages, same_engine

        super().announce(systems)
        roundtrips, backtranslator = self._context.inputs["roundtrips"], self._context.inputs["backtranslator"]
        assert roundtrips is not None  # the constructor requires them
        self._roundtrips = self._by_system(systems, roundtrips)
        for whose in same_engine(backtranslator or "", [getattr(system, "name", "") for system in systems]):
            notice(
                f"the back-translator {backtranslator} seems to be the system under test, {whose}: its round trips "
                "score too high; use another back-translator"
            )
        names = [getattr(system, "name", "") or f"system {number}" for number, system in enumerate(systems, 1)]
        for line in other_languages(names, self._context.sources, systems, roundtrips):
            notice(line)

    def _cache_references(self, references: Collection[Collection[str | None]]) -> list:
        self.num_refs = 0
        return []

    def _by_system(self, systems: Sequence[Sequence[str]], roundtrips: Sequence[Sequence[str]]) -> dict[str, list[str]]:
        """Return each system's round trip by the digest of its output; a single one without systems has the key ""."""
        name = self.NAME.lower()
        if not systems and len(roundtrips) == 1:
            return {"": list(roundtrips[0])}
        if len(systems) != len(roundtrips):
            trips = counted(len(roundtrips), "round trip", "round trips")
            raise InputError(
                f"{name}: {trips} for {counted(len(systems), 'system', 'systems')}; give one per system, in the "
                "order of the systems"
            )
        of_system: dict[str, list[str]] = {}
        for number, (system, stream) in enumerate(zip(systems, roundtrips, strict=True), 1):
            if len(stream) != len(system):
                where = getattr(stream, "name", "") or f"round trip {number}"
                whose = getattr(system, "name", "") or f"system {number}"
                lines = counted(len(stream), "line", "lines")
                raise InputError(
                    f"{where} has {lines}, but {whose} has {len(system)}; a round trip needs one line for each of them"
                )
            key = digest(system)
            if of_system.setdefault(key, list(stream)) != list(stream):
                whose = getattr(system, "name", "") or f"system {number}"
                notice(
                    f"{name}: {whose} equals an earlier system, but its round trip differs; the round trip of the "
                    "earlier system is scored"
                )
        return of_system

    def _texts(self, corpus: Corpus) -> Texts:
        from .guards import guards

        assert corpus.sources is not None  # the constructor requires them
        key = "" if "" in self._roundtrips else digest(corpus.hypotheses)
        if key not in self._roundtrips:
            raise InputError(f"{self.NAME.lower()}: no round trip is known of these hypotheses; give them as `systems`")
        roundtrip = self._roundtrips[key]
        if len(roundtrip) != len(corpus):
            raise InputError(
                f"{self.NAME.lower()}: the round trip has {len(roundtrip)} segments, the system {len(corpus)}"
            )
        return Texts(roundtrip, [corpus.sources], *guards(corpus.sources, corpus.hypotheses, roundtrip))


@dataclass(frozen=True)
class SourceWordSettings(WordSettings):
    """How the words of texts in the source language are found and compared."""

    tokenize: str | None = tokenizer_setting("the source's language")


class RTTBLEU(RoundTripMetric):
    """sacrebleu's corpus BLEU with the round trip as hypothesis and the source as reference, in [0, 100]."""

    NAME = "RTTBLEU"
    Settings = SourceWordSettings
    _INNER: type[BLEU | SentenceBLEU] = BLEU

    if TYPE_CHECKING:

        def __init__(
            self, references: References = None, systems: Systems = (), **given: Unpack[RTTBLEUKeywords]
        ) -> None: ...

    def _make_inner(self) -> Metric:
        tokenize = tokenizer_for(self.options.tokenize, self._context.source_lang)
        return self._INNER(lowercase=self.options.lowercase, tokenize=tokenize)


class RTTSentBLEU(RTTBLEU):
    """100 times the mean of Moses' sentence BLEU with the round trip as hypothesis and the source as reference.

    The paper does not name the smoothing of its sentence BLEU; this is the smoothing of WMT's SentBLEU baseline.
    """

    NAME = "RTTSentBLEU"
    _INNER = SentenceBLEU


@dataclass(frozen=True)
class AverageSettings:
    """Whether segments' scores are averaged."""

    average: bool = setting(
        "Report the mean of the segments' chrF, as in the paper, instead of sacrebleu's corpus statistics.", False
    )


@dataclass(frozen=True)
class RTTChrFSettings(ChrFSettings, AverageSettings):
    """Settings of RTTChrF."""


class RTTChrF(RoundTripMetric):
    """chrF with the round trip as hypothesis and the source as reference, in [0, 100]."""

    NAME = "RTTChrF"
    Settings = RTTChrFSettings

    if TYPE_CHECKING:

        def __init__(
            self, references: References = None, systems: Systems = (), **given: Unpack[RTTChrFKeywords]
        ) -> None: ...

    def _make_inner(self) -> Metric:
        own = asdict(self.options)
        return SegmentMean(CHRF(**own)) if own.pop("average") else CHRF(**own)

    def _prepare(self) -> None:
        super()._prepare()
        self.settings |= {"beta": self.options.beta, "average": "segments" if self.options.average else "corpus"}


class EmbeddedRoundTripMetric(RoundTripMetric):
    """A round-trip metric whose inner one runs a model, which reads the source language."""

    capabilities = replace(RoundTripMetric.capabilities, reads=RoundTripMetric.capabilities.reads | {"engine"})
    _INNER: type[ContextMetric]

    def _make_inner(self) -> Metric:
        return self._INNER(target_lang=self._context.source_lang, engine=self._context.engine, **vars(self.options))


@dataclass(frozen=True)
class RTTSBERTSettings:
    """Settings of RTTSBERT."""

    model: str | None = encoder_setting("a sentence-transformers folder or hub name[@revision]")


class _Cosine(SentenceCosine):
    NAME, flag = "RTTSBERT", "--rtt-sbert"  # for messages


class RTTSBERT(EmbeddedRoundTripMetric):
    """100 times the mean cosine of the sentence embeddings of round trip and source, in [-100, 100]."""

    NAME = "RTTSBERT"
    Settings = RTTSBERTSettings
    capabilities = replace(EmbeddedRoundTripMetric.capabilities, flags=("--rtt-sbert-",))
    _INNER = _Cosine

    if TYPE_CHECKING:

        def __init__(
            self, references: References = None, systems: Systems = (), **given: Unpack[RTTSBERTKeywords]
        ) -> None: ...


@dataclass(frozen=True)
class RTTBERTScoreSettings(WeightSettings):
    """Settings of RTTBERTScore; the texts of `idf` are the source segments."""

    idf: str = idf_setting("plus-one")


class _OfTokens(BERTScore):
    NAME, flag = "RTTBERTScore", "--rtt-bertscore"  # for messages


class RTTBERTScore(EmbeddedRoundTripMetric):
    """100 times the mean BERTScore F1 with the round trip as hypothesis and the source as reference, in [-100, 100]."""

    NAME = "RTTBERTScore"
    Settings = RTTBERTScoreSettings
    capabilities = replace(EmbeddedRoundTripMetric.capabilities, flags=("--rtt-bertscore-",))
    _INNER = _OfTokens

    if TYPE_CHECKING:

        def __init__(
            self, references: References = None, systems: Systems = (), **given: Unpack[RTTBERTScoreKeywords]
        ) -> None: ...
