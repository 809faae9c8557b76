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
    flags.append("-m nist --ctx-seg-scores|cite rouge|: ctx-metrics --help")
    done = recording(TOOL.parent.parent, folder / "out.jsonl", *flags)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def compared(recorded, tmp_path):
    """A function that compares the recording with one in which a result has changed."""

    def compare(number: int, *flags: str, **changed) -> subprocess.CompletedProcess:
        new = [{**result, **changed} if k == number else result for k, result in enumerate(recorded)]
        for name, results in (("old", recorded), ("new", new)):
            (tmp_path / name).write_text("".join(json.dumps(result) + "\n" for result in results))
        return recording("--compare", tmp_path / "old", tmp_path / "new", *flags)

    return compare


def of(recorded: list[dict], words: str) -> int:
    """The number of the command with these words in its name."""
    [number] = [number for number, result in enumerate(recorded) if words in result["name"]]
    return number


def test_what_is_recorded(recorded):
    scored, cited = (recorded[of(recorded, words)] for words in ("nist", "rouge"))
    assert all(1 < float(each["NIST"]) < 15 for each in json.loads(scored["stdout"])) and scored["code"] == 0
    assert len(scored["files"]["out/nist-ref_en.seg.score"].splitlines()) == 3 * 59
    assert cited["code"] == 2 and "rouge" in cited["stderr"] and cited["files"] == {}


def test_what_has_changed_is_found(recorded, compared):
    scored = of(recorded, "nist")
    result = recorded[scored]
    scores = [{**each, "NIST": each["NIST"] + "1"} for each in json.loads(result["stdout"])]
    file = sorted(result["files"])[0]
    assert compared(scored, "--strict").returncode == 0
    for changed in (
        {"stdout": json.dumps(scores, indent=4) + "\n"},
        {"code": 1},
        {"files": {**result["files"], file: result["files"][file] + "more\n"}},
        {"files": {}},
    ):
        done = compared(scored, **changed)
        assert done.returncode == 1 and result["name"] in done.stdout


def test_messages_may_change_unless_it_is_strict(compared):
    done = compared(0, stderr="another line\n")
    assert done.returncode == 0 and "+another line" in done.stdout
    assert compared(0, "--strict", stderr="another line\n").returncode == 1


def test_the_list_names_every_metric_and_every_subcommand(recorded):
    commands = recording("--list").stdout.splitlines()
    assert len(set(commands)) == len(commands) > 500
    for entry in entry_points(group="sacrebleu.metrics"):
        assert any(re.search(rf"sacrebleu .*-m ([\w ]+ )?{entry.name}\b", command) for command in commands), entry.name
    printed = recorded[of(recorded, "--help")]["stdout"]
    subcommands = re.findall(r"^    ([a-z-]+) {2,}", printed, re.M)
    assert len(subcommands) >= 15
    for name in subcommands:
        assert f"helps: ctx-metrics {name} --help" in commands
        assert sum(
            f": ctx-metrics {name} -" not in command and f": ctx-metrics {name}" in command for command in commands
        ), name
