"""A language model on a server that judges translations, as GEMBA had it (Kocmi and Federmann 2023)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from ..corpus import Corpus
from ..engine_options import EngineOptions
from ..errors import InputError
from ..flag_types import amount, few
from ..metrics.estimated import EstimatorMetric
from ..metrics.keywords import Texts
from ..models.estimator import Estimate
from ..notices import Notice
from ..paths import Writes
from ..scoring.base import multiref_setting
from ..scoring.results import SystemResult
from ..settings import setting
from ..windows import Window
from .judging import EXAMPLE, FORMATS, KEY_ENV, MOST_SAMPLES, Judging, degrees, is_name, judging_of, many, seconds

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..metrics.keywords import References, Systems
    from ..models.estimator import Estimator
    from .asking import Fault

OWN = Judging("http://localhost", "")  # for its defaults


@dataclass(frozen=True)
class JudgeSettings:
    """The model that judges, and how it is asked. A setting that is not given may stand in the model's name."""

    url: str | None = setting(
        f"The server's address, such as {EXAMPLE}: any with OpenAI's chat interface (vLLM, llama.cpp, Ollama, hosted "
        "ones). The texts are sent there.",
        metavar="URL",
    )
    model: str | None = setting(
        "The model's name on the server; or both as URL#MODEL, which slide takes too.", metavar="MODEL"
    )
    key_env: str | None = setting(
        f"Environment variable that holds the key, if the server needs one. (Default: {KEY_ENV})", metavar="NAME"
    )
    samples: int | None = setting(
        f"Answers for each segment, at most {MOST_SAMPLES:,}. Those beyond two standard deviations are dropped, which needs "
        f"at least six answers; the score is the mean of the others. (Default: {OWN.samples})",
        type=many,
        metavar="N",
    )
    temperature: float | None = setting(
        f"How freely the model answers; with 0, one sample is enough. (Default: {OWN.temperature:g})",
        type=degrees,
        metavar="T",
    )
    max_tokens: int | None = setting(
        "Maximum number of tokens in an answer, including the model's reasoning. (Default: the server's)",
        type=amount,
        metavar="N",
    )
    format: str | None = setting(
        "How the server makes the model answer in JSON: by a schema, by one in llama-cpp-python's form (object-schema), "
        f"with any object, or not at all (text). (Default: {OWN.format})",
        choices=FORMATS,
    )
    inputs: str | None = setting(
        "Texts that the model reads. (Default: all of these that are given)", choices=["mt+src", "mt+ref", "mt+src+ref"]
    )
    multiref: str = multiref_setting()
    concurrency: int | None = setting(
        f"Maximum number of simultaneous requests. (Default: {OWN.concurrency})", type=few, metavar="N"
    )
    max_requests: int | None = setting(
        "Maximum number of requests in the run, including repeated ones. A run that needs more stops before the first. "
        "(Default: any number)",
        type=amount,
        metavar="N",
    )
    timeout: float | None = setting(
        f"Seconds without an answer after which a request is sent again. (Default: {OWN.timeout:g})",
        type=seconds,
        metavar="S",
    )
    store: str | None = setting(
        "Folder that keeps the answers, so that none is requested twice. (Default: ~/.cache/ctx-metrics/judge)",
        type=Writes(inside=("*.json.z", "claims")),
        metavar="DIR",
    )
    dry_run: bool = setting("Print the number of requests, and stop before the first one.", False)

    @property
    def on_long(self) -> str:
        """How estimators treat long texts; only the server knows how long a text may be."""
        return "truncate"


class JudgeKeywords(TypedDict, total=False):
    """The metric's keywords, for type checkers."""

    url: str | None
    model: str | None
    key_env: str | None
    samples: int | None
    temperature: float | None
    max_tokens: int | None
    format: str | None
    inputs: str | None
    multiref: str
    concurrency: int | None
    max_requests: int | None
    timeout: float | None
    store: str | None
    dry_run: bool
    sources: Texts | None
    source_lang: str | None
    target_lang: str | None
    engine: EngineOptions


