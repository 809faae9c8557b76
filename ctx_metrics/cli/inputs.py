"""What `ctx-metrics score` reads: files, columns of the standard input, sacrebleu's test sets."""

import argparse
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Optional

from ..corpus import BOM, decode, document_ranges, read_lines
from ..errors import InputError
from ..notices import counted, notice
from ..metrics.construct import Segments
from ..plugin.capture import check_roundtrips, test_set_lines
from .. import text_checks
from ..text_checks import check_texts, unescape, unescaped

STDIN = "the standard input"
ROLES = ("src", "mt", "ref", "doc")
FILES = ("rtt", "pseudo")


class Column(NamedTuple):
    """A column of the standard input: what it holds (src, mt, ref or doc), and the system's name for mt."""

    role: str
    system: str = ""


class Stream(NamedTuple):
    """The lines of one file or column; `where` names it in messages, `system` in the output."""

    where: str
    lines: list[str]
    system: str = ""


@dataclass
class Inputs:
    """What one run scores; all streams have the same length.

    names          each system's name in the output
    systems        each system's segments, which know their file's name
    references     reference streams, none for reference-free scoring
    sources, doc_ids           None where not given
    source_lang, target_lang   None where unknown
    roundtrips     each system's round trip, in their order
    pseudo_references          streams of other systems' outputs
    """

    names: list[str]
    systems: list[Segments]
    references: list[list[str]]
    sources: Optional[list[str]]
    doc_ids: Optional[list[str]]
    source_lang: Optional[str]
    target_lang: Optional[str]
    roundtrips: Optional[list[Segments]] = None
    pseudo_references: Optional[list[Segments]] = None

    def documents(self) -> list[tuple[str, int, int]]:
        """Each document's id and half-open range of segments."""
        return [(self.doc_ids[start], start, end) for start, end in document_ranges(self.doc_ids or [])]


def read_inputs(args: Namespace) -> Inputs:
    """Read all that the command line names; raises InputError naming the file and line that cannot be used."""
    streams: dict[str, list[Stream]] = {role: [] for role in (*ROLES, *FILES)}
    if args.dataset:
        _add_test_set(streams, *args.dataset)
    for role, paths in (
        ("src", args.source),
        ("ref", args.references),
        ("doc", args.docids),
        ("rtt", args.roundtrip),
        ("pseudo", args.pseudo_refs),
    ):
        if paths:
            streams[role] = [Stream(path, read_lines(path, args.encoding)) for path in paths]
    if args.translations in (None, ["-"]):
        _add_columns(streams, args.columns, args.encoding)
    else:
        for path, name in zip(args.translations, system_names(args.translations)):
            streams["mt"].append(Stream(path, read_lines(path, args.encoding), name))
    _check(streams)
    if args.unescape:
        _unescape(streams)
    if not args.no_text_checks:
        check_texts(*(_texts(streams[role]) for role in ("mt", "ref")), *_texts(streams["src"]))
    check_roundtrips(args, len(streams["mt"]))
    if streams["doc"]:
        document_ranges(streams["doc"][0].lines, streams["doc"][0].where)
    elif "document" in args.levels:
        raise InputError("--level document needs the documents: give --docids FILE, or a column doc")
    source_lang, target_lang = args.language_pair or (None, None)
    return Inputs(
        [stream.system for stream in streams["mt"]],
        _named(streams["mt"]),
        [stream.lines for stream in streams["ref"]],
        streams["src"][0].lines if streams["src"] else None,
        streams["doc"][0].lines if streams["doc"] else None,
        source_lang,
        target_lang,
        _named(streams["rtt"]) or None,
        _named(streams["pseudo"]) or None,
    )


def _texts(streams: Sequence[Stream]) -> list[text_checks.Stream]:
    return [text_checks.Stream(stream.where, stream.lines) for stream in streams]


def _unescape(streams: dict[str, list[Stream]]) -> None:
    """Replace HTML entities in all streams but document ids."""
    roles = [role for role in streams if role != "doc"]
    lines = iter(unescape([text for role in roles for text in _texts(streams[role])]))
    for role in roles:
        streams[role] = [stream._replace(lines=next(lines)) for stream in streams[role]]


def named_lines(paths: Sequence[str], args: Namespace) -> list[Segments]:
    """The lines of each file, in the encoding of -e and with --unescape; they know its name."""
    streams = [Stream(path, read_lines(path, args.encoding)) for path in paths]
    if args.unescape:
        streams = [each._replace(lines=[unescaped(line) for line in each.lines]) for each in streams]
    return _named(streams)


def _named(streams: Sequence[Stream]) -> list[Segments]:
    """The streams' lines, which know their file's name."""
    named = []
    for stream in streams:
        segments = Segments(stream.lines)
        segments.name = stream.where
        named.append(segments)
    return named


