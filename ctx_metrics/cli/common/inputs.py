"""The inputs of `ctx-metrics score`: files, columns of the standard input, sacrebleu's test sets."""

import os
import sys
from argparse import SUPPRESS, ArgumentTypeError
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from ...checks.texts import unescape, unescaped
from ...corpus import Segments, named
from ...engine_options import EngineOptions
from ...errors import InputError
from ...flag_types import File, Files
from ...notices import counted
from ...reading import read_lines, read_stream, without_mark
from ...run.references import REFERENCE_KIND, ReferenceKind
from ...run.run import Run, give_references
from ...run.streams import file_segments, test_set_lines
from ...run.texts import Texts
from ...run.wrappers import asked_by_line, reader_fix, reader_of, wrapped, wraps_of
from ...scoring.context import MetricSettings, check_references, with_lines
from ...scoring.inputs import FileInput, InputFiles, installed_inputs
from ...settings import CommandLine, setting
from ...system_names import names_fault, system_names
from . import flags

if TYPE_CHECKING:
    pass

STDIN = "the standard input"
ROLES = ("src", "mt", "ref", "doc")
Streams = dict[str, list[Segments]]  # by role


class Column(NamedTuple):
    """A column of the standard input: its role (src, mt, ref or doc), and for mt the system's name."""

    role: str
    system: str = ""


def column_names(text: str) -> list[Column]:
    """Return the columns that --columns names, for argparse.

    >>> column_names("src,mt:big,mt:small,ref")[1:3]
    [Column(role='mt', system='big'), Column(role='mt', system='small')]
    """
    columns = []
    for word in text.split(","):
        role, _, system = word.strip().partition(":")
        if role not in ROLES or (system and role != "mt"):
            raise ArgumentTypeError(f"{word!r} is not one of src, mt, mt:NAME, ref, doc")
        columns.append(Column(role, system or ("stdin" if role == "mt" else "")))
    if not any(column.role == "mt" for column in columns):
        raise ArgumentTypeError(f"{text!r} has no column mt")
    for column in columns:
        if column.role != "ref" and columns.count(column) > 1:
            fix = "; name the systems: mt:NAME" if column.role == "mt" else ""
            raise ArgumentTypeError(f"{text!r} has two columns {column.role}{fix}")
    return columns


def test_set(text: str) -> tuple[str, str]:
    name, _, pair = text.rpartition(":")
    if not name or not pair:
        raise ArgumentTypeError(f"{text!r} is not TESTSET:LANGPAIR, such as wmt20:de-en")
    return name, pair


@dataclass(frozen=True)
class TextFlags:
    """The flags of the texts to score, and of their languages."""

    source: File | None = setting("Source segments, one per line.", flag="-s --source", group="inputs")
    translations: Files | None = setting(
        "The systems' outputs, one file per system; also -i, --input. Without -t, or with -t -, tab-separated text "
        "is read from the standard input.",
        flag="-t --translations",
    )
    names: Sequence[str] | None = flags.names("their")
    references: Files | None = setting(
        "References; leave them out for models without references.", flag="-r --references"
    )
    kind_of_references: ReferenceKind | None = setting(REFERENCE_KIND)
    docids: File | None = setting("Document id of each line; consecutive equal ids form a document.")
    dataset: tuple[str, str] | None = setting(
        "One of sacrebleu's test sets, such as wmt20:de-en, in place of -s, -r and -l (and --docids, if it has them). "
        "sacrebleu downloads it once.",
        flag="-d --dataset",
        type=test_set,
        metavar="TESTSET:LANGPAIR",
    )
    language_pair: tuple[str, str] | None = flags.languages()
    columns: Sequence[str] | None = setting(
        "Columns of the standard input, from src, mt, mt:NAME (several systems), ref, doc. (Default: src,mt,ref for "
        "three; src,mt for two, or mt,ref with -s; mt for one)",
        action="store",
        metavar="NAMES",
    )
    encoding: str = flags.encoding()
    no_text_checks: bool = flags.text_checks()
    unescape: bool = flags.unescape()
    # spellings of sacrebleu and comet-score
    input: Files | None = setting(SUPPRESS, flag="-i --input", dest="translations")
    sources: File | None = setting(SUPPRESS, dest="source")
    sacrebleu_dataset: str | None = setting(SUPPRESS, flag="--sacrebleu_dataset", type=test_set, dest="dataset")

    @property
    def from_stdin(self) -> bool:
        return self.translations in (None, ["-"])

    @property
    def files(self) -> Sequence[str]:
        """The systems' files; none with texts from the standard input."""
        return () if self.from_stdin else self.translations or ()


