"""integrations/pearmut_export.py, and its campaign in pearmut."""

import json
import os
import subprocess
import sys
from itertools import groupby

import pytest
from recipes import DOCUMENTS, FILES, OUTPUTS, REFERENCES, SOURCES, TEXTS, near, recipe
from sacrebleu.metrics import CHRF

from ctx_metrics import BERTR

pytestmark = pytest.mark.full

ARGUMENTS = ["-s", FILES["source"], "-t", FILES["a"], FILES["b"], "--names", "a", "b", "--docids", FILES["docids"]]
ARGUMENTS += ["-r", FILES["reference"], *"-l de-en -m chrf bertr --campaign-id example --users 3".split()]


@pytest.fixture
def export(tmp_path):
    def run(*more):
        assert recipe("pearmut_export").main([*ARGUMENTS, *more, "-o", str(tmp_path / "campaign.json")]) == 0
        return json.loads((tmp_path / "campaign.json").read_text(encoding="utf-8"))

    return run


def test_a_document_is_an_item_with_its_segments(export):
    made = export()
    assert made["campaign_id"] == "example" and made["info"]["users"] == 3
    documents = [(name, len(list(rows))) for name, rows in groupby(DOCUMENTS)]
    assert [(document[0]["doc_id"], len(document)) for document in made["data"]] == documents
    segments = [segment for document in made["data"] for segment in document]
    assert [segment["src"] for segment in segments] == SOURCES
    assert [segment["ref"] for segment in segments] == REFERENCES
    assert [segment["tgt"] for segment in segments] == [
        {"a": a, "b": b} for a, b in zip(OUTPUTS, TEXTS["b"], strict=True)
    ]
    assert len({segment["item_id"] for segment in segments}) == len(SOURCES)


def test_scores_of_segments_and_systems(export):
    made = export()
    metric = BERTR(target_lang="en")
    assert made["ctx_metrics"]["bertr"]["scores"]["b"] == near(metric.corpus_score(TEXTS["b"], [REFERENCES]).score)
    assert "|inputs:mt+ref|" in made["ctx_metrics"]["bertr"]["signature"]
    segments = [segment["ctx_metrics"] for document in made["data"] for segment in document]
    expected = [each.score for each in metric.segment_scores(OUTPUTS, [REFERENCES])]
    assert [segment["bertr"]["a"] for segment in segments] == [near(score) for score in expected]
    chrf = CHRF().sentence_score(TEXTS["b"][4], [REFERENCES[4]]).score
    assert segments[4]["chrf"]["b"] == near(chrf)


def test_settings_of_a_metric(export):
    made = export("-m", "bertr", "--settings", '{"bertr": {"max_length": 12}}')
    expected = BERTR(max_length=12, target_lang="en").corpus_score(OUTPUTS, [REFERENCES]).score
    assert made["ctx_metrics"]["bertr"]["scores"]["a"] == near(expected)
    assert "|maxlen:12|" in made["ctx_metrics"]["bertr"]["signature"]


def test_what_pearmut_would_refuse_is_said_before(tmp_path, capsys):
    made = recipe("pearmut_export").main([*ARGUMENTS, "--names", "1", "b", "-o", str(tmp_path / "x")])
    assert made == 1 and "system 1: Pearmut does not accept names made of digits only" in capsys.readouterr().err
    made = recipe("pearmut_export").main([*ARGUMENTS, "-m", "nope", "-o", str(tmp_path / "x")])
    assert made == 1 and "nope: there is no such metric" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_pearmut_takes_the_campaign(export, tmp_path):
    pytest.importorskip("pearmut", exc_type=ImportError)
    made = export("--assignment", "dynamic")
    code = "import sys; from pearmut.cli import main; sys.argv = ['pearmut', 'add', sys.argv[1]]; main()"
    command = [sys.executable, "-c", code, str(tmp_path / "campaign.json")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PEARMUT_ROOT": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "data" / "campaigns" / "example.json").read_text(encoding="utf-8"))
    assert kept["data"] == made["data"]  # dicts, whatever the order in which systems are shown
    assert kept["info"]["assignment"] == "dynamic" and kept["ctx_metrics"] == made["ctx_metrics"]
    progress = json.loads((tmp_path / "data" / "progress" / "example.json").read_text())
    assert len(progress) == 3
