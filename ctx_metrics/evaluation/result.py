"""The result of `evaluate`: scores as floats, and from them tables, tests of all pairs of systems, and a report."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sacrebleu.metrics.base import Metric
from tabulate import tabulate

from ..cli.common import output
from ..cli.common.comparisons import SystemComparisons, compared
from ..corpus import document_ranges
from ..errors import InputError
from ..run.outputs import installed_outputs
from ..run.run import RunScores
from ..scoring.context import Context
from ..scoring.names import name_in_files
from ..scoring.scores import Scores
from ..scoring.testing import ALPHA, SEED, USUAL, SystemTests
from ..settings import check_values
from ..types_of_values import check_type
from ..writing import check_writable, write_whole
from .frames import frame
from .one_run import one_run
from .pairs import Comparisons

if TYPE_CHECKING:
    import pandas

Level = Literal["system", "document", "segment"]
LEVELS = ("system", "document", "segment")


class SystemScores(NamedTuple):
    """One system's scores, by metric; NaN where nothing was scored.

    documents    by document id; empty without document ids
    segments     in the order of the texts
    """

    system: dict[str, float]
    documents: dict[str, dict[str, float]]
    segments: dict[str, list[float]]


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Mapping[str, SystemScores]):
    """Scores of one or several systems. print(result) shows the table that `ctx-metrics score` prints.

    result.system, .documents and .segments are the scores of a single system, by metric; with several, name one:
    result["A"].system["bleu"].

    of_run     the systems' names and texts, the metrics that scored, and all scores
    notices    messages issued during scoring
    """

    of_run: RunScores
    notices: Sequence[str] = ()

    @property
    def names(self) -> Sequence[str]:
        """The names of the systems."""
        return self.of_run.context.names

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics that scored, by name."""
        return self.of_run.metrics

    @property
    def context(self) -> Context:
        return self.of_run.context

    @property
    def scores(self) -> Sequence[Sequence[Scores]]:
        """The scores of each metric and system."""
        return self.of_run.scores

    def __getitem__(self, system: str) -> SystemScores:
        if system not in self.names:
            raise KeyError(system)
        own = dict(zip(self.metrics, (of[self.names.index(system)] for of in self.scores), strict=True))
        ids = self.context.doc_ids
        documents = [] if ids is None else [ids[start] for start, _ in document_ranges(ids)]
        return SystemScores(
            {metric: each.system for metric, each in own.items()},
            {metric: dict(zip(documents, each.documents, strict=True)) for metric, each in own.items()},
            {metric: each.segments for metric, each in own.items()},
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def system(self) -> dict[str, float]:
        """The only system's scores by metric."""
        return self._only.system

    @property
    def documents(self) -> dict[str, dict[str, float]]:
        """The only system's scores of documents, by metric and document id."""
        return self._only.documents

    @property
    def segments(self) -> dict[str, list[float]]:
        """The only system's scores of segments, by metric."""
        return self._only.segments

    @property
    def _only(self) -> SystemScores:
        if len(self.names) > 1:
            raise InputError(f"there are several systems: name one, such as result[{self.names[0]!r}].system")
        return self[self.names[0]]

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each metric, to report with its scores."""
        return {name: output.printed_signature(metric, 100) for name, metric in self.metrics.items()}

    def details(self, metric: str) -> list[list[dict[str, Any]]]:
        """A learned model's results besides the scores, for each system and segment: parts and error_spans."""
        if metric not in [*self.metrics]:
            raise InputError(f"no metric of this result is named {short(metric)}; there are {', '.join(self.metrics)}")
        found = output.report(
            self.metrics[metric], self.scores[[*self.metrics].index(metric)], ["segment"], 100
        ).details
        length = len(self.context.systems[0])
        return [found[start : start + length] for start in range(0, len(found), length)]

    def to_pandas(self, level: Level = "system") -> "pandas.DataFrame":
        """Return a table with a row for each system, document or segment, and a column for each metric.

        Columns have the metrics' names in files: comet-embedded where the embedded model scored.
        """
        names = self._names_in_files()
        rows = [
            {**place._asdict(), **dict(zip(names, row.values(), strict=True))}
            for place, row in self._rows(_checked(level))
        ]
        kept = {"system": ["system"], "document": ["system", "document"], "segment": ["system", "document", "segment"]}
        columns = [name for name in kept[level] if name != "document" or self.context.doc_ids is not None]
        return frame(rows, [*columns, *names])

    def _names_in_files(self) -> list[str]:
        return [name_in_files(name, self.metrics[name], signature) for name, signature in self.signatures.items()]

    def _rows(self, level: Level) -> Iterator[tuple[output.Place, dict[str, float]]]:
        if level == "document" and self.context.doc_ids is None:
            raise InputError("scores of documents need docs, the document id of each segment")
        columns = [[score for each in of for score in _of_level(each, level)] for of in self.scores]
        places = output.places(self.names, len(self.context.systems[0]), self.context.doc_ids, [level])
        for place, scores in zip(places, zip(*columns, strict=True), strict=True):
            yield place, dict(zip(self.metrics, scores, strict=True))

    def __repr__(self) -> str:
        reports = {
            name: output.report(metric, of, ["system"], 100)
            for (name, metric), of in zip(self.metrics.items(), self.scores, strict=True)
        }
        places = output.places(self.names, len(self.context.systems[0]), None, ["system"])
        return output.render(reports, places, "table", None, 100).rstrip("\n")

    def _repr_html_(self) -> str:
        rows = [
            [place.system, *(output.number(row[name], 1, "-") for name in row)] for place, row in self._rows("system")
        ]
        align, titles = ["left", *["right"] * len(self.metrics)], [of[0].title for of in self.scores]
        table = tabulate(rows, ["system", *titles], "html", colalign=align, disable_numparse=True)
        named = [*zip(titles, self.signatures.values(), strict=True)]
        signed = tabulate(named, ["metric", "signature"], "html", disable_numparse=True)
        return f"{table}\n<details><summary>signatures</summary>{signed}</details>"

    def compare(
        self,
        *,
        test: Literal["randomization", "bootstrap"] = "randomization",
        resample: Literal["segment", "document"] | None = None,
        samples: int | None = None,
        seed: int = SEED,
        alpha: float = ALPHA,
        holm: bool = True,
    ) -> Comparisons:
        """Test all pairs of systems, as `ctx-metrics compare` does.

        resample    the unit to swap or resample; by default document if there are at least two, else segment
        samples     trials of the test; by default 10,000 for randomization, 1,000 for bootstrap
        holm        whether to correct p-values for the number of pairs
        """
        given = locals()
        if len(self.names) < 2:
            raise InputError(
                "there is only one system", fix="a comparison needs at least two: hypotheses={'A': [...], 'B': [...]}"
            )
        kinds = {"test": str, "resample": Literal["segment", "document"] | None, "samples": int | None, "seed": int}
        for name, kind in {**kinds, "alpha": float, "holm": bool}.items():
            check_type(name, given[name], kind)
        testing = SystemTests(test, resample, samples, seed, alpha, not holm)
        check_values(testing)
        with one_run():
            return Comparisons(self._compared(testing))

    def report(self, path: str | os.PathLike[str] = "report.html", *, title: str | None = None) -> None:
        """Write the page of `ctx-metrics report`: texts and scores, systems, segments, documents and charts."""
        from ..report.content import Content, check_size
        from ..report.page import check_installed, page, title_of

        check_type("path", path, str | os.PathLike)
        check_type("title", title, str | None)
        file = os.fspath(path)
        check_writable(file)
        check_installed()
        check_size(self.context.systems)
        with one_run() as notices:
            _, columns, design = self._compared(SystemTests())
        content = Content(self.context, design, columns, [*dict.fromkeys([*self.notices, *notices])])
        write_whole(file, page([content], title or title_of(content)))

    def write(self, output: str, path: str | os.PathLike[str]) -> None:
        """Write a file that an installed package adds to runs: the one that --OUTPUT writes in `ctx-metrics score`."""
        check_type("path", path, str | os.PathLike)
        known = {each.name: each for each in installed_outputs()}
        if output not in known:
            raise InputError(f"no output of a run is named {short(output)}; there are {', '.join(known)}")
        check_writable(os.fspath(path))
        with one_run():
            known[output].check(self.context, USUAL)
            text = known[output].text(self.of_run, USUAL)
        write_whole(os.fspath(path), text)

    def _compared(self, testing: SystemTests) -> SystemComparisons:
        return compared(self.of_run, testing)


def _of_level(scores: Scores, level: Level) -> Sequence[float]:
    return {"system": [scores.system], "document": scores.documents, "segment": scores.segments}[level]


def _checked(level: Level) -> Level:
    if not isinstance(level, str) or level not in LEVELS:
        raise InputError(f"level {level!r} is not one of {', '.join(LEVELS)}")
    return level
