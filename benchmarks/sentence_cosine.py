"""SentenceCosine against sentence-transformers: throughput, cosines and peak memory on the same model.

    python benchmarks/sentence_cosine.py --references REF --systems A B C [--segments 500] [--threads 2]

REF and A, B, C are text files of equal length; for a round-trip metric REF is the source and A, B, C are the round trips.
The first N segments with distinct references are scored. Each tool runs in a process of its own, with its model loaded
before the clock starts. sentence-transformers encodes the references and each system's outputs, 32 texts at a time, and
takes the cosine of each pair. The ratio of the two times, not either time, is the result. Cosines are compared for every
segment of every system.
"""

from peers import WARM, Clock, compare


def run_ours(references, systems) -> dict:
    """Score with SentenceCosine as sacrebleu would: references cached, all systems in one pass."""
    from ctx_metrics.roundtrip.sentence_cosine import SentenceCosine

    metric = SentenceCosine([references], systems, target_lang="en")
    metric.encoder.cosines([tuple(WARM)])
    clock = Clock()
    scores = [metric.corpus_score(system, None).score for system in systems]
    times = clock.times()
    cosines = [[value for value, _ in result.rows] for result in metric.system_results()]
    return {**times, "scores": scores, "cosines": cosines}


def run_peer(references, systems) -> dict:
    """Encode each side with SentenceTransformer.encode and take util.pairwise_cos_sim."""
    from sentence_transformers import SentenceTransformer, util

    from ctx_metrics.models import hub

    model = SentenceTransformer(str(hub.resolve("embedded").folder), device="cpu")
    model.encode(WARM, batch_size=32)
    clock = Clock()
    of_references = model.encode(references, batch_size=32)
    cosines = [util.pairwise_cos_sim(model.encode(system, batch_size=32), of_references).tolist() for system in systems]
    times = clock.times()
    return {**times, "scores": [100 * sum(found) / len(found) for found in cosines], "cosines": cosines}


def main() -> None:
    """Run both tools in processes of their own and print the comparison."""
    found = compare(__doc__, 500, {"SentenceCosine": run_ours, "sentence-transformers": run_peer})
    pairs = [zip(*each, strict=True) for each in zip(*(tool["cosines"] for tool in found.values()), strict=True)]
    print(f"worst difference of a cosine {max(abs(a - b) for of_system in pairs for a, b in of_system):.1e}")


if __name__ == "__main__":
    main()
