"""Extends sacrebleu's command by rebinding names in its modules, all in one place."""

import argparse
import functools
import io
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any, BinaryIO, TextIO

from sacrebleu import metrics, utils
from sacrebleu.metrics.base import Metric, Score

from ..checks.references import say_empty
from ..corpus import named
from ..environment import OF_COMMANDS, environment
from ..errors import CtxMetricsError, InputError, as_line
from ..notices import counted, notice, quiet_libraries, say
from ..reading import read_stream, read_text, split_lines
from ..registry import MetricTable
from ..run.wrappers import reader_fix, wrapped
from ..scoring.context import MetricSettings, building, capabilities
from ..wording import by_flags
from ..writing import lost, printing
from .arguments import parser_class
from .capture import Command, CommandRun
from .view import view

# names of `sacrebleu.sacrebleu` that methods of Replacements replace
REPLACED = (
    "smart_open filter_subset sanity_check_lengths print_single_results print_results_table print_subset_results main"
).split()


def extend(module: ModuleType) -> None:
    """Rebind names of `sacrebleu.sacrebleu`, and `filter_subset` of `sacrebleu.utils`, which --detail calls there."""
    assert isinstance(metrics.METRICS, MetricTable)  # see extend of the package
    command = Command(metrics.METRICS)
    ours = Replacements(module, command)
    utils.filter_subset = ours.filter_subset
    vars(module).update(
        METRICS=CommandTable(command),
        argparse=view(module.argparse, ArgumentParser=parser_class(command)),
        io=view(module.io, TextIOWrapper=ours.standard_input),
        **{name: getattr(ours, name) for name in REPLACED},
    )


class CommandTable(dict):
    """METRICS as the command sees it: a plugin metric's entry builds the metric with the run's context.

    In active runs, the entries of sacrebleu's own metrics do so too, so that all metrics can be resampled and written to
    files.
    """

    def __init__(self, command: Command):
        super().__init__(dict.fromkeys(command.table))
        self._command = command
        self._plugins = frozenset(command.table.plugins)

    def __getitem__(self, key: str):
        name, command = key.lower(), self._command
        if name not in self._plugins and not command.active:
            return command.table.built_in[key]
        return functools.partial(self._make, name)

    def _make(self, name: str, references, **flags) -> Metric:
        """Build a metric; main() calls this instead of the class.

        main() selects `flags` by prefix, which is not reliable for our metrics; they take theirs from the run.
        """
        run = self._command.run
        assert run
        asked, run.references = run.asked, references
        if not run.metrics:  # fail early, not after an hour of scoring
            if asked.by_document or asked.targets:
                run.document_ids()
            if asked.targets:
                run.names()
                from . import files

                files.check(run)
            run.plugin_run.check()
        if name in self._plugins:
            metric = self._prepared(name, run)
        else:
            [own] = wrapped([MetricSettings(name, run.table[name.upper()], flags)], asked.wraps)
            # a wrapped metric reads more of the run than its references, and a reader adds to its signature
            if asked.changes_all:
                metric = run.build([own], references, run.systems)[name]
            else:
                with building(run.table[name.upper()]):
                    metric = run.table[name.upper()](references=references, **flags)
        if asked.tested and (asked.chosen or asked.by_document):
            _test_as_we_do(metric, run.document_ids() if asked.by_document else None)
        run.metrics[name] = metric
        if len(run.metrics) == len(set(asked.flags.metrics)):
            for check in asked.checks:
                check(run.metrics, run.names())
            if not asked.changes_all:  # else run.build has said it
                say_empty(references, asked.stock)
        if asked.flags.sentence_level:  # main() prints while it scores, and has only this metric
            _write_files(run)
        return metric

    def _prepared(self, name: str, run: CommandRun) -> Metric:
        from ..scoring.base import ContextMetric

        asked = run.asked
        metric = run.plugin_metrics[name]
        if name == asked.chosen[-1].name:
            run.report_unused(run.plugin_metrics)
        if asked.tested and not asked.by_document and capabilities(metric).dependent_rows:
            notice(
                f"{name}: the sentences of a window share its score, so intervals and p-values from resampled segments "
                "are too small; resample whole documents with --ctx-resample document"
            )
        if asked.flags.sentence_level and hasattr(metric, "effective_order"):
            metric.effective_order = True  # as main() does for BLEU
        of_one = (Metric.sentence_score, ContextMetric.sentence_score)
        if asked.flags.sentence_level and type(metric).sentence_score in of_one:
            in_order = _sentences_in_order(metric, run.systems[0])
            vars(metric)["sentence_score"] = lambda hypothesis, references: next(in_order)
        return metric


def _test_as_we_do(metric: Metric, doc_ids: Sequence[str] | None) -> None:
    """Make the run's paired test ours, and resample documents if their ids are given; main() imports the test by name."""
    from sacrebleu import significance

    from ..scoring.resample import DocumentPairedTest, resample_documents

    if doc_ids is not None:
        resample_documents(metric, doc_ids)
    vars(significance)["PairedTest"] = DocumentPairedTest


