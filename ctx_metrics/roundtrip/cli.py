"""Translate systems' outputs back into the source language, for round-trip metrics.

Writes DIR/NAME.rtt.txt for each system, one line for each of its lines. Finished translations are kept: run the same command
again to continue a stopped run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from ..cli.common import flags
from ..engine_options import EngineOptions
from ..errors import InputError
from ..flag_types import File, Files
from ..notices import counted, notice
from ..paths import Reads, Target, Writes, file_target
from ..settings import CommandLine, add_flags, setting
from ..writing import check_writable, write_whole
from .back_translation import BackTranslation, checked_spec, files_of_spec

SUMMARY = "translate outputs back into the source language, for the rtt metrics"

USAGE = "%(prog)s -t FILE [FILE ...] --rtt-bt hf:MODEL|cmd:COMMAND [-l PAIR] [-s FILE] [-o DIR] [flags]"
EPILOG = """\
examples:
  # three systems of en-de with a model from German into English
  ctx-metrics roundtrip -t a.txt b.txt c.txt -l en-de --rtt-bt hf:Helsinki-NLP/opus-mt-de-en -s src.txt -o rtt

  # a command of your own, which writes one line for each line that it reads
  ctx-metrics roundtrip -t a.txt b.txt --rtt-bt cmd:'./translate.sh de en' --rtt-bt-name my-service-2026-01 -o rtt

  # a model of many languages, with its own codes
  ctx-metrics roundtrip -t a.txt --rtt-bt hf:facebook/nllb-200-distilled-600M --rtt-bt-from deu_Latn --rtt-bt-to eng_Latn
"""


def _targets(line: CommandLine, folder: str) -> list[Target]:
    return [file_target(str(path)) for path in roundtrip_files(line.translations, folder)]


@dataclass(frozen=True)
class Texts:
    translations: Files = setting(
        "The systems' outputs, one file per system.", flag="-t --translations -i --input", group="texts", required=True
    )
    language_pair: tuple[str, str] | None = flags.languages(
        "Source and target language of the systems, such as en-de; the back-translator goes from de into en."
    )
    source: File | None = setting(
        "Source segments, one per line; with them, outputs that copy the source are counted too.", flag="-s --source"
    )
    folder: Annotated[str, Writes(targets=_targets), "DIR"] = setting(
        "Folder for the round trips, NAME.rtt.txt for NAME.txt. (Default: the current one)", ".", flag="-o --output"
    )
    encoding: str = flags.encoding("Encoding of all files that are read, and of the round trips.")


@dataclass(frozen=True)
class Short:
    rtt_bt: str | None = setting(
        "The same as --rtt-bt.", flag="--bt", type=Reads(checked_spec, files_of_spec), metavar="hf:MODEL|cmd:COMMAND"
    )


FLAGS = [
    Texts,
    ("back-translator", partial(add_flags, settings=BackTranslation)),
    Short,
    ("engine of a model", EngineOptions),
    flags.quiet("No progress bar."),
]


def run(line: CommandLine) -> int:
    from ..cli.common.output import table
    from ..reading import read_lines
    from ..system_names import system_names
    from .guards import guards, other_languages, same_engine
    from .round_trips import round_trips

    if line[Short].rtt_bt is None:
        line.error("the back-translator is missing: name it with --rtt-bt")
    options, texts = line[BackTranslation], line[Texts]
    targets = roundtrip_files(texts.translations, texts.folder)
    check_writable(texts.folder, folder=True)
    for target in targets:
        check_writable(str(target))
    names = system_names(texts.translations)
    systems = [read_lines(path, texts.encoding) for path in texts.translations]
    sources = read_lines(texts.source, texts.encoding) if texts.source else None
    for path, system in zip(texts.translations, systems, strict=True):
        if not system:
            raise InputError(f"{path} is empty")
        if sources is not None and len(system) != len(sources):
            lines = counted(len(system), "line", "lines")
            raise InputError(f"{path} has {lines}, but the source {texts.source} has {len(sources)}")
    source_lang, target_lang = texts.language_pair or (None, None)
    streams, identity = round_trips(systems, source_lang, target_lang, options, line[EngineOptions])
    for target, stream in zip(targets, streams, strict=True):
        write_whole(str(target), "".join(line + "\n" for line in stream), encoding=texts.encoding)
    for whose in same_engine(identity, names):
        notice(f"the back-translator {identity} seems to be the system {whose}: its round trips score too high")
    for remark in other_languages(names, sources, systems, streams):
        notice(remark)
    columns = {} if sources is None else {"source_copies": "Copies of the source"}
    columns |= {"empty_outputs": "Empty outputs", "empty_roundtrips": "Empty round trips"}
    rows = []
    for name, target, system, stream in zip(names, targets, systems, streams, strict=True):
        counts, notices = guards([""] * len(system) if sources is None else sources, system, stream)
        for each in notices:
            notice(each.of(name))
        rows.append([name, str(len(system)), *(str(counts[key]) for key in columns), str(target)])
    print(table(["System", "Lines", *columns.values(), "Round trip"], rows))
    print(f"Back-translator: {identity}")
    return 0


def roundtrip_files(paths: Sequence[str], folder: str) -> list[Path]:
    """Return the file to write for each system.

    >>> [path.as_posix() for path in roundtrip_files(["out/a.txt", "out/b.de.txt.gz"], "rtt")]
    ['rtt/a.rtt.txt', 'rtt/b.de.rtt.txt']
    """
    targets: dict[Path, str] = {}
    for path in paths:
        name = Path(path).name
        for packed in (".gz", ".xz"):
            name = name.removesuffix(packed)
        target = Path(folder) / f"{Path(name).stem}.rtt.txt"
        if target in targets:
            raise InputError(
                f"{targets[target]} and {path} would both become {target}", fix="translate one of them with another -o"
            )
        targets[target] = path
    return list(targets)
