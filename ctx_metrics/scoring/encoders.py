"""Metrics over a general-purpose encoder: the choice of the encoder, and a check that it reads the texts' language."""

from typing import TYPE_CHECKING, Any

from ..language import guard_multilingual
from .base import ContextMetric, model_setting

if TYPE_CHECKING:
    from ..models.hub import ResolvedModel


def encoder_setting(what: str) -> Any:
    """Returns the field of an encoder's name; `what` lists the encoders besides embedded and multilingual."""
    return model_setting(f"embedded, multilingual, {what}", "multilingual if -l names another language, else embedded")


class EncoderMetric(ContextMetric):
    """A metric over an encoder: the embedded one, which reads English, the multilingual one, or any other."""

    takes_multilingual = True
    model: "ResolvedModel"

    def _default_model(self) -> str:
        """Return the name of the encoder for the language of the texts, used if the user names none."""
        from ..models.hub import encoder_for

        return encoder_for(self._context.target_lang)

    def _take(self, model: "ResolvedModel") -> None:
        """Store the encoder; raises InputError, or gives notice, if it does not read the language of the texts."""
        self.model, self.english_only = model, model.embedded
        if model.multilingual:
            guard_multilingual(self.NAME.lower(), self.named("model"), self.asked, self._context.target_lang)
        self._guard_language()
