"""Back-translation by a translation model of transformers, longest lines first, in batches of a token budget."""

from collections.abc import Sequence

import torch

from ..engine.batching import token_batches
from ..engine.device import TOKEN_BUDGETS, is_out_of_memory
from ..engine.options import EngineOptions
from ..errors import InputError, ResourceError
from ..models.translation import Generated, TranslationModel, resolve_translation
from ..notices import notice
from .backtranslator import BackTranslator, Translation
from .language_codes import own_code
from .options import BackTranslation


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
        if engine.dtype != "fp32":
            parts.append(engine.dtype)
        if options.label:
            parts.append(options.label)
        self.name = "-".join(parts)
        self.cache_key = f"{self.name}-{model.files_digest()}"
        self.token_budget = engine.batch_tokens or TOKEN_BUDGETS[model.device.type]

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
        batches = token_batches([len(ids) * self.model.beams for ids in tokens], self.token_budget)
        return [[lines[i] for i in batch] for batch in batches]

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        tokens, cut = self.model.tokenize(lines)
        both = zip(self._generate(tokens), cut, strict=True)
        return [Translation(made.text, input_cut, made.cut) for made, input_cut in both]

    def _generate(self, tokens: Sequence[Sequence[int]]) -> list[Generated]:
        """Translations in one batch; when memory runs out, the budget is halved from then on and the batch split."""
        total = sum(map(len, tokens)) * self.model.beams
        if len(tokens) > 1 and total > self.token_budget:  # the budget has shrunk since the batch was made
            half = (len(tokens) + 1) // 2
            return self._generate(tokens[:half]) + self._generate(tokens[half:])
        try:
            return self.model.generate(tokens)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            if len(tokens) == 1:
                raise ResourceError(
                    f"device {self.model.device} has too little memory for one line of {len(tokens[0])} tokens with "
                    f"{self.model.beams} beams; try --rtt-beams 1 or --ctx-device cpu"
                ) from error
        # outside the except block, so that the failed forward's tensors are free
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()
        self.token_budget = total // 2
        notice(
            f"out of memory on {self.model.device} with {total} tokens of beams in a batch; going on with half of them"
        )
        return self._generate(tokens)
