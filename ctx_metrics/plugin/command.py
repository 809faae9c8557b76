"""Extends sacrebleu's command by rebinding names in its modules, all in one place."""

import argparse
import functools
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from types import ModuleType

from sacrebleu import metrics, utils
from sacrebleu.metrics.base import Metric, Score

from ..errors import CtxMetricsError, InputError, as_line
from ..notices import counted, notice
from ..reading import decode, read_text, split_lines
from ..run.context import capabilities
from ..run.flags import add_metric_arguments
from ..run.registry import MetricTable
from ..run.streams import Segments
from ..standard_streams import lost, printing
from ..wording import by_flags
from . import files, output
from .arguments import parser_class
from .capture import Run
from .view import view


def extend(module: ModuleType) -> None:
    """Rebind names of `sacrebleu.sacrebleu`, and `filter_subset` of `sacrebleu.utils`, which --detail calls there."""
    if not isinstance(metrics.METRICS, MetricTable):
        return  # a sacrebleu with its own plugin mechanism
    run = Run(metrics.METRICS)
    utils.filter_subset = _remembering_rows(utils.filter_subset, run)
    vars(module).update(
        METRICS=CommandTable(run),
        argparse=view(module.argparse, ArgumentParser=parser_class(run)),
        io=view(module.io, TextIOWrapper=functools.partial(_standard_input, run)),
        smart_open=_with_clear_lines(module.smart_open, run),
        filter_subset=utils.filter_subset,
        sanity_check_lengths=_noting_systems(module.sanity_check_lengths, run),
        print_single_results=_after_files(output.short_at_the_margin(module.print_single_results, run), run),
        print_results_table=_after_files(output.json_safe(module.print_results_table), run),
        print_subset_results=_with_context(module.print_subset_results, run),
        main=_with_clear_errors(module.main, run),
    )


class CommandTable(dict):
    """METRICS as the command sees it: a plugin metric's entry builds the metric with the run's context.

    In active runs, the entries of sacrebleu's own metrics do so too, so that all metrics can be resampled and written to
    files.
    """

    def __init__(self, run: Run):
        super().__init__(dict.fromkeys(run.table))
        self._run = run
        self._ours: dict[str, Metric] = {}  # the run's plugin metrics, all built when main() asks for the first of them

    def __getitem__(self, key: str):
        name, run = key.lower(), self._run
        if name not in run.table.plugins and not run.active:
            return run.table[key]
        maker = functools.partial(self._make, name)
        if run.native:  # it asks a class for its flags and for the context that it takes
            vars(maker).update(
                __name__=run.table[key].__name__,
                add_arguments=functools.partial(self._add_arguments, name),
                context_args=functools.partial(self._context_args, name),
            )
        return maker

    def _add_arguments(self, name: str, group: argparse._ArgumentGroup) -> None:
        """Check a plugin metric's flags and add them to sacrebleu's group for them."""
        trial, cls = argparse.ArgumentParser(add_help=False), self._run.table[name.upper()]
        self._run.flags[name] = add_metric_arguments(trial, name, self._run.table)
        cls.add_arguments(group)

    def _context_args(self, name: str) -> list[str]:
        """Return the context that sacrebleu passes to a metric.

        Plugin metrics are all built at once, so each gets what any of them reads.
        """
        chosen = self._run.chosen if name in self._run.table.plugins else []
        reads = frozenset[str]().union(*(capabilities(self._run.table[each.upper()]).reads for each in chosen))
        return sorted(reads & {"sources", "doc_ids"})

    def _make(self, name: str, references, **flags) -> Metric:
        """Build a metric; main() calls this instead of the class.

        main() selects `flags` by prefix, which is not reliable for our metrics; they take theirs from the run.
        """
        run = self._run
        run.references = references
        if not run.metrics:  # fail early, not after an hour of scoring
            if run.by_document or run.targets:
                run.document_ids()
            if run.targets:
                run.names()
            files.check(run)
            self._ours = {}
        if name in run.table.plugins:
            if run.native:
                run.received = {key: flags[key] for key in self._context_args(name) if key in flags}
            metric = self._prepared(name, references)
        else:
            metric = run.table[name.upper()](references=references, **flags)
        if run.by_document and (doc_ids := run.document_ids()) is not None:
            _resample_documents(metric, doc_ids)
        run.metrics[name] = metric
        if len(run.metrics) == len(set(run.args.metrics)) and not run.args.ctx_no_text_checks:
            run.check_texts(references)
        if run.args.sentence_level:  # main() prints while it scores, and has only this metric
            _write_files(run)
        return metric

    def _prepared(self, name: str, references) -> Metric:
        """Return a plugin metric, ready for main(), and give the notices about it."""
        from ..scoring.base import ContextMetric

        run = self._run
        if not self._ours:
            self._ours = run.build(run.chosen, references, run.systems)
        metric = self._ours[name]
        if name == run.chosen[-1]:
            run.report_unused()
        if run.tested and not run.by_document and capabilities(metric).dependent_rows:
            notice(
                f"{name}: the sentences of a window share its score, so intervals and p-values from resampled segments "
                "are too small; resample whole documents with --ctx-resample document"
            )
        if run.args.sentence_level and hasattr(metric, "effective_order"):
            metric.effective_order = True  # as main() does for BLEU
        of_one = (Metric.sentence_score, ContextMetric.sentence_score)
        if run.args.sentence_level and type(metric).sentence_score in of_one:
            in_order = _sentences_in_order(metric, run.systems[0])
            vars(metric)["sentence_score"] = lambda hypothesis, references: next(in_order)
        return metric


