"""SentenceCosine against sentence-transformers: throughput, cosines and peak memory on the same model.

    python benchmarks/sentence_cosine.py --references REF --systems A B C [--segments 500] [--threads 2]

REF and A, B, C are text files of equal length; for a round-trip metric REF is the source and A, B, C are the round trips.
The first N segments with distinct references are scored. Each tool runs in a process of its own, with its model loaded
before the clock starts. sentence-transformers encodes the references and each system's outputs, 32 texts at a time, and
takes the cosine of each pair. The ratio of the two times, not either time, is the result. Cosines are compared for every
segment of every system.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

WARM = ["The model is loaded now.", "It is."]


def read_segments(args) -> tuple[list[str], list[list[str]]]:
    """The first N segments with distinct references and no empty text: references, and each system's hypotheses."""
    from ctx_metrics import read_lines

    references, *systems = [read_lines(path) for path in (args.references, *args.systems)]
    first = {text: i for i, text in reversed(list(enumerate(references))) if text}
    rows = [i for i in sorted(first.values()) if all(system[i] for system in systems)][: args.segments]
    return [references[i] for i in rows], [[system[i] for i in rows] for system in systems]


def run_ours(references, systems) -> dict:
    """Score with SentenceCosine as sacrebleu would: references cached, all systems in one pass."""
    from ctx_metrics.roundtrip.sentence_cosine import SentenceCosine

    metric = SentenceCosine([references], systems, target_lang="en")
    metric.encoder.cosines([tuple(WARM)])
    start = time.perf_counter()
    scores = [metric.corpus_score(system, None).score for system in systems]
    seconds = time.perf_counter() - start
    cosines = [[value for value, _ in result.rows] for result in metric.system_results()]
    return {"seconds": seconds, "scores": scores, "cosines": cosines}


def run_peer(references, systems) -> dict:
    """Encode each side with SentenceTransformer.encode and take util.pairwise_cos_sim."""
    from sentence_transformers import SentenceTransformer, util

    from ctx_metrics.models import hub

    model = SentenceTransformer(str(hub.resolve("embedded").folder), device="cpu")
    model.encode(WARM, batch_size=32)
    start = time.perf_counter()
    of_references = model.encode(references, batch_size=32)
    cosines = [util.pairwise_cos_sim(model.encode(system, batch_size=32), of_references).tolist() for system in systems]
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "scores": [100 * sum(found) / len(found) for found in cosines], "cosines": cosines}


def main() -> None:
    """Run both tools in processes of their own and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", required=True)
    parser.add_argument("--systems", nargs="+", required=True)
    parser.add_argument("--segments", type=int, default=500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["ours", "peer"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        import torch

        torch.set_num_threads(args.threads)
        references, systems = read_segments(args)
        result = {"ours": run_ours, "peer": run_peer}[args.only](references, systems)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**result, "peak_mb": peak, "pairs": len(references) * len(systems)}))
        return

    def measured(what):
        output = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--only", what], check=True, capture_output=True, text=True
        )
        return json.loads(output.stdout.splitlines()[-1])

    ours, peer = measured("ours"), measured("peer")
    for name, result in (("SentenceCosine", ours), ("sentence-transformers", peer)):
        speed = result["pairs"] / result["seconds"]
        scores = " ".join(f"{score:.3f}" for score in result["scores"])
        print(
            f"{name:22} {result['seconds']:6.1f} s {speed:5.0f} pairs/s  peak {result['peak_mb']:5.0f} MB  scores {scores}"
        )
    pairs = [zip(*found, strict=True) for found in zip(ours["cosines"], peer["cosines"], strict=True)]
    worst = max(abs(a - b) for of_system in pairs for a, b in of_system)
    print(f"throughput ratio {peer['seconds'] / ours['seconds']:.2f}; worst difference of a cosine {worst:.1e}")


if __name__ == "__main__":
    main()
