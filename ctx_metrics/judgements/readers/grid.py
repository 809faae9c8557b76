"""Arranges judged outputs, in any order, as a grid of systems and segments."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...notices import counted, notice
from ..judged import JudgedSet


@dataclass
class Segment:
    """A segment and its hypotheses. `number` is its position in the document; None: in order of appearance.

    references    equally many for all segments of a set; None for a missing one
    """

    document: str | None
    number: int | None
    source: str | None
    references: Sequence[str | None]
    hypotheses: dict[str, tuple[str, list[float]]] = field(default_factory=dict)

    def judge(self, system: str, text: str, score: float) -> None:
        """Add a judgement of a system's output; the output is the same in all judgements."""
        self.hypotheses.setdefault(system, (text, []))[1].append(score)


def whole(texts: Sequence[str | None]) -> list[str] | None:
    known = [text for text in texts if text is not None]
    return known if len(known) == len(texts) else None


def as_streams(references: Sequence[Sequence[str | None]]) -> list[list[str | None]]:
    return [list(stream) for stream in zip(*references, strict=True)]


def judged_set(
    name: str,
    segments: Iterable[Segment],
    languages: tuple[str | None, str | None] = (None, None),
    reference: str | None = None,
) -> JudgedSet:
    """Build a JudgedSet: documents in order of first appearance, and the mean of its judgements as each output's score.

    If only some segments have a reference, the others are left out, with a notice. Another notice names the systems that
    lack outputs for some segments. reference: name of the references.
    """
    ordered = list(segments)
    document_order = {document: k for k, document in enumerate(dict.fromkeys(each.document for each in ordered))}
    numbered = all(each.number is not None for each in ordered)
    ordered.sort(key=lambda each: (document_order[each.document], each.number if numbered else 0))
    with_reference = [each for each in ordered if any(text is not None for text in each.references)]
    if 0 < len(with_reference) < len(ordered):
        left = counted(len(ordered) - len(with_reference), "segment", "segments")
        notice(f"{name}: left out {left} without a reference, of {len(ordered)}")
        ordered = with_reference
    systems = {
        system: i for i, system in enumerate(dict.fromkeys(name for each in ordered for name in each.hypotheses))
    }
    scores = np.full((len(systems), len(ordered)), np.nan)
    for k, segment in enumerate(ordered):
        for system, (_, judgements) in segment.hypotheses.items():
            known = [score for score in judgements if not math.isnan(score)]
            scores[systems[system], k] = sum(known) / len(known) if known else math.nan
    texts = {system: [each.hypotheses.get(system, (None,))[0] for each in ordered] for system in systems}
    judged = JudgedSet(
        name,
        list(systems),
        len(ordered),
        list(texts.values()),
        as_streams([each.references for each in ordered]) if with_reference else (),
        whole([each.source for each in ordered]),
        whole([each.document for each in ordered]),
        *languages,
        segment_scores=scores,
        reference=reference,
    )
    if lacking := [f"{system} lacks {own.count(None)}" for system, own in texts.items() if None in own]:
        number = counted(len(ordered), "segment", "segments")
        notice(f"{name}: of {number}, {', '.join(lacking)}; so there are no system scores")
    return judged
