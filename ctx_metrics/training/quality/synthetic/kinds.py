"""The kinds of synthetic errors and harmless changes: how often each is drawn, and the target that each teaches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import corruptions, harmless
from .negation import flip_negation
from .parts import added, lost, moved

FULL = 0.6  # extent from which a kind has its worst target


class Clean(NamedTuple):
    """A clean translation, and the material for errors in it.

    language    of the translation, None if unknown
    nearby      other translations of its document
    names       names in the translations of its document, or of its data set if these are few
    foreign     translations of its source into other languages, or any texts in other languages
    """

    text: str
    source: str
    language: str | None
    nearby: Sequence[str]
    names: Sequence[str]
    foreign: Sequence[str]


@dataclass(frozen=True)
class Kind:
    """A kind of error. Targets are in standard deviations of people's scores, relative to the clean translation.

    make       returns the text with the error, or None if the kind does not apply
    often      how often it is drawn, relative to the other kinds that apply
    mildest    target at the extent 0
    worst      target at the extent FULL and above, and where there is no extent
    extent     of the error, from the clean text and the one with the error: a share of the text
    """

    make: Callable[[Clean, np.random.Generator], str | None]
    often: float
    mildest: float
    worst: float
    extent: Callable[[str, str], float] | None = None

    def target(self, clean: str, text: str) -> float:
        share = 1.0 if self.extent is None else min(1.0, self.extent(clean, text) / FULL)
        return round(self.mildest + (self.worst - self.mildest) * share, 3)


def _of_text(
    change: Callable[[str, np.random.Generator], str | None],
) -> Callable[[Clean, np.random.Generator], str | None]:
    return lambda clean, draw: change(clean.text, draw)


# Numbers, names and negations are in few texts, and need many examples: they are drawn more often where there are some.
ERRORS = {
    "clause dropped": Kind(_of_text(corruptions.drop_clause), 1.5, -0.8, -2.0, lost),
    "half dropped": Kind(_of_text(corruptions.drop_half), 1.0, -0.8, -2.0, lost),
    "sentence dropped": Kind(_of_text(corruptions.drop_sentence), 1.5, -0.8, -2.0, lost),
    "words dropped": Kind(_of_text(corruptions.drop_words), 1.0, -0.6, -2.0, lost),
    "part repeated": Kind(_of_text(corruptions.repeat), 1.5, -0.8, -2.0, added),
    "another sentence": Kind(lambda clean, draw: corruptions.another(clean.text, clean.nearby, draw), 1.5, -2.5, -2.5),
    "source copied": Kind(lambda clean, _: corruptions.copy_source(clean.text, clean.source), 1.0, -3.0, -3.0),
    "source words kept": Kind(
        lambda clean, draw: corruptions.keep_source_words(clean.text, clean.source, draw), 1.0, -0.8, -2.5, lost
    ),
    "number changed": Kind(_of_text(corruptions.change_number), 8.0, -1.0, -1.0),
    "name changed": Kind(lambda clean, draw: corruptions.change_name(clean.text, clean.names, draw), 3.0, -1.0, -1.0),
    "negation": Kind(lambda clean, draw: flip_negation(clean.text, clean.language, draw), 4.0, -1.2, -1.2),
    "words shuffled": Kind(_of_text(corruptions.shuffle_words), 0.7, -0.8, -2.0, moved),
    "letters shuffled": Kind(_of_text(corruptions.shuffle_characters), 0.5, -0.8, -2.0, lost),
    "another language": Kind(lambda clean, draw: corruptions.another(clean.text, clean.foreign, draw), 1.5, -3.0, -3.0),
    "only punctuation": Kind(_of_text(corruptions.punctuation_only), 0.3, -3.0, -3.0),
}
# these keep the clean translation's target, 0
HARMLESS = {
    "first letter's case": (harmless.change_case, 3.0),
    "final full stop": (harmless.change_full_stop, 3.0),
    "style of quotes": (harmless.change_quotes, 4.0),
    "length of dashes": (harmless.change_dashes, 3.0),
    "double spaces": (harmless.double_spaces, 0.5),
}


class SyntheticText(NamedTuple):
    kind: str
    text: str
    target: float


def errors(clean: Clean, number: int, draw: np.random.Generator) -> list[SyntheticText]:
    """Draw a number of different kinds that apply, and put an error of each into the clean translation."""
    made: list[SyntheticText] = []
    for name in _in_random_order({name: kind.often for name, kind in ERRORS.items()}, draw):
        if len(made) == number:
            break
        text = ERRORS[name].make(clean, draw)
        if text is not None and all(text != other.text for other in made):
            made.append(SyntheticText(name, text, ERRORS[name].target(clean.text, text)))
    return made


def harmless_change(clean: Clean, draw: np.random.Generator) -> SyntheticText:
    """Draw a harmless change that applies; a text to which none does stays as it is."""
    for name in _in_random_order({name: often for name, (_, often) in HARMLESS.items()}, draw):
        if (text := HARMLESS[name][0](clean.text, draw)) is not None:
            return SyntheticText(name, text, 0.0)
    return SyntheticText("unchanged", clean.text, 0.0)


def _in_random_order(often: dict[str, float], draw: np.random.Generator) -> list[str]:
    """Return the names in random order; a name is the first of some with a chance in proportion to its frequency."""
    waited = draw.exponential(size=len(often)) / list(often.values())
    return [name for _, name in sorted(zip(waited.tolist(), often, strict=True))]
