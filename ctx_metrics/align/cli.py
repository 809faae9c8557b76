"""Align hypotheses whose lines do not match with the lines of a reference, or of the source.

A hypothesis is a folder with one file per document, named after its id; JSON lines with doc_id and hypothesis; or a text
file with blank lines between documents. Writes as many lines as the reference has, and next to them, as JSON lines, what
each segment is linked with, omissions and additions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from ..cli.common import flags
from ..engine_options import EngineOptions
from ..errors import InputError
from ..flag_types import File
from ..paths import Reads, Target, Writes, file_target
from ..run.streams import file_segments
from ..run.texts import Texts
from ..settings import CommandLine, setting
from ..system_names import system_names
from ..writing import check_writable, write_whole

SUMMARY = "align hypotheses whose lines do not match those of the reference"

USAGE = "%(prog)s HYP [HYP ...] [-r FILE|DIR] [-s FILE|DIR] [--docids FILE] -l PAIR -o FILE|DIR [flags]"
EPILOG = """\
examples:
  # folders with one file per document: aligned.txt and aligned.jsonl
  ctx-metrics align gpt/ -s src/ -r ref/ -l en-de -o aligned.txt

  # a text file with blank lines between documents
  ctx-metrics align hyp.txt -s src.txt -r ref.txt --docids ids.txt -l en-zh -o aligned.txt

  # two systems without a reference: a folder with one file per document, and JSON lines
  ctx-metrics align outputs/ other.jsonl -s src.txt --docids ids.txt -l en-de -o aligned/

  # outputs for a test set of WMT25: sources, references, documents and system-outputs
  ctx-metrics align gpt.jsonl gemma.jsonl --set wmt25-genmt.jsonl -l en-cs -o wmt25/

`ctx-metrics score`, `compare` and `report` read such hypotheses themselves, with --align; sacrebleu with --ctx-align.
"""


def _targets(line: CommandLine, path: str) -> list[Target]:
    from .output import LINES, LINKS, TREE, both, files

    names = system_names(line.hypotheses)
    if line.set is not None:
        return [(path, pattern) for pattern in TREE]
    lines = files(path, names) if len(names) > 1 or path.endswith("/") else [path]
    if own := next((each for each in lines if each.endswith(LINKS)), None):
        raise InputError(
            f"-o {own}: the links go there", fix=f"name the file for the lines: {own.removesuffix(LINKS)}{LINES}"
        )
    return [file_target(each) for each in both(lines)]


@dataclass(frozen=True)
class TextFlags:
    hypotheses: Annotated[Sequence[str], Reads(), "HYP"] = setting(
        "The systems' hypotheses, one file or folder per system.", flag="HYP", group="texts", nargs="+", action="store"
    )
    reference: File | None = setting(
        "Reference segments, one per line, or subtitles: a file, or a folder with one file per document. Without "
        "references, hypotheses are aligned with the source; with both, they are aligned with both (into English, only "
        "where the reference leaves doubt).",
        flag="-r --reference",
    )
    source: File | None = setting("Source segments, in the same form as the reference.", flag="-s --source")
    docids: File | None = setting(
        "Document id of each line; consecutive equal ids form a document. (Default: the file names in the folder of -s "
        "or -r)"
    )
    set: File | None = setting(
        'The test set as JSON lines of WMT25 or later, with doc_id, src_text and refs ({"refA": {"ref": "..."}}), in place '
        "of -s, -r and --docids; lines whose src_lang or tgt_lang differs from -l are left out. Each paragraph is a "
        "segment. -o is then a folder in the layout of mt-metrics-eval, with all texts."
    )
    language_pair: tuple[str, str] | None = flags.languages()
    output: Annotated[str, Writes(targets=_targets), "PATH"] = setting(
        "File for the aligned lines; the links go to a .jsonl file next to it. With several systems, or if the name ends "
        "in /, a folder for NAME.txt and NAME.jsonl.",
        flag="-o --output",
        required=True,
    )
    encoding: str = flags.encoding("Encoding of all files that are read, and of the aligned lines.")


FLAGS = [TextFlags, ("engine", EngineOptions), flags.quiet("No progress bar.")]


def run(line: CommandLine) -> int:
    from .folders import read_streams, with_streams
    from .output import both, files, tree, write
    from .systems import align_systems
    from .testset import read_test_set

    texts = line[TextFlags]
    alone = texts.reference, texts.source, texts.docids
    if texts.set is not None and any(alone):
        line.error("--set has source, references and document ids; leave out -s, -r and --docids")
    if texts.set is None and texts.reference is None and texts.source is None:
        line.error("nothing to align with: give -r FILE or -s FILE")
    if texts.set is not None and texts.language_pair is None:
        line.error("--set needs the language pair: give -l")
    names = system_names(texts.hypotheses)
    source_lang, target_lang = texts.language_pair or (None, None)
    beside = Texts(source_lang=source_lang, target_lang=target_lang)
    more: Mapping[str, Sequence[str]] = {}
    if texts.set is not None:
        found = read_test_set(texts.set, texts.encoding, (source_lang, target_lang))
        streams = found.streams
        more, outputs = tree(texts.output, f"{source_lang}-{target_lang}", found)
        targets = files(outputs, names)
    else:
        paths = {role: [path] for role, path in (("ref", texts.reference), ("src", texts.source)) if path is not None}
        if texts.docids is not None:
            beside = replace(beside, doc_ids=file_segments(texts.docids, texts.encoding))
        streams = read_streams(paths, texts.encoding, beside)
        targets = files(texts.output, names) if len(names) > 1 or texts.output.endswith("/") else [texts.output]
    for path in [*more, *both(targets)]:
        check_writable(path)
    beside = with_streams(beside, streams)
    beside.check()
    systems = align_systems(texts.hypotheses, texts.encoding, beside, line[EngineOptions])
    for path, lines in more.items():
        write_whole(path, "".join(f"{each}\n" for each in lines), encoding=texts.encoding)
    for target, system in zip(targets, systems, strict=True):
        write(target, system, beside.doc_ids, texts.encoding)
    return 0
