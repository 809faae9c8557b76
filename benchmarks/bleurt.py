"""bleurt against transformers' RemBERT in batches of 16 in input order: throughput, scores, and the memory of loading.

    python benchmarks/bleurt.py --references REF --systems A B C [--segments 60] [--threads 2] [--size base]

The checkpoint has random weights (tests/bleurt_folders.py). Each tool runs in a process of its own, with its model loaded
before the clock starts. The ratio of the two times is the result.
"""

import sys
from pathlib import Path

from peers import Clock, beside_plain_forward, peak

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


def make_checkpoint(folder: Path, size: str, references, systems) -> Path:
    from bleurt_folders import make

    return make(folder / "BLEURT-20-random", size, texts=[*systems[0], *references])


if __name__ == "__main__":
    beside_plain_forward(__doc__, ["references"], {"ours": ours, "theirs": theirs}, make_checkpoint)
