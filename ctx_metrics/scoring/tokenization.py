"""The choice of a tokenizer, for metrics that are made of BLEU or take its tokenizers."""

from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics import BLEU

from ..errors import InputError
from ..settings import setting


class Words:
    """The words of a text, by one of BLEU's tokenizers; can be pickled, whatever the tokenizer wraps.

    metric       the name that errors begin with
    tokenizer    one of BLEU.TOKENIZERS
    lowercase    whether words are in lower case

    Raises InputError for a tokenizer whose library or model cannot be had.

    >>> Words("nist", "13a", lowercase=True)("The cat, sat.")
    ['the', 'cat', ',', 'sat', '.']
    """

    def __init__(self, metric: str, tokenizer: str, lowercase: bool = False):
        self._settings = (metric, tokenizer, lowercase)
        self.lowercase = lowercase
        try:
            self._tokenizer = BLEU(tokenize=tokenizer).tokenizer
        except Exception as error:  # they raise anything
            why = " ".join(str(error).split()) or type(error).__name__
            raise InputError(f"{metric}: the tokenizer {tokenizer} cannot be loaded: {why}") from error

    def __reduce__(self) -> tuple:
        return Words, self._settings

    def __call__(self, text: str) -> list[str]:
        return self._tokenizer((text.lower() if self.lowercase else text).rstrip()).split()

    def signature(self) -> str:
        """What BLEU's signature says of the tokenizer."""
        return self._tokenizer.signature()


def tokenizer_for(tokenize: str | None, language: str | None) -> str:
    """The name of the tokenizer that was asked for, else the one that BLEU takes for a language.

    >>> tokenizer_for(None, "de"), tokenizer_for(None, "zh"), tokenizer_for("none", "zh")
    ('13a', 'zh', 'none')
    """
    return tokenize or BLEU._TOKENIZER_MAP.get((language or "").replace("_", "-").split("-")[0], BLEU.TOKENIZER_DEFAULT)


def tokenizer_setting(chosen_by: str) -> Any:
    """Returns the field of a tokenizer's name, which is otherwise `chosen_by` a language."""
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
    """What chrF counts; word_order 2 is chrF++, beta 3 is WMT19's."""

    char_order: int = setting("Maximum length of character n-grams.", 6, type=int, metavar="N")
    word_order: int = setting("Maximum length of word n-grams; 2 gives chrF++.", 0, type=int, metavar="N")
    beta: int = setting("Weight of recall.", 2, type=int, metavar="N")
