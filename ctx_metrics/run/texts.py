"""The texts of a run, as a front end has read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..checks.plain_text import check_plain_text
from ..checks.texts import check_byte_order_marks, check_faults, check_texts
from ..corpus import Segments, document_ranges
from ..errors import InputError
from .streams import check_lengths
from .wrappers import ReadTexts


@dataclass(frozen=True)
class Texts:
    """The texts of a run as a front end has read them. A stream has one text for each segment.

    names      of the systems
    files      of the systems, if their texts come from files
    inputs     the streams of further inputs of metrics, by the input's name
    given      the user's other inputs, in words, by the keyword of the metrics that read them
    read       the systems' texts as a reader of files gave them, or None
    fix        what to do where streams differ in length
    stock      sacrebleu's own metrics, if a byte-order mark of a text is a part of its first word for them
    rows       whether they are some rows of a table, a part of all that is scored; there is one system then
    """

    names: Sequence[str] = ()
    systems: Sequence[Segments] = ()
    references: Sequence[Segments] = ()
    sources: Segments | None = None
    doc_ids: Segments | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    files: Sequence[str] = ()
    inputs: Mapping[str, Sequence[Segments]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    read: ReadTexts | None = None
    fix: str = ""
    stock: Sequence[str] = ()
    rows: bool = False

    def check(self, contents: bool = True) -> None:
        """Raise InputError unless all streams have the same length and the ids of documents are usable; give notice of odd
        texts.

        contents    whether to look at the texts themselves
        """
        beside = [each for each in (self.sources, self.doc_ids) if each is not None]
        try:
            further = [each for streams in self.inputs.values() for each in streams]
            check_lengths([*self.systems, *self.references, *beside, *further])
        except InputError as error:
            if contents:
                self.say_kinds()
            others = self.references or ([] if self.sources is None else [self.sources])
            if self.read is None and len({*map(len, [*self.systems, *others])} - {0}) > 1:
                error.fix = self.fix
            raise
        if self.doc_ids is not None and not self.rows:
            document_ranges(self.doc_ids, self.doc_ids.name)
        if contents:
            check_byte_order_marks([*self.systems, *self.references], self.stock)
            check_texts(self.systems, self.references, self.sources, self._languages)

    def say_kinds(self) -> None:
        """Give notice of texts that are not plain text, which often says why streams differ in length."""
        check_plain_text(self.systems, self.references, self.sources)

    def say_faults(self) -> None:
        """Give notice of the faults of each stream by itself, for systems whose lines match no reference's."""
        check_faults(self.systems, self.references, self.sources, self._languages)

    @property
    def _languages(self) -> tuple[str | None, str | None]:
        return self.source_lang, self.target_lang
