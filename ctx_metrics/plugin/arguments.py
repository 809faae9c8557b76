"""The flags that plugin metrics add to the sacrebleu command, and the request that a command line makes."""

import argparse
import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from sacrebleu.metrics import BLEU

from ..engine_options import EngineOptions
from ..errors import CtxMetricsError, InputError
from ..flag_types import MOST_DECIMALS, File, KeptIn, NewFile
from ..language import bleu_language, language_name, language_pair
from ..notices import notice, say
from ..paths import Reads, Writes, check_paths
from ..registry import MetricTable, asks_for_help, model_fix, wanted_metrics
from ..run.outputs import RunOutput, installed_outputs
from ..run.references import REFERENCE_KIND, ReferenceKind, reference_entry
from ..run.wrappers import (
    Check,
    Reader,
    TextReader,
    Wrap,
    asked_by_line,
    checks_of,
    installed_wrappers,
    reader_of,
    text_reader_of,
    wrapped,
    wraps_of,
)
from ..scoring.context import MetricSettings, capabilities, checked_flags, own_prefixes
from ..scoring.inputs import FileInput, InputFiles, installed_inputs
from ..settings import CommandLine, SuggestingParser, add_flags, closest, setting
from ..wording import printable
from ..writing import check_output, open_closed
from .capture import PREFIX, Command, CommandRun
from .overview import main_flags, overview

SCORES = ("*.seg.score", "*.doc.score", "*.sys.score", "*.seg.jsonl")  # files that --ctx-seg-scores writes
OWN_READ = ("refs", "input")  # sacrebleu's arguments that name files


@dataclass(frozen=True)
class ContextFiles:
    """The files from which a run's context is read, with one line per segment."""

    source: File | None = setting("Source segments, one per line. (Default with -t: the source of the test set)")
    docids: File | None = setting(
        "Document id of each line; consecutive equal ids form a document. (Default with -t: the ids of the test "
        "set, if it has them)"
    )


