"""Align hypotheses whose lines do not match with the lines of a reference, or of the source.

A hypothesis is a folder with one file per document, named after its id; JSON lines with doc_id and hypothesis; or a text
file with blank lines between documents. Writes as many lines as the reference has, and beside them, as JSON lines, what
each segment is linked with, omissions and additions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ..cli.common import flags
from ..engine_options import EngineOptions
from ..flag_types import File, expanduser
from ..run.context import Context
from ..run.streams import file_segments, system_names
from ..settings import CommandLine, setting
from ..writing import check_not_input, check_writable

SUMMARY = "align hypotheses whose lines do not match those of the reference"

USAGE = "%(prog)s HYP [HYP ...] [-r FILE] [-s FILE] [--docids FILE] -l PAIR -o FILE|DIR [flags]"
EPILOG = """\
examples:
  # a text file with blank lines between documents: aligned.txt and aligned.jsonl
  ctx-metrics align hyp.txt -s src.txt -r ref.txt --docids ids.txt -l en-zh -o aligned.txt

  # two systems without a reference: a folder with one file per document, and JSON lines
  ctx-metrics align outputs/ other.jsonl -s src.txt --docids ids.txt -l en-de -o aligned/

`ctx-metrics score`, `compare` and `report` read such hypotheses themselves, with --align; sacrebleu with --ctx-align.
"""


@dataclass(frozen=True)
class Texts:
    hypotheses: Annotated[Sequence[str], expanduser, "HYP"] = setting(
        "The systems' hypotheses, one file or folder per system.", flag="HYP", group="texts", nargs="+", action="store"
    )
    reference: File | None = setting(
        "Reference segments, one per line; without them, hypotheses are aligned with the source.", flag="-r --reference"
    )
    source: File | None = setting("Source segments, one per line.", flag="-s --source")
    docids: File | None = setting("Document id of each line; consecutive equal ids form a document.")
    language_pair: tuple[str, str] | None = flags.languages()
    output: str = setting(
        "File for the aligned lines, with the links in .jsonl beside it; with several systems, or a / at its end, a folder "
        "for NAME.txt and NAME.jsonl.",
        flag="-o --output",
        type=expanduser,
        metavar="PATH",
        required=True,
    )
    encoding: str = flags.encoding("Encoding of all files that are read, and of the aligned lines.")


FLAGS = [Texts, ("engine", EngineOptions), flags.quiet("No progress bar.")]


def run(line: CommandLine) -> int:
    from .output import files, links_beside, write
    from .systems import align_systems

    texts = line[Texts]
    if texts.reference is None and texts.source is None:
        line.error("there is nothing to align with: give -r FILE, or -s FILE")
    names = system_names(texts.hypotheses)
    in_folder = len(names) > 1 or texts.output.endswith("/")
    targets = files(texts.output, names) if in_folder else [texts.output]
    given = {"hypotheses": texts.hypotheses, "others": [texts.reference, texts.source, texts.docids]}
    for target in [each for own in targets for each in (own, links_beside(own))]:
        check_writable(target)
        check_not_input(target, given, "-o")
    reference, sources, doc_ids = (
        None if path is None else file_segments(path, texts.encoding)
        for path in (texts.reference, texts.source, texts.docids)
    )
    source_lang, target_lang = texts.language_pair or (None, None)
    references = None if reference is None else [reference]
    beside = Context(references, (), sources, doc_ids, source_lang, target_lang, line[EngineOptions])
    for target, system in zip(targets, align_systems(texts.hypotheses, texts.encoding, beside), strict=True):
        write(target, system, doc_ids, texts.encoding)
    return 0
