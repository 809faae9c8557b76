"""A file that another package lets the sacrebleu command write beside its scores."""

import pytest
from plugin_conftest import DOCIDS, REF, SOURCE, A, B, add_package, fresh_python
from plugin_conftest import fresh_sacrebleu as sacrebleu

NAMES = """
from ctx_metrics.errors import InputError
from ctx_metrics.run.outputs import RunOutput

def check(context, testing):
    if len(context.systems) < 2:
        raise InputError("list: one system")

def text(run, testing):
    return "".join(f"{name} {metric}\\n" for name in run.context.names for metric in run.metrics)

OUTPUT = RunOutput("list", "FILE", "List the systems.", check, text, reads=frozenset({"sources"}))
"""


@pytest.fixture
def package(tmp_path) -> dict[str, str]:
    outputs = {"list": "names:OUTPUT", "none": "names:check", "gone": "nowhere:OUTPUT"}
    return add_package(tmp_path, {}, {"names.py": NAMES}, "names", outputs=outputs)


def test_it_is_written_after_scoring(package, tmp_path):
    path = tmp_path / "list.txt"
    of_files = [REF, "-i", A, B, "-m", "bleu", "chrf", "--source", SOURCE]
    done = sacrebleu(*of_files, "--ctx-list", str(path), "--ctx-names", "a", "b", **package)
    assert done.returncode == 0 and path.read_text() == "a bleu\na chrf\nb bleu\nb chrf\n"
    assert "--source" not in done.stderr  # which it reads
    left_out = [line.split()[3] for line in done.stderr.splitlines() if line.startswith("ctx-metrics: ")]
    assert left_out == ["gone", "none"]
    assert "--ctx-list" in sacrebleu("--help", **package).stdout


PROGRAM = """
from ctx_metrics import evaluate, read_lines
from ctx_metrics.cli import main

folder, ref, a, b = sys.argv[1:]
for command in ("score", "compare"):
    main([command, "-t", a, b, "-r", ref, "-m", "chrf", "--names", "a", "b", "--list", f"{folder}/{command}.txt"])
evaluate({"a": read_lines(a), "b": read_lines(b)}, read_lines(ref), metrics="chrf").write("list", f"{folder}/python.txt")
try:
    main(["score", "-t", a, "-r", ref, "-m", "chrf", "--list", f"{folder}/one.txt"])
except SystemExit as end:
    print(end.code)
"""


def test_all_front_ends_write_it(package, tmp_path):
    done = fresh_python(PROGRAM, tmp_path, REF, A, B, **package)
    written = {path.stem: path.read_text() for path in tmp_path.glob("*.txt")}
    assert written == dict.fromkeys(["score", "compare", "python"], "a chrf\nb chrf\n"), done.stderr
    assert "error: list: one system" in done.stderr


def test_it_is_checked_before_scoring(package, tmp_path):
    path = tmp_path / "list.txt"
    done = sacrebleu(REF, "-i", A, "--ctx-list", str(path), **package)
    assert (done.returncode, done.stdout) == (1, "") and "list: one system" in done.stderr
    assert not path.exists()
    done = sacrebleu(REF, "-i", A, B, "--ctx-list", A, **package)
    assert done.returncode == 1 and done.stdout == "" and A in done.stderr


def test_resampling_concerns_those_that_test_systems(package, tmp_path):
    of_documents = ["--docids", DOCIDS, "--ctx-resample", "document"]
    done = sacrebleu(REF, "-i", A, B, "--ctx-list", str(tmp_path / "list.txt"), *of_documents, **package)
    [notice] = [line for line in done.stderr.splitlines() if "--ctx-resample" in line]
    assert "--ctx-report" in notice and "--ctx-list" not in notice
