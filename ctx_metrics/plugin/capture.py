"""The state of one run of the sacrebleu command, passed to the metrics as constructor arguments."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from sacrebleu import metrics
from sacrebleu.metrics.base import Metric

from ..corpus import document_ranges
from ..engine.options import EngineOptions
from ..errors import CtxMetricsError, InputError
from ..flag_types import Directory, File
from ..language import language_pair
from ..notices import begin_run, counted, notice
from ..reading import read_lines
from ..run.context import Context, build_all, capabilities
from ..run.inputs import FileInput, installed_inputs, say_unread
from ..run.registry import MetricTable
from ..run.streams import Segments, named, names_fault, system_names, test_set_lines
from ..run.text_checks import check_byte_order_marks, check_texts
from ..settings import CommandLine, setting
from ..wording import any_of
from .native import is_native
from .outputs import RunOutput

if TYPE_CHECKING:
    from ..scale.corpora import InBlocks


@dataclass(frozen=True)
class RunSettings:
    """The resampling unit of a run and the files that it writes, for all metrics."""

    ctx_resample: Literal["segment", "document"] | None = setting(
        "The unit that --confidence, the paired tests and --ctx-report resample or swap. Segments of one document are "
        "similar, so intervals from segments are too narrow; document needs --docids. (Default: segment; of "
        "--ctx-report document if there are at least two)"
    )
    ctx_seg_scores: Directory | None = setting(
        "Also write the scores of segments, documents (with --docids) and systems to files in DIR, "
        "named and laid out as mt-metrics-eval reads them."
    )
    ctx_cache: Directory | None = setting(
        "Keep the results of neural metrics in DIR, block by block. The next run continues a killed one, and scores "
        "only new systems and metrics."
    )
    ctx_names: Sequence[str] | None = setting(
        "Names of the systems in these files, in the order of the systems. (Default: the names of their files)",
        action="store",
        metavar="NAME",
    )
    ctx_no_text_checks: bool = setting(
        "Do not check the texts for HTML entities, shifted lines, byte-order marks, copies of the source, other "
        "languages and repetitions.",
        False,
    )
    slide_output: File | None = setting(
        "Also write slide's scores of windows, sentences, documents and systems to FILE.tsv.", metavar="FILE.tsv"
    )


class Run:
    """One run: its arguments, its systems and the selected rows of the test set. Builds the plugin metrics."""

    def __init__(self, table: MetricTable):
        self.table = table
        self.native = is_native(metrics)
        self.flags: dict[str, list[str]] = {}  # metrics' own attributes, if a native sacrebleu has added the flags
        self.received: dict[str, Sequence[str]] = {}  # the sources and document ids that a native sacrebleu passed
        self.begun = False  # true from begin to the next command line; args is empty before begin
        self.args = CommandLine()
        self.outputs: Sequence[RunOutput] = ()  # all that the command line may ask for
        self._own: dict[str, list[str]] = {}
        self._files: dict[str, list[str]] = {}
        self._streams: dict[str, list[str] | None] = {}
        self._computed: dict[tuple[str, str], dict[str, Any]] = {}  # inputs' values, by input and systems
        self.languages: tuple[str | None, str | None] = (None, None)
        self.systems: list[Segments] = []
        self.references: Sequence[Sequence[str]] = ()
        self.chosen: list[str] = []
        self.metrics: dict[str, Metric] = {}  # all metrics built so far, by name
        self.whole_length = 0  # number of segments before sacrebleu selected some of them
        self.columns = 1  # number of columns on the standard input
        self.unwritten: InputError | None = None  # why the run's files could not be written
        self._unused: dict[str, str] = {}

    def begin(self, args: CommandLine, own: dict[str, list[str]], broken: dict[str, CtxMetricsError]) -> None:
        """Start a run.

        args      the parsed arguments
        own       names of each metric's own attributes among them
        broken    errors of metrics that could not be loaded; raised if such a metric is chosen

        Raises InputError for an invalid language pair, or if there is nothing to score against.
        """
        self.begun, self.args, self._own, self.unwritten = True, args, own, None
        self.systems, self._files, self._streams, self._computed, self.metrics = [], {}, {}, {}, {}
        self.received = {}
        # context that the user gave by a flag and that nothing has used so far
        self._unused = {key: flag for key, (flag, given) in self._context_flags().items() if given}
        if self.by_document or self.targets:
            self._unused.pop("doc_ids", None)
        for key in frozenset[str]().union(*(output.reads for output in self.wanted_outputs)):
            self._unused.pop(key, None)
        self.chosen = [name for name in dict.fromkeys(args.metrics) if name in self.table.plugins]
        for name in self.chosen:
            if name in broken:
                raise broken[name]
        self.languages = self._language_pair() if self.chosen else (None, None)
        scores = not (args.list or args.download or args.citation)
        if self.chosen and scores and args.test_set is None and not args.refs:
            raise InputError(
                "no reference: name its file first, before -i, or a test set with -t; for a model that reads no reference, "
                "give the source there too"
            )
        begin_run()

    def _language_pair(self) -> tuple[str, str] | tuple[None, None]:
        """Return the source and target language of -l; None for both if it is not given."""
        try:
            return language_pair(self.args.langpair) if self.args.langpair else (None, None)
        except InputError as error:
            raise InputError(f"-l {error}") from error

    @property
    def active(self) -> bool:
        """Whether the run names a plugin metric or uses one of our flags for all metrics. Otherwise sacrebleu's behavior is
        left unchanged."""
        return self.begun and bool(self.chosen or self.by_document or self.targets)

    @property
    def tested(self) -> bool:
        """Whether the run asks for a confidence interval or a paired test."""
        return bool(self.args.confidence or self.args.paired_bs or self.args.paired_ar)

    @property
    def by_document(self) -> bool:
        """Whether the run's intervals and tests resample documents."""
        return self.args.ctx_resample == "document" and self.tested

    @property
    def targets(self) -> dict[str, str]:
        """The files and folders that the run writes, by flag."""
        wanted = {
            "--ctx-seg-scores": self.args.ctx_seg_scores,
            "--slide-output": getattr(self.args, "slide_output", None),
            **{output.flag: getattr(self.args, output.dest) for output in self.outputs},
        }
        return {flag: path for flag, path in wanted.items() if path is not None}

    @property
    def wanted_outputs(self) -> list[RunOutput]:
        """The installed outputs that the command line asks for."""
        return [output for output in self.outputs if getattr(self.args, output.dest) is not None]

    @property
    def tested_in_files(self) -> bool:
        """Whether a file that the run writes contains significance tests."""
        return any(output.tests for output in self.wanted_outputs)

    def document_ids(self) -> list[str] | None:
        """Return the document id of each scored segment; None if there are no ids.

        Raises InputError if there are none but the run resamples documents, or if an id returns after its document has
        ended.
        """
        if not self.systems:
            raise InputError("no system to score: -i names no file")
        ids = self._stream("doc_ids", self.args.docids, "docid")
        if ids is not None:
            system = self.systems[0]
            ids = self._picked("--docids", self.args.docids, ids, len(system), getattr(system, "indices", None))
            document_ranges(ids, self.args.docids or f"document ids of {self.args.test_set}")
        elif self.by_document or (self.args.ctx_resample == "document" and self.tested_in_files):
            where = f"; {self.args.test_set} has none" if self.args.test_set else ""
            raise InputError(f"--ctx-resample document needs the document id of each line: give --docids FILE{where}")
        return ids

    def build(
        self, names: Sequence[str], references: Sequence[Sequence[str]], systems: Sequence[Sequence[str]]
    ) -> dict[str, Metric]:
        """Build plugin metrics by name, each with the values of its own flags and the context that it reads."""
        if not systems:
            raise InputError("no system to score: -i names no file")
        reads: set[str] = set()
        chosen = []
        for name in names:
            cls, settings = self.table[name.upper()], self._settings(name, systems[0])
            reads |= capabilities(cls).keywords - settings.keys()
            chosen.append((cls, settings))
        metrics = build_all(chosen, self.context(references, systems, reads))
        for metric in metrics:
            for key in self._unused.keys() & capabilities(metric).keywords:
                del self._unused[key]
        return dict(zip(names, metrics, strict=True))

    def _settings(self, name: str, system: Sequence[str]) -> dict[str, Any]:
        """Return the values of a metric's own flags; a flag for files with one line per segment gives the scored lines."""
        settings = {dest.removeprefix(f"{name}_"): getattr(self.args, dest) for dest in self._own.get(name, ())}
        for key in capabilities(self.table[name.upper()]).line_files:
            if settings.get(key):
                flag = f"--{name}-{key.replace('_', '-')}"
                settings[key] = [self._lines_of(flag, path, system) for path in settings[key]]
        return settings

    def report_unused(self) -> None:
        """Give notice of flags that have no effect, such as context that no chosen metric reads.

        Called once all metrics are built.
        """
        if self.args.ctx_resample == "document" and not (self.tested or self.tested_in_files):
            tests = "--confidence", "--paired-bs", "--paired-ar", *(each.flag for each in self.outputs if each.tests)
            notice(f"--ctx-resample document works only with {any_of(tests)}; give one, or leave it out")
        if self.args.ctx_names and not self.targets:
            files = "--ctx-seg-scores", *(each.flag for each in self.outputs), "--slide-output"
            notice(f"--ctx-names works only with {any_of(files)}; give one, or leave it out")
        if "bleu" not in self.args.metrics:
            for flag, given in (("--tokenize", self.args.bleu_tokenize), ("--lowercase", self.args.bleu_lowercase)):
                if given:
                    notice(
                        f"{flag} is a flag of bleu, which is not among the metrics of -m; metrics made of BLEU have "
                        "their own flags"
                    )
        for flag in self._unused.values():
            say_unread(flag, self.args.metrics)

    def _context_flags(self) -> dict[str, tuple[str, Any]]:
        """Return, for each kind of context, its flag and the value given."""
        args = self.args
        return {
            "sources": ("--source", args.source),
            "doc_ids": ("--docids", args.docids),
            **{each.name: (each.given_by(args), each.given_by(args)) for each in installed_inputs()},
        }

    def context(
        self, references: Sequence[Sequence[str]], systems: Sequence[Sequence[str]], reads: Collection[str]
    ) -> Context:
        """Return the context of these systems.

        reads    the keywords that metrics read; nothing else is read from disk
        """
        args, flags = self.args, self._context_flags()
        indices = getattr(systems[0], "indices", None)

        def stream(key: str, field: str) -> Sequence[str] | None:
            if key in reads and key in self.received:
                if key == "doc_ids" and args.docids:
                    document_ranges(self.received[key], args.docids)
                return self.received[key]
            lines = self._stream(key, flags[key][1], field) if key in reads else None
            return None if lines is None else self._picked(*flags[key], lines, len(systems[0]), indices)

        context = Context(
            sources=stream("sources", "src"),
            doc_ids=stream("doc_ids", "docid"),
            references=references,
            systems=systems,
            source_lang=self.languages[0],
            target_lang=self.languages[1],
            engine=args[EngineOptions],
            inputs={"explain": any(output.explain for output in self.wanted_outputs)},
            in_blocks=self._in_blocks(),
        )
        for each in installed_inputs():
            if each.keywords.keys() & set(reads):
                context = replace(context, inputs={**context.inputs, **self._values(each, context)})
        return context

    def _in_blocks(self) -> "InBlocks | None":
        """Return a block-wise scorer that keeps results between runs, if --ctx-cache asks for it."""
        if self.args.ctx_cache is None:
            return None
        from ..scale.corpora import InBlocks
        from ..scale.kept import ResultCache

        return InBlocks(kept=ResultCache(self.args.ctx_cache))

    def _values(self, of: FileInput, context: Context) -> dict[str, Any]:
        """Return the keyword values that an input gives to the metrics for these systems; computed once."""
        from ..corpus import digest

        key = of.name, digest([text for system in context.systems for text in system])
        if key not in self._computed:
            paths, settings = given = of.read(self.args)
            of.check(given, len(self.systems))
            systems = context.systems if of.per_system else [context.systems[0]] * len(paths)
            # --detail asks for the rows of one system, but there can be more files
            streams = [self._lines_of(of.flag, *each) for each in zip(paths, systems, strict=False)]
            self._computed[key] = of.values(streams or None, settings, context)
        return self._computed[key]

    def _lines_of(self, flag: str, path: str, system: Sequence[str]) -> Segments:
        """Return the lines of a file that belong to a system's scored segments, with the file's name."""
        if path not in self._files:
            self._files[path] = read_lines(path, self.args.encoding)
        return named(self._picked(flag, path, self._files[path], len(system), getattr(system, "indices", None)), path)

    def _stream(self, key: str, path: str | None, field: str) -> list[str] | None:
        """Return the lines of the file that a flag names, or else of the test set, or else None. They are read once."""
        if key not in self._streams:
            lines = None
            if path:
                lines = read_lines(path, self.args.encoding)
                if key == "doc_ids":
                    document_ranges(lines, path)
            elif self.args.test_set:
                lines = test_set_lines(self.args.test_set, self.args.langpair, field)
            self._streams[key] = lines
        return self._streams[key]

    def _picked(
        self, flag: str, path: str | None, lines: list[str], segments: int, indices: list[int] | None
    ) -> list[str]:
        """Return the lines that belong to the scored segments.

        indices    positions of the scored segments in the whole, or None for all

        Raises InputError if there are not as many lines as segments in the whole.
        """
        whole = segments if indices is None else self.whole_length
        if len(lines) != whole:
            raise InputError(
                f"{flag} {path or 'of ' + self.args.test_set} has {counted(len(lines), 'line', 'lines')}, "
                f"but {self.system_name(0)} has {whole}"
            )
        return lines if indices is None else [lines[i] for i in indices]

    def check_texts(self, references: Sequence[Sequence[str | None]]) -> None:
        """Give notice of what looks odd in the texts.

        Called once all metrics are built, so that the source is available if a metric reads it.
        """
        indices = getattr(self.systems[0], "indices", None)
        picked = "" if indices is None else " (the picked segments)"
        given = [named(stream, f"{self._reference_name(k)}{picked}") for k, stream in enumerate(references)]
        lines = self.received.get("sources", self._streams.get("sources"))
        if lines is not None:
            if indices is not None and "sources" not in self.received:  # otherwise sacrebleu has selected them
                lines = [lines[i] for i in indices]
            source = named(lines, f"{self.args.source or f'the source of {self.args.test_set}'}{picked}")
        stock = [name for name in dict.fromkeys(self.args.metrics) if name not in self.table.plugins]
        check_byte_order_marks([*self.systems, *given], stock)
        check_texts(self.systems, given, None if lines is None else source, self.languages)

    def _reference_name(self, number: int) -> str:
        """Return the file of the reference with this number, or its number in the test set."""
        refs = self.args.refs
        return refs[min(number, len(refs) - 1)] if refs else f"reference {number + 1} of {self.args.test_set}"

    def check_lengths(self, number: int, system: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        """Raise InputError, naming files and line counts, if a system and a reference stream differ in length."""
        for k, stream in enumerate(references):
            if len(stream) != len(system):
                hint = ""
                if not self.args.input and len(system) > len(stream):
                    hint = "; on stdin a lone carriage return ends a line, in files (-i) it does not"
                lines = counted(len(system), "line", "lines")
                name = self._reference_name(k)
                raise InputError(f"{self.system_name(number)} has {lines}, but {name} has {len(stream)}{hint}")

    def names(self) -> list[str]:
        """Return the systems' names for output files: those of --ctx-names, or else from their files.

        Raises InputError unless --ctx-names gives each system a distinct, valid name.
        """
        if self.args.ctx_names:
            if fault := names_fault(self.args.ctx_names, len(self.systems), "--ctx-names"):
                raise InputError(fault)
            if blank := [name for name in self.args.ctx_names if len(name.split()) > 1]:
                raise InputError(
                    f"--ctx-names: {blank[0]!r} holds a space, which ends a name in score files; use _ instead"
                )
            return self.args.ctx_names
        if not self.args.input:
            return [f"system{number}" for number in range(1, len(self.systems) + 1)]
        return system_names([self.system_name(number) for number in range(len(self.systems))])

    def system_name(self, number: int) -> str:
        """Return the file of the system with this number, or its column on the standard input."""
        if self.args.input:
            return list(dict.fromkeys(self.args.input))[number]  # sacrebleu skips a file that it has read already
        return "the standard input" if self.columns == 1 else f"column {number + 1} of the standard input"
