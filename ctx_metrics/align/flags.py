"""The flags by which a run aligns hypotheses before it scores them: --align, and in sacrebleu's command --ctx-align."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from ..corpus import Segments
from ..engine_options import EngineOptions
from ..errors import InputError
from ..flag_types import File
from ..notices import Notice
from ..paths import Target, Writes, file_target
from ..run.references import reference_entry
from ..run.texts import Texts
from ..run.wrappers import Reader, ReadTexts, TextReader, Wrapper
from ..settings import CommandLine, setting
from ..system_names import system_names
from ..wording import worded
from ..writing import check_writable

if TYPE_CHECKING:
    from .systems import AlignedSystem


def _targets(line: CommandLine, folder: str) -> list[Target]:
    from .output import both, files

    paths = getattr(line, "translations", None) or getattr(line, "input", None) or ()
    return [file_target(each) for each in both(files(folder, system_names([*dict.fromkeys(paths)])))]


@dataclass(frozen=True)
class AlignSettings:
    align: bool = setting(
        "Read hypotheses whose lines do not match, and align them with the reference, the source, or both: a folder with "
        "one file per document, JSON lines with doc_id and hypothesis, or a text file with blank lines between documents. "
        "In ctx-metrics, source and references may be such folders too, with one segment per line. In a table, it aligns "
        "outputs in the wrong rows of their document.",
        False,
    )
    align_output: Annotated[str, Writes(targets=_targets), "DIR"] | None = setting(
        "Also write each system's aligned lines to DIR/NAME.txt, and the links, omissions and additions to DIR/NAME.jsonl."
    )
    align_set: File | None = setting(
        'The test set as JSON lines of WMT25 or later, with doc_id, src_text and refs ({"refA": {"ref": "..."}}), in place '
        "of -s, -r and --docids; lines whose src_lang or tgt_lang differs from -l are left out. Each paragraph is a "
        "segment."
    )

    def __post_init__(self):
        if self.align_output is not None and not self.align:
            both = worded("--align-output works only with --align", "align_output works only with align=True")
            raise InputError(f"{both}", fix="give both, or leave it out")
        if self.align_set is not None and not self.align:
            raise InputError("--align-set works only with --align", fix="give both, or leave it out")


class AlignedTexts(Wrapper):
    title = "hypotheses whose lines do not match"
    settings = AlignSettings
    of_tables = ("align",)
    reads = True
    elsewhere = ("align_set",)  # sacrebleu has read its references before, and Python has lists of them

    def reader(self, settings: AlignSettings) -> Reader | None:
        return partial(_read, settings.align_output, settings.align_set) if settings.align else None

    def text_reader(self, settings: AlignSettings) -> TextReader | None:
        return partial(_read_texts, settings.align_output) if settings.align else None

    def row_reader(self, settings: AlignSettings) -> TextReader | None:
        return _read_rows if settings.align else None

    def column_error(self, settings: AlignSettings, roles: Collection[str]) -> str:
        needed = "outputs are aligned within documents: name the column of their ids (--columns doc=NAME)"
        return needed if settings.align and "doc" not in roles else ""

    def fix(self, prefix: str) -> str:
        fits = "aligns documents whose lines do not match"
        return worded(f"{prefix}align {fits}, and reads folders of them", f"align=True {fits}")


def _read(
    output: str | None,
    test_set: str | None,
    paths: Sequence[str],
    encoding: str,
    beside: Texts,
    folders: Mapping[str, Sequence[str]],
    engine: EngineOptions,
) -> ReadTexts:
    from .folders import read_streams, with_streams
    from .systems import align_systems
    from .testset import read_test_set

    targets = _files(output, system_names(paths))
    streams: dict[str, list[Segments]] = {}
    signature: dict[str, str] = {}
    if test_set is not None:
        if folders or beside.references or beside.sources is not None or beside.doc_ids is not None:
            raise InputError("--align-set has source, references and document ids", fix="leave out -s, -r and --docids")
        found = read_test_set(test_set, encoding, (beside.source_lang, beside.target_lang))
        streams, signature = found.streams, reference_entry(*found.kinds)
    elif folders:
        streams = read_streams(folders, encoding, beside)
    beside = with_streams(beside, streams)
    systems = align_systems(paths, encoding, beside, engine)
    _write(targets, systems, beside, encoding)
    return _as_read(systems, system_names(paths), signature, streams)


def _read_texts(output: str | None, beside: Texts, engine: EngineOptions) -> ReadTexts:
    from .systems import align_texts

    names = [str(getattr(system, "name", "")) for system in beside.systems]
    targets = _files(output, names)
    systems = align_texts(names, beside.systems, beside, engine)
    _write(targets, systems, beside, "utf-8")
    return _as_read(systems, names, {}, {})


def _files(folder: str | None, names: Sequence[str]) -> list[str]:
    """The file of each system's lines; raises InputError unless all can be written."""
    from .output import both, files

    found = [] if folder is None else files(folder, names)
    if twice := next((path for path in found if found.count(path) > 1), ""):
        raise InputError(
            f"the aligned lines of two systems would be written to {twice}", fix="give the systems other names"
        )
    for path in both(found):
        check_writable(path)
    return found


def _write(targets: Sequence[str], systems: "Sequence[AlignedSystem]", beside: Texts, encoding: str) -> None:
    from .output import write

    for target, system in zip(targets, systems, strict=False):
        write(target, system, beside.doc_ids, encoding)


def _as_read(
    systems: "Sequence[AlignedSystem]",
    names: Sequence[str],
    signature: Mapping[str, str],
    streams: Mapping[str, list[Segments]],
) -> ReadTexts:
    from .output import counts_table, gaps

    lines, entries = [system.lines for system in systems], {**signature, "align": systems[0].signature}
    return ReadTexts(lines, entries, [counts_table(systems, names)], gaps(systems), streams)


def _read_rows(beside: Texts, engine: EngineOptions) -> ReadTexts:
    from .systems import align_rows, is_unfit

    system = align_rows(beside, engine)
    pairs = list(zip(system.parts, system.alignments, strict=True))
    added = [part.start + max(each.after, 0) for part, alignment in pairs for each in alignment.additions]
    unfit = [part.start for part, alignment in pairs if is_unfit(alignment)]
    unit = "from segment"
    notices = [
        Notice.at(
            system.omissions, "output is left out and counts as empty", "outputs are left out and count as empty"
        ),
        Notice.at(added, "part of a document belongs to no row", "parts of documents belong to no row", unit),
        Notice.at(unfit, "document barely fits its rows", "documents barely fit their rows", unit),
    ]
    return ReadTexts([system.lines], {"align": system.signature}, notices=[each for each in notices if each.number])


ALIGN = AlignedTexts()
