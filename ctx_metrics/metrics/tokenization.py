"""The choice of a tokenizer, for metrics that are made of BLEU."""

from typing import Optional

from sacrebleu.metrics import BLEU

from ..errors import InputError


def tokenizer_for(tokenize: Optional[str], language: Optional[str]) -> str:
    """The name of the tokenizer that was asked for, else the one that BLEU takes for a language.

    Raises InputError for a name that BLEU does not know.

    >>> tokenizer_for(None, "de"), tokenizer_for(None, "zh"), tokenizer_for("none", "zh")
    ('13a', 'zh', 'none')
    """
    if tokenize is not None and tokenize not in BLEU.TOKENIZERS:
        raise InputError(f"no tokenizer {tokenize!r}; BLEU has {', '.join(BLEU.TOKENIZERS)}")
    return tokenize or BLEU._TOKENIZER_MAP.get((language or "").replace("_", "-").split("-")[0], BLEU.TOKENIZER_DEFAULT)


def add_tokenization_arguments(group, name: str, chosen_by: str) -> None:
    """The flags --NAME-tokenize and --NAME-lowercase."""
    group.add_argument(
        f"--{name}-tokenize",
        choices=[*BLEU.TOKENIZERS],
        default=None,
        help=f"BLEU's tokenizers; none for text that is tokenised already. (Default: by {chosen_by}, 13a)",
    )
    group.add_argument(f"--{name}-lowercase", action="store_true", help="Ignore case.")
