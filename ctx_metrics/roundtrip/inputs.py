"""Round trips as an input of a run: read from files, or made by a back-translator."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..scoring.inputs import FileInput, InputFiles, Keyword
from ..settings import CommandLine
from ..wording import worded
from .back_translation import BackTranslation

if TYPE_CHECKING:
    from ..corpus import Segments
    from ..scoring.context import Context


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
            settings=BackTranslation,
            backtranslator=Keyword(str | None),
        )

    def given_by(self, line: CommandLine) -> str:
        return super().given_by(line) or ("--rtt-bt" if line.rtt_bt else "")

    def check(self, given: InputFiles, systems: int) -> None:
        if given.paths and given.settings.spec:
            raise InputError("--roundtrip gives round trips and --rtt-bt makes them", fix="leave one out")
        super().check(given, systems)

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

    def column_error(self, given: InputFiles) -> str:
        """Also refuse the back-translator, which does not read tables."""
        made = "--rtt-bt: annotate makes no round trips; name their column (--columns rtt=NAME)"
        return super().column_error(given) or made * bool(given.settings.spec)


ROUND_TRIPS = RoundTrips()
