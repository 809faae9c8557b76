"""metricx against transformers' own mT5 in batches of 16 in input order: throughput, scores, and the memory of loading.

    python benchmarks/metricx.py --references REF --sources SRC --systems A B C [--segments 60] [--threads 2] [--size base]

The checkpoint has random weights of mT5's size (tests/metricx_folders.py); the files are text of equal length. Each tool
runs in a process of its own, with its model loaded before the clock starts. The ratio of the two times is the result.
"""

import sys
from pathlib import Path

from peers import Clock, beside_plain_forward, peak

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


def make_checkpoint(folder: Path, size: str, sources, references, systems) -> Path:
    from metricx_folders import make

    texts = zip(sources, systems[0], references, strict=True)
    prompts = [f"source: {source} candidate: {text} reference: {reference}" for source, text, reference in texts]
    return make(folder / "metricx-24-random", size, texts=prompts)


if __name__ == "__main__":
    beside_plain_forward(__doc__, ["sources", "references"], {"ours": ours, "theirs": theirs}, make_checkpoint)
