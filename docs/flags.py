"""Writes docs/flags.md, the page of all flags, from the settings that declare them: python docs/flags.py"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.plugin.arguments import ContextFiles, add_run_arguments, installed_outputs
from ctx_metrics.registry import metric_table
from ctx_metrics.run.inputs import installed_inputs
from ctx_metrics.settings import add_flags

PAGE = Path(__file__).with_name("flags.md")
HEAD = """\
# Flags

Every flag of the metrics in the sacrebleu command, and of what they share; `ctx-metrics score` has them too.
`sacrebleu --help` names the main ones, `ctx-metrics flags slide` explains those of `slide`, `ctx-metrics flags` those that
metrics share. A misspelt flag is an error that names the one that was probably meant. The shell completes all of them after

    ctx-metrics completion bash > ~/.ctx-metrics.bash && echo '. ~/.ctx-metrics.bash' >> ~/.bashrc

`ctx-metrics completion --help` says how in zsh and fish. In Python a metric's flag is a keyword of its class:
`--bertr-max-length 99` is `BERTR(max_length=99)`. The settings declare their flags
([why](decisions/49-settings-declare-their-flags.md)), and `python docs/flags.py` writes this page from them.
"""
SHARED = {
    "The files of a run": partial(add_flags, settings=ContextFiles),
    "Tests and files of all metrics": partial(add_run_arguments, wanted=["slide"], outputs=installed_outputs()),
    **{f"{each.title[:1].upper()}{each.title[1:]}": each.add_arguments for each in installed_inputs()},
    "Engine": partial(add_flags, settings=EngineOptions),
}


def rows(add_arguments: Callable[[argparse.ArgumentParser], None]) -> Iterator[str]:
    """The lines of a table of flags."""
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    yield "| flag | meaning | default |\n|---|---|---|\n"
    for action in parser._actions:
        flag = parser._get_formatter()._format_action_invocation(action).replace("|", "\\|")
        meaning, _, default = (action.help % vars(action)).replace("|", "\\|").partition(" (Default: ")
        yield f"| `{flag}` | {meaning} | {default.removesuffix(')')} |\n"


def page() -> str:
    """The text of the page."""
    table = metric_table()
    metrics = {name: table[name.upper()] for name in sorted(table.plugins)}
    ours = {name: cls.add_arguments for name, cls in metrics.items() if cls.__module__.startswith("ctx_metrics.")}
    return HEAD + "".join(f"\n## {title}\n\n{''.join(rows(add))}" for title, add in (ours | SHARED).items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