def _resample_documents(metric: Metric, doc_ids: Sequence[str]) -> None:
    """Make the run's intervals and paired test resample documents; main() imports the test by name."""
    from sacrebleu import significance

    from ..scoring.resample import DocumentPairedTest, resample_documents

    resample_documents(metric, doc_ids)
    vars(significance)["PairedTest"] = DocumentPairedTest


def _sentences_in_order(metric: Metric, system: Sequence[str]) -> Iterator[Score]:
    """Yield the scores that `sentence_score` returns, call by call, under --sentence-level.

    The system is scored once, with its context.
    """
    for row in metric._extract_corpus_statistics(system, None):
        yield metric._aggregate_and_compute([row])


def _standard_input(run: Run, buffer, encoding: str):
    """Return the standard input for main(); raises InputError unless all lines have the same number of columns."""
    if not run.active:
        return io.TextIOWrapper(buffer, encoding=encoding)
    name = "the standard input"
    lines = io.StringIO(decode(buffer.read(), name, encoding), newline=None)
    columns = [line.rstrip().count("\t") + 1 for line in lines]
    if not columns:
        raise InputError(f"{name} is empty; give the hypotheses there, one per line, or name their file with -i")
    run.columns = columns[0]
    _check_columns(name, columns, columns[0], "line 1 has {}; sacrebleu drops an empty last column: use -i FILES")
    lines.seek(0)
    return lines


def _with_clear_lines(smart_open, run: Run):
    """Return a smart_open that returns a file's lines; raises InputError unless it is text with the columns of -nr."""

    @functools.wraps(smart_open)
    def wrapper(file, *args, encoding="utf-8", **options):
        if not run.active:
            return smart_open(file, *args, encoding=encoding, **options)
        lines = split_lines(read_text(file, encoding), file)
        if not lines:
            raise InputError(f"{file} is empty; it must hold one segment per line")
        if run.args.refs == [file] and run.args.num_refs > 1:
            columns = [min(line.count("\t") + 1, run.args.num_refs) for line in lines]
            _check_columns(file, columns, run.args.num_refs, "-nr asks for {} references")
        return lines

    return wrapper


def _check_columns(name: str, columns: list[int], wanted: int, why: str) -> None:
    for number, given in enumerate(columns, 1):
        if given != wanted:
            shown = counted(given, "tab-separated column", "tab-separated columns")
            raise InputError(f"{name}, line {number}: {shown}, but {why.format(wanted)}")


