"""bleurt against transformers' RemBERT in batches of 16 in input order: throughput, scores, and the memory of loading.

    python benchmarks/bleurt.py --references REF --systems A B C [--segments 60] [--threads 2] [--size base]

The checkpoint has random weights (tests/bleurt_folders.py). Each tool runs in a process of its own, with its model loaded
before the clock starts. The ratio of the two times is the result.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from peers import Clock, in_its_process, peak

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
BATCH = 16


def ours(args, references, systems) -> dict:
    from ctx_metrics import BLEURT, EngineOptions

    before = peak()
    metric = BLEURT([references], systems, model=args.model, engine=EngineOptions(device="cpu", quiet=True))
    encoder = metric.estimator.encoder
    encoder.require([encoder.score])
    encoder.load()
    loaded = peak() - before
    clock = Clock()
    scores = [each.score / 100 for system in systems for each in metric.segment_scores(system)]
    return {**clock.times(), "scores": scores, "loading_mb": loaded}


def theirs(args, references, systems) -> dict:
    """Padded batches in input order, with a mask."""
    import torch
    from bleurt_folders import opened, sequence

    folder = Path(args.model)
    network = opened(folder, "gelu")
    pairs = [pair for system in systems for pair in zip(system, references, strict=True)]
    clock, scores = Clock(), []
    for begin in range(0, len(pairs), BATCH):
        batch = [sequence(folder, pair) for pair in pairs[begin : begin + BATCH]]
        longest = max(len(ids) for ids, _ in batch)
        ids, types = (torch.tensor([each[k] + [0] * (longest - len(each[k])) for each in batch]) for k in (0, 1))
        mask = torch.tensor([[1] * len(own) + [0] * (longest - len(own)) for own, _ in batch])
        with torch.inference_mode():
            logits = network(input_ids=ids, token_type_ids=types, attention_mask=mask).logits
        scores += logits[:, 0].tolist()
    return {**clock.times(), "scores": scores}


TOOLS = {"ours": ours, "theirs": theirs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", required=True)
    parser.add_argument("--systems", nargs="+", required=True)
    parser.add_argument("--segments", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", default="base", help="tiny or base")
    parser.add_argument("--model", help="a checkpoint that an earlier run has made")
    parser.add_argument("--only", choices=TOOLS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    from ctx_metrics import read_lines

    references, *systems = [read_lines(path)[: args.segments] for path in (args.references, *args.systems)]
    if args.only:
        import torch

        torch.set_num_threads(args.threads)
        print(json.dumps(TOOLS[args.only](args, references, systems)))
        return
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        if args.model is None:
            from bleurt_folders import make

            args.model = str(make(Path(folder) / "BLEURT-20-random", args.size, texts=[*systems[0], *references]))
        found = {tool: in_its_process(tool, "--model", args.model) for tool in TOOLS}
        size = (Path(args.model) / "model.safetensors").stat().st_size / 1e6
    for tool, each in found.items():
        print(f"{tool}: {each['seconds']:.1f} s, {each['cpu']:.1f} s of CPU for {len(each['scores'])} segments")
    gap = max(abs(a - b) for a, b in zip(found["ours"]["scores"], found["theirs"]["scores"], strict=True))
    low, high = min(found["theirs"]["scores"]), max(found["theirs"]["scores"])
    ratio = found["theirs"]["seconds"] / found["ours"]["seconds"]
    print(f"{ratio:.2f} times as fast; scores {low:.2f} to {high:.2f}")
    print(f"largest difference of a score {gap:.1e}")
    print(f"loading took {found['ours']['loading_mb'] * 1.048576:.0f} MB at most, for {size:.0f} MB of weights")


if __name__ == "__main__":
    main()
