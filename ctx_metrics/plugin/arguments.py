"""The flags that plugin metrics add to the sacrebleu command."""

import argparse
import os
import re
import sys
from collections.abc import Callable

from ..engine.options import EngineOptions
from ..errors import CtxMetricsError
from ..pseudo_references.options import add_pseudo_arguments
from ..roundtrip.options import add_backtranslation_arguments
from ..run.context import capabilities
from ..run.registry import MetricTable
from .capture import Run

# what COMET models are called, and a name that the hub knows; the first pattern that is found counts
COMET_MODELS = {
    "xcomet.*xxl": "Unbabel/XCOMET-XXL",
    "xcomet": "Unbabel/XCOMET-XL",
    "kiwi": "Unbabel/wmt22-cometkiwi-da",
    "unite": "Unbabel/wmt22-unite-da",
    "comet.*qe": "Unbabel/wmt20-comet-qe-da",
    "^(?!doc).*comet": "Unbabel/wmt22-comet-da",
}
OTHER_MODELS = "metricx|bleurt"


def parser_class(run: Run) -> type[argparse.ArgumentParser]:
    """An ArgumentParser that adds the plugin metrics' flags before it parses, and tells the run what was parsed."""

    class PluginArgumentParser(argparse.ArgumentParser):
        _plugin_actions: frozenset = frozenset()

        def __init__(self, *args, **options):
            run.args, run.metrics = None, {}  # the last run is over: sacrebleu now looks at its metrics' classes
            self._given: list[argparse.Action] = []
            super().__init__(*args, **options)

        def parse_args(self, args=None, namespace=None):
            argv = sys.argv[1:] if args is None else list(args)
            stock = set(map(id, self._actions))
            add_shared_arguments(self)
            own, broken = {}, {}
            wanted = wanted_metrics(run.table.plugins, argv)
            add_run_arguments(self, wanted)
            for name in wanted:
                try:
                    own[name] = add_metric_arguments(self, name, run.table)
                except CtxMetricsError as error:
                    broken[name] = error
            self._plugin_actions = frozenset(id(action) for action in self._actions if id(action) not in stock)
            try:
                namespace = super().parse_args(argv, namespace)
            except SystemExit:  # --help, or an unknown flag: say whose flags are missing there
                for error in broken.values():
                    sys.stderr.write(f"ctx-metrics: {error}\n")
                raise
            owners = {dest: name for name, dests in own.items() for dest in dests} | {"slide_output": "slide"}
            for action in self._given:
                name = owners.get(action.dest)
                if name and name not in namespace.metrics:
                    self.error(f"{action.option_strings[0]} is a flag of {name}, which -m does not name")
            run.begin(namespace, own, broken)
            return namespace

        def _get_values(self, action, arg_strings):  # called for what the command line gives, not for defaults
            self._given.append(action)
            return super()._get_values(action, arg_strings)

        def _check_value(self, action, value):
            if action.dest == "metrics" and (hint := model_hint(value, run.table)):
                self.exit(2, f"{self.prog}: error: {hint}\n")  # without the usage, which is long
            super()._check_value(action, value)

        def _get_option_tuples(self, option_string):
            # an abbreviation that sacrebleu knows keeps its meaning: --do is --download, not --docids
            found = super()._get_option_tuples(option_string)
            return [each for each in found if id(each[0]) not in self._plugin_actions] or found

    return PluginArgumentParser


def model_hint(name: str, table: MetricTable) -> str:
    """What to give in place of a model's name where a metric is to be named; "" for a metric of the table and other words.

    >>> model_hint("xcomet", {})
    'xcomet is no metric but a model: give -m comet --comet-model Unbabel/XCOMET-XL'
    """
    word = name.lower()
    if word.upper() in table:
        return ""
    if re.search(OTHER_MODELS, word):
        return (
            f"{name} is no metric here, and its models cannot be run; those of COMET can: -m comet --comet-model MODEL"
        )
    model = next((model for pattern, model in COMET_MODELS.items() if re.search(pattern, word)), "")
    given = name if "/" in name else model
    return f"{name} is no metric but a model: give -m comet --comet-model {given}" if model else ""


def metric_name(table: MetricTable) -> Callable[[str], str]:
    """A type for argparse: a metric's name in lower case; its error says what to give for a model's name."""

    def read(text: str) -> str:
        if hint := model_hint(text, table):
            raise argparse.ArgumentTypeError(hint)
        return text.lower()

    return read


def wanted_metrics(names: list[str], argv: list[str]) -> list[str]:
    """The plugin metrics whose flags this command line may use; only they are imported."""
    if any(arg in ("-h", "--help") or (len(arg) > 2 and "--help".startswith(arg)) for arg in argv):
        return list(names)
    return [
        name
        for name in names
        if any(
            arg == name
            or arg.startswith(f"--{name}-")
            or (
                arg.startswith("--") and arg[2:].replace("-", "", 1).startswith(f"{name}-")
            )  # --rtt-sbert- is rttsbert's
            or (arg.startswith("-") and arg.endswith(name))
            for arg in argv
        )
    ]


