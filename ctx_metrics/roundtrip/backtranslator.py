"""The interface of back-translators: an identity, and a translation for each line."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple


class Translation(NamedTuple):
    """A line's translation.

    input_cut     whether the line was truncated to what the model can read
    output_cut    whether the translation was truncated at its maximum length
    """

    text: str
    input_cut: bool = False
    output_cut: bool = False


class BackTranslator(ABC):
    """Translates outputs into the source language.

    name    its identity for signatures and cached translations: equal names give equal translations; contains no secrets
    """

    name: str

    @abstractmethod
    def chunks(self, lines: Sequence[str]) -> list[list[str]]:
        """Split the lines, in any order, into the portions that are passed to `translate` one after another."""

    @abstractmethod
    def translate(self, lines: Sequence[str]) -> list[Translation]:
        """Return one translation for each line of a portion, in the same order; no text contains a line end.

        Raises InputError, ModelError or ResourceError on failure.
        """
