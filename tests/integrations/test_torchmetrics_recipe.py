"""integrations/torchmetrics_ctx.py, in one process and in two that synchronise."""

import multiprocessing
import pickle

import pytest
import torch
from recipes import DOCUMENTS, OUTPUTS, REFERENCES, SOURCES, near, recipe, scored
from sacrebleu.metrics import CHRF

from ctx_metrics import BERTR, COMET, SLIDE

pytestmark = pytest.mark.full

STREAMS = OUTPUTS, REFERENCES, SOURCES, DOCUMENTS


@pytest.fixture(scope="module", autouse=True)
def torchmetrics():
    """Imported by its tests alone: it takes a second, and every run collects this file."""
    pytest.importorskip("torchmetrics", exc_type=ImportError)


def test_batches_add_up_and_reset_empties():
    metric = recipe("torchmetrics_ctx").CtxMetric("bertr", "de-en")
    for _ in range(2):
        for start in range(0, len(OUTPUTS), 20):
            metric.update(OUTPUTS[start : start + 20], REFERENCES[start : start + 20])
        assert metric.compute().item() == scored(BERTR, target_lang="en")
        metric.reset()
    metric.update(OUTPUTS[:3], REFERENCES[:3])
    assert metric.compute().item() == near(BERTR(target_lang="en").corpus_score(OUTPUTS[:3], [REFERENCES[:3]]).score)


def test_sources_documents_and_settings(multilingual):
    comet = recipe("torchmetrics_ctx").CtxMetric("comet", "de-en", settings={"model": "multilingual"})
    comet.update(OUTPUTS, sources=SOURCES)
    assert comet.compute().item() == scored(COMET, None, sources=SOURCES, target_lang="en")
    slide = recipe("torchmetrics_ctx").CtxMetric("slide", "de-en")
    slide.update(OUTPUTS, REFERENCES, doc_ids=DOCUMENTS)
    assert slide.compute().item() == scored(SLIDE, doc_ids=DOCUMENTS, target_lang="en")


def test_texts_survive_as_they_are():
    texts = ["größer 猫\n", "", "🍐 a"]
    metric = recipe("torchmetrics_ctx").CtxMetric("chrf")
    metric.update(texts, ["x", "", "y"])
    assert pickle.loads(pickle.dumps(metric))._texts("hypotheses") == metric._texts("hypotheses") == texts


def test_streams_of_unequal_lengths_are_refused():
    metric = recipe("torchmetrics_ctx").CtxMetric("chrf")
    with pytest.raises(ValueError, match="1 references for 2 hypotheses"):
        metric.update(["a", "b"], ["a"])
    metric.update(["a"], ["a"])
    metric.update(["b"])
    with pytest.raises(ValueError, match="1 references for 2 hypotheses: give them to every update, or to none"):
        metric.compute()


def test_positions_restore_the_order_and_drop_repeated_segments():
    metric = recipe("torchmetrics_ctx").CtxMetric("slide", "de-en")
    numbers = [*range(1, len(OUTPUTS), 2), *range(0, len(OUTPUTS), 2), 3]
    metric.update(*([texts[number] for number in numbers] for texts in STREAMS), positions=numbers)
    assert metric.compute().item() == scored(SLIDE, doc_ids=DOCUMENTS, sources=SOURCES, target_lang="en")


def of_rank(rank: int, address: str, found) -> None:
    """Every second segment from the rank on, as a DistributedSampler deals them out, with one that it repeats."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{address}", rank=rank, world_size=2)
    numbers = [number % len(OUTPUTS) for number in range(rank, len(OUTPUTS) + 1, 2)]
    metric = recipe("torchmetrics_ctx").CtxMetric("chrf")
    for part in (numbers[:10], numbers[10:]):
        given = [[texts[number] for number in part] for texts in STREAMS]
        metric.update(*given, positions=part)
    found.put((rank, metric.compute().item(), len(metric._texts("hypotheses"))))
    torch.distributed.destroy_process_group()


def test_two_processes_score_every_segment_once(tmp_path):
    assert len(OUTPUTS) % 2  # so that one segment comes twice
    context = multiprocessing.get_context("spawn")
    found = context.Queue()
    ranks = [context.Process(target=of_rank, args=(rank, str(tmp_path / "meet"), found)) for rank in range(2)]
    for process in ranks:
        process.start()
    results = sorted(found.get(timeout=120) for _ in ranks)
    for process in ranks:
        process.join()
    assert [score for _, score, _ in results] == [scored(CHRF)] * 2
    assert [own for *_, own in results] == [30, 30]  # each has its own texts again
