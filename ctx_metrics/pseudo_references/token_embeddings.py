"""Texts as the embedded encoder's token embeddings: word vectors that need no further file."""

from collections.abc import Sequence

import numpy as np

from .vectors import say_unknown


class TokenEmbeddings:
    """Texts as rows of the embedded encoder's embedding matrix, one a wordpiece, scaled to length 1.

    Positions, token types and the layer norm are left out, so a piece's vector does not depend on its place. Special
    tokens are left out, and pieces that the vocabulary lacks are skipped and counted: they would align with each other.
    """

    def __init__(self):
        from ..engine.checkpoint import EncoderFolder
        from ..engine.tokenizer import TextTokenizer
        from ..models import hub

        self._model = hub.resolve(hub.EMBEDDED)
        self._folder = EncoderFolder(self._model.folder)
        rows = self._folder.weights()["embeddings.word_embeddings.weight"].float().numpy()
        self._rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._tokenizer = TextTokenizer(self._model.folder)
        self._unknown = self._tokenizer.backend.token_to_id("[UNK]")

    def is_current(self) -> bool:
        return self._folder.is_current()

    def signature(self) -> dict:
        """fmodel, frev and fckpt of the encoder."""
        return {f"f{key}": value for key, value in self._model.signature().items()}

    def __call__(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Unit vectors of each text's wordpieces: fp32 [pieces, 384]."""
        ids = [text.ids[1:-1] for text in self._tokenizer(texts)]
        known = [of_text[of_text != self._unknown] for of_text in ids]
        total = sum(map(len, ids))
        say_unknown(total - sum(map(len, known)), total, "wordpieces are unknown to the embedded encoder")
        return [self._rows[of_text] for of_text in known]
