"""Tables that json can write."""

import io
import math
import os
import sys
from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest
from plugin_conftest import strict
from sacrebleu import sacrebleu
from sacrebleu.metrics import METRICS
from sacrebleu.significance import Result
from sacrebleu.utils import print_results_table

from ctx_metrics.plugin import command
from ctx_metrics.plugin.capture import Command

OURS = command.Replacements(sacrebleu, Command(METRICS))


def table(*cells) -> dict:
    return {"System": [f"s{i}" for i in range(len(cells))], "M": list(cells)}


def arguments(style: str = "json") -> Namespace:
    return Namespace(format=style, width=1, paired_bs=True, paired_ar=False, paired_bs_n=10)


@pytest.mark.parametrize("kind", [np.float32, np.float64, float])
def test_numbers_of_numpy_are_written(capsys, kind):
    """chrF's and TER's means are np.float32 under NumPy 2."""
    OURS.print_results_table(
        table(Result(kind(50.5), None, kind(50.25), kind(1.5)), Result(kind(50.5), kind(0.25))), {}, arguments()
    )
    first, second = strict(capsys.readouterr().out)
    assert first["M"] == {"score": 50.5, "p_value": None, "mean": 50.25, "ci": 1.5}
    assert second["M"] == {"score": 50.5, "p_value": 0.25, "mean": None, "ci": None}


def test_stock_dies_of_float32():
    """When this fails, sacrebleu is mended and json_safe can lose its first half."""
    with pytest.raises(TypeError, match="not JSON serializable"):
        print_results_table(table(Result(np.float32(1))), {}, arguments())


def test_nan_becomes_null(capsys):
    OURS.print_results_table(table(Result(math.nan, 0.5, np.float32("nan"), math.nan)), {}, arguments())
    assert strict(capsys.readouterr().out)[0]["M"] == {"score": None, "p_value": 0.5, "mean": None, "ci": None}


@pytest.mark.parametrize("style", ["text", "latex"])
def test_other_formats_still_show_nan(capsys, style):
    OURS.print_results_table(table(Result(math.nan, 0.5, math.nan, 0.1)), {}, arguments(style))
    assert "nan" in capsys.readouterr().out


def test_tables_without_numpy_are_as_stock_prints_them(capsys):
    for style in ("json", "text", "latex"):
        for cells in ([Result(1.5, 0.5, 1.25, 0.5)], ["12.5", "7.0"]):
            OURS.print_results_table(table(*cells), {"M": "a:b"}, arguments(style))
            ours = capsys.readouterr().out
            print_results_table(table(*cells), {"M": "a:b"}, arguments(style))
            assert ours == capsys.readouterr().out


def test_a_name_that_is_no_text_is_printed_as_its_bytes(monkeypatch):
    """sacrebleu's own table dies of it, after all scoring."""
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, "utf-8", write_through=True))
    monkeypatch.setattr(command, "_write_files", lambda run: None)
    with command.Replacements(sacrebleu, SimpleNamespace(active="a run"))._printing():
        print(os.fsdecode(b"caf\xe9"))
    assert printed.getvalue() == b"caf\xe9\n"