def system_names(paths: Sequence[str]) -> list[str]:
    """A short distinct name for each system's file: its last part, or as many parts as tell it from the others.
    /dev/fd/63, which a shell makes of <(command), is kept as it is.

    >>> system_names(["out/a.txt", "out/b.txt"]), system_names(["de/big/a.txt", "de/small/a.txt", "b.txt"])
    (['a.txt', 'b.txt'], ['big/a.txt', 'small/a.txt', 'b.txt'])
    """
    whole = [Path(path).absolute() for path in paths]
    for k, path in enumerate(whole):
        if path in whole[:k]:
            raise InputError(f"{paths[k]} is given twice; name each system once")
    names = []
    for path in whole:
        for parts in range(len(path.parts) if path.is_relative_to("/dev") else 1, len(path.parts) + 1):
            name = path.parts[-parts:]
            if sum(other.parts[-parts:] == name for other in whole) == 1:
                break
        names.append(str(Path(*name)))
    return names


def column_names(text: str) -> list[Column]:
    """The columns that --columns names, for argparse.

    >>> column_names("src,mt:big,mt:small,ref")[1:3]
    [Column(role='mt', system='big'), Column(role='mt', system='small')]
    """
    columns = []
    for word in text.split(","):
        role, _, system = word.strip().partition(":")
        if role not in ROLES or (system and role != "mt"):
            raise argparse.ArgumentTypeError(f"{word!r} is none of src, mt, mt:NAME, ref, doc")
        columns.append(Column(role, system or ("stdin" if role == "mt" else "")))
    if not any(column.role == "mt" for column in columns):
        raise argparse.ArgumentTypeError(f"{text!r} has no column mt")
    for column in columns:
        if column.role != "ref" and columns.count(column) > 1:
            hint = "; name the systems: mt:NAME" if column.role == "mt" else ""
            raise argparse.ArgumentTypeError(f"{text!r} has two columns {column.role}{hint}")
    return columns


def dataset(text: str) -> tuple[str, str]:
    """A test set and its language pair from TESTSET:LANGPAIR, for argparse."""
    name, _, pair = text.rpartition(":")
    if not name or not pair:
        raise argparse.ArgumentTypeError(f"{text!r} is not TESTSET:LANGPAIR, such as wmt20:de-en")
    return name, pair


def language_pair(text: str) -> tuple[str, str]:
    """Source and target language from a pair such as de-en, for argparse."""
    source, _, target = text.partition("-")
    if not source or not target:
        raise argparse.ArgumentTypeError(f"{text!r} is no language pair such as de-en")
    return source, target


def _add_test_set(streams: dict[str, list[Stream]], names: str, pair: str) -> None:
    """Sources, references and document ids of sacrebleu's test sets (several with commas), which it may download."""
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
            f"-d: test set {names} is not there, and cannot be fetched ({type(error).__name__}: {error}); "
            f"fetch it once where there is a network: {fetch}"
        ) from error
    if len({len(paths) for paths in of_sets}) > 1:
        raise InputError(f"-d: the test sets {names} have different numbers of references")
    for k, paths in enumerate(zip(*of_sets), 1):
        lines = [line for path in paths for line in read_lines(path)]
        streams["ref"].append(Stream(f"reference {k} of {names}", lines))
    for role, lines in others.items():
        if lines is not None:
            streams[role] = [Stream(f"{role} of {names}", lines)]


def _add_columns(streams: dict[str, list[Stream]], columns: Optional[list[Column]], encoding: str) -> None:
    """The columns of the standard input; raises InputError naming the line that has another number of them."""
    text = decode(sys.stdin.buffer.read(), STDIN, encoding)
    if text.startswith(BOM):
        text = text[1:]
        notice(f"{STDIN}: dropped the byte-order mark at its start")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise InputError(f"{STDIN} is empty; give the translations there, or name their files with -t")
    rows = [[cell.rstrip() for cell in line.split("\t")] for line in lines]
    if columns is None:
        columns = _default_columns(len(rows[0]), bool(streams["src"]))
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            found = counted(len(row), "tab-separated column", "tab-separated columns")
            named = ",".join(column.role for column in columns)
            raise InputError(f"{STDIN}, line {number}: {found}, but {len(columns)} are expected ({named})")
    given = {role: of_role[0].where for role, of_role in streams.items() if of_role}
    for number, (column, cells) in enumerate(zip(columns, zip(*rows)), 1):
        if column.role in given:
            raise InputError(
                f"{STDIN} has a column {column.role}, but {given[column.role]} is given too; leave one out"
            )
        where = STDIN if len(columns) == 1 else f"column {number} of {STDIN}"
        streams[column.role].append(Stream(where, list(cells), column.system))


def _default_columns(number: int, with_source: bool) -> list[Column]:
    """mt; src and mt (mt and ref where the source is given otherwise); src, mt and ref."""
    words = {1: "mt", 2: "mt,ref" if with_source else "src,mt", 3: "src,mt,ref"}
    if number not in words:
        raise InputError(
            f"{STDIN} has {number} tab-separated columns; say what they are, such as --columns src,mt,ref,doc"
        )
    return column_names(words[number])


def _check(streams: dict[str, list[Stream]]) -> None:
    """Raise InputError for an empty stream or streams of different lengths, naming them."""
    first, *others = [stream for role in ("mt", "ref", "src", "doc", *FILES) for stream in streams[role]]
    for stream in (first, *others):
        if not stream.lines:
            raise InputError(f"{stream.where} is empty; it must hold one segment a line")
    for stream in others:
        if len(stream.lines) != len(first.lines):
            lines = counted(len(stream.lines), "line", "lines")
            raise InputError(f"{stream.where} has {lines}, but {first.where} has {len(first.lines)}")
