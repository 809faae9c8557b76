"""integrations/eole_ctx.py in eole: found by the names of its modules and metrics, as eole's trainer finds it."""

from types import SimpleNamespace

import pytest
from recipes import DOCUMENTS, FILES, FOLDER, OUTPUTS, REFERENCES, SOURCES, scored

from ctx_metrics import BERTR, COMET, SLIDE

pytestmark = pytest.mark.full

scorers = pytest.importorskip("eole.scorers", exc_type=ImportError)


@pytest.fixture
def build(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    scorers.load_scorer_modules(["eole_ctx"])

    def built(name, **settings):
        config = SimpleNamespace(scorer_configs={name: {"languages": "de-en", **settings}})
        return scorers.build_scorers(config, scorers.get_scorers_cls([name]))[name]["scorer"]

    return built


def test_scores_of_the_validation_set(build):
    assert build("CTX-BERTR").compute_score(OUTPUTS, REFERENCES, SOURCES) == scored(BERTR, target_lang="en")
    slide = build("CTX-SLIDE", docids=FILES["docids"]).compute_score(OUTPUTS, REFERENCES, SOURCES)
    assert slide == scored(SLIDE, doc_ids=DOCUMENTS, target_lang="en")


def test_the_source_and_settings_reach_the_metric(build, multilingual):
    scorer = build("CTX-COMET", model="multilingual", inputs="mt+src")
    assert scorer.compute_score(OUTPUTS, REFERENCES, SOURCES) == scored(COMET, None, sources=SOURCES, target_lang="en")


def test_without_a_configuration():
    """eole's own scorers are built from configurations without ours."""
    cls = scorers.get_scorers_cls(["CTX-NIST"])["CTX-NIST"]
    scorer = cls(SimpleNamespace())
    assert scorer.compute_score(OUTPUTS, REFERENCES) > 1 and scorer.compute_score([], []) == 0


def test_it_can_stop_training_early(build):
    from eole.utils.earlystopping import scorers_from_config

    config = SimpleNamespace(early_stopping_criteria=["CTX-COMET"], valid_metrics=["CTX-COMET"])
    [criterion] = scorers_from_config(config)
    assert criterion.higher_is_better and criterion.name == "CTX-COMET"
    assert build("CTX-COMET").uses_gpu and not build("CTX-COMET", device="cpu").uses_gpu
