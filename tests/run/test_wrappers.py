"""A wrapper of another package, which every front end asks for its metrics, checks and texts."""

import json

import pytest
from plugin_conftest import REF, A, B, add_package, fresh_python, lines_of
from sacrebleu.metrics import CHRF

CASE = """
from dataclasses import dataclass
from typing import Literal

from ctx_metrics.corpus import named
from ctx_metrics.notices import notice
from ctx_metrics.run.wrappers import ReadTexts, Wrapper
from ctx_metrics.settings import setting

@dataclass(frozen=True)
class Settings:
    case: Literal["lower", "upper"] | None = setting("The case of the outputs.")
    case_reversed: bool = setting("Read the texts from their end.", False)
    case_files: bool = setting("For commands alone.", False)

class Case(Wrapper):
    title = "the case of the outputs"
    settings = Settings
    elsewhere = ("case_files",)
    reads = True

    def wrap(self, settings):
        return (lambda cls: with_case(cls, settings.case)) if settings.case else None

    def check(self, settings, paths):
        return (lambda metrics, systems: notice(f"{settings.case}: {systems}, {[*metrics]}")) if settings.case else None

    def text_reader(self, settings):
        return turned if settings.case_reversed else None

def turned(texts, engine):
    return ReadTexts([named([text[::-1] for text in system], system.name) for system in texts.systems], {"case": "turned"})

def with_case(cls, case):
    class WithCase(cls):
        def _extract_corpus_statistics(self, hypotheses, references):
            return super()._extract_corpus_statistics([getattr(text, case)() for text in hypotheses], references)
    WithCase.__name__ = cls.__name__
    return WithCase

CASE = Case()
"""
PROGRAM = """
from sacrebleu.sacrebleu import main as sacrebleu
from ctx_metrics import evaluate, read_lines
from ctx_metrics.cli import main

ref, a, b = sys.argv[1:]
main(["score", "-t", a, b, "-r", ref, "-m", "chrf", "--case", "upper", "--names", "A", "B", "--only-system", "--format", "jsonl"])
main(["score", "-t", a, "-r", ref, "-m", "chrf", "--case-reversed", "--only-system", "--format", "jsonl"])
sys.argv = ["sacrebleu", ref, "-i", a, "-m", "chrf", "--ctx-case", "upper", "--ctx-case-reversed", "-w", "9"]
sacrebleu()
texts = {"A": read_lines(a), "B": read_lines(b)}, read_lines(ref)
results = [evaluate(*texts, metrics="chrf", **own) for own in ({"case": "upper"}, {}, {"case_reversed": True})]
found = [({name: each[name].system["chrf"] for name in each}, each.signatures["chrf"], each.notices) for each in results]
said = []
for own in ({"case": "title"}, {"case_files": True}, {"case_reversed": True, "align": True}):
    try:
        evaluate(*texts, metrics="chrf", **own)
    except (ValueError, TypeError) as error:
        said.append(str(error))
print(json.dumps([found, said]))
"""


def test_every_front_end_asks_it(tmp_path):
    env = add_package(tmp_path, {}, {"case.py": CASE}, "case", wrappers={"case": "case:CASE"})
    done = fresh_python(PROGRAM, REF, A, B, **env)
    assert done.returncode == 0, done.stderr
    score_a, score_b, of_turned, *of_sacrebleu, last = done.stdout.splitlines()
    [changed, plain, turned], said = json.loads(last)

    def chrf(make):
        systems = {"A": lines_of(A), "B": lines_of(B)}
        return {n: CHRF().corpus_score([make(t) for t in own], [lines_of(REF)]).score for n, own in systems.items()}

    assert changed[0] == pytest.approx(chrf(str.upper)) and changed[2] == ["upper: ['A', 'B'], ['chrf']"]
    assert [json.loads(line)["score"] for line in (score_a, score_b)] == pytest.approx([*changed[0].values()])
    both = json.loads("".join(of_sacrebleu))
    assert (
        both["score"] == pytest.approx(chrf(lambda text: text[::-1].upper())["A"])
        and "|case:turned|" in both["signature"]
    )
    assert sum("upper: [" in line for line in done.stderr.splitlines()) == 3
    assert plain[0] == pytest.approx(chrf(str)) and plain[2] == []
    assert turned[0] == pytest.approx(chrf(lambda text: text[::-1])) and "|case:turned|" in turned[1]
    assert json.loads(of_turned)["score"] == turned[0]["A"] and "|case:turned|" in json.loads(of_turned)["signature"]
    assert said == [
        "case='title' is not 'lower' or 'upper' or None",
        "evaluate() got an unexpected keyword argument 'case_files'",
        "two keywords read the systems' texts, each in its own way; leave one out",
    ]
