"""The choice of a tokenizer, for metrics that are made of BLEU or take its tokenizers."""

import argparse

from sacrebleu.metrics import BLEU

from ..errors import InputError


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

    Raises InputError for a name that BLEU does not know.

    >>> tokenizer_for(None, "de"), tokenizer_for(None, "zh"), tokenizer_for("none", "zh")
    ('13a', 'zh', 'none')
    """
    if tokenize is not None and tokenize not in BLEU.TOKENIZERS:
        raise InputError(f"no tokenizer {tokenize!r}; BLEU has {', '.join(BLEU.TOKENIZERS)}")
    return tokenize or BLEU._TOKENIZER_MAP.get((language or "").replace("_", "-").split("-")[0], BLEU.TOKENIZER_DEFAULT)


def add_tokenize_argument(group: argparse._ArgumentGroup, name: str, chosen_by: str) -> None:
    """The flag --NAME-tokenize."""
    group.add_argument(
        f"--{name}-tokenize",
        choices=[*BLEU.TOKENIZERS],
        default=None,
        help=f"BLEU's tokenizers; none for text that is tokenised already. (Default: by {chosen_by}, 13a)",
    )


def add_tokenization_arguments(group: argparse._ArgumentGroup, name: str, chosen_by: str) -> None:
    """The flags --NAME-tokenize and --NAME-lowercase."""
    add_tokenize_argument(group, name, chosen_by)
    group.add_argument(f"--{name}-lowercase", action="store_true", help="Ignore case.")


def add_chrf_arguments(group: argparse._ArgumentGroup, name: str) -> None:
    """The flags --NAME-char-order, --NAME-word-order and --NAME-beta."""
    for flag, default, words in (
        ("char-order", 6, "Longest character n-grams"),
        ("word-order", 0, "Longest word n-grams; 2 is chrF++"),
        ("beta", 2, "Weight of recall"),
    ):
        group.add_argument(
            f"--{name}-{flag}", type=int, default=default, metavar="N", help=f"{words}. (Default: %(default)s)"
        )
