"""COMET-poly beside a plain forward of transformers in batches of 16 in input order: throughput, and equal scores.

    python benchmarks/polycand.py --sources SRC --systems A B C [--segments 60] [--threads 2] [--size base]

The checkpoint has two candidates, random weights and XLM-R's base size (comet_fixture.py); the files are text of equal
length. As in the authors' package, the plain forward encodes the source, the hypothesis and both candidates of every sample.
Each tool runs in a process of its own, with its model loaded before the clock starts. The ratio of the two times is the
result.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from comet_fixture import build_checkpoint
from peers import Clock, in_its_process

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


TOOLS = {"ours": ours, "theirs": theirs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", required=True)
    parser.add_argument("--systems", nargs="+", required=True)
    parser.add_argument("--segments", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", default="base", help="tiny or base")
    parser.add_argument("--model", help="a checkpoint that an earlier run has made")
    parser.add_argument("--only", choices=TOOLS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    from ctx_metrics import read_lines

    sources, *systems = [read_lines(path)[: args.segments] for path in (args.sources, *args.systems)]
    if args.only:
        import torch

        torch.set_num_threads(args.threads)
        print(json.dumps(TOOLS[args.only](args, sources, systems)))
        return
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        if args.model is None:
            every = [text for stream in (sources, *systems) for text in stream]
            args.model = str(build_checkpoint(Path(folder), "polycand", args.size, every))
        found = {tool: in_its_process(tool, "--model", args.model) for tool in TOOLS}
    for tool, each in found.items():
        print(f"{tool}: {each['seconds']:.1f} s, {each['cpu']:.1f} s of CPU for {len(each['scores'])} segments")
    gap = max(abs(a - b) for a, b in zip(found["ours"]["scores"], found["theirs"]["scores"], strict=True))
    low, high = min(found["theirs"]["scores"]), max(found["theirs"]["scores"])
    print(f"{found['theirs']['seconds'] / found['ours']['seconds']:.2f} times as fast; scores {low:.3f} to {high:.3f}")
    print(f"largest difference of a score {gap:.1e}")


if __name__ == "__main__":
    main()
