"""--ctx-kind-of-references: how the references were made, in the signature of every metric."""

import json

import pytest
from plugin_conftest import REF, A
from plugin_conftest import fresh_sacrebleu as sacrebleu


@pytest.mark.full
def test_every_signature_names_the_kind_of_references():
    common = (REF, "-i", A, "-m", "bleu", "bertr", "-f", "json")
    with_kind, without = (sacrebleu(*common, *more) for more in (["--ctx-kind-of-references", "post-edited"], []))
    assert with_kind.returncode == 0, with_kind.stderr
    found, usual = json.loads(with_kind.stdout), json.loads(without.stdout)
    assert [each["refs"] for each in found] == ["post-edited"] * 2
    assert [each["signature"].replace("|refs:post-edited", "") for each in found] == [
        each["signature"] for each in usual
    ]
    assert [each["score"] for each in found] == [each["score"] for each in usual]
