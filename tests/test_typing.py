"""Types are those of the metrics: what type checkers are told is what there is, and a user's program is checked by it."""

import ast
import importlib
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

import pytest

import ctx_metrics
from ctx_metrics.evaluation.keywords import WrapperKeywords
from ctx_metrics.run.wrappers import installed_wrappers
from ctx_metrics.scoring.base import ContextMetric


def for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def test_the_names_for_type_checkers_are_the_table_s():
    tree = ast.parse(Path(ctx_metrics.__file__).read_text(encoding="utf-8"))
    [block] = filter(for_type_checkers, tree.body)
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    told = {alias.asname: f"ctx_metrics.{node.module}" for node in imports for alias in node.names}
    assert told == ctx_metrics._HOMES
    assert all(hasattr(importlib.import_module(module), name) for name, module in told.items())


def metrics() -> list[type[ContextMetric]]:
    named = [getattr(ctx_metrics, name) for name in ctx_metrics.__all__]
    return [each for each in named if isinstance(each, type) and issubclass(each, ContextMetric)]


def imported_from(module: ModuleType, name: str) -> str:
    """The module from which another one imports a name for type checkers."""
    tree = ast.parse(inspect.getsource(module))
    imports = [node for block in filter(for_type_checkers, tree.body) for node in block.body]
    [node] = [node for node in imports if name in [alias.name for alias in node.names]]
    return importlib.util.resolve_name("." * node.level + node.module, module.__package__)


def typed_keywords(cls: type) -> type:
    """What Unpack[...] of the constructor for type checkers names, of the class or the nearest base that has one."""
    for base in cls.__mro__:
        tree = ast.parse(inspect.getsource(base))
        for block in filter(for_type_checkers, tree.body[0].body):  # type: ignore[attr-defined]
            [constructor] = block.body
            name = constructor.args.kwarg.annotation.slice.id
            module = sys.modules[base.__module__]  # a family defines them there, the core in a module of their own
            return getattr(module, name, None) or getattr(importlib.import_module(imported_from(module, name)), name)
    raise AssertionError(f"{cls.__name__} has no constructor for type checkers")


def test_keywords_for_type_checkers_are_those_of_the_signatures():
    """Of all metrics that share a constructor for type checkers. Collections of strings stand in for sequences."""
    of_signatures: dict[type, dict[str, str]] = {}
    for cls in metrics():
        _, _, *parameters = inspect.signature(cls).parameters.values()
        own = {each.name: str(each.annotation).replace("Sequence", "Collection") for each in parameters}
        together = of_signatures.setdefault(typed_keywords(cls), {})
        assert own.items() <= (own | together).items()  # no keyword has two types
        together |= own
    for told, together in of_signatures.items():
        types = {name: str(kind).replace("Sequence", "Collection") for name, kind in get_type_hints(told).items()}
        assert types == together


def test_keywords_of_evaluate_for_type_checkers_are_those_of_the_wrappers():
    assert {*WrapperKeywords.__annotations__} == {name for each in installed_wrappers() for name in each.offered}


RIGHT = """
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from ctx_metrics import BERTR, COMET, METEOR, NIST, PRBLEU, RTTChrF, SLIDE, InputError, Pairwise, PseudoFilter, read_lines
from ctx_metrics import evaluate, predict
from ctx_metrics.engine_options import EngineOptions

texts: Sequence[str] = read_lines("ref.txt")
metric = SLIDE([texts], [texts], doc_ids=texts, sources=np.array(texts), target_lang="en", window=2)
score: float = metric.corpus_score(texts, None).score
signature: str = str(metric.get_signature())
free = COMET(sources=texts, target_lang="ja", engine=EngineOptions(device="cpu"))
free.corpus_score(np.array(texts), [[None, "a"]], n_bootstrap=10)
free.sentence_score("a", None)
one: list[float] = [each.score for each in BERTR(layers="3,4").segment_scores(texts, [texts])]
PRBLEU(pseudo_references=[texts], pseudo_filter=PseudoFilter("mas"), lowercase=True)
RTTChrF(sources=texts, roundtrips=[texts], average=True, beta=3)
Pairwise(against=[texts], baseline=False)
METEOR(stem="none"), NIST(info_references=[texts])
result = evaluate(texts, references=texts, sources=np.array(texts), docs=texts, metrics=["bleu", "comet"], model="x")
bleu: float = result.system["bleu"]
each_one: list[float] = result["system"].segments["comet"]
several = evaluate({"A": texts, "B": texts}, [texts, [None, "a"]], metrics={"slide": {"window": 3}}, target_lang="en")
ranks: dict[str, dict[str, int]] = several.compare(test="bootstrap", samples=100).ranks
evaluate(texts, texts, docs=texts, align=True, cache=Path("kept"), tuned_with="comet:x", kind_of_references="human")
evaluate({"A": texts}, texts, peers=True, peers_weight=0.3, peers_by_source=True, tuned_with={"A": ["comet", "bleu"]})
predicted: list[float] = predict([{"src": "a", "mt": "b"}], model="x").scores
try:
    pass
except InputError:
    pass
"""
WRONG = {
    'COMET(modle="x")': "did you mean",
    'METEOR(target_lang=["en"])': 'incompatible type "list[str]"',
    "from ctx_metrics import COMTE": 'has no attribute "COMTE"',
    "evaluate(texts, reference=texts)": 'Unexpected keyword argument "reference" for "evaluate"; did you mean "references"',
    "evaluate(texts, metrics=7)": "incompatible type",
    'evaluate(texts, tuned_wiht="comet")': 'Unexpected keyword argument "tuned_wiht" for "evaluate"; did you mean "tuned_with"',
    "evaluate(texts, cache=True)": "incompatible type",
    'evaluate(texts, kind_of_references="people")': "incompatible type",
    'several.compare(tset="bootstrap")': 'Unexpected keyword argument "tset"',
    'several.compare(test="t")': "incompatible type",
    "result.scorse": 'has no attribute "scorse"',
    "free.corpus_scores(texts, None)": 'has no attribute "corpus_scores"',
}


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_mypy_checks_a_users_program(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(f"{RIGHT}\n" + "".join(f"{line}\n" for line in WRONG))
    # the user's own configuration alone, which leaves out what takes a minute to read and no signature names
    libraries = ",".join(
        f"{name}.*" for name in "torch transformers huggingface_hub sentence_transformers openai altair".split()
    )
    (tmp_path / "user.ini").write_text(f"[mypy]\n[mypy-{libraries}]\nfollow_imports = skip\n")
    flags = (
        "--strict --config-file user.ini --cache-dir cache --follow-imports silent --disable-error-code import-untyped"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *flags.split(), "right.py", "wrong.py"],
        cwd=tmp_path,
        env={"PATH": "", "MYPYPATH": str(Path(ctx_metrics.__file__).parent.parent)},  # the package that Python finds
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    first = RIGHT.count("\n") + 2
    assert [line for line in lines if line.startswith("right.py")] == [], done.stdout
    for number, (line, says) in enumerate(WRONG.items(), first):
        found = [each for each in lines if each.startswith(f"wrong.py:{number}: error:") and says in each]
        assert found, (line, done.stdout)
