"""COMET-poly beside a plain forward of transformers in batches of 16 in input order: throughput, and equal scores.

    python benchmarks/polycand.py --sources SRC --systems A B C [--segments 60] [--threads 2] [--size base]

The checkpoint has two candidates, random weights and XLM-R's base size (comet_fixture.py); the files are text of equal
length. As in the authors' package, the plain forward encodes the source, the hypothesis and both candidates of every sample.
Each tool runs in a process of its own, with its model loaded before the clock starts. The ratio of the two times is the
result.
"""

import sys
from pathlib import Path

from comet_fixture import build_checkpoint
from peers import Clock, beside_plain_forward

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
BATCH = 16


def ours(args, sources, systems) -> dict:
    from ctx_metrics import COMET, EngineOptions

    engine = EngineOptions(device="cpu", quiet=True)
    metric = COMET(systems=systems, sources=sources, model=args.model, engine=engine)
    metric.estimator.encoder.load()
    clock = Clock()
    scores = [each.score / 100 for system in systems for each in metric.segment_scores(system)]
    return {**clock.times(), "scores": scores}


def theirs(args, sources, systems) -> dict:
    import torch
    from polycand_oracle import ByHand, candidates_beside

    oracle = ByHand(Path(args.model))
    samples = [
        (source, text, *candidates_beside(text, outputs, 2))
        for system in systems
        for source, text, outputs in zip(sources, system, zip(*systems, strict=True), strict=True)
    ]
    clock, scores = Clock(), []
    for begin in range(0, len(samples), BATCH):
        texts = zip(*samples[begin : begin + BATCH], strict=True)
        with torch.inference_mode():
            src, mt, *candidates = [oracle.vectors(each) for each in texts]
            scores += oracle.head(oracle.features(mt, src, candidates)).tolist()
    return {**clock.times(), "scores": scores}


def make_checkpoint(folder: Path, size: str, sources, systems) -> Path:
    every = [text for stream in (sources, *systems) for text in stream]
    return build_checkpoint(folder, "polycand", size, every)


if __name__ == "__main__":
    beside_plain_forward(__doc__, ["sources"], {"ours": ours, "theirs": theirs}, make_checkpoint)
