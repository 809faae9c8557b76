"""Rank systems by pairwise comparison: their mean probability of winning, Bradley-Terry strengths with bootstrap intervals,
clusters of systems that do not differ significantly, and the probability that each system beats each other one.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cli.common import flags, output
from ...cli.common.inputs import Streams, read_files
from ...engine_options import EngineOptions
from ...flag_types import Decimals, File, Files, Model, NewFile, OutputFile, Positive, Probability, Seed
from ...notices import notice
from ...run.run import Run
from ...run.texts import Texts
from ...scoring.context import MetricSettings, capabilities
from ...separated import SEPARATED
from ...settings import CommandLine, setting
from ...system_names import names_fault, system_names
from ...writing import check_writable

if TYPE_CHECKING:
    from ...plots.figure import Figure
    from ..bradley_terry import Ranking

SUMMARY = "rank systems by pairwise comparison"

NARROWEST = 10  # the colours span at least 50 +- this many points, so that similar systems look similar

EPILOG = """\
examples:
  # three systems, with a figure
  ctx-metrics pairwise rank ref.txt -i a.txt b.txt c.txt --plot wins.png

  # whole documents resampled, the systems' own names, your own model
  ctx-metrics pairwise rank ref.txt -i a.txt b.txt c.txt --names A B C --docids ids.txt --model my-pairwise -o wins.json
