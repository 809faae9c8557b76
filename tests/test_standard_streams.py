"""Commands whose standard streams are closed, full, or read by nobody."""

import os
import sys
from pathlib import Path

import pytest
from plugin_conftest import COMMAND, REF, SOURCE, A, run
from selection import some, some_rows

from ctx_metrics.writing import open_closed

CTX = str(Path(sys.executable).with_name("ctx-metrics"))
SCORE = f"{CTX} score -t {A} -r {REF} -m chrf -l de-en"
SACREBLEU = f"{COMMAND} {REF} -i {A} -m nist"
CLOSED = "the standard output is closed; leave out `>&-`, or send it to a file"
FULL = "cannot write to the standard output: No space left on device"


CLOSED_OR_FULL = [
    (f"{SCORE} -q >&-", f"ctx-metrics: error: {CLOSED}"),
    (f"{SACREBLEU} >&-", f"sacreBLEU: error: {CLOSED}"),
    (f"{SCORE} -q >/dev/full", f"ctx-metrics: error: {FULL}"),
    (f"{COMMAND} {REF} -i {A} -m meteor -sl >/dev/full", f"sacreBLEU: error: {FULL}"),
    (f"{CTX} --help >/dev/full", f"ctx-metrics: error: {FULL}"),
    (f"{CTX} cite chrf >&-", "ctx-metrics: error: cannot write to the standard output: Bad file descriptor"),
]


@pytest.mark.parametrize(("command", "said"), some_rows(CLOSED_OR_FULL, CLOSED_OR_FULL[1:3]))
@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.full)])
def test_an_output_that_takes_nothing_is_one_line(command, said, unbuffered):
    done = run("sh", "-c", command, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{said}\n")


@pytest.mark.full
def test_with_a_file_the_output_may_be_closed(tmp_path):
    done = run("sh", "-c", f"{SCORE} -q -o {tmp_path}/scores.tsv >&-")
    assert (done.returncode, done.stderr) == (0, "") and (tmp_path / "scores.tsv").read_text().count("\n") == 61


COMET = f"{CTX} score -s {SOURCE} -t {A} -l de-en -m comet"  # a model, read by a library that is not Python


@pytest.mark.parametrize("command", some([SCORE, SACREBLEU, COMET], [SCORE]))
def test_without_stderr_the_result_is_printed_as_always(tmp_path, command):
    results = []
    for end in ("", " 2>&-"):
        assert run("sh", "-c", f"{command} >{tmp_path}/result{end}").returncode == 0
        results.append((tmp_path / "result").read_text())
    assert results[0] == results[1] != ""


def test_without_stderr_a_failure_is_one_still():
    assert run("sh", "-c", f"{CTX} score -t gone -r {REF} -m chrf 2>&-").returncode == 1


@pytest.mark.full
def test_a_closed_input_is_empty():
    empty = "the standard input is empty; give the"
    assert empty in run("sh", "-c", f"{CTX} score -r {REF} -m chrf <&-").stderr
    assert empty in run("sh", "-c", f"{COMMAND} {REF} -m nist <&-").stderr


@pytest.mark.full
def test_an_input_without_line_ends_is_not_read_whole(tmp_path):
    """As a device is: of what follows the bound, nothing is read."""
    with open(tmp_path / "endless", "wb") as file:
        file.truncate(2**40)
    for command in (f"{CTX} score -r {REF} -m chrf", f"{COMMAND} {REF} -m nist"):
        done = run("sh", "-c", f"ulimit -v 8000000; {command} <{tmp_path}/endless")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.endswith(
            "error: the standard input, line 1: it is longer than 16 MiB; a line feed must end each line\n"
        )


@pytest.mark.full
def test_a_reader_that_goes_ends_the_command_in_silence():
    for command in (f"{SCORE} -q", SACREBLEU):
        done = run("sh", "-c", f"({command}; echo $? >&2) | true")
        assert done.stderr in ("0\n", "141\n")  # 0 if it was quicker


def test_closed_streams_keep_their_numbers():
    """No file that is opened later gets one of them."""
    code = "from ctx_metrics.writing import open_closed; open_closed(); print(open('/dev/null').fileno())"
    done = run("sh", "-c", f'{sys.executable} -c "{code}" <&- 2>&-')
    assert int(done.stdout) > 2


def test_open_streams_stay():
    before = (sys.stdin, sys.stdout, sys.stderr, os.fstat(1).st_ino)
    open_closed()
    assert (sys.stdin, sys.stdout, sys.stderr, os.fstat(1).st_ino) == before