def _sentences_in_order(metric: Metric, system: Sequence[str]) -> Iterator[Score]:
    """Yield the scores that `sentence_score` returns, call by call, under --sentence-level.

    The system is scored once, with its context.
    """
    from ..scoring.scores import aggregate, rows_of

    for row in rows_of(metric, system):
        yield aggregate(metric, [row])


class Replacements:
    """The replacements of functions of sacrebleu's command, under their names; `_own` has the originals."""

    def __init__(self, module: ModuleType, command: Command):
        self._own, self._command = SimpleNamespace(**{name: getattr(module, name) for name in REPLACED}), command

    def standard_input(self, buffer: BinaryIO, encoding: str) -> TextIO:
        """Return the standard input for main(); raise InputError unless all lines have the same number of columns."""
        if (run := self._command.active) is None:
            return io.TextIOWrapper(buffer, encoding=encoding)
        name = "the standard input"
        if run.asked.reader:
            raise InputError("texts whose lines do not match are read from files: name them with -i")
        lines = io.StringIO(read_stream(buffer, name, encoding), newline=None)
        columns = [line.rstrip().count("\t") + 1 for line in lines]
        if not columns:
            raise InputError(
                f"{name} is empty", fix="give the hypotheses there, one per line, or name their file with -i"
            )
        run.columns = columns[0]
        _check_columns(name, columns, columns[0], "line 1 has {}; sacrebleu drops an empty last column: use -i FILES")
        lines.seek(0)
        return lines

    def smart_open(self, file: str, *args: Any, encoding: str = "utf-8", **options: Any) -> Any:
        """Return a file's lines; raise InputError unless it is text with the columns of -nr."""
        if (run := self._command.active) is None:
            return self._own.smart_open(file, *args, encoding=encoding, **options)
        if run.asked.reader and file in (run.asked.flags.input or ()) and file not in run.asked.flags.refs:
            return []  # filter_subset has all that is read, and lets the reader fill it in
        if os.path.isdir(file):
            own = file in (run.asked.flags.input or ())
            fix = reader_fix("--ctx-") if own else f"in ctx-metrics score, {reader_fix()}"
            raise InputError(f"cannot read {file}: it is a folder", fix=fix)
        lines = split_lines(read_text(file, encoding), file)
        if not lines:
            raise InputError(f"{file} is empty", fix="it must hold one segment per line")
        refs, number = run.asked.flags.refs, run.asked.flags.num_refs
        if refs == [file] and number > 1:
            columns = [min(line.count("\t") + 1, number) for line in lines]
            _check_columns(file, columns, number, "-nr asks for {} references")
        return lines

    def filter_subset(
        self, systems: Iterable[Any], test_sets: str, langpair: str, origlang: Any, subset: str | None = None
    ) -> Any:
        """Return selected rows, which store which rows of the test set they are."""
        systems, run = list(systems), self._command.active
        if run is not None and (run.asked.reader or run.asked.text_reader) and run.read is None:
            run.read_systems(systems)
        if run is None or (origlang is None and subset is None) or not isinstance(systems[0], list):
            return self._own.filter_subset(systems, test_sets, langpair, origlang, subset)
        run.whole_length = len(systems[0])
        references = systems[-run.asked.flags.num_refs :]
        for number, system in enumerate(systems[: -len(references)]):
            run.check_lengths(number, system, references)  # filter_subset would cut all streams to the shortest
        numbered = [*systems, range(len(systems[0]))]
        try:
            *picked, indices = self._own.filter_subset(numbered, test_sets, langpair, origlang, subset)
        except Exception as error:  # sacrebleu raises bare Exceptions here, or KeyError for some test sets' layout
            why = "" if isinstance(error, KeyError) else f": {error}"
            raise InputError(
                f"this sacrebleu cannot pick --origlang or --subset from {test_sets} {langpair}{why}"
            ) from error
        return [named(lines, "", indices) for lines in picked]

    def sanity_check_lengths(
        self, system: Sequence[str], refs: Sequence[Sequence[str]], test_set: str | None = None
    ) -> None:
        """Also store the system; main() calls this per system before it builds the metrics."""
        run = self._command.run
        assert run
        if run.asked.active:
            run.check_lengths(len(run.systems), system, refs)
        self._own.sanity_check_lengths(system, refs, test_set=test_set)
        name, indices = run.system_name(len(run.systems)), getattr(system, "indices", None)
        run.systems.append(named(system, name, indices))
        if not run.asked.chosen:
            run.report_unused()

    def print_single_results(self, results: Sequence[str], args: argparse.Namespace) -> None:
        """Print our signatures in short form if one of our metrics is printed with others.

        All lines then start at the margin. Aligned scores, as sacrebleu prints them, would put 176 blanks before BLEU's.
        """
        with self._printing():
            run = self._command.run
            if args.format != "text" or args.score_only or not run or not run.asked.chosen or len(results) == 1:
                return self._own.print_single_results(results, args)
            from ..scoring.base import ContextMetric  # at the top, every start of sacrebleu would import it

            metrics = [run.metrics[name] for name in sorted(run.metrics)]  # in sacrebleu's order of results
            if not any(isinstance(metric, ContextMetric) for metric in metrics):
                return self._own.print_single_results(results, args)
            for metric, line in zip(metrics, results, strict=True):
                if isinstance(metric, ContextMetric):
                    signature = metric.get_signature()
                    line = line.replace(signature.format(), signature.format(short=True), 1)
                self._own.print_single_results([line], args)

    def print_results_table(
        self, results: Mapping[str, Any], signatures: Mapping[str, Any], args: argparse.Namespace
    ) -> None:
        """Convert numbers that json cannot write.

        Under NumPy 2, the bootstrap means of chrF and TER are np.float32, which crash sacrebleu's default format. NaN
        becomes null.
        """
        for cell in (cell for column in results.values() for cell in column if hasattr(cell, "p_value")):
            for key, value in vars(cell).items():
                value = value.item() if hasattr(value, "item") else value
                if args.format == "json" and isinstance(value, float) and math.isnan(value):
                    value = None
                setattr(cell, key, value)
        with self._printing():
            return self._own.print_results_table(results, signatures, args)

    def print_subset_results(
        self,
        metrics: Mapping[str, Any],
        full_system: Sequence[str],
        full_refs: Sequence[Sequence[str]],
        args: argparse.Namespace,
    ) -> None:
        """Print the scores of subsets; each of our metrics is built again for each, with the context of its rows."""
        run = self._command.run
        assert run
        ours = {each.name.upper(): each for each in run.asked.chosen}
        if isinstance(args.origlang, str):  # sacrebleu would iterate over its letters
            args = argparse.Namespace(**{**vars(args), "origlang": [args.origlang]})
        metrics = {
            name: WithContextOf(run, ours[name.upper()]) if name.upper() in ours else metric
            for name, metric in metrics.items()
        }
        with printing() if self._command.active else nullcontext():
            return self._own.print_subset_results(metrics, full_system, full_refs, args)

    @contextmanager
    def _printing(self) -> Iterator[None]:
        """Write the run's files before the block prints its scores.

        If the reader of the standard output, such as head, has closed it, the first printed line ends the process.
        """
        if (run := self._command.active) is None:
            yield
            return
        _write_files(run)
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="surrogateescape")  # file names need not be valid text
        with printing():
            yield

    def main(self) -> None:
        """Run the command, which ends with one line and exit code 1, not a traceback, for errors that a user can fix."""
        command = self._command
        try:
            try:
                with by_flags(), environment(OF_COMMANDS), quiet_libraries():
                    self._own.main()
            except SystemExit as end:  # --sentence-level ends this way
                if end.code or not (command.run and command.run.unwritten):
                    raise
            if command.run and command.run.unwritten:
                raise command.run.unwritten
        except KeyboardInterrupt as stopped:
            if not command.active:
                raise
            say(f"stopped{f'; {stopped}' if str(stopped) else ''}", "sacreBLEU")
            sys.exit(130)
        except Exception as error:
            line = as_line(error) if command.active or isinstance(error, CtxMetricsError) else None
            if line is None:
                raise
            of_test_set = ""
            if isinstance(error, OSError) and command.run:
                flags = command.run.asked.flags
                if flags.sentence_level and error.filename is None:  # main() prints the scores itself
                    line = str(lost(error, sys.stdout.fileno()))
                of_test_set = f"test set {flags.test_set}: " if flags.test_set else ""
            say(f"error: {of_test_set}{line}", "sacreBLEU")
            sys.exit(1)


def _check_columns(name: str, columns: list[int], wanted: int, why: str) -> None:
    for number, given in enumerate(columns, 1):
        if given != wanted:
            shown = counted(given, "tab-separated column", "tab-separated columns")
            raise InputError(f"{name}, line {number}: {shown}, but {why.format(wanted)}")


class WithContextOf:
    """Stands in for a plugin metric under --detail: builds it again for each subset, with the context of its rows."""

    def __init__(self, run: CommandRun, metric: MetricSettings):
        self._run, self._metric = run, metric

    def corpus_score(self, system: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
        [metric] = self._run.build([self._metric], references, [system]).values()
        return metric.corpus_score(system, None)


def _write_files(run: CommandRun) -> None:
    """Write the run's files; an error is raised only after the scores are printed, so that the scores are not lost."""
    if not run.asked.targets:
        return
    from . import files

    try:
        files.write(run)
    except InputError as error:
        run.unwritten = error
