"""What the pseudo-reference metrics share (Yoshimura et al. 2019): outputs of other systems as references beside the gold
ones, where a filter accepts them."""

from collections.abc import Sequence
from typing import Optional, Union

from sacrebleu.metrics.base import Metric

from ..corpus import Corpus, list_of_strings
from ..engine.options import EngineOptions
from ..errors import InputError
from ..notices import counted, notice
from ..pseudo_references.options import PseudoFilter
from .derived import DerivedMetric, Texts


class PseudoReferenceMetric(DerivedMetric):
    """An inner metric that pools references, with the gold ones and the pseudo-references that the filter keeps.

    inner               the metric
    references          the gold references; always kept
    systems             all systems that will be scored against them
    target_lang         language code of hypotheses and references, where known
    pseudo_references   streams of other systems' outputs, which know their file's `name`; None for gold alone
    pseudo_filter       how they are filtered, or the name of a filter with its defaults, and the guard against a
                        pseudo-reference system that is under test itself
    engine              device, number format, batch size of the filter's model

    A rejected pseudo-reference is None, never an empty string, which metrics would take for a reference of length 0.
    Raises InputError for streams of other lengths.
    """

    def __init__(
        self,
        inner: Metric,
        references: Optional[Sequence[Sequence[Optional[str]]]],
        systems: Sequence[Sequence[str]],
        target_lang: Optional[str],
        pseudo_references: Optional[Sequence[Sequence[Optional[str]]]],
        pseudo_filter: Union[PseudoFilter, str],
        engine: EngineOptions,
    ):
        super().__init__(inner, references, systems)
        if isinstance(pseudo_filter, str):
            pseudo_filter = PseudoFilter(pseudo_filter)
        self.pseudo = [
            list_of_strings(f"{self.NAME.lower()}: pseudo_references", stream) for stream in pseudo_references or []
        ]
        self.filter = pseudo_filter
        self._filter_arguments = {"engine": engine, "target_lang": target_lang}
        self._selected: Optional[tuple] = None
        self.names = [
            getattr(stream, "name", "") or f"pseudo-reference {number}"
            for number, stream in enumerate(pseudo_references or [], 1)
        ]
        if twice := [name for name in self.names if self.names.count(name) > 1]:
            name = self.NAME.lower()
            raise InputError(f"{name}: pseudo-references of {twice[0]} are given twice; name each system once")
        if not self.pseudo:
            notice(
                f"{self.NAME.lower()}: no pseudo-references are given (--pseudo-refs FILE ...): gold references alone"
            )
            self.settings["pseudo"] = 0
            return
        from ..pseudo_references.filters import shared_filter

        of_filter = shared_filter(pseudo_filter, engine, target_lang).signature()
        self.settings = {**self.settings, "pseudo": len(self.pseudo), **of_filter}

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_selected": None}

    def _texts(self, corpus: Corpus) -> Texts:
        from ..pseudo_references.guard import near_equal

        if not self.pseudo:
            return Texts(corpus.hypotheses, corpus.references)
        selection = self._selection(corpus)
        counts, notices, taken = {}, list(selection.notices), []
        for number, name in enumerate(self.names):
            share = 0.0 if self.filter.guard is None else near_equal(corpus.hypotheses, self.pseudo[number])
            if self.filter.guard is not None and share > self.filter.guard:
                counts[f"left_out[{name}]"] = len(corpus)
                notices.append(
                    f"pseudo-references of {name} are left out: {share:.0%} of them are (nearly) the system's own lines; "
                    "a system with fewer references scores lower"
                )
                continue
            taken.append(number)
            counts[f"kept[{name}]"], counts[f"dropped[{name}]"] = selection.kept[number], selection.dropped[number]
        references = [*corpus.references, *(selection.streams[number] for number in taken)]
        return Texts(corpus.hypotheses, references, counts, notices, tuple(taken))

    def _selection(self, corpus: Corpus):
        """The pseudo-references that the filter keeps beside these gold ones; the same for every system."""
        from ..pseudo_references.selection import select

        for name, stream in zip(self.names, self.pseudo):
            if len(stream) != len(corpus):
                lines = counted(len(stream), "line", "lines")
                raise InputError(f"{name} has {lines}, but there are {counted(len(corpus), 'segment', 'segments')}")
        for name, stream in zip(self.names, self.pseudo):
            if any(list(gold) == stream for gold in corpus.references):
                notice(f"pseudo-references of {name} are the reference itself, and change nothing")
        if self._selected is None or self._selected[0] != corpus.references:
            found = select(corpus.references, self.pseudo, self.filter, **self._filter_arguments)
            self._selected = (corpus.references, found)
        return self._selected[1]
