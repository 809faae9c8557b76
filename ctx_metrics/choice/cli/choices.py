"""The common parts of `ctx-metrics mbr` and `rerank`: candidates, metrics, and outputs."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from ...cli.common import flags
from ...cli.common.metrics import Metrics, chosen_metrics, metrics_setting
from ...cli.common.work import Kept, Work, checked_work
from ...cli.score import DEFAULT_METRIC, add_metric_flags
from ...cli.unknown_flags import COMET_SCORE, fix_of_flags
from ...engine_options import EngineOptions
from ...flag_types import File, Model, Positive, finite, output_or_stdout
from ...notices import notice
from ...paths import Reads, Target, Writes, file_target
from ...plugin import RECORD
from ...separated import SEPARATED
from ...settings import CommandLine, add_all, setting
from ...writing import check_writable, is_stream
from ..candidates import Item, check_form, read_items, render, say_duplicates

if TYPE_CHECKING:
    from ...corpus import Segments
    from ...run.run import Run
    from ...run.texts import Texts
    from ..blocks import ChoiceScores, Chooser

# our equivalents of comet-mbr's flags
COMET_MBR = {
    "--num_samples": "--num_samples N: -n N",
    "--rerank_top_k": "--rerank_top_k K: first ctx-metrics rerank FILE -s SRC --top K -o top.nbest, then mbr top.nbest",
    "--qe_model": "--qe_model MODEL: ctx-metrics rerank --model MODEL --top K; give its output to mbr",
    "-t": "-t FILE: name the candidates without a flag: ctx-metrics {} FILE",
    "--translations": "-t FILE: name the candidates without a flag: ctx-metrics {} FILE",
    "--sources": "--sources FILE: -s FILE",
}


@dataclass(frozen=True)
class Candidates:
    candidates: Annotated[Sequence[str], Reads(), "CANDIDATES"] = setting(
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

    def texts(self, systems: Sequence["Segments"] = (), sources: "Segments | None" = None) -> "Texts":
        from ...run.texts import Texts  # needs NumPy

        source_lang, target_lang = self.language_pair or (None, None)
        return Texts(systems=systems, sources=sources, source_lang=source_lang, target_lang=target_lang)

    def read(self, references: str | None = None) -> list[Item]:
        """Read the candidates, and their pseudo-references if a file of them is given."""
        items = read_items(
            self.candidates,
            self.input_format,
            self.num_samples,
            sources=self.source,
            references=references,
            encoding=self.encoding,
        )
        if self.no_text_checks:
            return items
        from ...corpus import named

        sources = [item.source for item in items]
        if len(self.candidates) > 1:  # each file holds one system
            systems = [named([item.candidates[k] for item in items], path) for k, path in enumerate(self.candidates)]
        else:
            systems = [named([text for item in items for text in item.candidates], self.candidates[0])]
            sources = [item.source for item in items for _ in item.candidates]
        there = None if None in sources else named(sources, self.source or "the sources")
        self.texts(systems, there).say_faults()
        return items


@dataclass(frozen=True)
class ByMetrics:
    metrics: Metrics | None = metrics_setting("choice", DEFAULT_METRIC, "; the scores of several are added up")
    weights: Sequence[float] | None = setting(
        "Weights of the metrics, whose scores are on sacrebleu's scale. (Default: 1)",
        action="store",
        type=finite,
        nargs="+",
        metavar="X",
    )
    model: Model | None = setting("Model of comet, unless its own flag (--comet-model) is given.")


def _targets(line: CommandLine, path: str) -> list[Target]:
    record = line[ChoiceOutput].record
    return [file_target(each) for each in (path, record) if each]


@dataclass(frozen=True)
class ChoiceOutput:
    top: Positive | None = setting(
        "Write the K best distinct candidates, each once. (Default: 1 with text, all with other formats)",
        metavar="K",
        group="output",
    )
    format: Literal["text", "nbest", "jsonl"] | None = setting(
        "text: one line per source; nbest: candidates and scores, best first; jsonl: candidates with their scores. "
        "(Default: by the ending of -o, if it is .nbest or .jsonl; nbest with --top; else text)"
    )
    output: Annotated[str, Writes(output_or_stdout, targets=_targets), "FILE"] | None = flags.output(
        "Output file, instead of the standard output (-)."
    )

    @property
    def ending(self) -> str:
        return (self.output or "").rpartition(".")[2].lower()

    @property
    def form(self) -> str:
        by_ending = self.ending if self.ending in ("nbest", "jsonl") else ""
        return self.format or by_ending or ("nbest" if self.top else "text")

    @property
    def record(self) -> str | None:
        """The record next to the output; None for an output that has all candidates, and for one that is not a file."""
        chosen = self.form == "text" or self.top is not None
        return None if self.output is None or is_stream(self.output) or not chosen else self.output + RECORD


@dataclass(frozen=True)
class ChoiceRun:
    """A checked command line of mbr or rerank.

    run    the metrics and settings; its texts have nothing but their languages
    """

    command: str
    candidates: Candidates
    run: "Run"
    weights: Sequence[float]
    written: ChoiceOutput
    work: Work
    kept: Kept

    def scored(self, items: Sequence[Item], chooser: "Chooser") -> "ChoiceScores":
        """Score the candidates; print counts and signatures."""
        from ...scale.kept import ResultCache
        from ..blocks import choose

        check_form(items, self.written.form)
        cache = ResultCache(self.kept.ctx_cache) if self.kept.ctx_cache is not None else None
        found = choose(items, chooser, self.work.on, self.work.workers, cache)
        say_duplicates(items)
        for name, counts in found.counts.items():
            if some := [f"{kind} = {number:,}" for kind, number in counts.items() if number]:
                notice(f"{name}: {', '.join(some)} (counted over all scored texts)")
        self.say_signatures(found.signatures)
        return found

    def say_signatures(self, signatures: Mapping[str, str]) -> None:
        for name, signature in () if self.run.engine.quiet else signatures.items():
            notice(f"{name}|{signature}")

    def write(
        self,
        items: Sequence[Item],
        scores: Sequence[Sequence[float]],
        signatures: Mapping[str, str],
        approximate: Sequence[str] = (),
    ) -> None:
        """Write the choices, see candidates.render, and the record of the metrics by which they were made."""
        from ...cli.common.output import write
        from ...interference.records import Choice, choices_of, write_record

        text, path = render(items, scores, self.written.form, self.written.top, approximate), self.written.output
        if path is None or self.written.record is None:
            return write(text, path)
        earlier = choices_of(self.candidates.candidates)
        write(text, path)
        names = [each.name for each, weight in zip(self.run.metrics, self.weights, strict=True) if weight]
        write_record(path, [*earlier, *(Choice(self.command, name, signatures[name]) for name in names)])


def add_choices(parser: ArgumentParser, argv: Sequence[str], *own: type) -> None:
    """Add all flags; the command's own settings, `own`, follow the choice of metrics."""
    add_all(parser, [Candidates, ByMetrics, *own, ChoiceOutput])
    add_metric_flags(parser, argv)
    add_all(parser, [Work, Kept, flags.quiet("No progress bars, and no signatures on stderr.")])


