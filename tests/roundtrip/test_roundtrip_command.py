"""A command as back-translator: lines to lines, and one line for whatever goes wrong."""

import hashlib
import os
import subprocess
import time

import pytest
from selection import some

from ctx_metrics.errors import InputError
from ctx_metrics.roundtrip.back_translation import BackTranslation
from ctx_metrics.roundtrip.command_translator import CommandTranslator
from ctx_metrics.roundtrip.round_trips import back_translator

ODD = ["tab\there", "a lone \r inside", "\u2028 \u0085 \x0c inside", "猫 😀", " 'quotes' \"$HOME\" \\n", "\0 nul", "-e"]


def command(text: str, **settings) -> CommandTranslator:
    return CommandTranslator(BackTranslation(f"cmd:{text}", **settings))


def texts(translator, lines) -> list[str]:
    return [made.text for made in translator.translate(lines)]


def test_lines_go_through_as_they_are():
    assert texts(command("cat"), ODD) == ODD
    assert not any(made.input_cut or made.output_cut for made in command("cat").translate(ODD))


def test_the_shell_runs_it():
    assert texts(command("sed 's/^/x: /' | tr a-z A-Z"), ["one", "two"]) == ["X: ONE", "X: TWO"]


@pytest.mark.skipif(not os.path.exists("/usr/share/apertium/modes/spa-eng.mode"), reason="no apertium-eng-spa")
def test_apertium():
    """As docs/roundtrip.md names it. It looks at neighbouring lines, so it gets one at a time."""
    apertium = command("apertium -u spa-eng", batch_lines=1)
    lines = ["La casa es grande.", "El perro come", "Tengo dos gatos."]
    made = [text for chunk in apertium.chunks(lines) for text in texts(apertium, chunk)]
    assert len(made) == 3 and made[0] == "The house is big." and "dog" in made[1] and "cats" in made[2]


def test_white_space_at_the_end_goes_and_empty_lines_stay():
    assert texts(command("printf 'one \\r\\n\\n'"), ["1", "2"]) == ["one", ""]
    assert texts(command("printf 'one\\ntwo'"), ["1", "2"]) == ["one", "two"]  # no end of the last line


def test_portions():
    lines = [str(k) for k in range(5)]
    assert command("cat", batch_lines=2).chunks(lines) == [["0", "1"], ["2", "3"], ["4"]]
    assert [len(chunk) for chunk in command("cat").chunks(["x"] * 210)] == [100, 100, 10]
    assert command("cat").chunks([]) == []


@pytest.mark.parametrize(
    "text, said",
    [
        ("head -n 1", "was given 3 lines from 'one' on and wrote 1 line;"),  # which stops reading too
        ("sed p", "was given 3 lines from 'one' on and wrote 6 lines;"),
        ("cat; echo careful >&2; echo", "wrote 4 lines; .* its error output: careful"),
    ],
)
def test_another_number_of_lines(text, said):
    with pytest.raises(InputError, match=f"line-count drift: .*{said}") as error:
        command(text).translate(["one", "two", "three"])
    assert "\n" not in str(error.value)


def test_a_line_that_the_command_takes_for_two_is_shown():
    with pytest.raises(InputError, match="wrote 3 lines; .*U\\+000D in 'two\\\\rhalves' is not a line end"):
        command("tr '\\r' '\\n'").translate(["one", "two\rhalves"])


def test_a_command_that_fails():
    with pytest.raises(InputError, match="was killed by SIGKILL"):
        command("kill -9 $$").translate(["one"])
    with pytest.raises(InputError) as error:
        command("printf '%5000d' 7 | tr ' ' x >&2; exit 1").translate(["one"])
    assert len(str(error.value)) < 350 and str(error.value).endswith("xxx7")


@pytest.mark.full
def test_no_message_holds_more_of_the_command_than_its_program():
    """Keys stand in the rest, and messages in logs."""
    for ending in ("; exit 3", "; sed p", "; printf '\\377\\n'", "; sleep 60"):
        with pytest.raises(InputError) as error:
            command(f"KEY=secret true --key secret {ending}", timeout=1).translate(["one"])
        assert str(error.value).startswith("cmd: ") and "'true'" in str(error.value)
        assert "secret" not in str(error.value) and "KEY" not in str(error.value)


def assert_gone(file):
    """No process of the group whose number a file holds is left, after a while."""
    group, started = int(file.read_text()), time.monotonic()
    with pytest.raises(ProcessLookupError):
        while time.monotonic() - started < 20:
            os.killpg(group, 0)
            time.sleep(0.05)


@pytest.mark.parametrize("text", some(["sleep 60 | cat", "sleep 60 & cat"], []))
def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path, text):
    """Also one whose child holds the output open after it."""
    started = time.monotonic()
    with pytest.raises(InputError) as error:
        command(f"echo waiting >&2; cat $(echo $$ > {tmp_path}/group) /dev/null; {text}", timeout=1).translate(
            ["one", "two"]
        )
    assert time.monotonic() - started < 20
    assert "'echo' was given 2 lines and did not finish within 1 second" in str(error.value)
    assert str(error.value).endswith("its error output: waiting")
    assert_gone(tmp_path / "group")


@pytest.mark.full
def test_ctrl_c_ends_the_command_too(tmp_path, monkeypatch):
    def interrupted(running, *given, **named):
        while not (tmp_path / "group").exists():
            time.sleep(0.05)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command(f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/group; sleep 60 | cat").translate(["one"])
    assert_gone(tmp_path / "group")


def test_output_that_is_no_text():
    with pytest.raises(InputError, match="^cmd: line 2 of the output of .*: byte 0xff is not UTF-8.*$"):
        command("printf 'one\\na\\377\\n'").translate(["1", "2"])


def test_identity(tmp_path, monkeypatch):
    """First 12 hex digits of the sha256 of the command and what it names, with NUL between them: echo -n ... | sha256sum."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tr.sh").write_text("cat\n")
    content = hashlib.sha256(b"cat\n").hexdigest()
    expected = "cmd-" + hashlib.sha256(f"./tr.sh de\0./tr.sh={content}".encode()).hexdigest()[:12]
    assert command("./tr.sh de").name == expected
    assert command("./tr.sh de", label="google-2026").name == f"{expected}-google-2026"
    assert command("./tr.sh de ").name != expected != command("./tr.sh en").name
    assert "secret" not in command("translate --key secret").name
    assert isinstance(back_translator(BackTranslation("cmd:cat")), CommandTranslator)


def test_a_file_that_the_command_names_and_writes_is_said_once(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    writing = command("sed -e 'w log'")
    writing.translate(["one"])
    writing.translate(["two"])
    [said] = caplog.messages
    assert said.startswith("cmd: log changed while ") and "the next run will translate again" in said
    caplog.clear()
    command("tee -a log > out; cat log > out; tail -n 1 out").translate(["one"])
    command("cat").translate(["one"])
    assert caplog.messages == []
