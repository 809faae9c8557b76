"""Rerank candidates of each source by reference-free metrics, optionally together with the decoder's own scores.

`--tune` finds the weight of the decoder's scores on candidates whose references are known. With `--docids` whole
documents are chosen: the best candidate document, or the best path from segment to segment.
"""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ...cli.common.metrics import metric_names, named_metric
from ...errors import InputError
from ...flag_types import File, Finite, Positive
from ...notices import counted
from ...reading import read_lines
from ...settings import CommandLine, setting
from . import choices

if TYPE_CHECKING:
    from ..candidates import Item

SUMMARY = "choose among candidates by a reference-free metric"

BEAM = 8
USAGE = "%(prog)s CANDIDATES [CANDIDATES ...] -s FILE [-n N] [-m NAME [NAME ...]] [--top K] [-o FILE] [flags]"
EPILOG = """\
examples:
  # the best of 8 candidates per source, by a model that reads no references (the installed one is hardly better than chance)
  ctx-metrics rerank candidates.txt -n 8 -s src.txt --model Unbabel/wmt22-cometkiwi-da -o best.txt

  # the 16 best of an n-best list, for mbr
  ctx-metrics rerank list.nbest -s src.txt --model Unbabel/wmt22-cometkiwi-da --top 16 -o top.nbest

  # three translations of each document: the best one by slide, or the best mixture of their segments
  ctx-metrics rerank a.txt b.txt c.txt -s src.txt --docids ids.txt -l en-de -m slide -o best.txt
  ctx-metrics rerank a.txt b.txt c.txt -s src.txt --docids ids.txt -l en-de -m slide --documents path -o best.txt

Name a metric to see its flags: ctx-metrics rerank -m comet --help
"""


@dataclass(frozen=True)
class Mixing:
    """How much the decoder's scores count."""

    mix: Finite | None = setting(
        "Add X times the decoder's score (from n-best lists, JSON lines, fairseq's output) to the metrics' score. "
        "(Default: 0)",
        metavar="X",
    )
    tune: File | None = setting(
        "References of the sources, one per line: find the best X for --mix, and print it instead of the choices."
    )
    tune_by: Annotated[str, named_metric, "NAME"] | None = setting(
        "The metric with which --tune judges the choices, with its default settings. (Default: chrf)",
        choices=metric_names,
    )


@dataclass(frozen=True)
class Documents:
    """The choice of whole documents."""

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
    """Add all flags, including those of the metrics that this command line names."""
    choices.add_choices(parser, argv, Mixing, Documents)


def run(args: CommandLine) -> int:
    from ...cli.common import output
    from ..candidates import read_items
    from ..reranking import Reranking, check_decoder_scores, mixed
    from ..written import render

    chosen = _check(args)
    items = read_items(
        args.candidates, args.input_format, args.num_samples, sources=args.source, encoding=args.encoding
    )
    if items[0].source is None:
        raise InputError("rerank needs the source of each candidate: give -s FILE, or src in JSON lines")
    choices.check_candidates(items, args)
    if args.docids:
        output.write(render(items, _of_documents(items, chosen, args), args.format, args.top), args.output)
        return 0
    references = None if args.tune is None else _references(args, len(items))
    if args.tune or args.mix:
        check_decoder_scores(items, "--tune" if args.tune else "--mix")
    chooser = Reranking(chosen, args.weights, choices.context_of(args))
    found = choices.scored(items, chooser, args)
    if references is not None:
        from ..tuning import tuned

        best = tuned(items, found.scores, references, args.tune_by, choices.context_of(args))
        rows = [
            ["metric alone", "0", best.without],
            ["best", f"{best.weight:.6g}", best.best],
            ["decoder alone", "", best.decoder],
        ]
        output.write(output.cells("tsv", ["chosen by", "--mix", best.title], rows, 2), args.output)
        return 0
    output.write(render(items, mixed(items, found.scores, args.mix or 0.0), args.format, args.top), args.output)
    return 0


def _check(args: CommandLine) -> list[tuple[str, Mapping[str, Any]]]:
    """Derive the values that depend on several flags; exit with 2, as argparse does, if flags contradict each other."""
    error = args.parser.error
    chosen = choices.check(args)
    if args.tune and args.mix is not None:
        error("--tune finds the value of --mix; leave one out")
    if args.tune and args.top:
        error("--tune prints the value of --mix and no candidates; leave --top out")
    if args.tune_by is not None and args.tune is None:
        error("--tune-by works only with --tune FILE; give both, or leave it out")
    if args.beam is not None and args.documents != "path":
        error("--beam works only with --documents path; give both, or leave it out")
    if args.docids is None and args.documents != "best":
        error("--documents needs the documents: give --docids FILE")
    if args.docids and (args.tune or args.mix or args.on or args.ctx_cache):
        error(
            "--docids chooses whole documents and does not work with --mix, --tune, --on and --ctx-cache; leave those out"
        )
    return chosen


def _references(args: CommandLine, sources: int) -> list[str]:
    """The references of --tune, one per source; raises InputError if they or the judging metric cannot be used."""
    from ..tuning import check_judge

    args.tune_by = args.tune_by or "chrf"
    check_judge(args.tune_by)
    lines = read_lines(args.tune, args.encoding)
    if len(lines) != sources:
        raise InputError(
            f"{args.tune} has {counted(len(lines), 'line', 'lines')}, but there are candidates for {sources:,} sources; "
            "give one reference per source"
        )
    return lines


def _of_documents(
    items: "list[Item]", chosen: list[tuple[str, Mapping[str, Any]]], args: CommandLine
) -> list[list[float]]:
    """Score the candidates as parts of whole documents, and print the signatures."""
    from ..documents import best_documents, best_paths

    doc_ids, context = read_lines(args.docids, args.encoding), choices.context_of(args)
    if args.documents == "path":
        found = best_paths(chosen, context, items, doc_ids, args.beam or BEAM)
    else:
        found = best_documents(chosen, args.weights, context, items, doc_ids)
    choices.say_signatures(found.signatures, args)
    return found.scores


hints = partial(choices.hints_of, "rerank")
