"""Pairwise evaluation: which of several systems is best?

A learned metric says, for two translations of a segment and its reference, how likely the one is better. The metric
pairwise of `sacrebleu` and `ctx-metrics score` makes a score of that; here it ranks systems.
"""

import math
import textwrap
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter, _ArgumentGroup
from collections.abc import Sequence
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..flag_types import add_text_arguments, output_file, positive, probability, seed
from ..notices import notice
from ..run.context import build, capabilities
from ..run.flags import add_engine_arguments, engine_options
from ..run.streams import Segments, check_lengths, names_fault, system_names
from ..writing import check_writable
from .common import output
from .common.inputs import Inputs, check_streams, inputs_of, language_pair, read_files

if TYPE_CHECKING:
    from ..meta.measures.bradley_terry import Ranking

FORMATS = ("table", "tsv", "jsonl", "json")  # the last three are also endings of -o
NAME = 8  # letters of a name at the head of a column
RANK = """\
Rank systems by who beats whom: their mean chance of winning, Bradley-Terry strengths with bootstrap intervals, clusters of
systems that cannot be told apart, and the chance of each to beat each other one.
"""
EPILOG = """\
examples:
  # three systems, with a figure
  ctx-metrics pairwise rank ref.txt -i a.txt b.txt c.txt --plot wins.png

  # whole documents resampled, the systems' own names, a model of one's own
  ctx-metrics pairwise rank ref.txt -i a.txt b.txt c.txt --names A B C --docids ids.txt --model my-pairwise -o wins.json
"""


