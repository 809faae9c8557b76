"""The settings of the flags --rtt-*."""

from pathlib import Path

import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.roundtrip.back_translation import BackTranslation
from ctx_metrics.roundtrip.model_translator import own_code


@pytest.mark.parametrize(
    "settings, said",
    [
        *(({"spec": spec}, "is not a back-translator") for spec in ("me/model", "hf:", "cmd: ", "ft:x")),
        *(({"spec": "hf:x", "label": label}, "is not a name of a back-translator") for label in ("", "a b")),
        ({"spec": "cmd:cat", "beams": 2}, "--rtt-beams is for hf:"),
        ({"spec": "cmd:cat", "max_length": 2}, "--rtt-max-length is for hf:"),
        ({"spec": "cmd:cat", "source_code": "de"}, "--rtt-bt-from is for hf:"),
        ({"spec": "cmd:cat", "target_code": "en"}, "--rtt-bt-to is for hf:"),
        ({"spec": "hf:x", "batch_lines": 2}, "--rtt-batch-lines is for cmd:"),
        ({"spec": "hf:x", "timeout": 2}, "--rtt-timeout is for cmd:"),
    ],
)
def test_settings_that_do_not_go_together(settings, said):
    with pytest.raises(InputError, match=said):
        BackTranslation(**settings)


def test_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert BackTranslation("cmd:cat").cache_folder == tmp_path / "xdg" / "ctx-metrics" / "roundtrip"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the XDG specification wants ignored
    assert BackTranslation("cmd:cat").cache_folder == tmp_path / ".cache" / "ctx-metrics" / "roundtrip"
    assert BackTranslation("cmd:cat", cache="~/mine").cache_folder == tmp_path / "mine"
    assert BackTranslation("cmd:cat", cache="here").cache_folder == Path("here")
    assert BackTranslation("cmd:cat", cache="none").cache_folder is None


NLLB = ["deu_Latn", "eng_Latn", "est_Latn", "spa_Latn", "zho_Hans", "zho_Hant"]
MBART = ["de_DE", "en_XX", "zh_CN"]


@pytest.mark.parametrize(
    "language, codes, code",
    [
        ("de", ["de", "en"], "de"),
        ("DE", ["de", "en"], "de"),
        ("de-AT", ["de", "en"], "de"),
        ("de", MBART, "de_DE"),
        ("zh_CN", [*MBART, "zh_TW"], "zh_CN"),
        ("deu", NLLB, "deu_Latn"),
        ("de-AT", NLLB, "deu_Latn"),
        ("es", NLLB, "spa_Latn"),  # not Estonian
        ("zho-hant", NLLB, "zho_Hant"),
        ("zh_CN", NLLB, "zho_Hans"),
        ("cmn-TW", NLLB, "zho_Hant"),
        ("arz", ["arb_Arab", "ary_Arab", "arz_Arab"], "arz_Arab"),  # though all are Arabic
    ],
)
def test_a_language_that_can_mean_one_code(language, codes, code):
    assert own_code(language, None, codes, "--flag", "model") == code


@pytest.mark.parametrize(
    "language, given, codes, said",
    [
        (
            "zho",
            None,
            NLLB,
            r"Chinese \(zho\) can be several languages of model: name one with --flag: zho_Hans, zho_Hant",
        ),
        ("xx", None, NLLB, "it has deu_Latn, eng_Latn, est_Latn, spa_Latn, zho_Hans, zho_Hant$"),
        (None, None, NLLB, "name the language pair with -l, or the model's code with --flag"),
        ("de", "deu", NLLB, "--flag deu: model does not have this code; similar codes: deu_Latn"),
    ],
)
def test_a_language_that_means_no_code(language, given, codes, said):
    with pytest.raises(InputError, match=said):
        own_code(language, given, codes, "--flag", "model")


def test_the_given_code_counts():
    assert own_code("de", "eng_Latn", NLLB, "--flag", "model") == "eng_Latn"
