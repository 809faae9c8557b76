"""What of human judgements a training reads, whatever it makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DataOptions:
    """Which judgements are read, as judgements.readers.read_judged has it.

    pairs       only these language pairs, such as ["de-en"]; for files whose names tell none see the readers
    human, reference, score    of trees, MQM annotations and tables
    outputs     folder of the outputs that rankings are of; their reference is a file
    text_checks whether to say which texts hold HTML entities or shifted lines
    """

    pairs: Sequence[str] | None = None
    human: str = "mqm"
    reference: str | None = None
    score: str | None = None
    outputs: str | None = None
    text_checks: bool = False


ALL = DataOptions()