"""


@dataclass(frozen=True)
class Comparison:
    references: Files = setting("References, one segment per line.", flag="REF", group="inputs")
    translations: Files = setting(
        "The systems' outputs, one file per system, at least two.", flag="-i --input -t --translations", required=True
    )
    names: Sequence[str] | None = flags.names("the")
    source: File | None = setting("Source segments, one per line, for models that read them.", flag="-s --source")
    docids: File | None = setting("Document id of each line, to resample documents instead of segments.")
    language_pair: tuple[str, str] | None = flags.languages()
    encoding: str = flags.encoding()
    no_text_checks: bool = flags.text_checks()
    model: Model | None = setting(
        "embedded, a folder that `ctx-metrics train pairwise` wrote, or a hub name[@revision]. (Default: embedded, English "
        "only)",
        flag="--model --pairwise-model",
        group="ranking",
    )
    resamples: Positive = setting("Number of bootstrap resamples.", 1000)
    confidence: Probability = setting(
        "Confidence level of the intervals and, one-sided, of the decision that a system is better.", 0.95
    )
    seed: Seed = setting("Seed of the bootstrap.", 0)
    plot: NewFile | None = setting("Draw the matrix and the strengths to a .png, .pdf or .svg file.", group="output")
    format: flags.Format | None = flags.score_format("jsonl and json have p-values and the signature.")
    output: OutputFile | None = flags.output("Output file, instead of the standard output (-).")
    width: Decimals | None = setting(
        "Number of decimals of percentages; strengths have two more. (Default: 1 in tables, 4 in TSV; JSON has all)",
        flag="-w --width",
    )


FLAGS = [Comparison, ("engine", EngineOptions), flags.quiet("No progress bars, and with TSV no signature on stderr.")]


def _check(line: CommandLine, given: Comparison) -> None:
    if "-" in (*given.translations, *given.references, given.source, given.docids):
        line.error("-: the standard input is not read here; name a file")
    if len(given.translations) < 2:
        line.error("-i names only one system; a ranking needs at least two")
    if given.names and (fault := names_fault(given.names, len(given.translations))):
        line.error(fault)


def run(line: CommandLine) -> int:
    from ...meta.output import one_line
    from ...scoring.testing import say_few_documents
    from ..bradley_terry import rank
    from ..metric import Pairwise

    given = line[Comparison]
    _check(line, given)
    form = flags.format_of(given.format, given.output)
    check_writable(given.output)
    if given.plot:
        from ...plots.figure import check_figure

        check_figure(given.plot)
    streams: Streams = {}
    names = given.names or system_names(given.translations)
    paths = {"src": given.source and [given.source], "ref": given.references, "doc": given.docids and [given.docids]}
    read_files(streams, given.encoding, paths | {"mt": given.translations})
    [sources], [doc_ids], engine = streams.get("src", [None]), streams.get("doc", [None]), line[EngineOptions]
    texts = Texts(names, streams["mt"], streams["ref"], sources, doc_ids, *(given.language_pair or (None, None)))
    chosen = MetricSettings("pairwise", Pairwise, {"model": given.model})
    of_line = Run(texts, [chosen], {}, engine, text_checks=not given.no_text_checks)
    metric, context = of_line.build()["pairwise"], of_line.context
    assert isinstance(metric, Pairwise)
    if context.sources is not None and "sources" not in capabilities(metric).reads:
        notice("the source is given, but the model does not read it")
    names = [one_line(name) for name in names]
    ranking = rank(metric.win_probabilities(), context.doc_ids, given.resamples, given.confidence, given.seed)
    if ranking.units == 1:
        unit = ranking.unit.removesuffix("s")
        notice(f"there is only one {unit}, so there are no intervals and no significant differences")
    elif ranking.unit == "documents":
        say_few_documents(ranking.units)
    signature = str(metric.get_signature().format())
    output.write(_render(names, ranking, signature, form, given), given.output)
    if form in SEPARATED and not engine.quiet:  # the other formats include it
        notice(f"Pairwise|{signature}")
    if given.plot:
        from ...plots.figure import save

        save(win_matrix(names, ranking), given.plot)
    return 0


def _render(names: Sequence[str], ranking: "Ranking", signature: str, form: str, given: Comparison) -> str:
    if form == "table":
        return _tables(names, ranking, signature, given)
    if form not in SEPARATED:
        return output.as_json(_objects(names, ranking, signature, given), form, None)
    decimals = output.decimals_of(form, given.width)
    columns = ["rank", "system", "win", "strength", "low", "high", *(f"against {names[j]}" for j in ranking.order)]
    rows = []
    for i in ranking.order:
        strengths = [output.number(value, decimals + 2) for value in (ranking.strengths[i], *ranking.intervals[i])]
        against = 100 * ranking.win_matrix[i, ranking.order]
        rows.append([ranking.ranks[i], names[i], 100 * ranking.win_shares[i], *strengths, *against])
    return output.cells(form, columns, rows, decimals)


def _objects(names: Sequence[str], ranking: "Ranking", signature: str, given: Comparison) -> list[dict[str, Any]]:
    """Return one object per system, strongest first; -w rounds only percentages and strengths."""

    def rounded(value: float, more: int = 0) -> float:
        return float(value) if given.width is None else round(float(value), given.width + more) + 0.0

    settings = {
        "segments": ranking.segments,
        "resampled": ranking.unit,
        "units": ranking.units,
        "resamples": ranking.resamples,
        "confidence": ranking.confidence,
        "seed": given.seed,
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


def _tables(names: Sequence[str], ranking: "Ranking", signature: str, given: Comparison) -> str:
    from ..bradley_terry import PRIOR

    decimals = output.decimals_of("table", given.width)
    order, level = ranking.order, f"{100 * ranking.confidence:g} %"

    def strength(value: float) -> str:
        return f"{round(value, decimals + 2) + 0.0:.{decimals + 2}f}"  # no "-0"

    def ends(i: int) -> str:
        low, high = ranking.intervals[i]
        return "-" if math.isnan(low) else f"[{strength(low)}, {strength(high)}]"

    def cell(i: int, j: int) -> str:
        return output.number(100 * ranking.win_matrix[i, j], decimals, "-") + "*" * ranking.better(i, j)

    shares = [f"{100 * share:.{decimals}f}" for share in ranking.win_shares]
    first = [[str(ranking.ranks[i]), names[i], shares[i], strength(ranking.strengths[i]), ends(i)] for i in order]
    notes = [
        "Win %: mean probability that an output is better than another system's output; segments scored: "
        f"{ranking.segments:,}.",
        f"Strength: Bradley-Terry, the log of the odds, with mean 0 and a prior of {PRIOR:g} games per pair of systems.",
    ]
    if ranking.units > 1:
        notes += [
            f"Intervals of {level}: {ranking.resamples:,} resamples of {ranking.units:,} {ranking.unit}, seed "
            f"{given.seed}. They show how the result varies with other {ranking.unit} and the same model; they do "
            "not include errors of the model.",
            "Systems that share a rank form one significance cluster.",
            f"* The row's system is significantly stronger than the column's (one-sided, {level}).",
        ]
    else:
        notes.append(
            f"A single {ranking.unit.removesuffix('s')} cannot be resampled, so there are no intervals and all "
            "systems have rank 1."
        )
    below = "\n".join(textwrap.fill(note, output.WIDTH, subsequent_indent="  ") for note in notes)
    tables = [
        output.table(["Rank", "System", "Win %", "Strength", f"{level} interval"], first),
        output.matrix("Row beats column, %", names, order, cell),
    ]
    return "\n\n".join([*tables, below, output.signatures([("Pairwise", signature)])]) + "\n"


def win_matrix(names: Sequence[str], ranking: "Ranking") -> "Figure":
    """Draw the win matrix, strongest system first; `names` are in the order of the ranking's strengths."""
    from ...plots.pairs import Matrix, pair_matrix

    places = range(len(names))
    sure = np.array([[ranking.better(i, j) or ranking.better(j, i) for j in places] for i in places])
    own = ranking.strengths, ranking.intervals, ranking.ranks
    labels = "row beats column (%)", f"strength, {100 * ranking.confidence:g} % interval"
    drawn = Matrix(100 * ranking.win_matrix, sure, *own, 50, NARROWEST, False, *labels)
    return pair_matrix(names, drawn, ranking.order)
