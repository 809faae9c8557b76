"""Helpers of the tests of the `ctx-metrics` command: runs in this process, in the folder of the examples."""

import io
import json
import sys
from typing import NamedTuple

import pytest
from plugin_conftest import EXAMPLES

from ctx_metrics.cli import main


class Done(NamedTuple):
    code: int
    out: str
    err: str

    def rows(self) -> list[dict[str, str]]:
        """The lines of TSV as dictionaries."""
        header, *lines = [line.split("\t") for line in self.out.splitlines()]
        return [dict(zip(header, line, strict=True)) for line in lines]

    def objects(self) -> list[dict]:
        """The objects of JSON lines, which must be JSON as the standard has it."""

        def refuse(word: str):
            pytest.fail(f"{word} is not JSON")

        return [json.loads(line, parse_constant=refuse) for line in self.out.splitlines()]


def error(done: Done) -> str:
    """The one line of a failed run."""
    assert (done.code, done.out) == (1, "") and done.err.count("\n") == 1, done
    return done.err.removeprefix("ctx-metrics: error: ").rstrip("\n")


@pytest.fixture
def ctx(monkeypatch, capfd):
    """Runs the command: ctx("score", ..., stdin=b"...") gives exit code, standard output and standard error."""
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def call(*argv: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capfd.readouterr()
        sys.stdout.reconfigure(errors="surrogateescape")  # so that capfd gives bytes that are no text as they are
        try:
            code = main([str(word) for word in argv])
        except SystemExit as error:
            code = error.code
        return Done(code, *capfd.readouterr())

    return call
