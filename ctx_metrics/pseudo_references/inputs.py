"""Pseudo-references as an input of a run: their flags, and the settings of the filter. Imports no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import InputError
from ..flag_types import File, Model, Number, number
from ..scoring.inputs import FileInput, Keyword
from ..settings import setting
from ..wording import setting_named, worded

if TYPE_CHECKING:
    from ..corpus import Segments
    from ..scoring.context import Context

FILTERS = ("bert", "mas", "none")
PROBABILITY = 0.5  # from the paper; --theta in the authors' code
MAS_OF_VECTORS = 0.8  # from the paper, for GloVe
MAS_OF_EMBEDDED = 0.74  # gives the best accuracy on MRPC's training part: docs/pseudo-references.md
# Unrelated systems of WMT18, 19 and 22 share at most .32 of their lines; the same engine under two names shares .44 to 1.
GUARD = 0.4
# lower bound of a filter's scores; the upper bound is 1, and a threshold of 1 keeps nothing
_LOWEST = {"bert": 0.0, "mas": -1.0}


_share = partial(number, float, lambda value: 0 <= value < 1, "a share from 0 to below 1, or off")


def share_or_off(text: str) -> float | None:
    return None if text == "off" else _share(text)


@dataclass(frozen=True)
class PseudoFilter:
    """The pseudo-references to keep next to the gold references (Yoshimura et al. 2019).

    A pseudo-reference whose score equals the threshold is not kept; a guard of None is off.
    Raises InputError for settings that contradict each other or are out of range.
    """

    PREFIX: ClassVar = "--pseudo-"

    kind: str = setting(
        "Pseudo-references to keep: bert keeps those that a classifier accepts as paraphrases of the "
        "reference, mas those whose words align with the reference's, none keeps all.",
        "bert",
        flag="filter",
        choices=FILTERS,
    )
    threshold: Number | None = setting(
        f"Keep a pseudo-reference whose score is above X. (Default: bert {PROBABILITY}; mas {MAS_OF_VECTORS} with "
        f"--pseudo-vectors, else {MAS_OF_EMBEDDED})"
    )
    model: Model | None = setting(
        "Classifier for bert, which reads (pseudo-reference, reference): embedded, a folder, or a hub "
        "name[@revision]. (Default: embedded, English only)"
    )
    vectors: File | None = setting(
        "Word vectors for mas: a GloVe or word2vec text file, also .gz or .xz. (Default: the embedded encoder's token "
        "embeddings, English only)"
    )
    guard: float | None = setting(
        "For each system under test, leave out pseudo-reference systems with more than this share of lines (nearly) "
        "equal to its own; off keeps all.",
        GUARD,
        type=share_or_off,
        metavar="SHARE",
    )

    def __post_init__(self):
        kind, named = self.kind, self.named
        if kind not in FILTERS:
            raise InputError(f"{named('kind')}: {kind!r} is not one of {', '.join(FILTERS)}")
        if self.model is not None and kind != "bert":
            raise InputError(f"{named('model')} is the classifier of {named('kind', 'bert')}, and the filter is {kind}")
        if self.vectors is not None and kind != "mas":
            raise InputError(f"{named('vectors')} are for {named('kind', 'mas')}, and the filter is {kind}")
        if self.threshold is not None and kind == "none":
            raise InputError(f"{named('threshold')}: {named('kind', 'none')} keeps all and has no threshold")
        if self.threshold is not None and not (lowest := _LOWEST[kind]) <= self.threshold < 1:
            raise InputError(
                f"{named('threshold', self.threshold)}: scores of {kind} lie between {lowest:g} and 1, so a "
                f"threshold must be from {lowest:g} to below 1"
            )
        if self.guard is not None and not 0 <= self.guard < 1:
            off = worded("off", "None")
            raise InputError(f"{named('guard', self.guard)} is neither a share from 0 to below 1 nor {off}")

    @staticmethod
    def named(name: str, value: str | float = "") -> str:
        """Return a setting's name for messages, with its value if one is given."""
        flag = "--pseudo-filter" if name == "kind" else f"--pseudo-{name}"
        return worded(setting_named(flag, name, value), f"PseudoFilter({setting_named(flag, name, value)})")

    @property
    def limit(self) -> float | None:
        """The effective threshold; None if all pseudo-references are kept."""
        if self.threshold is not None or self.kind == "none":
            return self.threshold
        return PROBABILITY if self.kind == "bert" else MAS_OF_EMBEDDED if self.vectors is None else MAS_OF_VECTORS

    @property
    def in_place_of_embedded(self) -> str:
        """The setting that replaces the embedded model, which only reads English; "" if no embedded model is used."""
        if self.kind == "bert":
            return self.named("model") if self.model in (None, "embedded") else ""
        return self.named("vectors") if self.kind == "mas" and self.vectors is None else ""

    def signature(self) -> dict:
        """Return the filter, threshold and guard for the signature; the filter itself adds its model."""
        return {"filter": self.kind, "threshold": self.limit, "guard": "off" if self.guard is None else self.guard}


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
        return {"pseudo_references": streams, "pseudo_filter": settings}


PSEUDO_REFERENCES = PseudoReferences()
