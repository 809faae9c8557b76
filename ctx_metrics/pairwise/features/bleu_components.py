"""The individual components of a sentence's BLEU: the BLEUCOMP features of Guzman et al. (2015)."""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU

ORDERS = 4
COMPONENTS = (
    *(f"{what}{order}" for what in ("precision", "matches", "total") for order in range(1, ORDERS + 1)),
    "length",
    "reference_length",
    "length_ratio",
    "brevity_penalty",
)


class BLEUComponents(BLEU):
    """sacrebleu's BLEU, used for the statistics of single sentences. The parameters are those of BLEU."""

    def __init__(
        self,
        lowercase: bool = False,
        tokenize: str | None = None,
        trg_lang: str = "",
        references: Sequence[Sequence[str | None]] | None = None,
    ):
        super().__init__(lowercase=lowercase, tokenize=tokenize, trg_lang=trg_lang, references=references)  # type: ignore[arg-type]  # None is no reference to it

    def components(self, hypotheses: Sequence[str]) -> np.ndarray:
        """Return the COMPONENTS of each hypothesis against the constructor's references: float64 [hypotheses, 16].

        With several references, as in BLEU (Papineni et al. 2002), an n-gram can match as often as it occurs in the
        reference with most occurrences, and the reference length is the one closest to the hypothesis's length (the
        shorter one in a tie).

        >>> bleu = BLEUComponents(references=[["the cat sat on the mat"]])
        >>> values = dict(zip(COMPONENTS, bleu.components(["the cat sat"])[0].round(3).tolist()))
        >>> [values[name] for name in ("precision3", "matches2", "total1", "total4", "length_ratio", "brevity_penalty")]
        [1.0, 2.0, 3.0, 0.0, 0.5, 0.368]
        """
        return from_statistics(np.array(self._extract_corpus_statistics(hypotheses, None), np.float64))


def from_statistics(rows: np.ndarray) -> np.ndarray:
    """Compute the 16 COMPONENTS from BLEU's sentence statistics: float64 [sentences, 16].

    precision = matches / total, in [0, 1], unsmoothed, and 0 if there are no n-grams; length_ratio = length / reference
    length, and 0 if the reference length is 0; brevity_penalty = min(1, exp(1 - reference length / length)), and 0 for an
    empty hypothesis.

    rows    float64 [sentences, 10]: length, reference length, matches of orders 1 to 4, totals of orders 1 to 4

    >>> from_statistics(np.array([[2.0, 3, 1, 0, 0, 0, 2, 1, 0, 0]])).round(3).tolist()
    [[0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 2.0, 3.0, 0.667, 0.607]]
    """
    length, reference_length = rows[:, :1], rows[:, 1:2]
    matches, totals = rows[:, 2 : 2 + ORDERS], rows[:, 2 + ORDERS :]
    ratio = _quotient(length, reference_length)
    penalty = np.exp(np.minimum(0.0, 1 - _quotient(reference_length, length)))
    penalty[(length == 0) & (reference_length > 0)] = 0.0
    return np.concatenate(
        [_quotient(matches, totals), matches, totals, length, reference_length, ratio, penalty], axis=1
    )


def _quotient(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return above / below, and 0 where below is 0."""
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)
