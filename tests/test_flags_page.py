"""docs/flags.md and docs/commands.md are what docs/flags.py writes, and show what the settings declare."""

import inspect
import re
import runpy

import pytest
from cli_pages import DOCS

import ctx_metrics
from ctx_metrics import BERTR, COMET, RTTChrF
from ctx_metrics.entry_points import installed
from ctx_metrics.errors import InputError


def test_the_page_is_up_to_date():
    """python docs/flags.py writes it anew."""
    written = runpy.run_path(str(DOCS / "flags.py"))
    assert (DOCS / "flags.md").read_text(encoding="utf-8") == written["page"]()
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == written["commands_page"]()


def test_every_command_with_flags_is_on_its_page():
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    titles = set(re.findall("(?m)^## (.*)", text))
    names = {each.name.replace(".", " ") for each in installed("ctx_metrics.commands")}
    assert titles | {"cite", "completion", "convert", "doctor", "flags"} == names - {"pairwise", "paraphrase"}


def test_every_keyword_of_a_metric_is_on_the_page():
    text = (DOCS / "flags.md").read_text(encoding="utf-8")
    for cls in (getattr(ctx_metrics, name) for name in ctx_metrics.__all__):
        for field in getattr(getattr(cls, "Settings", None), "__dataclass_fields__", {}):
            assert f"`{cls.flag}-{field.replace('_', '-')}" in text


def test_the_constructor_shows_the_settings():
    shown = inspect.signature(RTTChrF).parameters
    assert {name: parameter.default for name, parameter in shown.items()} == {
        **{"references": None, "systems": ()},
        **{"average": False, "char_order": 6, "word_order": 0, "beta": 2},
        **{"sources": None, "source_lang": None, "roundtrips": None, "backtranslator": None},
    }


def test_what_is_no_setting_is_refused():
    with pytest.raises(TypeError, match=re.escape("BERTR() got an unexpected keyword argument 'window'")):
        BERTR(window=3)
    with pytest.raises(InputError, match="comet: inputs 'mt' is not one of mt"):
        COMET(inputs="mt")
