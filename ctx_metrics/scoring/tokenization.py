"""The choice of a tokenizer, for metrics that use BLEU or its tokenizers."""

from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics import BLEU

from ..errors import InputError, tokenizer_error
from ..flag_types import Order
from ..language import bleu_language
from ..settings import setting


class Words:
    """Splits a text into words with one of BLEU's tokenizers; can be pickled, whatever the tokenizer wraps.

    tokenizer    one of BLEU.TOKENIZERS

    >>> Words("nist", "13a", lowercase=True)("The cat, sat.")
    ['the', 'cat', ',', 'sat', '.']
    """

    def __init__(self, metric: str, tokenizer: str, lowercase: bool = False):
        self._settings = (metric, tokenizer, lowercase)
        self.lowercase = lowercase
        try:
            self._tokenizer = BLEU(tokenize=tokenizer).tokenizer
        except Exception as error:  # tokenizers raise all kinds of exceptions
            raise tokenizer_error(error, metric, tokenizer) from error

    def __reduce__(self) -> tuple:
        return Words, self._settings

    def __call__(self, text: str) -> list[str]:
        return self._tokenizer((text.lower() if self.lowercase else text).rstrip()).split()

    def signature(self) -> str:
        return self._tokenizer.signature()


def tokenizer_for(tokenize: str | None, language: str | None) -> str:
    """Return the tokenizer that was asked for, or else the one that BLEU uses for the language.

    >>> tokenizer_for(None, "de"), tokenizer_for(None, "zho_Hans"), tokenizer_for("none", "zh")
    ('13a', 'zh', 'none')
    """
    return tokenize or BLEU._TOKENIZER_MAP.get(bleu_language(language), BLEU.TOKENIZER_DEFAULT)


def tokenizer_setting(chosen_by: str) -> Any:
    return setting(
        f"BLEU's tokenizers; none for text that is tokenised already. (Default: by {chosen_by}, else 13a)",
        choices=[*BLEU.TOKENIZERS],
    )


@dataclass(frozen=True)
class TokenizerSettings:
    """How a text's words are found; raises InputError for a tokenizer that BLEU does not know."""

    tokenize: str | None = tokenizer_setting("the target language")

    def __post_init__(self):
        if self.tokenize is not None and self.tokenize not in BLEU.TOKENIZERS:
            raise InputError(f"no tokenizer {self.tokenize!r}; BLEU has {', '.join(BLEU.TOKENIZERS)}")


@dataclass(frozen=True)
class WordSettings(TokenizerSettings):
    """How a text's words are found and compared."""

    lowercase: bool = setting("Ignore case.", False)


@dataclass(frozen=True)
class ChrFSettings:
    """Settings of chrF. With `word_order` 2 it is chrF++; WMT19 used `beta` 3."""

    char_order: Order = setting("Maximum length of character n-grams.", 6)
    word_order: Order = setting("Maximum length of word n-grams; 2 gives chrF++.", 0)
    beta: Order = setting("Weight of recall.", 2)
