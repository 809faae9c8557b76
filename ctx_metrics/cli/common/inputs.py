"""What `ctx-metrics score` reads: files, columns of the standard input, sacrebleu's test sets."""

import argparse
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ...corpus import document_ranges
from ...errors import InputError
from ...notices import counted
from ...reading import decode, read_lines, without_mark
from ...run.context import Context
from ...run.flags import engine_options
from ...run.inputs import installed_inputs
from ...run.streams import Segments, check_lengths, file_segments, named, names_fault, system_names, test_set_lines
from ...run.text_checks import check_texts, unescape

STDIN = "the standard input"
ROLES = ("src", "mt", "ref", "doc")
Streams = dict[str, list[Segments]]  # by role


class Column(NamedTuple):
    """A column of the standard input: its role (src, mt, ref or doc), and for mt the system's name."""

    role: str
    system: str = ""


class Inputs(NamedTuple):
    """The inputs of one run: the systems' names in the output, and the context with the systems' texts.

    All streams of the context have the same length.
    """

    names: list[str]
    context: Context


def read_inputs(args: Namespace) -> Inputs:
    """Read all inputs of `ctx-metrics score`; raises InputError, naming the file and line, if one cannot be used."""
    streams: Streams = {}
    if args.dataset:
        _add_test_set(streams, *args.dataset)
    read_files(streams, args)
    read_files(streams, args, **{each.name: each.paths(args) for each in installed_inputs()})
    if args.translations in (None, ["-"]):
        names = _add_columns(streams, args.columns, args.encoding)
    else:
        names = system_names(args.translations)
        read_files(streams, args, mt=args.translations)
    for each in installed_inputs():
        each.check(each.paths(args), each.settings(args), len(streams["mt"]))
    if "doc" not in streams and "document" in args.levels:
        raise InputError("--level document needs the documents: give --docids FILE, or a column doc")
    roles = ("mt", "ref", "src", "doc", *(each.name for each in installed_inputs()))
    check_lengths([stream for role in roles for stream in streams.get(role, ())])
    read = inputs_of(args, streams, args.names or names)
    inputs = {
        name: value
        for each in installed_inputs()
        for name, value in each.values(streams.get(each.name), each.settings(args), None).items()
    }
    return read._replace(context=replace(read.context, inputs=inputs))


def read_files(streams: Streams, args: Namespace, **paths: Sequence[str] | None) -> None:
    """Add the lines of files to the streams.

    paths    files by role; by default those of -s, -r and --docids
    """
    texts = {"src": args.source and [args.source], "ref": args.references, "doc": args.docids and [args.docids]}
    for role, files in (paths or texts).items():
        if files:
            streams[role] = [file_segments(path, args.encoding) for path in files]


def inputs_of(args: Namespace, streams: Streams, names: list[str]) -> Inputs:
    """Return the inputs for streams (by role: mt, ref, src, doc and others) and flags; gives notice of odd texts.

    Raises InputError if a document id returns after its document has ended, or if the names do not fit the systems.
    """
    if getattr(args, "unescape", False):
        roles = [role for role in streams if role != "doc"]
        texts = iter(unescape([stream for role in roles for stream in streams[role]]))
        streams |= {role: [next(texts) for _ in streams[role]] for role in roles}
    if fault := names_fault(names, len(streams["mt"])):
        raise InputError(fault)
    [sources], [doc_ids] = (streams.get(role, [None]) for role in ("src", "doc"))
    if doc_ids is not None:
        document_ranges(doc_ids, doc_ids.name)
    source_lang, target_lang = args.language_pair or (None, None)
    references, systems = streams.get("ref", []), streams["mt"]
    if not args.no_text_checks:
        check_texts(systems, references, sources, (source_lang, target_lang))
    context = Context(references, systems, sources, doc_ids, source_lang, target_lang, engine_options(args))
    return Inputs(names, context)


def column_names(text: str) -> list[Column]:
    """Return the columns that --columns names, for argparse.

    >>> column_names("src,mt:big,mt:small,ref")[1:3]
    [Column(role='mt', system='big'), Column(role='mt', system='small')]
    """
    columns = []
    for word in text.split(","):
        role, _, system = word.strip().partition(":")
        if role not in ROLES or (system and role != "mt"):
            raise argparse.ArgumentTypeError(f"{word!r} is not one of src, mt, mt:NAME, ref, doc")
        columns.append(Column(role, system or ("stdin" if role == "mt" else "")))
    if not any(column.role == "mt" for column in columns):
        raise argparse.ArgumentTypeError(f"{text!r} has no column mt")
    for column in columns:
        if column.role != "ref" and columns.count(column) > 1:
            hint = "; name the systems: mt:NAME" if column.role == "mt" else ""
            raise argparse.ArgumentTypeError(f"{text!r} has two columns {column.role}{hint}")
    return columns


