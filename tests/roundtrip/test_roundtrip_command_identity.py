"""Commands that are written alike: told apart by the files that they name, or by the folder."""

import os

import pytest

from ctx_metrics.roundtrip import command_translator as of_command


def command_digest(command: str) -> str:
    return of_command.command_digest(command, of_command.named_by(command))


@pytest.fixture
def two(tmp_path, monkeypatch):
    """two(command, a, b, name) gives the digests in two folders with a file of the contents a and b; None makes none."""
    number = iter(range(100))

    def digests(command, a, b, name="tr.sh"):
        found = []
        for content in (a, b):
            folder = tmp_path / str(next(number))
            folder.mkdir()
            if content is not None:
                (folder / name).write_bytes(content)
            monkeypatch.chdir(folder)
            found.append(command_digest(command))
        return found

    return digests


NAMING = [
    "./tr.sh de en",
    "sh tr.sh",
    "cat|./tr.sh",
    "(./tr.sh)",
    "sh <tr.sh",
    "x; sh tr.sh& wait",
    "translate --script=tr.sh",
    "SCRIPT=./tr.sh run",
    "bash -c 'set -o pipefail; ./tr.sh | sort'",
    "bash -c './tr.sh|sort'",
    'run "tr.sh"',
    "$HERE/tr.sh",
    "it's tr.sh",  # quotes that are not closed
    "grep # tr.sh",
    # behind a file that it writes
    "tee x | sh tr.sh",
    "run 2>&1 tr.sh",
    "tee x; sh tr.sh",
    "echo a=b > x; sh tr.sh",
]


@pytest.mark.parametrize("command", NAMING)
def test_the_content_of_a_file_counts_and_not_its_folder(two, monkeypatch, command):
    monkeypatch.setenv("HERE", ".")
    one, other = two(command, b"cat\n", b"tac\n")
    assert one != other
    one, other = two(command, b"cat\n", b"cat\n")
    assert one == other


def test_the_home_folder_is_looked_up(two, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "tr.sh").write_text("cat\n")
    one, other = two("~/tr.sh", None, None)
    assert one == other
    (tmp_path / "tr.sh").write_text("tac\n")
    assert command_digest("~/tr.sh") != one


@pytest.mark.parametrize("command", ["translate de en", "cat", "python -m translate", "sed 's/^/x/'"])
def test_without_a_file_the_folder_counts(two, command):
    one, other = two(command, None, None)
    assert one != other and command_digest(command) == other


def test_a_file_that_is_no_text_does_not_stand_for_the_folder(two):
    """./python -m translate: what it runs is in the folder."""
    one, other = two("./python -m translate", b"\x7fELF\0", b"\x7fELF\0", "python")
    assert one != other


WRITES = ["> log", ">> log", "2>log", "2>> log", "| tee log", "| tee -a log", "| tee x log >y", "| tee >y log"]


@pytest.mark.parametrize("writes", [*WRITES, "&>log; cat log"])
def test_files_that_it_writes_do_not_count(two, writes):
    command = f"translate {writes}"
    two(command, None, None)
    before = command_digest(command)
    with open("log", "w") as file:
        file.write("asked: 1\n")
    assert command_digest(command) == before


def test_a_folder_counts_by_where_it_is(two):
    """Beside the same script, two folders `model` are two models."""
    two("x", b"cat\n", b"cat\n")
    found = []
    for _ in range(2):
        two("x", None, b"cat\n")
        before = command_digest("./tr.sh --model model")
        os.mkdir("model")
        found.append(command_digest("./tr.sh --model model"))
        assert found[-1] != before
    assert found[0] != found[1]


def test_a_program_counts_by_where_it_is_and_by_its_content(two, tmp_path, monkeypatch):
    """Of two virtual environments the same interpreter runs other packages."""
    found = []
    two("x", b"cat\n", None)
    two("x", None, b"cat\n")
    for name, content in (("v1", "one"), ("v2", "one"), ("v2", "two")):
        program = tmp_path / name / "translate-it"
        program.parent.mkdir(exist_ok=True)
        program.write_text(content)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        found.append(command_digest("translate-it tr.sh"))
    assert len(set(found)) == 3 and command_digest("translate-it tr.sh") == found[-1]


def test_a_program_that_may_not_be_read(two, monkeypatch):
    """Its size and time count; root reads all, so the failure is played."""
    two("x", None, b"cat\n")

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("ctx_metrics.roundtrip.command_translator.open", refused, raising=False)
    before = command_digest("./tr.sh")
    assert command_digest("./tr.sh") == before
    with open("tr.sh", "a") as file:
        file.write("more\n")
    assert command_digest("./tr.sh") != before


@pytest.mark.parametrize("command", ["x\udcff", "x" * 5000, "=", "''", "> ", "|", "a=", "tee", "'; ;'"])
def test_odd_commands(two, command):
    one, other = two(command, None, None)
    assert len(one) == len(other) == 12
