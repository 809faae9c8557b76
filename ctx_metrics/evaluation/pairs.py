"""The tests of all pairs of systems, as Python shows them."""

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from ..cli.common import comparisons, system_tables
from ..cli.common.comparisons import SystemComparisons
from ..types_of_values import check_type
from .frames import frame

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, repr=False)
class Comparisons:
    """The tests of all pairs of systems by each metric. print() shows the output of `ctx-metrics compare`."""

    found: SystemComparisons

    @property
    def pairs(self) -> list[dict[str, Any]]:
        """A record for each metric and pair, the better system first: the columns of `ctx-metrics compare --format json`."""
        return comparisons.objects_of(self.found)

    @property
    def ranks(self) -> dict[str, dict[str, int]]:
        """The rank of each system by each metric, from 1; 0 where there is none. Systems that share a rank do not differ
        significantly."""
        names = self.found.names
        return {
            each.name: dict(zip(names, each.comparison.ranks if each.comparison else [0] * len(names), strict=True))
            for each in self.found.columns
        }

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a table with a row for each metric and pair."""
        return frame(self.pairs)

    def table(
        self,
        format: Literal["table", "tsv", "csv", "json", "jsonl", "latex", "markdown"] = "table",
        *,
        autorank: Literal["wmt24", "wmt25"] | None = None,
        decimals: int | None = None,
    ) -> str:
        """Return the table of systems by metrics with their ranks, as `ctx-metrics compare --rows system` writes it."""
        check_type("format", format, Literal["table", "tsv", "csv", "json", "jsonl", "latex", "markdown"])
        check_type("autorank", autorank, Literal["wmt24", "wmt25"] | None)
        check_type("decimals", decimals, int | None)
        return system_tables.render(self.found, format, decimals, autorank)

    def __repr__(self) -> str:
        return comparisons.render(self.found, "table", None).rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