def checked_texts(line: CommandLine) -> TextFlags:
    texts = line[TextFlags]
    if texts.dataset and (texts.source or texts.references):
        line.error("-d names a test set with its source and references; leave out -s and -r")
    if texts.dataset and not texts.language_pair:
        source, _, target = texts.dataset[1].partition("-")  # sacrebleu knows the pairs of its sets
        texts = replace(texts, language_pair=(source, target))
    for flag, paths in (("-s", [texts.source]), ("-r", texts.references), ("--docids", [texts.docids])):
        if "-" in (paths or ()):
            line.error(
                f"{flag} -: the standard input is for translations (-t -); name a file, or give columns of both (--columns)"
            )
    if not texts.from_stdin and "-" in texts.files:
        line.error("-t - reads the standard input, which cannot be combined with files; leave one out")
    if not texts.from_stdin and texts.columns:
        line.error("--columns describes the standard input; leave it out with -t FILE")
    if texts.translations is None and sys.stdin.isatty():
        line.error("no translations: name their files with -t, or pipe them in")
    if texts.columns:
        try:
            column_names(",".join(texts.columns))
        except ArgumentTypeError as fault:
            line.error(f"argument --columns: {fault}")
    return texts


def given_inputs(line: CommandLine) -> dict[FileInput, InputFiles]:
    return {each: each.read(line) for each in installed_inputs()}


def read_run(line: CommandLine, texts: TextFlags, metrics: Sequence[MetricSettings], *, explain: bool = False) -> Run:
    """Read all texts that a command line names.

    explain    whether metrics keep the matches of tokens
    """
    streams: Streams = {}
    given = given_inputs(line)
    if texts.dataset:
        _add_test_set(streams, *texts.dataset)
    wrappers = asked_by_line(line)
    reader, read = reader_of(wrappers), None
    one = {"src": texts.source, "doc": texts.docids}
    paths: dict[str, Sequence[str]] = {role: [path] for role, path in one.items() if path} | {
        "ref": texts.references or []
    }
    folders = {role: paths.pop(role) for role in ("src", "ref") if any(map(os.path.isdir, paths.get(role, ())))}
    if not reader:
        for path in (*texts.files, *(path for files in folders.values() for path in files)):
            if os.path.isdir(path):
                raise InputError(f"{path} is a folder", fix=reader_fix())
    read_files(streams, texts.encoding, paths, subtitles=reader is not None)
    read_files(streams, texts.encoding, {each.name: of_input.paths for each, of_input in given.items()})
    source_lang, target_lang = texts.language_pair or (None, None)
    engine = line[EngineOptions]
    if texts.from_stdin:
        if reader:
            line.error("texts whose lines do not match are read from files: name them with -t")
        of_files = _add_columns(streams, texts.columns, texts.encoding)
    elif reader:
        of_files = system_names(texts.files)
        if texts.names and (fault := names_fault(texts.names, len(of_files))):  # before the slow steps
            raise InputError(fault)
        there = streams.keys() | folders.keys()
        if "src" in there and "ref" not in there:  # else the reader may bring references
            check_references(wrapped(metrics, wraps_of(wrappers)), give_references())
        [sources], [doc_ids] = (streams.get(role, [None]) for role in ("src", "doc"))
        beside = Texts(
            references=streams.get("ref", ()),
            sources=sources,
            doc_ids=doc_ids,
            source_lang=source_lang,
            target_lang=target_lang,
        )
        read = reader(texts.files, texts.encoding, beside, folders, engine)
        streams |= {"mt": read.systems, **read.streams}
    else:
        of_files = system_names(texts.files)
        read_files(streams, texts.encoding, {"mt": texts.files})
    for each, of_input in given.items():
        each.check(of_input, len(streams["mt"]))
    if texts.unescape:
        roles = [role for role in streams if role != "doc"]
        texts_of = iter(unescape([stream for role in roles for stream in streams[role]]))
        streams |= {role: [next(texts_of) for _ in streams[role]] for role in roles}

    def lines(flag: str, path: str) -> Segments:
        stream = file_segments(path, texts.encoding)
        return named([unescaped(each) for each in stream], path) if texts.unescape else stream

    words = {"sources": "the source"} if "src" in streams and not texts.dataset else {}
    words |= {"doc_ids": "the document ids"} if texts.docids else {}
    words = {} if reader else words
    words |= {each.name: f"the {each.words}" for each in given if each.name in streams}
    [sources], [doc_ids] = (streams.get(role, [None]) for role in ("src", "doc"))
    return Run(
        Texts(
            [*(texts.names or of_files)],
            streams["mt"],
            streams.get("ref", []),
            sources,
            doc_ids,
            source_lang,
            target_lang,
            texts.files,
            {each.name: streams[each.name] for each in given if each.name in streams},
            words,
            read,
            reader_fix(),
        ),
        [with_lines(each, lines) for each in metrics],
        wrappers,
        engine,
        texts.kind_of_references,
        given,
        {"explain": True} if explain else {},
        text_checks=not texts.no_text_checks,
    )


