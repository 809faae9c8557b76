"""A column beside the metrics: the share of the reference's words that each output lacks, which reveals dropped words."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_char import TokenizerChar

from ..corpus import document_ranges
from ..run.context import Context
from ..scoring.base import weighted_mean
from ..scoring.comparison import Column, compare
from ..scoring.scores import Scores
from ..scoring.testing import Design

TITLE = "missing words, %"
WITHOUT_SPACES = frozenset("zh ja th lo km my".split())  # languages in which characters are counted as words


def missing_words(context: Context, design: Design) -> Column | None:
    """The share of the first reference's words that an output lacks or has less often, in %. The order of words does not
    count. None without references.

    Words are the lower-case tokens of BLEU's tokenizer 13a; in Chinese, Japanese, Thai, Lao, Khmer and Burmese, they are the
    characters. NaN for a segment whose reference is empty.

    >>> texts = {"references": [["The dog sleeps on the sofa ."]], "systems": [["The dog sleeps .", "On the sofa"][:1]]}
    >>> from ctx_metrics.scoring.testing import USUAL
    >>> design = USUAL.design(texts["systems"], None)
    >>> round(missing_words(Context(**texts), design).scores[0].system, 1)    # on, the, sofa: 3 of 7
    42.9
    """
    if not context.references:
        return None
    by_characters = (context.target_lang or "") in WITHOUT_SPACES
    tokenizer = TokenizerChar() if by_characters else Tokenizer13a()
    references = [Counter(tokenizer((text or "").lower()).split()) for text in context.references[0]]
    ranges = None if context.doc_ids is None else document_ranges(context.doc_ids)
    scores = []
    for system in context.systems:
        outputs = [Counter(tokenizer((text or "").lower()).split()) for text in system]
        rows = [[(words - own).total(), words.total()] for words, own in zip(references, outputs, strict=True)]
        table = np.array(rows, np.float64).reshape(-1, 2)
        documents = [] if ranges is None else [_share(table[start:end].sum(axis=0)) for start, end in ranges]
        segments = [_share(row) for row in table]
        scores.append(Scores(segments, documents, _share(table.sum(axis=0)), TITLE, table.tolist()))
    all_rows, of_systems = [each.rows for each in scores], [each.system for each in scores]
    comparison = compare(weighted_mean, all_rows, of_systems, design.ranges, sign=-1, testing=design.testing)
    signature = f"reference:1|case:lc|tok:{'char' if by_characters else '13a'}"
    return Column("missing", signature, scores, -1, comparison)


def _share(row: Sequence[float] | np.ndarray) -> float:
    return float(100 * row[0] / row[1]) if row[1] else float("nan")
