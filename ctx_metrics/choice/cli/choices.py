"""What `ctx-metrics mbr` and `rerank` have in common: candidates that are read, metrics, and what is written."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ...cli.common import flags
from ...cli.common.metrics import Metrics, chosen_metrics, metric_names
from ...cli.common.work import Kept, Work, checked_work
from ...cli.hints import COMET_SCORE, flag_hints
from ...cli.score import DEFAULT_METRIC, add_metric_flags
from ...engine.options import EngineOptions
from ...flag_types import File, Model, Positive, expanduser, finite
from ...notices import notice
from ...run.context import Context
from ...separated import SEPARATED
from ...settings import CommandLine, add_all, setting
from ...writing import check_writable

if TYPE_CHECKING:
    from ..blocks import Chooser, Chosen
    from ..candidates import Item

# our equivalents of comet-mbr's flags
COMET_MBR = {
    "--num_samples": "--num_samples N: -n N",
    "--rerank_top_k": "--rerank_top_k K: first ctx-metrics rerank FILE -s SRC --top K -o top.nbest, then mbr top.nbest",
    "--qe_model": "--qe_model MODEL: the --model of ctx-metrics rerank, whose --top K best mbr reads",
    "-t": "-t FILE: candidates have no flag here: ctx-metrics {} FILE",
    "--translations": "-t FILE: candidates have no flag here: ctx-metrics {} FILE",
    "--sources": "--sources FILE: -s FILE",
}


ENDINGS = {"jsonl": "jsonl", "nbest": "nbest"}


@dataclass(frozen=True)
class Candidates:
    candidates: Annotated[Sequence[str], expanduser, "CANDIDATES"] = setting(
        "One file of candidates, or several files with one candidate per line, such as the outputs of several systems.",
        flag="CANDIDATES",
        group="candidates",
        nargs="+",
        action="store",
    )
    num_samples: Positive | None = setting(
        "Number of consecutive lines per source. (Default: the lines of the file divided by the lines of -s)",
        flag="-n --num-samples",
    )
    input_format: Literal["lines", "nbest", "tsv", "jsonl", "fairseq"] | None = setting(
        "lines; nbest (0 ||| text ||| ... ||| score); tsv (one row per source, one column per candidate); jsonl "
        "(objects with candidates and optional src, scores, references); fairseq (the output of fairseq-generate). "
        "(Default: by the ending .tsv or .jsonl; nbest or fairseq if the first lines have its form; else lines)"
    )
    source: File | None = setting("Source segments, one per line.", flag="-s --source")
    language_pair: tuple[str, str] | None = flags.languages()
    encoding: str = flags.encoding()
    no_text_checks: bool = setting(
        "Do not check the candidates for copies of the source, other languages and repetitions.", False
    )


@dataclass(frozen=True)
class By:
    metrics: Metrics | None = setting(
        f"One or more of %(choices)s; the scores of several are added up. (Default: {DEFAULT_METRIC})",
        flag="-m --metrics",
        group="choice",
        action="store",
        choices=metric_names,
    )
    weights: Sequence[float] | None = setting(
        "Weights of the metrics, whose scores are on sacrebleu's scale. (Default: 1)",
        action="store",
        type=finite,
        nargs="+",
        metavar="X",
    )
    model: Model | None = setting("Model of comet, unless its own flag (--comet-model) is given.")


@dataclass(frozen=True)
class Written:
    top: Positive | None = setting(
        "Write the K best distinct candidates, each once. (Default: 1 with text, all with other formats)",
        metavar="K",
        group="output",
    )
    format: Literal["text", "nbest", "jsonl"] | None = setting(
        "text: one line per source; nbest: candidates and scores, best first; jsonl: candidates with their scores. "
        "(Default: by the ending of -o, if it is .nbest or .jsonl; nbest with --top; else text)"
    )
    output: flags.Output | None = flags.output("Output file, instead of the standard output (-).")


def add_choices(parser: ArgumentParser, argv: Sequence[str], *own: type) -> None:
    """Add all flags; the command's own settings, `own`, follow the choice of metrics."""
    add_all(parser, [Candidates, By, *own, Written])
    add_metric_flags(parser, argv)
    add_all(parser, [Work, Kept, flags.quiet("No progress bars, and no signatures on stderr.")])


