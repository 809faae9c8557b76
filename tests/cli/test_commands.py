"""Subcommands of other packages: what their settings may name, and what they may not."""

import sys
from dataclasses import make_dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture

from ctx_metrics.cli import commands
from ctx_metrics.flag_types import File
from ctx_metrics.settings import setting


@pytest.fixture
def installed(monkeypatch):
    """Installs a subcommand `count`, whose only setting is a positional argument of a name."""

    def install(name: str) -> None:
        module = ModuleType("a_package", "Count the lines of a file.")
        settings = make_dataclass("Text", [(name, File, setting("A file.", flag="FILE"))], frozen=True)
        settings.__module__ = "a_package"
        read = lambda line: print(Path(getattr(line[settings], name)).read_text().count("\n")) or 0  # noqa: E731
        vars(module).update(FLAGS=[settings], run=read, SUMMARY="count lines")
        monkeypatch.setitem(sys.modules, "a_package", module)
        entry_point = EntryPoint("count", "a_package", commands.GROUP)
        monkeypatch.setattr(commands, "installed", lambda group: [entry_point])

    return install


@pytest.mark.parametrize("name", ["file", "output", "texts"])
def test_a_positional_argument_may_be_named_as_our_own_outputs_are(ctx, installed, tmp_path, name):
    installed(name)
    (tmp_path / "two.txt").write_text("a\nb\n")
    assert ctx("count", tmp_path / "two.txt")[:2] == (0, "2\n")


@pytest.mark.parametrize("name", commands.RESERVED)
def test_what_the_command_line_holds_itself_is_no_name_of_a_setting(ctx, installed, name):
    installed(name)
    done = ctx("count", "ref.en.txt")
    assert done.code == 1 and done.err.count("\n") == 1 and f"cannot be named {name}" in done.err
