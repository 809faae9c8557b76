"""The metrics of a command line and their flags: those that metrics declare, and those of sacrebleu's own."""

import re
from argparse import SUPPRESS, Action, ArgumentError, ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from sacrebleu.metrics import BLEU

from ...flag_types import Name, Number, Order
from ...registry import MetricTable, asks_for_help, metric_table, model_fix, wanted_metrics
from ...run.wrappers import installed_wrappers
from ...scoring.context import MetricSettings, capabilities, checked_flags, own_prefixes
from ...settings import CommandLine, add_flags, setting


def named_metric(text: str) -> str:
    if fix := model_fix(text, metric_table()):
        raise ArgumentTypeError(fix)
    return text.lower()


def metric_names() -> list[str]:
    return [name.lower() for name in metric_table()]


def metric_with_settings(text: str) -> str:
    name, colon, settings = text.partition(":")
    return named_metric(name) + colon + settings


class _Names(list[str]):
    """Names of metrics as choices for argparse; NAME:KEY=VALUE,... counts as a choice if NAME is one."""

    def __contains__(self, metric: object) -> bool:
        return super().__contains__(name_of(str(metric)))


def metrics_with_settings() -> list[str]:
    """Return the names of all metrics; each also allows NAME:KEY=VALUE,...."""
    return _Names(metric_names())


def name_of(metric: str) -> str:
    """Return the name in NAME or NAME:KEY=VALUE,...

    >>> name_of("slide:window=3,stride=1"), name_of("bleu")
    ('slide', 'bleu')
    """
    return metric.partition(":")[0]


GRID_SETTINGS = ("window", "stride", "tokens")  # settings of slide that --slide-grid replaces
Metrics = Annotated[Sequence[str], named_metric, "NAME"]
MetricsWithSettings = Annotated[Sequence[str], metric_with_settings, "NAME[:KEY=VALUE,...]"]


def metrics_setting(group: str, default: str, more: str = "") -> Any:
    text = f"One or more of %(choices)s{more}. (Default: {default})"
    return setting(text, flag="-m --metrics", group=group, action="store", choices=metric_names)


def model_setting() -> Any:
    return setting(
        "Model of the metrics that a quality model computes, such as comet, slide and esim, unless their own flag "
        "(--comet-model, ...) is given."
    )


@dataclass(frozen=True)
class Bleu:
    """BLEU's settings, named as in its constructor; the flags are sacrebleu's."""

    tokenize: Name | None = setting(
        "One of %(choices)s. (Default: by the target language, else 13a)", choices=[*BLEU.TOKENIZERS]
    )
    lowercase: bool = setting("Ignore case.", False)
    smooth_method: Name = setting("One of %(choices)s.", "exp", choices=[*BLEU.SMOOTH_DEFAULTS])
    smooth_value: Number | None = setting("Value of the smoothing methods floor (default 0.1) and add-k (default 1).")


@dataclass(frozen=True)
class Chrf:
    char_order: Order = setting("Maximum length of character n-grams.", 6)
    word_order: Order = setting("Maximum length of word n-grams; 2 gives chrF++.", 0)
    beta: Order = setting("Weight of recall.", 2)
    whitespace: bool = setting("Count white space.", False)
    lowercase: bool = setting("Ignore case.", False)
    eps_smoothing: bool = setting("Smooth as chrF++.py and Moses do.", False)


@dataclass(frozen=True)
class Ter:
    case_sensitive: bool = setting("Distinguish upper and lower case.", False)
    asian_support: bool = setting("Treat each Asian character as a word.", False)
    no_punct: bool = setting("Remove punctuation.", False)
    normalized: bool = setting("Normalise and tokenise.", False)


SACREBLEU = {"bleu": Bleu, "chrf": Chrf, "ter": Ter}


def add_sacrebleu_arguments(parser: ArgumentParser, argv: Sequence[str]) -> dict[str, list[str]]:
    """Add the flags of BLEU, chrF and TER; --help shows only those of the metrics that the command line names.

    Returns the attribute names of each metric's flags: METRIC_ followed by the name of a constructor argument.
    """
    own = {}
    for name, settings in SACREBLEU.items():
        group = parser.add_argument_group(f"{name.upper()} related arguments") if name in argv else parser
        before = len(parser._actions)
        add_flags(group, settings, prefix="--" if name == "bleu" else f"--{name}-", dest=f"{name}_")
        own[name] = [action.dest for action in parser._actions[before:]]
        for action in parser._actions[before:] if group is parser else ():
            action.help = SUPPRESS
    return own


