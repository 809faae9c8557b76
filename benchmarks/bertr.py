"""BERTR against bert-score 0.3.13: throughput, token cosines and peak memory on the same encoder and layer.

    python benchmarks/bertr.py --references REF --systems A B C [--segments 1000] [--threads 2]

REF and A, B, C are text files of equal length. The first N segments with distinct references and
no empty text are scored. Each tool runs in
a process of its own, with its model loaded before the clock starts; each is given one system after another. The ratio of
the two times, not either time, is the result. Token cosines are compared for every segment of the first system.
"""

from peers import WARM, Clock, compare

LAYER = 4


def run_ours(references, systems) -> dict:
    """Score with BERTR as sacrebleu would: references cached, all systems in one pass."""
    from ctx_metrics import BERTR

    metric = BERTR([references], systems, target_lang="en")
    metric.encoder.encode(metric.encoder.tokenizer(WARM), metric.mixes)
    clock = Clock()
    scores = [metric.corpus_score(system, None).score for system in systems]
    return {**clock.times(), "scores": scores}


def run_peer(references, systems) -> dict:
    """Score with bert_score.BERTScorer, one call a system."""
    from bert_score import BERTScorer

    from ctx_metrics.models import hub

    scorer = BERTScorer(model_type=str(hub.resolve("embedded").folder), num_layers=LAYER, device="cpu")
    scorer.score(WARM[:1], WARM[1:])
    clock = Clock()
    scores = [100 * scorer.score(system, references)[1].mean().item() for system in systems]
    return {**clock.times(), "scores": scores}


def compare_cosines(references, systems) -> dict:
    """Largest difference between the two tools' cosines of any content token pair of the first system."""
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
        sides = [stream[begin : begin + 64] for stream in (references, systems[0])]
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
    tools = {"ctx-metrics BERTR": run_ours, "bert-score": run_peer, "cosines": compare_cosines}
    found = compare(__doc__, 1000, tools)
    print(f"worst difference of a token cosine {found['cosines']['worst']:.1e}")
    print("(bert-score lets reference tokens match the hypothesis's special tokens, so its recall is a little higher)")


if __name__ == "__main__":
    main()
