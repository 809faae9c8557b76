"""Control characters in names and texts from files: no message shows them as they are, and no table on a terminal."""

import io
import json
import re
import sys

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from judge_server import Fault, serving
from plugin_conftest import REF, A

from ctx_metrics import InputError
from ctx_metrics.notices import notice
from ctx_metrics.wording import CONTROLS, printable
from ctx_metrics.writing import utf8_output

PLANTED = "\x1b[2J\x9b1m\u202eevil\u2069\u200f\x7f"
RAW = re.compile(f"(?!\n)[{CONTROLS}]")


@pytest.mark.parametrize(
    "argv, text",
    [
        ("score -t NAMED -r {ref} -m chrf", ""),
        ("score -t FILE -r {ref} -m chrf", f"{PLANTED}\n"),
        ("score -t {a} -r {ref} -m chrf --docids FILE", f"{PLANTED}\nb\n{PLANTED}\n"),
        ("score -t {a} -r {ref} -m chrf -l de-PLANTED", ""),
        ("score -t {a} -r {ref} -m chrf --PLANTED 1", ""),
        ("mbr FILE -m chrf", json.dumps({PLANTED: 1}) + "\n"),
        ("mbr FILE -m chrf", json.dumps({"candidates": [{PLANTED: ""}, PLANTED]}, ensure_ascii=False) + "\n"),
        ("annotate FILE.jsonl -m chrf -o OUT", json.dumps({PLANTED: "a"}) + "\n"),
        ("meta FILE -m chrf", f"{PLANTED}\tb\n1\t2\n"),
        ("align -t {a} -r FILE -o OUT", json.dumps({"id": PLANTED, PLANTED: 1}, ensure_ascii=False) + "\n"),
        ("report -t {a} -r {ref} -m chrf --scores FILE -o OUT", json.dumps([{"metric": PLANTED}])),
    ],
)
def test_errors(ctx, tmp_path, argv, text):
    words = argv.format(a=A, ref=REF).replace("PLANTED", PLANTED).replace("OUT", str(tmp_path / "out")).split(" ")
    for k, word in enumerate(words):
        if word.startswith(("FILE", "NAMED")):
            words[k] = str(tmp_path / f"{PLANTED}{word}")
            if word != "NAMED":
                (tmp_path / f"{PLANTED}{word}").write_text(text, encoding="utf-8")
    done = ctx(*words)
    assert done.code in (1, 2) and done.err and not RAW.search(done.err + done.out), done


def test_sacrebleu(tmp_path, forked_sacrebleu):
    ids = tmp_path / f"{PLANTED}.txt"
    ids.write_text(PLANTED)
    done = forked_sacrebleu(REF, "-i", A, "-m", "nist", "--docids", str(ids))
    assert done.returncode == 0 and "none of the chosen metrics reads" in done.stderr
    for more in (["-m", "slide", "--docids", str(ids)], ["-m", f"nist{PLANTED}"], ["-m", "nist", f"--{PLANTED}"]):
        done = forked_sacrebleu(REF, "-i", A, *more)
        assert done.returncode in (1, 2) and not RAW.search(done.stderr), done.stderr


@pytest.mark.full
def test_answers_of_a_judge(ctx, tmp_path):
    with serving(answer=lambda *_: Fault(400, {"error": {"message": PLANTED}})) as server:
        more = ["--judge-url", server.url, "--judge-model", "toy", "--judge-store", tmp_path, "--judge-samples", "1"]
        done = ctx("score", "-t", A, "-r", REF, "-m", "judge", "-l", "de-en", *more)
    assert done.code == 1 and "evil" in done.err and not RAW.search(done.err), done


def test_python(caplog):
    notice(f"a {PLANTED}", about=PLANTED)
    assert not RAW.search(caplog.text) and not RAW.search(str(InputError(PLANTED, about=PLANTED, fix=PLANTED)))
    assert printable("a\tb\nc é \u200d") == "a\tb\nc é \u200d"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_gets_no_control_characters_and_a_file_all(monkeypatch, terminal):
    taken = io.BytesIO()
    taken.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(taken, "utf-8"))
    with utf8_output(escapes=True):
        print(f"{PLANTED}\t1")
    sys.stdout.flush()
    shown = taken.getvalue().decode()
    assert shown == f"{printable(PLANTED) if terminal else PLANTED}\t1\n"
