"""Rerank candidates of each source by reference-free metrics, optionally together with the decoder's own scores.

`--tune` finds the weight of the decoder's scores on candidates whose references are known. With `--docids` whole
documents are chosen: the best candidate document, or the best path from segment to segment.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from ...cli.common.metrics import metric_names, named_metric
from ...errors import InputError
from ...flag_types import File, Number, Positive
from ...reading import read_lines
from ...settings import CommandLine, setting
from ..candidates import Item, check_lines
from . import choices

if TYPE_CHECKING:
    from ..documents import OfDocuments

SUMMARY = "choose among candidates by a reference-free metric"

BEAM = 8
USAGE = "%(prog)s CANDIDATES [CANDIDATES ...] -s FILE [-n N] [-m NAME [NAME ...]] [--top K] [-o FILE] [flags]"
EPILOG = """\
examples:
  # the best of 8 candidates per source, by a model that reads no references (the installed one is barely better than chance)
  ctx-metrics rerank candidates.txt -n 8 -s src.txt --model Unbabel/wmt22-cometkiwi-da -o best.txt

  # the 16 best of an n-best list, for mbr
  ctx-metrics rerank list.nbest -s src.txt --model Unbabel/wmt22-cometkiwi-da --top 16 -o top.nbest

  # three translations of each document: the best one by slide, or the best mixture of their segments
  ctx-metrics rerank a.txt b.txt c.txt -s src.txt --docids ids.txt -l en-de -m slide -o best.txt
  ctx-metrics rerank a.txt b.txt c.txt -s src.txt --docids ids.txt -l en-de -m slide --documents path -o best.txt

Name a metric to see its flags: ctx-metrics rerank -m comet --help
"""


@dataclass(frozen=True)
class MixFlags:
    mix: Number | None = setting(
        "Add X times the decoder's score (from n-best lists, JSON lines, fairseq's output) to the metrics' score. "
        "(Default: 0)"
    )
    tune: File | None = setting(
        "References of the sources, one per line: find the best X for --mix, and print it instead of the choices."
    )
    tune_by: Annotated[str, named_metric, "NAME"] | None = setting(
        "The metric with which --tune judges the choices, with its default settings. (Default: chrf)",
        choices=metric_names,
    )

    @property
    def judge(self) -> str:
        return self.tune_by or "chrf"


@dataclass(frozen=True)
class Documents:
    docids: File | None = setting("Document id of each source; whole documents are then chosen.")
    documents: Literal["best", "path"] = setting(
        "best: the k-th candidates of all segments form a document, and the best document is chosen. path: choose "
        "one candidate for each segment so that slide's windows score best.",
        "best",
    )
    beam: Positive | None = setting(
        f"With path: the beam size, which is the number of partial documents to keep. (Default: {BEAM})"
    )


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    choices.add_choices(parser, argv, MixFlags, Documents)


def run(line: CommandLine) -> int:
    from ..reranking import Reranking, check_decoder_scores, check_judge, mixed, tuned

    asked, mixing, documents = choices.checked(line, "rerank"), line[MixFlags], line[Documents]
    _check(line, asked, mixing, documents)
    items = asked.candidates.read()
    if items[0].source is None:
        raise InputError("rerank needs the source of each candidate: give -s FILE, or src in JSON lines")
    if documents.docids:
        of_documents = _of_documents(asked, documents, documents.docids, items)
        asked.write(items, of_documents.scores, of_documents.signatures)
        return 0
    references: list[str] | None = None
    if mixing.tune is not None:
        check_judge(mixing.judge)
        references = read_lines(mixing.tune, asked.candidates.encoding)
        check_lines(mixing.tune, references, items)
    if mixing.tune or mixing.mix:
        check_decoder_scores(items, "--tune" if mixing.tune else "--mix")
    found = asked.scored(items, Reranking(asked.run, asked.weights))
    if references is None:
        asked.write(items, mixed(items, found.scores, mixing.mix or 0.0), found.signatures)
        return 0
    from ...cli.common import output

    best = tuned(items, found.scores, references, mixing.judge, asked.run)
    rows = [
        ["metric alone", "0", best.without],
        ["best", f"{best.weight:.6g}", best.best],
        ["decoder alone", "", best.decoder],
    ]
    output.write(output.cells("tsv", ["chosen by", "--mix", best.title], rows, 2), asked.written.output)
    return 0


def _check(line: CommandLine, asked: choices.ChoiceRun, mixing: MixFlags, documents: Documents) -> None:
    if mixing.tune and mixing.mix is not None:
        line.error("--tune finds the value of --mix; leave one out")
    if mixing.tune and asked.written.top:
        line.error("--tune prints the value of --mix and no candidates; leave --top out")
    if mixing.tune_by is not None and mixing.tune is None:
        line.error("--tune-by works only with --tune FILE; give both, or leave it out")
    if documents.beam is not None and documents.documents != "path":
        line.error("--beam works only with --documents path; give both, or leave it out")
    if documents.docids is None and documents.documents != "best":
        line.error("--documents needs the documents: give --docids FILE")
    if documents.docids and (mixing.tune or mixing.mix or asked.work.on or asked.kept.ctx_cache):
        line.error(
            "--docids chooses whole documents and does not work with --mix, --tune, --on and --ctx-cache; leave those out"
        )


def _of_documents(asked: choices.ChoiceRun, documents: Documents, ids: str, items: list[Item]) -> "OfDocuments":
    """Score the candidates as parts of whole documents, and print the signatures."""
    from ..documents import best_documents, best_paths

    doc_ids = read_lines(ids, asked.candidates.encoding)
    check_lines(ids, doc_ids, items)
    if documents.documents == "path":
        found = best_paths(asked.run, items, doc_ids, documents.beam or BEAM)
    else:
        found = best_documents(asked.run, asked.weights, items, doc_ids)
    asked.say_signatures(found.signatures)
    return found


fix_of_unknown = partial(choices.fix_of_unknown, "rerank")
