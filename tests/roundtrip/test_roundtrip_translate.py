"""The back-translation step: distinct lines once, what is finished is kept, and nothing of what failed."""

import subprocess
import sys

import pytest
import toy_translation as toys

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ResourceError
from ctx_metrics.roundtrip import model_translator
from ctx_metrics.roundtrip.back_translation import BackTranslation
from ctx_metrics.roundtrip.command_translator import CommandTranslator
from ctx_metrics.roundtrip.round_trips import back_translator, round_trips

CPU = EngineOptions(device="cpu", quiet=True)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_command(systems, command, **settings):
    return round_trips(systems, "en", "de", BackTranslation(f"cmd:{command}", **settings), CPU)


# each start of it notes the lines that it was asked for
ASKED = "tee -a asked | sed 's/^/> /'"


def asked(folder) -> list[str]:
    return (folder / "asked").read_text().split("\n")[:-1]


def test_distinct_lines_once_and_empty_ones_never(own_cache):
    streams, name = by_command([["a", "", "b", "a"], ["b", " \t", "c"]], ASKED)
    assert streams == [["> a", "", "> b", "> a"], ["> b", "", "> c"]]
    assert asked(own_cache) == ["a", "b", "c"] and name.startswith("cmd-")


def test_a_line_end_within_a_text_is_a_blank(own_cache):
    assert by_command([["one\ntwo"]], ASKED)[0] == [["> one two"]]


def test_systems_without_any_text_start_no_command():
    assert by_command([["", " "]], "exit 1")[0] == [["", ""]]


def test_the_second_run_asks_for_what_is_new_alone(own_cache, caplog):
    by_command([["a", "b"]], ASKED)
    assert caplog.messages == []
    assert by_command([["b", "c"], ["a"]], ASKED)[0] == [["> b", "> c"], ["> a"]]
    assert asked(own_cache) == ["a", "b", "c"]
    [said] = caplog.messages
    assert said.startswith("round trip: 2 of 3 distinct lines from the cache ") and "ctx-metrics/roundtrip/cmd-" in said


def test_the_same_command_elsewhere_or_edited_is_another(own_cache, monkeypatch):
    """Each translates for itself; back in the first folder, with the first text, nothing is asked."""

    def script(folder, mark):
        folder.mkdir(exist_ok=True)
        (folder / "bt.sh").write_text(f"tee -a {own_cache}/asked | sed 's/^/{mark} /'\n")
        monkeypatch.chdir(folder)
        return by_command([["a"]], "sh bt.sh")

    [[one]], name = script(own_cache / "x", "x")
    [[two]], other = script(own_cache / "y", "y")
    [[three]], edited = script(own_cache / "y", "edited")
    assert (one, two, three) == ("x a", "y a", "edited a") and len({name, other, edited}) == 3
    assert asked(own_cache) == ["a"] * 3
    assert script(own_cache / "y", "x") == ([["x a"]], name)  # the first script, moved
    assert asked(own_cache) == ["a"] * 3


def test_translations_without_text_are_asked_for_again(own_cache, caplog):
    """A service that fails for "b" in the first run."""
    fails = "tee -a asked | sed \"s/^/> /;$(ls | grep -q mend || echo 's/.*b//')\""
    for _ in range(2):
        caplog.clear()
        assert by_command([["a", "b"]], fails)[0] == [["> a", ""]]
    assert asked(own_cache) == ["a", "b", "b"]
    assert caplog.messages[0].startswith("round trip: 1 of 2 distinct lines from the cache ")
    (own_cache / "mended").write_text("")
    for _ in range(2):
        assert by_command([["a", "b"]], fails)[0] == [["> a", "> b"]]
    assert asked(own_cache) == ["a", "b", "b", "b"]


def test_another_label_asks_again_and_without_a_cache_all_is_asked(own_cache):
    by_command([["a"]], ASKED)
    by_command([["a"]], ASKED, label="newer")
    by_command([["a"]], ASKED, cache="none")
    by_command([["a"]], ASKED, cache="none")
    assert asked(own_cache) == ["a"] * 4
    assert len(list((own_cache / "xdg/ctx-metrics/roundtrip").iterdir())) == 2


