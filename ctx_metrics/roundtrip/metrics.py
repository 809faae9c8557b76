"""The round-trip metrics (Moon, Cho and Park 2020): they compare the source with the back-translation of an output."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric

from ..corpus import Corpus
from ..metrics.bertscore import BERTScore, WeightSettings, idf_setting
from ..metrics.keywords import CharacterNgrams, Encoding, Lowercasing, References, Systems
from ..notices import notice
from ..scoring.base import ContextMetric, SystemResult
from ..scoring.context import Capabilities, Stream
from ..scoring.derived import DerivedMetric, Texts, inner_settings
from ..scoring.results import results_of_segments
from ..scoring.scores import against_references, aggregate, rows_of
from ..scoring.sentence_bleu import SentenceBLEU
from ..scoring.token_matching import encoder_setting
from ..scoring.tokenization import ChrFSettings, WordSettings, tokenizer_for, tokenizer_setting
from ..settings import setting
from .guards import guards, other_languages, same_engine
from .inputs import ROUND_TRIPS
from .sentence_cosine import SentenceCosine

if TYPE_CHECKING:
    from typing_extensions import Unpack


class RoundTripKeywords(Lowercasing, CharacterNgrams, Encoding, total=False):
    """All keywords of the round-trip metrics, for type checkers; each metric has some of them."""

    sources: Collection[str] | None
    source_lang: str | None
    roundtrips: Systems | None
    backtranslator: str | None
    average: bool
    idf: str


class RoundTripMetric(DerivedMetric):
    """An inner metric with the round trip as hypothesis and the source as reference. References are not read.

    Without `systems` the one stream of round trips belongs to any hypotheses scored.
    """

    capabilities = Capabilities(
        reads=frozenset({"sources", "source_lang"}),
        inputs=(ROUND_TRIPS,),
        required=frozenset({"sources"}),
        references=False,
    )

    if TYPE_CHECKING:

        def __init__(
            self, references: References = None, systems: Systems = (), **given: Unpack[RoundTripKeywords]
        ): ...

    def _prepare(self) -> None:
        super()._prepare()
        backtranslator = self._context.inputs["backtranslator"]
        self._ref_cache, self.num_refs = self._ref_cache or [], 0
        self.signature = {**self.signature, "inputs": "src+rtt", "bt": backtranslator or "file"}
        self.signature.pop("multiref", None)  # there is one source
        if self._context.systems:
            self.announce(self._context.systems)

    def announce(self, systems: Sequence[Sequence[str]]) -> None:
        """Set all systems, each with its round trip; raise InputError if their numbers or lengths differ."""
        super().announce(systems)
        roundtrips, backtranslator = self._context.inputs["roundtrips"], self._context.inputs["backtranslator"]
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

    def _texts(self, corpus: Corpus) -> Texts:
        assert corpus.sources is not None  # the constructor refuses to be without
        roundtrip = corpus.inputs["roundtrips"]
        return Texts(roundtrip, [corpus.sources], *guards(corpus.sources, corpus.hypotheses, roundtrip))


@dataclass(frozen=True)
class SourceWordSettings(WordSettings):
    tokenize: str | None = tokenizer_setting("the source's language")


class RTTBLEU(RoundTripMetric):
    """sacrebleu's corpus BLEU with the round trip as hypothesis and the source as reference, in [0, 100]."""

    NAME = "RTTBLEU"
    Settings = SourceWordSettings
    _INNER: type[BLEU | SentenceBLEU] = BLEU

    def _make_inner(self) -> Metric:
        tokenize = tokenizer_for(self.settings.tokenize, self._context.source_lang)
        return self._INNER(lowercase=self.settings.lowercase, tokenize=tokenize)


class RTTSentBLEU(RTTBLEU):
    """100 times the mean of Moses' sentence BLEU with the round trip as hypothesis and the source as reference.

    The paper does not name the smoothing of its sentence BLEU; this is the smoothing of WMT's SentBLEU baseline.
    """

    NAME = "RTTSentBLEU"
    _INNER = SentenceBLEU


class SegmentMean(ContextMetric):
    """The mean over segments of metric.sentence_score, instead of its corpus score.

    metric    a metric of sacrebleu whose scores are in [0, 100], such as CHRF()

    A segment with a blank hypothesis, or whose references are all blank, scores 0 and is counted.
    """

    NAME = "SegmentMean"

    def __init__(
        self,
        metric: Metric,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        **context: Any,
    ):
        super().__init__(references, systems, **context)
        self.metric = metric
        self.signature = {**inner_settings(metric), "average": "segments"}

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        return results_of_segments(corpora, self._read, self._value)

    def _read(self, *references: str) -> Metric | None:
        """Return the metric with a segment's references; None if all of them are blank."""
        if not any(text.strip() for text in references):
            return None
        return against_references(self.metric, [[text] for text in references])

    def _value(self, hypothesis: str, metric: Metric | None) -> float | None:
        if metric is None or not hypothesis.strip():
            return None
        return aggregate(metric, rows_of(metric, [hypothesis])).score / 100


@dataclass(frozen=True)
class AverageSettings:
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

    def _make_inner(self) -> Metric:
        own = asdict(self.settings)
        return SegmentMean(CHRF(**own)) if own.pop("average") else CHRF(**own)

    def _prepare(self) -> None:
        super()._prepare()
        self.signature |= {"beta": self.settings.beta, "average": "segments" if self.settings.average else "corpus"}


class EmbeddedRoundTripMetric(RoundTripMetric):
    """A metric whose inner one runs a model, which reads the source language."""

    capabilities = replace(RoundTripMetric.capabilities, reads=RoundTripMetric.capabilities.reads | {"engine"})
    _INNER: type[ContextMetric]

    def _make_inner(self) -> Metric:
        return self._INNER(target_lang=self._context.source_lang, engine=self._context.engine, **vars(self.settings))


@dataclass(frozen=True)
class RTTSBERTSettings:
    model: str | None = encoder_setting("a sentence-transformers folder or hub name[@revision]")


class _Cosine(SentenceCosine):
    NAME, flag = "RTTSBERT", "--rtt-sbert"  # for messages


class RTTSBERT(EmbeddedRoundTripMetric):
    """100 times the mean cosine of the sentence embeddings of round trip and source, in [-100, 100]."""

    NAME = "RTTSBERT"
    Settings = RTTSBERTSettings
    capabilities = replace(EmbeddedRoundTripMetric.capabilities, flags=("--rtt-sbert-",))
    _INNER = _Cosine


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
