"""What every back-translator is: an identity, and lines to lines."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple


class Translation(NamedTuple):
    """A line's translation.

    input_cut     whether the end of the line was cut off before, as longer than the model reads
    output_cut    whether the translation reached the greatest length, where it is broken off
    """

    text: str
    input_cut: bool = False
    output_cut: bool = False


class BackTranslator(ABC):
    """Translates outputs into the source language.

    name    its identity for signatures and kept translations, the same for the same translations; holds nothing secret
    """

    name: str

    @abstractmethod
    def chunks(self, lines: Sequence[str]) -> list[list[str]]:
        """The lines, in an order that suits it, in the portions that `translate` is given one after another."""

    @abstractmethod
    def translate(self, lines: Sequence[str]) -> list[Translation]:
        """The translations of a portion of lines, as many and in their order; no text holds a line end.

        Raises InputError, ModelError or ResourceError where it cannot give them.
        """
