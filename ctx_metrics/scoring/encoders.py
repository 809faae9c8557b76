"""Metrics that compare texts by an encoder that is not trained for it: which one, and whether it reads their language."""

from typing import TYPE_CHECKING, Any

from ..language import guard_multilingual
from .base import ContextMetric, model_setting

if TYPE_CHECKING:
    from ..models.hub import ResolvedModel


def encoder_setting(what: str) -> Any:
    """Returns the field of an encoder's name; `what` says which there are beside the two that come with the install."""
    return model_setting(f"embedded, multilingual, {what}", "multilingual if -l names another language, else embedded")


class EncoderMetric(ContextMetric):
    """A metric over an encoder: the embedded one, which reads English, the multilingual one, or any other."""

    takes_multilingual = True
    model: "ResolvedModel"

    def _default_model(self) -> str:
        """The name of the encoder where the user names none, by the language of the texts."""
        from ..models.hub import encoder_for

        return encoder_for(self._context.target_lang)

    def _take(self, model: "ResolvedModel") -> None:
        """Keep the encoder; stop, or say so, where it does not read the language of the texts."""
        self.model, self.english_only = model, model.embedded
        if model.multilingual:
            guard_multilingual(self.NAME.lower(), self.named("model"), self.asked, self._context.target_lang)
        self._guard_language()