@dataclass(frozen=True)
class RunSettings:
    """The resampling unit of a run and the files that it writes, for all metrics."""

    ctx_resample: Literal["segment", "document"] | None = setting(
        "The unit that --confidence, the paired tests and --ctx-report resample or swap. Segments of one document are "
        "similar, so intervals from segments are too narrow; document needs --docids. (Default: segment; for "
        "--ctx-report, document if there are at least two)"
    )
    ctx_seg_scores: Annotated[str, Writes(inside=SCORES), "DIR"] | None = setting(
        "Also write the scores of segments, documents (with --docids) and systems to files in DIR, "
        "named and laid out as mt-metrics-eval reads them."
    )
    ctx_cache: KeptIn | None = setting(
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
    ctx_kind_of_references: ReferenceKind | None = setting(REFERENCE_KIND)
    slide_output: NewFile | None = setting(
        "Also write slide's scores of windows, sentences, documents and systems to FILE.tsv.", metavar="FILE.tsv"
    )


@dataclass(frozen=True)
class OfSacrebleu:
    """The flags that sacrebleu itself has, as far as we read them."""

    metrics: Sequence[str] = ()
    refs: Sequence[str] = ()
    input: Sequence[str] | None = None
    test_set: str | None = None
    langpair: str | None = None
    encoding: str = "utf-8"
    num_refs: int = 1
    sentence_level: bool = False
    confidence: bool = False
    paired_bs: bool = False
    paired_ar: bool = False
    list: bool = False
    download: str | None = None
    citation: bool = False
    bleu_tokenize: str | None = None
    bleu_lowercase: bool = False
    paired_jobs: int = 1
    paired_bs_n: int = 1000
    paired_ar_n: int = 10000
    confidence_n: int = 1000
    width: int = 1
    bleu_smooth_value: float | None = None
    chrf_char_order: int = 6
    chrf_word_order: int = 0
    chrf_beta: int = 2

    def check_numbers(self) -> None:
        """Raise InputError for a number with which sacrebleu would end in a traceback, or score nonsense."""
        if self.paired_jobs < 0:
            raise InputError(
                f"-j {self.paired_jobs}: give a number of processes of at least 1, or 0 for one per system"
            )
        for flag, number, least in (
            ("--paired-bs-n", self.paired_bs_n, 1),
            ("--paired-ar-n", self.paired_ar_n, 1),
            ("--confidence-n", self.confidence_n, 1),
            ("--chrf-char-order", self.chrf_char_order, 1),
            ("--chrf-word-order", self.chrf_word_order, 0),
            ("--chrf-beta", self.chrf_beta, 0),
        ):
            if number < least:
                raise InputError(f"{flag} {number}: give at least {least}")
        if not 0 <= self.width <= MOST_DECIMALS:
            raise InputError(f"--width {self.width}: give a number of decimals from 0 to {MOST_DECIMALS}")
        if self.bleu_smooth_value is not None and not 0 <= self.bleu_smooth_value < math.inf:
            raise InputError(f"--smooth-value {self.bleu_smooth_value:g}: give a number of at least 0")


@dataclass(frozen=True)
class Request:
    """The request of a command line.

    chosen     the plugin metrics, with the values of their own flags
    given      the inputs that the flags give, in words, by the keyword of metrics that read them
    offered    all outputs that the command line could ask for
    """

    engine: EngineOptions
    flags: OfSacrebleu
    files: ContextFiles
    settings: RunSettings
    chosen: Sequence[MetricSettings]
    inputs: Mapping[FileInput, InputFiles]
    given: Mapping[str, str]
    outputs: Mapping[RunOutput, str]
    offered: Sequence[RunOutput]
    languages: tuple[str | None, str | None]
    wraps: Sequence[Wrap] = ()
    reader: Reader | None = None
    text_reader: TextReader | None = None
    checks: Sequence[Check] = ()

    @property
    def active(self) -> bool:
        """Whether the run names a plugin metric or uses one of our flags for all metrics. Otherwise sacrebleu's behavior is
        left unchanged."""
        return bool(self.chosen or self.by_document or self.targets or self.checks or self.changes_all)

    @property
    def changes_all(self) -> bool:
        """Whether sacrebleu's own metrics are built as ours are: wrapped, on texts that are read anew, or with entries of
        the run in their signatures."""
        return bool(self.wraps or self.reader or self.text_reader or self.signature)

    @property
    def signature(self) -> dict[str, str]:
        """The entries in the signature of every metric."""
        return reference_entry(self.settings.ctx_kind_of_references)

    @property
    def stock(self) -> Sequence[str]:
        plugins = [each.name for each in self.chosen]
        return [name for name in dict.fromkeys(self.flags.metrics) if name not in plugins]

    @property
    def tested(self) -> bool:
        return bool(self.flags.confidence or self.flags.paired_bs or self.flags.paired_ar)

    @property
    def tested_in_files(self) -> bool:
        return any(output.tests for output in self.outputs)

    @property
    def by_document(self) -> bool:
        return self.settings.ctx_resample == "document" and self.tested

    @property
    def targets(self) -> dict[str, str]:
        own = {"--ctx-seg-scores": self.settings.ctx_seg_scores, "--slide-output": self.settings.slide_output}
        written = {flag: path for flag, path in own.items() if path is not None}
        return written | {output.flag(PREFIX): path for output, path in self.outputs.items()}


class PluginArgumentParser(SuggestingParser):
    """sacrebleu's parser with our flags, which it adds before it parses; parsing starts the command's run."""

    command: Command
    _plugin_actions: frozenset = frozenset()

    def __init__(self, *args: Any, **options: Any):
        self.command.run = None  # the last run is over; sacrebleu next reads its metrics' classes
        self._own: dict[str, list[str]] = {}  # attributes of each metric's own flags
        self._broken: dict[str, CtxMetricsError] = {}  # errors of metrics that cannot be loaded
        self._given: list[argparse.Action] = []
        self._main: dict[str, list[str]] = {}  # flags of each metric
        self._shared: list[argparse.Action] = []
        super().__init__(*args, **options)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        argv, table = sys.argv[1:] if args is None else list(args), self.command.table
        for name in wanted_metrics(table.plugins, argv):
            try:
                self._own[name] = checked_flags(name, table[name.upper()])
            except CtxMetricsError as error:
                self._broken[name] = error
        classes, known = {name: table[name.upper()] for name in self._own}, {*self._option_string_actions}
        reads = may_read_inputs(classes, argv, known | {"--source", "--docids", "--slide-output"})
        inputs, outputs = installed_inputs() if reads else (), installed_outputs()
        self._add_flags(argv, classes, inputs, outputs)
        line = self._line(argv, namespace or CommandLine())
        self._check_owners(line)
        asked = asked_by(line, line[EngineOptions], table, self._own, self._broken, inputs, outputs)
        self.command.run = CommandRun(asked, table)
        if asked.active:
            check_paths(self, [line])
            open_closed()
            check_output()
        return line

    def _add_flags(
        self, argv: Sequence[str], classes: Mapping[str, Any], inputs: Sequence[FileInput], outputs: Sequence[RunOutput]
    ) -> None:
        """Add our flags to sacrebleu's. Those of metrics that the command line names have a help of their own."""
        stock = set(map(id, self._actions))
        for action in self._actions:
            if action.dest in OWN_READ:
                action.type = Reads(str)
            if action.dest == "metrics":
                action.metavar = "NAME"
        add_shared_arguments(self, inputs)
        add_run_arguments(self, [*self._own, *self._broken], outputs)
        self._shared = [action for action in self._actions if id(action) not in stock]
        _hide(self._shared)
        named = wanted_metrics(self.command.table.plugins, [word for word in argv if not asks_for_help(word)])
        for name, cls in classes.items():
            before = len(self._actions)
            if self._own[name]:
                cls.add_arguments(self.add_argument_group(f"{cls.__name__} related arguments"))
            of_metric = self._actions[before:]
            self._main[name] = main_flags(cls, name, of_metric)
            _hide([] if name in named else of_metric)
        self._main |= {name: ["(cannot be used)"] for name in self._broken}
        self._plugin_actions = frozenset(id(action) for action in self._actions if id(action) not in stock)

    def _line(self, argv: Sequence[str], namespace: CommandLine) -> CommandLine:
        """Return the parsed command line. For --help or an unknown flag, name the metrics whose flags are missing."""
        try:
            line, unknown = self.parse_known_args(argv, namespace)
            if unknown:
                flags = [word.partition("=")[0] for word in unknown if word.startswith("--")]
                meant = (closest(flag, self._option_string_actions, abbreviated=True) for flag in flags)
                self.error(f"unrecognized arguments: {' '.join(unknown)}{next(filter(None, meant), '')}")
        except SystemExit:
            for fault in self._broken.values():
                say(str(fault))
            raise
        return line

    def _check_owners(self, line: CommandLine) -> None:
        """End with an error for a flag of a metric that -m does not name."""
        owners = {dest: name for name, dests in self._own.items() for dest in dests} | {"slide_output": "slide"}
        for action in self._given:
            owner = owners.get(action.dest)
            if owner and owner not in line.metrics:
                self.error(
                    f"{action.option_strings[0]} is a flag of {owner}, which is not among the metrics of "
                    f"-m; add the metric, or leave the flag out"
                )

    def format_help(self) -> str:
        self.epilog = overview(self._main, self._shared)
        return super().format_help()

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # argparse asks for the values of given arguments, not of defaults
        self._given.append(action)
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            if action.dest == "metrics":  # without the usage, which is long
                message = str(model_fix(value, self.command.table) or error)
                self.exit(2, f"{self.prog}: error: {printable(message)}\n")
            raise

    def _get_option_tuples(self, option_string: str) -> Any:
        # abbreviations that sacrebleu knows keep their meaning: --do is --download, not --docids
        options = super()._get_option_tuples(option_string)
        return [each for each in options if id(each[0]) not in self._plugin_actions] or options


def parser_class(command: Command) -> type[PluginArgumentParser]:
    """Return the class of the parser whose parsing starts the command's run."""
    return type("PluginArgumentParser", (PluginArgumentParser,), {"command": command})


def _hide(actions: Iterable[argparse.Action]) -> None:
    """Leave actions out of the usage and the help, which has an overview of them."""
    for action in actions:
        action.help = argparse.SUPPRESS


def may_read_inputs(metrics: Mapping[str, type], words: Iterable[str], known: Collection[str]) -> bool:
    """Whether a command line needs the installed inputs: a metric reads one, or a word may be the flag of one.

    known    all flags but those of inputs, of the engine and of the metrics themselves
    """
    if any(isinstance(each, FileInput) for metric in metrics.values() for each in capabilities(metric).inputs):
        return True
    of_others = ("--ctx-", *(prefix for each in metrics.items() for prefix in own_prefixes(*each)))
    return any(
        word.startswith("--") and not word.startswith(of_others) and word.partition("=")[0] not in known
        for word in words
    )


def _say_tokenizer_of_bleu(langpair: str) -> None:
    """Give notice if sacrebleu, which knows only short codes right behind the first hyphen, misses the language."""
    try:
        _, target = language_pair(langpair)
    except InputError:
        return  # where it matters, `asked_by` raises it; sacrebleu's own metrics take any text
    known, usual = BLEU._TOKENIZER_MAP, BLEU.TOKENIZER_DEFAULT
    taken, right = (known.get(code, usual) for code in (langpair.split("-")[1], bleu_language(target)))
    if taken != right:
        notice(f"bleu: for {language_name(target)}, sacrebleu uses the tokenizer {taken}; give --tokenize {right}")


def asked_by(
    line: CommandLine,
    engine: EngineOptions,
    table: MetricTable,
    own: Mapping[str, Sequence[str]],
    broken: Mapping[str, CtxMetricsError],
    inputs: Sequence[FileInput],
    outputs: Sequence[RunOutput],
) -> Request:
    """Return the request that a parsed command line makes.

    own       names of the attributes of each metric's own flags
    broken    errors of metrics that could not be loaded; raised if such a metric is chosen
    """
    flags, files, settings = line[OfSacrebleu], line[ContextFiles], line[RunSettings]
    values: dict[str, Any] = vars(line)
    names = [name for name in dict.fromkeys(flags.metrics) if name in table.plugins]
    for name in names:
        if name in broken:
            raise broken[name]
    chosen = [
        MetricSettings(name, table[name.upper()], {dest.removeprefix(f"{name}_"): values[dest] for dest in own[name]})
        for name in names
    ]
    of_wrappers = asked_by_line(line, "ctx_")
    reader = reader_of(of_wrappers)
    text_reader = None if reader else text_reader_of(of_wrappers)
    try:
        languages = (
            language_pair(flags.langpair) if (chosen or reader or text_reader) and flags.langpair else (None, None)
        )
    except InputError as error:
        raise InputError(f"-l {error}") from error
    if "bleu" in flags.metrics and not flags.bleu_tokenize and flags.langpair:
        _say_tokenizer_of_bleu(flags.langpair)
    flags.check_numbers()
    scores = not (flags.list or flags.download or flags.citation)
    if chosen and scores and flags.test_set is None and not flags.refs:
        raise InputError(
            "no reference: name its file first, before -i, or a test set with -t",
            fix="for a model that reads no reference, give the source there too",
        )
    written = {output: values[output.dest("ctx_")] for output in outputs if values[output.dest("ctx_")] is not None}
    by_flags = {"sources": "--source" if files.source else "", "doc_ids": "--docids" if files.docids else ""}
    by_flags |= {each.name: each.given_by(line) for each in inputs}
    words = {keyword: flag for keyword, flag in by_flags.items() if flag}
    needed = {keyword for metric in chosen for each in capabilities(metric.cls).inputs for keyword in each.keywords}
    given = {each: each.read(line) for each in inputs if each.keywords.keys() & needed}
    wraps = wraps_of(of_wrappers)
    chosen = wrapped(chosen, wraps)
    checks = checks_of(of_wrappers, list(dict.fromkeys(flags.input or ())))
    return Request(
        engine,
        flags,
        files,
        settings,
        chosen,
        given,
        words,
        written,
        outputs,
        languages,
        wraps,
        reader,
        text_reader,
        checks,
    )


def add_shared_arguments(parser: argparse.ArgumentParser, inputs: Sequence[FileInput]) -> None:
    group = parser.add_argument_group("Context for plugin metrics (ctx-metrics)")
    add_flags(group, ContextFiles, only=["source", "docids"])
    for each in inputs:
        each.add_arguments(parser.add_argument_group(f"{each.title[:1].upper()}{each.title[1:]} (ctx-metrics)"))
    add_flags(parser.add_argument_group("Engine of plugin metrics (ctx-metrics)"), EngineOptions)


def add_run_arguments(parser: argparse.ArgumentParser, wanted: Collection[str], outputs: Sequence[RunOutput]) -> None:
    """Add the flags that apply to all metrics of a run, including sacrebleu's: the resampling unit and the files to write.

    wanted    the plugin metrics that the command line may use; slide's file is offered only if slide is among them
    """
    group = parser.add_argument_group("Tests and output files (ctx-metrics)")
    for wrapper in installed_wrappers():
        title = f"{wrapper.title[:1].upper()}{wrapper.title[1:]} (ctx-metrics)"
        own = parser.add_argument_group(title)
        add_flags(own, wrapper.settings, prefix="--ctx-", dest="ctx_", only=wrapper.offered)
    names = [each.name for each in fields(RunSettings) if each.name != "slide_output" or "slide" in wanted]
    others = names.index("ctx_seg_scores") + 1
    add_flags(group, RunSettings, only=names[:others])
    for output in outputs:
        group.add_argument(output.flag(PREFIX), metavar=output.metavar, type=Writes(), help=output.help)
    add_flags(group, RunSettings, only=names[others:])
