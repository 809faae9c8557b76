"""One run of the sacrebleu command: the texts it has read, and the plugin metrics that it builds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sacrebleu.metrics.base import Metric

from ..corpus import Segments, digest, document_ranges, named
from ..errors import InputError
from ..notices import begin_run, counted, notice
from ..reading import read_lines
from ..registry import MetricTable
from ..run.streams import test_set_lines
from ..run.wrappers import reader_fix
from ..scoring.context import MetricSettings, capabilities, say_unread, with_lines
from ..scoring.inputs import FileInput, InputFiles
from ..system_names import names_fault, system_names
from ..wording import any_of

if TYPE_CHECKING:
    from ..run.run import Run
    from ..run.texts import Texts
    from ..run.wrappers import ReadTexts
    from ..scale.corpora import InBlocks
    from ..scoring.context import Context
    from ..scoring.testing import SystemTests
    from .arguments import Request

PREFIX = "--ctx-"  # of our flags for all metrics
FLAGS = {"sources": "--source", "doc_ids": "--docids"}
FIELDS = {"sources": "src", "doc_ids": "docid"}  # names in sacrebleu's test sets


class CommandRun:
    """One run: its request, its systems, and the selected rows of the test set. Builds the plugin metrics."""

    def __init__(self, asked: "Request", table: MetricTable):
        self.asked = asked
        self.table = table
        self.systems: list[Segments] = []
        self.references: Sequence[Sequence[str]] = ()
        self.metrics: dict[str, Metric] = {}  # all metrics built so far, by name
        self.whole_length = 0  # number of segments before sacrebleu selected some of them
        self.columns = 1  # number of columns on the standard input
        self.unwritten: InputError | None = None  # why the run's files could not be written
        self.read: ReadTexts | None = None  # the texts from the reader of the systems' texts, if there is one
        begin_run()
        files = asked.files
        self._paths = {"sources": files.source, "doc_ids": files.docids}
        self._wholes: dict[str, list[str] | None] = {}  # sources and document ids, before sacrebleu selects some
        self._files: dict[str, list[str]] = {}
        self._inputs: dict[str, dict[str, Any]] = {}  # values of the inputs, by systems

    def read_systems(self, systems: Sequence[list[str]]) -> None:
        """Let the run's reader read the systems' texts into the first lists; the others are the references."""
        from ..run.texts import Texts  # needs NumPy

        paths = list(dict.fromkeys(self.asked.flags.input or ()))
        number = len(paths) or self.columns
        references = [named(own, self._reference_name(k)) for k, own in enumerate(systems[number:])]
        wholes = {key: self._whole(key) for key in FLAGS}
        sources, doc_ids = (
            None if lines is None else named(lines, self._name_of(key)) for key, lines in wholes.items()
        )
        source_lang, target_lang = self.asked.languages
        own = [named(lines, self.system_name(k)) for k, lines in enumerate(systems[:number])]
        texts = Texts(
            [each.name for each in own],
            own,
            references,
            sources,
            doc_ids,
            source_lang=source_lang,
            target_lang=target_lang,
        )
        if self.asked.reader:
            self.read = self.asked.reader(paths, self.asked.flags.encoding, texts, {}, self.asked.engine)
        else:
            assert self.asked.text_reader
            self.read = self.asked.text_reader(texts, self.asked.engine)
        for system, lines in zip(systems, self.read.systems, strict=False):
            system[:] = lines

    def document_ids(self) -> list[str] | None:
        """Return the document id of each scored segment; None if there are no ids."""
        check_systems(self.systems)
        asked, test_set = self.asked, self.asked.flags.test_set
        ids = self._stream("doc_ids", self.systems[0])
        if ids is not None:
            document_ranges(ids, self._name_of("doc_ids"))
        elif asked.by_document or (asked.settings.ctx_resample == "document" and asked.tested_in_files):
            where = f"; {test_set} has none" if test_set else ""
            raise InputError(f"--ctx-resample document needs the document id of each line: give --docids FILE{where}")
        return ids

    def build(
        self, chosen: Sequence[MetricSettings], references: Sequence[Sequence[str]], systems: Sequence[Sequence[str]]
    ) -> dict[str, Metric]:
        """Build metrics, which are wrapped already, for some of the run's systems or segments."""
        return self._built(self.of(chosen, references, systems))

    @cached_property
    def plugin_run(self) -> "Run":
        """The run of the plugin metrics on all systems; main() has read their texts when it asks for the first metric."""
        text_checks = not self.asked.settings.ctx_no_text_checks
        return self.of(self.asked.chosen, self.references, self.systems, text_checks=text_checks)

    @cached_property
    def plugin_metrics(self) -> dict[str, Metric]:
        """The plugin metrics, all built when main() asks for the first of them."""
        return self._built(self.plugin_run)

    def _built(self, run: "Run") -> dict[str, Metric]:
        metrics = run.build(self._in_blocks())
        self._known_inputs(run.texts.systems).update(run.context.inputs)
        return metrics

    def _known_inputs(self, systems: Sequence[Sequence[str]]) -> dict[str, Any]:
        return self._inputs.setdefault(digest([text for system in systems for text in system]), {})

    def of(
        self,
        metrics: Sequence[MetricSettings],
        references: Sequence[Sequence[str]],
        systems: Sequence[Sequence[str]],
        reads: Collection[str] = (),
        text_checks: bool = False,
    ) -> "Run":
        """The run of some metrics on the texts that main() gives, and on those of our own flags.

        reads          which of the sources and the document ids are read besides those that the metrics read
        text_checks    whether to give notice of odd texts, which one run of all systems does for all others
        """
        from ..run.run import Run  # needs NumPy

        check_systems(systems)
        asked = self.asked
        reads = frozenset(reads).union(*(capabilities(each.cls).reads - each.own.keys() for each in metrics))
        known = self._known_inputs(systems)
        explain = any(output.explain for output in asked.outputs)
        return Run(
            self.texts(references, systems, reads),
            [with_lines(each, lambda flag, path: self._of_file(flag, path, systems[0])) for each in metrics],
            {},
            asked.engine,
            asked.settings.ctx_kind_of_references,
            {each: given for each, given in asked.inputs.items() if each.keywords.keys() - known.keys()},
            {"explain": explain, **known},
            text_checks=text_checks,
        )

    def texts(
        self, references: Sequence[Sequence[str | None]], systems: Sequence[Sequence[str]], reads: Collection[str]
    ) -> "Texts":
        """The texts of some systems or segments, and those of our own flags that belong to them.

        reads    which of the sources and the document ids are read
        """
        from ..run.texts import Texts

        own = [system if isinstance(system, Segments) else named(system, "") for system in systems]
        picked = "" if own[0].indices is None else " (the picked segments)"
        sources, doc_ids = (self._stream(key, own[0]) if key in reads else None for key in FLAGS)
        return Texts(
            [f"system{number}" for number in range(1, len(own) + 1)],
            own,
            [named(stream, f"{self._reference_name(k)}{picked}") for k, stream in enumerate(references)],
            None if sources is None else named(sources, f"{self._name_of('sources')}{picked}"),
            None if doc_ids is None else named(doc_ids, self._name_of("doc_ids")),
            *self.asked.languages,
            inputs={
                each.name: streams
                for each, given in self.asked.inputs.items()
                if (streams := self._streams_of(each, given, own))
            },
            read=self.read,
            stock=self.asked.stock,
        )

    def _streams_of(self, of: FileInput, given: InputFiles, systems: Sequence[Segments]) -> list[Segments]:
        of.check(given, len(self.systems))
        each_system = systems if of.per_system else [systems[0]] * len(given.paths)
        # --detail asks for the rows of one system, but there can be more files
        pairs = zip(given.paths, each_system, strict=False)
        return [self._of_file(of.flag, path, system) for path, system in pairs]

    def report_unused(self, metrics: Mapping[str, Metric] = {}) -> None:
        """Give notice of flags that have no effect, such as context that no plugin metric (`metrics`) reads."""
        asked, settings = self.asked, self.asked.settings
        if settings.ctx_resample == "document" and not (asked.tested or asked.tested_in_files):
            in_files = [each.flag(PREFIX) for each in asked.offered if each.tests]
            tests = "--confidence", "--paired-bs", "--paired-ar", *in_files
            notice(f"--ctx-resample document works only with {any_of(tests)}; give one, or leave it out")
        if settings.ctx_names and not asked.targets:
            files = "--ctx-seg-scores", *(each.flag(PREFIX) for each in asked.offered), "--slide-output"
            notice(f"--ctx-names works only with {any_of(files)}; give one, or leave it out")
        flags = (("--tokenize", asked.flags.bleu_tokenize), ("--lowercase", asked.flags.bleu_lowercase))
        for flag in (flag for flag, given in flags if given and "bleu" not in asked.flags.metrics):
            notice(
                f"{flag} is a flag of bleu, which is not among the metrics of -m; metrics made of BLEU have "
                "their own flags"
            )
        used = frozenset(["doc_ids"] if asked.by_document or asked.targets else [])
        used |= {"doc_ids", "sources"} if asked.reader else set()
        say_unread(
            asked.given,
            {name: metrics.get(name, self.table[name.upper()]) for name in asked.flags.metrics},
            used.union(*(output.reads for output in asked.outputs)),
        )

    @property
    def testing(self) -> "SystemTests":
        """The settings of the tests in files."""
        from ..scoring.testing import SystemTests  # needs NumPy

        return SystemTests(resample=self.asked.settings.ctx_resample, flag="--ctx-resample")

    def of_outputs(self) -> "Context":
        """The texts and names of all systems, for the files that other packages write."""
        reads = frozenset[str]().union(*(output.reads for output in self.asked.outputs))
        context = self.of([], self.references, self.systems, reads).context
        return replace(context, doc_ids=self.document_ids(), names=self.names())

    def _in_blocks(self) -> "InBlocks | None":
        if self.asked.settings.ctx_cache is None:
            return None
        from ..scale.corpora import InBlocks
        from ..scale.kept import ResultCache

        return InBlocks(kept=ResultCache(self.asked.settings.ctx_cache))

    def _whole(self, key: str) -> list[str] | None:
        """Return all sources or document ids: those of a flag's file, or else of the test set, or else None; read once."""
        if key not in self._wholes:
            flags, path = self.asked.flags, self._paths[key]
            lines = None
            if path:
                lines = read_lines(path, flags.encoding)
                if key == "doc_ids":
                    document_ranges(lines, path)
            elif flags.test_set:
                lines = test_set_lines(flags.test_set, flags.langpair or "", FIELDS[key])
            self._wholes[key] = lines
        return self._wholes[key]

    def _stream(self, key: str, system: Sequence[str]) -> list[str] | None:
        lines = self._whole(key)
        return None if lines is None else self._picked(FLAGS[key], self._paths[key], lines, system)

    def _of_file(self, flag: str, path: str, system: Sequence[str]) -> Segments:
        if path not in self._files:
            self._files[path] = read_lines(path, self.asked.flags.encoding)
        return named(self._picked(flag, path, self._files[path], system), path)

    def _picked(self, flag: str, path: str | None, lines: list[str], system: Sequence[str]) -> list[str]:
        """Return the lines that belong to a system's scored segments."""
        indices = getattr(system, "indices", None)
        whole = len(system) if indices is None else self.whole_length
        if len(lines) != whole:
            raise InputError(
                f"{flag} {path or f'of {self.asked.flags.test_set}'} has {counted(len(lines), 'line', 'lines')}, "
                f"but {self.system_name(0)} has {whole}"
            )
        return lines if indices is None else [lines[i] for i in indices]

    def _name_of(self, key: str) -> str:
        what = {"sources": "the source", "doc_ids": "document ids"}[key]
        return self._paths[key] or f"{what} of {self.asked.flags.test_set}"

    def _reference_name(self, number: int) -> str:
        refs = self.asked.flags.refs
        return refs[min(number, len(refs) - 1)] if refs else f"reference {number + 1} of {self.asked.flags.test_set}"

    def check_lengths(self, number: int, system: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        for k, stream in enumerate(references):
            if len(stream) != len(system):
                fix = ""
                if self.asked.flags.input:
                    fix = reader_fix("--ctx-")
                elif len(system) > len(stream):
                    fix = "on stdin a lone carriage return ends a line, in files (-i) it does not"
                lines = counted(len(system), "line", "lines")
                name = self._reference_name(k)
                if not self.asked.settings.ctx_no_text_checks:  # the kind of the texts often says why
                    from ..run.texts import Texts  # needs NumPy

                    own, reference = named(system, self.system_name(number)), named(stream, name)
                    Texts(systems=[own], references=[reference]).say_kinds()
                raise InputError(f"{self.system_name(number)} has {lines}, but {name} has {len(stream)}", fix=fix)

    def names(self) -> Sequence[str]:
        """Return the systems' names for output files: those of --ctx-names, or else from their files."""
        if names := self.asked.settings.ctx_names:
            if fault := names_fault(names, len(self.systems), "--ctx-names"):
                raise InputError(fault)
            if blank := [name for name in names if len(name.split()) > 1]:
                raise InputError(
                    f"--ctx-names: {blank[0]!r} holds a space, which ends a name in score files", fix="use _ instead"
                )
            return names
        if not self.asked.flags.input:
            return [f"system{number}" for number in range(1, len(self.systems) + 1)]
        return system_names([self.system_name(number) for number in range(len(self.systems))])

    def system_name(self, number: int) -> str:
        if self.asked.flags.input:
            return list(dict.fromkeys(self.asked.flags.input))[
                number
            ]  # sacrebleu skips a file that it has read already
        return "the standard input" if self.columns == 1 else f"column {number + 1} of the standard input"


def check_systems(systems: Sequence[Sequence[str]]) -> None:
    if not systems:
        raise InputError("no system to score: -i names no file")


class Command:
    """sacrebleu's command with our metrics: `run` is its current run, None before a command line has been parsed."""

    run: CommandRun | None = None

    def __init__(self, table: MetricTable):
        self.table = table

    @property
    def active(self) -> CommandRun | None:
        return self.run if self.run and self.run.asked.active else None