KILLED = """
import sys
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.roundtrip.back_translation import BackTranslation
from ctx_metrics.roundtrip.round_trips import round_trips
round_trips([sys.argv[2].split()], "en", "de", BackTranslation(sys.argv[1], batch_lines=2), EngineOptions(quiet=True))
"""


def test_killed_in_the_middle_it_goes_on_without_repeating_finished_lines(own_cache):
    """The command kills the process that runs it when it is asked for "e" the first time."""
    (own_cache / "bt.sh").write_text(
        'cat > portion; cat portion >> asked\nif grep -q e portion && ! test -e once; then touch once; kill -9 "$1"; fi\n'
        "sed 's/^/> /' portion\n"
    )
    command = "sh bt.sh $PPID"
    done = subprocess.run([sys.executable, "-c", KILLED, f"cmd:{command}", " ".join("abcdefgh")])
    assert done.returncode == -9
    assert asked(own_cache) == list("abcdef")
    assert by_command([list("abcdefgh")], command, batch_lines=2)[0] == [[f"> {line}" for line in "abcdefgh"]]
    assert asked(own_cache) == list("abcdefefgh")


@pytest.mark.parametrize(
    "cache, said",
    [
        ({}, "^2 of 4 distinct lines are kept in .*; a batch of 2 lines is kept as a whole or not at all;"),
        ({"cache": "none"}, "^nothing is kept;"),
    ],
)
def test_interrupted_it_says_what_is_kept(own_cache, monkeypatch, cache, said):
    translate = CommandTranslator.translate

    def interrupted(self, lines):
        if "c" in lines:
            raise KeyboardInterrupt
        return translate(self, lines)

    monkeypatch.setattr(CommandTranslator, "translate", interrupted)
    with pytest.raises(KeyboardInterrupt, match=said):
        by_command([list("abcd")], ASKED, batch_lines=2, **cache)
    by_command([list("ab")], ASKED, batch_lines=2, **cache)
    assert asked(own_cache) == list("abab" if cache else "ab")


# a model


def by_model(systems, folder, languages=("en", "de"), engine=CPU, **settings):
    return round_trips(systems, *languages, BackTranslation(f"hf:{folder}", **settings), engine)


@pytest.mark.full
def test_the_identity_names_what_changes_a_translation():
    names = [
        by_model([["cat"]], toys.random_nllb(), ("eng", "deu"), max_length=5, **settings)[1]
        for settings in ({}, {"beams": 2}, {"label": "mine"}, {"source_code": "est_Latn"})
    ]
    start = names[0].removesuffix("-deu_Latn-eng_Latn-beams1-max5")
    assert names[1:] == [
        f"{start}-deu_Latn-eng_Latn-beams2-max5",
        f"{start}-deu_Latn-eng_Latn-beams1-max5-mine",
        f"{start}-est_Latn-eng_Latn-beams1-max5",
    ]
    half = by_model([["cat"]], toys.trained_marian().folder, engine=EngineOptions("cpu", "bf16", quiet=True))[1]
    assert half.endswith("-beams1-bf16")


@pytest.fixture
def counting(monkeypatch):
    """The token sequences that models were asked to translate; the third batch is interrupted."""
    sent = []
    generate = model_translator.ModelTranslator.generate

    def interrupted(self, tokens):
        if len(sent) == 2:
            sent.append(None)
            raise KeyboardInterrupt
        sent.append(tokens)
        return generate(self, tokens)

    monkeypatch.setattr(model_translator.ModelTranslator, "generate", interrupted)
    return sent


@pytest.mark.full
def test_interrupted_a_model_goes_on_without_repeating_finished_lines(counting):
    toy, lines = toys.trained_marian(), toys.lines(20, seed=4)
    engine = EngineOptions("cpu", batch_tokens=25, quiet=True)
    with pytest.raises(KeyboardInterrupt) as stopped:
        by_model([lines], toy.folder, engine=engine)
    finished = [tuple(line) for batch in counting[:2] for line in batch]
    said = str(stopped.value)
    assert said.startswith(f"{len(finished)} of 20 distinct lines are kept in ") and "--rtt-batch-lines" not in said
    assert len(finished) >= 4
    assert by_model([lines], toy.folder, engine=engine)[0] == [[toy.expected(line) for line in lines]]
    later = [tuple(line) for batch in counting[3:] for line in batch]
    assert not set(finished) & set(later) and len(finished) + len(later) == 20


