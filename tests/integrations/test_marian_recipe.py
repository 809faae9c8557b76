"""integrations/marian_valid.py, called as Marian calls it: the arguments, then the translation."""

import subprocess
import sys

import pytest
from recipes import DOCUMENTS, FILES, FOLDER, OUTPUTS, REFERENCES, SOURCES, near, recipe, scored
from sacrebleu.metrics import CHRF, TER

from ctx_metrics import COMET, SLIDE

REFERENCE, SOURCE, DOCIDS = (f"{key}={FILES[key]}" for key in ("reference", "source", "docids"))


def test_one_number_and_nothing_else():
    command = [sys.executable, str(FOLDER / "marian_valid.py"), "metric=chrf", REFERENCE, FILES["a"]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{CHRF().corpus_score(OUTPUTS, [REFERENCES]).score:.4f}\n"


@pytest.mark.full
def test_documents_and_sources_reach_the_metric(multilingual):
    score = recipe("marian_valid").score
    arguments = ["metric=slide", REFERENCE, "languages=de-en", FILES["a"]]
    assert score([DOCIDS, *arguments]) == scored(SLIDE, doc_ids=DOCUMENTS, target_lang="en") != near(score(arguments))
    comet = scored(COMET, None, sources=SOURCES, target_lang="en")
    assert score([SOURCE, "languages=de-en", FILES["a"]]) == comet


@pytest.mark.full
def test_settings_and_several_references(tmp_path):
    score = recipe("marian_valid").score
    assert score(["metric=chrf", "reference=" + FILES["b"], REFERENCE, FILES["b"]]) == near(100)
    other = [REFERENCE, "languages=de-en", "window=2", "stride=1", FILES["a"]]
    assert score(["metric=slide", *other]) == scored(SLIDE, window=2, stride=1, target_lang="en")


def test_a_pair_has_scripts_and_regions(tmp_path):
    """Whatever code the language has, BLEU takes its tokenizer."""
    (tmp_path / "ref").write_text("今天天气很好，我们去公园。\n", encoding="utf-8")
    (tmp_path / "out").write_text("今天天气非常好，我们去公园。\n", encoding="utf-8")
    given = ["metric=bleu", f"reference={tmp_path}/ref"]
    score = recipe("marian_valid").score
    found = [
        score([*given, f"languages={pair}", f"{tmp_path}/out"]) for pair in ("en-zh", "en-zh-Hans", "en-zho_Hans_CN")
    ]
    assert len({*found}) == 1 and found[0] > 50


def test_higher_is_better_for_every_metric():
    ter = TER().corpus_score(OUTPUTS, [REFERENCES]).score
    assert recipe("marian_valid").score(["metric=ter", REFERENCE, FILES["a"]]) == near(-ter)
    assert ter > 0


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["metric=nope", REFERENCE], "metric=nope: there is no such metric"),
        (["metric=bertr", "reference=nowhere"], "cannot read nowhere"),
        (["metric=slide", REFERENCE, "wndow=3"], "unexpected keyword argument 'wndow'"),
        (["metric=slide", REFERENCE, "window=0"], "window"),
        (["ref.en.txt"], "argument 'ref.en.txt': give each argument once, as KEY=VALUE"),
    ],
)
def test_what_is_wrong_is_said_on_stderr_alone(arguments, says, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["marian_valid.py", *arguments, FILES["a"]])
    assert recipe("marian_valid").main() == 1
    found = capsys.readouterr()
    assert found.out == "" and says in found.err and found.err.count("\n") == 1
