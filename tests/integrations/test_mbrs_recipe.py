"""integrations/mbrs_ctx as a plug-in of mbrs-decode."""

import json
import sys

import pytest
from recipes import FOLDER, SOURCES, TEXTS, near
from sacrebleu.metrics import CHRF

from ctx_metrics import BERTR, COMET

pytestmark = pytest.mark.full

mbrs = pytest.importorskip("mbrs.metrics", exc_type=ImportError)
SYSTEMS = [TEXTS[name] for name in "abc"]
ITEMS = [list(texts) for texts in zip(*SYSTEMS, strict=True)][:6]


@pytest.fixture
def decode(tmp_path, monkeypatch, capsys):
    from mbrs.cli.decode import cli_main

    def run(*arguments):
        (tmp_path / "hypotheses").write_text("".join(f"{text}\n" for item in ITEMS for text in item))
        (tmp_path / "source").write_text("".join(f"{text}\n" for text in SOURCES[: len(ITEMS)]))
        given = [str(tmp_path / "hypotheses"), "-n", "3", "--plugin_dir", str(FOLDER / "mbrs_ctx"), *arguments]
        given += ["-s", str(tmp_path / "source"), "--format", "json", "--quiet"]
        monkeypatch.setattr(sys, "argv", ["mbrs-decode", *given])
        cli_main()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def test_the_utility_of_minimum_bayes_risk(decode):
    found = decode("--metric", "ctx", "--metric.name", "bertr", "--metric.languages", "de-en")
    metric = BERTR(target_lang="en")
    for item, chosen in zip(ITEMS, found, strict=True):
        means = [sum(each.score for each in metric.segment_scores([text] * 3, [item])) / 3 for text in item]
        assert chosen["expected_score"] == near(max(means)) and chosen["sentence"] == item[means.index(max(means))]


def test_sacrebleus_own_metrics_lower_ones_negated(decode):
    found = decode("--metric", "ctx", "--metric.name", "chrf")
    for item, chosen in zip(ITEMS, found, strict=True):
        means = [sum(CHRF().sentence_score(text, [other]).score for other in item) / 3 for text in item]
        assert chosen["expected_score"] == near(max(means))
    ter = mbrs.get_metric("ctx")(mbrs.get_metric("ctx").Config(name="ter"))
    assert ter.score("It rains.", "It rains.") > ter.score("It snows.", "It rains.")


def test_reranking_by_the_source(decode, multilingual):
    found = decode("--decoder", "rerank", "--metric", "ctx-noref", "--metric.languages", "de-en")
    sources = SOURCES[: len(ITEMS)]
    metric = COMET([], sources=sources, target_lang="en")
    columns = [[each.score for each in metric.segment_scores(system[: len(ITEMS)], None)] for system in SYSTEMS]
    for item, scores, chosen in zip(ITEMS, zip(*columns, strict=True), found, strict=True):
        assert chosen["expected_score"] == near(max(scores)) and chosen["sentence"] == item[scores.index(max(scores))]
