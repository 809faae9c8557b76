"""Back-translation by a checkpoint of transformers: MarianMT, NLLB, M2M-100, mBART, and others that support generate()."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..engine.checkpoint import load_with, silent, weight_files
from ..engine.device import TokenBudget, check_tf32, number_format, resolve_device, resolve_dtype, token_batches
from ..engine.memory import memory_for
from ..engine.tokenizer import check_growth
from ..engine_options import EngineOptions
from ..errors import InputError, ModelError
from ..language import is_variant, language_name, primary
from ..models.hub import HubKind, encoder_files, is_whole, located
from ..opening import file_hashes, identity, opening, shown
from ..wording import setting_named
from .back_translation import BackTranslation, BackTranslator, Translation

MAX_LENGTH = 512  # of a translation, in tokens, if neither the model nor its files set a limit
UNSET_MAX_LENGTH = (None, 20)  # max_length of a generation_config without one; depends on the version of transformers
SHOWN = 6  # number of codes shown in messages
_UNREADABLE = "cannot be loaded as a translation model: {why}; fetch it again, or name another one"
_LANGUAGE_TOKEN = re.compile(r"[a-z]{2,3}_[A-Za-z]{2,4}")


def own_code(language: str | None, given: str | None, codes: Sequence[str], flag: str, model: str) -> str:
    """Return a translation model's own code for a language, such as "de", "de_DE" or "deu_Latn".

    This is the code that the user gave, or else the only one that matches the language: an equal one, one of its script
    and region, or one of the same language.

    >>> own_code("de", None, ["de_DE", "en_XX"], "--rtt-bt-from", "mbart")
    'de_DE'
    >>> own_code("de", None, ["deu_Latn", "est_Latn"], "--rtt-bt-from", "nllb")
    'deu_Latn'
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
    alike = [code for code in codes if primary(code) == primary(language)]
    variants = [code for code in alike if is_variant(code, language)]
    own = [code for code in variants if _parts(code)[0] == asked[0]]  # as arz, whose primary code is that of all Arabic
    meant = [code for code in codes if _parts(code) == asked] or own or variants or alike
    if len(meant) == 1:
        return meant[0]
    if meant:
        several = f"{language_name(language)} can be several languages of {model}"
        raise InputError(f"{several}: name one with {flag}: {', '.join(sorted(meant))}")
    raise InputError(
        f"{model} has no code for {language_name(language)}; name its code with {flag}; {_near(language, codes)}"
    )


def _parts(code: str) -> list[str]:
    return code.casefold().replace("-", "_").split("_")


def _near(code: str, codes: Sequence[str]) -> str:
    near = [each for each in sorted(codes) if each.casefold()[:2] == code.casefold()[:2]]
    near += [each for each in difflib.get_close_matches(code, codes, SHOWN, 0.5) if each not in near]
    if near:
        return f"similar codes: {', '.join(near[:SHOWN])}"
    return f"it has {', '.join(sorted(codes)[:SHOWN])}{', ...' if len(codes) > SHOWN else ''}"


def _files_to_fetch(files: set[str], label: str) -> list[str]:
    wanted = {"generation_config.json", "source.spm", "target.spm", "target_vocab.json", "spiece.model"} & files
    return encoder_files(files, label) + sorted(wanted)


TRANSLATION = HubKind(_files_to_fetch, is_whole, "translation model: config.json or the weights are missing")


