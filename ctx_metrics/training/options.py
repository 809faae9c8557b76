"""What of human judgements a training reads, whatever it makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..flag_types import Name
from ..settings import setting


@dataclass(frozen=True)
class DataOptions:
    """Which judgements are read, as judgements.readers.read_judged has it, whose `outputs` are of rankings."""

    pairs: Sequence[str] | None = setting(
        "Language pairs to take, such as zh-en; one names that of files whose own names do not. (Default: all)",
        flag="-l --language-pair",
        metavar="PAIR",
    )
    human: Name = setting("Human scores of a tree: mqm, wmt-z, wmt-appraise, ...", "mqm")
    reference: Name | None = setting(
        "Reference of a tree, such as refA; of MQM annotations the human translation to take as reference."
    )
    score: Name | None = setting("Column of the human score in a TSV. (Default: score)", flag="--score-column")
    outputs: str | None = None
    text_checks: bool = False  # whether to say which texts hold HTML entities or shifted lines


ALL = DataOptions()
