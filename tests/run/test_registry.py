"""The table of installed metrics: entry points, loaded when first looked up, that never take the place of another."""

import json
import sys
import types
from importlib.metadata import EntryPoint

import pytest
from plugin_conftest import REF, TOYLEN, A, add_package
from plugin_conftest import fresh_sacrebleu as sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric

from ctx_metrics.errors import CtxMetricsError
from ctx_metrics.registry import GROUP, MetricTable


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


@pytest.fixture
def table() -> MetricTable:
    return MetricTable({"BLEU": BLEU, "CHRF": CHRF})


@pytest.fixture
def toy(monkeypatch) -> types.ModuleType:
    """A module with metrics, not imported before a test does so."""
    module = types.ModuleType("toy_of_registry")
    module.Toy = type("Toy", (Metric,), {})
    module.function = lambda references: None
    monkeypatch.setitem(sys.modules, "toy_of_registry", module)
    return module


def test_a_metric_is_loaded_when_first_looked_up(table, toy, monkeypatch):
    loads = []
    monkeypatch.setattr(EntryPoint, "load", lambda self: loads.append(self.name) or toy.Toy)
    table.add(entry("toy", "toy_of_registry:Toy"))
    assert list(table) == ["BLEU", "CHRF", "TOY"] and "TOY" in table and len(table) == 3
    assert table.plugins == ["toy"] and not loads
    assert table["BLEU"] is BLEU and not loads
    assert table["TOY"] is toy.Toy and table["TOY"] is toy.Toy
    assert loads == ["toy"]


def test_every_way_to_read_the_table_gives_classes(table, toy):
    table.add(entry("toy", "toy_of_registry:Toy"))
    assert table.get("TOY") is toy.Toy and table.get("NONE") is None and table.get("NONE", 3) == 3
    assert table.values() == [BLEU, CHRF, toy.Toy]
    assert table.items() == [("BLEU", BLEU), ("CHRF", CHRF), ("TOY", toy.Toy)]
    with pytest.raises(KeyError):
        table["NONE"]


@pytest.mark.parametrize("name", ["Toy", "comet-qe", "2slow", "", "übel"])
def test_bad_names_are_refused_with_one_line(table, capsys, name):
    table.add(entry(name, "toy_of_registry:Toy"))
    assert list(table) == ["BLEU", "CHRF"] and table.plugins == []
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and repr(name) in said and "toy_of_registry:Toy" in said and "lower-case" in said


def test_a_built_in_metric_is_never_shadowed(table, capsys):
    table.add(entry("bleu", "toy_of_registry:Toy"))
    assert table["BLEU"] is BLEU and table.plugins == []
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "'bleu'" in said and "taken" in said


@pytest.mark.parametrize("value, is_other", [("other:Toy", True), ("toy_of_registry:Toy", False)])
def test_of_two_metrics_of_one_name_the_first_stays(table, toy, capsys, value, is_other):
    """A package that is found twice is no conflict."""
    table.add(entry("toy", "toy_of_registry:Toy"))
    table.add(entry("toy", value))
    assert table["TOY"] is toy.Toy and table.plugins == ["toy"]
    assert (value in capsys.readouterr().err) == is_other


@pytest.mark.parametrize(
    "value, why",
    [
        ("no_such_module_anywhere:Toy", "ModuleNotFoundError"),
        ("toy_of_registry:Missing", "AttributeError"),
        ("toy_of_registry:function", "not a sacrebleu Metric"),
        ("sys:path", "not a sacrebleu Metric"),
    ],
)
def test_what_cannot_be_loaded_is_an_error_of_ours_that_names_it(table, toy, value, why):
    table.add(entry("broken", value))
    with pytest.raises(CtxMetricsError, match=why) as caught:
        table["BROKEN"]
    assert "metric broken" in str(caught.value) and value in str(caught.value)


def test_a_broken_metric_leaves_the_others_alone(tmp_path):
    module = {"broken.py": "raise RuntimeError('first line\\nsecond line')\n"}
    env = add_package(tmp_path, {"broken": "broken:Broken"}, module)
    done = sacrebleu(REF, "-i", A, "-m", "bleu", "-b", **env)
    assert (done.returncode, done.stderr) == (0, "") and float(done.stdout) > 10
    done = sacrebleu("--help", **env)
    assert done.returncode == 0 and "--bertr-model" in done.stdout and "  broken        (cannot be used)" in done.stdout
    assert done.stderr.startswith("ctx-metrics: metric broken (broken:Broken) cannot be loaded: RuntimeError")
    done = sacrebleu(REF, "-i", A, "-m", "bleu", "broken", **env)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "sacreBLEU: error: metric broken (broken:Broken) cannot be loaded: RuntimeError: first line second line\n"
    )


@pytest.mark.full
def test_refused_names_do_not_stop_the_command(tmp_path):
    env = add_package(
        tmp_path,
        {"bleu": "toylen:ToyLen", "toy-len": "toylen:ToyLen", "toylen": "toylen:ToyLen"},
        {"toylen.py": TOYLEN},
    )
    done = sacrebleu(REF, "-i", A, "-m", "bleu", "toylen", "-f", "text", **env)
    assert done.returncode == 0
    assert "BLEU|" in done.stdout and "ToyLen|" in done.stdout
    assert len(done.stderr.splitlines()) == 2 and "'bleu'" in done.stderr and "'toy-len'" in done.stderr


@pytest.mark.full
def test_a_malformed_entry_point_leaves_out_its_package_alone(tmp_path):
    env = add_package(tmp_path, {"toylen": "toylen:ToyLen"}, {"toylen.py": TOYLEN}, "good_package")
    for name, text in {
        "bad_package": "[sacrebleu.metrics]\nfirst = toylen:ToyLen\nsecond toylen:ToyLen\n",
        "other_scripts": "[console_scripts]\nno script\n",
    }.items():
        add_package(tmp_path, {}, {}, name)
        (tmp_path / f"{name}-1.0.dist-info" / "entry_points.txt").write_text(text)
    done = sacrebleu(REF, "-i", A, "-m", "bleu", "nist", "toylen", "-w", "2", **env)
    assert (done.returncode, len(json.loads(done.stdout))) == (0, 3)
    assert done.stderr == (
        "ctx-metrics: the metrics of the package bad_package are left out: its entry_points.txt, line 3: "
        "'second toylen:ToyLen' is not NAME = MODULE:CLASS\n"
    )


FLAGS = "from sacrebleu.metrics import CHRF\nclass Quits(CHRF):\n    add_arguments = classmethod(lambda cls, group: exit(3))\n"


@pytest.mark.parametrize(
    "code, said",
    [
        ("raise SystemExit(3)\n", "metric quits (quits:Quits) cannot be loaded: SystemExit: 3"),
        (FLAGS, "metric quits: its flags cannot be added: SystemExit: 3"),
    ],
    ids=["at import", "in add_arguments"],
)
def test_a_metric_that_ends_python_ends_no_other(tmp_path, code, said):
    env = add_package(tmp_path, {"quits": "quits:Quits"}, {"quits.py": code})
    done = sacrebleu("--help", **env)
    assert done.returncode == 0 and "--bertr-model" in done.stdout and done.stderr == f"ctx-metrics: {said}\n"
    done = sacrebleu(REF, "-i", A, "-m", "quits", **env)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"sacreBLEU: error: {said}\n")
