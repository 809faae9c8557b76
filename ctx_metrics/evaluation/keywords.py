"""Keywords of `evaluate` that the package's own wrappers read, for type checkers; tests/test_typing.py compares the two."""

import os
from collections.abc import Collection, Mapping
from typing import TypedDict


class WrapperKeywords(TypedDict, total=False):
    """Keywords of `evaluate` that concern every metric of a run.

    align              find the segments in hypotheses that are one text for each document of `docs`
    align_output       a folder, which gets each system's aligned lines and its links
    peers              compare every output with those of the other systems; needs at least three systems
    peers_weight       the peers' share of a segment's score if there are references, above 0 and at most 1; by default .5
    peers_by_source    count a peer by how good the multilingual comet finds its system's outputs, given the sources
    tuned_with         metrics with which the systems were tuned or decoded, such as "comet:Unbabel/wmt22-comet-da", or those
                       of some systems: {"A": "comet"}; a notice names these systems if such a metric or a related one scores
    """

    align: bool
    align_output: str | os.PathLike[str] | None
    peers: bool
    peers_weight: float | None
    peers_by_source: bool
    tuned_with: str | Collection[str] | Mapping[str, str | Collection[str]]
