"""The settings for reading human judgements that all trainings share."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...flag_types import Name
from ...settings import setting


@dataclass(frozen=True)
class DataOptions:
    """Which judgements to read, as for meta.judgements.readers.read_judged; `outputs` is only for rankings."""

    pairs: Sequence[str] | None = setting(
        "Language pairs to read, such as zh-en. A single one is also the pair of files whose names contain none. "
        "(Default: all)",
        flag="-l --language-pair",
        metavar="PAIR",
    )
    human: Name = setting("Human scores of a tree: mqm, wmt-z, wmt-appraise, ...", "mqm")
    reference: Name | None = setting(
        "Reference to use. In a tree: its name, such as refA. In MQM annotations: the human translation."
    )
    score: Name | None = setting("Column of the human score in a TSV. (Default: score)", flag="--score-column")
    outputs: str | None = None
    text_checks: bool = False  # whether to report anything unusual in the texts


ALL = DataOptions()