def add_metric_arguments(parser: ArgumentParser, name: str, table: MetricTable) -> list[str]:
    """Add a metric's flags in a group of their own; returns the names of their attributes."""
    metric = table[name.upper()]
    if dests := checked_flags(name, metric):
        metric.add_arguments(parser.add_argument_group(f"{metric.__name__} related arguments"))
    return dests


def add_own_flags(parser: ArgumentParser, argv: Sequence[str], default: Sequence[str] = ()) -> None:
    """Add the flags of the metrics that the command line names, or else of the default ones, and of sacrebleu's metrics."""
    table = metric_table()
    words = [name_of(word) for word in argv if not asks_for_help(word)]
    shown = wanted_metrics(table.plugins, words) or default
    own = {name: add_metric_arguments(parser, name, table) for name in shown}
    parser.set_defaults(own=own | add_sacrebleu_arguments(parser, words))


def add_wrapper_flags(parser: ArgumentParser, texts: bool = True) -> None:
    """Add the flags that change how every metric scores, for commands that score whole systems.

    texts    whether the command reads the systems' texts from files of its own flags
    """
    for wrapper in installed_wrappers() if texts else [each for each in installed_wrappers() if not each.reads]:
        add_flags(parser.add_argument_group(wrapper.title), wrapper.settings)


def chosen_metrics(
    line: CommandLine, names: Sequence[str], *, also: Sequence[str] = (), model: str | None = None
) -> list[MetricSettings]:
    """Return the metrics of -m, each once, with the values of their own flags as arguments of their constructors.

    names    NAME, or NAME:KEY=VALUE,..., whose VALUEs replace those of the flags; KEY is a flag without --NAME-
    also     further metrics whose flags may be given
    model    the model of the quality models among the metrics, unless their own flag names one
    """
    named, own = {*map(name_of, names), *also}, {name: _own_settings(name, line) for name in names}
    table = metric_table()
    others = {name: dests for name, dests in line.own.items() if name not in named}
    foreign = [
        (name, word)
        for name in others
        for word in line.argv
        if word.startswith(own_prefixes(name, table[name.upper()]))
    ] + [
        (name, action.option_strings[0])
        for action in line.parser._actions
        for name in SACREBLEU
        if action.dest in others.get(name, ()) and getattr(line, action.dest) != action.default
    ]
    for name, flag in foreign:
        line.error(
            f"{flag} is a flag of {name}, which is not among the metrics of -m; add the metric, or leave the flag out"
        )
    chosen = [MetricSettings(name, table[name_of(name).upper()], settings) for name, settings in own.items()]
    if model is None:
        return chosen
    with_model = [each.name for each in chosen if capabilities(each.cls).estimator]  # not text encoders such as bertr's
    if not with_model:
        line.error(f"--model is given, but none of the metrics has a quality model ({', '.join(names)})")
    return [
        each._replace(own={**each.own, "model": model})
        if each.name in with_model and each.own["model"] == line.parser.get_default(f"{each.name}_model")
        else each
        for each in chosen
    ]


def _own_settings(metric: str, line: CommandLine) -> dict[str, Any]:
    name, colon, given = metric.partition(":")
    own = line.own.get(name, ())
    values = {dest.removeprefix(f"{name}_"): getattr(line, dest) for dest in own}
    flags = {each.dest.removeprefix(f"{name}_"): each for each in line.parser._actions if each.dest in own}
    for each in re.split(r",(?=[\w-]+=)", given) if colon else ():
        key, equals, text = each.partition("=")
        key = key.replace("-", "_")
        if key not in flags or not equals:
            keys = ", ".join(sorted(flags)).replace("_", "-")
            line.error(f"-m {metric}: {each!r} is not KEY=VALUE with a setting of {name}; its settings: {keys}")
        values[key] = _value(line, metric, flags[key], text)
    return values


def _value(line: CommandLine, metric: str, flag: Action, text: str) -> Any:
    """Return the value of a setting, as its flag parses it; for a flag without a value, the text is yes or no."""
    if flag.nargs == 0:
        if text not in ("yes", "no"):
            line.error(f"-m {metric}: {flag.option_strings[0]} must be yes or no, not {text!r}")
        return flag.const if text == "yes" else flag.default
    try:
        return line.parser._get_values(flag, [text])
    except ArgumentError as error:
        line.error(f"-m {metric}: {error}")
