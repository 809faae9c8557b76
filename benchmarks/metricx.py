"""metricx against transformers' own mT5 in batches of 16 in input order: throughput, scores, and the memory of loading.

    python benchmarks/metricx.py --references REF --sources SRC --systems A B C [--segments 60] [--threads 2] [--size base]

The checkpoint has random weights of mT5's size (tests/metricx_folders.py); the files are text of equal length. Each tool
runs in a process of its own, with its model loaded before the clock starts. The ratio of the two times is the result.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from peers import Clock, in_its_process, peak

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
BATCH, MOST = 16, 1536


def ours(args, sources, references, systems) -> dict:
    from ctx_metrics import EngineOptions, MetricX

    before = peak()
    metric = MetricX(
        [references], systems, model=args.model, sources=sources, engine=EngineOptions(device="cpu", quiet=True)
    )
    metric.estimator.loaded.network()
    loaded = peak() - before
    clock = Clock()
    scores = [each.score for system in systems for each in metric.segment_scores(system)]
    return {**clock.times(), "scores": scores, "loading_mb": loaded}


def theirs(args, sources, references, systems) -> dict:
    """Padded batches in input order, with a mask; logits of the one decoder step."""
    import torch
    from metricx_folders import ROW
    from tokenizers import Tokenizer
    from transformers import MT5ForConditionalGeneration

    network = MT5ForConditionalGeneration.from_pretrained(args.model).eval()
    tokenizer = Tokenizer.from_file(str(Path(args.model) / "tokenizer.json"))
    tokenizer.enable_truncation(MOST)
    texts = [
        f"source: {source} candidate: {text} reference: {reference}"
        for system in systems
        for source, text, reference in zip(sources, system, references, strict=True)
    ]
    clock, scores = Clock(), []
    for begin in range(0, len(texts), BATCH):
        ids = [each.ids[:-1] for each in tokenizer.encode_batch(texts[begin : begin + BATCH])]
        longest = max(map(len, ids))
        padded = torch.tensor([each + [0] * (longest - len(each)) for each in ids])
        mask = torch.tensor([[1] * len(each) + [0] * (longest - len(each)) for each in ids])
        with torch.inference_mode():
            start = torch.zeros(len(ids), 1, dtype=torch.long)
            logits = network(input_ids=padded, attention_mask=mask, decoder_input_ids=start).logits[:, 0, ROW]
        scores += logits.clamp(0, 25).tolist()
    return {**clock.times(), "scores": scores}


TOOLS = {"ours": ours, "theirs": theirs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", required=True)
    parser.add_argument("--sources", required=True)
    parser.add_argument("--systems", nargs="+", required=True)
    parser.add_argument("--segments", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", default="base", help="tiny or base")
    parser.add_argument("--model", help="a checkpoint that an earlier run has made")
    parser.add_argument("--only", choices=TOOLS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    from ctx_metrics import read_lines

    texts = [read_lines(path)[: args.segments] for path in (args.sources, args.references, *args.systems)]
    sources, references, *systems = texts
    if args.only:
        import torch

        torch.set_num_threads(args.threads)
        print(json.dumps(TOOLS[args.only](args, sources, references, systems)))
        return
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        if args.model is None:
            from metricx_folders import make

            prompts = [
                f"source: {s} candidate: {m} reference: {r}"
                for s, m, r in zip(sources, systems[0], references, strict=True)
            ]
            args.model = str(make(Path(folder) / "metricx-24-random", args.size, texts=prompts))
        found = {tool: in_its_process(tool, "--model", args.model) for tool in TOOLS}
        size = sum(path.stat().st_size for path in Path(args.model).glob("*.safetensors")) / 1e6
    for tool, each in found.items():
        print(f"{tool}: {each['seconds']:.1f} s, {each['cpu']:.1f} s of CPU for {len(each['scores'])} segments")
    gap = max(abs(a - b) for a, b in zip(found["ours"]["scores"], found["theirs"]["scores"], strict=True))
    low, high = min(found["theirs"]["scores"]), max(found["theirs"]["scores"])
    ratio = found["theirs"]["seconds"] / found["ours"]["seconds"]
    print(f"{ratio:.2f} times as fast; scores {low:.1f} to {high:.1f}")
    print(f"largest difference of a score {gap:.1e}")
    print(f"loading took {found['ours']['loading_mb'] * 1.048576:.0f} MB at most, for {size:.0f} MB of weights")


if __name__ == "__main__":
    main()
