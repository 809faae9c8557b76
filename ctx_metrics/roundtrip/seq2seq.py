"""Back-translation by a translation model of transformers, longest lines first, in batches of a token budget."""

from collections.abc import Sequence

from ..engine.batching import token_batches
from ..engine.device import number_format
from ..engine.options import EngineOptions
from ..errors import InputError
from .backtranslator import BackTranslator, Translation
from .language_codes import own_code
from .options import BackTranslation
from .translation import TranslationModel, resolve_translation


class Seq2SeqTranslator(BackTranslator):
    """Translates with a model on the engine's device.

    source_lang, target_lang    of the run, such as "en" and "de": the model translates from target_lang into source_lang

    Raises ModelError for a model that cannot be used, and InputError where its languages are not clear.
    """

    def __init__(
        self,
        options: BackTranslation,
        source_lang: str | None = None,
        target_lang: str | None = None,
        engine: EngineOptions = EngineOptions(),
    ):
        resolved = resolve_translation(options.translator)
        self.model = model = TranslationModel(resolved, options.beams, options.max_length, engine)
        codes = self._set_direction(options, source_lang, target_lang)
        revision = f"@{resolved.revision}" if resolved.revision else ""
        parts = [f"hf-{resolved.name}{revision}-{resolved.ckpt}", *codes, f"beams{model.beams}"]
        if options.max_length:
            parts.append(f"max{options.max_length}")
        if (dtype := number_format(engine.dtype, model.device)) != "fp32":
            parts.append(dtype)
        if options.label:
            parts.append(options.label)
        self.name = "-".join(parts)

    def _set_direction(self, options: BackTranslation, source_lang: str | None, target_lang: str | None) -> list[str]:
        """Tell the model its languages; returns the codes that were needed."""
        model, name = self.model, self.model.model.name
        codes = model.language_codes
        if not model.names_source and options.source_code:
            raise InputError(
                f"--rtt-bt-from {options.source_code}: {name} has no code for the language it translates from"
            )
        if not codes:
            if options.target_code:
                raise InputError(
                    f"--rtt-bt-to {options.target_code}: {name} translates into one language, without a code"
                )
            if model.own_direction == (source_lang, target_lang) != (target_lang, source_lang):
                raise InputError(
                    f"{name} translates from {source_lang} into {target_lang}, as the systems did; back-translation needs a "
                    f"model from {target_lang} into {source_lang}"
                )
            return []
        target = own_code(source_lang, options.target_code, codes, "--rtt-bt-to", name)
        source = None
        if model.names_source:
            source = own_code(target_lang, options.source_code, codes, "--rtt-bt-from", name)
        model.set_direction(source, target)
        return [source, target] if source else [target]

    def chunks(self, lines: Sequence[str]) -> list[list[str]]:
        tokens, _ = self.model.tokenize(lines)
        batches = token_batches([len(ids) * self.model.beams for ids in tokens], self.model.budget.tokens)
        return [[lines[i] for i in batch] for batch in batches]

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        tokens, cut = self.model.tokenize(lines)
        both = zip(self.model.generate(tokens), cut, strict=True)
        return [Translation(made.text, input_cut, made.cut) for made, input_cut in both]
