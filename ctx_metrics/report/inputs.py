"""The test sets that a command line gives, each with texts, languages and scores of its own: read, and scored."""

from argparse import Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

from ..cli.common.comparisons import columns_of
from ..cli.common.inputs import TextFlags, checked_texts, read_run
from ..cli.common.metrics import chosen_metrics
from ..cli.score import check_resample
from ..errors import CtxMetricsError
from ..flag_types import Files
from ..notices import collected, notice
from ..paths import Reads
from ..run.run import Run
from ..scoring.context import MetricSettings
from ..scoring.inputs import installed_inputs
from ..scoring.testing import Design, SystemTests
from ..settings import CommandLine, add_all, setting
from ..system_names import name_fault

if TYPE_CHECKING:
    from ..scale.corpora import InBlocks
    from ..scoring.comparison import Column
    from .content import Content, SpanColumn

DEFAULT_METRICS = ("bleu", "chrf", "comet")
Values = dict[str, Any]  # of flags, by the attributes of a parsed command line


def set_name(text: str) -> str:
    if fault := name_fault(text):
        raise ArgumentTypeError(f"{fault}; name the test set, such as --set news")
    return text


class Begin(Action):
    """Begins a test set. What the flags of texts gave so far is of the set before, or of all sets if this is the first."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, name: Any, option_string: str | None = None
    ) -> None:
        if name in [earlier for earlier, _ in namespace.sets]:
            raise ArgumentError(self, f"two test sets are named {name!r}; give each a name of its own")
        usual = _usual_values()
        namespace.sets = [*namespace.sets, (name, {dest: getattr(namespace, dest) for dest in usual})]
        vars(namespace).update(usual)


@dataclass(frozen=True)
class ScoreFileFlags:
    """The data of a test set besides its texts."""

    scores: Annotated[Sequence[str], Reads(), "PATH"] | None = setting(
        "Also show scores from tables that `score` wrote (.jsonl, .tsv, .csv), from files METRIC-REF.seg.score, or from "
        "folders of them, as --ctx-seg-scores, `meta --save-scores` and mt-metrics-eval write them; human scores "
        "too. With --scores and without -m, no metric is run.",
        group="scores and error spans",
    )
    error_spans: Files | None = setting(
        "Also show error spans that people marked, from tables in the form of WMT25's predictions.tsv, as `score --spans` "
        "writes it. Their system_id is the system's name, their segment_id the number of the line."
    )


@dataclass(frozen=True)
class Sets:
    sets: Sequence[tuple[str, Values]] = setting(
        "Begin a test set with this name, for a page on several. The texts, languages, names, --scores and --error-spans "
        "that follow are its own; those before the first --set apply to all sets. Other flags can go anywhere.",
        (),
        flag="--set",
        group="several test sets",
        type=set_name,
        action=Begin,
        metavar="NAME",
    )


class SetFlags(NamedTuple):
    """A test set that a command line gives; its name is "" if there is only one."""

    name: str
    line: CommandLine
    texts: TextFlags
    chosen: Sequence[MetricSettings]
    testing: SystemTests


class SetTexts(NamedTuple):
    """A test set whose files are read.

    columns    scores that files give
    notices    about the inputs
    """

    name: str
    run: Run
    design: Design
    columns: "list[Column]"
    marked: "Sequence[SpanColumn]"
    notices: Sequence[str]


def given_sets(line: CommandLine, metrics: Sequence[str], model: str | None, testing: SystemTests) -> list[SetFlags]:
    sets = [_given(name, own, metrics, model, testing) for name, own in lines_of_sets(line)]
    without = [each.name for each in sets if each.texts.language_pair is None]
    if 0 < len(without) < len(sets):
        notice(
            f"--set {', '.join(without)}: no languages (-l), but other test sets have some; before the first "
            "--set, -l applies to all"
        )
    return sets


def _given(name: str, line: CommandLine, metrics: Sequence[str], model: str | None, testing: SystemTests) -> SetFlags:
    if name and line[TextFlags].from_stdin:
        line.error("no translations: name their files with -t")
    texts, scores = checked_texts(line), line[ScoreFileFlags].scores
    if not metrics and not scores:
        metrics = DEFAULT_METRICS if texts.references or texts.dataset else ["comet"]
    chosen = chosen_metrics(line, metrics, model=model)
    check_resample(testing.resample, texts, line)
    if scores and not (texts.translations or texts.columns):
        line.error("--scores has no texts, but a report shows them next to the scores: give -t FILE")
    return SetFlags(name, line, texts, chosen, testing)


def read(given: SetFlags) -> SetTexts:
    from .columns import read_columns
    from .content import check_size
    from .marked import read_spans

    said: list[str] = []
    with _about(given.name, said):
        run = read_run(given.line, given.texts, given.chosen, explain=True)
        context = run.context
        check_size(context.systems)
        beside = given.line[ScoreFileFlags]
        marked = read_spans(beside.error_spans or (), context)
        design = given.testing.design(context.systems, context.doc_ids)
        columns = read_columns(beside.scores or (), context, design)
    return SetTexts(given.name, run, design, columns, marked, said)


def scored(read: SetTexts, blocks: "InBlocks | None") -> "Content":
    from .content import Content

    said = [*read.notices]
    with _about(read.name, said):
        scores = read.run.scores(blocks, used=["sources", "doc_ids"])  # the page shows them
        read.design.say_what_is_rough(scores.metrics)
        columns = columns_of(scores, read.design)
    return Content(scores.context, read.design, [*read.columns, *columns], said, read.marked, read.name)


class _LineOfSet(CommandLine):
    """The command line of a test set, whose name its errors begin with."""

    def error(self, message: str) -> NoReturn:
        super().error(f"--set {self.name_of_set}: {message}")


def lines_of_sets(line: CommandLine) -> list[tuple[str, CommandLine]]:
    """Each test set's name, and its own command line; a single one without a name if no flag names any."""
    if not line.sets:
        return [("", line)]
    usual = _usual_values()
    shared, *own = [*(before for _, before in line.sets), {dest: getattr(line, dest) for dest in usual}]
    lines: list[tuple[str, CommandLine]] = []
    for (name, _), values in zip(line.sets, own, strict=True):
        given = {dest: value for dest, value in values.items() if value != usual[dest]}
        lines.append((name, _LineOfSet(**vars(line) | shared | given | {"name_of_set": name})))
    return lines


def _usual_values() -> Values:
    """The flags of one test set's inputs, with the values that they have if they are not given."""
    parser = ArgumentParser(add_help=False)
    add_all(parser, [TextFlags, ScoreFileFlags, *((each.title, each.add_arguments) for each in installed_inputs())])
    return {action.dest: parser.get_default(action.dest) for action in parser._actions}


@contextmanager
def _about(name: str, said: list[str]) -> Iterator[None]:
    """Begin the block's notices and errors with the name of the test set, if it has one; `said` gets the bare notices."""
    found: list[Any] = []
    try:
        with collected() as found:
            yield
    except CtxMetricsError as error:
        error.about = ": ".join(filter(None, (f"--set {name}" if name else "", error.about)))
        raise
    finally:
        for each in found:
            notice(each.of(f"--set {name}") if name else each)
        said += map(str, found)