@pytest.mark.full
def test_batches_keep_to_the_budget_and_the_longest_come_first(counting):
    counting += [None, None, None]  # past the interruption
    lines, engine = toys.lines(20, seed=4), EngineOptions("cpu", batch_tokens=40, quiet=True)
    by_model([lines], toys.trained_marian().folder, engine=engine, beams=2)
    batches = counting[3:]
    translator = back_translator(BackTranslation(f"hf:{toys.trained_marian().folder}", beams=2), engine=engine)
    assert [*map(len, translator.chunks(lines))] == [*map(len, batches)]  # none was split later
    assert all(2 * sum(map(len, batch)) <= 40 for batch in batches) and len(batches) > 2
    lengths = [len(line) for batch in batches for line in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_out_of_memory_halves_the_batch(monkeypatch, caplog):
    toy, lines = toys.trained_marian(), toys.lines(12, seed=9)
    generated = model_translator.ModelTranslator._generated

    def small(self, tokens):
        if len(tokens) > 4:
            raise RuntimeError("CUDA out of memory")
        return generated(self, tokens)

    monkeypatch.setattr(model_translator.ModelTranslator, "_generated", small)
    assert by_model([lines], toy.folder, cache="none")[0] == [[toy.expected(line) for line in lines]]
    assert caplog.messages[0].startswith("out of memory on cpu with ")
    monkeypatch.setattr(model_translator.ModelTranslator, "_generated", lambda *_: small(None, range(9)))
    with pytest.raises(ResourceError, match="a single line of 2 tokens with 1 beams; try beams=1"):
        by_model([["cat"]], toy.folder, cache="none")


def test_cuts_are_counted_also_when_they_come_from_the_cache(caplog):
    systems = [["the " * 30, "cat dog red old", "cat"]]
    for _ in range(2):
        caplog.clear()
        by_model(systems, toys.trained_marian().folder, max_length=3)
        said = [message for message in caplog.messages if "from the cache" not in message]
        assert len(said) == 2
        assert "1 of 3 distinct lines were too long" in said[0] and "2 translations of 3 reached the maximum" in said[1]


def test_a_model_of_the_systems_own_direction_is_refused():
    folder = toys.trained_marian().folder  # from de into en
    with pytest.raises(InputError, match=r"from German \(de\) into English \(en\), as the systems did"):
        by_model([["cat"]], folder, ("de", "en"))
    by_model([["cat"]], folder, ("fr", "en"))  # nothing known of these
    by_model([["cat"]], folder, (None, None))


@pytest.mark.parametrize(
    "model, languages, settings, said",
    [
        (toys.random_nllb, ("eng", "xx"), {}, "no code for xx; name its code with --rtt-bt-from"),
        (toys.random_marian, ("xx", "de"), {}, "no code for xx; name its code with --rtt-bt-to"),
        (toys.random_marian, ("eng", "de"), {"source_code": "deu"}, "--rtt-bt-from deu: .* no code for the language"),
        (
            lambda: toys.trained_marian().folder,
            ("en", "de"),
            {"target_code": "en"},
            "--rtt-bt-to en: .* without a code",
        ),
    ],
)
def test_languages_that_are_not_clear(model, languages, settings, said):
    with pytest.raises(InputError, match=said):
        by_model([["cat"]], model(), languages, **settings)


def test_the_run_s_languages_are_those_of_the_outputs_and_the_source():
    """M2M-100: the outputs' language, the run's target, stands before the text; the run's source is written."""
    [[one]], name = by_model([["cat dog"]], toys.random_m2m(), ("en", "de"), max_length=9)
    assert "-de-en-beams1" in name
    [[other]], _ = by_model([["cat dog"]], toys.random_m2m(), ("de", "en"), max_length=9)
    given = by_model([["cat dog"]], toys.random_m2m(), ("fr", "fr"), max_length=9, source_code="de", target_code="en")
    assert given == ([[one]], name) and one != other
