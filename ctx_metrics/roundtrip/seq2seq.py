"""Back-translation by a translation model of transformers, longest lines first, in batches of a token budget."""

import difflib
from collections.abc import Sequence

from ..engine.device import number_format, token_batches
from ..engine.options import EngineOptions
from ..errors import InputError
from .backtranslator import BackTranslator, Translation
from .options import BackTranslation
from .translation import TranslationModel, resolve_translation

SHOWN = 6  # number of codes shown in messages


class Seq2SeqTranslator(BackTranslator):
    """Translates with a model on the engine's device.

    source_lang, target_lang    of the run, such as "en" and "de": the model translates from target_lang into source_lang

    Raises ModelError if the model cannot be used, and InputError if its languages are unclear.
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
        """Set the model's languages; return the codes that it needed."""
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


def own_code(language: str | None, given: str | None, codes: Sequence[str], flag: str, model: str) -> str:
    """Return a translation model's own code for a language, such as "de", "de_DE" or "deu_Latn".

    This is the code that the user gave, or else the one that matches the language: an equal code, or the only code with
    the same language part. Two letters never match three: "es" begins the code of Estonian in ISO 639-3, and "ja" that of
    Javanese.

    language    language of the run, such as "de" or "pt_BR"; None if unknown
    given       the model's code as given by the user, or None
    codes       all codes of the model
    flag        the flag that takes the code, and `model` the model's name, for messages

    Raises InputError if the model does not have the given code, or if no code or several match the language.

    >>> own_code("de", None, ["de_DE", "en_XX"], "--rtt-bt-from", "mbart")
    'de_DE'
    """
    if given is not None:
        if given in codes:
            return given
        raise InputError(f"{flag} {given}: {model} does not have this code; {_near(given, codes)}")
    if language is None:
        raise InputError(
            f"{model} translates between several languages: name the language pair with -l, or the model's code with {flag}"
        )
    asked = _parts(language)
    meant = [code for code in codes if _parts(code) == asked]
    meant = meant or [code for code in codes if _parts(code)[0] == asked[0]]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise InputError(
            f"{language!r} can be several languages of {model}: name one with {flag}: {', '.join(sorted(meant))}"
        )
    raise InputError(f"{model} has no code {language!r}; name its code with {flag}; {_near(language, codes)}")


def _parts(code: str) -> list[str]:
    return code.casefold().replace("-", "_").split("_")


def _near(code: str, codes: Sequence[str]) -> str:
    near = [each for each in sorted(codes) if each.casefold()[:2] == code.casefold()[:2]]
    near += [each for each in difflib.get_close_matches(code, codes, SHOWN, 0.5) if each not in near]
    if near:
        return f"similar codes: {', '.join(near[:SHOWN])}"
    return f"it has {', '.join(sorted(codes)[:SHOWN])}{', ...' if len(codes) > SHOWN else ''}"
