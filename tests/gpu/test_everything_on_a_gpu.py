"""All that computes on a device gives a card the scores of the CPU: no devices mix, and nothing is read too early."""

import threading
from functools import cache
from importlib import metadata

import numpy as np
import pytest
from gpu_conftest import folders, nothing_is_loaded  # noqa: F401
from gpu_runs import HYPOTHESES, REFERENCES, RUNS, SOURCES, values
from sacrebleu.metrics import METRICS
from selection import some_rows
from stand_in_gpu import StandInGpu
from stand_in_gpu.queue import KERNEL

from ctx_metrics import release
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.comet.model import RegressionEstimator

# each value's distance from the CPU's fp32; values are of the size of 1 unless the name says otherwise
ROUNDING = {"fp32": 1e-5, "bf16": 0.03, "fp16": 0.005}
PERCENT = ("mbr", "mbr-references", "prbleu", "prbleu-mas")
ON_CPU = ("prbleu-mas",)  # which reads an embedding table, and runs no network
# what is like another run, and of the kinds of networks those that compute in half precision; the others run with -m full
ALIKE = (
    "bertscore comet-regression-layernorm comet-referenceless comet-kiwi comet-unite-rembert comet-adapted-free "
    "slide-kiwi doccomet-regression bilstm bilstmatt rttsbert rttbertscore mbr-references train-unified train-esim "
    "train-comet train-paraphrase"
).split()
HALF = "comet-regression classifier".split()
NO_NETWORK_OF_THEIR_OWN = {"rttbleu", "rttsentbleu", "rttchrf", "prsentbleu", "prchrf", "nist", "meteor", "judge"}


def scores(name, folders, device, dtype="fp32") -> np.ndarray:
    release()
    return np.array(RUNS[name](folders, EngineOptions(device=device, dtype=dtype, quiet=True)))


@pytest.fixture(scope="module")
def on_cpu(folders):
    """A function that gives a run's scores on the CPU."""
    return cache(lambda name, dtype="fp32": scores(name, folders, "cpu", dtype))


def test_every_metric_takes_part():
    installed = {e.name for e in metadata.distribution("ctx-metrics").entry_points if e.group == "sacrebleu.metrics"}
    assert installed - NO_NETWORK_OF_THEIR_OWN == installed & {name.partition("-")[0] for name in RUNS}


@pytest.mark.parametrize(
    "dtype, name",
    some_rows(
        [(dtype, name) for dtype in ROUNDING for name in RUNS],
        [*(("fp32", name) for name in RUNS if name not in ALIKE), *(("bf16", name) for name in HALF)],
    ),
)
def test_scores_are_those_of_the_cpu(name, folders, on_cpu, dtype):
    if (name.startswith("train-") or name == "metricx") and dtype == "fp16":
        pytest.skip("refuses fp16")
    # rounding may change a word of a translation: no distance is small there
    expected = on_cpu(name, dtype if name == "translation" else "fp32")
    with StandInGpu() as gpu:
        found = scores(name, folders, "cuda", dtype)
    assert bool(gpu.of(KERNEL)) == (name not in ON_CPU)
    assert np.isfinite(found).all()
    # a correlation of few judgements that is trained for moves more
    scale = 100 if name in PERCENT else 4 if name.startswith("train-") else 1
    assert found == pytest.approx(expected, abs=scale * ROUNDING[dtype])


def test_auto_takes_the_card_and_a_number_the_other_one(folders, on_cpu):
    expected = on_cpu("bertr")
    for device, card in (("auto", "cuda:0"), ("cuda:1", "cuda:1")):
        with StandInGpu(devices=2) as gpu:
            assert scores("bertr", folders, device) == pytest.approx(expected, abs=1e-5)
        assert {str(step.device) for step in gpu.of(KERNEL)} == {card}


def test_texts_that_another_thread_tokenises(folders, on_cpu, monkeypatch):
    expected, threads, sequences = on_cpu("comet-regression"), [], RegressionEstimator._sequences
    for size in ("EXAMPLES_A_BLOCK", "FIRST_BLOCK"):
        monkeypatch.setattr(f"ctx_metrics.models.comet.model.{size}", 2, raising=False)

    def noted(estimator, examples):
        threads.append(threading.current_thread())
        return sequences(estimator, examples)

    monkeypatch.setattr(RegressionEstimator, "_sequences", noted)
    with StandInGpu():
        assert scores("comet-regression", folders, "cuda") == pytest.approx(expected, abs=1e-5)
    assert len(threads) == 3 and threading.main_thread() not in threads


def test_an_older_card_has_no_kernel_for_sequences_of_different_lengths(folders, on_cpu):
    expected = on_cpu("comet-regression")
    with StandInGpu(capability=(7, 5)) as gpu:
        found = scores("comet-regression", folders, "cuda", "fp16")
    assert found == pytest.approx(expected, abs=ROUNDING["fp16"])
    assert not any(step.op == "varlen_attn" for step in gpu.steps)


EMBEDDED = ("bertr", "comet", "bilstm", "bilstmatt", "esim", "pairwise", "multilingual", "multilingual-free", "prbleu")


@pytest.mark.full
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name", EMBEDDED)
def test_the_models_of_the_package(name, dtype, request):
    """bertr's encoder, the regressor (comet), UniTE's shape over the multilingual encoder with its 4-bit table, and more."""

    def computed(device, dtype):
        release()
        engine = {"engine": EngineOptions(device=device, dtype=dtype, quiet=True)}
        if name == "prbleu":
            from ctx_metrics.pseudo_references.paraphrase.classifier import ParaphraseClassifier

            return ParaphraseClassifier(None, **engine).probabilities(list(zip(HYPOTHESES, REFERENCES)))
        if name.startswith("multilingual"):
            way = {"inputs": "mt+src"} if name.endswith("free") else {}
            model = {"model": "multilingual", "sources": SOURCES, "target_lang": "en"}
            return values(METRICS["COMET"]([REFERENCES], **model, **way, **engine))
        systems = {"systems": [HYPOTHESES, HYPOTHESES[::-1]]} if name == "pairwise" else {}
        return values(METRICS[name.upper()]([REFERENCES], target_lang="en", **systems, **engine))

    if name.startswith("multilingual"):
        request.getfixturevalue("multilingual")
    expected = computed("cpu", "fp32")
    with StandInGpu() as gpu:
        found = computed("cuda", dtype)
    assert gpu.of(KERNEL) and found == pytest.approx(expected, abs=ROUNDING[dtype])
