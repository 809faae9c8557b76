"""The flags that plugin metrics add to the sacrebleu command."""

import argparse
import sys
from collections.abc import Collection, Sequence
from dataclasses import fields
from os.path import expanduser

from ..engine.options import EngineOptions
from ..errors import CtxMetricsError
from ..run.flags import ContextFiles, add_metric_arguments, model_hint, wanted_metrics
from ..run.inputs import installed_inputs
from ..run.spelling import SuggestingParser
from ..settings import CommandLine, add_flags
from ..standard_streams import check_output, open_closed
from .capture import Run, RunSettings
from .outputs import RunOutput, installed_outputs


def parser_class(run: Run) -> type[argparse.ArgumentParser]:
    """Return a parser class that adds the plugin metrics' flags before parsing and gives the run the parsed arguments."""

    class PluginArgumentParser(SuggestingParser):
        _plugin_actions: frozenset = frozenset()

        def __init__(self, *args, **options):
            run.begun, run.metrics = False, {}  # the last run is over; sacrebleu next reads its metrics' classes
            run.flags = {}
            self._given: list[argparse.Action] = []
            super().__init__(*args, **options)

        def parse_args(self, args=None, namespace=None):
            argv = sys.argv[1:] if args is None else list(args)
            stock = set(map(id, self._actions))
            add_shared_arguments(self)
            own, broken, run.outputs = dict(run.flags), {}, installed_outputs()
            wanted = wanted_metrics(run.table.plugins, argv)
            add_run_arguments(self, wanted, run.outputs)
            for name in [each for each in wanted if each not in own]:
                try:
                    own[name] = add_metric_arguments(self, name, run.table)
                except CtxMetricsError as error:
                    broken[name] = error
            self._plugin_actions = frozenset(id(action) for action in self._actions if id(action) not in stock)
            try:
                namespace = super().parse_args(argv, namespace or CommandLine())
            except SystemExit:  # --help or an unknown flag: say whose flags are missing
                for fault in broken.values():
                    sys.stderr.write(f"ctx-metrics: {fault}\n")
                raise
            owners = {dest: name for name, dests in own.items() for dest in dests} | {"slide_output": "slide"}
            for action in self._given:
                owner = owners.get(action.dest)
                if owner and owner not in namespace.metrics:
                    self.error(
                        f"{action.option_strings[0]} is a flag of {owner}, which is not among the metrics of "
                        f"-m; add the metric, or leave the flag out"
                    )
            run.begin(namespace, own, broken)
            if run.active:
                open_closed()
                check_output()
            return namespace

        def _get_values(self, action, arg_strings):  # called for given arguments, not for defaults
            self._given.append(action)
            return super()._get_values(action, arg_strings)

        def _check_value(self, action, value):
            if action.dest == "metrics" and (hint := model_hint(value, run.table)):
                self.exit(2, f"{self.prog}: error: {hint}\n")  # without the usage, which is long
            super()._check_value(action, value)

        def _get_option_tuples(self, option_string):
            # abbreviations that sacrebleu knows keep their meaning: --do is --download, not --docids
            options = super()._get_option_tuples(option_string)
            return [each for each in options if id(each[0]) not in self._plugin_actions] or options

    return PluginArgumentParser


def add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that several metrics share: the files that give context, and the engine's options."""
    group = parser.add_argument_group("Context for plugin metrics (ctx-metrics)")
    if "--source" not in parser._option_string_actions:  # otherwise sacrebleu has both flags
        add_flags(group, ContextFiles, only=["source", "docids"])
    for each in installed_inputs():
        each.add_arguments(parser.add_argument_group(f"{each.title[:1].upper()}{each.title[1:]} (ctx-metrics)"))
    add_flags(parser.add_argument_group("Engine of plugin metrics (ctx-metrics)"), EngineOptions)


def add_run_arguments(parser: argparse.ArgumentParser, wanted: Collection[str], outputs: Sequence[RunOutput]) -> None:
    """Add the flags that apply to all metrics of a run, including sacrebleu's: the resampling unit and the files to write.

    wanted     the plugin metrics that the command line may use; slide's file is offered only if slide is among them
    outputs    further files that the run can write
    """
    group = parser.add_argument_group("Tests and files of all metrics (ctx-metrics)")
    names = [each.name for each in fields(RunSettings) if each.name != "slide_output" or "slide" in wanted]
    others = names.index("ctx_seg_scores") + 1
    add_flags(group, RunSettings, only=names[:others])
    for output in outputs:
        group.add_argument(output.flag, metavar=output.metavar, type=expanduser, help=output.help)
    add_flags(group, RunSettings, only=names[others:])
