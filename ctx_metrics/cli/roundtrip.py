"""Translate systems' outputs back into the source language, for round-trip metrics.

Writes DIR/NAME.rtt.txt for each system, a line for each of its lines. What a run has translated is kept; stopped, the same
command goes on where it was.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..notices import counted, notice
from ..roundtrip.options import BackTranslation, checked_spec
from ..settings import add_flags, from_flags
from ..writing import check_writable, write_whole
from .common.inputs import language_pair

if TYPE_CHECKING:
    from ..engine.options import EngineOptions

INTERRUPTED = 130
USAGE = "%(prog)s -t FILE [FILE ...] --rtt-bt hf:MODEL|cmd:COMMAND [-l PAIR] [-s FILE] [-o DIR] [flags]"
EPILOG = """\
examples:
  # three systems of en-de with a model from German into English
  ctx-metrics roundtrip -t a.txt b.txt c.txt -l en-de --rtt-bt hf:Helsinki-NLP/opus-mt-de-en -s src.txt -o rtt

  # a command of your own; it reads lines and writes as many
  ctx-metrics roundtrip -t a.txt b.txt --rtt-bt cmd:'./translate.sh de en' --rtt-bt-name my-service-2026-01 -o rtt

  # a model of many languages, with its own codes
  ctx-metrics roundtrip -t a.txt --rtt-bt hf:facebook/nllb-200-distilled-600M --rtt-bt-from deu_Latn --rtt-bt-to eng_Latn
"""


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    """Add the flags of the subcommand."""
    from ..run.flags import add_engine_arguments

    parser.usage, parser.epilog = USAGE, EPILOG
    group = parser.add_argument_group("texts")
    group.add_argument(
        "-t",
        "--translations",
        "-i",
        "--input",
        nargs="+",
        action="extend",
        required=True,
        type=expanduser,
        metavar="FILE",
        help="Each system's output, a file a system.",
    )
    group.add_argument(
        "-l",
        "--language-pair",
        type=language_pair,
        metavar="PAIR",
        help="Source and target language of the systems, such as en-de; the back-translator goes from de into en.",
    )
    group.add_argument(
        "-s",
        "--source",
        type=expanduser,
        metavar="FILE",
        help="Source segments, one a line: then outputs that copy the source are counted too.",
    )
    group.add_argument(
        "-o",
        "--output",
        dest="folder",
        type=expanduser,
        default=".",
        metavar="DIR",
        help="Folder for the round trips, NAME.rtt.txt of NAME.txt. (Default: the current one)",
    )
    group.add_argument(
        "-e",
        "--encoding",
        default="utf-8",
        help="Of all text read, and of the round trips written. (Default: %(default)s)",
    )
    group = parser.add_argument_group("back-translator")
    add_flags(group, BackTranslation)
    group.add_argument(
        "--bt", type=checked_spec, dest="rtt_bt", metavar="hf:MODEL|cmd:COMMAND", help="The same as --rtt-bt."
    )
    group = parser.add_argument_group("engine of a model")
    add_engine_arguments(group)
    group.add_argument("-q", "--quiet", action="store_true", help="No progress bar.")


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    from ..run.flags import engine_options

    if args.rtt_bt is None:
        args.parser.error("the back-translator is missing: name it with --rtt-bt")
    options = from_flags(BackTranslation, args)
    engine = engine_options(args)
    targets = roundtrip_files(args.translations, args.folder)
    check_writable(args.folder, folder=True)
    for target in targets:
        check_writable(str(target))
    try:
        return _translate(args, options, engine, targets)
    except KeyboardInterrupt as stopped:
        notice(f"stopped; {stopped}" if str(stopped) else "stopped")
        return INTERRUPTED


def roundtrip_files(paths: Sequence[str], folder: str) -> list[Path]:
    """The file to write for each system; raises InputError where two systems would have one.

    >>> [path.as_posix() for path in roundtrip_files(["out/a.txt", "out/b.de.txt.gz"], "rtt")]
    ['rtt/a.rtt.txt', 'rtt/b.de.rtt.txt']
    """
    found: dict[Path, str] = {}
    for path in paths:
        name = Path(path).name
        for packed in (".gz", ".xz"):
            name = name.removesuffix(packed)
        target = Path(folder) / f"{Path(name).stem}.rtt.txt"
        if target in found:
            raise InputError(
                f"{found[target]} and {path} would both become {target}; translate one of them with another -o"
            )
        found[target] = path
    return list(found)


def _translate(args: Namespace, options: BackTranslation, engine: "EngineOptions", targets: list[Path]) -> int:
    from ..corpus import read_lines
    from ..roundtrip.guards import guards, other_languages, same_engine
    from ..roundtrip.translate import round_trips
    from ..run.streams import system_names
    from .common.output import table

    names = system_names(args.translations)
    systems = [read_lines(path, args.encoding) for path in args.translations]
    sources = read_lines(args.source, args.encoding) if args.source else None
    for path, system in zip(args.translations, systems, strict=True):
        if not system:
            raise InputError(f"{path} is empty")
        if sources is not None and len(system) != len(sources):
            lines = counted(len(system), "line", "lines")
            raise InputError(f"{path} has {lines}, and the source {args.source} has {len(sources)}")
    source_lang, target_lang = args.language_pair or (None, None)
    streams, identity = round_trips(systems, source_lang, target_lang, options, engine)
    for target, stream in zip(targets, streams, strict=True):
        write_whole(str(target), "".join(line + "\n" for line in stream), encoding=args.encoding)
    for whose in same_engine(identity, names):
        notice(f"the back-translator {identity} seems to be the system {whose}: its round trips come back too well")
    for line in other_languages(names, sources, systems, streams):
        notice(line)
    rows = []
    for name, target, system, stream in zip(names, targets, systems, streams, strict=True):
        counts, said = guards([""] * len(system) if sources is None else sources, system, stream)
        for line in said:
            notice(f"{name}: {line}")
        copies = [] if sources is None else [str(counts["source_copies"])]
        rows.append(
            [
                name,
                str(len(system)),
                *copies,
                str(counts["empty_outputs"]),
                str(counts["empty_roundtrips"]),
                str(target),
            ]
        )
    copies = [] if sources is None else ["Copies of the source"]
    print(table(["System", "Lines", *copies, "Empty outputs", "Empty round trips", "Round trip"], rows))
    print(f"Back-translator: {identity}")
    return 0