def add_arguments(parser: ArgumentParser, argv: Sequence[str]) -> None:
    """Add the flags of the subcommand."""
    commands = parser.add_subparsers(title="subcommands", metavar="SUBCOMMAND", required=True)
    command = commands.add_parser(
        "rank",
        help="rank systems by who beats whom",
        description=RANK,
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    _add_inputs(command.add_argument_group("inputs"))
    _add_ranking(command.add_argument_group("ranking"))
    _add_output(command.add_argument_group("output"))
    group = command.add_argument_group("engine")
    add_engine_arguments(group)
    group.add_argument(
        "-q", "--quiet", action="store_true", help="No progress bars, and no signature on stderr beside TSV."
    )
    command.set_defaults(run_command=_rank, command_parser=command)


def run(args: Namespace) -> int:
    """Run the subcommand; returns its exit code."""
    return args.run_command(args)


def _add_inputs(group: _ArgumentGroup) -> None:
    group.add_argument("references", nargs="+", type=expanduser, metavar="REF", help="References, one segment a line.")
    group.add_argument(
        "-i",
        "--input",
        "-t",
        "--translations",
        nargs="+",
        action="extend",
        type=expanduser,
        dest="translations",
        required=True,
        metavar="FILE",
        help="Each system's output, a file a system, at least two.",
    )
    group.add_argument(
        "--names",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="The systems' names, in their order. (Default: the files')",
    )
    group.add_argument(
        "-s", "--source", nargs=1, type=expanduser, metavar="FILE", help="Source segments, for models that read them."
    )
    group.add_argument(
        "--docids",
        nargs=1,
        type=expanduser,
        metavar="FILE",
        help="Document id of each line; then documents are resampled in place of segments.",
    )
    group.add_argument(
        "-l", "--language-pair", type=language_pair, metavar="PAIR", help="Source and target language, such as de-en."
    )
    group.add_argument("-e", "--encoding", default="utf-8", help="Of all text read. (Default: %(default)s)")
    add_text_arguments(group)


def _add_ranking(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--model",
        "--pairwise-model",
        help="embedded, a folder that `ctx-metrics train pairwise` wrote, or a hub name[@revision]. (Default: embedded, "
        "English only)",
    )
    group.add_argument(
        "--resamples", type=positive, default=1000, metavar="N", help="Of the bootstrap. (Default: %(default)s)"
    )
    group.add_argument(
        "--confidence",
        type=probability,
        default=0.95,
        metavar="P",
        help="Of the intervals, and, one-sided, of saying that a system is better. (Default: %(default)s)",
    )
    group.add_argument("--seed", type=seed, default=0, metavar="N", help="Of the bootstrap. (Default: %(default)s)")


def _add_output(group: _ArgumentGroup) -> None:
    group.add_argument(
        "--plot", type=expanduser, metavar="FILE", help="Draw the matrix and the strengths: a .png, .pdf or .svg."
    )
    group.add_argument(
        "--format",
        choices=FORMATS,
        help="jsonl and json have p-values and the signature. (Default: the ending of -o, if it is .tsv, .jsonl or .json, "
        "else table)",
    )
    group.add_argument(
        "-o", "--output", type=output_file, metavar="FILE", help="Write there in place of the standard output (-)."
    )
    group.add_argument(
        "-w",
        "--width",
        type=_decimals,
        metavar="N",
        help="Decimals of percentages; strengths have two more. (Default: table 1, tsv 4; JSON has all)",
    )


def _decimals(text: str) -> int:
    return 0 if text == "0" else positive(text)


def _check(args: Namespace) -> None:
    """Fill in the format; exits with 2, as argparse does, where flags contradict each other."""
    error = args.command_parser.error
    if "-" in (*args.translations, *args.references, *(args.source or ()), *(args.docids or ())):
        error("-: the standard input is not read here; name a file")
    if len(args.translations) < 2:
        error("-i names one system; a ranking is of at least two")
    if args.names and (fault := names_fault(args.names, len(args.translations))):
        error(fault)
    if args.format is None:
        ending = (args.output or "").rpartition(".")[2].lower()
        args.format = ending if ending in FORMATS[1:] else FORMATS[0]


def _rank(args: Namespace) -> int:
    from ..meta.measures.bradley_terry import rank
    from ..meta.output.serialize import one_line
    from ..metrics.pairwise import Pairwise
    from ..scoring.resample import say_few_documents

    _check(args)
    check_writable(args.output)
    if args.plot:
        _check_plot(args.plot)
    read = _read(args)
    metric = build(Pairwise, read.context, {"model": args.model})
    assert isinstance(metric, Pairwise)
    if read.context.sources is not None and "sources" not in capabilities(metric).reads:
        notice("the source is given, and the model does not read it")
    names = [one_line(name) for name in read.names]
    ranking = rank(metric.win_probabilities(), read.context.doc_ids, args.resamples, args.confidence, args.seed)
    if ranking.units == 1:
        unit = ranking.unit.removesuffix("s")
        notice(f"there is one {unit} only: no intervals, and no system is significantly better")
    elif ranking.unit == "documents":
        say_few_documents(ranking.units)
    signature = str(metric.get_signature().format())
    output.write(_render(names, ranking, signature, args), args.output)
    if args.format == "tsv" and not args.quiet:  # the other formats have it in them
        notice(f"Pairwise|{signature}")
    if args.plot:
        from ..meta.plots import save
        from ..meta.plots.win_matrix import win_matrix

        save(win_matrix(names, ranking), args.plot)
    return 0


def _read(args: Namespace) -> Inputs:
    """Read the files; raises InputError naming the one that cannot be used."""
    streams: dict[str, list[Segments]] = {}
    read_files(streams, args.encoding, src=args.source, ref=args.references, doc=args.docids)
    names = args.names or system_names(args.translations)
    read_files(streams, args.encoding, mt=args.translations)
    check_lengths([stream for role in ("mt", "ref", "src", "doc") for stream in streams.get(role, ())])
    inputs = inputs_of(streams, names, args.language_pair, engine=engine_options(args))
    if not args.no_text_checks:
        check_streams(streams)
    return inputs


def _check_plot(path: str) -> None:
    """Raise, before anything is scored, where the figure could not be drawn or written."""
    from ..meta import plots
    from ..meta.plots.figure import ENDINGS

    plots.check()
    if Path(path).suffix.lower() not in ENDINGS:
        raise InputError(f"cannot write {path}: a figure's name ends in {', '.join(ENDINGS)}")
    check_writable(path)


def _render(names: Sequence[str], ranking: "Ranking", signature: str, args: Namespace) -> str:
    if args.format == "table":
        return _tables(names, ranking, signature, args)
    if args.format == "tsv":
        decimals = output.DECIMALS["tsv"] if args.width is None else args.width
        columns = ["rank", "system", "win", "strength", "low", "high"]
        columns += [f"against {names[j]}" for j in ranking.order]
        rows = []
        for i in ranking.order:
            strengths = [output.number(value, decimals + 2) for value in (ranking.strengths[i], *ranking.intervals[i])]
            percent = [100 * ranking.win_shares[i], *(100 * ranking.win_matrix[i, ranking.order])]
            rows.append([ranking.ranks[i], names[i], percent[0], *strengths, *percent[1:]])
        return output.tsv(columns, rows, decimals)
    return output.as_json(_objects(names, ranking, signature, args), args.format, None)


def _objects(names: Sequence[str], ranking: "Ranking", signature: str, args: Namespace) -> list[dict[str, Any]]:
    """A system each, from the strongest; -w rounds percentages and strengths alone."""

    def rounded(value: float, more: int = 0) -> float:
        return float(value) if args.width is None else round(float(value), args.width + more) + 0.0

    settings = {
        "segments": ranking.segments,
        "resampled": ranking.unit,
        "units": ranking.units,
        "resamples": ranking.resamples,
        "confidence": ranking.confidence,
        "seed": args.seed,
    }
    return [
        {
            "rank": ranking.ranks[i],
            "system": names[i],
            "win": rounded(100 * ranking.win_shares[i]),
            "strength": rounded(ranking.strengths[i], 2),
            "interval": [rounded(end, 2) for end in ranking.intervals[i]] if ranking.units > 1 else None,
            "against": {
                names[j]: {"win": rounded(100 * ranking.win_matrix[i, j]), "p": ranking.p_values[i, j]}
                for j in ranking.order
                if j != i
            },
            **settings,
            "signature": signature,
        }
        for i in ranking.order
    ]


def _tables(names: Sequence[str], ranking: "Ranking", signature: str, args: Namespace) -> str:
    """The ranking, the matrix, what they mean, and the signature."""
    from ..meta.measures.bradley_terry import PRIOR
    from ..meta.output.tables import WIDTH
    from ..meta.plots.win_matrix import short_names

    decimals = output.DECIMALS["table"] if args.width is None else args.width
    order, level = ranking.order, f"{100 * ranking.confidence:g} %"

    def strength(value: float) -> str:
        return f"{round(value, decimals + 2) + 0.0:.{decimals + 2}f}"  # 0 has no sign

    def ends(i: int) -> str:
        low, high = ranking.intervals[i]
        return "-" if math.isnan(low) else f"[{strength(low)}, {strength(high)}]"

    def cell(i: int, j: int) -> str:
        return output.number(100 * ranking.win_matrix[i, j], decimals, "-") + "*" * ranking.better(i, j)

    shares = [f"{100 * share:.{decimals}f}" for share in ranking.win_shares]
    first = [[str(ranking.ranks[i]), names[i], shares[i], strength(ranking.strengths[i]), ends(i)] for i in order]
    headers, beside = short_names([names[j] for j in order], NAME), [names[i] for i in order]
    if max(len(word) for name in headers for word in name.split(" ")) > NAME:
        headers = [f"({place})" for place in range(1, len(order) + 1)]  # the whole names are too wide for a terminal
        beside = [f"{place} {name}" for place, name in zip(headers, beside, strict=True)]
    headers = ["\n".join(textwrap.wrap(name, NAME, break_on_hyphens=False)) or name for name in headers]
    second = [[name, *(cell(i, j) for j in order)] for name, i in zip(beside, order, strict=True)]
    notes = [
        f"Win %: mean chance that an output is better than another system's; segments scored: {ranking.segments:,}.",
        f"Strength: Bradley-Terry, the log of the odds, with mean 0 and a prior of {PRIOR:g} games a pair of systems.",
    ]
    if ranking.units > 1:
        notes += [
            f"Intervals of {level}: {ranking.resamples:,} resamples of {ranking.units:,} {ranking.unit}, seed {args.seed}. "
            f"They tell what other {ranking.unit} would give with the same model; how often the model is wrong is not in "
            "them.",
            "Systems of one rank are in one significance cluster.",
            f"* The row's system is significantly stronger than the column's (one-sided, {level}).",
        ]
    else:
        notes.append(
            f"One {ranking.unit.removesuffix('s')} only cannot be resampled: no intervals, and all have rank 1."
        )
    below = "\n".join(textwrap.fill(note, WIDTH, subsequent_indent="  ") for note in notes)
    tables = [
        output.table(["Rank", "System", "Win %", "Strength", f"{level} interval"], first),
        output.table(["Row beats column, %", *headers], second),
    ]
    return "\n\n".join([*tables, below, output.signatures([("Pairwise", signature)])]) + "\n"
