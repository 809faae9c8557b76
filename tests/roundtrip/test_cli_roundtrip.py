"""`ctx-metrics roundtrip`: outputs to files of round trips."""

import gzip
from functools import partial

import pytest
import toy_translation as toys
from cli_conftest import ctx  # noqa: F401  a fixture


@pytest.fixture
def run(ctx, monkeypatch, tmp_path):
    """run("-t", ...) gives exit code, standard output and standard error, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    return partial(ctx, "roundtrip")


def test_a_command_from_end_to_end(run, tmp_path, put):
    put("a.de.txt", "eins", "", "zwei \r drei")
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("eins\nvier\neins\n")
    code, out, err = run("-t", "a.de.txt", "b.txt.gz", "--rtt-bt", "cmd:sed 's/^/> /'", "-o", "new/rtt")
    assert (code, err) == (0, "ctx-metrics: a.de: 1 output is empty, and so is the round trip (segment 2)\n")
    assert (tmp_path / "new/rtt/a.de.rtt.txt").read_bytes() == b"> eins\n\n> zwei \r drei\n"
    assert (tmp_path / "new/rtt/b.rtt.txt").read_bytes() == b"> eins\n> vier\n> eins\n"
    assert len(list((tmp_path / "new/rtt").iterdir())) == 2
    assert "Back-translator: cmd-" in out and "new/rtt/a.de.rtt.txt" in out and "Copies" not in out


@pytest.mark.full
def test_a_model_from_end_to_end_with_guards(run, tmp_path, put):
    toy, lines = toys.trained_marian(), toys.lines(30, seed=11)
    put("src.txt", *(toy.expected(line) for line in lines))
    put("a.txt", *lines)
    put("b.txt", toy.expected(lines[0]), "", *lines[2:])
    flags = ["-t", "a.txt", "b.txt", "-l", "en-de", "--bt", f"hf:{toy.folder}", "-s", "src.txt", "--ctx-device", "cpu"]
    code, out, err = run(*flags, "--rtt-beams", "2")
    assert code == 0
    assert (tmp_path / "a.rtt.txt").read_text() == (tmp_path / "src.txt").read_text()
    expected = [toy.expected(toy.expected(lines[0])), "", *(toy.expected(line) for line in lines[2:])]
    assert (tmp_path / "b.rtt.txt").read_text().split("\n") == [*expected, ""]
    rows = [line.strip("│").split("│") for line in out.splitlines() if ".txt" in line]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["a", "30", "0", "0", "0", "a.rtt.txt"],
        ["b", "30", "1", "1", "0", "b.rtt.txt"],
    ]
    equal = "round trips equal the source, so perhaps the source was given for the round trip (segments"
    assert err.splitlines() == [
        f"ctx-metrics: a: 30 {equal} 1, 2, 3, 4, 5, ...)",
        "ctx-metrics: b: 1 output copies the source, which a round trip cannot show (segment 1)",
        "ctx-metrics: b: 1 output is empty, and so is the round trip (segment 2)",
        f"ctx-metrics: b: 28 {equal} 3, 4, 5, 6, 7, ...)",
    ]
    assert f"Back-translator: hf-{toy.folder.name}-" in out and out.endswith("-beams2\n")


def test_a_failure_writes_no_file_and_the_next_run_goes_on(run, tmp_path, put):
    put("a.txt", *"abcd")
    put("a.rtt.txt", "of an earlier run")
    drops = 'cmd:tee -a asked | sed "$(ls | grep -q mend || echo /c/d)"'
    flags = ["-t", "a.txt", "--rtt-batch-lines", "2", "--rtt-bt", drops]
    code, out, err = run(*flags)
    assert (code, out, err.count("\n")) == (1, "", 1) and err.startswith("ctx-metrics: error: cmd: line-count drift: ")
    assert (tmp_path / "a.rtt.txt").read_text() == "of an earlier run\n"
    put("mended")
    code, out, err = run(*flags)
    assert code == 0 and err.startswith("ctx-metrics: round trip: 2 of 4 distinct lines from the cache ")
    assert (tmp_path / "a.rtt.txt").read_text() == "a\nb\nc\nd\n"
    assert (tmp_path / "asked").read_text() == "a\nb\nc\nd\nc\nd\n"


def test_the_system_named_as_the_back_translator_is_said(run, put):
    put("google.txt", "eins")
    put("ours.txt", "eins")
    _, _, err = run("-t", "google.txt", "ours.txt", "--rtt-bt", "cmd:sed s/ei/i/", "--rtt-bt-name", "google-2026")
    assert "seems to be the system google: its round trips score too high" in err and "ours" not in err


@pytest.mark.parametrize(
    "flags, said",
    [
        (["-t", "a.txt", "-s", "two.txt"], "a.txt has 1 line, but the source two.txt has 2"),
        (["-t", "empty.txt"], "empty.txt is empty"),
        (["-t", "a.txt", "in/a.txt"], "a.txt and in/a.txt would both become a.rtt.txt"),
        (["-t", "b.txt"], "cannot write b.rtt.txt: it is a folder"),
        (["-t", "a.txt", "--rtt-cache", "two.txt"], "the kept round trips in two.txt/cmd-"),
    ],
)
def test_faults_are_one_line_and_no_command_is_started(run, tmp_path, put, flags, said):
    put("a.txt", "eins")
    put("b.txt", "eins")
    put("two.txt", "one", "two")
    put("in/a.txt", "eins")
    put("empty.txt")
    (tmp_path / "b.rtt.txt").mkdir()
    code, out, err = run(*flags, "--rtt-bt", "cmd:touch started; cat")
    assert (code, out) == (1, "") and err.startswith(f"ctx-metrics: error: {said}") and err.count("\n") == 1
    assert not (tmp_path / "started").exists()


def test_the_encoding_is_that_of_the_files_written_too(run, tmp_path):
    (tmp_path / "a.txt").write_bytes("größer\n".encode("latin1"))
    assert run("-t", "a.txt", "-e", "latin1", "--rtt-bt", "cmd:sed 's/^/ä /'")[0] == 0
    assert (tmp_path / "a.rtt.txt").read_bytes() == "ä größer\n".encode("latin1")
    code, out, err = run("-t", "a.txt", "-e", "latin1", "--rtt-bt", "cmd:sed 's/^/€ /'")
    assert (code, out, err.count("\n")) == (1, "", 1) and "cannot write a.rtt.txt: line 1: '€' (U+20AC)" in err
    assert (tmp_path / "a.rtt.txt").read_bytes() == "ä größer\n".encode("latin1")
