"""What a user can fix ends both commands with one line: packages that cannot be imported, too little memory, tokenizers."""

import json
import threading

import pytest
from plugin_conftest import REF, A, add_package, fresh_python, fresh_sacrebleu, python, sacrebleu

from ctx_metrics.cli import main
from ctx_metrics.errors import MORE_MEMORY, InputError, as_line

DOCTOR = "; `ctx-metrics doctor` shows what is broken\n"


@pytest.mark.parametrize(
    "statement, why",
    [
        ("raise ImportError('libtorch_cpu.so: cannot open it')", "ImportError: libtorch_cpu.so: cannot open it"),
        pytest.param("1 / 0", "ZeroDivisionError: division by zero", marks=pytest.mark.full),
    ],
)
def test_a_torch_that_cannot_be_imported_is_one_line(tmp_path, statement, why):
    (tmp_path / "torch.py").write_text(statement)
    done = sacrebleu(REF, "-i", A, "-m", "bleu", "bertr", PYTHONPATH=str(tmp_path))
    said = f"sacreBLEU: error: torch cannot be imported ({why}){DOCTOR}"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


RUNS = """
import json, sys
from ctx_metrics.cli import main
for argv in json.load(sys.stdin):
    try:
        code = main(argv)
    except SystemExit as end:
        code = end.code
    print(f"exit {code}")
"""


@pytest.mark.full
def test_without_safetensors_only_what_reads_models_fails(tmp_path):
    """Each command, its exit code, and what it says on stderr."""
    said = f"ctx-metrics: error: safetensors cannot be imported (ModuleNotFoundError: No module named 'safetensors'){DOCTOR}"
    (tmp_path / "safetensors.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'safetensors'\", name=__name__)"
    )
    back = ["--rtt-bt", "cmd:tac", "-l", "de-en", "-o", str(tmp_path / "back"), "--rtt-cache", "none"]
    runs = [
        ["score", "-t", A, "-r", REF, "-m", "bleu", "nist"],
        ["roundtrip", "-t", A, *back],
        ["pairwise", "rank", "--help"],
        ["score", "-t", A, "-r", REF, "-m", "comet", "-l", "de-en"],
    ]
    done = python(RUNS, stdin=json.dumps(runs), PYTHONPATH=str(tmp_path))
    assert done.stderr == said and done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("exit")] == ["exit 0"] * 3 + ["exit 1"]


JA = (
    "bleu: the tokenizer ja-mecab cannot be loaded: Japanese tokenization requires extra "
    "dependencies, but you do not have them installed. Please install them like so. pip install sacrebleu[ja]"
)
GREEDY = """
from sacrebleu.metrics import CHRF
class Greedy(CHRF):
    def __init__(self, references=None):
        raise MemoryError("Cannot allocate memory")
"""
MEMORY = "there is too little memory (MemoryError: Cannot allocate memory); free some, or raise the limit that `ulimit -v` shows"


@pytest.mark.parametrize(
    "argv, said", [(["bleu", "greedy", "-l", "en-ja"], JA), (["greedy"], MEMORY)], ids=["MeCab", "memory"]
)
def test_both_commands_say_it_in_one_line(tmp_path, argv, said):
    files = {"MeCab.py": "raise ImportError('not here')", "greedy.py": GREEDY}
    env = add_package(tmp_path, {"greedy": "greedy:Greedy"}, files)
    done = fresh_sacrebleu(REF, "-i", A, "--ctx-no-text-checks", "-m", *argv, **env)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"sacreBLEU: error: {said}\n")
    done = fresh_python(RUNS, stdin=json.dumps([["score", "-r", REF, "-t", A, "--no-text-checks", "-m", *argv]]), **env)
    assert (done.stdout, done.stderr) == ("exit 1\n", f"ctx-metrics: error: {said}\n")


def test_the_command_runs_in_a_thread(capfd):
    """Where Python lets no signal be set."""
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(["cite", "bleu"])))
    thread.start()
    thread.join()
    done = capfd.readouterr()
    assert codes == [0] and done.err == "" and done.out.startswith("% BLEU\n")


def error_of(function) -> Exception:
    with pytest.raises(Exception) as caught:
        function()
    return caught.value


def no_memory_in_torch():
    import torch

    torch.empty(2**60)


def test_faults_of_the_program_are_not_hidden():
    assert as_line(error_of(lambda: {}["key"])) is None
    assert as_line(error_of(lambda: int("x"))) is None
    assert as_line(InputError("a\nb")) == "a b"
    assert as_line(error_of(lambda: open("no such  file"))) == (
        "FileNotFoundError: [Errno 2] No such file or directory: 'no such  file'"
    )
    assert as_line(error_of(no_memory_in_torch)).endswith(f"; {MORE_MEMORY}")
    assert as_line(MemoryError()) == f"there is too little memory (MemoryError); {MORE_MEMORY}"
