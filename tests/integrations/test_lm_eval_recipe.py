"""integrations/lm_eval_task in lm-evaluation-harness: the task as it is, with a model that answers with the example's texts."""

import json
import shutil

import pytest
from recipes import DOCUMENTS, FOLDER, OUTPUTS, REFERENCES, SOURCES, scored

from ctx_metrics import COMET, SLIDE

pytestmark = pytest.mark.full

lm_eval = pytest.importorskip("lm_eval", exc_type=ImportError)


@pytest.fixture
def run(tmp_path, monkeypatch):
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    class Known(LM):
        """Answers each prompt with system A's translation of the source in it."""

        def generate_until(self, requests, **_):
            of = dict(zip(SOURCES, OUTPUTS, strict=True))
            return [of[request.arguments[0].split("German: ")[1].removesuffix("\nEnglish:")] for request in requests]

        def loglikelihood(self, requests, **_):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    folder = tmp_path / "task"
    shutil.copytree(FOLDER / "lm_eval_task", folder, ignore=shutil.ignore_patterns("__pycache__"))
    rows = zip(SOURCES, REFERENCES, DOCUMENTS, strict=True)
    lines = [json.dumps(dict(zip(("source", "reference", "document"), row, strict=True))) for row in rows]
    (tmp_path / "dev.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CTX_LANGUAGES", "de-en")
    monkeypatch.chdir(tmp_path)

    def result(change=lambda text: text):
        [path] = folder.glob("*.yaml")
        path.write_text(change(path.read_text()))
        manager = TaskManager(include_path=str(folder), include_defaults=False)
        found = lm_eval.simple_evaluate(
            Known(), tasks=["ctx_translate_de_en"], task_manager=manager, bootstrap_iters=100
        )
        return found["results"]["ctx_translate_de_en"]

    return result


def test_a_task_scores_the_corpus_with_its_documents(run):
    found = run()
    assert found["ctx_comet,none"] == scored(COMET, target_lang="en", sources=SOURCES)
    assert found["ctx_slide,none"] == scored(SLIDE, doc_ids=DOCUMENTS, target_lang="en", sources=SOURCES)


def test_settings_of_a_metric(run, monkeypatch):
    monkeypatch.setenv("CTX_SETTINGS", '{"slide": {"window": 2, "stride": 1}}')
    slide = scored(SLIDE, doc_ids=DOCUMENTS, target_lang="en", sources=SOURCES, window=2, stride=1)
    assert run()["ctx_slide,none"] == slide


def test_without_process_results_the_target_is_the_reference(run):
    line = "process_results: !function lm_eval_ctx.comet_slide"
    found = run(lambda text: text.replace(line, "process_docs: !function lm_eval_ctx._as_it_is"))
    assert found["ctx_comet,none"] == scored(COMET, target_lang="en")
    assert found["ctx_slide,none"] == scored(SLIDE, target_lang="en")


def test_the_registry_knows_the_metrics(run):
    from lm_eval.api.registry import get_metric_aggregation, is_higher_better

    run()
    assert is_higher_better("ctx_bertr") and get_metric_aggregation("bleu")
    assert get_metric_aggregation("ctx_nist")([("It rains.", "It rains."), ("We left.", "We go.")]) > 0