def check(args: CommandLine) -> list[tuple[str, Mapping[str, Any]]]:
    """Derive the values that depend on several flags, and return the metrics; exit with 2, as argparse does, if flags
    contradict each other."""
    error = args.parser.error
    chosen = chosen_metrics(args, args.metrics or [DEFAULT_METRIC], model=args.model)
    args.metrics = [each.name for each in chosen]
    checked_work(args)
    if args.weights is None:
        args.weights = [1.0] * len(args.metrics)
    if len(args.weights) != len(args.metrics):
        error(
            f"--weights has {len(args.weights)} for {len(args.metrics)} metrics ({', '.join(args.metrics)}); "
            "give one per metric"
        )
    if not any(args.weights):
        error("--weights are all 0; give at least one above 0")
    ending = ENDINGS.get(last := (args.output or "").rpartition(".")[2].lower())
    if args.format is None and last in ("json", *SEPARATED):
        error(f"-o {args.output}: there is no format {last} here; name a .jsonl or .nbest file, or give --format")
    args.format = args.format or ending or ("nbest" if args.top else "text")
    if args.format == "text" and (args.top or 1) > 1:
        error("--format text has one line per source; write --top candidates as nbest or jsonl")
    check_writable(args.output)
    return [(each.name, each.own) for each in chosen]


def context_of(args: CommandLine) -> Context:
    source, target = args.language_pair or (None, None)
    return Context(source_lang=source, target_lang=target, engine=args[EngineOptions])


def check_candidates(items: "Sequence[Item]", args: CommandLine) -> None:
    """Warn about files of candidates with copies of the source, other languages or repetitions, unless --no-text-checks."""
    if args.no_text_checks:
        return
    from ...run.fault_notices import check_faults
    from ...run.streams import named

    sources = [item.source for item in items]
    if len(args.candidates) > 1:  # each file holds one system
        systems = [named([item.candidates[k] for item in items], path) for k, path in enumerate(args.candidates)]
    else:
        systems = [named([text for item in items for text in item.candidates], args.candidates[0])]
        sources = [item.source for item in items for _ in item.candidates]
    there = None if None in sources else named(sources, args.source or "the sources")
    check_faults(systems, source=there, languages=args.language_pair or (None, None))


def scored(items: "Sequence[Item]", chooser: "Chooser", args: CommandLine) -> "Chosen":
    """Score the candidates on the machines, and with the cache, that the flags name; print counts and signatures."""
    from ...scale.blocks import opened
    from ...scale.kept import ResultCache
    from ..blocks import choose
    from ..candidates import say_duplicates
    from ..written import check_form

    check_form(items, args.format)
    kept = ResultCache(args.ctx_cache) if args.ctx_cache is not None else None
    with opened(args.on, args.workers) as place:
        found = choose(items, chooser, place, kept, args.quiet)
    say_duplicates(items)
    for name, counts in found.counts.items():
        if some := [f"{kind} = {number:,}" for kind, number in counts.items() if number]:
            notice(f"{name}: {', '.join(some)} (counted over all scored texts)")
    say_signatures(found.signatures, args)
    return found


def say_signatures(signatures: Mapping[str, str], args: CommandLine) -> None:
    """Print the metrics' signatures on stderr, unless --quiet."""
    for name, signature in signatures.items():
        if not args.quiet:
            notice(f"{name}|{signature}")


def hints_of(subcommand: str, words: Sequence[str]) -> str:
    """Hints to add to the error about flags of comet-score and comet-mbr."""
    return flag_hints(words, COMET_SCORE, {flag: text.format(subcommand) for flag, text in COMET_MBR.items()})