class Judge(EstimatorMetric):
    """The mean score of a language model's answers about a segment, in [0, 100]; with the errors that it marks.

    A segment with an empty text scores 0 and is not sent.
    """

    NAME = "Judge"
    Settings = JudgeSettings
    capabilities = replace(
        EstimatorMetric.capabilities,
        work=frozenset({"key_env", "concurrency", "max_requests", "timeout", "store", "dry_run"}),
    )

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[JudgeKeywords]): ...

    def _check_model(self) -> None:
        own = self.settings
        url, model = self.named("url", EXAMPLE), self.named("model", "NAME")
        if not own.model:
            raise InputError(f"judge: name a model with {model}" + ("" if own.url else f" and its server with {url}"))
        if not own.url and not is_name(own.model):
            raise InputError(f"judge: name the server with {url}")
        self._judging = judging_of(vars(own))

    def _choice(self) -> tuple[str | None, str | None]:
        """The model, and the texts that it reads: all that are given."""
        sources = self._context.sources is not None
        given = ("mt+src+ref" if sources else "mt+ref") if self._has_references else "mt+src"
        return self.settings.model, self.settings.inputs or given

    def _take_model(self) -> None:
        super()._take_model()
        del self.signature["long"]

    def _load_estimator(self) -> "Estimator":
        from .estimator import JudgeEstimator

        assert self._chosen is not None and self._chosen[1] is not None  # by _adapt
        languages = self._context.source_lang, self._context.target_lang
        quiet = self._context.engine.quiet
        return JudgeEstimator(self._judging, self._chosen[1], languages, leaves_out=True, quiet=quiet)

    def _result(
        self, corpus: Corpus, windows: Sequence[Window], estimates_of: Sequence[Sequence[Estimate]]
    ) -> SystemResult:
        """Return one system's result, from the segments that have an answer."""
        answered = [[each for each in own if not math.isnan(each.value)] for own in estimates_of]
        kept = [bool(good or not own) for good, own in zip(answered, estimates_of, strict=True)]
        result = super()._result(
            corpus,
            [window for window, keep in zip(windows, kept, strict=True) if keep],
            [own for own, keep in zip(answered, kept, strict=True) if keep],
        )
        left_out = [window.start for window, keep in zip(windows, kept, strict=True) if not keep]
        result.counts["unanswered"], result.failed = len(left_out), bool(left_out)
        for fault, segments in self._faults(corpus, windows).items():
            result.notices.append(Notice.at(segments, f"segment {fault.one}", f"segments {fault.many}"))
        if left_out:
            one, many = (f"no readable answer and {verb} left out" for verb in ("is", "are"))
            result.notices.append(Notice.at(left_out, f"segment has {one}", f"segments have {many}", kind="unanswered"))
        return result

    def _announced(self, results: list[SystemResult], names: list[str]) -> None:
        """Where nothing was answered, the zeros of empty texts are no score of the system."""
        for result in results:
            read = [each.estimate for each in result.windows if each.estimate is not None]
            if result.counts["unanswered"] and all(each.empty for each in read):
                result.rows = [[0.0, 0.0] for _ in result.rows]
        super()._announced(results, names)

    def _faults(self, corpus: Corpus, windows: Sequence[Window]) -> "dict[Fault, list[int]]":
        """The segments with each fault."""
        from .estimator import JudgeEstimator

        assert isinstance(self.estimator, JudgeEstimator)
        places: dict[Fault, list[int]] = {}
        for window in windows if self.estimator.faults else ():
            examples = self._examples(corpus, window, self.estimator.inputs)
            for fault in dict.fromkeys(fault for each in examples for fault in self.estimator.faults.get(each, ())):
                places.setdefault(fault, []).append(window.start)
        return places
