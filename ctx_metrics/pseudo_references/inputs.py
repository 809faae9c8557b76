"""Pseudo-references as an input of a run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..run.inputs import FileInput, Keyword
from .options import PseudoFilter

if TYPE_CHECKING:
    from ..run.context import Context
    from ..run.streams import Segments


class PseudoReferences(FileInput):
    """Streams of other systems' outputs; `pseudo_filter` says how they are filtered, or names a filter with its defaults."""

    def __init__(self) -> None:
        super().__init__(
            "pseudo_references",
            "--pseudo-refs",
            "Pseudo-references: other systems' translations of the same source, one file per system.",
            "pseudo-references",
            column="pseudo",
            title="pseudo-references of the pr metrics",
            settings=PseudoFilter,
            pseudo_filter=Keyword(PseudoFilter | str, PseudoFilter()),
        )

    def values(
        self, streams: "Sequence[Segments] | None", settings: PseudoFilter, context: "Context | None"
    ) -> dict[str, Any]:
        """Return the streams and the settings of the filter as constructor arguments."""
        return {"pseudo_references": streams, "pseudo_filter": settings}


PSEUDO_REFERENCES = PseudoReferences()
