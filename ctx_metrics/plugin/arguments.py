"""The flags that plugin metrics add to the sacrebleu command."""

import argparse
import os
import sys

from ..errors import CtxMetricsError
from ..pseudo_references.options import add_pseudo_arguments
from ..roundtrip.options import add_roundtrip_arguments
from ..run.flags import add_engine_arguments, add_metric_arguments, model_hint, wanted_metrics
from .capture import Run


def parser_class(run: Run) -> type[argparse.ArgumentParser]:
    """An ArgumentParser that adds the plugin metrics' flags before it parses, and tells the run what was parsed."""

    class PluginArgumentParser(argparse.ArgumentParser):
        _plugin_actions: frozenset = frozenset()

        def __init__(self, *args, **options):
            run.begun, run.metrics = False, {}  # the last run is over: sacrebleu now looks at its metrics' classes
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
                for fault in broken.values():
                    sys.stderr.write(f"ctx-metrics: {fault}\n")
                raise
            owners = {dest: name for name, dests in own.items() for dest in dests} | {"slide_output": "slide"}
            for action in self._given:
                owner = owners.get(action.dest)
                if owner and owner not in namespace.metrics:
                    self.error(f"{action.option_strings[0]} is a flag of {owner}, which -m does not name")
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
