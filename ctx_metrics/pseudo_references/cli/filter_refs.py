"""Filter pseudo-references: keep those outputs of other systems that paraphrase the references.

Writes one file of accepted lines for each pseudo-reference system, for use in other tools. The metrics prsentbleu,
prbleu and prchrf filter pseudo-references themselves and do not need these files.

In a text file a rejected line is EMPTY. sacrebleu treats an empty line as a real reference without words, which it can
prefer for short hypotheses. --format jsonl writes null for a rejected line.
"""

from argparse import _ArgumentGroup
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ...cli.common import flags
from ...engine_options import EngineOptions
from ...errors import InputError
from ...flag_types import Files
from ...notices import notice
from ...paths import Target, Writes
from ...settings import CommandLine, setting
from ...writing import check_writable, write_whole
from ..inputs import PSEUDO_REFERENCES

if TYPE_CHECKING:
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


def _targets(line: CommandLine, folder: str) -> list[Target]:
    return [(folder, escape(name)) for name in (*file_names(line.pseudo_refs, line.format), SCORES)]


@dataclass(frozen=True)
class Inputs:
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
    folder: Annotated[str, Writes(targets=_targets), "FOLDER"] = setting(
        "Output folder; it is created if it does not exist.", flag="-o --output", group="output", required=True
    )
    format: Literal["text", "jsonl"] = setting(
        "text: NAME.filtered.txt, where a rejected line is empty (sacrebleu takes that for a real, empty reference); jsonl: "
        f"NAME.filtered.jsonl, where it is null, with scores. {SCORES} is always written.",
        "text",
    )


def _add_filter(group: _ArgumentGroup) -> None:
    PSEUDO_REFERENCES.add_arguments(group)
    next(action for action in group._group_actions if action.dest == "pseudo_refs").required = True


FLAGS = [Inputs, ("pseudo-references", _add_filter), Output, flags.quiet(), ("engine", EngineOptions)]


def run(line: CommandLine) -> int:
    from ...corpus import named
    from ...run.streams import check_lengths, file_segments
    from ...system_names import system_names
    from ..filter import select
    from ..guard import near_equal

    inputs, output, (pseudo_files, options) = line[Inputs], line[Output], PSEUDO_REFERENCES.read(line)
    names, form = file_names(pseudo_files, output.format), output.format
    roles = inputs.references, pseudo_files, inputs.translations
    golds, pseudo, tested = ([file_segments(path, inputs.encoding) for path in paths] for paths in roles)
    check_lengths([*golds, *pseudo, *tested])
    pseudo = [named(each, name) for each, name in zip(pseudo, system_names(pseudo_files), strict=True)]
    systems = dict(zip(system_names(inputs.translations), tested, strict=True))
    check_writable(output.folder, folder=True)
    target_lang = inputs.language_pair[1] if inputs.language_pair else None
    selection = select(golds, pseudo, options, line[EngineOptions], target_lang)
    for each in selection.notices:
        notice(each)
    shares = {name: [near_equal(system, stream) for stream in pseudo] for name, system in systems.items()}
    folder = Path(output.folder)
    for number, name in enumerate(names):
        write_whole(str(folder / name), filtered(selection, number, pseudo[number], form))
    write_whole(str(folder / SCORES), scores(selection))
    print(report(selection, shares, options.guard))
    print(f"Written: {', '.join([*names, SCORES])} in {output.folder}")
    return 0


def file_names(paths: Sequence[str], form: str) -> list[str]:
    """Return the name of each pseudo-reference system's output file.

    >>> file_names(["out/a.txt", "out/b.en.gz"], "text"), file_names(["big/a.txt", "small/a.txt"], "jsonl")
    (['a.filtered.txt', 'b.en.filtered.txt'], ['big-a.filtered.jsonl', 'small-a.filtered.jsonl'])
    """
    from ...system_names import system_names

    ending = {"text": "txt", "jsonl": "jsonl"}[form]
    stems = ["-".join(Path(name).parts).lstrip("/-") for name in system_names(paths)]
    for k, stem in enumerate(stems):
        if stem in stems[:k]:
            other = paths[stems.index(stem)]
            raise InputError(
                f"{other} and {paths[k]} would both be written to {stem}.filtered.{ending}", fix="rename one"
            )
    return [f"{stem}.filtered.{ending}" for stem in stems]


def filtered(selection: "Selection", number: int, lines: Sequence[str], form: str) -> str:
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
    from ...cli.common.output import cells

    rows = [
        (segment, name, values[segment - 1], int(stream[segment - 1] is not None))
        for segment in range(1, len(selection.streams[0]) + 1)
        for name, values, stream in zip(selection.names, selection.scores, selection.streams, strict=True)
    ]
    return cells("tsv", COLUMNS, rows, DECIMALS)


def report(selection: "Selection", shares: Mapping[str, Sequence[float]], guard: float | None) -> str:
    """Return the command's output: lines kept and dropped, and for systems under test the guard's shares, in percent."""
    from ...cli.common.output import table

    counts = [
        [name, str(kept), str(dropped)]
        for name, kept, dropped in zip(selection.names, selection.kept, selection.dropped, strict=True)
    ]
    tables = [table(["Pseudo-references", "Kept", "Dropped"], counts)]
    if shares:
        most = 1 if guard is None else guard
        rows = [[name, *(f"{100 * share:.1f}{' *' * (share > most)}" for share in row)] for name, row in shares.items()]
        tables.append(table(["% near-equal lines", *selection.names], rows))
        if any(share > most for row in shares.values() for share in row):
            tables.append(
                "* treated as the system under test: the metrics leave it out for that system (--pseudo-guard)"
            )
    return "\n\n".join(tables)
