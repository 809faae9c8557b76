"""tests/recording: what it records of a few commands, that it finds what changed, and that its list is whole."""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from plugin_conftest import EXAMPLES

TOOL = Path(__file__).resolve().parent / "recording"


def recording(*args: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(TOOL), *map(str, args)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> list[dict]:
    folder = tmp_path_factory.mktemp("recording")
    shutil.copytree(EXAMPLES, folder / "inputs" / "examples")
    flags = ["--bin", Path(sys.executable).parent, "--inputs", folder / "inputs", "--jobs", "1", "--only"]
    flags.append("-m nist --ctx-seg-scores|cite rouge")
    done = recording(TOOL.parent.parent, folder / "out.jsonl", *flags)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()]


RESULT = {
    "name": "scores: sacrebleu ref.txt -i hyp.txt -m nist",
    "code": 0,
    "stdout": json.dumps([{"system": "hyp", "NIST": "5.25"}], indent=4) + "\n",
    "stderr": "a line\n",
    "files": {"out/nist-ref.seg.score": "hyp\t5.25\n"},
}
OTHER = {"name": "cite: ctx-metrics cite rouge", "code": 2, "stdout": "", "stderr": "no such metric\n", "files": {}}


@pytest.fixture
def compared(tmp_path):
    """A function that compares a recording with one in which a result has changed."""

    def compare(*flags: str, **changed) -> subprocess.CompletedProcess:
        for name, results in (("old", [RESULT, OTHER]), ("new", [{**RESULT, **changed}, OTHER])):
            (tmp_path / name).write_text("".join(json.dumps(result) + "\n" for result in results))
        return recording("--compare", tmp_path / "old", tmp_path / "new", *flags)

    return compare


def of(recorded: list[dict], words: str) -> int:
    """The number of the command with these words in its name."""
    [number] = [number for number, result in enumerate(recorded) if words in result["name"]]
    return number


@pytest.mark.full
def test_what_is_recorded(recorded):
    scored, cited = (recorded[of(recorded, words)] for words in ("nist", "rouge"))
    assert all(1 < float(each["NIST"]) < 15 for each in json.loads(scored["stdout"])) and scored["code"] == 0
    assert len(scored["files"]["out/nist-ref_en.seg.score"].splitlines()) == 3 * 59
    assert cited["code"] == 2 and "rouge" in cited["stderr"] and cited["files"] == {}


def test_what_has_changed_is_found(compared):
    assert compared("--strict").returncode == 0
    [(file, text)] = RESULT["files"].items()
    for changed in (
        {"stdout": RESULT["stdout"].replace("5.25", "5.251")},
        {"code": 1},
        {"files": {file: text + "more\n"}},
        {"files": {}},
    ):
        done = compared(**changed)
        assert done.returncode == 1 and RESULT["name"] in done.stdout


def test_messages_may_change_unless_it_is_strict(compared):
    done = compared(stderr="another line\n")
    assert done.returncode == 0 and "+another line" in done.stdout
    assert compared("--strict", stderr="another line\n").returncode == 1


def test_the_list_names_every_metric_and_every_subcommand():
    commands = recording("--list").stdout.splitlines()
    assert len(set(commands)) == len(commands) > 500
    for entry in entry_points(group="sacrebleu.metrics"):
        assert any(re.search(rf"sacrebleu .*-m ([\w ]+ )?{entry.name}\b", command) for command in commands), entry.name
    subcommands = [entry.name for entry in entry_points(group="ctx_metrics.commands") if "." not in entry.name]
    assert len(subcommands) >= 15
    for name in subcommands:
        assert f"helps: ctx-metrics {name} --help" in commands
        assert sum(
            f": ctx-metrics {name} -" not in command and f": ctx-metrics {name}" in command for command in commands
        ), name
