"""Filter pseudo-references: keep those outputs of other systems that paraphrase the references.

Writes one file of accepted lines for each pseudo-reference system, for use in other tools. The metrics prsentbleu,
prbleu and prchrf filter pseudo-references themselves and do not need these files.

In a text file a rejected line is EMPTY. sacrebleu treats an empty line as a real reference without words, which it can
prefer for short hypotheses. --format jsonl writes null for a rejected line.
"""

from argparse import _ArgumentGroup
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...cli.common import flags
from ...engine.options import EngineOptions
from ...errors import InputError
from ...flag_types import Files, Folder
from ...notices import notice
from ...settings import CommandLine, from_flags, setting
from ...writing import check_writable, write_whole
from ..inputs import PSEUDO_REFERENCES, PseudoFilter

if TYPE_CHECKING:
    from ...run.streams import Segments
    from ..filter import Selection

SUMMARY = "keep the pseudo-references that paraphrase the references"

SCORES = "scores.tsv"
COLUMNS = ("segment", "pseudo-system", "score", "kept")
DECIMALS = 6
USAGE = "%(prog)s -r FILE [FILE ...] --pseudo-refs FILE [FILE ...] -o FOLDER [-t FILE ...] [flags]"
EPILOG = """\
examples:
  # keep the lines of two online systems that paraphrase the reference
  ctx-metrics filter-refs -r ref.txt --pseudo-refs online-a.txt online-b.txt -o filtered

  # by word alignment over GloVe, with the guard's report for three systems under test
  ctx-metrics filter-refs -r ref.txt --pseudo-refs online-a.txt --pseudo-filter mas \\
      --pseudo-vectors glove.840B.300d.txt.gz -t a.txt b.txt c.txt -o filtered --format jsonl
"""


@dataclass(frozen=True)
class Inputs:
    """Flags for the texts to filter, the references, and the systems under test."""

    references: Files = setting(
        "Gold references; with several, a pseudo-reference must paraphrase at least one.",
        flag="-r --references",
        group="inputs",
        action="store",
        required=True,
    )
    translations: Files = setting(
        "Systems under test: report which pseudo-reference systems are (nearly) equal to one of them. This does not "
        "change the files.",
        (),
        flag="-t --translations",
        action="store",
    )
    language_pair: tuple[str, str] | None = flags.languages()
    encoding: str = flags.encoding()


@dataclass(frozen=True)
class Output:
    folder: Folder = setting(
        "Output folder; it is created if it does not exist.", flag="-o --output", group="output", required=True
    )
    format: Literal["text", "jsonl"] = setting(
        "text: NAME.filtered.txt, where a rejected line is empty (sacrebleu takes that for a real, empty reference); jsonl: "
        f"NAME.filtered.jsonl, where it is null, with scores. {SCORES} is written in both.",
        "text",
    )


def _add_filter(group: _ArgumentGroup) -> None:
    PSEUDO_REFERENCES.add_arguments(group)
    next(action for action in group._group_actions if action.dest == "pseudo_refs").required = True


FLAGS = [Inputs, ("pseudo-references", _add_filter), Output, flags.quiet(), ("engine", EngineOptions)]


def run(args: CommandLine) -> int:
    from ..filter import select
    from ..guard import near_equal

    options = from_flags(PseudoFilter, args)
    names = file_names(args.pseudo_refs, args.format)
    golds, pseudo, systems = read(args)
    check_writable(args.folder, folder=True)
    engine = args[EngineOptions]
    selection = select(golds, pseudo, options, engine, (args.language_pair or (None, None))[1])
    for each in selection.notices:
        notice(each)
    shares = [[near_equal(system, stream) for stream in pseudo] for system in systems]
    folder = Path(args.folder)
    for number, name in enumerate(names):
        write_whole(str(folder / name), filtered(selection, number, pseudo[number], args.format))
    write_whole(str(folder / SCORES), scores(selection))
    print(report(selection, systems, shares, options.guard))
    print(f"Written: {', '.join([*names, SCORES])} in {args.folder}")
    return 0


def read(args: CommandLine) -> "tuple[list[Segments], list[Segments], list[Segments]]":
    """Read references, pseudo-references and systems under test; raises InputError if their lengths differ."""
    from ...run.streams import check_lengths, file_segments, system_names

    roles = (args.references, args.pseudo_refs, args.translations)
    golds, pseudo, systems = ([file_segments(path, args.encoding) for path in paths] for paths in roles)
    check_lengths([*golds, *pseudo, *systems])
    for paths, of_role in ((args.pseudo_refs, pseudo), (args.translations, systems)):
        for segments, name in zip(of_role, system_names(paths), strict=True):
            segments.name = name
    return golds, pseudo, systems


def file_names(paths: Sequence[str], form: str) -> list[str]:
    """Return the name of each pseudo-reference system's output file.

    >>> file_names(["out/a.txt", "out/b.en.gz"], "text"), file_names(["big/a.txt", "small/a.txt"], "jsonl")
    (['a.filtered.txt', 'b.en.filtered.txt'], ['big-a.filtered.jsonl', 'small-a.filtered.jsonl'])
    """
    from ...run.streams import system_names

    ending = {"text": "txt", "jsonl": "jsonl"}[form]
    stems = ["-".join(Path(name).parts).lstrip("/-") for name in system_names(paths)]
    for k, stem in enumerate(stems):
        if stem in stems[:k]:
            other = paths[stems.index(stem)]
            raise InputError(f"{other} and {paths[k]} would both be written to {stem}.filtered.{ending}; rename one")
    return [f"{stem}.filtered.{ending}" for stem in stems]


def filtered(selection: "Selection", number: int, lines: Sequence[str], form: str) -> str:
    """Return the content of one pseudo-reference system's output file."""
    from ...cli.common.output import as_json

    kept, values = selection.streams[number], selection.scores[number]
    if form == "text":
        return "".join((text or "") + "\n" for text in kept)
    objects = [
        {"segment": segment, "text": text, "pseudo": line, "score": score, "kept": text is not None}
        for segment, (text, line, score) in enumerate(zip(kept, lines, values, strict=True), 1)
    ]
    return as_json(objects, "jsonl", None)


def scores(selection: "Selection") -> str:
    """Return the table of all scores, one line for each segment and system; kept is 1 or 0, missing scores are empty."""
    from ...cli.common.output import cells

    rows = [
        (segment, name, values[segment - 1], int(stream[segment - 1] is not None))
        for segment in range(1, len(selection.streams[0]) + 1)
        for name, values, stream in zip(selection.names, selection.scores, selection.streams, strict=True)
    ]
    return cells("tsv", COLUMNS, rows, DECIMALS)


def report(
    selection: "Selection", systems: "Sequence[Segments]", shares: Sequence[Sequence[float]], guard: float | None
) -> str:
    """Return the command's output: lines kept and dropped, and for systems under test the guard's shares, in percent."""
    from ...cli.common.output import table

    columns = selection.names, selection.kept, selection.dropped
    counts = [[*map(str, row)] for row in zip(*columns, strict=True)]
    tables = [table(["Pseudo-references", "Kept", "Dropped"], counts)]
    if systems:
        rows = [
            [system.name, *(f"{100 * share:.1f}{' *' if guard is not None and share > guard else ''}" for share in row)]
            for system, row in zip(systems, shares, strict=True)
        ]
        tables.append(table(["% near-equal lines", *selection.names], rows))
        if any(cell.endswith("*") for row in rows for cell in row[1:]):
            tables.append(
                "* treated as the system under test: the metrics leave it out for that system (--pseudo-guard)"
            )
    return "\n\n".join(tables)