def test_set(text: str) -> tuple[str, str]:
    """Return the test set and language pair of TESTSET:LANGPAIR, for argparse."""
    name, _, pair = text.rpartition(":")
    if not name or not pair:
        raise argparse.ArgumentTypeError(f"{text!r} is not TESTSET:LANGPAIR, such as wmt20:de-en")
    return name, pair


def _add_test_set(streams: Streams, names: str, pair: str) -> None:
    """Add the sources, references and document ids of sacrebleu's test sets, which sacrebleu may download.

    names    test sets, separated by commas

    Raises InputError if a test set or pair is unknown or cannot be downloaded, or if the sets differ in their number of
    references.
    """
    from sacrebleu.dataset import DATASETS

    for name in names.split(","):
        if name not in DATASETS:
            raise InputError(f"-d: sacrebleu has no test set {name!r}; `sacrebleu --list` shows those it has")
        if pair not in DATASETS[name].langpairs:
            pairs = ", ".join(sorted(DATASETS[name].langpairs))
            raise InputError(f"-d: test set {name} has no language pair {pair!r}; it has {pairs}")
    fetch = " && ".join(f"sacrebleu --download {name} -l {pair}" for name in names.split(","))
    try:
        of_sets = [DATASETS[name].get_reference_files(pair) for name in names.split(",")]
        others = {"src": test_set_lines(names, pair, "src"), "doc": test_set_lines(names, pair, "docid")}
    except OSError as error:
        raise InputError(
            f"-d: test set {names} is not on this machine and cannot be fetched ({type(error).__name__}: {error}); "
            f"fetch it once where there is a network: {fetch}"
        ) from error
    if len({len(paths) for paths in of_sets}) > 1:
        raise InputError(f"-d: the test sets {names} have different numbers of references")
    for k, paths in enumerate(zip(*of_sets, strict=True), 1):
        lines = [line for path in paths for line in read_lines(path)]
        streams.setdefault("ref", []).append(named(lines, f"reference {k} of {names}"))
    for role, found in others.items():
        if found is not None:
            streams[role] = [named(found, f"{role} of {names}")]


def _add_columns(streams: Streams, columns: list[Column] | None, encoding: str) -> list[str]:
    """Add the columns of the standard input to the streams; returns the systems' names.

    Raises InputError, naming the line, if a line has the wrong number of columns.
    """
    lines = without_mark(decode(sys.stdin.buffer.read(), STDIN, encoding), STDIN).split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise InputError(f"{STDIN} is empty; give the translations there, or name their files with -t")
    rows = [[cell.rstrip() for cell in line.split("\t")] for line in lines]
    if columns is None:
        columns = _default_columns(len(rows[0]), "src" in streams)
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            found = counted(len(row), "tab-separated column", "tab-separated columns")
            roles = ",".join(column.role for column in columns)
            raise InputError(f"{STDIN}, line {number}: {found}, but {len(columns)} are expected ({roles})")
    given = {role: of_role[0].name for role, of_role in streams.items()}
    for number, (column, cells) in enumerate(zip(columns, zip(*rows, strict=True), strict=True), 1):
        if column.role in given:
            raise InputError(
                f"{STDIN} has a column {column.role}, but {given[column.role]} is given too; leave one out"
            )
        where = STDIN if len(columns) == 1 else f"column {number} of {STDIN}"
        streams.setdefault(column.role, []).append(named(cells, where))
    return [column.system for column in columns if column.role == "mt"]


def _default_columns(number: int, with_source: bool) -> list[Column]:
    """Return the default for one column (mt), two (src and mt, or mt and ref if the source is given), or three (src, mt and
    ref); raises InputError for any other number."""
    words = {1: "mt", 2: "mt,ref" if with_source else "src,mt", 3: "src,mt,ref"}
    if number not in words:
        raise InputError(f"{STDIN} has {number} tab-separated columns; name them, such as --columns src,mt,ref,doc")
    return column_names(words[number])