def _remembering_rows(filter_subset, run: Run):
    """Return a filter_subset whose results store which rows of the test set they are."""

    @functools.wraps(filter_subset)
    def wrapper(systems, test_sets, langpair, origlang, subset=None):
        systems = list(systems)
        if not run.active or (origlang is None and subset is None) or not isinstance(systems[0], list):
            return filter_subset(systems, test_sets, langpair, origlang, subset)
        run.whole_length = len(systems[0])
        references = systems[-run.args.num_refs :]
        for number, system in enumerate(
            systems[: -run.args.num_refs]
        ):  # filter_subset would cut all streams to the shortest
            run.check_lengths(number, system, references)
        try:
            *picked, indices = filter_subset([*systems, range(len(systems[0]))], test_sets, langpair, origlang, subset)
        except Exception as error:  # sacrebleu raises bare Exceptions here, or KeyError for some test sets' layout
            why = "" if isinstance(error, KeyError) else f": {error}"
            raise InputError(
                f"this sacrebleu cannot pick --origlang or --subset from {test_sets} {langpair}{why}"
            ) from error
        results = []
        for lines in picked:
            segments = Segments(lines)
            segments.indices = indices
            results.append(segments)
        return results

    return wrapper


def _noting_systems(sanity_check_lengths, run: Run):
    """Return a sanity_check_lengths that also stores the system; main() calls it per system before building the metrics."""

    @functools.wraps(sanity_check_lengths)
    def wrapper(system, refs, test_set=None):
        if run.active:
            run.check_lengths(len(run.systems), system, refs)
        sanity_check_lengths(system, refs, test_set=test_set)
        named = Segments(system)
        named.indices, named.name = getattr(system, "indices", None), run.system_name(len(run.systems))
        run.systems.append(named)
        if not run.chosen:
            run.report_unused()

    return wrapper


class WithContextOf:
    """Stands in for a plugin metric under --detail: builds it again for each subset, with the context of its rows."""

    def __init__(self, run: Run, name: str):
        self._run, self._name = run, name

    def context_args(self) -> list[str]:
        """Return no keywords, so that a native sacrebleu does not build the metric again itself."""
        return []

    def corpus_score(self, system: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
        """Return the score of a subset, from a metric built for its rows."""
        [metric] = self._run.build([self._name], references, [system]).values()
        return metric.corpus_score(system, None)


def _with_context(print_subset_results, run: Run):
    @functools.wraps(print_subset_results)
    def wrapper(metrics, full_system, full_refs, args, full_context=None):
        run.received = {}  # it is for the whole run, and full_context lacks some context that our metrics may read
        if isinstance(args.origlang, str):  # sacrebleu would iterate over its letters
            args = argparse.Namespace(**{**vars(args), "origlang": [args.origlang]})
        metrics = {
            name: WithContextOf(run, name.lower()) if name.lower() in run.table.plugins else metric
            for name, metric in metrics.items()
        }
        with printing() if run.active else nullcontext():
            return print_subset_results(metrics, full_system, full_refs, args)

    return wrapper


def _after_files(print_scores, run: Run):
    """Return a print_scores that first writes the run's files.

    If the reader of the standard output, such as head, has closed it, the first printed line ends the process.
    """

    @functools.wraps(print_scores)
    def wrapper(*args, **options):
        _write_files(run)
        if run.active and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="surrogateescape")  # file names need not be valid text
        with printing() if run.active else nullcontext():
            return print_scores(*args, **options)

    return wrapper


def _write_files(run: Run) -> None:
    """Write the run's files; an error is raised only after the scores are printed, so that the scores are not lost."""
    try:
        files.write(run)
    except InputError as error:
        run.unwritten = error


def _with_clear_errors(main, run: Run):
    """Return a main() that ends with one line and exit code 1, not a traceback, for errors that a user can fix."""

    @functools.wraps(main)
    def wrapper():
        try:
            try:
                with by_flags():
                    main()
            except SystemExit as end:  # --sentence-level ends this way
                if end.code or not run.unwritten:
                    raise
            if run.unwritten:
                raise run.unwritten
            return
        except KeyboardInterrupt as stopped:
            if not run.active:
                raise
            sys.stderr.write(f"sacreBLEU: stopped{f'; {stopped}' if str(stopped) else ''}\n")
            sys.exit(130)
        except Exception as error:
            line = as_line(error) if run.active or isinstance(error, CtxMetricsError) else None
            if line is None:
                raise
            if (
                isinstance(error, OSError) and run.args.sentence_level and error.filename is None
            ):  # under --sentence-level, main() prints the scores itself
                line = str(lost(error, sys.stdout.fileno()))
            of_test_set = isinstance(error, OSError) and run.args.test_set
            test_set = f"test set {run.args.test_set}: " if of_test_set else ""
            sys.stderr.write(f"sacreBLEU: error: {test_set}{line}\n")
            sys.exit(1)

    return wrapper
