"""All pairs of systems compared by some metrics: how they are tested, and the tables, rows and figure that show it."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sacrebleu.metrics.base import Metric

from ...corpus import document_ranges
from ...errors import InputError
from ...flag_types import Positive, Probability, Seed
from ...notices import counted, notice
from ...run.context import Context
from ...scoring.comparison import ALPHA, BOOTSTRAP, RANDOMIZATION, RESAMPLES, SEED, TESTS, TRIALS, Comparison
from ...scoring.scores import Scores
from ...settings import setting
from . import output

if TYPE_CHECKING:
    from ...report.content import Column

SCORES = ("score", "other_score", "difference", "low", "high")
COLUMNS = ("metric", "system", "other", *SCORES, "p", "p_holm", "significant")


@dataclass(frozen=True)
class Testing:
    """How systems are compared."""

    test: str = setting(
        "randomization (sacrebleu's --paired-ar), or bootstrap (sacrebleu's --paired-bs), which reports a difference "
        "between equal systems too often.",
        RANDOMIZATION,
        group="tests",
        choices=TESTS,
    )
    resample: Literal["segment", "document"] | None = setting(
        "The unit to swap or resample. (Default: document if there are at least two, else segment)"
    )
    samples: Positive | None = setting(
        f"Number of trials of the test. (Default: {TRIALS} for randomization, {RESAMPLES} for bootstrap)"
    )
    seed: Seed = setting("Seed of the trials.", SEED)
    alpha: Probability = setting("Level of significance.", ALPHA)
    no_holm: bool = setting("Do not correct p-values for the number of pairs.", False)

    @property
    def trials(self) -> int:
        """How many trials the test has."""
        return self.samples or (RESAMPLES if self.test == BOOTSTRAP else TRIALS)


class Compared(NamedTuple):
    """Systems with a column of scores a metric, and how they were tested: `unit` is segment or document, of which there are
    `units`."""

    names: Sequence[str]
    columns: "Sequence[Column]"
    testing: Testing
    unit: str
    units: int


def compared(
    names: Sequence[str],
    metrics: Mapping[str, Metric],
    scores: Sequence[Sequence[Scores]],
    context: Context,
    testing: Testing,
) -> Compared:
    """Test all pairs of systems by each metric.

    Raises InputError for documents that are asked for and are fewer than two; says what makes p-values rough.
    """
    from ...report.content import column
    from ...run.context import capabilities
    from ...scoring.resample import say_few_documents

    documents = len(document_ranges(context.doc_ids)) if context.doc_ids is not None else 0
    if testing.resample == "document" and documents < 2:
        found = counted(documents, "document", "documents")
        raise InputError(
            f"--resample document needs at least 2 documents, but the document ids hold {found}; use --resample segment"
        )
    unit = testing.resample or ("document" if documents > 1 else "segment")
    units = documents if unit == "document" else len(context.systems[0])
    if unit == "document":
        say_few_documents(documents)
    for name, metric in metrics.items():
        if unit == "segment" and units > 1 and capabilities(metric).dependent_rows:
            notice(f"{name}: segments share scores, so p-values of single segments are too small; give --docids FILE")
    _say_undecidable(testing, unit, units, len(context.systems))
    if units < 2:
        notice("there is only one segment, so there are no intervals and no p-values")
    columns = [
        column(
            name,
            metric,
            of_metric,
            context.doc_ids,
            by_document=unit == "document",
            test=testing.test,
            samples=testing.samples,
            seed=testing.seed,
            alpha=testing.alpha,
            holm=not testing.no_holm,
        )
        for (name, metric), of_metric in zip(metrics.items(), scores, strict=True)
    ]
    return Compared(names, columns, testing, unit, units)


def _say_undecidable(testing: Testing, unit: str, units: int, systems: int) -> None:
    """Say it where not even the smallest p-value there can be is significant: few units have few outcomes."""
    pairs = 1 if testing.no_holm else systems * (systems - 1) // 2
    smallest, few, more = 1 / (1 + testing.trials), counted(testing.trials, "trial", "trials"), "more --samples"
    swaps = 2.0 ** (1 - units)  # the share of the systems themselves, and of all units swapped
    if testing.test == RANDOMIZATION and swaps > smallest:
        smallest, few = swaps, counted(units, unit, f"{unit}s")
        more = "more documents, or --resample segment" if unit == "document" else "more segments"
    if units > 1 and smallest * pairs >= testing.alpha:
        corrected = f" ({min(smallest * pairs, 1):.2g} with Holm's correction for {pairs} pairs)" if pairs > 1 else ""
        notice(
            f"with {few} no p-value can be below {smallest:.2g}{corrected}, so no difference can be significant; use {more}"
        )


def render(found: Compared, form: str, decimals: int | None) -> str:
    """The text of a comparison in a format: table, latex, markdown, tsv, jsonl or json."""
    if form == "table":
        below = output.signatures((column.title, column.signature) for column in found.columns)
        return "\n\n".join([tables(found, decimals), below]) + "\n"
    if form in ("latex", "markdown"):
        from ...report.exports import pairs_tables

        decimals = output.decimals_of("table", decimals)
        return pairs_tables(found.columns, found.names, form, " ".join(_notes(found, intervals=False)), decimals)
    objects = [each for column in found.columns for each in _objects(found, column)]
    if form == "tsv":
        rows = [[each[name] for name in COLUMNS] for each in objects]
        rows = [[*row[:-1], str(row[-1]).lower()] for row in rows]
        return output.tsv(COLUMNS, rows, output.decimals_of("tsv", decimals))
    if decimals is not None:
        objects = [{**each, **{name: round(each[name], decimals) for name in SCORES}} for each in objects]
    return output.as_json(objects, form, None)


def tables(found: Compared, decimals: int | None) -> str:
    """The systems with intervals and ranks, all differences, metric by metric, and what they mean."""
    from ...meta.output.tables import WIDTH

    decimals = output.decimals_of("table", decimals)
    parts = []
    for column in found.columns:
        comparison, scores, order = column.comparison, [each.system for each in column.scores], column.order
        first = [
            [
                _rank(comparison, s),
                found.names[s],
                output.number(scores[s], decimals, "-"),
                _ends(comparison, s, decimals),
            ]
            for s in order
        ]

        def cell(i: int, j: int, scores: list[float] = scores, comparison: Comparison | None = comparison) -> str:
            if math.isnan(scores[i] - scores[j]):
                return "-"
            sure = comparison is not None and comparison.differ(i, j)
            return f"{round(scores[i] - scores[j], decimals) + 0.0:+.{decimals}f}" + "*" * sure

        parts += [
            output.table(["Rank", "System", column.title, "95 % interval"], first),
            output.matrix("Row minus column", found.names, order, cell),
        ]
    notes = [textwrap.fill(note, WIDTH, subsequent_indent="  ") for note in _notes(found)]
    return "\n\n".join([*parts, "\n".join(notes)])


def draw(found: Compared, path: str) -> None:
    """Write the figure of the first metric; says so where there is nothing to draw."""
    from ...meta.plots import save
    from ...meta.plots.win_matrix import difference_matrix

    first = found.columns[0]
    if first.comparison is None:
        notice(f"{path}: a figure needs at least two segments, so none is drawn")
        return
    scores = [each.system for each in first.scores]
    save(difference_matrix(found.names, first.title, scores, first.comparison, first.order, first.sign), path)


def _rank(comparison: Comparison | None, system: int) -> str:
    return "-" if comparison is None or not comparison.ranks[system] else str(comparison.ranks[system])


def _ends(comparison: Comparison | None, system: int, decimals: int) -> str:
    if comparison is None or math.isnan(comparison.means[system]):
        return "-"
    mean, margin = comparison.means[system], comparison.margins[system]
    return f"[{mean - margin:.{decimals}f}, {mean + margin:.{decimals}f}]"


def _notes(found: Compared, intervals: bool = True) -> list[str]:
    """What the tables mean, in sentences; `intervals` says whether they show any."""
    testing, pairs = found.testing, len(found.names) * (len(found.names) - 1) // 2
    first = "Each cell is the row's score minus the column's."
    if found.units < 2:
        return [first]
    bootstrap = testing.test == BOOTSTRAP
    name = "paired bootstrap" if bootstrap else "approximate randomization"
    corrected = "not corrected" if testing.no_holm or pairs < 2 else f"Holm's correction for {pairs} pairs"
    units = counted(found.units, found.unit, f"{found.unit}s")
    resamples = testing.trials if bootstrap else RESAMPLES
    return [
        f"{first} * marks p < {testing.alpha:g} ({name}, {testing.trials:,} trials, {units}, seed {testing.seed}, "
        f"{corrected}).",
        *[f"Intervals: bootstrap, {resamples:,} resamples."] * intervals,
        "Systems of one rank are in one significance cluster.",
    ]


def _objects(found: Compared, column: "Column") -> list[dict[str, Any]]:
    """A pair of systems each, the better one first."""
    comparison, scores = column.comparison, [each.system for each in column.scores]
    pairs = [(i, j) for place, i in enumerate(column.order) for j in column.order[place + 1 :]]
    testing, nothing = found.testing, math.nan
    return [
        {
            "metric": column.name,
            "system": found.names[i],
            "other": found.names[j],
            "score": scores[i],
            "other_score": scores[j],
            "difference": scores[i] - scores[j],
            "low": nothing if comparison is None else float(comparison.differences[i, j, 0]),
            "high": nothing if comparison is None else float(comparison.differences[i, j, 1]),
            "p": nothing if comparison is None else float(comparison.p_values[i, j]),
            "p_holm": nothing if comparison is None or testing.no_holm else float(comparison.adjusted[i, j]),
            "significant": comparison is not None and comparison.differ(i, j),
            "rank": comparison and comparison.ranks[i],
            "other_rank": comparison and comparison.ranks[j],
            "test": testing.test,
            "unit": found.unit,
            "units": found.units,
            "alpha": testing.alpha,
            "seed": testing.seed,
            "signature": column.signature,
        }
        for i, j in pairs
    ]
