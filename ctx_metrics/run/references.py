"""The origin of a run's references, which the signatures of all metrics name."""

from collections.abc import Sequence
from typing import Literal

from ..errors import InputError
from ..wording import worded

ReferenceKind = Literal["human", "post-edited", "synthetic"]
REFERENCE_KIND = (
    "How the references were made, for the signatures: by people, by people who corrected outputs, or by systems. Scores "
    "against post-edited and synthetic references favour the systems that these came from. (Default: not in the signature)"
)


def reference_entry(*kinds: ReferenceKind | None) -> dict[str, str]:
    """The entry in signatures; {} if no kind is known.

    >>> reference_entry("human", "post-edited", "human"), reference_entry(None)
    ({'refs': 'human+post-edited'}, {})
    """
    known = dict.fromkeys(kind for kind in kinds if kind)
    return {"refs": "+".join(known)} if known else {}


def kind_entry(kind: ReferenceKind | None, references: Sequence[Sequence[str | None]] | None) -> dict[str, str]:
    """The entry of the kind that a user names; raises InputError without references."""
    if kind and not references:
        named, fix = worded("--kind-of-references", "kind_of_references"), worded("give -r", "give references")
        raise InputError(
            f"{named} says how the references were made, but there are none", fix=f"{fix}, or leave it out"
        )
    return reference_entry(kind)
