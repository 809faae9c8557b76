"""What `ctx-metrics mbr` and `rerank` have in common: candidates that are read, metrics, and what is written."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ...flag_types import File, Model, Positive, expanduser
from ...notices import notice
from ...run.context import Context
from ...run.flags import engine_options
from ...settings import add_all, setting
from ...writing import check_writable
from ..score import DEFAULT_METRIC, add_metric_flags, take_model
from . import flags
from .metrics import Metrics, check_metrics, metric_names, own_settings
from .work import Kept, Work, check_work

if TYPE_CHECKING:
    from ...choice.blocks import Chooser, Chosen
    from ...choice.candidates import Item

ENDINGS = {"jsonl": "jsonl", "nbest": "nbest"}


@dataclass(frozen=True)
class Candidates:
    """What is chosen from."""

    candidates: Annotated[Sequence[str], expanduser, "CANDIDATES"] = setting(
        "One file of candidates; or several, of which each has a candidate a line, such as systems' outputs.",
        flag="CANDIDATES",
        group="candidates",
        nargs="+",
        action="store",
    )
    num_samples: Positive | None = setting(
        "Lines of each source, one after the other. (Default: as many as there are for a line of -s)",
        flag="-n --num-samples",
    )
    input_format: Literal["lines", "nbest", "tsv", "jsonl"] | None = setting(
        "lines; nbest (0 ||| text ||| ... ||| score); tsv (a row a source, a column a candidate); jsonl (objects with "
        "candidates, and maybe src, scores, references). (Default: by the name .tsv or .jsonl, nbest where the first line "
        "is one, else lines)"
    )
    source: File | None = setting("Source segments, one a line.", flag="-s --source")
    language_pair: tuple[str, str] | None = flags.languages()
    encoding: str = flags.encoding()


@dataclass(frozen=True)
class By:
    """The metrics."""

    metrics: Metrics | None = setting(
        f"Any of %(choices)s; several are added up. (Default: {DEFAULT_METRIC})",
        flag="-m --metrics",
        group="choice",
        action="store",
        choices=metric_names,
    )
    weights: Sequence[float] | None = setting(
        "Of several metrics, whose scores are on sacrebleu's scale. (Default: 1)",
        action="store",
        type=float,
        nargs="+",
        metavar="X",
    )
    model: Model | None = setting("Model of comet where its own flag (--comet-model) is not given.")


@dataclass(frozen=True)
class Written:
    """What is written."""

    top: Positive | None = setting(
        "Write the K best distinct candidates. (Default: text 1, other formats all)", metavar="K", group="output"
    )
    format: Literal["text", "nbest", "jsonl"] | None = setting(
        "text, a line a source; nbest, from the best, with scores; jsonl, candidates with their scores. (Default: the "
        "ending of -o, if it is .nbest or .jsonl; nbest with --top; else text)"
    )
    output: flags.Output | None = flags.output("Write there in place of the standard output (-).")


def add_choices(parser: ArgumentParser, argv: Sequence[str], *own: type) -> None:
    """Add all flags, those of some settings of the command's own behind the metrics'."""
    add_all(parser, [Candidates, By, *own, Written])
    add_metric_flags(parser, argv)
    add_all(parser, [Work, Kept, flags.quiet("No progress bars, and no signatures on stderr.")])


def check(args: Namespace) -> None:
    """Fill in what depends on several flags; exits with 2, as argparse does, where they contradict each other."""
    error = args.parser.error
    args.metrics = args.metrics or [DEFAULT_METRIC]
    check_metrics(args)
    take_model(args)
    check_work(args)
    if args.weights is None:
        args.weights = [1.0] * len(args.metrics)
    if len(args.weights) != len(args.metrics):
        error(f"--weights has {len(args.weights)} for {len(args.metrics)} metrics ({', '.join(args.metrics)})")
    if not any(args.weights):
        error("--weights are all 0")
    ending = ENDINGS.get((args.output or "").rpartition(".")[2].lower())
    args.format = args.format or ending or ("nbest" if args.top else "text")
    if args.format == "text" and (args.top or 1) > 1:
        error("--format text has one line a source; write --top candidates as nbest or jsonl")
    check_writable(args.output)


def chosen_metrics(args: Namespace) -> list[tuple[str, dict[str, Any]]]:
    """The metrics with their settings."""
    return [(name, own_settings(name, args)) for name in args.metrics]


def context_of(args: Namespace) -> Context:
    """Languages and engine."""
    source, target = args.language_pair or (None, None)
    return Context(source_lang=source, target_lang=target, engine=engine_options(args))


def scored(items: "Sequence[Item]", chooser: "Chooser", args: Namespace) -> "Chosen":
    """The candidates' scores, where and from what earlier runs the flags say; says what was counted, and the signatures."""
    from ...choice.blocks import choose
    from ...choice.candidates import say_duplicates
    from ...scale.kept import KeptResults
    from ...scale.places import opened

    kept = KeptResults(args.ctx_cache) if args.ctx_cache is not None else None
    with opened(args.on, args.workers) as place:
        found = choose(items, chooser, place, kept, args.quiet)
    say_duplicates(items)
    for name, counts in found.counts.items():
        if some := [f"{kind} = {number:,}" for kind, number in counts.items() if number]:
            notice(f"{name}: {', '.join(some)} (of what was scored)")
    say_signatures(found.signatures, args)
    return found


def say_signatures(signatures: Mapping[str, str], args: Namespace) -> None:
    """Print the metrics' signatures on stderr, unless --quiet."""
    for name, signature in signatures.items():
        if not args.quiet:
            notice(f"{name}|{signature}")
