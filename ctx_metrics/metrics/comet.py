"""COMET: a learned model of translation quality on segments (Rei et al. 2020 and its successors)."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..corpus import Corpus
from ..errors import InputError, ModelError
from ..language import EXTRA, READ_BY_MULTILINGUAL, guard_multilingual, language_name, primary, say_unread_source
from ..models.hub import EMBEDDED, MULTILINGUAL
from ..scoring.base import SystemResult, model_setting
from ..settings import setting
from ..wording import metric_with_model
from .estimated import EstimatorMetric, EstimatorSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..models.estimator import Estimator
    from .keywords import COMETKeywords, References, Systems

EMBEDDED_NAMES = (None, EMBEDDED, MULTILINGUAL)
CHECKPOINT = "a COMET checkpoint: folder, .ckpt file, OWNER/NAME or OWNER/NAME@REVISION of the hub"


@dataclass(frozen=True)
class COMETSettings(EstimatorSettings):
    model: str | None = model_setting(
        f"embedded, multilingual, the folder of a model that `ctx-metrics train` wrote, or {CHECKPOINT}",
        "multilingual if -l names another language or there are no references, else embedded",
    )
    inputs: str | None = setting(
        "Texts that the multilingual, a UniTE or an XCOMET model reads. (Default: all that the model can read; "
        "multilingual: all that are given)",
        choices=["mt+src", "mt+ref", "mt+src+ref"],
    )
    spans: bool = setting(
        "Also mark error spans with a word-level model, for files and JSON. (XCOMET always marks them)", False
    )


class COMET(EstimatorMetric):
    """A learned model's estimate of quality; averaged over segments, x100.

    Without a named model, an embedded one is used. The English one reads references, and its values are in [0, 1]. The
    multilingual one scores other target languages, and outputs without references, even if the sources are given as
    references. Its values have no bounds: 0.5 is the mean of its training data, and 0.15 a standard deviation.

    Segments with an empty text are counted. The embedded models give them 0, a COMET checkpoint whatever it computes.

    >>> round(COMET(target_lang="en").corpus_score(["The cat sat."], [["The cat sat."]]).score, 3)
    100.0
    """

    NAME = "COMET"
    Settings: type = COMETSettings
    capabilities = replace(EstimatorMetric.capabilities, reads=EstimatorMetric.capabilities.reads | {"source_lang"})
    takes_multilingual = True
    only_comet = True  # whether models that have a metric of their own are refused

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[COMETKeywords]): ...

    def _prepare(self) -> None:
        if self.settings.model in EMBEDDED_NAMES:  # no table should call them COMET
            self.title = f"{self.NAME}-embedded"
        super()._prepare()

    def _choice(self) -> tuple[str | None, str | None]:
        from ..models.load import without_references

        name, inputs = self.settings.model, self.settings.inputs
        if name in (None, MULTILINGUAL):
            return self._embedded()
        if inputs is None and not self._has_references:
            inputs = without_references(name)
        return name, inputs

    def _load_estimator(self) -> "Estimator":
        from ..models.load import load_estimator

        assert self._chosen is not None  # by _adapt
        name, inputs = self._chosen
        estimator = load_estimator(
            name=name,
            options=self._context.engine,
            inputs=inputs,
            spans=self.settings.spans,
            target_lang=self._context.target_lang,
        )
        if self.only_comet and (title := estimator.title):
            raise ModelError(f"{name} is a {title} model: use {metric_with_model(title.lower(), str(name))}")
        return estimator

    def _embedded(self) -> tuple[str | None, str | None]:
        from ..models.estimator import EMBEDDED_REFERENCELESS, EMBEDDED_UNIFIED
        from ..models.hub import encoder_for, multilingual_folder

        inputs, sources = self.settings.inputs, self._context.sources
        if inputs in (None, "mt+ref") and self._has_references:
            if self.settings.model is None and encoder_for(self._context.target_lang) == EMBEDDED:
                return None, None
            inputs = inputs or ("mt+ref" if sources is None else "mt+src+ref")
        if multilingual_folder() is None:
            what = "without references the" if inputs is None and not self._has_references else "the"
            raise InputError(
                f"{self.NAME.lower()}: {what} multilingual model is used, but its encoder is not installed",
                fix=f"install it with: {EXTRA}, or name another model with {self.named('model')}",
            )
        inputs = inputs or "mt+src"
        chosen = str(EMBEDDED_REFERENCELESS if inputs == "mt+src" else EMBEDDED_UNIFIED), inputs
        if self._chosen is None or self._chosen[0] not in (str(EMBEDDED_UNIFIED), str(EMBEDDED_REFERENCELESS)):
            guard_multilingual(self.NAME.lower(), self.named("model"), self.asked, self._context.target_lang)
            if "src" in chosen[1]:
                say_unread_source(self.NAME.lower(), self._context.source_lang)
        return chosen

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        if not self.asked:  # the signature and the title also say it
            reads = "English" if self.english_only else "multilingual"
            self._say(
                f"no {self.named('model')} given: using the small built-in {reads} model "
                f"({self.estimator.model.name}), which is not a COMET checkpoint"
            )
        self._say_without_references(corpora[0])
        return super()._score(corpora)

    def _say_without_references(self, corpus: Corpus) -> None:
        languages = self._context.source_lang, self._context.target_lang
        new = [
            f"the {side} language {language_name(language)}"
            for side, language, learned in zip(
                ("source", "target"), languages, self.estimator.learned_from, strict=True
            )
            # another notice covers languages that the encoder does not read
            if language and learned is not None and primary(language) in READ_BY_MULTILINGUAL.difference(learned)
        ]
        if new and self.estimator.inputs == "mt+src":
            self._say(
                f"{self.estimator.model.name} was not trained on judgements with {' or '.join(new)}, so its scores without "
                f"references may not agree with people's; give references, or name another model ({self.named('model')})"
            )
        several = len(self.estimator.choices) > 1
        chosen = several and self.settings.inputs is None and self.estimator.inputs == "mt+src"
        if chosen and corpus.references and not self._has_references:
            self._say("the references are the sources, so the model scores without references")
