"""Round trips as an input of a run: read from files, or made by a back-translator."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..run.inputs import FileInput, Keyword
from ..settings import Group, add_flags, from_flags
from ..wording import worded
from .back_translation import BackTranslation

if TYPE_CHECKING:
    from ..run.context import Context
    from ..run.streams import Segments


class RoundTrips(FileInput):
    """Each system's output translated back into the source language; `backtranslator` names its maker for signatures."""

    def __init__(self) -> None:
        super().__init__(
            "roundtrips",
            "--roundtrip",
            "Each system's output translated back into the source language, one file per system, in the order of the "
            "systems.",
            "round trips",
            per_system=True,
            required=True,
            column="rtt",
            title="round trips of the rtt metrics",
            backtranslator=Keyword(str | None),
        )

    def add_arguments(self, group: Group) -> None:
        super().add_arguments(group)
        add_flags(group, BackTranslation)

    def given_by(self, args: Namespace) -> str:
        return super().given_by(args) or ("--rtt-bt" if args.rtt_bt else "")

    def settings(self, args: Namespace) -> BackTranslation:
        return from_flags(BackTranslation, args)

    def check(self, paths: Sequence[str], settings: BackTranslation, systems: int) -> None:
        """Raise InputError if round trips are both read and made, or if there is not one file for each system."""
        if paths and settings.spec:
            raise InputError("--roundtrip gives round trips and --rtt-bt makes them; leave one out")
        super().check(paths, settings, systems)

    def values(
        self, streams: "Sequence[Segments] | None", settings: BackTranslation, context: "Context | None"
    ) -> dict[str, Any]:
        made: tuple[Any, str | None] = streams, settings.label
        if settings.spec and context is not None:
            from .round_trips import round_trips

            made = round_trips(context.systems, context.source_lang, context.target_lang, settings, context.engine)
        return dict(zip(("roundtrips", "backtranslator"), made, strict=True))

    def missing(self) -> str:
        return "needs each system's round trip: give " + worded(
            "--roundtrip FILE ..., one file per system in the order of the systems, or make it with --rtt-bt",
            "roundtrips, one list of strings per system in the order of the systems",
        )

    def column_error(self, args: Namespace) -> str:
        """Also refuse the back-translator, which does not read tables."""
        made = "--rtt-bt: annotate makes no round trips; name their column (--columns rtt=NAME)"
        return super().column_error(args) or made * bool(args.rtt_bt)


ROUND_TRIPS = RoundTrips()
