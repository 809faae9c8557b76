"""MAS, maximum alignment similarity: how well the words of two texts match. Also the vectors of the words."""

from collections.abc import Callable, Sequence

import numpy as np

from ..models.word_vectors import VectorFile
from ..notices import notice


def mas(left: np.ndarray, right: np.ndarray) -> float:
    """Return the mean over both directions of a text's mean, over its words, of the largest cosine with the other's words.

        MAS(x, y) = (1/|x| sum_i max_j cos(x_i, y_j) + 1/|y| sum_j max_i cos(x_i, y_j)) / 2

    (Song and Roth 2015 give one direction, Kajiwara and Komachi 2016 the mean of both; Yoshimura et al. 2019 call it MAS.)

    left, right    unit vectors of each text's words, [words, dimensions]; the MAS of a text without words is 0

    >>> cat, dog = [1.0, 0.0], [0.6, 0.8]
    >>> round(mas(np.array([cat]), np.array([cat, dog])), 4)    # (1 + (1 + .6) / 2) / 2
    0.9
    """
    if not len(left) or not len(right):
        return 0.0
    cosines = left @ right.T
    return float(cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2


def similarities(vectors: Callable[[Sequence[str]], list[np.ndarray]], pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Return the MAS of each pair, by WordVectors or TokenEmbeddings; each distinct text is looked up once."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    of_text = dict(zip(texts, vectors(texts), strict=True))
    return [mas(of_text[one], of_text[other]) for one, other in pairs]


class WordVectors:
    """Represents texts by the unit vectors of their words, from a GloVe or word2vec text file.

    Words are the tokens of sacrebleu's 13a tokenizer, looked up as written, then in lower case. Words without a vector are
    skipped, and a notice gives their number.
    """

    def __init__(self, path: str, quiet: bool = False):
        self._file = VectorFile(path, quiet)
        self.is_current, self.signature = self._file.is_current, self._file.signature

    def __call__(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Return the unit vectors of each text's known words: fp32 [words, dimensions], [0, 0] if none is known."""
        result = list(self._file(texts))
        _say_unknown(
            sum(vector is None for of_text in result for vector in of_text),
            sum(map(len, result)),
            f"words have no vector in {self._file.path}",
        )
        known = [[vector for vector in of_text if vector is not None] for of_text in result]
        return [np.stack(vectors) if vectors else np.zeros((0, 0), np.float32) for vectors in known]


class TokenEmbeddings:
    """Represents texts by rows of the embedded encoder's embedding matrix, one per wordpiece, scaled to length 1.

    Positions, token types and the layer norm are not applied, so a wordpiece's vector does not depend on its position.
    Special tokens are left out. Unknown wordpieces are skipped and counted, since they would align with each other.
    """

    def __init__(self):
        from ..engine.checkpoint import EncoderFolder
        from ..engine.tokenizer import TextTokenizer
        from ..models import hub

        self._model = hub.resolve(hub.EMBEDDED)
        folder = EncoderFolder(self._model.folder)
        self.is_current = folder.is_current
        rows = folder.weights()["embeddings.word_embeddings.weight"].float().numpy()
        self._rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._tokenizer = TextTokenizer(self._model.folder)
        self._unknown = self._tokenizer.backend.token_to_id("[UNK]")

    def signature(self) -> dict:
        return {f"f{key}": value for key, value in self._model.signature().items()}

    def __call__(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Return the unit vectors of each text's wordpieces: fp32 [pieces, 384]."""
        ids = [text.ids[1:-1] for text in self._tokenizer(texts)]
        known = [of_text[of_text != self._unknown] for of_text in ids]
        total = sum(map(len, ids))
        _say_unknown(total - sum(map(len, known)), total, "wordpieces are unknown to the embedded encoder")
        return [self._rows[of_text] for of_text in known]


def _say_unknown(unknown: int, total: int, what: str) -> None:
    if unknown:
        notice(f"pseudo-references: {unknown:,} of {total:,} {what}; the alignment skips them")
