"""BERTR against bert-score 0.3.13: throughput, token cosines and peak memory on the same encoder and layer.

    python benchmarks/bertr.py --references REF --systems A B C [--segments 1000] [--threads 2]

REF and A, B, C are text files of equal length. The first N segments with distinct references are scored. Each tool runs in
a process of its own, with its model loaded before the clock starts; each is given one system after another. The ratio of
the two times, not either time, is the result. Token cosines are compared for every segment of the first system.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

LAYER = 4


def read_segments(args) -> tuple[list[str], list[list[str]]]:
    """The first N segments with distinct, non-empty references: references, and each system's hypotheses."""
    from ctx_metrics import read_lines

    references, *systems = [read_lines(path) for path in (args.references, *args.systems)]
    first = {text: i for i, text in reversed(list(enumerate(references))) if text}
    rows = sorted(first.values())[: args.segments]
    return [references[i] for i in rows], [[system[i] for i in rows] for system in systems]


def run_ours(references, systems) -> dict:
    """Score with BERTR as sacrebleu would: references cached, all systems in one pass."""
    from ctx_metrics import BERTR

    metric = BERTR([references], systems, target_lang="en")
    metric.encoder.encode(metric.encoder.tokenizer(["The model is loaded now."]), metric.mixes)
    start = time.perf_counter()
    scores = [metric.corpus_score(system, None).score for system in systems]
    return {"seconds": time.perf_counter() - start, "scores": scores}


def run_peer(references, systems) -> dict:
    """Score with bert_score.BERTScorer, one call a system."""
    from bert_score import BERTScorer

    from ctx_metrics.models import hub

    scorer = BERTScorer(model_type=str(hub.resolve("embedded").folder), num_layers=LAYER, device="cpu")
    scorer.score(["The model is loaded now."], ["It is."])
    start = time.perf_counter()
    scores = [100 * scorer.score(system, references)[1].mean().item() for system in systems]
    return {"seconds": time.perf_counter() - start, "scores": scores}


def compare_cosines(references, hypotheses) -> dict:
    """Largest difference between the two tools' cosines of any content token pair."""
    from collections import defaultdict

    import torch
    from bert_score.utils import get_bert_embedding, get_model, get_tokenizer

    from ctx_metrics import BERTR

    metric = BERTR(target_lang="en")
    folder = str(metric.model.folder)
    model, tokenizer = get_model(folder, LAYER), get_tokenizer(folder)
    worst = 0.0

    def ours(texts):
        states = metric.encoder.encode(metric.encoder.tokenizer(texts), metric.mixes)
        return [torch.nn.functional.normalize(text[LAYER,], dim=1) for text in states]

    for begin in range(0, len(references), 64):
        sides = [stream[begin : begin + 64] for stream in (references, hypotheses)]
        theirs = []
        for texts in sides:
            vectors, mask, _ = get_bert_embedding(texts, model, tokenizer, defaultdict(lambda: 1.0), device="cpu")
            vectors = torch.nn.functional.normalize(vectors, dim=2)
            theirs.append([row[: int(length)] for row, length in zip(vectors, mask.sum(1), strict=True)])
        for r1, h1, r2, h2 in zip(*map(ours, sides), *theirs, strict=True):
            worst = max(worst, ((r1 @ h1.T)[1:-1, 1:-1] - (r2 @ h2.T)[1:-1, 1:-1]).abs().max().item())
    return {"worst": worst}


def main() -> None:
    """Run both tools in processes of their own and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", required=True)
    parser.add_argument("--systems", nargs="+", required=True)
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["ours", "peer", "cosines"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        import torch

        torch.set_num_threads(args.threads)
        references, systems = read_segments(args)
        result = (
            compare_cosines(references, systems[0])
            if args.only == "cosines"
            else {"ours": run_ours, "peer": run_peer}[args.only](references, systems)
        )
        print(
            json.dumps(
                {
                    **result,
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                    "pairs": len(references) * len(systems),
                }
            )
        )
        return

    def measured(what):
        output = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--only", what], check=True, capture_output=True, text=True
        )
        return json.loads(output.stdout.splitlines()[-1])

    ours, peer, cosines = measured("ours"), measured("peer"), measured("cosines")
    for name, result in (("ctx-metrics BERTR", ours), ("bert-score", peer)):
        speed = result["pairs"] / result["seconds"]
        scores = " ".join(f"{score:.3f}" for score in result["scores"])
        print(
            f"{name:18} {result['seconds']:7.1f} s {speed:6.0f} pairs/s  peak {result['peak_mb']:5.0f} MB  scores {scores}"
        )
    ratio = peer["seconds"] / ours["seconds"]
    print(f"throughput ratio {ratio:.2f}; worst difference of a token cosine {cosines['worst']:.1e}")
    print("(bert-score lets reference tokens match the hypothesis's special tokens, so its recall is a little higher)")


if __name__ == "__main__":
    main()