class ModelTranslator(BackTranslator):
    """A translation model for one direction, with its tokenizer. Code in a checkpoint is never run.

    Translates the longest lines first, in batches of a token budget, without sampling. Beams and the maximum length that the
    options do not set are those of the model's generation_config, else 1 and MAX_LENGTH. The weights are loaded at the first
    text.

    source_lang, target_lang    of the run, such as "en" and "de": the model translates from target_lang into source_lang
    """

    def __init__(
        self,
        options: BackTranslation,
        source_lang: str | None = None,
        target_lang: str | None = None,
        engine: EngineOptions = EngineOptions(),
    ):
        self.model = model = located(
            options.translator, TRANSLATION, lambda folder: identity(file_hashes(_files(folder)), folder)
        )
        self.device, self.dtype = resolve_device(engine.device), resolve_dtype(engine.dtype)
        check_tf32(self.device, self.dtype)
        self.budget = TokenBudget(self.device, engine.batch_tokens)
        self._hashes = file_hashes(_files(model.folder))
        self.config, self.tokenizer, self._generation = _read(model.folder)
        self._set_lengths(options.beams, options.max_length)
        self._prefix = ""
        self._language_ids: set[int] = set()
        self._network: Any | None = None
        codes = self._set_direction(options, source_lang, target_lang)
        revision = f"@{model.revision}" if model.revision else ""
        parts = [f"hf-{model.name}{revision}-{model.ckpt}", *codes, f"beams{self.beams}"]
        if options.max_length:
            parts.append(f"max{options.max_length}")
        if (dtype := number_format(engine.dtype, self.device)) != "fp32":
            parts.append(dtype)
        if options.label:
            parts.append(options.label)
        self.name = "-".join(parts)

    def _set_lengths(self, beams: int | None, max_length: int | None) -> None:
        generation = self._generation
        positions = getattr(self.config, "max_position_embeddings", None)
        with opening(self.model.folder, _UNREADABLE):
            self.max_input = min(self.tokenizer.model_max_length, positions or self.tokenizer.model_max_length)
            self.beams = beams or generation.num_beams or 1
            if not isinstance(self.beams, int):
                raise ValueError(f"its num_beams is {shown(self.beams)}, which is not a number")
            own = generation.max_new_tokens
            if own is None and generation.max_length not in UNSET_MAX_LENGTH:
                own = generation.max_length - 1  # it includes the decoder's start token
        if max_length and positions and max_length >= positions:
            raise InputError(
                f"--rtt-max-length {max_length}: {self.model.name} has {positions} positions",
                fix=f"use at most {positions - 1}",
            )
        self.max_length = min(max_length or own or MAX_LENGTH, (positions or max_length or MAX_LENGTH + 1) - 1)
        generation._from_model_config = False  # otherwise transformers may derive it from config.json again
        generation.update(
            num_beams=self.beams, max_new_tokens=self.max_length, max_length=None, do_sample=False, use_cache=True
        )

    def _set_direction(self, options: BackTranslation, source_lang: str | None, target_lang: str | None) -> list[str]:
        """Set the languages; return the model's own codes of those that it must be told."""
        name, codes = self.model.name, self.language_codes
        if not self.names_source and options.source_code:
            raise InputError(
                f"--rtt-bt-from {options.source_code}: {name} has no code for the language it translates from"
            )
        if not codes:
            if options.target_code:
                raise InputError(
                    f"--rtt-bt-to {options.target_code}: {name} translates into one language, without a code"
                )
            own, of_run = self.own_direction, (primary(source_lang), primary(target_lang))
            if own and of_run[0] != of_run[1] and of_run == (primary(own[0]), primary(own[1])):
                source, target = language_name(source_lang or ""), language_name(target_lang or "")
                raise InputError(
                    f"{name} translates from {source} into {target}, as the systems did",
                    fix=f"back-translation needs a model from {target} into {source}",
                )
            return []
        target = own_code(source_lang, options.target_code, codes, "--rtt-bt-to", name)
        if not self.names_source:  # MarianMT into several languages
            self._prefix = f">>{target}<< "
            return [target]
        source = own_code(target_lang, options.source_code, codes, "--rtt-bt-from", name)
        self.tokenizer.src_lang = source
        of_token = getattr(self.tokenizer, "get_lang_id", self.tokenizer.convert_tokens_to_ids)
        self._language_ids = {of_token(code) for code in codes}
        # the first mBART starts its decoder with the language; all others are forced to generate it first
        first = type(self.tokenizer).__name__.startswith("MBartTokenizer")
        self._generation.update(**{"decoder_start_token_id" if first else "forced_bos_token_id": of_token(target)})
        return [source, target]

    @property
    def language_codes(self) -> list[str]:
        """The model's own codes: of all its languages, or of its target languages; empty for a model of one pair."""
        if codes := getattr(self.tokenizer, "lang_code_to_id", None):  # M2M-100, mBART
            return list(codes)
        if marian := getattr(self.tokenizer, "supported_language_codes", None):
            return [token.removeprefix(">>").removesuffix("<<") for token in marian]
        if not self.names_source:
            return []
        return [token for token in self.tokenizer.get_added_vocab() if _LANGUAGE_TOKEN.fullmatch(token)]

    @property
    def names_source(self) -> bool:
        """Whether the model must be told its source language."""
        return hasattr(self.tokenizer, "src_lang")

    @property
    def own_direction(self) -> tuple[str, str] | None:
        """The languages of a MarianMT model of one pair from its tokenizer_config; None if they are not given."""
        source, target = getattr(self.tokenizer, "source_lang", None), getattr(self.tokenizer, "target_lang", None)
        if source and target and isinstance(source, str) and isinstance(target, str):
            return source, target
        return None

    def chunks(self, lines: Sequence[str]) -> list[list[str]]:
        tokens, _ = self.tokenize(lines)
        batches = token_batches([len(ids) * self.beams for ids in tokens], self.budget.tokens)
        return [[lines[i] for i in batch] for batch in batches]

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        tokens, cut = self.tokenize(lines)
        both = zip(self.generate(tokens), cut, strict=True)
        return [made._replace(input_cut=input_cut) for made, input_cut in both]

    def tokenize(self, lines: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
        """Return at most max_input token ids of each line, including special ones, and whether each line was cut."""
        texts = [self._prefix + line for line in lines]
        whole = self.tokenizer(texts, truncation=False, verbose=False)["input_ids"] if texts else []
        cut = [len(ids) > self.max_input for ids in whole]
        for k, is_cut in enumerate(cut):
            if is_cut:
                whole[k] = self.tokenizer(texts[k], truncation=True, max_length=self.max_input)["input_ids"]
        return [list(ids) for ids in whole], cut

    def generate(self, tokens: Sequence[Sequence[int]]) -> list[Translation]:
        """Translate tokenized lines in one batch, or in parts if memory runs out; the lines do not affect each other."""
        self._loaded()
        sizes = [len(ids) * self.beams for ids in tokens]
        fewer = f"{setting_named('--rtt-beams', 'beams', 1)} or {setting_named('--ctx-device', 'device', 'cpu')}"
        beams = f"with {self.beams} beams; try {fewer}"
        parts = self.budget.split(tokens, sizes, self._generated, f"line of {len(tokens[0])} tokens {beams}")
        return [each for _, generated in parts for each in generated]

    @torch.inference_mode()
    def _generated(self, tokens: Sequence[Sequence[int]]) -> list[Translation]:
        network = self._loaded()
        length = max(map(len, tokens))
        pad = self.tokenizer.pad_token_id
        ids = torch.tensor([[*line, *[pad] * (length - len(line))] for line in tokens], device=self.device)
        mask = torch.tensor([[1] * len(line) + [0] * (length - len(line)) for line in tokens], device=self.device)
        with silent():
            rows = network.generate(input_ids=ids, attention_mask=mask).tolist()
        # not every tokenizer treats its language codes as special tokens
        words = [[token for token in row if token not in self._language_ids] for row in rows]
        own = {"use_source_tokenizer": False} if hasattr(self.tokenizer, "spm_target") else {}
        texts = self.tokenizer.batch_decode(words, skip_special_tokens=True, clean_up_tokenization_spaces=False, **own)
        return [
            Translation(" ".join(text.split("\n")).rstrip(), output_cut=self._is_cut(row))
            for text, row in zip(texts, rows, strict=True)
        ]

    def _is_cut(self, row: list[int]) -> bool:
        """Whether a translation reached the maximum length without an end token before its last place."""
        ends = self._generation.eos_token_id
        ends = set(ends) if isinstance(ends, list) else {ends}
        return len(row) > self.max_length and not ends & set(row[1 : self.max_length])

    def _loaded(self) -> Any:
        if self._network is None:
            from transformers import AutoModelForSeq2SeqLM

            folder = self.model.folder
            network, missing = load_with(AutoModelForSeq2SeqLM, folder, _UNREADABLE)
            if missing:  # they would be initialised at random
                raise ModelError(
                    f"{folder}: its weights lack {', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}",
                    fix="fetch them again",
                )
            if file_hashes(_files(folder)) != self._hashes:
                raise ModelError(f"{folder} has changed since it was opened", fix="open it again")
            with memory_for(f"the weights of {self.model.name}", self.device):
                self._network = network.to(self.device, self.dtype).eval()
            # as an argument of generate(), its default values, such as one beam, would be overridden by the model's own
            self._network.generation_config = self._generation
        return self._network


def _files(folder: Path) -> list[Path]:
    sides = [path for path in folder.iterdir() if path.suffix in (".json", ".spm", ".model", ".txt")]
    return [*weight_files(folder), *(path for path in sides if not path.name.endswith(".index.json"))]


def _read(folder: Path) -> tuple[Any, Any, Any]:
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES as TRANSLATES

    if not (folder / "config.json").exists():
        raise ModelError(
            f"{folder} holds no config.json", fix="name the folder of a translation model, or its hub name"
        )
    local = {"local_files_only": True, "trust_remote_code": False}
    with opening(folder, _UNREADABLE), silent():
        config = AutoConfig.from_pretrained(str(folder), **local)
        if config.model_type not in TRANSLATES:
            raise ModelError(
                f"{folder} is a {config.model_type} model, which does not translate",
                fix="name a MarianMT, NLLB, M2M-100 or mBART model",
            )
        tokenizer = AutoTokenizer.from_pretrained(str(folder), **local)
        if tokenizer.is_fast:
            check_growth(tokenizer.backend_tokenizer)
        if (folder / "generation_config.json").exists():
            return config, tokenizer, GenerationConfig.from_pretrained(str(folder), local_files_only=True)
        return config, tokenizer, GenerationConfig.from_model_config(config)
