"""Texts to token ids with a checkpoint's own tokenizer, in one batch."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import ModelError

# Set before the library starts its threads: it then stays silent when sacrebleu forks for paired tests (-j N).
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")


class TokenIds(NamedTuple):
    """Token ids of one text with the two specials around them, and how many content tokens were cut off at the end."""

    ids: np.ndarray
    cut: int

    @property
    def content(self) -> int:
        """Number of tokens without the two specials; 0 for an empty text."""
        return len(self.ids) - 2


class TextTokenizer:
    """The fast tokenizer of a checkpoint folder; texts are surrounded by its two special tokens."""

    def __init__(self, folder: Path):
        from tokenizers import Tokenizer

        path = folder / "tokenizer.json"
        try:
            if path.exists():
                self._backend = Tokenizer.from_file(str(path))
            else:  # older checkpoints hold a vocabulary or a sentencepiece model alone, which transformers converts
                from transformers import AutoTokenizer

                self._backend = AutoTokenizer.from_pretrained(
                    str(folder), local_files_only=True, use_fast=True
                ).backend_tokenizer
        except Exception as error:  # both libraries raise bare Exceptions for unreadable files
            raise ModelError(f"{folder}: its tokenizer cannot be loaded: {str(error).splitlines()[0]}") from error
        self._backend.no_truncation()
        self._backend.no_padding()
        specials = self._backend.encode("").ids
        if len(specials) != 2:
            raise ModelError(f"{folder}: its tokenizer puts {len(specials)} special tokens around a text, not 2")
        self._first, self._last = specials

    def __call__(self, texts: Sequence[str], max_content: int) -> list[TokenIds]:
        """Token ids of each text, cut at the end to `max_content` content tokens."""
        encode = getattr(self._backend, "encode_batch_fast", self._backend.encode_batch)
        result = []
        for encoding in encode(list(texts), add_special_tokens=False):
            ids = encoding.ids
            result.append(
                TokenIds(
                    np.array([self._first, *ids[:max_content], self._last], dtype=np.int32),
                    max(0, len(ids) - max_content),
                )
            )
        return result
