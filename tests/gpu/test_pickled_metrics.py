"""A metric that has scored on a card goes to the workers of -j N without a tensor of the card: they cannot use it."""

import io
import pickle
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest
from gpu_conftest import folders, nothing_is_loaded  # noqa: F401
from gpu_runs import HYPOTHESES, OTHERS, REFERENCES, RUNS
from plugin_conftest import forked  # noqa: F401
from sacrebleu.metrics import METRICS
from selection import some
from stand_in_gpu import StandInGpu
from stand_in_gpu.queue import PICKLE

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.scoring.base import ContextMetric

NAMES = [name for name in RUNS if not name.startswith(("train-", "classifier", "translation", "mbr"))]
PICKLERS = {"plain": pickle.dumps, "of multiprocessing": lambda metric: ForkingPickler(io.BytesIO()).dump(metric)}
DEFAULT = ["bertr", "comet-xcomet", "comet-adapted", "slide-kiwi", "esim", "pairwise", "rttsbert-library", "prbleu"]


@pytest.mark.parametrize("name", some(NAMES, DEFAULT))
@pytest.mark.parametrize("pickler", some(PICKLERS, ["plain"]))
def test_no_metric_holds_a_tensor_of_the_card(name, pickler, folders, monkeypatch):
    made, constructor = [], ContextMetric.__init__

    def noted(metric, *args, **kwargs):
        made.append(metric)
        constructor(metric, *args, **kwargs)

    monkeypatch.setattr(ContextMetric, "__init__", noted)
    with StandInGpu() as gpu:
        RUNS[name](folders, EngineOptions(device="cuda", quiet=True))
        assert made
        for metric in made:
            PICKLERS[pickler](metric)
        assert list(map(str, gpu.of(PICKLE))) == []


def test_metrics_that_share_an_encoder(folders):
    """BERTR after ESIM: what one metric has the encoder read for it does not go with the other."""
    with StandInGpu() as gpu:
        engine = EngineOptions(device="cuda", quiet=True)
        settings = {"target_lang": "en", "engine": engine}
        bertr = METRICS["BERTR"]([REFERENCES], model=str(folders.bert), **settings)
        esim = METRICS["ESIM"]([REFERENCES], model=folders.learned("esim"), **settings)
        scores = [metric.corpus_score(HYPOTHESES, None).score for metric in (bertr, esim)]
        again = [pickle.loads(pickle.dumps(metric)) for metric in (bertr, esim)]
        assert list(map(str, gpu.of(PICKLE))) == []
        assert [metric.corpus_score(OTHERS, None).score for metric in again] != scores  # they load their models again


COMMAND = """
import signal
signal.alarm(30)  # a worker that cannot use the card, and a parent that waits for it
sys.path.insert(0, {tests!r})
sys.argv = ["sacrebleu", *job["args"]]
from stand_in_gpu import StandInGpu
from sacrebleu.sacrebleu import main
with StandInGpu() as gpu:
    main()
"""


@pytest.mark.full
def test_four_workers(folders, forked, tmp_path):
    for name, lines in {"ref": REFERENCES, "a": HYPOTHESES, "b": OTHERS}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    code = COMMAND.format(tests=str(Path(__file__).parents[1]))
    models = ["--bertr-model", folders.bert, "--esim-model", folders.learned("esim")]
    paired = ["--paired-bs", "--paired-bs-n", "50"]
    outputs = []
    for jobs in ("1", "4"):
        done = forked(code, *"ref -i a b -m bertr esim -l de-en".split(), *paired, "-j", jobs, *models, cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-800:]
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] and "ESIM" in outputs[0]
