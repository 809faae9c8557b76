"""Pseudo-references as an input of a run."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..run.inputs import FileInput, Keyword
from ..settings import Group, add_flags, from_flags
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
            pseudo_filter=Keyword(PseudoFilter | str, PseudoFilter()),
        )

    def add_arguments(self, group: Group) -> None:
        """Add the flags --pseudo-*."""
        super().add_arguments(group)
        add_flags(group, PseudoFilter)

    def settings(self, args: Namespace) -> PseudoFilter:
        """Return the settings of the filter."""
        return from_flags(PseudoFilter, args)

    def values(
        self, streams: "Sequence[Segments] | None", settings: PseudoFilter, context: "Context | None"
    ) -> dict[str, Any]:
        """Return the streams and the settings of the filter as constructor arguments."""
        return {"pseudo_references": streams, "pseudo_filter": settings}


PSEUDO_REFERENCES = PseudoReferences()
