"""The pseudo-reference metrics (Yoshimura et al. 2019): outputs that a filter accepts are additional references."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric

from ..corpus import Corpus, list_of_strings
from ..engine_options import EngineOptions
from ..errors import InputError
from ..metrics.keywords import CharacterNgrams, Lowercasing, References, Systems
from ..notices import Notice, notice
from ..scoring.context import Capabilities, Stream
from ..scoring.derived import DerivedMetric, Texts
from ..scoring.sentence_bleu import SentenceBLEU
from ..scoring.tokenization import ChrFSettings, WordSettings, tokenizer_for
from ..wording import worded
from .filter import Selection, names_of, select, shared_filter
from .guard import near_equal
from .inputs import PSEUDO_REFERENCES, PseudoFilter

if TYPE_CHECKING:
    from typing_extensions import Unpack


class PseudoReferenceKeywords(Lowercasing, CharacterNgrams, total=False):
    """All keywords of the pseudo-reference metrics, for type checkers; each metric has some of them."""

    target_lang: str | None
    pseudo_references: References
    pseudo_filter: PseudoFilter | str
    engine: EngineOptions


class PseudoReferenceMetric(DerivedMetric):
    """An inner metric that pools references, with the gold ones and the pseudo-references that the filter keeps.

    A rejected pseudo-reference is None, never an empty string, which metrics would take for a reference of length 0.
    """

    capabilities = Capabilities(reads=frozenset({"target_lang", "engine"}), inputs=(PSEUDO_REFERENCES,))

    if TYPE_CHECKING:

        def __init__(
            self, references: References = None, systems: Systems = (), **given: Unpack[PseudoReferenceKeywords]
        ): ...

    def _prepare(self) -> None:
        super()._prepare()
        inputs = self._context.inputs
        pseudo_references, pseudo_filter = inputs["pseudo_references"], inputs["pseudo_filter"]
        target_lang, engine = self._context.target_lang, self._context.engine
        if isinstance(pseudo_filter, str):
            pseudo_filter = PseudoFilter(pseudo_filter)
        self.pseudo = [
            list_of_strings(f"{self.NAME.lower()}: pseudo_references", stream) for stream in pseudo_references or []
        ]
        self.filter = pseudo_filter
        self._selected: tuple[Sequence[Stream], Selection] | None = None
        self.names = names_of(pseudo_references or [])
        if twice := [name for name in self.names if self.names.count(name) > 1]:
            name = self.NAME.lower()
            raise InputError(f"{name}: pseudo-references of {twice[0]} are given twice", fix="name each system once")
        if not self.pseudo:
            self._say(
                "no pseudo-references are given "
                f"({worded('--pseudo-refs FILE ...', 'pseudo_references')}), so only the gold references are used"
            )
            self.signature["pseudo"] = 0
            return
        if pseudo_filter.guard is not None:
            guard = pseudo_filter.named("guard")
            why = f"its guard leaves a pseudo-reference system out by the share of all lines ({guard})"
            self.can = replace(self.can, whole_corpus=why)
        of_filter = shared_filter(pseudo_filter, engine, target_lang).signature()
        self.signature = {**self.signature, "pseudo": len(self.pseudo), **of_filter}

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_selected": None}

    def _texts(self, corpus: Corpus) -> Texts:
        if not self.pseudo:
            return Texts(corpus.hypotheses, corpus.references)
        selection = self._selection(corpus)
        counts, notices, taken = {}, list(selection.notices), []
        for number, name in enumerate(self.names):
            share = 0.0 if self.filter.guard is None else near_equal(corpus.hypotheses, self.pseudo[number])
            if self.filter.guard is not None and share > self.filter.guard:
                counts[f"left_out[{name}]"] = len(corpus)
                notices.append(
                    Notice(
                        f"pseudo-references of {name} are left out: {share:.0%} of them are (nearly) the system's own "
                        "lines; a system with fewer references scores lower"
                    )
                )
                continue
            taken.append(number)
            counts[f"kept[{name}]"], counts[f"dropped[{name}]"] = selection.kept[number], selection.dropped[number]
        references = [*corpus.references, *(selection.streams[number] for number in taken)]
        return Texts(corpus.hypotheses, references, counts, notices, tuple(taken))

    def _selection(self, corpus: Corpus) -> Selection:
        """Return the pseudo-references that the filter keeps for these gold references; the same for every system."""
        for name, stream in zip(self.names, self.pseudo, strict=True):
            if any(list(gold) == stream for gold in corpus.references):
                notice(f"pseudo-references of {name} are equal to the reference and have no effect")
        if self._selected is None or self._selected[0] != corpus.references:
            of_run = self._context
            selection = select(corpus.references, self.pseudo, self.filter, of_run.engine, of_run.target_lang)
            self._selected = (corpus.references, selection)
        return self._selected[1]


class PRBLEU(PseudoReferenceMetric):
    """sacrebleu's corpus BLEU against the gold references and the kept pseudo-references together, in [0, 100]."""

    NAME = "PRBLEU"
    Settings = WordSettings
    _INNER: type[BLEU | SentenceBLEU] = BLEU

    def _make_inner(self) -> Metric:
        tokenize = tokenizer_for(self.settings.tokenize, self._context.target_lang)
        return self._INNER(lowercase=self.settings.lowercase, tokenize=tokenize)


class PRSentBLEU(PRBLEU):
    """100 times the mean of Moses' sentence BLEU against the gold references and the kept pseudo-references together."""

    NAME = "PRSentBLEU"
    _INNER = SentenceBLEU


class PRChrF(PseudoReferenceMetric):
    """sacrebleu's corpus chrF of each segment against the best of its gold and its kept pseudo-references, in [0, 100]."""

    NAME = "PRChrF"
    Settings = ChrFSettings

    def _make_inner(self) -> Metric:
        return CHRF(**vars(self.settings))

    def _prepare(self) -> None:
        super()._prepare()
        self.signature["beta"] = self.settings.beta
