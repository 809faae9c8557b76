"""The judgements that a quality model learns from."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...judgements.options import SharedOptions
from ...settings import setting

MQM = ("mqm",)


@dataclass(frozen=True)
class TrainingOptions(SharedOptions):
    """As DataOptions, but data of several kinds are read at once, each by a name or columns of its own.

    human    names of human scores of trees; None: MQM
    score    formulas of columns, as for readers.score_columns.terms_of
    """

    human: Sequence[str] | None = setting(
        "Human scores of a tree: mqm, wmt-z, esa, ... With several names, each language pair of a tree uses the first "
        "one that it has. (Default: mqm)",
        metavar="NAME",
    )
    score: Sequence[Sequence[str]] | None = setting(
        "Column of the human score in a table. With several names, or a weight, the score is the weighted sum of the "
        "columns' z-scores in the data set; a row that lacks one of them has no score. Repeat the flag for tables with "
        "other columns. A table without these columns uses its usual one. (Default: score)",
        flag="--score-column",
        metavar="NAME[:WEIGHT]",
        nargs="+",
        action="append",
    )


ALL = TrainingOptions()