def add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags that several metrics share: context from files, and how the engine runs."""
    group = parser.add_argument_group("Context for plugin metrics (ctx-metrics)")
    group.add_argument(
        "--source",
        type=os.path.expanduser,
        default=None,
        metavar="FILE",
        help="Source segments, one a line. (Default with -t: the test set's)",
    )
    group.add_argument(
        "--docids",
        type=os.path.expanduser,
        default=None,
        metavar="FILE",
        help="Document id of each line; a document is a run of equal ids. (Default with -t: the test set's, if it has them)",
    )
    add_roundtrip_arguments(parser.add_argument_group("Round trips of the rtt metrics (ctx-metrics)"))
    add_pseudo_arguments(parser.add_argument_group("Pseudo-references of the pr metrics (ctx-metrics)"))
    add_engine_arguments(parser.add_argument_group("Engine of plugin metrics (ctx-metrics)"))


def add_roundtrip_arguments(group) -> None:
    """The flags --roundtrip and --rtt-*: where the round trips of a run's systems come from."""
    group.add_argument(
        "--roundtrip",
        nargs="+",
        type=os.path.expanduser,
        default=None,
        metavar="FILE",
        help="Each system's output translated back into the source language, a file a system in the order of the systems.",
    )
    add_backtranslation_arguments(group)


def add_engine_arguments(group) -> None:
    """The flags --ctx-*: how the engine runs, in the sacrebleu command and in `ctx-metrics score`."""
    group.add_argument(
        "--ctx-device", default="auto", metavar="DEVICE", help="auto, cpu, mps, cuda or cuda:N. (Default: %(default)s)"
    )
    group.add_argument(
        "--ctx-dtype",
        choices=["fp32", "bf16", "fp16"],
        default="fp32",
        help="Arithmetic of the encoder; it is in the signature. (Default: %(default)s)",
    )
    group.add_argument(
        "--ctx-batch-tokens",
        type=positive,
        default=None,
        metavar="N",
        help="Tokens of one forward; no score depends on it. (Default: by device)",
    )
    group.add_argument(
        "--ctx-store-mb",
        type=positive,
        default=EngineOptions.store_mb,
        metavar="N",
        help="Memory for what metrics and systems share, in MiB. (Default: %(default)s)",
    )


def add_run_arguments(parser: argparse.ArgumentParser, wanted: list[str]) -> None:
    """The flags that bear on every metric of a run, sacrebleu's own too: how it resamples, which files it writes.

    `wanted` are the plugin metrics that the command line may use; the file of slide is offered beside slide only.
    """
    group = parser.add_argument_group("Tests and files of all metrics (ctx-metrics)")
    group.add_argument(
        "--ctx-resample",
        choices=["segment", "document"],
        default="segment",
        help="What --confidence and the paired tests resample or swap. Segments of a document are alike, so intervals "
        "from segments are too narrow; document needs --docids. (Default: %(default)s)",
    )
    group.add_argument(
        "--ctx-seg-scores",
        type=os.path.expanduser,
        default=None,
        metavar="DIR",
        help="Also write the scores of segments, documents (with --docids) and systems to files in DIR, "
        "named and laid out as mt-metrics-eval reads them.",
    )
    group.add_argument(
        "--ctx-names",
        nargs="+",
        default=None,
        metavar="NAME",
        help="The systems' names in these files, in the systems' order. (Default: the names of their files)",
    )
    group.add_argument(
        "--ctx-no-text-checks",
        action="store_true",
        help="Do not look for HTML entities, shifted lines and byte-order marks in the texts.",
    )
    if "slide" in wanted:
        group.add_argument(
            "--slide-output",
            type=os.path.expanduser,
            default=None,
            metavar="FILE.tsv",
            help="Also write slide's scores of windows, sentences, documents and systems to FILE.tsv.",
        )


def add_metric_arguments(parser: argparse.ArgumentParser, name: str, table: MetricTable) -> list[str]:
    """Let a metric add its flags in a group of its own; returns their attribute names.

    Raises CtxMetricsError, with the parser as it was, for a metric that cannot be loaded or whose flags are not its own.
    """
    metric = table[name.upper()]
    if not hasattr(metric, "add_arguments"):
        return []
    title = f"{metric.__name__} related arguments"
    trial = argparse.ArgumentParser(add_help=False).add_argument_group(title)
    try:
        metric.add_arguments(trial)
    except (
        Exception,
        SystemExit,
    ) as error:  # another package's code: whatever it raises is why its flags are not there
        raise CtxMetricsError(f"metric {name}: its flags cannot be added: {type(error).__name__}: {error}") from error
    for action in trial._group_actions:
        flags = action.option_strings or [action.dest]
        if not all(flag.startswith(own_prefixes(name, metric)) for flag in flags) or not action.dest.startswith(
            f"{name}_"
        ):
            raise CtxMetricsError(
                f"metric {name}: its flag {'/'.join(flags)} must begin with --{name}- "
                f"(and its dest, if it names one, with {name}_)"
            )
    metric.add_arguments(parser.add_argument_group(title))
    return [action.dest for action in trial._group_actions]


def own_prefixes(name: str, metric: type) -> tuple[str, ...]:
    """What a metric's own flags begin with: --NAME-, or what its capabilities name."""
    return (f"--{name}-", *capabilities(metric).flags)


def positive(text: str) -> int:
    """An integer of at least 1, for argparse."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value