def checked(line: CommandLine, command: str) -> ChoiceRun:
    from ...run.run import Run  # needs NumPy

    engine, candidates, by, written = line[EngineOptions], line[Candidates], line[ByMetrics], line[ChoiceOutput]
    work = checked_work(line)
    metrics = chosen_metrics(line, by.metrics or [DEFAULT_METRIC], model=by.model)
    weights = by.weights or [1.0] * len(metrics)
    if len(weights) != len(metrics):
        names = ", ".join(each.name for each in metrics)
        line.error(f"--weights has {len(weights)} for {len(metrics)} metrics ({names}); give one per metric")
    if not any(weights):
        line.error("--weights are all 0; give at least one above 0")
    if written.format is None and written.ending in ("json", *SEPARATED):
        line.error(
            f"-o {written.output}: there is no format {written.ending} here; name a .jsonl or .nbest file, or give --format"
        )
    if written.form == "text" and (written.top or 1) > 1:
        line.error("--format text has one line per source; write --top candidates as nbest or jsonl")
    check_writable(written.output)
    if written.record:
        check_writable(written.record)
    run = Run(candidates.texts(), metrics, {}, engine, text_checks=False)
    return ChoiceRun(command, candidates, run, weights, written, work, line[Kept])


def fix_of_unknown(subcommand: str, words: Sequence[str]) -> str:
    """Return the fix of an error about flags of comet-score and comet-mbr."""
    return fix_of_flags(words, COMET_SCORE, {flag: text.format(subcommand) for flag, text in COMET_MBR.items()})
