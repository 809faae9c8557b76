"""The settings for reading human judgements that several commands share."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..flag_types import Name
from ..settings import setting


@dataclass(frozen=True)
class SharedOptions:
    """The choice of judgements that every command offers, as for judgements.readers.read_judged."""

    pairs: Sequence[str] | None = setting(
        "Language pairs to read, such as zh-en. A single one is also the pair of files whose names contain none. "
        "(Default: all)",
        flag="-l --language-pair",
        metavar="PAIR",
    )
    reference: Name | None = setting(
        "Reference to use. In a tree: its name, such as refA. In MQM annotations: the human translation."
    )
    text_checks: bool = False  # whether to report anything unusual in the texts


@dataclass(frozen=True)
class DataOptions(SharedOptions):
    """The judgements to read, by one name of human scores for all data; `outputs` is only for rankings."""

    human: Name = setting("Human scores of a tree: mqm, wmt-z, wmt-appraise, ...", "mqm")
    score: Name | None = setting("Column of the human score in a TSV. (Default: score)", flag="--score-column")
    outputs: str | None = None


ALL = DataOptions()