def read_files(
    streams: Streams, encoding: str, paths: Mapping[str, Sequence[str] | None], subtitles: bool = False
) -> None:
    for role, files in paths.items():
        if files:
            streams[role] = [file_segments(path, encoding, subtitles) for path in files]


def _add_test_set(streams: Streams, names: str, pair: str) -> None:
    """Add the sources, references and document ids of sacrebleu's test sets, which sacrebleu may download."""
    from sacrebleu.dataset import DATASETS

    for name in names.split(","):
        if name not in DATASETS:
            raise InputError(f"-d: sacrebleu has no test set {name!r}", fix="`sacrebleu --list` shows those it has")
        if pair not in DATASETS[name].langpairs:
            pairs = ", ".join(sorted(DATASETS[name].langpairs))
            raise InputError(f"-d: test set {name} has no language pair {pair!r}; it has {pairs}")
    fetch = " && ".join(f"sacrebleu --download {name} -l {pair}" for name in names.split(","))
    try:
        of_sets = [DATASETS[name].get_reference_files(pair) for name in names.split(",")]
        others = {"src": test_set_lines(names, pair, "src"), "doc": test_set_lines(names, pair, "docid")}
    except OSError as error:
        raise InputError(
            f"-d: test set {names} is not on this machine and cannot be fetched ({type(error).__name__}: {error})",
            fix=f"fetch it once with a network connection: {fetch}",
        ) from error
    if len({len(paths) for paths in of_sets}) > 1:
        raise InputError(f"-d: the test sets {names} have different numbers of references")
    for k, paths in enumerate(zip(*of_sets, strict=True), 1):
        lines = [line for path in paths for line in read_lines(path)]
        streams.setdefault("ref", []).append(named(lines, f"reference {k} of {names}"))
    for role, found in others.items():
        if found is not None:
            streams[role] = [named(found, f"{role} of {names}")]


def _add_columns(streams: Streams, words: Sequence[str] | None, encoding: str) -> list[str]:
    """Add the columns of the standard input, as --columns (`words`) names them; returns the systems' names."""
    lines = without_mark(read_stream(sys.stdin.buffer, STDIN, encoding), STDIN).split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise InputError(f"{STDIN} is empty", fix="give the translations there, or name their files with -t")
    rows = [[cell.rstrip() for cell in line.split("\t")] for line in lines]
    columns = column_names(",".join(words)) if words else _default_columns(len(rows[0]), "src" in streams)
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            found = counted(len(row), "tab-separated column", "tab-separated columns")
            roles = ",".join(column.role for column in columns)
            raise InputError(f"{STDIN}, line {number}: {found}, but {len(columns)} are expected ({roles})")
    given = {role: of_role[0].name for role, of_role in streams.items()}
    for number, (column, cells) in enumerate(zip(columns, zip(*rows, strict=True), strict=True), 1):
        if column.role in given:
            raise InputError(
                f"{STDIN} has a column {column.role}, but {given[column.role]} is given too", fix="leave one out"
            )
        where = STDIN if len(columns) == 1 else f"column {number} of {STDIN}"
        streams.setdefault(column.role, []).append(named(cells, where))
    return [column.system for column in columns if column.role == "mt"]


def _default_columns(number: int, with_source: bool) -> list[Column]:
    """Return mt for one column, src and mt (or mt and ref if the source is given) for two, src, mt and ref for three."""
    words = {1: "mt", 2: "mt,ref" if with_source else "src,mt", 3: "src,mt,ref"}
    if number not in words:
        raise InputError(
            f"{STDIN} has {number} tab-separated columns", fix="name them, such as --columns src,mt,ref,doc"
        )
    return column_names(words[number])
